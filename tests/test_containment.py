from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from datagen.cli import app
from scenes import AssetError, convert_mjcf, mjcf_scene
from scenes.sources.files.containment import Roots, refuse_unsafe_files
from scenes.sources.files.raw_xml import tags
from scenes.sources.mjcf.config import MjcfConfig

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
MESH = (
    '<asset><mesh name="m" file="{}"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody>'
)
PART = "<mujoco><worldbody><geom name='part' size='1'/></worldbody></mujoco>"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model's folder, with a mesh, a model and a picture outside it."""
    (tmp_path / "model" / "deep").mkdir(parents=True)
    for folder in ("outside", "model", "model/deep"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "tet.obj").write_text(TETRAHEDRON)
    (tmp_path / "outside" / "part.xml").write_text(PART)
    (tmp_path / "outside" / "child.xml").write_text(f"<mujoco>{MESH.format('tet.obj')}</mujoco>")
    (tmp_path / "outside" / "t.png").write_bytes(png(4, 4))
    (tmp_path / "model" / "link.obj").symlink_to(tmp_path / "outside" / "tet.obj")
    (tmp_path / "model" / "folder").symlink_to(tmp_path / "outside")
    return tmp_path / "model" / "m.xml"


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    rows = zlib.compress(b"".join(b"\0" + b"\x7f" * width * 3 for _ in range(min(height, 4))))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return start + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


OUTSIDE = {
    "parent": MESH.format("../outside/tet.obj"),
    "absolute": MESH.format("{outside}/tet.obj"),
    "backslash": MESH.format("..\\outside\\tet.obj"),
    "reference": MESH.format("&#46;&#x2e;/outside/tet.obj"),
    "folder_that_is_not_there": MESH.format("none/../../outside/tet.obj"),
    "link": MESH.format("link.obj"),
    "linked_folder": MESH.format("folder/tet.obj"),
    "missing": MESH.format("../../nothing/none.obj"),
    "meshdir": '<compiler meshdir="../outside"/>' + MESH.format("tet.obj"),
    "assetdir": '<compiler assetdir="deep/../../outside"/>' + MESH.format("tet.obj"),
    "texture": "<asset><texture type='2d' file='../outside/t.png'/></asset>",
    "cube": "<asset><texture type='cube' fileup='../outside/t.png'/></asset>",
    "hfield": "<asset><hfield name='h' size='1 1 1 1' file='../outside/t.png'/></asset>",
    "skin": "<asset><skin file='../outside/t.skn'/></asset>",
    "include": "<include file='../outside/part.xml'/>",
    "attach": "<asset><model name='c' file='../outside/child.xml'/></asset>",
    "flexcomp": "<worldbody><flexcomp name='f' type='mesh' file='../outside/tet.obj'/></worldbody>",
    "after_odd_comment": "<!-- a -- b -->< include file = '../outside/part.xml' />",
}


@pytest.mark.parametrize("kind", OUTSIDE)
def test_files_outside_the_models_folder_are_refused(model: Path, kind: str) -> None:
    outside = model.parent.parent / "outside"
    text = OUTSIDE[kind].replace("{outside}", str(outside))
    model.write_text(f"<mujoco>{text}</mujoco>")
    with pytest.raises(AssetError, match="lies outside the folders") as error:
        convert_mjcf(model, model.parent / "out")
    assert str(error.value).startswith(f"{model}: ") and "--root" in str(error.value)
    assert str(outside) in str(error.value) or kind == "missing"
    assert not (model.parent / "out").exists()


@pytest.mark.parametrize("kind", ["parent", "link", "include", "meshdir"])
def test_a_named_folder_may_be_read(model: Path, kind: str) -> None:
    model.write_text(f"<mujoco>{OUTSIDE[kind]}</mujoco>")
    outside = model.parent.parent / "outside"
    source = MjcfConfig(path=model, roots=(outside,))
    scene = convert_mjcf(model, model.parent / "out", source=source)
    assert len(scene.info.parts) == 1
    cache = model.parent / "cache"
    first = mjcf_scene(source, cache)
    more = MjcfConfig(path=model, roots=(outside, model.parent))
    assert mjcf_scene(more, cache).folder == first.folder


def test_an_included_file_is_held_to_the_rule_too(model: Path) -> None:
    (model.parent / "deep" / "inner.xml").write_text(f"<mujoco>{OUTSIDE['parent']}</mujoco>")
    model.write_text("<mujoco><include file='deep/inner.xml'/></mujoco>")
    with pytest.raises(AssetError, match=r"mesh 'm' of inner\.xml: .*outside/tet\.obj lies"):
        convert_mjcf(model, model.parent / "out")


def test_attached_models_read_from_their_own_folder(model: Path) -> None:
    deep = model.parent / "deep"
    inside = MESH.format("../deep/tet.obj").replace("<geom ", "<geom name='g' ")
    body = inside.replace("<worldbody>", "<worldbody><body name='b'>").replace(
        "</worldbody>", "</body></worldbody>"
    )
    (deep / "child.xml").write_text(f"<mujoco>{body}</mujoco>")
    model.write_text(
        "<mujoco><asset><model name='c' file='deep/child.xml'/></asset><worldbody>"
        "<attach model='c' body='b' prefix='c_'/></worldbody></mujoco>"
    )
    assert len(convert_mjcf(model, model.parent / "out").info.parts) == 1


def test_root_of_the_command_line(model: Path) -> None:
    model.write_text(f"<mujoco>{OUTSIDE['parent']}</mujoco>")
    outside = model.parent.parent / "outside"
    arguments = ["convert", str(model), str(model.parent / "out")]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 3 and f"--root {outside}" in refused.stderr
    missing = CliRunner().invoke(app, [*arguments, "--root", str(outside / "none")])
    assert missing.exit_code == 2
    done = CliRunner().invoke(
        app, [*arguments, "--root", str(outside), "--root", str(model.parent)]
    )
    assert done.exit_code == 0, done.stderr


def test_roots_of_a_config_are_read(tmp_path: Path) -> None:
    from datagen.configuration.config import load_config

    file = tmp_path / "run.yaml"
    file.write_text(
        "output: out\ncameras: [c]\nscenes:\n- mjcf: {path: m.xml, roots: [../shared, /a]}\n"
    )
    (source,) = load_config(file, (), {}).scenes
    assert source.mjcf is not None
    assert source.mjcf.roots == (Path("../shared"), Path("/a"))


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><mujoco model="&b;"/>',
        '<!doctype mujoco SYSTEM "file:///etc/hosts"><mujoco/>',
        '<mujoco><!ENTITY a "b"></mujoco>',
    ],
)
def test_entities_are_refused_before_mujoco_parses(
    model: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("mujoco.MjSpec.from_file", None)
    model.write_text(text)
    with pytest.raises(AssetError, match=r"holds <!(DOCTYPE|ENTITY); models with"):
        convert_mjcf(model, model.parent / "out")


def test_a_comment_may_speak_of_entities(model: Path) -> None:
    model.write_text(
        "<mujoco><!-- <!DOCTYPE x> --><worldbody><geom size='1'/></worldbody></mujoco>"
    )
    assert len(convert_mjcf(model, model.parent / "out").info.parts) == 1


@pytest.mark.parametrize("nul", ["&#0;", "&#x00;", "\0"])
def test_nul_in_a_name_is_refused(model: Path, nul: str) -> None:
    model.write_text(f"<mujoco>\n<worldbody><geom name='a{nul}b' size='1'/></worldbody></mujoco>")
    with pytest.raises(AssetError, match=r"m\.xml: line 2: a NUL character"):
        convert_mjcf(model, model.parent / "out")


@pytest.mark.parametrize(
    ("element", "width", "height"),
    [
        ("<texture name='t' type='2d' file='huge.png'/>", 16385, 4),
        ("<texture name='t' type='2d' file='huge.png'/>", 12000, 12000),
        ("<hfield name='t' size='1 1 1 1' file='huge.png'/>", 4, 2**31 - 1),
        ("<texture name='t' type='2d' builtin='flat' width='16385' height='4'/>", 16385, 4),
    ],
)
def test_huge_pictures_are_refused_undecoded(
    model: Path, element: str, width: int, height: int
) -> None:
    (model.parent / "huge.png").write_bytes(png(width, height))
    model.write_text(f"<mujoco><asset>{element}</asset></mujoco>")
    with pytest.raises(AssetError, match=rf"'t': {width} x {height} pixels; at most 16384"):
        convert_mjcf(model, model.parent / "out")


def test_tags_are_read_as_leniently_as_mujoco_does() -> None:
    text = b"""<a x='1 > 0' y = "&lt;&#65;&amp;"><!-- <b/> -- --><  c.d:e-f /><g h='"'></a>"""
    assert [(tag.name, dict(tag.attributes)) for tag in tags(text)] == [
        ("a", {"x": "1 > 0", "y": "<A&"}),
        ("c.d:e-f", {}),
        ("g", {"h": '"'}),
    ]


@pytest.mark.parametrize("element", ["include", "mesh", "texture"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, element: str) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    tag = f'<{element} name="x" type="2d" file="pipe.png"/>'
    inner = '<include file="pipe.png"/>' if element == "include" else f"<asset>{tag}</asset>"
    model = tmp_path / "m.xml"
    model.write_text(f"<mujoco>{inner}<worldbody/></mujoco>")
    with pytest.raises(AssetError, match=r"no regular file: .*pipe\.png"):
        refuse_unsafe_files(model, Roots.of(model, ()))


@pytest.mark.parametrize("name", ["x" * 300, "circle"])
def test_a_path_that_cannot_be_looked_up_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    model = tmp_path / "m.xml"
    model.write_text(f'<mujoco><include file="{name}"/><worldbody/></mujoco>')
    with pytest.raises(AssetError, match=f"no such file: {tmp_path}/{name[:9]}"):
        refuse_unsafe_files(model, Roots.of(model, ()))
