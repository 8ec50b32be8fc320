"""Rows and files: Parquet shards, plan, manifest and dataset card of a run."""

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
from writers.parquet import shard_name, write_shard
from writers.reading import read_rows
from writers.rows import ObjectRow, Row, row_id
from writers.schema import (
    BASE_PASSES,
    EXTRA_PASSES,
    SCHEMA_VERSION,
    row_schema,
    schema_difference,
)
from writers.shard_file import shard_paths
from writers.shard_record import ShardRecord
from writers.store.atomic import remove_leftovers, write_atomically
from writers.store.card import dataset_card, write_card
from writers.store.folder_lock import held_folder
from writers.store.journal import (
    JOURNAL_NAME,
    kept_records,
    note_shard,
    noted_shards,
    rewrite_journal,
)
from writers.store.manifest import (
    DRAFT_NAME,
    MANIFEST_NAME,
    Manifest,
    TableEntry,
    read_draft,
    read_manifest,
    write_draft,
    write_manifest,
)
from writers.store.plan import PLAN_NAME, claim_folder, read_plan, refuse_other_plan
from writers.verification import finished_shard, read_record, verify_folder, verify_shard

__all__ = [
    "BASE_PASSES",
    "DRAFT_NAME",
    "EXTRA_PASSES",
    "JOURNAL_NAME",
    "MANIFEST_NAME",
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
    "finished_shard",
    "held_folder",
    "kept_records",
    "label_bits",
    "note_shard",
    "noted_shards",
    "read_draft",
    "read_manifest",
    "read_plan",
    "read_record",
    "read_rows",
    "refuse_other_plan",
    "remove_leftovers",
    "rewrite_journal",
    "row_id",
    "row_schema",
    "schema_difference",
    "shard_name",
    "shard_paths",
    "verify_folder",
    "verify_shard",
    "write_atomically",
    "write_card",
    "write_draft",
    "write_manifest",
    "write_shard",
]
