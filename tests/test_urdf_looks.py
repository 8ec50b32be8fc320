"""Colours, meshes and units of URDF visuals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import UsdGeom

from scenes import AssetError, Scene, convert_urdf
from scenes.sources.urdf.config import UrdfConfig

CASES = Path(__file__).parent / "cases"


def converted(folder: Path, case: str) -> tuple[Scene, dict[str, Any]]:
    scene = convert_urdf(folder / "out", UrdfConfig(path=CASES / case / "robot.urdf"))
    return scene, json.loads((scene.folder / "report.json").read_text())


def expected(case: str) -> Any:
    return json.loads((CASES / case / "case.json").read_text())["expect"]["rule"]


def test_visuals_have_the_colour_their_material_names_and_no_neighbours(tmp_path: Path) -> None:
    case = "a62-urdf-material-by-name"
    model = converted(tmp_path, case)[0].load_model()
    right = expected(case)
    for geom in range(model.ngeom):
        body = model.body(int(model.geom_bodyid[geom])).name
        place = str(round(float(model.geom_pos[geom][1])))
        colour = right["tip"] if body == "tip" else right["boxes_by_y"][place]
        shown = [0.5, 0.5, 0.5] if colour == "default" else colour
        assert model.geom_rgba[geom][:3] == pytest.approx(shown)


def test_a_material_without_colour_anywhere_is_grey_and_named(tmp_path: Path) -> None:
    shape = '<visual><geometry><box size="1 1 1"/></geometry>{}</visual>'
    red = '<material name="r"><color rgba="1 0 0 1"/></material>'
    (tmp_path / "r.urdf").write_text(
        f'<robot name="r"><link name="l">{shape.format(red)}'
        f"{shape.format('<material name=' + chr(34) + 'nowhere' + chr(34) + '/>')}</link></robot>"
    )
    scene = convert_urdf(tmp_path / "out", UrdfConfig(path=tmp_path / "r.urdf"))
    rgba = scene.load_model().geom_rgba
    assert np.allclose(rgba[:, :3], [[1, 0, 0], [0.5, 0.5, 0.5]])
    assert "'nowhere': no colour" in (scene.folder / "report.json").read_text()


def test_a_mirrored_visual_is_right_side_out(tmp_path: Path) -> None:
    case = "a60-urdf-mirrored-visual"
    scene, _ = converted(tmp_path, case)
    right = expected(case)
    boxes = [right[name] for name in ("left", "right", "turned")]
    found: list[Any] = []
    cache = UsdGeom.XformCache()
    for part in scene.info.parts:
        prim = scene.stage.GetPrimAtPath(part.path)
        mesh = UsdGeom.Mesh(prim)
        to_world = np.array(cache.GetLocalToWorldTransform(prim))
        points = np.array(mesh.GetPointsAttr().Get()) @ to_world[:3, :3] + to_world[3, :3]
        a, b, c = points[np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)].swapaxes(
            0, 1
        )
        volume = np.einsum("fx,fx->f", a, np.cross(b, c)).sum() / 6
        assert volume == pytest.approx(right["signed_volume"], rel=1e-4)
        found.append([points.min(axis=0), points.max(axis=0)])
    assert np.allclose(sorted(np.array(found).tolist()), sorted(boxes), atol=1e-5)


def test_textures_of_materials_are_named_and_their_links_drawn(tmp_path: Path) -> None:
    case = "a63-urdf-material-texture"
    scene, report = converted(tmp_path, case)
    right = expected(case)
    assert len(scene.info.parts) == right["links_drawn"]
    named = [line for line in report["left_out"] if line.startswith("texture ")]
    assert len(named) == right["textures_named_or_shown"]


def test_materials_of_an_obj_are_named(tmp_path: Path) -> None:
    _, report = converted(tmp_path, "a64-urdf-obj-mtl-colours")
    assert [line for line in report["approximated"] if "wedge.obj" in line]


def test_a_collada_mesh_is_refused_by_name_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match=r"part\.dae.*convert .* to STL or OBJ"):
        converted(tmp_path, "a65-urdf-collada-units")
