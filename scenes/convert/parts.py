"""Geoms as prims: drawn ones as meshes; colliding ones are noted."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
from pxr import UsdShade

from scenes.convert.conversion import Collider, Conversion
from scenes.convert.looks.materials import Look, geom_look
from scenes.convert.physics.proxies import FLAT, THICKENED, collides
from scenes.convert.shapes.meshes import geom_triangles
from scenes.convert.shapes.primitives import box
from scenes.convert.shapes.two_sided import front_sides
from scenes.stage.info import BodyInfo, PartInfo
from scenes.stage.matrices import Matrix, matrix_value, rigid, rotation_from_quaternion
from scenes.stage.mesh_prims import Triangles, without_repeats, write_triangles
from scenes.stage.names import provenance

_REPEATING = "faces left out, without area"


def convert_geom(conversion: Conversion, body: BodyInfo, geom: int) -> None:
    """Write a geom under its body, as far as it is drawn; note it if it collides."""
    model = conversion.model
    pose = rigid(model.geom_pos[geom], rotation_from_quaternion(model.geom_quat[geom]))
    if geom in conversion.drawn:
        look = geom_look(model, geom)
        _convert_part(conversion, body, geom, pose, look, geom_triangles(model, geom, look.layout))
    elif geom in conversion.stand_ins:
        look = replace(geom_look(model, geom), texture=-1, roles=(), layout=-1)
        _convert_part(conversion, body, geom, pose, look, _box_around(model, geom))
    if collides(model, geom):
        conversion.colliders.append(Collider(body, geom, pose))


def _box_around(model: mujoco.MjModel, geom: int) -> Triangles:
    center, half = np.split(model.geom_aabb[geom].astype(np.float64), 2)
    surface = box(np.where(half <= FLAT, THICKENED, half))
    points = (surface.points + center).astype(np.float32)
    return Triangles(points, surface.faces, surface.normals.astype(np.float32), None)


def _convert_part(
    conversion: Conversion,
    body: BodyInfo,
    geom: int,
    pose: Matrix,
    look: Look,
    triangles: Triangles,
) -> None:
    model = conversion.model
    name = conversion.name(mujoco.mjtObj.mjOBJ_GEOM, geom)
    path = conversion.child_path(body.path, name, "geom", geom)
    triangles, repeating = without_repeats(triangles)
    if repeating:
        _note_repeating(conversion, geom, repeating)
    front = front_sides(triangles)
    mesh = write_triangles(conversion.stage, path, triangles if front is None else front)
    # MuJoCo culls back faces of everything but planes.
    plane = bool(model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE)
    mesh.CreateDoubleSidedAttr(plane or front is not None)
    mesh.AddTransformOp().Set(matrix_value(pose))
    provenance(mesh.GetPrim(), "geom", name, geom)
    binding = UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim())
    binding.Bind(conversion.materials.of(look))
    conversion.parts.append(
        PartInfo(
            part=len(conversion.parts) + 1,
            name=name or f"geom_{geom}",
            path=path,
            instance=body.instance,
            body=body.path,
            geom_id=geom,
        )
    )


def _note_repeating(conversion: Conversion, geom: int, count: int) -> None:
    report = conversion.report
    report.counts_out[_REPEATING] = report.counts_out.get(_REPEATING, 0) + count
    report.left_out.append(
        f"geom {conversion.name(mujoco.mjtObj.mjOBJ_GEOM, geom) or geom}: {count} "
        f"face{'s' if count > 1 else ''} of two corners or one, without area"
    )
