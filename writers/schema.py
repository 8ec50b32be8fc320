"""The one Arrow schema of every shard, with the metadata that makes datasets show pictures."""

import json
from collections.abc import Collection

import pyarrow as pa

from writers.errors import ReadError, WriteError
from writers.rows import COLUMNS

SCHEMA_VERSION = 1
"""Version of the row schema, stored in every shard."""

PASSES = tuple(column for column in COLUMNS if column.is_pass)
"""Columns with a value for each pixel that come back as fields of a row."""

BASE_PASSES = tuple(column.name for column in PASSES if not column.optional)
"""Passes that every row has."""

EXTRA_PASSES = tuple(column.name for column in PASSES if column.optional)
"""Passes with a column of their own when they are asked for."""


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
    asked = {*passes, "depth_mm"} if depth_mm else set(passes)
    columns = [each for each in COLUMNS if not each.optional or each.name in asked]
    features = {each.name: each.feature for each in columns}
    return pa.schema(
        [pa.field(each.name, each.kind.arrow) for each in columns],
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


def _says(text: bytes, value: object) -> bool:
    """Tell whether a text is JSON of a value."""
    try:
        return json.loads(text) == value
    except ValueError:
        return False
