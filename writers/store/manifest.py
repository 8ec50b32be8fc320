"""The manifest: all that is said once about a finished run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from writers.errors import ReadError
from writers.shard_record import ShardRecord
from writers.store.atomic import write_atomically, write_errors
from writers.store.plan import read_json_object, sealed_json, unsealed

MANIFEST_NAME = "manifest.json"
"""File name of the manifest in a run folder."""

DRAFT_NAME = "manifest.draft.json"
"""File name of the manifest of a run that is not finished: it lists no shard."""

MANIFEST_VERSION = 1
"""Version of the manifest's layout."""


class TableEntry(BaseModel):
    """One line of a table that explains the numbers of a label map; more keys are free."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

    id: int = Field(ge=1, le=65535)
    """Number in the label map; 0 is nothing and has no entry."""

    name: str = Field(min_length=1)
    """Name of the part, object or class."""

    scene_id: str | None = None
    """Scene where the number has this meaning; None means everywhere in the run."""


class Manifest(BaseModel):
    """What holds for all rows of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    manifest_version: int = Field(default=MANIFEST_VERSION, ge=1, le=MANIFEST_VERSION)
    """Version of this file's layout."""

    schema_version: int = Field(ge=1)
    """Version of the row schema."""

    seed: int
    """Seed of the run."""

    passes: list[str]
    """Passes of the run; they decide the columns."""

    label_bits: int
    """Bits per pixel of the label maps, 8 or 16."""

    versions: dict[str, str]
    """Versions of the libraries that decide bytes, by name."""

    config: dict[str, JsonValue]
    """The whole config of the run."""

    backends: dict[str, JsonValue]
    """How each backend rendered, by name."""

    parts: list[TableEntry]
    """Numbers of the part maps."""

    instances: list[TableEntry]
    """Numbers of the instance maps."""

    classes: list[TableEntry]
    """Numbers of the semantic maps."""

    robots: list[dict[str, JsonValue]]
    """Robots: names of their joints and grippers, in the order of the columns."""

    scenes: dict[str, JsonValue]
    """Scene reports by scene_id."""

    refused: dict[str, str] = Field(default_factory=dict)
    """Scenes of the run that were refused and have no rows: why, by scene_id."""

    shards: list[ShardRecord]
    """The shards, in the order of their names."""

    summary: dict[str, JsonValue] = Field(default_factory=dict)
    """Further facts about the run, such as flag counts."""

    @property
    def row_count(self) -> int:
        """Give the number of rows of all shards."""
        return sum(shard.rows for shard in self.shards)

    @model_validator(mode="after")
    def _check_unique(self) -> Self:
        for table in ("parts", "instances", "classes"):
            entries: Sequence[TableEntry] = getattr(self, table)
            _refuse_repeats(table, [(entry.scene_id, entry.id) for entry in entries])
            common = {entry.id for entry in entries if entry.scene_id is None}
            scoped = {entry.id for entry in entries if entry.scene_id is not None}
            if common & scoped:
                raise ValueError(
                    f"{table}: {min(common & scoped)} has a meaning for one scene and for all"
                )
        _refuse_repeats("shards", [shard.name for shard in self.shards])
        return self


def write_manifest(folder: Path, manifest: Manifest) -> Path:
    """Write `manifest.json`, atomically; its presence says that the run is finished.

    Raises:
        WriteError: The folder cannot be written.
    """
    path = folder / MANIFEST_NAME
    write_atomically(path, sealed_json(json.loads(manifest.model_dump_json())).encode())
    with write_errors(folder / DRAFT_NAME):
        (folder / DRAFT_NAME).unlink(missing_ok=True)
    return path


def write_draft(folder: Path, manifest: Manifest) -> Path:
    """Write what is known of a run before its shards are made; `write_manifest` takes its place.

    Raises:
        WriteError: The folder cannot be written.
    """
    path = folder / DRAFT_NAME
    write_atomically(path, sealed_json(json.loads(manifest.model_dump_json())).encode())
    return path


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a run folder.

    Raises:
        ReadError: The manifest is missing, broken, or of another version.
    """
    return _read(
        folder / MANIFEST_NAME, "A run writes it when it is finished: run again to complete it."
    )


def read_draft(folder: Path) -> Manifest:
    """Read and check the manifest of a run that is not finished; it lists no shard.

    Raises:
        ReadError: It is missing, broken, or of another version.
    """
    return _read(folder / DRAFT_NAME, "The command of the run writes it anew: give it again.")


def _read(path: Path, remedy: str) -> Manifest:
    value = unsealed(path, read_json_object(path, remedy), remedy)
    try:
        return Manifest.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the file"
        raise ReadError(
            f"{path}: not a manifest of version {MANIFEST_VERSION}: {key}: {first['msg']}."
        ) from error


def _refuse_repeats(table: str, keys: Sequence[object]) -> None:
    seen: set[object] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"{table}: {key} stands there twice")
        seen.add(key)
