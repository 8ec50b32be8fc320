"""The plan: which frames a run makes, in which order, and in which shard each one lies.

Shard names and contents follow from the plan alone, never from the number of workers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from datagen.errors import DatagenError
from datagen.run.source_paths import anchored_scenes
from writers import shard_name

if TYPE_CHECKING:
    from datagen.configuration.config import RunConfig

PLAN_FORMAT = 4
_NOT_DECIDING = {"output", "workers", "cache", "conversion"}


@dataclass(frozen=True, slots=True)
class StatePlan:
    """A state that samples start from."""

    name: str
    """Name of the state's layer in the scene folder."""
    initial_state: int | None = None
    """Index of LIBERO's initial state."""


@dataclass(frozen=True, slots=True)
class ScenePlan:
    """A scene of the run and the states it is shown in."""

    scene_id: str
    source: str
    """Where it comes from: `libero/<suite>/<task>` or `mjcf/<file name>`."""
    config_index: int
    """Index into the config's list of sources."""
    states: tuple[StatePlan, ...]
    cameras: tuple[str, ...] = ()
    """Cameras that it is seen from; none where they are not chosen or not known yet."""
    all_cameras: bool = False
    """All cameras are chosen, which only the converted scene tells."""


@dataclass(frozen=True, slots=True)
class FramePlan:
    """One frame: one sample, seen by every camera through every backend."""

    scene_id: str
    episode_index: int
    frame_index: int
    state: str


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """Whole frames of one scene, made by one worker into one file."""

    index: int
    scene_id: str
    frames: tuple[FramePlan, ...]

    @property
    def name(self) -> str:
        """File name."""
        return shard_name(self.index)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """All frames of a run, scene by scene."""

    backends: tuple[str, ...]
    scenes: tuple[ScenePlan, ...]
    shards: tuple[ShardPlan, ...]
    fingerprint: str
    """BLAKE2b of all that decides bytes beside the scenes themselves."""

    @property
    def views_per_frame(self) -> int:
        """Most rows that one frame of any scene gives."""
        return max((self.views_in(scene.scene_id) for scene in self.scenes), default=0)

    def views_in(self, scene_id: str) -> int:
        """Rows that one frame of a scene gives; its cameras must be known."""
        return len(self.scene(scene_id).cameras) * len(self.backends)

    @property
    def frames(self) -> Iterator[FramePlan]:
        """All frames in order."""
        return (frame for shard in self.shards for frame in shard.frames)

    @property
    def view_count(self) -> int:
        """Rows of the whole run."""
        return sum(self.views_in(shard.scene_id) * len(shard.frames) for shard in self.shards)

    def scene(self, scene_id: str) -> ScenePlan:
        """Scene by its id."""
        return next(scene for scene in self.scenes if scene.scene_id == scene_id)

    def to_json(self) -> dict[str, Any]:
        """Give the plan as JSON values; a shard's frames are told by its first episode."""
        return {
            "format": PLAN_FORMAT,
            "backends": list(self.backends),
            "scenes": [
                {
                    "scene_id": scene.scene_id,
                    "source": scene.source,
                    "config_index": scene.config_index,
                    "cameras": "all" if scene.all_cameras else list(scene.cameras),
                    "states": [[state.name, state.initial_state] for state in scene.states],
                }
                for scene in self.scenes
            ],
            "shards": [
                [shard.name, shard.scene_id, shard.frames[0].episode_index, len(shard.frames)]
                for shard in self.shards
            ],
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunPlan:
        """Read what `to_json` gave.

        Raises:
            DatagenError: It is not a plan of this format.
        """
        if data.get("format") != PLAN_FORMAT:
            raise DatagenError(
                f"plan: format {data.get('format')!r}, this version reads {PLAN_FORMAT}."
            )
        try:
            scenes = {
                record["scene_id"]: ScenePlan(
                    record["scene_id"],
                    record["source"],
                    record["config_index"],
                    tuple(StatePlan(name, index) for name, index in record["states"]),
                    () if record["cameras"] == "all" else tuple(record["cameras"]),
                    record["cameras"] == "all",
                )
                for record in data["scenes"]
            }
            return cls(
                tuple(data["backends"]),
                tuple(scenes.values()),
                tuple(
                    ShardPlan(index, scene_id, _frames(scenes[scene_id], first, first + count))
                    for index, (_, scene_id, first, count) in enumerate(data["shards"])
                ),
                data["fingerprint"],
            )
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise DatagenError("plan: damaged.") from error


def build_plan(config: RunConfig, scenes: Sequence[ScenePlan], fingerprint: str = "") -> RunPlan:
    """Lay out the frames of a run.

    Order: scene, then sample, then state; so more samples per state only add episodes. An
    episode is one frame; episodes count from 0 in each scene. A shard holds frames of one scene.
    `config.limit` keeps the first frames, as many as hold that number of rows; scenes of which
    nothing is left are not in the plan. A scene whose cameras are not known yet counts as one
    with a single camera.
    """
    left = config.limit
    kept: list[ScenePlan] = []
    shards: list[ShardPlan] = []
    step = config.parquet.frames_per_shard
    for scene in choose_cameras(config, scenes):
        views = max(1, len(scene.cameras)) * len(config.backends)
        count = len(scene.states) * config.samples_per_state
        if left is not None:
            count = min(count, -(-left // views))
            left = max(0, left - count * views)
        if not count:
            continue
        kept.append(scene)
        shards.extend(
            ShardPlan(index, scene.scene_id, _frames(scene, first, min(first + step, count)))
            for index, first in enumerate(range(0, count, step), start=len(shards))
        )
    return RunPlan(config.backends, tuple(kept), tuple(shards), fingerprint)


def choose_cameras(config: RunConfig, scenes: Sequence[ScenePlan]) -> tuple[ScenePlan, ...]:
    """Give the config's cameras to the scenes that have no choice of their own."""
    if config.cameras == "all":
        chosen: dict[str, Any] = {"all_cameras": True}
    else:
        chosen = {"cameras": config.cameras}
    return tuple(
        scene if scene.cameras or scene.all_cameras else replace(scene, **chosen)
        for scene in scenes
    )


def know_cameras(
    scenes: Sequence[ScenePlan], cameras: Mapping[str, tuple[str, ...]]
) -> tuple[ScenePlan, ...]:
    """Tell the scenes of which all cameras are chosen which these are, by scene id."""
    return tuple(
        replace(scene, cameras=cameras.get(scene.scene_id, ())) if scene.all_cameras else scene
        for scene in scenes
    )


def deciding_config(config: RunConfig) -> dict[str, Any]:
    """Give the settings that decide what rows hold, as JSON values.

    Sources are named by absolute path or relative to the run folder, never by the current folder.
    """
    settings = config.model_dump(mode="json", exclude=_NOT_DECIDING)
    settings["scenes"] = anchored_scenes(settings["scenes"], config.output)
    return settings


def fingerprint(
    config: RunConfig, versions: Mapping[str, str], classes: Mapping[str, int], label_bits: int
) -> str:
    """BLAKE2b of all that decides the bytes of a run beside its scenes, as 32 hex digits.

    A row is decided by this and by the digest of its own scene, so that a scene which is refused
    today may join the run once it is mended.

    Args:
        config: Settings; where files lie and how many workers there are is left out.
        versions: Versions of the libraries, and what else of the machine decides bytes.
        classes: Class numbers of the run.
        label_bits: Bits per pixel of the label maps.
    """
    content = {
        "plan_format": PLAN_FORMAT,
        "config": deciding_config(config),
        "versions": dict(versions),
        "classes": dict(classes),
        "label_bits": label_bits,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _frames(scene: ScenePlan, first: int, stop: int) -> tuple[FramePlan, ...]:
    return tuple(
        FramePlan(scene.scene_id, episode, 0, scene.states[episode % len(scene.states)].name)
        for episode in range(first, stop)
    )
