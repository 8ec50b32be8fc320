"""What an audit can measure: names, units and meanings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that an audit gives for a view or for an object of it."""

    unit: str
    """Unit, or `share` (0 to 1), `count`, `ratio`, or empty."""
    meaning: str


OBJECTS = "objects"
"""Family of the numbers of single objects."""

METRICS: Mapping[str, Metric] = {
    "ids.agreement": Metric("share", "pixels whose part is the same"),
    "ids.interior_misses": Metric("count", "pixels of another part away from every edge"),
    "ids.boundary_misses": Metric("count", "pixels of another part at an edge"),
    "ids.explained": Metric(
        "share", "differing pixels, of 100 or more, that are ties or lie on an edge"
    ),
    "ids.unexplained": Metric("count", "differing pixels that are no ties and lie on no edge"),
    "instance.agreement": Metric("share", "pixels whose object is the same"),
    "semantic.agreement": Metric("share", "pixels whose class is the same"),
    "iou.min": Metric("share", "worst overlap of an object of 50 pixels or more"),
    "depth.median": Metric("m", "median depth difference where parts agree"),
    "depth.p99": Metric("m", "depth difference that 99 % of the pixels stay below"),
    "depth.p999": Metric("m", "depth difference that 99.9 % of the pixels stay below"),
    "depth.over_1mm": Metric("share", "pixels whose depth differs by more than 1 mm"),
    "depth.over_1cm": Metric("share", "pixels whose depth differs by more than 1 cm"),
    "normal.mean_deg": Metric("deg", "mean angle between normals"),
    "normal.p99_deg": Metric("deg", "angle between normals that 99 % stay below"),
    "box.max_corner_px": Metric("px", "largest distance between corners of one object's boxes"),
    "camera.k_px": Metric("px", "largest difference of the intrinsics"),
    "camera.position_mm": Metric("mm", "distance between the cameras"),
    "camera.rotation_deg": Metric("deg", "angle between the cameras"),
    "registration.px": Metric("px", "the picture's edges against its own labels' edges"),
    "registration.reference_px": Metric(
        "px", "the reference picture's edges against its own labels' edges"
    ),
    "light.luminance_ratio": Metric("ratio", "MuJoCo's formula on the other geometry: brightness"),
    "light.psnr": Metric("dB", "MuJoCo's formula on the other geometry: PSNR"),
    "light.ssim": Metric("", "MuJoCo's formula on the other geometry: SSIM"),
    "light.flip": Metric("", "MuJoCo's formula on the other geometry: FLIP"),
    "albedo.psnr": Metric("dB", "unlit colours: PSNR"),
    "albedo.interior_psnr": Metric("dB", "unlit colours away from edges: PSNR"),
    "albedo.filtered_psnr": Metric(
        "dB", "unlit colours away from edges and seams, textures filtered as MuJoCo does: PSNR"
    ),
    "rgb.psnr": Metric("dB", "pictures: PSNR"),
    "rgb.ssim": Metric("", "pictures: SSIM"),
    "rgb.flip": Metric("", "pictures: mean FLIP"),
    "rgb.luminance_ratio": Metric("ratio", "pictures: mean luminance, other over reference"),
    "rgb.hue_deg": Metric("deg", "pictures: shift of the mean hue"),
    "rgb.histogram": Metric("", "pictures: distance of the histograms"),
    "labels.count_difference": Metric("count", "objects seen by one side only"),
    "labels.tight_box_px": Metric("px", "largest difference of a tight box"),
    "labels.occlusion_difference": Metric("share", "largest difference of an occlusion"),
    "objects.luminance_ratio": Metric(
        "ratio", "an object's mean luminance, other over reference, where it is 0.1 or more there"
    ),
    "objects.hue_deg": Metric("deg", "shift of an object's mean hue"),
    "objects.iou": Metric("share", "overlap of an object's pixels"),
    "objects.depth_median": Metric("m", "an object's median depth difference"),
    "objects.albedo_psnr": Metric("dB", "an object's unlit colours: PSNR"),
    "objects.tight_box_px": Metric("px", "difference of an object's tight box"),
    "objects.occlusion_difference": Metric("share", "difference of an object's occlusion"),
    "objects.pixels_reference": Metric("count", "an object's pixels in the reference"),
    "objects.pixels_candidate": Metric("count", "an object's pixels in the other"),
}
"""Every metric by dotted name: family, then measurement."""


def family(metric: str) -> str:
    """Give the first part of a metric's name."""
    return metric.partition(".")[0]
