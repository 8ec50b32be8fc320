"""Why two renderers give a pixel to different parts: a tie, an edge through its centre, or a fault.

The triangles of the two parts are met by rays through the pixel's centre and 1/50 pixel beside it
(Moeller and Trumbore 1997). Where both parts can win, rounding explains the difference. So it does
where two triangles of the nearer part meet within 1/1000 pixel of the centre: rounding lets a ray
pass between them (Woop, Benthin and Wald 2013), to the part that lies behind.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from datagen.audit.measure.edges import Floats, Ids
from scenes import Pinhole, Scene

_SHIFT = 1 / 50
"""Reach of rounding [pixel]."""
_TIE = 1e-5
"""Relative difference of two depths that count as one."""
_MOST = 400
"""Misses looked at in one view; more are sampled evenly."""
_OFFSETS = _SHIFT * np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)])
_SLIP = 1 / 1000
"""Reach of rounding where two triangles of one part meet [pixel]."""
_SLIPS = _SLIP * np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)])


def explained_share(
    scene: Scene, camera: Pinhole, reference: Ids, candidate: Ids
) -> tuple[float, NDArray[np.bool_]]:
    """Share of differing pixels that a tie or a shift of 1/50 pixel explains, and which, [h, w].

    Args:
        scene: The scene with the sample shown.
        camera: The reference's camera.
        reference: Its part map, [h, w].
        candidate: The other part map, [h, w].
    """
    found = np.zeros(reference.shape, dtype=np.bool_)
    rows, columns = np.nonzero(reference != candidate)
    if not rows.size:
        return 1.0, found
    chosen = np.unique(np.linspace(0, rows.size - 1, min(rows.size, _MOST)).astype(int))
    rows, columns = rows[chosen], columns[chosen]
    pairs = np.stack([reference[rows, columns], candidate[rows, columns]], axis=1)
    pixels = np.stack([columns, rows], axis=1) + 0.5
    depths = np.full((*pairs.shape, len(_OFFSETS), 2), np.inf)
    joined = np.zeros(pairs.shape, dtype=np.bool_)
    for part in np.unique(pairs[pairs > 0]):
        index, side = np.nonzero(pairs == part)
        seen = _PartInView(scene, camera, int(part), pixels[index])
        depths[index, side] = seen.depths(_OFFSETS)
        joined[index, side] = seen.is_joined(_SLIPS)
    either = _either_wins(pairs, depths[..., 0]) | _either_wins(pairs, depths[..., 1])
    either |= _slips_through(pairs, depths[:, :, 0, 1], joined)
    found[rows[either], columns[either]] = True
    return float(either.mean()), found


def _either_wins(pairs: Ids, depths: Floats) -> NDArray[np.bool_]:
    """Tell where both parts of a pair tie, or each of them is seen at some offset, [n]."""
    first, second = depths[:, 0], depths[:, 1]
    with np.errstate(invalid="ignore"):
        tie = np.abs(first - second) <= _TIE * np.minimum(first, second)
    first_wins, second_wins = (first < second) & ~tie, (second < first) & ~tie
    either = tie.any(axis=1) | (first_wins.any(axis=1) & second_wins.any(axis=1))
    # Against the background: the part is hit at one offset and missed at another.
    empty = np.isinf(first) & np.isinf(second)
    background = (pairs == 0).any(axis=1)
    return either | (background & empty.any(axis=1) & ~empty.all(axis=1))


def _slips_through(pairs: Ids, depths: Floats, joined: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell where the nearer part has a joint of triangles and the other lies behind it, [n].

    Args:
        pairs: The two parts of each pixel, 0 = background, [n, 2].
        depths: Depth of each at the pixel's centre [m], inf for none, [n, 2].
        joined: Whether two triangles of each meet there, [n, 2].
    """
    behind = np.where(pairs == 0, np.finfo(np.float64).max, depths)
    nearer = np.argmin(behind, axis=1)
    rows = np.arange(len(pairs))
    return joined[rows, nearer] & np.isfinite(behind).all(axis=1) & (pairs[rows, nearer] > 0)


class _PartInView:
    """A part's triangles and the rays around some pixels.

    Args:
        scene: The scene with the sample shown.
        camera: The camera.
        part: The part's number.
        pixels: Where the pixels' centres are, (u, v), [n, 2].
    """

    def __init__(self, scene: Scene, camera: Pinhole, part: int, pixels: Floats) -> None:
        info = next(each for each in scene.info.parts if each.part == part)
        triangles = scene.triangles(info.path)
        (pose,) = scene.world_transforms([info.path])
        T_camera_part = np.linalg.inv(camera.T_world_camera) @ pose
        points = triangles.points @ T_camera_part[:3, :3].T + T_camera_part[:3, 3]
        self._corners = points[triangles.faces]
        self._camera = camera
        self._pixels = pixels
        self._near = _near_pixels(self._corners, camera, pixels)

    def depths(self, offsets: Floats) -> Floats:
        """Planar depth [m] of the first hit around each pixel, inf for none, [n, offsets, 2].

        First of front faces, then of all: renderers draw the backs of planes alone.
        """
        rays = _rays(self._camera, self._pixels, offsets)
        depths = np.full((len(self._pixels), len(offsets), 2), np.inf)
        for row, near in enumerate(self._near):
            if near.size:
                fronts, all_hits = _hits(rays[row], self._corners[near])
                depths[row] = np.stack([fronts.min(axis=1), all_hits.min(axis=1)], axis=1)
        return depths

    def is_joined(self, offsets: Floats) -> NDArray[np.bool_]:
        """Tell where the first triangle hit is not the same at all offsets, but some is, [n]."""
        rays = _rays(self._camera, self._pixels, offsets)
        joined = np.zeros(len(self._pixels), dtype=np.bool_)
        for row, near in enumerate(self._near):
            if near.size:
                _, hits = _hits(rays[row], self._corners[near])
                met = np.isfinite(hits).any(axis=1).all()
                joined[row] = met and len(np.unique(hits.argmin(axis=1))) > 1
        return joined


def _rays(camera: Pinhole, pixels: Floats, offsets: Floats) -> Floats:
    """Directions with z = 1 in the camera's axes, [n, offsets, 3]."""
    spots = pixels[:, None] + offsets[None]
    x = (spots[..., 0] - camera.K[0, 2]) / camera.K[0, 0]
    y = (spots[..., 1] - camera.K[1, 2]) / camera.K[1, 1]
    return np.stack([x, y, np.ones_like(x)], axis=-1)


def _near_pixels(corners: Floats, camera: Pinhole, pixels: Floats) -> list[NDArray[np.intp]]:
    """Triangles whose bounds in the picture hold each pixel; those that cross z = 0 always do."""
    z = corners[..., 2]
    behind = z.max(axis=1) <= 0
    straddles = (z.min(axis=1) <= 1e-9) & ~behind
    safe = np.where(z <= 1e-9, 1.0, z)
    u = camera.K[0, 0] * corners[..., 0] / safe + camera.K[0, 2]
    v = camera.K[1, 1] * corners[..., 1] / safe + camera.K[1, 2]
    margin = 2 * _SHIFT
    u0, u1 = u.min(axis=1) - margin, u.max(axis=1) + margin
    v0, v1 = v.min(axis=1) - margin, v.max(axis=1) + margin
    return [
        np.flatnonzero(~behind & (straddles | ((u0 <= x) & (x <= u1) & (v0 <= y) & (y <= v1))))
        for x, y in pixels
    ]


def _hits(rays: Floats, corners: Floats) -> tuple[Floats, Floats]:
    """Z at which rays from the origin meet triangles, inf for no hit: fronts alone, and all.

    Args:
        rays: Directions with z = 1, [r, 3].
        corners: The triangles, [t, 3, 3].

    Returns:
        Two of [r, t].
    """
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(rays[:, None], ac[None])
    determinant = np.einsum("tk,rtk->rt", ab, across)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("tk,rtk->rt", -a, across) / determinant
        turned = np.cross(-a, ab)
        v = np.einsum("rk,tk->rt", rays, turned) / determinant
        t = np.einsum("tk,tk->t", ac, turned)[None] / determinant
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)
    front = hit & (determinant > 0)
    return np.where(front, t, np.inf), np.where(hit, t, np.inf)
