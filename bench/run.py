"""Rows per second of the main job beside the bare render loop's, and where the time goes."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from datagen.backends import Size
from datagen.backends.frames import SampleTable, View
from datagen.configuration.config import RunConfig, load_config
from datagen.progress import SilentProgress
from datagen.run.preparation import prepare_run
from datagen.run.scene_session import SceneSession
from datagen.run.shard_job import ShardJob, make_shard
from datagen.stopwatch import Stopwatch

STAGES = (
    "scene", "exposure", "draw", "apply", "path pass", "guide pass", "denoise", "ids pass",
    "labels", "encode", "write",
)  # fmt: skip


def bare_loop(session: SceneSession, job: ShardJob) -> int:
    """Draw, show and render the frames of a job, and throw the pictures away."""
    views = 0
    size = Size(*session.config.size)
    for frame in job.shard.frames:
        table = SampleTable.of(session.sample(frame)[0])
        wanted = [View(camera, size) for camera in job.cameras]
        for renderer in session.renderers:
            views += len(list(renderer.render(table, wanted, session.passes(renderer.name))))
    return views


def help_seconds() -> float:
    """Time of `datagen --help`, the best of five."""
    command = [sys.executable, "-m", "datagen", "--help"]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", nargs="?", type=Path, default=Path("configs/libero.yaml"))
    parser.add_argument("--rows", type=int, default=24)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        config: RunConfig = load_config(
            arguments.config, (), {"output": folder, "limit": arguments.rows}
        )
        jobs = prepare_run(config, SilentProgress()).jobs()
        watch = Stopwatch()
        warm = SceneSession(config, jobs[0].setup, watch)
        bare_loop(warm, jobs[0])
        start = time.perf_counter()
        views = bare_loop(warm, jobs[0])
        bare = views / (time.perf_counter() - start)
        warm.close()
        start = time.perf_counter()
        seconds: dict[str, float] = {}
        rows = 0
        for job in jobs:
            outcome = make_shard(job, lambda _: None)
            rows += outcome.record.rows
            for stage, spent in outcome.seconds.items():
                seconds[stage] = seconds.get(stage, 0.0) + spent
        total = time.perf_counter() - start
    opening = seconds.get("scene", 0.0) + seconds.get("exposure", 0.0)
    print(f"{rows} rows of {arguments.config}, {config.size[0]}x{config.size[1]}")
    print(f"{'bare render loop':<24}{bare:8.3f} rows/s")
    print(f"{'run':<24}{rows / total:8.3f} rows/s   {rows / total / bare:6.1%} of the loop")
    steady = rows / (total - opening)
    print(f"{'run, scenes open':<24}{steady:8.3f} rows/s   {steady / bare:6.1%} of the loop")
    print(f"\n{'stage':<14}{'seconds':>9}{'ms/row':>9}{'share':>8}")
    for stage in STAGES:
        if stage in seconds:
            spent = seconds[stage]
            print(f"{stage:<14}{spent:9.2f}{spent / rows * 1000:9.1f}{spent / total:8.1%}")
    other = total - sum(seconds.get(stage, 0.0) for stage in STAGES)
    print(f"{'other':<14}{other:9.2f}{other / rows * 1000:9.1f}{other / total:8.1%}")
    print(f"\n{'datagen --help':<24}{help_seconds():8.2f} s")


if __name__ == "__main__":
    main()
