"""Meshes whose faces are wound both ways, so that some of them are seen from behind."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from scenes.convert.conversion import Conversion

_MESHES = (mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_SDF)


def note_winding(conversion: Conversion) -> None:
    """Name the drawn meshes that are wound both ways in the report."""
    model = conversion.model
    drawn = {
        int(model.geom_dataid[geom])
        for geom in conversion.drawn
        if int(model.geom_type[geom]) in _MESHES
    }
    found: list[str] = []
    for mesh in sorted(drawn):
        vertex, vertices = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        face, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
        count = opposed_edges(
            model.mesh_vert[vertex : vertex + vertices], model.mesh_face[face : face + faces]
        )
        if count:
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_MESH, mesh) or f"#{mesh}"
            found.append(f"{name} ({count} edge{'' if count == 1 else 's'})")
    if found:
        conversion.report.caveats.append(
            "meshes wound both ways, whose faces that look away from the camera are drawn by the "
            f"path tracer and not by MuJoCo: {', '.join(found)}"
        )


def opposed_edges(points: NDArray[np.floating], faces: NDArray[np.integer]) -> int:
    """Count the edges of two faces that both pass in the same direction.

    Args:
        points: Vertices, [n, 3]; those in one place count as one.
        faces: Vertex indices, [f, 3].
    """
    rows = np.ascontiguousarray(points, dtype=np.float32) + np.float32(0.0)  # No negative zeros.
    _, place = np.unique(rows.view("V12").ravel(), return_inverse=True)
    corners = place.reshape(-1)[faces].astype(np.int64)
    start, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    start, end = start[start != end], end[start != end]
    key = np.minimum(start, end) * (len(points) + 1) + np.maximum(start, end)
    _, edge, uses = np.unique(key, return_inverse=True, return_counts=True)
    balance = np.bincount(edge.reshape(-1), weights=np.where(start < end, 1.0, -1.0))
    return int(np.count_nonzero((uses == 2) & (balance != 0.0)))
