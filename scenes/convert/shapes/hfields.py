"""Height fields as closed triangle meshes."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes.convert.shapes.primitives import Surface


def height_field(model: mujoco.MjModel, hfield: int) -> Surface:
    """Terrain of a height field with its sides and its base, in the geom's frame.

    Row 0 of the compiled data lies at -y, column 0 at -x. A cell is cut along the diagonal from
    its corner at (-x, -y), as MuJoCo's collisions, rays and pictures do.
    """
    rows, columns = int(model.hfield_nrow[hfield]), int(model.hfield_ncol[hfield])
    first = int(model.hfield_adr[hfield])
    half_x, half_y, height, base = model.hfield_size[hfield].astype(np.float64)
    z = model.hfield_data[first : first + rows * columns].astype(np.float64) * height
    x, y = np.meshgrid(np.linspace(-half_x, half_x, columns), np.linspace(-half_y, half_y, rows))
    top = np.stack([x.ravel(), y.ravel(), z], axis=1)
    index = np.arange(rows * columns).reshape(rows, columns)
    here, right = index[:-1, :-1].ravel(), index[:-1, 1:].ravel()
    above, across = index[1:, :-1].ravel(), index[1:, 1:].ravel()
    faces = np.concatenate(
        [np.stack([here, right, across], axis=1), np.stack([here, across, above], axis=1)]
    )
    pieces = [(top, faces, _smooth_normals(top, faces))]
    # Counter-clockwise round the field seen from above, one border after the other.
    borders = (index[0], index[:, -1], index[-1, ::-1], index[::-1, 0])
    outward = ((0, -1, 0), (1, 0, 0), (0, 1, 0), (-1, 0, 0))
    for border, normal in zip(borders, outward, strict=True):
        pieces.append(_wall(top[border], -base, np.array(normal, dtype=np.float64)))
    pieces.append(_floor(top[np.concatenate([border[:-1] for border in borders])], -base))
    return _joined(pieces)


Piece = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]


def _wall(edge: NDArray[np.float64], bottom: float, normal: NDArray[np.float64]) -> Piece:
    foot = edge.copy()
    foot[:, 2] = bottom
    count = len(edge)
    low = np.arange(count, 2 * count - 1)
    high = np.arange(count - 1)
    faces = np.concatenate(
        [np.stack([low, low + 1, high + 1], axis=1), np.stack([low, high + 1, high], axis=1)]
    )
    return np.concatenate([edge, foot]), faces, np.tile(normal, (2 * count, 1))


def _floor(rim: NDArray[np.float64], bottom: float) -> Piece:
    """A fan from the middle, which has the walls' corners on its rim."""
    points = np.concatenate([np.zeros((1, 3)), rim])
    points[:, 2] = bottom
    here = np.arange(1, len(points))
    faces = np.stack([np.zeros_like(here), np.roll(here, -1), here], axis=1)
    return points, faces, np.tile([0.0, 0.0, -1.0], (len(points), 1))


def _smooth_normals(points: NDArray[np.float64], faces: NDArray[np.int64]) -> NDArray[np.float64]:
    corners = points[faces]
    weighted = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(points)
    for corner in range(3):
        np.add.at(normals, faces[:, corner], weighted)
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def _joined(pieces: list[Piece]) -> Surface:
    starts = np.cumsum([0, *(len(points) for points, _, _ in pieces[:-1])])
    points = np.concatenate([piece[0] for piece in pieces])
    return Surface(
        points=points,
        faces=np.concatenate(
            [faces + start for (_, faces, _), start in zip(pieces, starts, strict=True)]
        ).astype(np.int32),
        normals=np.concatenate([piece[2] for piece in pieces]),
        coordinates=points,
    )
