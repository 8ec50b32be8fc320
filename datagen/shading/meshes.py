"""Meshes as MuJoCo lights them: at their vertices, with the rest interpolated over each triangle.

On the large triangles of a table the difference to lighting every pixel reaches some percent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scenes import Matrix, Triangles

Floats = NDArray[np.float64]
_PLANE_VERTICES = 4
"""A plane is one quad in a stage; MuJoCo cuts it into many, so its pixels are lit one by one."""


@dataclass(frozen=True)
class MeshHits:
    """Places on a mesh that pixels show."""

    vertices: NDArray[np.int32]
    """Vertices of the triangles that are hit, [v]."""
    corners: NDArray[np.intp]
    """Rows of `vertices` at the corners of each pixel's triangle, [n, 3]."""
    weights: Floats
    """Barycentric coordinates of each pixel's point, [n, 3]."""
    points: Floats
    """World points of the vertices [m], [v, 3]."""
    normals: Floats
    """World unit normals of the vertices, on the mesh's own side, [v, 3]."""

    @classmethod
    def of(cls, mesh: Triangles, pose: Matrix, triangle: NDArray[np.int32], places: Floats) -> Self:
        """Find where world points [m], [n, 3], lie on the triangles that are hit, [n].

        Args:
            mesh: The part at rest.
            pose: `T_world_part` [m].
            triangle: Index of the triangle under each point.
            places: The points.
        """
        vertices, corners = np.unique(mesh.faces[triangle], return_inverse=True)
        corners = corners.reshape(-1, 3)
        points = mesh.points[vertices].astype(np.float64) @ pose[:3, :3].T + pose[:3, 3]
        normals = mesh.normals[vertices].astype(np.float64) @ np.linalg.inv(pose[:3, :3])
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
        return cls(vertices, corners, _barycentric(points[corners], places), points, normals)

    def interpolate(self, values: Floats) -> Floats:
        """Values at the pixels, [n, c], from those at the vertices, [v, c]."""
        return np.einsum("nk,nkc->nc", self.weights, values[self.corners])


def lit_at_vertices(mesh: Triangles) -> bool:
    """Tell whether MuJoCo lights a mesh of a stage at its vertices: all but planes."""
    return len(mesh.points) > _PLANE_VERTICES


def _barycentric(corners: Floats, places: Floats) -> Floats:
    """Barycentric coordinates, [n, 3], of points in triangles, [n, 3 corners, 3]."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    offset = places - corners[:, 0]
    aa, ab, bb = (
        np.einsum("nc,nc->n", p, q) for p, q in ((first, first), (first, second), (second, second))
    )
    da, db = (np.einsum("nc,nc->n", offset, each) for each in (first, second))
    area = np.maximum(aa * bb - ab * ab, 1e-30)
    s, t = (bb * da - ab * db) / area, (aa * db - ab * da) / area
    weights = np.clip(np.stack([1.0 - s - t, s, t], axis=1), 0.0, 1.0)
    return weights / weights.sum(axis=1, keepdims=True)
