import json
import re
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from writers import (
    Manifest,
    PlanError,
    ReadError,
    ShardRecord,
    TableEntry,
    WriteError,
    claim_folder,
    dataset_card,
    read_manifest,
    read_plan,
    row_schema,
    write_card,
    write_manifest,
)
from writers.store.plan import first_difference

PLAN = {
    "schema_version": 1,
    "config": {"seed": 7, "cameras": ["agentview", "wrist"], "render": {"spp": 16}},
    "fingerprint": "ab12",
}


def make_manifest(**changes: object) -> Manifest:
    values: dict[str, object] = {
        "schema_version": 1,
        "seed": 7,
        "passes": ["rgb", "depth", "normal"],
        "label_bits": 8,
        "versions": {"datagen": "0.1.0", "mujoco": "3.17.0"},
        "config": {"output": {"depth_mm": True}},
        "backends": {"mitsuba": {"variant": "llvm_ad_rgb"}},
        "parts": [TableEntry(id=1, name="bowl_1/g0")],
        "instances": [TableEntry.model_validate({"id": 1, "name": "bowl_1", "class": "bowl"})],
        "classes": [TableEntry(id=1, name="bowl"), TableEntry(id=2, name="a|b")],
        "robots": [{"name": "robot0", "joints": ["j1", "j2"]}],
        "scenes": {"kitchen": {"converted": 12}},
        "shards": [
            ShardRecord(name="train-00000.parquet", rows=4, bytes=1_500_000, blake2b="0" * 64),
            ShardRecord(name="train-00001.parquet", rows=2, bytes=500_000, blake2b="1" * 64),
        ],
    }
    return Manifest.model_validate({**values, **changes})


def test_a_folder_is_claimed_once_and_resumed_with_the_same_plan(tmp_path: Path):
    folder = tmp_path / "run"
    assert claim_folder(folder, PLAN) is False
    before = (folder / "plan.json").read_bytes()
    assert claim_folder(folder, json.loads(json.dumps(PLAN))) is True
    assert (folder / "plan.json").read_bytes() == before
    assert read_plan(folder) == PLAN


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"render": {"spp": 32}}, "'config.render.spp' is 16 there and 32 here"),
        ({"cameras": ["agentview"]}, "'config.cameras.1' is \"wrist\" there and absent here"),
        ({"extra": True}, "'config.extra' is absent there and true here"),
        ({"seed": 7.0}, "'config.seed' is 7 there and 7.0 here"),
    ],
)
def test_another_plan_is_refused_with_the_first_differing_key(tmp_path, changes, sentence):
    claim_folder(tmp_path, PLAN)
    other = {**PLAN, "config": {**PLAN["config"], **changes}, "fingerprint": "cd34"}
    with pytest.raises(PlanError, match=re.escape(sentence)) as caught:
        claim_folder(tmp_path, other)
    assert str(tmp_path / "plan.json") in str(caught.value)
    assert read_plan(tmp_path) == PLAN


def test_equal_values_have_no_difference_and_truth_is_not_one():
    assert first_difference({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}) is None
    assert first_difference({"a": 1}, {"a": True}) == ("a", "1", "true")


def test_broken_and_missing_plans_are_named(tmp_path: Path):
    with pytest.raises(ReadError, match=r"plan\.json: cannot be read"):
        read_plan(tmp_path)
    (tmp_path / "plan.json").write_text('{"config": ')
    with pytest.raises(ReadError, match=r"plan\.json: not a whole JSON file"):
        claim_folder(tmp_path, PLAN)
    (tmp_path / "plan.json").write_text("[]")
    with pytest.raises(ReadError, match=r"plan\.json: not a JSON object"):
        read_plan(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"plan\.json: the file could not be written"):
        claim_folder(tmp_path / "file", PLAN)


def test_the_manifest_comes_back_as_it_was(tmp_path: Path):
    manifest = make_manifest()
    path = write_manifest(tmp_path, manifest)
    assert path == tmp_path / "manifest.json"
    assert read_manifest(tmp_path) == manifest
    assert json.loads(path.read_text())["instances"] == [
        {"id": 1, "name": "bowl_1", "scene_id": None, "class": "bowl"}
    ]
    assert manifest.row_count == 6
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"manifest_version": 2}, "manifest_version"),
        ({"unknown": 1}, "unknown"),
        ({"seed": "seven"}, "seed"),
        (
            {"shards": [{"name": "../a.parquet", "rows": 1, "bytes": 1, "blake2b": "0" * 64}]},
            "name",
        ),
        ({"classes": [{"id": 0, "name": "nothing"}]}, "classes.0.id"),
        ({"classes": [{"id": 1, "name": "a"}] * 2}, "stands there twice"),
    ],
)
def test_a_manifest_that_does_not_hold_is_refused_with_the_key(tmp_path, changes, sentence):
    value = {**make_manifest().model_dump(mode="json"), **changes}
    (tmp_path / "manifest.json").write_text(json.dumps(value))
    with pytest.raises(ReadError, match=f"not a manifest of version 1: .*{re.escape(sentence)}"):
        read_manifest(tmp_path)


def test_an_unfinished_run_has_no_manifest_and_says_so(tmp_path: Path):
    with pytest.raises(ReadError, match=r"manifest\.json: cannot be read .*run again"):
        read_manifest(tmp_path)


def test_numbers_may_repeat_between_scenes_but_not_mean_two_things():
    entries = [TableEntry(id=1, name=s, scene_id=s) for s in ("a", "b")]
    assert len(make_manifest(parts=entries).parts) == 2
    with pytest.raises(ValidationError, match="1 has a meaning for one scene and for all"):
        make_manifest(parts=[*entries, TableEntry(id=1, name="c")])


def test_the_card_names_the_split_in_its_front_matter(tmp_path: Path):
    path = write_card(tmp_path, make_manifest(), title='Spatial: "three" tasks')
    front = yaml.safe_load(path.read_text().split("---\n")[1])
    assert front["pretty_name"] == 'Spatial: "three" tasks'
    assert front["configs"] == [
        {
            "config_name": "default",
            "data_files": [{"split": "train", "path": "data/*.parquet"}],
        }
    ]


def test_the_card_describes_every_column_of_the_run():
    card = dataset_card(make_manifest(), title="x")
    described = re.findall(r"^\| (\w+) \| \S.* \| \S.* \|$", card, re.MULTILINE)
    assert described[0] == "column"
    assert described[1:] == row_schema(["normal"], depth_mm=True).names
    assert "| rgb | Image |" in card
    assert "| mujoco | 3.17.0 |" in card
    assert "| 2 | a\\|b |" in card
    assert "6 rows in 2 shards (2.0 MB)" in card
    assert "LIBERO" in card


def test_the_card_loads_as_it_tells(tmp_path: Path, monkeypatch):
    from test_parquet import make_row

    from writers import OutputConfig, write_shard

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    write_shard(tmp_path / "data" / "train-00000.parquet", [make_row()], OutputConfig())
    card = dataset_card(make_manifest(), title="x")
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    code = code.replace('split="train"', 'split="train", cache_dir="cache"')
    names: dict[str, object] = {}
    exec(code, names)
    assert names["depth"].shape == (8, 12)
    assert names["T_world_camera"].shape == (4, 4)
    assert names["row"]["rgb"].size == (12, 8)
