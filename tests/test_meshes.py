from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from datagen.backends.base import Size
from datagen.backends.registry import open_backend
from scenes import SampleLayer, Scene, Triangles, convert_mjcf, pinhole
from scenes.convert.shapes.meshes import geom_triangles
from scenes.sources.files.obj_objects import merged_objects

TETRAHEDRON = "vertex='0 0 0 1 0 0 0 1 0 0 0 1'"


def compiled(assets: str, geoms: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{assets}</asset><worldbody>{geoms}</worldbody></mujoco>"
    )


def signed_volume(triangles: Triangles) -> float:
    a, b, c = np.moveaxis(triangles.points[triangles.faces].astype(float), 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


@pytest.mark.parametrize("scale", ["1 1 1", "-1 1 1", "1 -2 1", "-1 -1 -1", "-1 -1 1"])
def test_mirrored_meshes_wind_outward(scale: str) -> None:
    model = compiled(
        f"<mesh name='m' scale='{scale}' {TETRAHEDRON}/>", "<geom type='mesh' mesh='m'/>"
    )
    triangles = geom_triangles(model, 0, -1)
    factor = abs(np.prod([float(s) for s in scale.split()]))
    assert signed_volume(triangles) == pytest.approx(factor / 6, rel=1e-5)
    a, b, c = np.moveaxis(triangles.points[triangles.faces], 1, 0)
    facing = np.cross(b - a, c - a)
    for corner in range(3):
        normal = triangles.normals[triangles.faces[:, corner]]
        assert np.all(np.einsum("ij,ij->i", facing, normal) > 0)


def test_meshes_without_coordinates_are_shaded_flat_at_sharp_edges_only() -> None:
    sphere = compiled(
        "<mesh name='m' builtin='sphere' params='3'/>", "<geom type='mesh' mesh='m'/>"
    )
    smooth = geom_triangles(sphere, 0, -1)
    assert np.allclose(
        smooth.normals, smooth.points / np.linalg.norm(smooth.points, axis=1)[:, None], atol=0.05
    )
    corner = compiled(f"<mesh name='m' {TETRAHEDRON}/>", "<geom type='mesh' mesh='m'/>")
    sharp = geom_triangles(corner, 0, -1)
    a, b, c = np.moveaxis(sharp.points[sharp.faces], 1, 0)
    facing = np.cross(b - a, c - a)
    facing /= np.linalg.norm(facing, axis=1)[:, None]
    assert np.allclose(sharp.normals[sharp.faces[:, 0]], facing, atol=1e-5)


def test_infinite_plane_reaches_the_far_plane_on_its_open_sides() -> None:
    model = compiled("", "<geom type='plane' size='0 2 .1'/><geom size='1'/>")
    reach = np.ptp(geom_triangles(model, 0, -1).points, axis=0) / 2
    assert np.allclose(reach, [model.vis.map.zfar * model.stat.extent, 2.0, 0.0])


def test_height_field_is_a_closed_solid_of_the_right_volume() -> None:
    model = compiled(
        "<hfield name='h' nrow='2' ncol='3' size='2 1 .5 .25' elevation='0 0 0 1 1 1'/>",
        "<geom type='hfield' hfield='h'/>",
    )
    triangles = geom_triangles(model, 0, -1)
    # A ramp from 0 to .5 over a base of .25: 4 m x 2 m x (.25 + .25).
    assert signed_volume(triangles) == pytest.approx(4.0)
    edges = triangles.points[triangles.faces]
    _, welded = np.unique(edges.reshape(-1, 3), axis=0, return_inverse=True)
    pairs = [(f[i], f[(i + 1) % 3]) for f in welded.reshape(-1, 3).tolist() for i in range(3)]
    assert {(b, a) for a, b in pairs} == set(pairs)


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (
            b"o a\nv 0 0 0\nf 1 1 1\no b\nv 1 0 0\nf 2 2 2\n",
            b"v 0 0 0\nf 1 1 1\nv 1 0 0\nf 2 2 2\n",
        ),
        (b"g a\nf 1 1 1\nusemtl x\nf 2 2 2\n", None),
        (b"o a\no b\ng c\nf 1 1 1\n", None),
        (b"f 1 1 1\ng late\nf 2 2 2\n", b"f 1 1 1\nf 2 2 2\n"),
        (b"", None),
    ],
)
def test_obj_objects_are_merged_only_where_several_have_faces(
    data: bytes, whole: bytes | None
) -> None:
    assert merged_objects(data) == whole


SHAPES = """
<mujoco><asset>
<hfield name="h" nrow="3" ncol="4" size=".3 .2 .2 .1" elevation="1 1 1 1 0 .5 0 0 0 0 0 0"/>
<mesh name="m" vertex="0 0 0 .3 0 0 0 .3 0 0 0 .3"/></asset><worldbody>
<geom name="box" type="box" size=".1 .2 .1" pos="-1 1 0" euler="10 20 30"/>
<geom name="ball" size=".2" pos="0 1 0"/>
<geom name="egg" type="ellipsoid" size=".1 .2 .3" pos="1 1 0" euler="40 0 0"/>
<geom name="can" type="cylinder" size=".2 .2" pos="-1 0 0" euler="50 0 0"/>
<geom name="pill" type="capsule" size=".15 .2" pos="0 0 0" euler="60 0 20"/>
<geom name="terrain" type="hfield" hfield="h" pos="1 0 0"/>
<geom name="tet" type="mesh" mesh="m" pos="-.5 -1 0"/>
<geom name="floor" type="plane" size="3 3 .1" pos="0 0 -.4"/>
<camera name="above" pos="0 0 4" fovy="45"/></worldbody></mujoco>
"""


def first_hits(scene: Scene, origin: np.ndarray, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Part number, 0 for none, and distance in lengths of the ray, of front-facing triangles."""
    best, part_of = np.full(len(rays), np.inf), np.zeros(len(rays), dtype=int)
    poses = scene.world_transforms([part.path for part in scene.info.parts])
    for part, T in zip(scene.info.parts, poses, strict=True):
        triangles = scene.triangles(part.path)
        points = triangles.points @ T[:3, :3].T + T[:3, 3] - origin
        a, b, c = np.moveaxis(points[triangles.faces], 1, 0)
        # Signed volumes of ray and edge, all of one sign inside (Segura and Feito 2001).
        inside = np.stack([rays @ np.cross(q, p).T for p, q in ((a, b), (b, c), (c, a))])
        normal = np.cross(b - a, c - a)
        slope = rays @ normal.T
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.einsum("ij,ij->i", a, normal) / slope
        t = np.where((inside >= 0).all(axis=0) & (slope < 0) & (t > 0), t, np.inf).min(axis=1)
        nearer = t < best
        best[nearer], part_of[nearer] = t[nearer], part.part
    return part_of, best


@pytest.mark.gl
def test_shapes_are_tessellated_as_mujoco_draws_them(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(SHAPES)
    scene = convert_mjcf(tmp_path / "m.xml", tmp_path / "out")
    backend, size = open_backend("mujoco"), Size(120, 90)
    backend.open(scene)
    backend.apply(SampleLayer(scene, "rest"))
    seen = backend.render("above", size, {"part", "depth"})
    backend.close()
    view = pinhole(scene, "above", *size)
    x, y = np.meshgrid(np.arange(size.width) + 0.5, np.arange(size.height) + 0.5)
    pixels = np.stack([x, y, np.ones_like(x)], axis=2).reshape(-1, 3)
    rays = pixels @ np.linalg.inv(view.K).T @ view.T_world_camera[:3, :3].T
    part, depth = first_hits(scene, view.T_world_camera[:3, 3], rays)
    same = part == seen.part.ravel()
    assert set(part) == {p.part for p in scene.info.parts}
    assert same.mean() >= 0.9995
    assert np.abs(depth - seen.depth.ravel())[same].max() < 1e-5
