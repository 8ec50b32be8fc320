from __future__ import annotations

import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

from scenes import AssetError, convert_mjcf
from scenes.finite import raw_vertices, refuse_non_finite_mesh, refuse_non_finite_model
from scenes.sources.mjcf.config import MjcfConfig

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=np.float32)


def obj(points: np.ndarray) -> bytes:
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    return "\n".join([*lines, "vn 0 0 1", "f 1 2 3"]).encode()


def stl(points: np.ndarray) -> bytes:
    facet = np.zeros(12, dtype="<f4")
    facet[3:] = points.ravel()
    return b"solid".ljust(80) + struct.pack("<I", 1) + facet.tobytes() + b"\0\0"


def msh(points: np.ndarray) -> bytes:
    return struct.pack("<4i", len(points), 0, 0, 1) + points.astype("<f4").tobytes() + b"\0" * 12


FORMATS = {"obj": obj, "stl": stl, "msh": msh}


@pytest.mark.parametrize("suffix", ["obj", "stl", "msh", "OBJ", "STL"])
def test_vertices_are_read_as_they_stand_in_the_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m.{suffix}"
    path.write_bytes(FORMATS[suffix.lower()](POINTS))
    assert np.array_equal(raw_vertices(path), POINTS)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_vertex_that_is_not_finite_is_named(tmp_path: Path, suffix: str, value: float) -> None:
    points = POINTS.copy()
    points[1, 2] = value
    path = tmp_path / f"m.{suffix}"
    path.write_bytes(FORMATS[suffix](points))
    with pytest.raises(AssetError, match=rf"m\.{suffix}: mesh 'cup': vertex 1 is not finite"):
        refuse_non_finite_mesh(path, "cup")


def test_vertex_too_large_for_32_bits_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.obj"
    path.write_text("v 0 0 0\nv 1e39 0 0\n")
    with pytest.raises(AssetError, match=r"vertex 1 .*1e\+39"):
        refuse_non_finite_mesh(path, "cup")


@pytest.mark.parametrize("data", [b"", b"v a b c\n", b"short", b"\0" * 90])
@pytest.mark.parametrize("suffix", ["obj", "stl", "msh", "ply"])
def test_unreadable_files_are_left_to_mujoco(tmp_path: Path, data: bytes, suffix: str) -> None:
    path = tmp_path / f"m.{suffix}"
    path.write_bytes(data)
    assert len(raw_vertices(path)) == 0


MODEL = """
<mujoco><asset><mesh name="tri" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
<mesh name="tet" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<worldbody><geom name="cup" type="mesh" mesh="tet"/><geom name="b" size="1"/>
<light name="sun"/></worldbody></mujoco>
"""


@pytest.mark.parametrize(
    ("field", "index", "words"),
    [
        ("geom_pos", (1, 2), "geom 'b': pos is not finite"),
        ("mesh_vert", (6, 0), r"mesh 'tet': vert\[2\] is not finite"),
        ("light_diffuse", (0, 1), "light 'sun': diffuse is not finite"),
    ],
)
def test_compiled_number_that_is_not_finite_names_its_element(
    field: str, index: tuple[int, int], words: str
) -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    refuse_non_finite_model(model, "room.xml")
    getattr(model, field)[index] = np.inf
    with pytest.raises(AssetError, match=f"room.xml: {words}"):
        refuse_non_finite_model(model, "room.xml")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            '<body name="moon" pos="0 1e30 0"><geom size=".1"/></body>',
            "body 'moon' lies or reaches 1e",
        ),
        ('<geom name="shell" size="1e30"/>', "geom 'shell' lies or reaches 1e"),
        ('<camera name="eye" pos="2e6 0 0"/><geom size="1"/>', "camera 'eye' lies or reaches 2e"),
    ],
)
def test_what_stands_absurdly_far_is_refused_by_name(tmp_path: Path, body: str, told: str) -> None:
    (tmp_path / "far.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    with pytest.raises(AssetError) as caught:
        convert_mjcf(tmp_path / "far.xml", tmp_path / "out")
    assert str(caught.value).startswith(f"{tmp_path / 'far.xml'}: {told}")
    assert [path.name for path in tmp_path.iterdir()] == ["far.xml"]


def test_a_state_that_puts_something_absurdly_far_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "far.xml").write_text(
        '<mujoco><worldbody><body name="cup"><freejoint/><geom size=".1"/></body></worldbody>'
        '<keyframe><key name="lost" qpos="0 0 1e9 1 0 0 0"/></keyframe></mujoco>'
    )
    source = MjcfConfig(path=tmp_path / "far.xml", keyframe="lost")
    with pytest.raises(AssetError) as caught:
        convert_mjcf(source.path, tmp_path / "out", source=source)
    told = str(caught.value)
    assert told.startswith(f"{source.path}, state 'lost': body 'cup' ") and "1e+09 m" in told
    assert [path.name for path in tmp_path.iterdir()] == ["far.xml"]
