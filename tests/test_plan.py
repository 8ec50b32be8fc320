from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datagen.configuration.config import RunConfig
from datagen.errors import DatagenError
from datagen.run.plan import FramePlan, RunPlan, ScenePlan, StatePlan, build_plan, fingerprint

SCENES = (
    ScenePlan("a", "mjcf/a.xml", 0, (StatePlan("s0", 0), StatePlan("s1", 7))),
    ScenePlan("b", "mjcf/b.xml", 1, (StatePlan("initial"),)),
)


def config(**settings: Any) -> RunConfig:
    data = {
        "output": "out",
        "scenes": [{"mjcf": {"path": "a.xml"}}, {"mjcf": {"path": "b.xml"}}],
        "cameras": ["front", "top"],
        "samples_per_state": 3,
    }
    return RunConfig.from_data(data | settings)


def test_frames_run_scene_by_scene_and_sample_by_sample_over_the_states() -> None:
    plan = build_plan(config(), SCENES)
    assert list(plan.frames) == [
        *(FramePlan("a", episode, 0, f"s{episode % 2}") for episode in range(6)),
        *(FramePlan("b", episode, 0, "initial") for episode in range(3)),
    ]
    assert plan.view_count == 18
    assert build_plan(config(backends=["mitsuba", "mujoco"]), SCENES).view_count == 36


def test_more_samples_only_add_episodes() -> None:
    few, many = (list(build_plan(config(samples_per_state=n), SCENES).frames) for n in (2, 5))
    assert set(few) < set(many)


def test_shard_holds_whole_frames_of_one_scene() -> None:
    plan = build_plan(config(parquet={"frames_per_shard": 4}), SCENES)
    assert [(shard.name, shard.scene_id, len(shard.frames)) for shard in plan.shards] == [
        ("train-00000.parquet", "a", 4),
        ("train-00001.parquet", "a", 2),
        ("train-00002.parquet", "b", 3),
    ]


@given(
    limit=st.none() | st.integers(1, 40),
    size=st.integers(1, 7),
    samples=st.integers(1, 5),
    backends=st.sampled_from([["mitsuba"], ["mitsuba", "mujoco"]]),
)
def test_plan_is_a_prefix_cut_into_shards_without_loss(
    limit: int | None, size: int, samples: int, backends: list[str]
) -> None:
    shape = {"samples_per_state": samples, "backends": backends}
    whole = list(build_plan(config(**shape), SCENES).frames)
    plan = build_plan(config(**shape, limit=limit, parquet={"frames_per_shard": size}), SCENES)
    wanted = len(whole) * plan.views_per_frame if limit is None else limit
    assert list(plan.frames) == whole[: len(list(plan.frames))]
    assert plan.view_count == min(
        len(whole) * plan.views_per_frame, -(-wanted // plan.views_per_frame) * plan.views_per_frame
    )
    assert [shard.index for shard in plan.shards] == list(range(len(plan.shards)))
    assert all(0 < len(shard.frames) <= size for shard in plan.shards)
    assert all({f.scene_id for f in shard.frames} == {shard.scene_id} for shard in plan.shards)
    assert {scene.scene_id for scene in plan.scenes} == {f.scene_id for f in plan.frames}
    text = json.dumps(plan.to_json())
    assert RunPlan.from_json(json.loads(text)) == plan
    assert json.dumps(RunPlan.from_json(json.loads(text)).to_json()) == text


@pytest.mark.parametrize("damage", [{"format": 0}, {"shards": [["x"]]}, {"scenes": [{}]}])
def test_damaged_plan_is_refused(damage: dict[str, Any]) -> None:
    data = build_plan(config(), SCENES).to_json()
    with pytest.raises(DatagenError, match="plan: "):
        RunPlan.from_json(data | damage)


def test_fingerprint_changes_with_all_that_decides_bytes_and_nothing_else() -> None:
    def mark(versions: str = "1", bowl: int = 1, bits: int = 8, **settings: Any) -> str:
        return fingerprint(config(**settings), {"mitsuba": versions}, {"bowl": bowl}, bits)

    same = [mark(), mark(output="other"), mark(workers=4), mark(cache="/elsewhere")]
    different = [
        mark(seed=1),
        mark(limit=2),
        mark(size=[64, 64]),
        mark(mitsuba={"spp": 4}),
        mark(mujoco={"colorspace": "display"}),
        mark(backends=["mujoco"]),
        mark(cameras=["top", "front"]),
        mark(samples_per_state=4),
        mark(parquet={"rgb": "png"}),
        mark(randomize=[{"type": "light", "intensity": 2.0}]),
        mark(randomize=[{"type": "light", "intensity": 3.0}]),
        mark(scenes=[{"mjcf": {"path": "a.xml"}}]),
        mark(versions="2"),
        mark(bowl=2),
        mark(bits=16),
    ]
    assert len(set(same)) == 1
    assert len(set(same + different)) == 1 + len(different)
    assert len(mark()) == 32
