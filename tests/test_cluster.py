from __future__ import annotations

import os
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

import datagen.cluster
from datagen.cluster import run_jobs
from datagen.errors import DatagenError


@dataclass(frozen=True)
class NamedShard:
    name: str


@dataclass(frozen=True)
class NamedJob:
    shard: NamedShard


def be_killed(job: NamedJob) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_killed_worker_is_told_in_one_sentence_and_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(datagen.cluster, "_on_worker", be_killed)
    jobs = cast(Any, [NamedJob(NamedShard(f"train-0000{number}.parquet")) for number in range(2)])
    with pytest.raises(DatagenError) as caught:
        list(run_jobs(jobs, 2, lambda views: None))
    assert str(caught.value).startswith("train-0000")
    assert "was killed, perhaps because memory ran out" in str(caught.value)
    assert caught.value.exit_code == 4
    assert capfd.readouterr().err == ""
    assert list(tmp_path.iterdir()) == []
