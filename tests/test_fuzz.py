"""Damaged inputs are read or refused by one sentence."""

import random
from collections.abc import Generator
from pathlib import Path

import pytest

from bench.fuzz import STAGE, Readers, Scenes
from bench.fuzz_inputs import KINDS, damaged, whole_inputs


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    stage = tmp_path_factory.mktemp("whole") / "scene.usda"
    stage.write_bytes(STAGE.read_bytes().replace(b"\xff\xfe", b""))
    return dict(whole_inputs(stage, b""))


@pytest.fixture(scope="module")
def scenes(inputs: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Generator[Scenes]:
    made = Scenes(tmp_path_factory.mktemp("room") / "scene", inputs)
    yield made
    made.close()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("yaml", "shard")])
def test_damaged_files_of_scenes(kind: str, inputs: dict[str, bytes], scenes: Scenes) -> None:
    draw = random.Random(kind)
    assert scenes.outcome(kind, inputs[kind]) == "read"
    # Damaged binary stages can fill the memory that they may take, which is slow.
    count = 0 if kind == "usdc" else 10
    told = {scenes.outcome(kind, damaged(inputs[kind], draw, b"")) for _ in range(count)}
    assert told <= {"read", "refused"}


def test_damaged_configs(inputs: dict[str, bytes], tmp_path: Path) -> None:
    readers = Readers(tmp_path / "files")
    draw = random.Random(0)
    try:
        assert readers.outcome("yaml", inputs["yaml"]) == "read"
        told = [readers.outcome("yaml", damaged(inputs["yaml"], draw, b"")) for _ in range(30)]
    finally:
        readers.close()
    assert set(told) <= {"read", "refused"}
