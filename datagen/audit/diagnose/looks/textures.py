"""Is an object's texture there, and the right way up?

The texture is looked up at the points that a picture shows, as the stage has it and flipped or
turned; the version that fits a side's albedo best is how this side shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import map_coordinates
from scipy.spatial import KDTree

from scenes import Scene, Triangles, srgb_encode
from scenes.stage.looks import read_look

Floats = NDArray[np.float64]
TURNS = ("as it is", "upside down", "left to right", "turned by 180 degrees", "transposed")
"""How a texture can lie on a surface, the stage's way first."""
_SIDES = (2048, 256, 128, 64, 32)
"""Widths [texel] to which textures are reduced: a renderer's filter blurs small pictures."""
_NEIGHBOURS = 24
_EVERY_FACE = 100
"""Faces up to which every one is tried, however far its centre is."""
_SLACK = 1e-3
_PLAIN_ERROR_MAX = 0.03
_PLAIN_MARGIN = 0.4


@dataclass(frozen=True)
class TextureFit:
    """Correlation of an albedo with each of `TURNS`, -1 to 1."""

    scores: tuple[float, ...]

    @property
    def best(self) -> int:
        """Index into `TURNS` of the turn that fits best."""
        return int(np.argmax(self.scores))


def texture_file(scene: Scene, part_path: str) -> Path | None:
    """Picture file of a part's diffuse colour in the sample shown; None without one."""
    return read_look(scene, part_path).picture


def texture_coordinates(mesh: Triangles, points: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Texture coordinates of points on a mesh, [n, 2], and which were found on it, [n].

    Args:
        mesh: The mesh, with texture coordinates.
        points: Points in the mesh's frame [m], [n, 3].
    """
    if mesh.st is None:
        return np.zeros((len(points), 2)), np.zeros(len(points), dtype=np.bool_)
    corners = mesh.points.astype(np.float64)[mesh.faces]
    if len(corners) <= _EVERY_FACE:
        near = np.tile(np.arange(len(corners)), (len(points), 1))
    else:
        count = min(_NEIGHBOURS, len(corners))
        near = np.asarray(KDTree(corners.mean(axis=1)).query(points, k=count)[1])
    a, b, c = (corners[near][:, :, k] for k in range(3))
    ab, ac, ap = b - a, c - a, points[:, None] - a
    normal = np.cross(ab, ac)
    area = np.maximum(np.einsum("nkc,nkc->nk", normal, normal), 1e-30)
    v = np.einsum("nkc,nkc->nk", np.cross(ap, ac), normal) / area
    w = np.einsum("nkc,nkc->nk", np.cross(ab, ap), normal) / area
    height = np.abs(np.einsum("nkc,nkc->nk", ap, normal)) / np.sqrt(area)
    outside = np.maximum(np.maximum(-v, -w), v + w - 1.0)
    scale = float(np.ptp(mesh.points, axis=0).max())
    wrong = np.where(outside < _SLACK, height, np.inf)
    best = np.argmin(wrong, axis=1)
    rows = np.arange(len(points))
    found = wrong[rows, best] < _SLACK * scale
    st = mesh.st.astype(np.float64)[mesh.faces[near[rows, best]]]
    v, w = v[rows, best, None], w[rows, best, None]
    return st[:, 0] * (1 - v - w) + st[:, 1] * v + st[:, 2] * w, found


def turned_colors(file: Path, st: Floats) -> Floats:
    """Display colours of a texture at coordinates, in every turn and sharpness, [t, s, n, 3]."""
    pictures = _texels(file, file.stat().st_mtime_ns)
    s, t = st[:, 0], st[:, 1]
    turns = ((s, t), (s, 1 - t), (1 - s, t), (1 - s, 1 - t), (t, s))
    return np.array([[_sample(texels, *turn) for texels in pictures] for turn in turns])


def fit_turn(colors: Floats, albedo: NDArray[np.float32]) -> TextureFit:
    """Compare a linear albedo at the same points, [n, 3], with `turned_colors`."""
    shown = srgb_encode(albedo.astype(np.float64))
    return TextureFit(tuple(max(_correlation(c, shown) for c in turn) for turn in colors))


def plain_turn(
    colors: Floats, right: NDArray[np.float32], wrong: NDArray[np.float32]
) -> int | None:
    """Turn that lays a plain area of the texture where one side shows it plain.

    Plain colours correlate with nothing, so this asks how far off they are.

    Args:
        colors: What `turned_colors` gave.
        right: Linear albedo of the side that shows the texture the stage's way, [n, 3].
        wrong: Linear albedo of the other side at the same points, [n, 3].

    Returns:
        Index into `TURNS`; None where no turn explains the other side, or its mean colour does
        as well, as a texture that is missing would.
    """
    shown, other = (srgb_encode(albedo.astype(np.float64)) for albedo in (right, wrong))
    sharpness = int(np.argmax([_correlation(version, shown) for version in colors[0]]))
    own = colors[0, sharpness]
    tint = (shown * own).sum(axis=0) / np.maximum((own * own).sum(axis=0), 1e-9)
    errors = np.array([min(_distance(c * tint, other) for c in turn) for turn in colors])
    best = int(np.argmin(errors[1:])) + 1
    rivals = min(float(errors[0]), _distance(shown.mean(axis=0), other))
    explained = errors[best] < _PLAIN_ERROR_MAX and errors[best] < _PLAIN_MARGIN * rivals
    return best if explained else None


@lru_cache(maxsize=16)
def _texels(file: Path, changed: int) -> tuple[NDArray[np.uint8], ...]:
    """Display picture of a texture at every sharpness; `changed` tells versions of a file apart."""
    with Image.open(file) as opened:
        picture = opened.convert("RGB")
    return tuple(np.asarray(picture.reduce(max(1, max(picture.size) // side))) for side in _SIDES)


def _sample(texels: NDArray[np.uint8], s: Floats, t: Floats) -> Floats:
    height, width = texels.shape[:2]
    rows = (1.0 - t) % 1.0 * height - 0.5
    columns = s % 1.0 * width - 0.5
    channels = [
        map_coordinates(
            texels[..., k], (rows, columns), output=np.float64, order=1, mode="grid-wrap"
        )
        for k in range(3)
    ]
    return np.stack(channels, axis=1) / 255.0


def _distance(first: Floats, second: Floats) -> float:
    """Root mean square difference of display colours."""
    return float(np.sqrt(np.mean((first - second) ** 2)))


def _correlation(first: Floats, second: Floats) -> float:
    a, b = first - first.mean(axis=0), second - second.mean(axis=0)
    norm = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / norm if norm > 1e-9 else 0.0
