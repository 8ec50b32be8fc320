"""The path tracer against closed forms."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import scenes
from datagen.backends import Size
from datagen.backends.errors import BackendError
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mitsuba.geometry import covering_parts
from scenes import SampleLayer, Scene, srgb_decode, srgb_encode
from scenes.stage.looks import read_looks

SIZE = Size(32, 24)
GEOMETRY = frozenset({"part", "depth", "distance", "position", "normal", "albedo"})

FLOOR = """<mujoco>
<visual><headlight active="0"/></visual>
<asset><material name="matt" specular="0" rgba=".5 .5 .5 1"/></asset>
<worldbody>
  <geom name="floor" type="plane" size="2 2 .1" material="matt"/>
  <camera name="top" pos="0 0 2" fovy="40"/>
  {more}
</worldbody></mujoco>"""

THINGS = """<mujoco>
<visual><headlight diffuse=".3 .3 .3" ambient=".1 .1 .1"/></visual>
<worldbody>
  <light name="sun" directional="true" dir="0 0 -1" diffuse=".5 .5 .5"/>
  <light name="spot" pos=".3 0 2" dir="0 0 -1" diffuse=".5 .4 .3"/>
  <geom name="floor" type="plane" size="2 2 .1" rgba=".6 .6 .6 1"/>
  <body name="box" pos=".1 0 .2"><freejoint/>
    <geom type="box" size=".2 .2 .2" rgba="1 .2 .1 1"/></body>
  <body name="ball" pos="-.4 0 .2"><freejoint/>
    <geom type="sphere" size=".2" rgba=".1 .2 1 1"/></body>
  <camera name="top" pos="0 0 2" fovy="50"/>
  <camera name="side" pos="0 -2 .5" xyaxes="1 0 0 0 .2 1" fovy="50"/>
</worldbody></mujoco>"""


def converted(folder: Path, xml: str, name: str = "scene") -> Scene:
    path = folder / f"{name}.xml"
    path.write_text(xml)
    return scenes.convert_mjcf(path, folder / name)


def shown(backend: MitsubaBackend, scene: Scene, **values: object) -> SampleLayer:
    sample = SampleLayer(scene, "rest")
    for path, value in values.items():
        sample.set(path, value)
    backend.open(scene)
    backend.apply(sample)
    return sample


@pytest.fixture(scope="module")
def backend() -> MitsubaBackend:
    return MitsubaBackend(spp=16, denoise=False, variant="llvm")


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return converted(tmp_path_factory.mktemp("things"), THINGS)


def test_depth_is_planar_and_distance_is_along_the_ray(
    backend: MitsubaBackend, tmp_path: Path
) -> None:
    scene = converted(tmp_path, FLOOR.format(more=""))
    shown(backend, scene)
    seen = backend.render("top", SIZE, GEOMETRY)
    assert seen.depth is not None and seen.distance is not None and seen.part is not None
    np.testing.assert_allclose(seen.depth, 2.0, atol=1e-6)
    focal = 12 / np.tan(np.radians(20))
    v, u = np.mgrid[0:24, 0:32] + 0.5
    slant = np.sqrt(1 + ((u - 16) / focal) ** 2 + ((v - 12) / focal) ** 2)
    np.testing.assert_allclose(seen.distance, 2 * slant, rtol=1e-6)
    assert np.all(seen.part == 1)
    np.testing.assert_allclose(seen.normal, np.broadcast_to([0, 0, 1], (24, 32, 3)), atol=1e-6)
    np.testing.assert_allclose(seen.albedo, srgb_decode(0.5), rtol=1e-3)


def test_nothing_is_infinitely_far(backend: MitsubaBackend, tmp_path: Path) -> None:
    xml = """<mujoco><worldbody>
      <geom type="sphere" size=".1"/><camera name="c" pos="0 0 2"/>
    </worldbody></mujoco>"""
    scene = converted(tmp_path, xml)
    shown(backend, scene)
    seen = backend.render("c", SIZE, GEOMETRY | {"rgb"})
    assert seen.part is not None and seen.depth is not None
    nothing = seen.part == 0
    assert 0 < nothing.sum() < nothing.size
    for field in (seen.depth, seen.distance, seen.position):
        assert field is not None and np.all(np.isposinf(field[nothing]))
        assert np.all(np.isfinite(field[~nothing]))


def test_sunlight_on_a_diffuse_floor_is_albedo_times_light(
    backend: MitsubaBackend, tmp_path: Path
) -> None:
    sun = '<light name="sun" directional="true" dir="0 0 -1" diffuse=".8 .4 .2" ambient="0 0 0"/>'
    scene = converted(tmp_path, FLOOR.format(more=sun))
    shown(backend, scene, **{"/World.datagen:fill": 0.0})
    hdr = backend.render("top", SIZE, {"hdr"}).hdr
    assert hdr is not None
    expected = srgb_decode(0.5) * srgb_decode([0.8, 0.4, 0.2])
    # The light has an extent of a few degrees.
    np.testing.assert_allclose(hdr.mean(axis=(0, 1)), expected, rtol=0.01)


def test_a_spot_has_mujocos_irradiance_at_its_reference_and_its_cone_profile(
    tmp_path: Path,
) -> None:
    backend = MitsubaBackend(spp=64, denoise=False, variant="llvm", soft_copies=1)
    spot = '<light name="spot" pos="0 0 2" dir="0 0 -1" diffuse=".8 .8 .8" exponent="10"/>'
    scene = converted(tmp_path, FLOOR.format(more=spot))
    shown(backend, scene, **{"/World.datagen:fill": 0.0})
    seen = backend.render("top", SIZE, {"hdr", "position"})
    assert seen.hdr is not None and seen.position is not None
    cosine = 2 / np.linalg.norm(seen.position - [0, 0, 2], axis=2)
    # MuJoCo: cos^10 of the cone times the cosine of incidence, no falloff with distance.
    expected = srgb_decode(0.5) * srgb_decode(0.8) * cosine**11
    ratio = seen.hdr[..., 0] / expected
    np.testing.assert_allclose(ratio, 1.0, atol=0.03)


def test_a_scene_without_any_light_has_mujocos_ambient(
    backend: MitsubaBackend, tmp_path: Path
) -> None:
    scene = converted(tmp_path, FLOOR.format(more=""))
    shown(backend, scene, **{"/World.datagen:fill": 0.0})
    hdr = backend.render("top", SIZE, {"hdr"}).hdr
    assert hdr is not None
    np.testing.assert_allclose(hdr.mean(), srgb_decode(0.5) * srgb_decode(0.3), rtol=0.02)


def test_a_floor_under_ambient_light_reflects_it_and_the_fill(
    backend: MitsubaBackend, tmp_path: Path
) -> None:
    xml = FLOOR.format(more="").replace(
        'headlight active="0"', 'headlight diffuse="0 0 0" ambient=".2 .2 .2"'
    )
    shown(backend, converted(tmp_path, xml))
    hdr = backend.render("top", SIZE, {"hdr"}).hdr
    assert hdr is not None
    expected = srgb_decode(0.5) * (srgb_decode(0.2) + 0.06)
    np.testing.assert_allclose(hdr.mean(), expected, rtol=0.02)


LAMP = '<light name="lamp" pos="0 0 1.5" dir="0 0 -1" diffuse=".7 .7 .7" {more}/>'


@pytest.mark.gl
@pytest.mark.parametrize("where", ["none", "model", "sample", "black"])
def test_with_all_lights_off_there_is_no_fill_and_what_mujoco_shows(
    backend: MitsubaBackend, tmp_path: Path, where: str
) -> None:
    from datagen.backends.mujoco.backend import MujocoBackend

    lamps = {"none": "", "model": LAMP.format(more='active="false"')}
    scene = converted(tmp_path, FLOOR.format(more=lamps.get(where, LAMP.format(more=""))))
    values: dict[str, object] = {}
    if where in ("sample", "black"):
        (lamp,) = scene.info.lights
        values = {
            "sample": {f"{lamp.path}.visibility": "invisible"},
            "black": {f"{lamp.path}.inputs:intensity": 0.0},
        }[where]
    sample = shown(backend, scene, **values)
    traced = backend.render("top", SIZE, {"rgb"}).rgb
    mujoco = MujocoBackend()
    mujoco.open(scene)
    mujoco.apply(sample)
    drawn = mujoco.render("top", SIZE, {"rgb"}).rgb
    mujoco.close()
    assert traced is not None and drawn is not None
    expected = 0.0 if where == "black" else 0.5 * 0.3 * 255
    assert drawn.mean() == pytest.approx(expected, abs=1.5)
    linear = 0.0 if where == "black" else srgb_decode(0.5) * srgb_decode(0.3)
    assert traced.mean() == pytest.approx(255 * srgb_encode(linear), abs=1.5)
    assert abs(traced.mean() - drawn.mean()) < 5.0


def test_the_headlight_adds_albedo_times_light_times_cosine(
    backend: MitsubaBackend, tmp_path: Path
) -> None:
    xml = FLOOR.format(more="").replace(
        'headlight active="0"', 'headlight diffuse=".4 .4 .4" ambient="0 0 0"'
    )
    scene = converted(tmp_path, xml)
    shown(backend, scene, **{"/World.datagen:fill": 0.0, "/World.datagen:exposure": 2.0})
    hdr = backend.render("top", SIZE, {"hdr"}).hdr
    np.testing.assert_allclose(hdr, 2 * srgb_decode(0.5) * srgb_decode(0.4), rtol=1e-3)


def test_a_texture_stands_upright(backend: MitsubaBackend, tmp_path: Path) -> None:
    colors = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 0]]], dtype=np.uint8)
    Image.fromarray(np.kron(colors, np.ones((32, 32, 1), dtype=np.uint8))).save(tmp_path / "q.png")
    (tmp_path / "card.obj").write_text(
        "v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nv 0 0 -1\n"
        "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvt .5 .5\nvn 0 0 1\n"
        "f 1/1/1 2/2/1 3/3/1\nf 1/1/1 3/3/1 4/4/1\n"
        "f 2/2/1 1/1/1 5/5/1\nf 3/3/1 2/2/1 5/5/1\nf 4/4/1 3/3/1 5/5/1\nf 1/1/1 4/4/1 5/5/1\n"
    )
    scene = converted(
        tmp_path,
        """<mujoco><asset><texture name="q" type="2d" file="q.png"/><material name="m" texture="q"/>
        <mesh name="card" file="card.obj"/></asset><worldbody>
        <geom type="mesh" mesh="card" material="m" contype="0" conaffinity="0"/>
        <camera name="top" pos="0 0 3" fovy="30"/></worldbody></mujoco>""",
    )
    shown(backend, scene)
    albedo = backend.render("top", SIZE, {"albedo"}).albedo
    assert albedo is not None
    corners = [albedo[v, u] for v, u in ((6, 10), (6, 22), (18, 10), (18, 22))]
    expected = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]
    np.testing.assert_allclose(corners, expected, atol=1e-3)


def test_a_frame_made_in_place_equals_a_fresh_one(things: Scene) -> None:
    def moved(step: int) -> SampleLayer:
        sample = SampleLayer(things, "rest", noise_seed=step)
        body = next(b for b in things.info.bodies if b.name == "box")
        pose = sample.start_pose(body.path)
        pose[0, 3] += 0.05 * step
        sample.set_pose(body.path, pose)
        light = things.info.lights[step % 2].path
        sample.set(f"{light}.inputs:intensity", 1.5 * sample.start(f"{light}.inputs:intensity"))
        camera = scenes.camera_path(things, "top")
        lifted = sample.start_pose(camera)
        lifted[2, 3] += 0.1 * step
        sample.set_pose(camera, lifted)
        return sample

    passes = GEOMETRY | {"rgb", "hdr"}
    lasting = MitsubaBackend(spp=4, variant="llvm")
    lasting.open(things)
    for step in (3, 1, 2):
        lasting.apply(moved(step))
        used = lasting.render("top", SIZE, passes)
    fresh = MitsubaBackend(spp=4, variant="llvm")
    fresh.open(things)
    fresh.apply(moved(2))
    expected = fresh.render("top", SIZE, passes)
    for name in passes:
        assert np.array_equal(getattr(used, name), getattr(expected, name)), name


def test_two_open_scenes_do_not_mix_their_part_numbers(things: Scene, tmp_path: Path) -> None:
    first, second = (MitsubaBackend(spp=1, denoise=False, variant="llvm") for _ in range(2))
    shown(first, things)
    shown(second, converted(tmp_path, FLOOR.format(more="")))
    part = first.render("top", SIZE, {"part"}).part
    assert part is not None and set(np.unique(part)) == {1, 2, 3}
    assert np.all(second.render("top", SIZE, {"part"}).part == 1)


def test_the_noise_follows_the_samples_seed(things: Scene, backend: MitsubaBackend) -> None:
    backend.open(things)
    pictures = []
    for seed in (1, 1, 2):
        backend.apply(SampleLayer(things, "rest", noise_seed=seed))
        pictures.append(backend.render("side", SIZE, {"hdr"}).hdr)
    assert np.array_equal(pictures[0], pictures[1])
    assert not np.array_equal(pictures[0], pictures[2])


def test_back_faces_are_looked_through_only_when_asked_and_never_planes(tmp_path: Path) -> None:
    xml = """<mujoco><worldbody>
      <geom name="shell" type="box" size=".5 .5 .5" pos="0 0 1"/>
      <geom name="floor" type="plane" size="2 2 .1"/>
      <camera name="inside" pos="0 0 1" fovy="40"/>
      <camera name="below" pos="0 0 -1" xyaxes="1 0 0 0 -1 0" fovy="40"/>
    </worldbody></mujoco>"""
    scene = converted(tmp_path, xml)
    number = {part.name: part.part for part in scene.info.parts}
    seen = {}
    for cull in (False, True):
        backend = MitsubaBackend(spp=1, denoise=False, variant="llvm", cull_back_faces=cull)
        shown(backend, scene)
        for camera in ("inside", "below"):
            buffers = backend.render(camera, SIZE, {"part", "depth"})
            assert buffers.part is not None and buffers.depth is not None
            seen[cull, camera] = int(buffers.part[12, 16]), float(buffers.depth[12, 16])
    assert seen[False, "inside"] == (number["shell"], pytest.approx(0.5, abs=1e-5))
    assert seen[True, "inside"] == (number["floor"], pytest.approx(1.0, abs=1e-5))
    assert seen[False, "below"] == seen[True, "below"] == (number["floor"], pytest.approx(1.0))


def test_a_ray_leaves_a_culled_face_far_from_the_worlds_origin(tmp_path: Path) -> None:
    # There the step behind a face is less than coordinates can tell apart.
    xml = """<mujoco><worldbody><geom type="box" size="2 2 .1" pos="20 30 -.1"/>
      <geom size=".5" pos="20 30 1"/><camera name="inside" pos="20 30 1" fovy="60"/>
    </worldbody></mujoco>"""
    backend = MitsubaBackend(spp=1, denoise=False, variant="llvm", cull_back_faces=True)
    shown(backend, converted(tmp_path, xml))
    buffers = backend.render("inside", SIZE, {"part", "depth"})
    assert buffers.part is not None and buffers.depth is not None
    assert np.all(buffers.part == 1)
    np.testing.assert_allclose(buffers.depth, 1.0, atol=1e-5)


@pytest.mark.parametrize("cull", [False, True])
def test_nothing_is_seen_beyond_the_far_plane(tmp_path: Path, cull: bool) -> None:
    xml = """<mujoco><visual><map zfar="2"/></visual><statistic extent="1"/><worldbody>
      <geom type="plane" size="9 9 .1"/><geom size=".4" pos="0 5 .5"/>
      <camera name="level" pos="0 0 .5" xyaxes="1 0 0 0 0 1" fovy="60"/>
    </worldbody></mujoco>"""
    backend = MitsubaBackend(spp=1, denoise=False, variant="llvm", cull_back_faces=cull)
    scene = converted(tmp_path, xml)
    shown(backend, scene)
    depth = backend.render("level", SIZE, {"depth"}).depth
    assert depth is not None
    below = np.arange(SIZE.height) + 0.5 - SIZE.height / 2
    slope = below / (SIZE.height / 2) * np.tan(np.radians(30))
    expected = np.array([0.5 / s if s > 0.25 else np.inf for s in slope])
    np.testing.assert_allclose(depth, np.tile(expected[:, None], SIZE.width), rtol=1e-5)


def test_of_coinciding_parts_the_last_is_seen_unless_it_is_clear(tmp_path: Path) -> None:
    xml = """<mujoco><worldbody><body>
      <geom name="under" type="box" size="1 1 .1" rgba="1 0 0 1"/>
      <geom name="over" type="box" size="1 1 .1" rgba="0 1 0 1"/>
      <geom name="pane" type="box" size="1 1 .1" pos="3 0 0" rgba="1 0 0 1"/>
      <geom name="film" type="box" size="1 1 .1" pos="3 0 0" rgba="0 1 0 .5"/></body>
      <camera name="first" pos="0 0 2" fovy="20"/><camera name="second" pos="3 0 2" fovy="20"/>
    </worldbody></mujoco>"""
    scene = converted(tmp_path, xml)
    backend = MitsubaBackend(spp=1, denoise=False, variant="llvm", cull_back_faces=True)
    shown(backend, scene)
    first = backend.render("first", SIZE, {"part", "albedo"})
    assert first.part is not None and first.albedo is not None
    assert np.all(first.part == 2)
    np.testing.assert_allclose(first.albedo, np.broadcast_to([0, 1, 0], first.albedo.shape))
    second = backend.render("second", SIZE, {"part"}).part
    assert second is not None and set(np.unique(second)) <= {3, 4}
    rest = {p.part: scene.triangles(p.path) for p in scene.info.parts}
    looks = read_looks(scene, [p.path for p in scene.info.parts])
    assert covering_parts(scene, rest, looks) == {1: {2}}


def test_a_changed_material_is_refused_and_not_ignored(
    things: Scene, backend: MitsubaBackend
) -> None:
    backend.open(things)
    sample = SampleLayer(things, "rest")
    material = next(iter(things.stage.GetPrimAtPath("/World/materials").GetChildren())).GetPath()
    sample.set(f"{material}/surface.inputs:roughness", 0.1)
    with pytest.raises(BackendError, match="inputs:roughness"):
        backend.apply(sample)


def test_an_unknown_pass_is_refused_by_name(things: Scene, backend: MitsubaBackend) -> None:
    shown(backend, things)
    with pytest.raises(BackendError, match="flow"):
        backend.render("top", SIZE, {"flow"})  # type: ignore[arg-type]


def test_the_scalar_variant_sees_the_same_geometry(things: Scene, tmp_path: Path) -> None:
    script = """
import sys, numpy as np
from pathlib import Path
from scenes import SampleLayer, Scene
from datagen.backends import Size
from datagen.backends.mitsuba.backend import MitsubaBackend
from datagen.backends.mitsuba.geometry import covering_parts
scene = Scene.open(Path(sys.argv[1]))
backend = MitsubaBackend(spp=64, denoise=False, variant=sys.argv[2])
backend.open(scene)
backend.apply(SampleLayer(scene, "rest"))
seen = backend.render("side", Size(32, 24), {"part", "depth", "albedo", "hdr"})
np.savez(sys.argv[3], part=seen.part, depth=seen.depth, albedo=seen.albedo, hdr=seen.hdr)
names = Path("/proc/self/maps").read_text()
assert not any(name in names for name in ("libGL.", "libEGL", "libOSMesa")), "OpenGL was loaded"
"""
    found = {}
    for variant in ("scalar", "llvm"):
        file = tmp_path / f"{variant}.npz"
        command = [sys.executable, "-c", script, str(things.folder), variant, str(file)]
        subprocess.run(command, check=True, cwd=Path(__file__).parent.parent)
        found[variant] = np.load(file)
    assert np.mean(found["scalar"]["part"] == found["llvm"]["part"]) > 0.995
    same = found["scalar"]["part"] == found["llvm"]["part"]
    np.testing.assert_allclose(
        found["scalar"]["depth"][same], found["llvm"]["depth"][same], rtol=1e-4
    )
    brightness = [found[variant]["hdr"].mean() for variant in ("scalar", "llvm")]
    assert brightness[0] == pytest.approx(brightness[1], rel=0.02)
