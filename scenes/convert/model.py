"""A compiled MuJoCo model as a scene folder: the list of steps."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from scenes.convert.bodies import convert_bodies, convert_geoms
from scenes.convert.cameras import convert_cameras
from scenes.convert.compiled import CompiledModel, model_bytes
from scenes.convert.conversion import Conversion, Description
from scenes.convert.element_names import ambiguous_elements
from scenes.convert.grouping import drawn_geoms
from scenes.convert.inventory import count_elements, refuse_inexpressible
from scenes.convert.lights import convert_lights, convert_surroundings
from scenes.convert.looks.materials import Materials
from scenes.convert.looks.skybox import convert_skybox
from scenes.convert.looks.textures import TextureFiles
from scenes.convert.physics.physics import convert_physics
from scenes.convert.physics.proxies import convert_proxies
from scenes.convert.report import SceneReport
from scenes.convert.robot import robot_info
from scenes.convert.shapes.winding import note_winding
from scenes.convert.stand_ins import stand_in_geoms
from scenes.convert.states import Placement, posed, write_state
from scenes.errors import StorageError
from scenes.finite import refuse_far
from scenes.stage.info import SCENE_FORMAT, SceneInfo
from scenes.stage.layers import SCOPES, new_base, write_stack
from scenes.stage.names import note_origins
from scenes.stage.scene import Scene
from scenes.storage.digests import write_digests
from scenes.storage.temporary import temporary_folder

_TEXTURES = "textures"


def convert_model(
    compiled: CompiledModel,
    out: Path,
    description: Description,
    states: Mapping[str, Placement],
    *,
    texture_store: Path | None = None,
    model_file: str | None = None,
) -> Scene:
    """Convert a compiled model into a scene folder; it appears whole or not at all.

    Args:
        compiled: The compiled model.
        out: Folder to make; it must not exist.
        description: Names, classes and texts of the source.
        states: Placements by state name, at least one; the first is what `scene.usda` shows.
        texture_store: Folder that keeps textures once for many scenes.
        model_file: File of the model relative to `out`, put there by the caller before;
            None saves the compiled model as `model.mjb`.

    Raises:
        SceneError: Something cannot be converted or written; nothing is left behind.
    """
    refuse_inexpressible(compiled.model, description.place)
    try:
        temporary = temporary_folder(out.parent)
    except OSError as error:
        raise StorageError(f"{out}: cannot be written: {error.strerror or error}.") from error
    try:
        conversion = _start(compiled, temporary, description, states, texture_store)
        _convert(conversion)
        _write(conversion, states, model_file)
        temporary.chmod(0o755)
        temporary.rename(out)
    except OSError as error:
        raise StorageError(f"{out}: cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Scene.open(out)


def _start(
    compiled: CompiledModel,
    folder: Path,
    description: Description,
    states: Mapping[str, Placement],
    texture_store: Path | None,
) -> Conversion:
    model = compiled.model
    rest = posed(model, Placement(model.qpos0))
    refuse_far(model, rest, description.place)
    drawn = drawn_geoms(model, description.grouping.drawn_groups)
    ambiguous = ambiguous_elements(model)
    stage = new_base(folder / "base.usdc", description.source)
    conversion = Conversion(
        model=model,
        folder=folder,
        stage=stage,
        description=description,
        rest=rest,
        shown=posed(model, next(iter(states.values()))),
        drawn=drawn,
        stand_ins=stand_in_geoms(model, drawn, description.grouping),
        materials=Materials(
            stage,
            model,
            TextureFiles(folder / _TEXTURES, texture_store),
            _TEXTURES,
            description.place,
            ambiguous,
            description.materials,
        ),
        ambiguous=ambiguous,
        report=SceneReport(
            description.source,
            approximated=list(compiled.changes),
            left_out=list(compiled.left_out),
            warnings=list(compiled.warnings),
        ),
    )
    for scope in SCOPES:
        conversion.reserve("/World", scope)
    return conversion


def _convert(conversion: Conversion) -> None:
    convert_surroundings(conversion)
    convert_skybox(conversion)
    objects = convert_bodies(conversion)
    convert_geoms(conversion, objects)
    note_winding(conversion)
    convert_proxies(conversion)
    convert_cameras(conversion)
    convert_lights(conversion)
    convert_physics(conversion)
    count_elements(conversion)
    note_origins(conversion.stage, conversion.description.origins)


def _write(conversion: Conversion, states: Mapping[str, Placement], model_file: str | None) -> None:
    folder = conversion.folder
    conversion.stage.GetRootLayer().Save()
    if model_file is None:
        model_file = "model.mjb"
        # MuJoCo itself would only warn of a full disk.
        (folder / model_file).write_bytes(model_bytes(conversion.model))
    info = _info(conversion, next(iter(states)), model_file)
    info.write(folder / "scene.json")
    conversion.report.write(folder / "report.json")
    for name, placement in states.items():
        write_state(folder, info, conversion.model, name, placement, conversion.description.place)
    write_stack(folder, info.default_state)
    write_digests(folder)


def _info(conversion: Conversion, default_state: str, model_file: str) -> SceneInfo:
    description = conversion.description
    return SceneInfo(
        format=SCENE_FORMAT,
        scene_id=description.scene_id,
        source=description.source,
        language=description.language,
        language_bddl=description.language_bddl,
        objects_of_interest=description.objects_of_interest,
        main_camera=description.main_camera,
        default_state=default_state,
        model=model_file,
        digest=description.digest,
        versions=dict(description.versions),
        objects=tuple(conversion.objects),
        bodies=tuple(conversion.bodies),
        parts=tuple(conversion.parts),
        cameras=tuple(conversion.cameras),
        lights=tuple(conversion.lights),
        joints=tuple(sorted(conversion.joints, key=lambda joint: joint.joint_id)),
        robot=robot_info(conversion),
    )
