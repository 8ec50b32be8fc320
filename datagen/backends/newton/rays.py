"""First hits of the rays through the pixels of a view, with MuJoCo's back-face rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datagen.backends.mujoco.lens import ray_directions
from datagen.backends.newton.model import PartModel
from scenes import Pinhole

_STEP = 3e-7
"""Relative step behind a culled face; more would jump over thin walls."""
_STEP_DOUBLINGS = 6
_LIMIT = 64


@dataclass(frozen=True)
class Hits:
    """What the rays of a view meet first; one row per pixel, row by row from the top left."""

    part: NDArray[np.int32]
    """Part number, 0 = nothing, [n]."""
    depth: NDArray[np.float64]
    """Distance to the image plane [m], inf = nothing, [n]."""
    origins: NDArray[np.float32]
    """Points [m] from which the hit is the nearest face, [n, 3]."""
    directions: NDArray[np.float32]
    """Unit vectors, 0 = nothing, [n, 3]."""


def first_hits(model: PartModel, view: Pinhole, *, cull: bool) -> Hits:
    """Trace one ray through each pixel's centre, from the near plane to the far one.

    With `cull`, a ray goes on behind every face that it meets from behind, unless the part is
    double-sided: Newton's own culling would drop the whole mesh whose nearest face looks away.
    """
    rays = ray_directions(view).reshape(-1, 3)
    lengths = np.linalg.norm(rays, axis=1)
    unit = rays / lengths[:, None]
    R, center = view.T_world_camera[:3, :3], view.T_world_camera[:3, 3]
    world = unit[:, :1] * R[:, 0] + unit[:, 1:2] * R[:, 1] + unit[:, 2:] * R[:, 2]
    along = view.near * lengths
    origins = (center + along[:, None] * world).astype(np.float32)
    directions = world.astype(np.float32)
    shape = np.full(len(rays), -1, dtype=np.int64)
    reached = np.full(len(rays), np.inf)
    left = np.arange(len(rays))
    for turn in range(_LIMIT):
        found, distance, normal = model.faces(origins[left], directions[left])
        hit = found >= 0
        left, found, distance, normal = left[hit], found[hit], distance[hit], normal[hit]
        reach = along[left] + distance
        away = np.einsum("ni,ni->n", normal, directions[left]) > 0.0
        away &= ~model.seen_from_behind[found] & cull
        shape[left[~away]], reached[left[~away]] = found[~away], reach[~away]
        left, reach = left[away], reach[away]
        if not left.size:
            break
        # A step that rounding swallows meets the same face again: the next one is longer.
        along[left] = reach * (1.0 + _STEP * 2.0 ** min(turn, _STEP_DOUBLINGS))
        origins[left] = center + along[left, None] * world[left]
    unseen = reached / lengths > view.far
    shape[unseen], reached[unseen] = -1, np.inf
    directions[shape < 0] = 0.0
    return Hits((shape + 1).astype(np.int32), reached / lengths, origins, directions)
