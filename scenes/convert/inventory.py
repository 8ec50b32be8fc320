"""Counts of a model's elements against what was written, and refusals of what cannot be."""

from __future__ import annotations

import mujoco

from scenes.convert.conversion import Conversion
from scenes.convert.grouping import WORLD
from scenes.convert.looks.materials import geom_look, geom_texture, shown_rgba
from scenes.convert.looks.texture_roles import role_notes
from scenes.convert.physics.proxies import collides
from scenes.errors import SceneError

_OBJ = mujoco.mjtObj
_WITH_ALPHA = 4


def refuse_inexpressible(model: mujoco.MjModel, source: str) -> None:
    """Refuse a model with something that MuJoCo draws and no stage of ours can hold.

    Raises:
        SceneError: Names the element.
    """
    for kind, count in ((_OBJ.mjOBJ_SKIN, model.nskin), (_OBJ.mjOBJ_FLEX, model.nflex)):
        if count:
            word = kind.name.removeprefix("mjOBJ_").lower()
            name = mujoco.mj_id2name(model, kind, 0) or "#0"
            raise SceneError(
                f"{source}: {word} {name!r} cannot be converted: its shape deforms. "
                "Remove it from the model, or give the geoms it covers."
            )


def count_elements(conversion: Conversion) -> None:
    """Fill the report: elements in and out, what was left out and what differs."""
    model, report = conversion.model, conversion.report
    colliding = [geom for geom in range(model.ngeom) if collides(model, geom)]
    report.counts_in = {
        "bodies": model.nbody - 1,
        "drawn geoms": len(conversion.drawn),
        "collision geoms": len(colliding),
        "cameras": model.ncam,
        "lights": model.nlight,
    } | report.counts_in
    shown = [part for part in conversion.parts if part.geom_id in conversion.drawn]
    # What other steps have counted comes after.
    report.counts_out = {
        "bodies": sum(body.body_id != WORLD for body in conversion.bodies),
        "drawn geoms": len(shown),
        "collision geoms": len(conversion.colliders),
        "collision proxies": conversion.proxies,
        "cameras": len(conversion.cameras),
        "lights": len(conversion.lights),
        "objects": len(conversion.objects),
        "materials": conversion.materials.count,
        "textures": conversion.materials.texture_count,
    } | report.counts_out
    for geom in sorted(set(range(model.ngeom)) - conversion.drawn - set(colliding)):
        report.left_out.append(
            f"geom {conversion.name(_OBJ.mjOBJ_GEOM, geom) or geom}: not drawn (group "
            f"{int(model.geom_group[geom])} or wholly transparent) and without collision"
        )
    boxed = {part.instance for part in conversion.parts if part.geom_id in conversion.stand_ins}
    report.caveats += [
        f"object {info.name} shows a box proxy, for no geom of it is drawn: pictures are not "
        "comparable across backends"
        for info in conversion.objects
        if info.instance in boxed
    ]
    seen = {part.instance for part in conversion.parts}
    for unseen in (info for info in conversion.objects if info.instance not in seen):
        report.caveats.append(f"object {unseen.name}: no geom of it is drawn; no picture shows it")
    _note_materials(conversion)
    _note_undrawn(conversion)
    if len(conversion.lights) or model.vis.headlight.active:
        report.approximated.append(
            "lights: MuJoCo's have no falloff; they agree at the reference distance only"
        )


def _note_materials(conversion: Conversion) -> None:
    model, report = conversion.model, conversion.report
    for geom in sorted(conversion.drawn):
        look = geom_look(model, geom)
        if shown_rgba(look) != look.rgba:
            values = " ".join(f"{value:g}" for value in look.rgba)
            report.approximated.append(
                f"geom {conversion.name(_OBJ.mjOBJ_GEOM, geom) or geom}: rgba {values} is shown "
                "within 0 to 1; no surface reflects more than all light"
            )
    for material in sorted({int(model.geom_matid[geom]) for geom in conversion.drawn} - {-1}):
        name = conversion.name(_OBJ.mjOBJ_MATERIAL, material) or material
        if model.mat_reflectance[material] > 0:
            report.approximated.append(
                f"material {name}: reflectance {model.mat_reflectance[material]:g}, a mirror on "
                "MuJoCo's planes and boxes, is not shown"
            )
        if model.mat_metallic[material] >= 0 or model.mat_roughness[material] >= 0:
            report.approximated.append(
                f"material {name}: metallic and roughness, which MuJoCo's own pictures leave out, "
                "shape the path-traced ones"
            )
        report.approximated += [f"material {name}: {note}" for note in role_notes(model, material)]
        if model.mat_emission[material] > 0:
            report.approximated.append(
                f"material {name}: emission {model.mat_emission[material]:g} shows on the surface "
                "and lights nothing else, as in MuJoCo's own pictures"
            )
        shown = geom_texture(model, material)
        if shown >= 0 and model.tex_nchannel[shown] == _WITH_ALPHA:
            report.approximated.append(
                f"material {name}: the alpha of texture "
                f"{conversion.name(_OBJ.mjOBJ_TEXTURE, shown) or shown} is not used"
            )


def _note_undrawn(conversion: Conversion) -> None:
    model, report = conversion.model, conversion.report
    for word, count in (("sites", model.nsite), ("tendons", model.ntendon)):
        if count:
            report.left_out.append(f"{count} {word}: marks of the model, not drawn")
