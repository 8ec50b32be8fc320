"""The outline of a mesh as a camera sees it: few edges that hold all of its silhouette.

Take the triangles that face the camera as one oriented surface. Seen through a pinhole, the number
of them over a point is the winding number of that surface's boundary around it, and along every
edge between two of them the boundary cancels. What is left are the edges where a facing triangle
meets one that faces away, or none: a few hundred of tens of thousands. The same holds for the
triangles that face away, so open meshes and cameras inside a mesh need no special case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datagen.labels.affine import Floats, apply

FRONT = 1.0
BACK = float(2**20)
"""Weights that keep both counts apart in one sum: no picture stacks a million triangles."""

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Segments:
    """Weighted, directed segments in the camera's frame [m], closed as chains."""

    starts: Floats
    """[3, n]."""
    ends: Floats
    """[3, n]."""
    weights: Floats
    """[n]."""


@dataclass(frozen=True)
class Outline:
    """A triangle mesh prepared for finding its outline from any camera."""

    points: Floats
    """Distinct vertex positions in the frame of the part [m], [3, n]."""
    faces: Indices
    """Vertex indices, [3, m]."""
    normals: Floats
    """Face normals, not of unit length, [3, m]."""
    offsets: Floats
    """`normal . vertex` of each face, [m]."""
    shared: Indices
    """Edges between two faces: start, end, face that runs along it, face that runs against it."""
    open: Indices
    """Edges of one face: start, end, face."""
    corners: Floats
    """Corners of the bounding box [m], [3, 8]."""

    def segments(self, T_camera_part: Floats, eye: Floats, near: float | None) -> Segments:
        """Find the outline.

        Args:
            T_camera_part: Pose of the part in the camera's frame [m], [4, 4].
            eye: Camera centre in the part's frame [m], [3].
            near: Depth at which the mesh is cut [m]; None when all of it lies beyond.
        """
        nx, ny, nz = self.normals
        toward = nx * eye[0]
        toward += ny * eye[1]
        toward += nz * eye[2]
        front = toward > self.offsets
        start, end, along, against = self.shared
        along_front = front[along]
        change = np.flatnonzero(along_front != front[against])
        open_start, open_end, open_face = self.open
        starts = np.concatenate([start[change], open_start])
        ends = np.concatenate([end[change], open_end])
        sign = np.where(along_front[change], FRONT - BACK, BACK - FRONT)
        weights = np.concatenate([sign, np.where(front[open_face], FRONT, BACK)])
        if near is None:
            return Segments(
                apply(T_camera_part, self.points[:, starts]),
                apply(T_camera_part, self.points[:, ends]),
                weights,
            )
        points = apply(T_camera_part, self.points)
        visible = points[2] >= near
        kept = visible[starts] | visible[ends]
        starts, ends, weights = starts[kept], ends[kept], weights[kept]
        cut_starts, cut_ends, cut_weights = self._cut(points, visible, front, near)
        return Segments(
            np.concatenate([_pull_in(points, visible, starts, ends, near), cut_starts], axis=1),
            np.concatenate([_pull_in(points, visible, ends, starts, near), cut_ends], axis=1),
            np.concatenate([weights, cut_weights]),
        )

    def _cut(
        self, points: Floats, visible: NDArray[np.bool_], front: NDArray[np.bool_], near: float
    ) -> tuple[Floats, Floats, Floats]:
        """Segments along which the near plane cuts faces, with their weights."""
        inside = visible[self.faces]
        count = inside.sum(axis=0)
        crossing = np.flatnonzero((count > 0) & (count < 3))
        faces, inside = self.faces[:, crossing], inside[:, crossing]
        following, following_inside = np.roll(faces, -1, axis=0), np.roll(inside, -1, axis=0)
        columns = np.arange(crossing.size)
        leaves = np.argmax(inside & ~following_inside, axis=0)
        enters = np.argmax(~inside & following_inside, axis=0)
        starts = _pull_in(points, visible, following[leaves, columns], faces[leaves, columns], near)
        ends = _pull_in(points, visible, faces[enters, columns], following[enters, columns], near)
        return starts, ends, np.where(front[crossing], FRONT, BACK)


def make_outline(points: NDArray[np.float32], faces: NDArray[np.int32]) -> Outline:
    """Prepare a mesh.

    Args:
        points: Vertex positions [m], [n, 3]; equal ones are welded.
        faces: Vertex indices, counter-clockwise seen from outside, [m, 3].
    """
    # Adding zero turns -0.0 into 0.0, which welding would tell apart.
    keys = np.ascontiguousarray(points + np.float32(0.0)).view("V12").reshape(-1)
    _, first, welded = np.unique(keys, return_index=True, return_inverse=True)
    distinct = np.ascontiguousarray(points[first].astype(np.float64).T)
    triangles = welded.reshape(-1)[faces].astype(np.intp).T
    a, b, c = triangles
    triangles = np.ascontiguousarray(triangles[:, (a != b) & (b != c) & (c != a)])
    p, q, r = (distinct[:, index] for index in triangles)
    normals = np.cross(q - p, r - p, axis=0)
    lower, upper = distinct.min(axis=1), distinct.max(axis=1)
    corners = np.stack(np.meshgrid(*zip(lower, upper, strict=True), indexing="ij"))
    shared, single = _edges(triangles, distinct.shape[1])
    return Outline(
        points=distinct,
        faces=triangles,
        normals=normals,
        offsets=np.add.reduce(normals * p, axis=0),
        shared=shared,
        open=single,
        corners=corners.reshape(3, 8),
    )


def _edges(triangles: Indices, point_count: int) -> tuple[Indices, Indices]:
    """Pair the edges that faces run along in opposite directions; any such pair may cancel."""
    start, end = triangles.reshape(-1), np.roll(triangles, -1, axis=0).reshape(-1)
    face = np.tile(np.arange(triangles.shape[1]), 3)
    edge = np.minimum(start, end) * point_count + np.maximum(start, end)
    reverse = start > end
    order = np.lexsort((reverse, edge))
    start, end, face, edge = (values[order] for values in (start, end, face, edge))
    reverse = reverse[order]
    heads = np.flatnonzero(np.diff(edge * 2 + reverse, prepend=-1))
    rank = np.arange(edge.size) - np.repeat(heads, np.diff(heads, append=edge.size))
    order = np.lexsort((reverse, rank, edge))
    edge, rank = edge[order], rank[order]
    same = (edge[1:] == edge[:-1]) & (rank[1:] == rank[:-1])
    first = np.flatnonzero(same)
    alone = np.ones(edge.size, dtype=np.bool_)
    alone[first] = alone[first + 1] = False
    along, against, single = order[first], order[first + 1], order[alone]
    return (
        np.stack([start[along], end[along], face[along], face[against]]),
        np.stack([start[single], end[single], face[single]]),
    )


def _pull_in(
    points: Floats, visible: NDArray[np.bool_], ends: Indices, others: Indices, near: float
) -> Floats:
    """Positions of edge ends; an end before the near plane moves along its edge onto it.

    An edge is always cut from its lower vertex, so that all faces around it meet in one point.
    """
    result = points[:, ends]
    moved = np.flatnonzero(~visible[ends])
    low = points[:, np.minimum(ends[moved], others[moved])]
    high = points[:, np.maximum(ends[moved], others[moved])]
    share = (near - low[2]) / (high[2] - low[2])
    result[:, moved] = low + share * (high - low)
    result[2, moved] = near
    return result
