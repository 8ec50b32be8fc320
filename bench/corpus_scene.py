"""One model of the corpus: compiled, converted, and seen by two renderers from four sides."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from datagen.audit.measure.edges import interior
from datagen.audit.measure.misses import explained_share
from datagen.backends import Backend, Buffers, Size
from datagen.backends.errors import BackendError
from datagen.backends.registry import open_backend
from scenes import SampleLayer, Scene, SceneError, convert_mjcf, pinhole
from scenes.sources.mjcf.config import MjcfConfig

SIZE = Size(256, 256)
BAR = 0.99
"""Share of pixels whose parts agree, in the worst of the four views."""
FOVY = 45.0
DISTANCE = 1.2
"""Distance from the model's centre, in its extents."""
VIEWS = ((45.0, -20.0), (135.0, -25.0), (225.0, -30.0), (315.0, -35.0))
"""Azimuth and elevation of the four cameras [deg]."""
COPY = ".corpus-view.xml"
"""End of the name of the copy of a model that has these cameras."""
_PREFIX = "corpus-view-"
_SINGULAR = {"bodies": "body", "equalities": "equality"}

Step = Callable[[str], None]


class Sweeper:
    """Looks at models one after the other with the same two renderers.

    Args:
        scratch: Folder for scenes; each is removed after use.
        pictures: Folder for maps of the models below the bar, None for none.
    """

    def __init__(self, scratch: Path, pictures: Path | None) -> None:
        self._scratch = scratch
        self._pictures = pictures
        self._backends: dict[str, Backend] = {
            "mujoco": open_backend("mujoco", {"colorspace": "display"}),
            "mitsuba": open_backend(
                "mitsuba", {"spp": 1, "denoise": False, "cull_back_faces": True, "threads": 1}
            ),
        }

    def look(self, path: Path, root: Path, step: Step) -> dict[str, Any]:
        """Say what becomes of a model.

        Args:
            path: The XML file.
            root: Folder of its package, which it may read from.
            step: Told what is about to be done.
        """
        step("compile")
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except (ValueError, mujoco.FatalError) as error:
            step("refuse")
            return {"compiles": False, **self._refused_too(path, root, str(error))}
        facts: dict[str, Any] = {"compiles": True, "geoms": model.ngeom}
        if not model.ngeom:
            return facts | {"status": "no geom"}
        center, extent = model.stat.center.copy(), float(model.stat.extent)
        del model
        step("convert")
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            try:
                with with_views(path, center, extent) as wrapped:
                    source = MjcfConfig(path=wrapped, roots=(root,))
                    scene = convert_mjcf(wrapped, Path(folder) / "scene", source=source)
            except SceneError as error:
                return facts | {"status": "refused", "message": str(error)}
            facts |= {"status": "converted", "report": unaccounted(scene)}
            step("show")
            try:
                return facts | self._compared(scene, path, step)
            except (BackendError, SceneError) as error:
                return facts | {"status": "not shown", "message": str(error)}

    def _refused_too(self, path: Path, root: Path, reason: str) -> dict[str, Any]:
        """A model that MuJoCo refuses: ours must name the file."""
        facts = {"status": "MuJoCo refuses", "message": reason}
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            source = MjcfConfig(path=path, roots=(root,))
            try:
                convert_mjcf(path, Path(folder) / "scene", source=source)
            except SceneError as error:
                facts["ours"] = str(error)
                return facts if path.name in str(error) else facts | {"status": "file not named"}
        return facts | {"status": "converted though MuJoCo refuses"}

    def _compared(self, scene: Scene, path: Path, step: Step) -> dict[str, Any]:
        sample = SampleLayer(scene, scene.info.default_state)
        remarks: list[str] = []
        for backend in self._backends.values():
            step(f"open {backend.name}")
            backend.open(scene)
            try:
                backend.apply(sample)
            except BackendError as error:
                if "lights" not in str(error):
                    raise
                # Geometry needs no light.
                remarks.append(str(error))
                sample = unlit(scene)
                backend.apply(sample)
        views: list[dict[str, Any]] = []
        for number in range(len(VIEWS)):
            camera = f"{_PREFIX}{number}"
            step(f"view {number}")
            ours, theirs = (
                self._backends[name].render(camera, SIZE, {"part", "depth"})
                for name in ("mitsuba", "mujoco")
            )
            facts, ids = measured(scene, camera, theirs, ours)
            views.append(facts)
            if self._pictures is not None and facts["share"] < BAR:
                name = "-".join(path.with_suffix("").parts[-4:])
                Image.fromarray(ids).save(self._pictures / f"{name}-{number}.png")
        worst = min(views, key=lambda each: each["share"])
        return {
            "status": "shown",
            "parts": len(scene.info.parts),
            "share": worst["share"],
            "mean": float(np.mean([each["share"] for each in views])),
            "decided": min(each["decided"] for each in views),
            "surface": min(each["surface"] for each in views),
            "interior": sum(each["interior"] for each in views),
            "explained": worst["explained"],
            "pairs": worst["pairs"],
            "depth_p999": max((each["depth_p999"] for each in views), default=0.0),
            "covered": float(np.mean([each["covered"] for each in views])),
            "remarks": remarks,
        }


@contextmanager
def with_views(path: Path, center: NDArray[np.float64], extent: float) -> Generator[Path]:
    """Put a copy with four more cameras beside a model, for as long as the block lasts.

    Args:
        path: The model.
        center: Point that they look at [m], [3].
        extent: Size of the model [m].
    """
    cameras = []
    for number, (azimuth, elevation) in enumerate(VIEWS):
        a, e = math.radians(azimuth), math.radians(elevation)
        forward = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
        right = np.array([math.sin(a), -math.cos(a), 0.0])
        position = center - DISTANCE * extent * forward
        axes = np.concatenate([right, np.cross(right, forward)])
        cameras.append(
            f'<camera name="{_PREFIX}{number}" mode="fixed" fovy="{FOVY}" '
            f'pos="{_numbers(position)}" xyaxes="{_numbers(axes)}"/>'
        )
    # An include would change where MuJoCo looks for skins and height fields.
    text = path.read_bytes()
    end = text.rindex(b"</mujoco")
    more = f"<worldbody>{''.join(cameras)}</worldbody>\n".encode()
    wrapped = path.with_name(path.stem + COPY)
    wrapped.write_bytes(text[:end] + more + text[end:])
    try:
        yield wrapped
    finally:
        wrapped.unlink()


def _numbers(values: NDArray[np.float64]) -> str:
    return " ".join(f"{value:.12g}" for value in values)


def unlit(scene: Scene) -> SampleLayer:
    """The scene as it is with every light out."""
    sample = SampleLayer(scene, scene.info.default_state)
    for light in scene.info.lights:
        sample.set(f"{light.path}.visibility", "invisible")
    return sample


def unaccounted(scene: Scene) -> list[str]:
    """Kinds of elements of which some are neither written nor left out by name."""
    report = json.loads((scene.folder / "report.json").read_text(encoding="utf-8"))
    counts, written = report["counts_in"], report["counts_out"]
    named = Counter(line.split()[0] for line in report["left_out"])
    open_ends: list[str] = []
    for kind, count in counts.items():
        out = written.get(kind, 0) + named[_SINGULAR.get(kind, kind.removesuffix("s"))]
        if out != count:
            open_ends.append(f"{kind}: {count} in, {out} out or left out by name")
    return open_ends


def measured(
    scene: Scene, camera: str, reference: Buffers, candidate: Buffers
) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    """Compare a view.

    Returns:
        The numbers, and a picture: the reference's parts, the candidate's, and where they differ.
    """
    first, second = reference.part, candidate.part
    near, far = reference.depth, candidate.depth
    assert first is not None and second is not None and near is not None and far is not None
    same = first == second
    both = same & np.isfinite(near) & np.isfinite(far)
    errors = np.abs(near[both].astype(np.float64) - far[both])
    explained = 1.0
    if not same.all():
        view = pinhole(scene, camera, *SIZE)
        explained, _ = explained_share(scene, view, first, second)
    names = {part.part: part.name for part in scene.info.parts} | {0: "nothing"}
    pairs = Counter(zip(first[~same].tolist(), second[~same].tolist(), strict=True))
    either = (first > 0) | (second > 0)
    facts = {
        "share": float(same.mean()),
        "decided": 1.0 - float(1.0 - same.mean()) * (1.0 - explained),
        "surface": float(same[either].mean()) if either.any() else 1.0,
        "interior": int(np.count_nonzero(~same & interior(first) & interior(second))),
        "explained": explained,
        "depth_p999": float(np.percentile(errors, 99.9)) if errors.size else 0.0,
        "covered": float((first > 0).mean()),
        "pairs": [[names[a], names[b], count] for (a, b), count in pairs.most_common(4)],
    }
    palette = np.random.default_rng(7).integers(60, 256, (len(names) + 1, 3), dtype=np.uint8)
    palette[0] = 0
    difference = np.where(same, np.uint8(40), np.uint8(255))[..., None].repeat(3, axis=2)
    return facts, np.concatenate([palette[first], palette[second], difference], axis=1)
