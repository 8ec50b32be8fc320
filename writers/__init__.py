"""Rows and files: Parquet shards, plan, manifest and dataset card of a run."""

from writers.atomic import remove_leftovers, write_atomically
from writers.card import dataset_card, write_card
from writers.codecs import (
    LabelBits,
    decode_depth_mm,
    decode_labels,
    decode_rgb,
    encode_depth_mm,
    encode_labels,
    encode_rgb,
    label_bits,
)
from writers.config import OutputConfig
from writers.errors import PlanError, ReadError, WriteError
from writers.folder_lock import held_folder
from writers.manifest import Manifest, TableEntry, read_manifest, write_manifest
from writers.parquet import ShardRecord, shard_name, write_shard
from writers.plan import PLAN_NAME, claim_folder, read_plan
from writers.reading import read_record, read_rows, shard_paths, verify_folder, verify_shard
from writers.rows import ObjectRow, Row
from writers.schema import (
    BASE_PASSES,
    EXTRA_PASSES,
    SCHEMA_VERSION,
    row_schema,
    schema_difference,
)

__all__ = [
    "BASE_PASSES",
    "EXTRA_PASSES",
    "PLAN_NAME",
    "SCHEMA_VERSION",
    "LabelBits",
    "Manifest",
    "ObjectRow",
    "OutputConfig",
    "PlanError",
    "ReadError",
    "Row",
    "ShardRecord",
    "TableEntry",
    "WriteError",
    "claim_folder",
    "dataset_card",
    "decode_depth_mm",
    "decode_labels",
    "decode_rgb",
    "encode_depth_mm",
    "encode_labels",
    "encode_rgb",
    "held_folder",
    "label_bits",
    "read_manifest",
    "read_plan",
    "read_record",
    "read_rows",
    "remove_leftovers",
    "row_schema",
    "schema_difference",
    "shard_name",
    "shard_paths",
    "verify_folder",
    "verify_shard",
    "write_atomically",
    "write_card",
    "write_manifest",
    "write_shard",
]
