import dataclasses
import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from writers import (
    ObjectRow,
    OutputConfig,
    ReadError,
    Row,
    WriteError,
    read_record,
    read_rows,
    remove_leftovers,
    row_schema,
    shard_name,
    shard_paths,
    verify_folder,
    verify_shard,
    write_shard,
)

CASE = Path(__file__).parent / "cases" / "e01-footerless-shard" / "out"
WIDTH, HEIGHT = 12, 8
PICTURES = ["rgb", "instance", "part", "semantic"]


def make_row(index: int = 0, **changes: object) -> Row:
    rng = np.random.default_rng(index)
    ids = rng.integers(0, 200, (HEIGHT, WIDTH), dtype=np.int32)
    depth = rng.uniform(0.1, 9, (HEIGHT, WIDTH)).astype(np.float32)
    depth[0] = np.inf
    pose = np.arange(16.0).reshape(4, 4)
    seen = ObjectRow(
        instance=1,
        name="bowl_1",
        class_name="bowl",
        x0=1,
        y0=2,
        x1=5,
        y1=7,
        loose_x0=0.5,
        loose_y0=1.5,
        loose_x1=5.5,
        loose_y1=7.25,
        pixels_visible=15,
        pixels_total=20,
        occlusion=0.25,
        T_world_object=pose + index,
        box_center=np.array([0.1, 0.2, 0.3]),
        box_size=np.array([1.0, 2.0, 3.0]),
    )
    hidden = ObjectRow(
        instance=2, name="plate_1", class_name="plate", pixels_visible=0, pixels_total=0
    )
    row = Row(
        scene_id="kitchen",
        episode_index=index,
        frame_index=0,
        camera="agentview",
        backend="mitsuba",
        width=WIDTH,
        height=HEIGHT,
        K=np.array([[10.0, 1.0, 6.0], [0.0, 11.0, 4.0], [0.0, 0.0, 1.0]]),
        T_world_camera=pose,
        seed=7,
        source="mjcf/kitchen.xml",
        language="pick up the bowl",
        timestamp=0.5,
        rgb=rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8),
        instance=ids,
        part=ids + 55,
        semantic=ids // 10,
        depth=depth,
        objects=[seen, hidden],
        robot_joint_position=[0.1, -0.2],
        recipe=json.dumps([{"target": "light", "value": 0.5}]),
        flags=["dark"],
    )
    return dataclasses.replace(row, **changes)  # type: ignore[arg-type]


def assert_equal(found: object, wanted: object) -> None:
    if dataclasses.is_dataclass(wanted):
        for field in dataclasses.fields(wanted):
            assert_equal(getattr(found, field.name), getattr(wanted, field.name))
    elif isinstance(wanted, list) and wanted and dataclasses.is_dataclass(wanted[0]):
        assert isinstance(found, list)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_equal(one, other)
    elif isinstance(wanted, np.ndarray):
        assert isinstance(found, np.ndarray)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    else:
        assert found == wanted


def test_a_row_comes_back_as_it_was(tmp_path: Path):
    rng = np.random.default_rng(1)
    passes = {
        "distance": rng.uniform(1, 2, (HEIGHT, WIDTH)).astype(np.float32),
        "normal": rng.normal(size=(HEIGHT, WIDTH, 3)).astype(np.float32),
        "hdr": rng.uniform(0, 50, (HEIGHT, WIDTH, 3)).astype(np.float32),
    }
    rows = [make_row(0, **passes), make_row(1)]
    write_shard(tmp_path / "a.parquet", rows, OutputConfig(depth_mm=True), list(passes))
    for found, wanted in zip(read_rows(tmp_path), rows, strict=True):
        assert_equal(found, wanted)


@settings(max_examples=20, deadline=None)
@given(
    arrays(
        np.float32,
        (HEIGHT, WIDTH),
        elements=st.floats(0, width=32, exclude_min=True) | st.just(np.inf),
    )
)
def test_depth_comes_back_bit_by_bit(tmp_path_factory: pytest.TempPathFactory, depth):
    path = tmp_path_factory.mktemp("depth") / "a.parquet"
    write_shard(path, [make_row(depth=depth)], OutputConfig())
    (row,) = read_rows(path)
    assert row.depth is not None
    np.testing.assert_array_equal(row.depth.view(np.uint32), depth.view(np.uint32))


def test_matrices_and_passes_are_stored_row_major(tmp_path: Path):
    row = make_row()
    write_shard(tmp_path / "a.parquet", [row], OutputConfig())
    stored = pq.read_table(tmp_path / "a.parquet").to_pylist()[0]
    assert stored["K"] == [10, 1, 6, 0, 11, 4, 0, 0, 1]
    assert stored["T_world_camera"] == list(range(16))
    assert row.depth is not None
    assert stored["depth"][WIDTH + 2] == row.depth[1, 2]
    assert stored["row_id"] == "kitchen/0/0/agentview/mitsuba"
    assert stored["objects"][0]["class"] == "bowl"
    assert stored["objects"][1]["x0"] is None
    assert stored["rgb"]["path"] is None


def test_datasets_shows_pictures(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from datasets import load_dataset

    rows = [make_row(0), make_row(1)]
    for index, row in enumerate(rows):
        write_shard(tmp_path / shard_name(index), [row], OutputConfig(depth_mm=True), label_bits=8)
    data = load_dataset(
        "parquet",
        data_files=str(tmp_path / "*.parquet"),
        split="train",
        cache_dir=str(tmp_path / "cache"),
    )
    assert len(data) == 2
    for found, wanted in zip(data, rows, strict=True):
        assert [found[name].mode for name in PICTURES] == ["RGB", "L", "L", "L"]
        assert found["depth_mm"].mode == "I;16"
        for name in PICTURES:
            np.testing.assert_array_equal(np.asarray(found[name]), getattr(wanted, name))
        assert found["objects"][0]["box_size"] == [1, 2, 3]
        np.testing.assert_array_equal(
            np.asarray(found["depth"], np.float32).reshape(HEIGHT, WIDTH), wanted.depth
        )


def test_full_all_null_and_empty_shards_have_one_schema(tmp_path: Path):
    config = OutputConfig()
    bare = make_row(
        source=None,
        language=None,
        robot_joint_position=None,
        objects=[],
        flags=[],
    )
    shards = {"full": [make_row()], "bare": [bare], "empty": []}
    for name, rows in shards.items():
        write_shard(tmp_path / f"{name}.parquet", rows, config, ["hdr"])
        schema = pq.read_schema(tmp_path / f"{name}.parquet")
        assert schema.equals(row_schema(["hdr"]))
        assert schema.metadata == row_schema(["hdr"]).metadata
    assert verify_folder(tmp_path, row_schema(["hdr"])) == []
    assert len(list(read_rows(tmp_path))) == 2
    assert pq.read_table(tmp_path / "bare.parquet").column("hdr").null_count == 1


def test_bytes_do_not_depend_on_how_rows_arrive(tmp_path: Path):
    config = OutputConfig(row_group_rows=3)

    def one_by_one() -> Iterator[Row]:
        for index in range(8):
            yield make_row(index)

    listed = write_shard(tmp_path / "a.parquet", list(one_by_one()), config)
    generated = write_shard(tmp_path / "b.parquet", one_by_one(), config)
    strided = [
        dataclasses.replace(row, rgb=np.asfortranarray(row.rgb), depth=np.asfortranarray(row.depth))
        for row in one_by_one()
    ]
    ordered = write_shard(tmp_path / "c.parquet", strided, config)
    assert listed.blake2b == generated.blake2b == ordered.blake2b
    code = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[2:]\n"
        "from test_parquet import make_row; from writers import OutputConfig, write_shard\n"
        "rows = (make_row(i) for i in range(8))\n"
        "print(write_shard(Path(sys.argv[1]), rows, OutputConfig(row_group_rows=3)).blake2b)"
    )
    here = Path(__file__).parent
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "d.parquet"), str(here), str(here.parent)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONHASHSEED": "5"},
    )
    assert run.stdout.strip() == listed.blake2b


def test_record_tells_rows_size_and_digest_of_the_file(tmp_path: Path):
    path = tmp_path / shard_name(3)
    record = write_shard(path, [make_row(0), make_row(1)], OutputConfig())
    data = path.read_bytes()
    assert record.name == "train-00003.parquet"
    assert record.rows == 2
    assert record.bytes == len(data)
    assert record.blake2b == hashlib.blake2b(data, digest_size=32).hexdigest()
    assert read_record(path, row_schema()) == record


def test_row_groups_end_at_the_row_or_the_size_limit(tmp_path: Path):
    path = tmp_path / "a.parquet"
    write_shard(path, map(make_row, range(7)), OutputConfig(row_group_rows=3))
    groups = pq.ParquetFile(path).metadata
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [3, 3, 1]
    size = {"width": 500, "height": 400}
    flat = {name: np.zeros((400, 500), np.int32) for name in PICTURES[1:]}
    rgb, depth = np.zeros((400, 500, 3), np.uint8), np.ones((400, 500), np.float32)
    rows = [make_row(i, **size, **flat, rgb=rgb, depth=depth) for i in range(3)]
    write_shard(path, rows, OutputConfig(row_group_mb=1))
    groups = pq.ParquetFile(path).metadata
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [1, 1, 1]


def test_at_most_one_row_group_of_rows_is_ahead_of_the_file(tmp_path: Path):
    sizes: list[int] = []

    def watched() -> Iterator[Row]:
        for index in range(9):
            (temporary,) = tmp_path.iterdir()
            with temporary.open("rb") as file:
                sizes.append(len(file.read()))
            rng = np.random.default_rng(index)
            yield make_row(
                index,
                width=128,
                height=128,
                rgb=rng.integers(0, 256, (128, 128, 3), dtype=np.uint8),
                depth=rng.uniform(1, 2, (128, 128)).astype(np.float32),
                **{name: np.zeros((128, 128), np.int32) for name in PICTURES[1:]},
            )

    write_shard(tmp_path / "a.parquet", watched(), OutputConfig(row_group_rows=2))
    grown = [later > sooner for sooner, later in itertools.pairwise(sizes)]
    assert grown[2:] == [True, False, True, False, True, False]


def test_columns_are_encoded_as_their_content_asks(tmp_path: Path):
    path = tmp_path / "a.parquet"
    write_shard(path, [make_row()], OutputConfig())
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    picture = columns["rgb.bytes"]
    assert picture.compression == "UNCOMPRESSED"
    assert not picture.is_stats_set
    assert "RLE_DICTIONARY" not in picture.encodings
    assert picture.has_offset_index
    depth = columns["depth.list.element"]
    assert depth.compression == "ZSTD"
    assert "BYTE_STREAM_SPLIT" in depth.encodings
    scalar = columns["scene_id"]
    assert scalar.compression == "ZSTD"
    assert "RLE_DICTIONARY" in scalar.encodings
    assert scalar.statistics.min == "kitchen"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"depth": None}, "Row kitchen/0/0/agentview/mitsuba: 'depth' is missing"),
        ({"hdr": np.zeros((HEIGHT, WIDTH, 3), np.float32)}, "'hdr' would be lost"),
        ({"rgb": np.zeros((HEIGHT, WIDTH, 4), np.uint8)}, r"'rgb' is uint8 \[8, 12, 4\]"),
        ({"depth": np.ones((HEIGHT, WIDTH))}, "'depth' is float64"),
        ({"width": 13}, r"not uint8 \[8, 13, 3\]"),
        ({"part": np.full((HEIGHT, WIDTH), 70000, np.int32)}, "number 70000 does not fit"),
        ({"depth": np.full((HEIGHT, WIDTH), np.nan, np.float32)}, "'depth' is nan at column 0"),
        ({"depth": np.zeros((HEIGHT, WIDTH), np.float32)}, "'depth' is 0.0 at column 0, row 0"),
        ({"K": np.eye(4)}, "'K' has shape"),
        ({"T_world_camera": np.full((4, 4), np.nan)}, "'T_world_camera' holds .* not finite"),
        ({"height": 0}, "a picture of 12x0 pixels"),
        ({"camera": ""}, "'camera' is empty"),
        ({"seed": 1 << 64}, "column 'seed' does not take a value"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_and_leaves_nothing(tmp_path, changes, sentence):
    with pytest.raises(WriteError, match=sentence):
        write_shard(tmp_path / "a.parquet", [make_row(**changes)], OutputConfig())
    assert list(tmp_path.iterdir()) == []


def test_two_rows_of_one_key_are_refused(tmp_path: Path):
    with pytest.raises(WriteError, match="two rows have the key kitchen/4/0/agentview/mitsuba"):
        write_shard(tmp_path / "a.parquet", [make_row(4), make_row(4)], OutputConfig())


def test_an_error_of_the_rows_passes_through_and_leaves_nothing(tmp_path: Path):
    def failing() -> Iterator[Row]:
        yield from map(make_row, range(3))
        raise OSError("the renderer's own")

    with pytest.raises(OSError, match="the renderer's own"):
        write_shard(tmp_path / "a.parquet", failing(), OutputConfig(row_group_rows=2))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_in_the_middle_is_one_sentence_and_leaves_nothing(tmp_path: Path):
    code = (
        "import resource, sys; from pathlib import Path; sys.path[:0] = sys.argv[2:]\n"
        "from test_parquet import make_row; from writers import *\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        "try: write_shard(Path(sys.argv[1]), map(make_row, range(9)), "
        "OutputConfig(row_group_rows=1))\n"
        "except WriteError as error: print(error)\n"
    )
    here = Path(__file__).parent
    path = tmp_path / "a.parquet"
    run = subprocess.run(
        [sys.executable, "-B", "-c", code, str(path), str(here), str(here.parent)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert run.stdout.startswith(f"{path}: the file could not be written, there is no space left")
    assert len(run.stdout.splitlines()) == 1
    assert run.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_kill_9_during_a_write_leaves_no_visible_shard(tmp_path: Path):
    code = (
        "import os, signal, sys; from pathlib import Path; sys.path[:0] = sys.argv[2:]\n"
        "from test_parquet import make_row; from writers import OutputConfig, write_shard\n"
        "def rows():\n"
        "    yield from map(make_row, range(5))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_shard(Path(sys.argv[1]), rows(), OutputConfig(row_group_rows=2))"
    )
    here = Path(__file__).parent
    path = tmp_path / "a.parquet"
    run = subprocess.run(
        [sys.executable, "-c", code, str(path), str(here), str(here.parent)],
        check=False,
        timeout=60,
    )
    assert run.returncode == -signal.SIGKILL
    assert list(tmp_path.glob("*.parquet")) == []
    assert len(remove_leftovers(tmp_path)) == 1
    record = write_shard(path, map(make_row, range(5)), OutputConfig(row_group_rows=2))
    verify_shard(path, record)
    assert list(tmp_path.iterdir()) == [path]


def test_shards_without_footer_are_named_and_the_whole_one_is_not():
    problems = verify_folder(CASE, pq.read_schema(CASE / "shard-00000.parquet"))
    assert len(problems) == 2
    for problem, name in zip(problems, ["shard-00001", "shard-00002"], strict=True):
        assert problem.startswith(f"{CASE / name}.parquet: not a whole Parquet file")
        assert len(problem.splitlines()) == 1


def test_resume_makes_broken_shards_again_and_every_row_is_there_once(tmp_path: Path):
    config, schema = OutputConfig(), row_schema()
    plan = {tmp_path / shard_name(s): range(4 * s, 4 * s + 4) for s in range(3)}
    records = [write_shard(path, map(make_row, rows), config) for path, rows in plan.items()]
    first, second, third = plan
    whole = first.stat().st_mtime_ns
    second.write_bytes(second.read_bytes()[:-8])
    third.write_bytes(b"")
    (tmp_path / "train-00003.parquet.tmp").write_bytes(b"PAR1")
    assert len(verify_folder(tmp_path, schema, records)) == 2

    remove_leftovers(tmp_path)
    for path, rows in plan.items():
        try:
            read_record(path, schema)
        except ReadError:
            write_shard(path, map(make_row, rows), config)
    assert verify_folder(tmp_path, schema, records) == []
    assert first.stat().st_mtime_ns == whole
    assert [row.episode_index for row in read_rows(tmp_path)] == list(range(12))
    assert sorted(p.name for p in tmp_path.iterdir()) == [p.name for p in plan]


def test_verify_names_what_differs_from_the_manifest(tmp_path: Path):
    path = tmp_path / shard_name(0)
    record = write_shard(path, [make_row()], OutputConfig())
    verify_shard(path, record)
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    with pytest.raises(ReadError, match=r"train-00000\.parquet: blake2b is .* manifest says"):
        verify_shard(path, record)
    write_shard(path, [make_row(), make_row(1)], OutputConfig())
    with pytest.raises(ReadError, match="rows is 2, the manifest says 1"):
        verify_shard(path, record)
    path.rename(tmp_path / shard_name(1))
    with pytest.raises(ReadError, match="the shard is missing"):
        verify_shard(path, record)
    missing, unknown = verify_folder(tmp_path, row_schema(), [record])
    assert "train-00000.parquet: the shard is missing" in missing
    assert "train-00001.parquet: the manifest has no such shard" in unknown


def test_foreign_and_broken_files_are_refused_by_name(tmp_path: Path):
    with pytest.raises(ReadError, match=r"shard-00000\.parquet: not a shard of schema version 1"):
        list(read_rows(CASE / "shard-00000.parquet"))
    with pytest.raises(ReadError, match=r"shard-00002\.parquet: not a whole Parquet file"):
        list(read_rows(CASE / "shard-00002.parquet"))
    with pytest.raises(ReadError, match="no Parquet shard there"):
        list(read_rows(tmp_path))


def test_rows_are_found_by_key_and_pictures_left_unread(tmp_path: Path):
    for shard in range(2):
        rows = map(make_row, range(4 * shard, 4 * shard + 4))
        write_shard(tmp_path / "data" / shard_name(shard), rows, OutputConfig(row_group_rows=2))
    wanted = [make_row(5), make_row(2)]
    keys = [row.row_id for row in wanted]
    found = list(read_rows(tmp_path, row_ids=keys))
    assert [row.episode_index for row in found] == [2, 5]
    assert_equal(found[1], wanted[0])
    (row,) = read_rows(tmp_path, ["depth", "flags"], row_ids=[keys[0]])
    assert row.rgb is row.instance is row.part is row.semantic is None
    assert_equal(row.depth, wanted[0].depth)
    assert_equal(row.objects, wanted[0].objects)
    with pytest.raises(ReadError, match="no row has the key kitchen/99/0/agentview/mitsuba"):
        list(read_rows(tmp_path, row_ids=["kitchen/99/0/agentview/mitsuba", *keys]))
    with pytest.raises(ReadError, match=r"no column 'colour'\. Known: row_id, "):
        list(read_rows(tmp_path, ["colour"]))


def test_shards_are_found_in_run_folder_data_folder_and_by_path(tmp_path: Path):
    paths = [tmp_path / "data" / shard_name(i) for i in range(2)]
    for path in paths:
        write_shard(path, [make_row()], OutputConfig())
    assert shard_paths(tmp_path) == shard_paths(tmp_path / "data") == paths
    assert shard_paths(paths[1]) == [paths[1]]


def test_a_picture_that_does_not_decode_is_named_with_its_row(tmp_path: Path):
    path = tmp_path / "a.parquet"
    write_shard(path, [make_row()], OutputConfig())
    table = pq.read_table(path)
    at = table.column_names.index("part")
    broken = pa.array([{"bytes": b"junk", "path": None}], table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), broken), path)
    with pytest.raises(ReadError, match=r"a\.parquet: row kitchen/0/0/.*cannot be decoded"):
        list(read_rows(path))


def test_timings_tell_encoding_from_writing(tmp_path: Path):
    timings = {"encode": 1.0}
    write_shard(tmp_path / "a.parquet", [make_row()], OutputConfig(), timings=timings)
    assert timings["encode"] > 1.0
    assert 0 < timings["write"] < 5


def test_uncompressed_row_groups_stay_below_the_limit_whatever_fills_them(tmp_path: Path):
    case = CASE.parent.parent / "e10-row-group-bytes" / "case.json"
    limit = json.loads(case.read_text())["expect"]["rule"]["row_group_bytes_below"]
    assert OutputConfig().row_group_mb * 1_000_000 == limit
    noise = np.random.default_rng(0)
    rows = [
        make_row(n, recipe=noise.bytes(40_000).hex(), flags=[noise.bytes(500).hex()] * 20)
        for n in range(40)
    ]
    path = tmp_path / "a.parquet"
    write_shard(path, rows, OutputConfig(row_group_mb=1))
    metadata = pq.read_metadata(path)
    sizes = [metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups)]
    assert max(sizes) < 1_000_000
    assert len(sizes) > 2
