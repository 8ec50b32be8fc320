from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pxr import Gf, UsdGeom

from datagen.backends.base import Buffers, Size
from datagen.backends.errors import BackendError
from datagen.backends.registry import capabilities, open_backend
from datagen.configuration.config import cache_folder
from scenes import SampleLayer, Scene, convert_mjcf, libero_bundle, libero_scene, pinhole
from scenes.stage.colors import srgb_decode, srgb_encode

if importlib.util.find_spec("newton") is None:
    pytest.skip(
        "the newton extra is not installed: pip install -e '.[newton,dev]'",
        allow_module_level=True,
    )

from datagen.backends.newton.backend import NEWTON_PASSES, NewtonBackend

pytestmark = pytest.mark.newton

CASES = Path(__file__).parent / "cases"
GEOMETRY = {"part", "depth", "distance", "normal", "albedo", "position"}
SIZE = Size(96, 72)

ROOM = """
<mujoco>
  <visual><headlight diffuse=".3 .3 .3"/></visual>
  <asset>
    <texture name="checks" type="2d" builtin="checker" rgb1=".8 .7 .6" rgb2=".2 .3 .4"
      width="64" height="64"/>
    <material name="checks" texture="checks" texrepeat="4 4"/>
    <material name="plain" rgba=".2 .6 .3 1" specular=".8" shininess=".6"/>
  </asset>
  <worldbody>
    <light name="lamp" pos="1 -1 2" dir="-1 1 -2" diffuse=".5 .4 .3" castshadow="false"/>
    <light name="sun" pos="0 0 3" dir=".2 .1 -1" type="directional" castshadow="false"
      diffuse=".2 .2 .3"/>
    <camera name="front" pos="0 -1.5 1" xyaxes="1 0 0 0 .5 .8" fovy="50"/>
    <geom name="floor" type="plane" size="2 2 .1" material="checks"/>
    <body name="ball" pos="-.3 0 .3">
      <freejoint/>
      <geom name="ball" size=".2" rgba=".9 .2 .1 1"/>
    </body>
    <body name="box" pos=".3 .1 .2">
      <freejoint/>
      <geom name="box" type="box" size=".15 .2 .1" material="plain"/>
    </body>
  </worldbody>
</mujoco>
"""

# Two parallel sheets in one mesh, facing up at z = 0 and, nearer to the camera, down at z = 0.5.
SHEETS = """
<mujoco>
  <asset>
    <mesh name="sheets" inertia="shell" vertex="-1 -1 0  1 -1 0  1 1 0  -1 1 0
      -1 -1 .5  1 -1 .5  1 1 .5  -1 1 .5" face="0 1 2  0 2 3  4 6 5  4 7 6"/>
  </asset>
  <worldbody>
    <geom name="sheets" type="mesh" mesh="sheets" contype="0" conaffinity="0"/>
    <geom name="floor" type="plane" size="3 3 .1" pos="0 0 -1"/>
    <camera name="above" pos="0 0 2" fovy="40"/>
    <camera name="below" pos="0 0 -3" xyaxes="1 0 0 0 -1 0" fovy="10"/>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def convert(tmp_path: Path) -> Callable[[str | Path], Scene]:
    def run(model: str | Path) -> Scene:
        if isinstance(model, str):
            path = tmp_path / "model.xml"
            path.write_text(model, encoding="utf-8")
            model = path
        return convert_mjcf(model, tmp_path / f"scene_{len(list(tmp_path.iterdir()))}")

    return run


@pytest.fixture
def backend() -> NewtonBackend:
    return NewtonBackend()


@pytest.fixture
def room(convert: Callable[[str], Scene], backend: NewtonBackend) -> Scene:
    scene = convert(ROOM)
    for part in scene.info.parts:
        UsdGeom.Imageable(scene.stage.GetPrimAtPath(part.path)).CreateVisibilityAttr("inherited")
    backend.open(scene)
    return scene


def sample_of(scene: Scene) -> SampleLayer:
    return SampleLayer(scene, scene.info.default_state)


def shown(
    backend: NewtonBackend, sample: SampleLayer, camera: str = "front", size: Size = SIZE
) -> Buffers:
    backend.apply(sample)
    return backend.render(camera, size, GEOMETRY)


def part_of(scene: Scene, name: str) -> int:
    return next(part.part for part in scene.info.parts if part.name == name)


def path_of(scene: Scene, table: str, name: str) -> str:
    return next(item.path for item in getattr(scene.info, table) if item.name == name)


def assert_same(one: Buffers, other: Buffers) -> None:
    for name in ("rgb", *GEOMETRY):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None)
        assert a is None or a.tobytes() == b.tobytes(), name


def test_every_pass_is_the_closed_form_of_a_slanted_plane_and_a_box(room, backend) -> None:
    got = shown(backend, sample_of(room))
    view = pinhole(room, "front", *SIZE)
    u, v = np.meshgrid(np.arange(SIZE.width) + 0.5, np.arange(SIZE.height) + 0.5)
    rays = np.stack([u, v, np.ones_like(u)], axis=2) @ np.linalg.inv(view.K).T
    world = rays @ view.T_world_camera[:3, :3].T
    height = {"floor": 0.0, "box": 0.3}
    up = {name: np.abs(got.normal[..., 2] - 1) < 1e-6 for name in height}
    for name, z in height.items():
        seen = (got.part == part_of(room, name)) & up[name]
        assert seen.sum() > 100
        depth = (z - view.T_world_camera[2, 3]) / world[..., 2]
        np.testing.assert_allclose(got.depth[seen], depth[seen], rtol=3e-6)
        distance = depth * np.linalg.norm(rays, axis=2)
        np.testing.assert_allclose(got.distance[seen], distance[seen], rtol=3e-6)
        point = view.T_world_camera[:3, 3] + world * depth[..., None]
        np.testing.assert_allclose(got.position[seen], point[seen], atol=5e-6)


def test_normals_of_a_ball_point_away_from_its_centre(room, backend) -> None:
    got = shown(backend, sample_of(room))
    ball = got.part == part_of(room, "ball")
    out = got.position[ball] - np.array([-0.3, 0.0, 0.3])
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    # The sphere is tessellated: its normals are interpolated between vertices.
    assert np.einsum("ni,ni->n", out, got.normal[ball]).min() > 0.9998
    np.testing.assert_allclose(np.linalg.norm(got.normal[ball], axis=1), 1.0, atol=1e-5)


def test_albedo_is_the_decoded_colour_and_the_texture_the_right_way_round(
    room, convert, backend, tmp_path: Path
) -> None:
    got = shown(backend, sample_of(room))
    for name, rgb in (("ball", (0.9, 0.2, 0.1)), ("box", (0.2, 0.6, 0.3))):
        inside = got.albedo[got.part == part_of(room, name)]
        np.testing.assert_allclose(inside, np.tile(srgb_decode(rgb), (len(inside), 1)), atol=1e-5)
    corners = np.array([[[250, 10, 20], [30, 240, 50]], [[60, 70, 230], [200, 210, 90]]], np.uint8)
    Image.fromarray(corners.repeat(32, 0).repeat(32, 1)).save(tmp_path / "corners.png")
    scene = convert("""
      <mujoco>
        <asset>
          <texture name="t" type="2d" file="corners.png"/>
          <material name="m" texture="t"/>
          <mesh name="q" inertia="shell" vertex="-1 -1 0  1 -1 0  1 1 0  -1 1 0"
            texcoord="0 1  1 1  1 0  0 0" face="0 1 2  0 2 3"/>
        </asset>
        <worldbody>
          <geom name="tile" type="mesh" mesh="q" material="m" contype="0" conaffinity="0"/>
          <camera name="top" pos="0 0 2" fovy="45"/>
        </worldbody>
      </mujoco>""")
    backend.open(scene)
    got = shown(backend, sample_of(scene), "top", Size(64, 64))
    for row, v in enumerate((12, 52)):
        for column, u in enumerate((12, 52)):
            wanted = srgb_decode(corners[row, column] / 255)
            np.testing.assert_allclose(got.albedo[v, u], wanted, atol=1e-5)


def test_pixels_without_a_surface_are_infinitely_far(convert, backend) -> None:
    scene = convert(CASES / "d05-background-depth" / "scene.xml")
    backend.open(scene)
    got = shown(backend, sample_of(scene), "c", Size(32, 24))
    # MuJoCo's tessellated sphere is a little smaller than the true one.
    assert abs(int((got.part == 0).sum()) - 736) <= 4
    nothing = got.part == 0
    np.testing.assert_array_equal(np.isposinf(got.depth), nothing)
    np.testing.assert_array_equal(np.isposinf(got.distance), nothing)
    np.testing.assert_array_equal(np.isposinf(got.position).all(axis=2), nothing)
    assert not got.albedo[nothing].any() and not got.normal[nothing].any()
    assert got.depth[12, 16] == pytest.approx(1.70567, abs=0.018)


def test_pictures_are_not_flipped(convert, backend) -> None:
    case = CASES / "d12-flip-and-mirror"
    expect = json.loads((case / "case.json").read_text())["expect"]
    scene = convert(case / "scene.xml")
    backend.open(scene)
    got = shown(backend, sample_of(scene), "top", Size(64, 64))
    for pixel in expect["pixels"]["top"]:
        u, v = pixel["uv"]
        level = srgb_encode(got.albedo[v, u]) * 255
        np.testing.assert_allclose(level, pixel["rgb"], atol=0.6)
    for name, seen in expect["ids"]["top"]["objects"].items():
        v, u = np.nonzero(got.part == part_of(scene, name))
        box = [int(u.min()), int(v.min()), int(u.max()) + 1, int(v.max()) + 1]
        off = np.abs(np.subtract(box, seen["tight_box_half_open_xyxy"])).max()
        assert off <= (1 if name == "BL" else 0), name


def test_a_mesh_is_seen_through_its_faces_that_look_away(convert) -> None:
    scene = convert(SHEETS)
    culled, whole = NewtonBackend(), NewtonBackend(cull_back_faces=False)
    for backend, depth in ((culled, 2.0), (whole, 1.5)):
        backend.open(scene)
        got = shown(backend, sample_of(scene), "above", Size(8, 8))
        # Newton's own culling would lose the mesh and show the floor behind it.
        assert (got.part == part_of(scene, "sheets")).all()
        np.testing.assert_allclose(got.depth, depth, atol=1e-5)
    got = shown(culled, sample_of(scene), "below", Size(8, 8))
    assert (got.part == part_of(scene, "floor")).all()  # A plane is seen from behind.


def test_what_is_nearer_than_the_near_plane_is_not_seen(room, backend) -> None:
    before = shown(backend, sample_of(room))
    ball = before.part == part_of(room, "ball")
    near = float(before.depth[ball].max()) + 0.01
    sample = sample_of(room)
    sample.set(f"{path_of(room, 'cameras', 'front')}.clippingRange", Gf.Vec2f(near, 900.0))
    cut = shown(backend, sample)
    assert part_of(room, "ball") not in cut.part
    assert cut.depth.min() >= near - 1e-5
    far = before.depth > near + 1e-4
    np.testing.assert_array_equal(cut.part[far], before.part[far])
    hit = far & (before.part > 0)
    np.testing.assert_allclose(cut.depth[hit], before.depth[hit], rtol=1e-6)


def test_nothing_is_seen_beyond_the_far_plane(convert, backend) -> None:
    scene = convert(
        """<mujoco><visual><map zfar="2"/></visual><statistic extent="1"/><worldbody>
        <geom type="plane" size="9 9 .1"/><geom size=".4" pos="0 5 .5"/>
        <camera name="front" pos="0 0 .5" xyaxes="1 0 0 0 0 1" fovy="60"/></worldbody></mujoco>"""
    )
    backend.open(scene)
    backend.apply(sample_of(scene))
    depth = backend.render("front", SIZE, {"depth"}).depth
    assert depth is not None
    below = np.arange(SIZE.height) + 0.5 - SIZE.height / 2
    slope = below / (SIZE.height / 2) * np.tan(np.radians(30))
    expected = np.array([0.5 / s if s > 0.25 else np.inf for s in slope])
    np.testing.assert_allclose(depth, np.tile(expected[:, None], SIZE.width), rtol=1e-5)


def test_a_shifted_principal_point_shifts_the_picture(room, backend) -> None:
    before = shown(backend, sample_of(room))
    sample = sample_of(room)
    camera = path_of(room, "cameras", "front")
    pixel = room.value(f"{camera}.verticalAperture") / SIZE.height
    sample.set(f"{camera}.horizontalApertureOffset", 5 * pixel)
    sample.set(f"{camera}.verticalApertureOffset", 3 * pixel)
    after = shown(backend, sample)
    same = after.part[3:, :-5] == before.part[:-3, 5:]
    assert same.mean() > 0.999
    assert (after.part == before.part).mean() < 0.99


def random_sample(scene: Scene, seed: int) -> SampleLayer:
    rng = np.random.default_rng(seed)
    sample = sample_of(scene)
    body = path_of(scene, "bodies", "ball")
    pose = sample.start_pose(body)
    pose[:3, 3] += rng.uniform(-0.1, 0.1, 3)
    sample.set_pose(body, pose)
    sample.set(f"{path_of(scene, 'lights', 'lamp')}.inputs:color", Gf.Vec3f(*rng.uniform(0, 1, 3)))
    sample.set(
        "/World/materials/plain/surface.inputs:diffuseColor", Gf.Vec3f(*rng.uniform(0, 1, 3))
    )
    if seed % 2:
        sample.set(f"{path_of(scene, 'parts', 'box')}.visibility", "invisible")
    return sample


def test_a_frame_in_place_is_a_fresh_one_byte_for_byte(room, backend) -> None:
    passes = GEOMETRY | {"rgb"}
    for seed in range(4):
        backend.apply(random_sample(room, seed))
        got = backend.render("front", SIZE, passes)
        fresh = NewtonBackend()
        fresh.open(room)
        fresh.apply(random_sample(room, seed))
        assert_same(got, fresh.render("front", SIZE, passes))
        assert (part_of(room, "box") in got.part) == (seed % 2 == 0)
    assert_same(shown(backend, sample_of(room)), shown(backend, sample_of(room)))


def test_a_pass_does_not_depend_on_the_others_asked_for(room, backend) -> None:
    together = shown(backend, sample_of(room))
    for name in GEOMETRY:
        alone = backend.render("front", SIZE, {name})
        assert getattr(alone, name).tobytes() == getattr(together, name).tobytes()
        assert sum(getattr(alone, other) is not None for other in ("rgb", *GEOMETRY)) == 1


def test_memory_stays_flat_over_samples(room, backend) -> None:
    def run(count: int) -> None:
        for seed in range(count):
            backend.apply(random_sample(room, seed))
            backend.render("front", Size(32, 24), {"rgb", "part", "depth", "normal"})

    def resident_mib() -> float:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    run(40)
    before = resident_mib()
    run(120)
    assert resident_mib() - before < 3.0


def test_what_newton_cannot_show_is_refused_by_name(room, backend) -> None:
    for attribute, value in (("roughness", 0.123), ("opacity", 0.5)):
        sample = sample_of(room)
        sample.set(f"/World/materials/plain/surface.inputs:{attribute}", value)
        with pytest.raises(BackendError, match=rf"/plain/surface\.inputs:{attribute}.*newton"):
            backend.apply(sample)
    sample = sample_of(room)
    sample.set("/World/materials/checks/surface.inputs:diffuseColor", Gf.Vec3f(0.5))
    with pytest.raises(BackendError, match=r"checks/surface\.inputs:diffuseColor"):
        backend.apply(sample)
    with pytest.raises(BackendError, match="no sample is shown"):
        backend.render("front", SIZE, {"part"})
    sample = sample_of(room)
    sample.set("/World.datagen:exposure", 1.7)
    backend.apply(sample)
    with pytest.raises(BackendError, match="no pass hdr"):
        backend.render("front", SIZE, {"part", "hdr"})
    for size in (Size(0, 4), Size(200_000, 200_000)):
        with pytest.raises(BackendError, match=f"{size.width} x {size.height} pixels"):
            backend.render("front", size, {"part"})
    with pytest.raises(BackendError, match="1, 4, 9, 16"):
        NewtonBackend(samples=5)
    with pytest.raises(BackendError, match="no scene is open"):
        NewtonBackend().apply(sample_of(room))


def test_a_pose_that_is_not_rigid_is_refused_with_its_prim(room, backend) -> None:
    sample = sample_of(room)
    body = path_of(room, "bodies", "ball")
    pose = sample.start_pose(body)
    pose[:3, :3] *= 1.1
    sample.set_pose(body, pose)
    with pytest.raises(BackendError, match=path_of(room, "parts", "ball")):
        backend.apply(sample)


def test_a_sample_of_another_scene_is_refused(convert, room, backend) -> None:
    other = convert("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
    with pytest.raises(BackendError, match="scene open is"):
        backend.apply(sample_of(other))


def test_the_registry_states_its_passes_without_importing_it() -> None:
    assert capabilities()["newton"] == NEWTON_PASSES
    code = (
        "import sys; from datagen.backends.registry import capabilities; capabilities(); "
        "print([m for m in ('newton', 'warp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    backend = open_backend("newton", {"samples": 1, "cull_back_faces": False})
    assert backend.describe()["samples"] == "1"


def test_a_missing_extra_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datagen.backends.newton.backend", None)
    with pytest.raises(BackendError, match=r"pip install 'datagen\[newton\]'"):
        open_backend("newton")


def agreement(one: Buffers, other: Buffers) -> tuple[float, float]:
    """Share of equal parts and the 99th percentile of the depth difference there [m]."""
    same = one.part == other.part
    both = same & (one.part > 0)
    off = np.abs(one.depth[both] - other.depth[both])
    return float(same.mean()), float(np.percentile(off, 99))


@pytest.mark.gl
def test_ids_depth_and_light_are_those_of_mujoco(room, backend) -> None:
    reference = open_backend("mujoco")
    reference.open(room)
    for seed in (0, 2):
        sample = random_sample(room, seed)
        backend.apply(sample)
        reference.apply(sample)
        size = Size(256, 192)
        got = backend.render("front", size, {"rgb", "part", "depth"})
        wanted = reference.render("front", size, {"rgb", "part", "depth"})
        ids, depth = agreement(got, wanted)
        assert ids > 0.999
        assert depth < 1e-5
        off = got.rgb.astype(float) - wanted.rgb
        assert 20 * np.log10(255 / np.sqrt(np.mean(off**2))) > 28
        assert got.rgb.mean() == pytest.approx(wanted.rgb.mean(), rel=0.02)
    reference.close()


@pytest.mark.gl
@pytest.mark.libero
def test_ids_and_depth_of_a_libero_scene_are_those_of_mujoco(backend) -> None:
    cache = cache_folder()
    scene, (state,) = libero_scene(
        libero_bundle("libero_spatial", 0, cache=cache), [0], "stored", cache
    )
    reference = open_backend("mujoco")
    sample = SampleLayer(scene, state)
    for renderer in (backend, reference):
        renderer.open(scene)
        renderer.apply(sample)
    for camera in ("agentview", "robot0_eye_in_hand"):
        size = Size(128, 128)
        ids, depth = agreement(
            *(renderer.render(camera, size, {"part", "depth"}) for renderer in (backend, reference))
        )
        assert ids > 0.9985
        assert depth < 1e-5
    reference.close()
