"""Whole inputs of every kind that this package reads, and ways to damage them."""

from __future__ import annotations

import io
import random
import re
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image
from pxr import Sdf

KINDS = ("mjcf", "obj", "stl", "msh", "png", "urdf", "usda", "usdc", "yaml", "shard")

_WORDS = (
    b"nan", b"inf", b"-inf", b"1e308", b"-1", b"0", b"1e-320", b"99999999999999999999",
    b"2147483648", b"", b" ", b"\0", b"\xff\xfe", b"\x1b[31m", b"\n", b"'", b'"', b"<", b">", b"/",
    b"..", b"&#0;",
    b"@", b"{", b"}", b"[", b"]", b"a" * 300, b"\xe2\x80\xae", b"<!--", b"*", b"&x", b"~", b"true",
    b"None", b"1 2 3", b"0 0 0", b"1 0 0 0", b"../../../etc/passwd", b"/dev/zero", b".",
)  # fmt: skip
_NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_NUMBERS = (
    b"0", b"1", b"-1", b"2", b"0.5", b"7", b"100", b"-0.0", b"1e-9", b"1e9", b"1e-30", b"1e30",
    b"65536", b"0.001", b"-3.7", b"1000000", b"3",
)  # fmt: skip
_PNG = b"\x89PNG\r\n\x1a\n"
_INTEGERS = (0, 1, -1, 2**31 - 1, -(2**31), 2**16, 255, 10**6)
_FLOATS = (float("nan"), float("inf"), 0.0, -0.0, 1e30, -1e-40)

MODEL = """<mujoco model="m"><compiler angle="radian" meshdir="." texturedir="."/>
<option gravity="0 0 -9.81" timestep="0.002"/><size memory="10M"/>
<visual><headlight ambient=".1 .1 .1"/><quality numslices="12"/><map znear="0.01"/></visual>
<default><geom friction="1 .01 .001" density="500"/><default class="blue"><geom rgba="0 0 1 1"/>
<joint damping="1"/></default></default>
<asset><texture name="sky" type="skybox" builtin="gradient" rgb1="1 1 1" rgb2="0 0 1" width="16"
height="96"/><texture name="t" type="2d" file="t.png"/><texture name="c" type="cube"
builtin="checker" rgb1="1 0 0" rgb2="0 1 0" width="8" height="48"/>
<material name="m" texture="t" texrepeat="2 2" specular=".3" shininess=".4" emission=".1"/>
<material name="n" rgba=".2 .3 .4 .5" reflectance=".1"/>
<mesh name="mesh" file="m.obj" scale=".1 .1 .1"/><hfield name="h" nrow="3" ncol="4" size="1 1 .2 .1"
elevation="0 1 0 1 0 1 0 1 0 1 0 1"/></asset>
<worldbody><light name="l" pos="0 0 3" dir="0 0 -1" cutoff="40"/><geom name="floor" type="plane"
size="2 2 .1" material="m"/><geom type="hfield" hfield="h" pos="3 0 0"/>
<camera name="view" pos="0 -2 2" xyaxes="1 0 0 0 .7 .7" fovy="50"/>
<body name="a" pos="0 0 1"><freejoint name="f"/><geom name="g" type="box" size=".1 .2 .3"
material="n"/><inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/></body>
<body name="b" pos="1 0 .5" euler="0 .3 0"><joint name="h1" axis="0 1 0" range="-1 1"
limited="true"/><geom class="blue" type="capsule" fromto="0 0 0 0 0 .5" size=".05"/><body name="c"
pos="0 0 .5">
<joint name="s" type="slide" axis="1 0 0"/><geom type="mesh" mesh="mesh"/><site name="tip"/></body>
</body><replicate count="3" offset="0 .3 0"><geom type="sphere" size=".1" pos="-1 0 1"/></replicate>
</worldbody>
<equality><joint joint1="h1" joint2="s" polycoef="0 1 0 0 0"/></equality>
<tendon><fixed name="x"><joint joint="h1" coef="1"/></fixed></tendon>
<actuator><position joint="h1" kp="10"/></actuator>
<contact><exclude body1="a" body2="b"/></contact>
<keyframe><key name="k" qpos="0 0 1 1 0 0 0 .1 .2"/></keyframe></mujoco>"""

HOLDER = """<mujoco><asset><texture name="t" type="2d" file="t.png"/>
<material name="m" texture="t"/><mesh name="mesh" file="{mesh}"/></asset><worldbody><light pos="0 0
3"/>
<camera name="view" pos="0 -2 2" xyaxes="1 0 0 0 .7 .7"/>
<geom type="mesh" mesh="mesh" material="m"/></worldbody></mujoco>"""

ROBOT = """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><visual><origin xyz="0 0 .1" rpy="0 0 .1"/><geometry><box size=".1 .2 .3"/>
</geometry><material name="red"/></visual><collision><geometry><sphere radius=".1"/></geometry>
</collision><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/>
</inertial></link><link name="arm"><visual><geometry><mesh filename="m.obj"
scale="1 1 1"/></geometry></visual><inertial><mass value=".5"/><inertia ixx=".1" iyy=".1" izz=".1"
ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="j" type="revolute"><parent link="base"/><child link="arm"/>
<origin xyz="0 0 .3"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
</joint></robot>"""

CONFIG = """seed: 3
output: out/run
scenes:
  - mjcf: {path: m.xml, roots: [a], objects: {x: {label: thing, bodies: [a]}}}
  - libero: {suite: libero_spatial, tasks: [0, 1], initial_states: {count: 2}}
samples_per_state: 2
cameras: [view]
size: [64, 48]
backends: [mitsuba, mujoco]
passes: [normal]
mitsuba: {spp: 16, denoise: true}
conversion: {timeout: 10, memory: 1}
randomize:
  camera_pose: {targets: [view], position: {uniform: [-0.03, 0.03]}, rotation: {uniform: [-2, 2]}}
  light: {intensity: {loguniform: [0.7, 1.4]}, kelvin: {uniform: [4500, 8000]}}
parquet: {frames_per_shard: 100}
audit: {backends: [mujoco, mitsuba], thresholds: {ids: {agreement: {min: 0.99}}}}
"""

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], dtype="<i4")


def whole_inputs(stage: Path, shard: bytes) -> Mapping[str, bytes]:
    """Give an undamaged input of each kind.

    Args:
        stage: A USD stage in text.
        shard: A finished shard.
    """
    picture = io.BytesIO()
    texels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    Image.fromarray(texels).save(picture, "PNG")
    lines = [f"v {x} {y} {z}" for x, y, z in TETRAHEDRON]
    lines += ["vt 0 0", "vt 1 0", "vt 0 1", "vn 0 0 1"]
    lines += [f"f {a + 1}/1/1 {b + 1}/2/1 {c + 1}/3/1" for a, b, c in FACES]
    triangles = [
        struct.pack("<3f", 0, 0, 0) + TETRAHEDRON[face].tobytes() + b"\0\0" for face in FACES
    ]
    msh = struct.pack("<4i", 4, 4, 4, 4) + TETRAHEDRON.tobytes() * 2
    msh += TETRAHEDRON[:, :2].tobytes() + FACES.tobytes()
    layer = Sdf.Layer.FindOrOpen(str(stage))
    binary = stage.with_suffix(".usdc")
    layer.Export(str(binary))
    return {
        "mjcf": MODEL.encode(),
        "obj": "\n".join(lines).encode(),
        "stl": b"\0" * 80 + struct.pack("<I", len(FACES)) + b"".join(triangles),
        "msh": msh,
        "png": picture.getvalue(),
        "urdf": ROBOT.encode(),
        "usda": stage.read_bytes(),
        "usdc": binary.read_bytes(),
        "yaml": CONFIG.encode(),
        "shard": shard,
    }


def damaged(data: bytes, draw: random.Random, others: bytes) -> bytes:
    """Change a few places of an input.

    Args:
        data: The input.
        draw: Where random choices come from.
        others: Another input, of which pieces are put in.
    """
    changed = bytearray(data)
    if data.startswith(_PNG):
        return (
            _with_sums(_changed_chunk(data, draw)) if draw.random() < 0.7 else _flipped(data, draw)
        )
    if draw.random() < 0.4 and (numbers := list(_NUMBER.finditer(data))):
        # What is still well formed gets farther.
        for number in sorted(draw.sample(numbers, 1 + draw.randrange(2)), reverse=True, key=_start):
            changed[number.start() : number.end()] = draw.choice(_NUMBERS)
        return bytes(changed)
    for _ in range(draw.choice((1, 1, 1, 1, 2, 4))):
        if not changed:
            break
        _change(changed, draw, others)
    return bytes(changed)


def _start(match: re.Match[bytes]) -> int:
    return match.start()


def _flipped(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _changed_chunk(data: bytes, draw: random.Random) -> bytes:
    """Change the header or the pixels of a picture."""
    changed = bytearray(data)
    if draw.random() < 0.6:
        place = 16 + draw.choice((0, 4))
        changed[place : place + 4] = struct.pack(">I", draw.choice((0, 1, 15, 17, 20000, 2**31)))
        if draw.random() < 0.5:
            changed[24 + draw.randrange(5)] = draw.randrange(9)
    else:
        changed[draw.randrange(33, len(data))] = draw.randrange(256)
    return bytes(changed)


def _with_sums(data: bytes) -> bytes:
    """Give every chunk of a picture the check sum that it should have."""
    changed, place = bytearray(data), len(_PNG)
    while place + 12 <= len(changed):
        length = int.from_bytes(changed[place : place + 4], "big")
        end = place + 8 + length
        if end + 4 > len(changed):
            break
        changed[end : end + 4] = struct.pack(">I", zlib.crc32(changed[place + 4 : end]))
        place = end + 4
    return bytes(changed)


def _change(data: bytearray, draw: random.Random, others: bytes) -> None:
    place = draw.randrange(len(data))
    end = min(len(data), place + draw.choice((1, 2, 4, 8, 40, 200)))
    match draw.randrange(10):
        case 0:
            data[place] ^= 1 << draw.randrange(8)
        case 1:
            del data[place:end]
        case 2:
            data[place:place] = data[place:end]
        case 3:
            data[place:place] = draw.choice(_WORDS)
        case 4:
            _replace_word(data, draw, place)
        case 5:
            data[place : place + 4] = struct.pack("<i", draw.choice(_INTEGERS))
        case 6:
            data[place : place + 4] = struct.pack("<f", draw.choice(_FLOATS))
        case 7:
            first = draw.randrange(max(1, len(others)))
            data[place:place] = others[first : first + draw.choice((4, 16, 64))]
        case 8:
            other = draw.randrange(len(data))
            data[place:end] = data[other : other + end - place]
        case _:
            if draw.random() < 0.3:
                del data[place:]
            else:
                _replace_word(data, draw, place)


def _replace_word(data: bytearray, draw: random.Random, place: int) -> None:
    """Replace the word at a place, as numbers and names of text formats are."""
    letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+:"
    begin = end = place
    while begin > 0 and data[begin - 1] in letters and place - begin < 40:
        begin -= 1
    while end < len(data) and data[end] in letters and end - place < 40:
        end += 1
    data[begin:end] = draw.choice(_WORDS)
