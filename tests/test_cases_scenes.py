"""Models that other converters got wrong, against the numbers of `tests/cases/a*/case.json`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from pxr import Usd, UsdGeom, UsdLux, UsdShade, UsdValidation

from scenes import (
    AssetError,
    SampleLayer,
    Scene,
    convert_mjcf,
    pinhole,
    srgb_decode,
    srgb_encode,
)
from scenes.sources.mjcf.config import MjcfConfig

CASES = Path(__file__).parent / "cases"
TOLERANCE = 1e-5
# 28 slices and 16 stacks lie inside a curved shape by at most this share of its largest radius.
SAGITTA = 0.012
CURVED = ("sphere", "capsule", "ellipsoid", "cylinder")


@dataclass(frozen=True)
class Check:
    case: str
    settings: dict
    expect: object

    @property
    def model(self) -> Path:
        return CASES / self.case / self.settings["model"]


def checks(kind: str, cases: str = "a*") -> list:
    found = []
    for file in sorted(CASES.glob(f"{cases}/case.json")):
        case = json.loads(file.read_text(encoding="utf-8"))
        found += [
            pytest.param(
                Check(file.parent.name, settings, case["expect"][name]),
                id=f"{file.parent.name}-{name}",
            )
            for name, settings in case["checks"].items()
            if settings["check"] == kind
        ]
    assert found
    return found


Convert = Callable[[Check], Scene]


@pytest.fixture(scope="module")
def convert(tmp_path_factory: pytest.TempPathFactory) -> Convert:
    made: dict[tuple, Scene] = {}

    def scene_of(check: Check) -> Scene:
        keyframe = None
        if "keyframe" in check.settings:
            model = mujoco.MjModel.from_xml_path(str(check.model))
            keyframe = model.key(check.settings["keyframe"]).name
        key = (check.model, keyframe)
        if key not in made:
            out = tmp_path_factory.mktemp("scenes") / "scène x"
            source = MjcfConfig(path=check.model, keyframe=keyframe)
            made[key] = convert_mjcf(check.model, out, source=source)
        scene = made[key]
        scene.show(SampleLayer(scene, scene.info.default_state))
        return scene

    return scene_of


def geom_name(prim: Usd.Prim) -> str:
    data = prim.GetCustomDataByKey("datagen")
    return data["name"] or f"#{data['id']}"


def world_points(scene: Scene, path: str) -> NDArray[np.float64]:
    (T,) = scene.world_transforms([path])
    return scene.triangles(path).points @ T[:3, :3].T + T[:3, 3]


def parts_by_geom(scene: Scene) -> dict[str, str]:
    return {geom_name(scene.stage.GetPrimAtPath(p.path)): p.path for p in scene.info.parts}


def proxies_by_geom(scene: Scene) -> dict[str, NDArray[np.float64]]:
    """World corners of each collision box."""
    signs = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, 8).T
    found = {}
    for prim in scene.stage.Traverse():
        if prim.IsA(UsdGeom.Cube):
            (T,) = scene.world_transforms([str(prim.GetPath())])
            found[geom_name(prim)] = signs @ T[:3, :3].T + T[:3, 3]
    return found


@pytest.mark.parametrize("check", checks("geoms"))
def test_every_geom_fills_its_box(check: Check, convert: Convert) -> None:
    scene = convert(check)
    parts, proxies = parts_by_geom(scene), proxies_by_geom(scene)
    for geom in check.expect:
        if geom["geom"] not in parts:
            # Not drawn: the collision box of a box is the box itself.
            assert geom["geom"] in proxies
            if geom["type"] != "box":
                continue
        points = (
            world_points(scene, parts[geom["geom"]])
            if geom["geom"] in parts
            else proxies[geom["geom"]]
        )
        if geom.get("infinite"):
            assert geom["geom"] not in proxies
            assert np.ptp(points, axis=0).max() > 40.0 and np.isfinite(points).all()
            continue
        low, high = np.array(geom["world_aabb"])
        slack = SAGITTA * (high - low).max() / 2 if geom["type"] in CURVED else 0.0
        for found, wanted in ((points.min(axis=0), low), (-points.max(axis=0), -high)):
            assert np.all(found >= wanted - TOLERANCE), geom["geom"]
            assert np.all(found <= wanted + slack + TOLERANCE), geom["geom"]


@pytest.mark.parametrize("check", checks("mesh_world"))
def test_mesh_vertices_stand_where_mujoco_has_them(check: Check, convert: Convert) -> None:
    scene = convert(check)
    parts = parts_by_geom(scene)
    for name, vertices in check.expect.items():
        found = np.unique(np.round(world_points(scene, parts[name]), 5) + 0.0, axis=0)
        distance = np.linalg.norm(found[:, None] - np.array(vertices)[None], axis=2)
        assert distance.min(axis=0).max() < 3e-5 and distance.min(axis=1).max() < 3e-5


@pytest.mark.parametrize("check", [*checks("mesh_world"), *checks("geoms", "a0[0-9]*")])
def test_faces_wind_outward(check: Check, convert: Convert) -> None:
    scene = convert(check)
    for part in scene.info.parts:
        triangles = scene.triangles(part.path)
        a, b, c = np.moveaxis(triangles.points[triangles.faces].astype(float), 1, 0)
        size = np.ptp(triangles.points, axis=0)
        volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
        assert volume > 0 or size.min() == 0
        facing = np.einsum(
            "ij,ij->i", np.cross(b - a, c - a), triangles.normals[triangles.faces[:, 0]]
        )
        assert np.mean(facing >= 0) == 1.0


@pytest.mark.parametrize("check", checks("bodies"))
def test_bodies_stand_where_mujoco_has_them(check: Check, convert: Convert) -> None:
    scene = convert(check)
    paths = {body.name: body.path for body in scene.info.bodies}
    for body in check.expect:
        (T,) = scene.world_transforms([paths[body["body"]]])
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, np.array(body["xquat_wxyz"]))
        assert np.allclose(T[:3, 3], body["xpos"], atol=2e-6)
        assert np.allclose(T[:3, :3], R.reshape(3, 3), atol=3e-6)


@pytest.mark.parametrize(
    "check", [c for c in checks("geoms") if "color" in c.values[0].settings.get("fields", [])]
)
def test_drawn_colour_is_mujocos(check: Check, convert: Convert) -> None:
    scene = convert(check)
    parts = parts_by_geom(scene)
    for geom in check.expect:
        assert (geom["geom"] in parts) == ("drawn_rgba" in geom)
        if geom["geom"] in parts:
            surface = surface_of(scene, parts[geom["geom"]])
            color = srgb_encode(np.array(surface.GetInput("diffuseColor").Get()))
            opacity = surface.GetInput("opacity").Get()
            assert np.allclose([*color, opacity], geom["drawn_rgba"], atol=2e-6)


def surface_of(scene: Scene, path: str) -> UsdShade.Shader:
    prim = scene.stage.GetPrimAtPath(path)
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    source, _, _ = material.ComputeSurfaceSource()
    return source


def texture_of(scene: Scene, path: str) -> NDArray[np.float64]:
    """The texture with the factor that multiplies it, as display values from 0 to 255."""
    ((connection, *_), _) = surface_of(scene, path).GetInput("diffuseColor").GetConnectedSources()
    shader = UsdShade.Shader(connection.source.GetPrim())
    file = shader.GetInput("file").Get()
    image = np.array(Image.open(file.resolvedPath).convert("RGB")) / 255
    factor = np.array(shader.GetInput("scale").Get())[:3]
    return 255 * srgb_encode(srgb_decode(image) * factor)


def first_hits(
    scene: Scene, origin: NDArray[np.float64], rays: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.intp], list]:
    """Distance in lengths of the ray, part index (-1: none) and st of the front-facing hits."""
    best = np.full(len(rays), np.inf)
    part_of = np.full(len(rays), -1)
    st_of: list = [None] * len(rays)
    for index, part in enumerate(scene.info.parts):
        triangles, points = scene.triangles(part.path), world_points(scene, part.path)
        for face in triangles.faces:
            a, b, c = points[face]
            normal = np.cross(b - a, c - a)
            slope = rays @ normal
            t = np.full(len(rays), -1.0)
            np.divide((a - origin) @ normal, slope, out=t, where=slope < 0)
            hit = origin + t[:, None] * rays
            w = np.stack(
                [np.cross(q - p, hit - p) @ normal for p, q in ((b, c), (c, a), (a, b))], axis=1
            ) / max(normal @ normal, 1e-300)
            inside = (w >= -1e-9).all(axis=1) & (t > 0) & (t < best - 1e-12)
            best[inside], part_of[inside] = t[inside], index
            if triangles.st is not None:
                for ray in np.flatnonzero(inside):
                    st_of[ray] = w[ray] @ triangles.st[face]
    return best, part_of, st_of


def view_rays(scene: Scene, camera: str, size: list[int]) -> tuple[NDArray, NDArray]:
    """Origin, and rays of unit depth through every pixel centre, [h, w, 3]."""
    view = pinhole(scene, camera, *size)
    x, y = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    pixels = np.stack([x, y, np.ones_like(x)], axis=2)
    rays = pixels @ np.linalg.inv(view.K).T @ view.T_world_camera[:3, :3].T
    return view.T_world_camera[:3, 3], rays


@pytest.mark.parametrize("check", checks("gl"))
def test_texture_shows_the_right_colour_at_each_pixel(check: Check, convert: Convert) -> None:
    scene = convert(check)
    for camera, pixels in check.expect.items():
        origin, rays = view_rays(scene, camera, check.settings["size"])
        chosen = np.array([rays[v, u] for u, v in (pixel["uv"] for pixel in pixels)])
        _, parts, st = first_hits(scene, origin, chosen)
        for pixel, part, (s, t) in zip(pixels, parts, st, strict=True):
            image = texture_of(scene, scene.info.parts[part].path)
            height, width = image.shape[:2]
            color = image[int((1 - t) % 1 * height) % height, int(s % 1 * width) % width]
            assert np.allclose(color, pixel["rgb"], atol=6), (camera, pixel["uv"])


@pytest.mark.parametrize("check", checks("image"))
def test_every_pixel_sees_the_geom_that_mujocos_rays_see(check: Check, convert: Convert) -> None:
    scene = convert(check)
    names = [geom_name(scene.stage.GetPrimAtPath(part.path)) for part in scene.info.parts]
    width = check.settings["size"][0]
    for camera, expect in check.expect.items():
        origin, rays = view_rays(scene, camera, check.settings["size"])
        depth, parts, _ = first_hits(scene, origin, rays.reshape(-1, 3))
        assert np.sum(parts < 0) == expect.get("background_pixels", 0)
        for name, seen in expect["objects"].items():
            count = int(np.sum(parts == names.index(name))) if name in names else 0
            assert count == seen["visible_pixels"], name
        for pixel in expect.get("pixels", []):
            at = pixel["uv"][1] * width + pixel["uv"][0]
            assert names[parts[at]] == pixel["object"]
            assert depth[at] == pytest.approx(pixel["planar_depth_m"], abs=1e-3)


@pytest.mark.parametrize("check", checks("hfield"))
def test_height_fields_rise_where_mujocos_do(check: Check, convert: Convert) -> None:
    scene = convert(check)
    parts = parts_by_geom(scene)
    for name, probes in check.expect.items():
        centre = scene.world_transforms([parts[name]])[0][:3, 3]
        for probe in probes:
            above = centre + np.array([*probe["local_xy"], 50.0])
            (t,), _, _ = first_hits(scene, above, np.array([[0.0, 0.0, -1.0]]))
            assert 50.0 - t == pytest.approx(probe["surface_z_above_geom_pos"], abs=1e-3)


@pytest.mark.parametrize("check", checks("texcoord"))
def test_texture_coordinates_run_up(check: Check, convert: Convert) -> None:
    scene = convert(check)
    parts = parts_by_geom(scene)
    for name, corners in check.expect.items():
        points, st = world_points(scene, parts[name]), scene.triangles(parts[name]).st
        for corner in corners:
            here = np.linalg.norm(points - corner["world_xyz"], axis=1) < TOLERANCE
            assert here.any() and np.allclose(st[here], corner["usd_st_v_up"], atol=TOLERANCE)


@pytest.mark.parametrize("check", checks("textures"))
def test_textures_keep_size_and_pixels(check: Check, convert: Convert) -> None:
    scene = convert(check)
    written = [np.array(Image.open(file)) for file in (scene.folder / "textures").glob("*.png")]
    for name, texture in check.expect.items():
        fit = [i for i in written if i.shape == (texture["height"], texture["width"], 3)]
        if "first_row_left_mid_right" in texture:
            rows = texture["first_row_left_mid_right"]
            fit = [i for i in fit if i[0, [0, i.shape[1] // 2, -1]].tolist() == rows]
            fit = [i for i in fit if i[-1, 0].tolist() == texture["last_row_left"]]
        assert fit, name


@pytest.mark.parametrize("check", checks("names"))
def test_names_survive_in_the_tables(check: Check, convert: Convert) -> None:
    info = convert(check).info
    assert {body.name for body in info.bodies} >= set(check.expect["bodies"])
    assert {part.name for part in info.parts} == set(check.expect["geoms"])
    assert len({part.path for part in info.parts}) == check.expect["distinct_geoms"]


@pytest.mark.parametrize("check", checks("lights"))
def test_lights_carry_mujocos_values(check: Check, convert: Convert) -> None:
    scene = convert(check)
    *lights, head = check.expect
    paths = {light.name: light.path for light in scene.info.lights}
    assert set(paths) == {light["light"] for light in lights}
    for light in lights:
        prim = scene.stage.GetPrimAtPath(paths[light["light"]])
        value = {a.GetName(): a.Get() for a in prim.GetAttributes()}
        directional = light["type"] == "directional"
        assert prim.IsA(UsdLux.DistantLight if directional else UsdLux.SphereLight)
        (T,) = scene.world_transforms([str(prim.GetPath())])
        assert np.allclose(T[:3, 3], light["xpos"], atol=2e-6)
        assert np.allclose(-T[:3, 2], light["xdir"], atol=2e-6)
        assert (value["visibility"] == "inherited") == light["active"]
        assert np.allclose(srgb_encode(value["inputs:color"]), light["diffuse"], atol=1e-6)
        assert value["inputs:intensity"] == value["datagen:unitIntensity"]
        assert value["datagen:castShadow"] == light["castshadow"]
        for key in ("ambient", "specular", "attenuation"):
            assert np.allclose(value[f"datagen:{key}"], light[key], atol=1e-6)
        if light["type"] == "spot":
            assert (
                value["datagen:cutoff"] == value["inputs:shaping:cone:angle"] == light["cutoff_deg"]
            )
            assert value["datagen:exponent"] == light["exponent"]
    world = scene.stage.GetPrimAtPath("/World")
    assert world.GetAttribute("datagen:headlight:active").Get() == bool(head["headlight_active"])
    for key in ("ambient", "diffuse", "specular"):
        assert np.allclose(world.GetAttribute(f"datagen:headlight:{key}").Get(), head[key])


@pytest.mark.parametrize("check", checks("compile"))
def test_what_mujoco_or_we_refuse_is_one_sentence_and_nothing_is_written(
    check: Check, tmp_path: Path
) -> None:
    refused = not check.expect["mujoco_compiles"] or check.case.startswith("a21")
    if not refused:
        assert len(convert_mjcf(check.model, tmp_path / "out").info.parts) == check.expect["ngeom"]
        return
    with pytest.raises(AssetError) as error:
        convert_mjcf(check.model, tmp_path / "out")
    message = str(error.value)
    assert message.startswith(str(CASES / check.case)) and "\n" not in message
    if check.case.startswith("a21"):
        index = {"msh_nan.xml": 1, "stl_nan.xml": 2, "unused_nan.xml": 8}.get(check.model.name, 6)
        assert f"mesh 'm': vertex {index} is not finite" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check", [*checks("geoms"), *checks("gl"), *checks("lights")])
def test_stage_passes_usds_own_validators(check: Check, convert: Convert) -> None:
    folder = convert(check).folder
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    context = UsdValidation.ValidationContext(validators)
    assert len(validators) > 20
    for file in ("scene.usda", "base.usdc"):
        errors = context.Validate(Usd.Stage.Open(str(folder / file)))
        assert [f"{error.GetName()}: {error.GetMessage()}" for error in errors] == []
