import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Features

from writers import ReadError, WriteError, row_schema, schema_difference, verify_folder
from writers.kinds import IMAGE_TYPE
from writers.rows import COLUMNS
from writers.schema import declared_schema, leaf_paths

CASES = Path(__file__).parent / "cases"
PICTURES = ["rgb", "instance", "part", "semantic"]


def test_every_feature_of_the_metadata_is_the_one_datasets_takes():
    schema = row_schema(["hdr", "normal"], depth_mm=True)
    features = Features.from_arrow_schema(schema)
    declared = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == list(declared) == schema.names
    # A feature whose Arrow type differs from the column's would be ignored without a word.
    assert features.arrow_schema.types == schema.types
    assert features.to_dict() == Features.from_dict(declared).to_dict()
    assert [n for n in features if declared[n] == {"_type": "Image"}] == [*PICTURES, "depth_mm"]


def test_picture_columns_have_the_type_and_metadata_of_the_case():
    theirs = pq.read_schema(CASES / "e04-hf-image-feature" / "with.parquet")
    ours = row_schema()
    wanted = json.loads(theirs.metadata[b"huggingface"])["info"]["features"]["rgb"]
    features = json.loads(ours.metadata[b"huggingface"])["info"]["features"]
    for name in PICTURES:
        assert ours.field(name).type.equals(theirs.field("rgb").type)
        assert features[name] == wanted


def test_a_shard_without_the_picture_metadata_is_reported(tmp_path: Path):
    folder = CASES / "e04-hf-image-feature"
    problems = verify_folder(folder, pq.read_schema(folder / "with.parquet"))
    assert len(problems) == 1
    assert "without.parquet" in problems[0]
    assert "no 'huggingface' metadata" in problems[0]


def test_shards_that_drift_from_the_declared_schema_are_reported_by_name():
    declared = pa.schema([("frame_id", pa.int64()), ("occluder", pa.string())])
    problems = verify_folder(CASES / "e02-schema-drift" / "out", declared)
    assert len(problems) == 2
    assert "a.parquet" in problems[0]
    assert "column 'occluder' has type null, not string" in problems[0]
    assert "c.parquet" in problems[1]
    assert "column 'frame_id' has type int32, not int64" in problems[1]


def test_columns_follow_the_passes_and_nothing_else():
    plain = row_schema().names
    assert {"distance", "normal", "albedo", "hdr", "depth_mm"}.isdisjoint(plain)
    full = row_schema(["rgb", "distance", "hdr", "albedo", "normal"], depth_mm=True)
    assert set(full.names) - set(plain) == {"distance", "normal", "albedo", "hdr", "depth_mm"}
    assert row_schema(["hdr", "normal"]).equals(row_schema(["normal", "hdr"]), check_metadata=True)
    assert full.names == [column.name for column in COLUMNS]


def test_all_fields_are_nullable_and_none_is_a_dictionary():
    for field in row_schema(["hdr"], depth_mm=True):
        assert field.nullable
        assert not pa.types.is_dictionary(field.type)


def test_an_unknown_pass_is_refused_with_the_known_ones():
    with pytest.raises(WriteError, match=r"'postion' has no column\. Known: rgb, .*hdr"):
        row_schema(["postion"])


def test_a_file_of_another_schema_version_is_refused():
    other = row_schema()
    other = other.with_metadata({**other.metadata, b"datagen": b'{"schema_version": 99}'})
    with pytest.raises(ReadError, match=r"x\.parquet.*\"schema_version\": 99"):
        declared_schema(other, "x.parquet")
    assert declared_schema(row_schema(["hdr"]), "x").equals(row_schema(["hdr"]))


def test_a_missing_an_extra_and_a_moved_column_are_named():
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    assert schema_difference(schema, schema) is None
    assert "'b'" in str(schema_difference(pa.schema([("a", pa.int64())]), schema))
    assert "'c'" in str(schema_difference(schema.append(pa.field("c", pa.int8())), schema))
    moved = pa.schema([schema.field("b"), schema.field("a")])
    assert "order" in str(schema_difference(moved, schema))


def test_leaf_paths_are_those_of_the_parquet_file(tmp_path: Path):
    schema = row_schema(["normal"], depth_mm=True)
    pq.write_table(schema.empty_table(), tmp_path / "empty.parquet")
    parquet = pq.ParquetFile(tmp_path / "empty.parquet").schema
    paths = [parquet.column(i).path for i in range(len(parquet.names))]
    assert [leaf for field in schema for leaf in leaf_paths(field)] == paths
    assert leaf_paths(pa.field("rgb", IMAGE_TYPE)) == ["rgb.bytes", "rgb.path"]
