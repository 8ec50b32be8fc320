"""The one Arrow schema of every shard, with the metadata that makes datasets show pictures."""

import json
from collections.abc import Collection

import pyarrow as pa

from writers.errors import ReadError, WriteError

SCHEMA_VERSION = 1
"""Version of the row schema, stored in every shard."""

BASE_PASSES = ("rgb", "instance", "part", "semantic", "depth")
"""Passes that every row has."""

LABEL_PASSES = ("instance", "part", "semantic")
"""Passes that hold numbers of the manifest's tables."""

EXTRA_PASSES = ("distance", "normal", "albedo", "hdr")
"""Passes with a column of their own when they are asked for."""

FLOAT_PASSES = ("depth", *EXTRA_PASSES)
"""Passes stored as a row-major list of float32."""

IMAGE_TYPE = pa.struct([pa.field("bytes", pa.binary()), pa.field("path", pa.string())])
"""Arrow type of a picture column: an encoded file and its (absent) name."""

_FLOAT32_LIST = pa.list_(pa.float32())
_FLOAT64_LIST = pa.list_(pa.float64())

OBJECT_TYPE = pa.struct(
    [
        ("instance", pa.int32()),
        ("name", pa.string()),
        ("class", pa.string()),
        ("x0", pa.int32()),
        ("y0", pa.int32()),
        ("x1", pa.int32()),
        ("y1", pa.int32()),
        ("loose_x0", pa.float32()),
        ("loose_y0", pa.float32()),
        ("loose_x1", pa.float32()),
        ("loose_y1", pa.float32()),
        ("pixels_visible", pa.int32()),
        ("pixels_total", pa.int32()),
        ("occlusion", pa.float32()),
        ("T_world_object", _FLOAT64_LIST),
        ("box_center", _FLOAT64_LIST),
        ("box_size", _FLOAT64_LIST),
    ]
)
"""Arrow type of one entry of the objects column."""

_COLUMNS: tuple[tuple[str, pa.DataType, str], ...] = (
    ("row_id", pa.string(), 'the key (scene, episode, frame, camera, backend), joined by "/"'),
    ("scene_id", pa.string(), "scene of the view"),
    ("source", pa.string(), "what the scene was made from"),
    ("language", pa.string(), "instruction of the task; null where the source has none"),
    ("language_bddl", pa.string(), "instruction as the BDDL file spells it"),
    ("episode_index", pa.int64(), "episode within the scene"),
    ("frame_index", pa.int64(), "frame within the episode; a single picture is frame 0"),
    ("timestamp", pa.float64(), "time since the start of the episode [s]"),
    ("camera", pa.string(), "camera of the view"),
    ("backend", pa.string(), "renderer of the view"),
    ("width", pa.int32(), "picture width [px]"),
    ("height", pa.int32(), "picture height [px]"),
    ("rgb", IMAGE_TYPE, "lossless picture, sRGB; row 0 at the top, never flipped"),
    ("instance", IMAGE_TYPE, "object number per pixel; 0 = nothing"),
    ("part", IMAGE_TYPE, "part number per pixel; 0 = nothing"),
    ("semantic", IMAGE_TYPE, "class number per pixel; 0 = nothing"),
    ("depth", _FLOAT32_LIST, "planar distance to the image plane [m], row major; inf = nothing"),
    ("distance", _FLOAT32_LIST, "distance to the camera centre [m], row major; inf = nothing"),
    ("normal", _FLOAT32_LIST, "surface normal in the world frame, row major, xyz per pixel"),
    ("albedo", _FLOAT32_LIST, "diffuse reflectance, linear, row major, rgb per pixel"),
    ("hdr", _FLOAT32_LIST, "scene-linear radiance, row major, rgb per pixel"),
    (
        "depth_mm",
        IMAGE_TYPE,
        "depth in whole millimetres, 16 bit, lossy; 0 = nothing, or outside 1 to 65535 mm",
    ),
    ("K", _FLOAT64_LIST, "camera matrix, 3x3 row major [px], pixel centres at +0.5"),
    ("camera_model", pa.string(), "`pinhole`"),
    ("distortion", _FLOAT64_LIST, "coefficients of the camera model; empty for a pinhole"),
    (
        "T_world_camera",
        _FLOAT64_LIST,
        "camera (x right, y down, z forward) to world, 4x4 row major [m]",
    ),
    (
        "objects",
        pa.list_(OBJECT_TYPE),
        "every object that could be seen: number, name, class; tight box, half-open pixels "
        "`[x0, x1) x [y0, y1)`; loose box of the whole silhouette; pixel counts, occlusion; "
        "pose and 3D box in the object's frame [m]",
    ),
    (
        "robot_joint_position",
        _FLOAT64_LIST,
        "joint positions [rad or m]; names in the manifest; null without a robot",
    ),
    ("robot_ee_pose", _FLOAT64_LIST, "end-effector position [m] and quaternion wxyz"),
    ("robot_gripper", _FLOAT64_LIST, "gripper joint positions [rad or m]"),
    ("action", _FLOAT32_LIST, "action of the frame; null where the source has none"),
    ("state", _FLOAT32_LIST, "state vector of the frame; null where the source has none"),
    ("seed", pa.int64(), "seed of the run"),
    ("recipe", pa.string(), "JSON of every random draw of the sample"),
    ("redraws", pa.int32(), "how often the sample was drawn again"),
    ("flags", pa.list_(pa.string()), "what to know about the view, e.g. `dark`"),
)

COLUMN_MEANINGS = {name: meaning for name, _, meaning in _COLUMNS}
"""What each column holds, in one line."""


def row_schema(passes: Collection[str] = (), depth_mm: bool = False) -> pa.Schema:
    """Give the Arrow schema of every shard of a run.

    Args:
        passes: Passes of the run; those of `EXTRA_PASSES` add a column, those of `BASE_PASSES`
            are always there.
        depth_mm: Whether the run writes the millimetre picture of the depth.

    Raises:
        WriteError: A pass has no column.
    """
    for name in passes:
        if name not in BASE_PASSES and name not in EXTRA_PASSES:
            known = ", ".join((*BASE_PASSES, *EXTRA_PASSES))
            raise WriteError(f"Pass '{name}' has no column. Known: {known}.")
    absent = {name for name in EXTRA_PASSES if name not in passes}
    if not depth_mm:
        absent.add("depth_mm")
    fields = [pa.field(name, kind) for name, kind, _ in _COLUMNS if name not in absent]
    features = {field.name: _feature(field.type) for field in fields}
    return pa.schema(
        fields,
        metadata={
            "huggingface": json.dumps({"info": {"features": features}}),
            "datagen": json.dumps({"schema_version": SCHEMA_VERSION}),
        },
    )


def schema_difference(found: pa.Schema, declared: pa.Schema) -> str | None:
    """Say in half a sentence where a file's schema leaves the declared one, or give None.

    Names, order and types of the columns count, and each metadata entry of the declared schema.
    """
    metadata = found.metadata or {}
    for key, value in (declared.metadata or {}).items():
        if key not in metadata:
            return f"it has no '{key.decode()}' metadata"
        if key == b"datagen" and metadata[key] != value:
            there = metadata[key].decode(errors="replace")
            return f"its '{key.decode()}' metadata is {there}, not {value.decode()}"
    for field in declared:
        position = found.get_field_index(field.name)
        if position < 0:
            return f"it has no single column '{field.name}'"
        if not found.field(position).type.equals(field.type):
            return f"column '{field.name}' has type {found.field(position).type}, not {field.type}"
    extra = [name for name in found.names if name not in declared.names]
    if extra:
        return f"column '{extra[0]}' is not in the declared schema"
    if found.names != declared.names:
        return "its columns stand in another order"
    for key, value in (declared.metadata or {}).items():
        if not _says(metadata[key], json.loads(value)):
            return f"its '{key.decode()}' metadata differs from the declared schema's"
    return None


def declared_schema(found: pa.Schema, where: str) -> pa.Schema:
    """Give the declared schema that a shard claims to follow by the columns it has.

    Raises:
        ReadError: The schema is not one of this package's, or of another version.
    """
    names = set(found.names)
    declared = row_schema([name for name in EXTRA_PASSES if name in names], "depth_mm" in names)
    difference = schema_difference(found, declared)
    if difference:
        raise ReadError(f"{where}: not a shard of schema version {SCHEMA_VERSION}: {difference}.")
    return declared


def leaf_paths(field: pa.Field) -> list[str]:
    """Give the Parquet column paths of a field, depth first."""
    return _leaves(field.name, field.type)


def _leaves(path: str, kind: pa.DataType) -> list[str]:
    if isinstance(kind, pa.ListType):
        return _leaves(f"{path}.list.element", kind.value_type)
    if isinstance(kind, pa.StructType):
        return [leaf for child in kind for leaf in _leaves(f"{path}.{child.name}", child.type)]
    return [path]


_FEATURE_NAMES = {"float": "float32", "double": "float64"}


def _feature(kind: pa.DataType) -> dict[str, object]:
    """Spell an Arrow type as a feature of the datasets library."""
    if kind.equals(IMAGE_TYPE):
        return {"_type": "Image"}
    if isinstance(kind, pa.ListType):
        return {"feature": _feature(kind.value_type), "_type": "List"}
    if isinstance(kind, pa.StructType):
        return {child.name: _feature(child.type) for child in kind}
    return {"dtype": _FEATURE_NAMES.get(str(kind), str(kind)), "_type": "Value"}


def _says(text: bytes, value: object) -> bool:
    """Tell whether a text is JSON of a value."""
    try:
        return json.loads(text) == value
    except ValueError:
        return False
