import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_parquet import make_row

from writers import OutputConfig, ReadError, Row, WriteError, read_rows, row_schema, write_shard
from writers.columns import Records, column, columns_of, derived_column
from writers.kinds import FLOAT64, INT32, TEXT, TRANSFORM, RowFormat
from writers.rows import COLUMNS

ROOT = Path(__file__).parent.parent
FORM = RowFormat(size=(1, 1), rgb="png", label_bits=8)

SEEN = """
import json, sys
from pathlib import Path
import pyarrow.parquet as pq
from test_manifest import make_manifest
from test_parquet import make_row
import writers

path = Path("run/train-00000.parquet")
rows = [make_row(0, temperature=21.5), make_row(1)]
writers.write_shard(path, rows, writers.OutputConfig())
schema = writers.row_schema()
features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
card = writers.dataset_card(make_manifest(), title="x")
print(json.dumps({
    "home": writers.__file__,
    "names": schema.names,
    "type": str(schema.field("temperature").type),
    "feature": features["temperature"],
    "file": pq.read_table(path, columns=["temperature"]).to_pydict(),
    "read": [row.temperature for row in writers.read_rows(path)],
    "problems": writers.verify_folder(path.parent, schema),
    "card": [line for line in card.splitlines() if "temperature" in line],
}))
"""


@dataclass(frozen=True, kw_only=True)
class Thing:
    name: Annotated[str, column(TEXT)]
    kind_name: Annotated[str, column(TEXT, name="kind")]
    pose: Annotated[np.ndarray | None, column(TRANSFORM)] = None


@dataclass(frozen=True, kw_only=True)
class Labelled(Thing):
    count: Annotated[int, column(INT32, "how many")]


def test_a_column_added_as_the_page_says_is_everywhere(tmp_path: Path):
    page = (ROOT / "docs" / "add_a_column.md").read_text()
    (entry,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert "in front of `seed`" in page
    shutil.copytree(ROOT / "writers", tmp_path / "writers")
    rows = tmp_path / "writers" / "rows.py"
    before, after = rows.read_text().split("    seed: Annotated[")
    rows.write_text(f"{before}{entry}\n    seed: Annotated[{after}")
    run = subprocess.run(
        [sys.executable, "-c", SEEN],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "tests")])},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    seen = json.loads(run.stdout)
    assert Path(seen["home"]).is_relative_to(tmp_path)
    names = row_schema().names
    names.insert(names.index("seed"), "temperature")
    assert seen["names"] == names
    assert seen["type"] == "double"
    assert seen["feature"] == {"dtype": "float64", "_type": "Value"}
    assert seen["file"] == {"temperature": [21.5, None]}
    assert seen["read"] == [21.5, None]
    assert seen["problems"] == []
    assert seen["card"] == [
        "| temperature | double | air temperature in the scene [deg C]; null where unknown |"
    ]


def test_a_field_is_the_column_of_its_name_unless_it_says_otherwise():
    name, kind, pose, count = columns_of(Labelled)
    assert (name.name, name.source, name.nullable) == ("name", "name", False)
    assert (kind.name, kind.source) == ("kind", "kind_name")
    assert (pose.nullable, pose.kind.arrow) == (True, pa.list_(pa.float64()))
    assert (count.name, count.meaning, count.required) == ("count", "how many", True)
    assert pose.feature == {"feature": {"dtype": "float64", "_type": "Value"}, "_type": "List"}


def test_a_derived_column_stands_in_front_of_the_one_it_names():
    total = derived_column("total", FLOAT64, "sum", source="count")
    names = [each.name for each in columns_of(Labelled, {"pose": total})]
    assert names == ["name", "kind", "total", "pose", "count"]


def test_a_field_without_a_column_is_refused_by_name():
    @dataclass
    class Bare:
        count: int

    with pytest.raises(TypeError, match=r"Bare\.count declares 0 columns, not one"):
        columns_of(Bare)


def test_every_column_has_a_meaning_and_a_field_or_a_source():
    for each in COLUMNS:
        assert each.meaning
        assert hasattr(Row, each.source)
    assert [each.name for each in COLUMNS if each.derived] == ["row_id", "depth_mm"]


def test_records_come_back_from_their_structs():
    things = [
        Thing(name="cup", kind_name="mug", pose=np.arange(16.0).reshape(4, 4)),
        Thing(name="pan", kind_name="pan"),
    ]
    kind = Records(Thing)
    stored = pa.array([kind.encode("things", things, FORM)], kind.arrow).to_pylist()[0]
    assert stored[0] == {"name": "cup", "kind": "mug", "pose": list(range(16))}
    cup, pan = kind.decode("things", stored, (1, 1))  # type: ignore[misc]
    np.testing.assert_array_equal(cup.pose, things[0].pose)
    assert pan == things[1]
    misshapen = Thing(name="cup", kind_name="mug", pose=np.eye(3))
    with pytest.raises(WriteError, match=r"'cup\.pose' has shape \[3, 3\], not \[4, 4\]"):
        kind.encode("things", [misshapen], FORM)


def test_a_row_without_a_value_that_every_row_has_is_neither_written_nor_read(tmp_path: Path):
    path = tmp_path / "a.parquet"
    with pytest.raises(WriteError, match="'K' is missing; every row has it"):
        write_shard(path, [make_row(K=None)], OutputConfig())
    write_shard(path, [make_row()], OutputConfig())
    table = pq.read_table(path)
    position = table.schema.get_field_index("K")
    absent = pa.nulls(1, table.schema.field(position).type)
    pq.write_table(table.set_column(position, table.schema.field(position), absent), path)
    with pytest.raises(ReadError, match="'K' is null"):
        list(read_rows(path))
