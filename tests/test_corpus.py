"""The corpus sweep's own rules: what is looked at, and how what is seen is counted."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from bench.corpus import models, sweep
from bench.corpus_scene import COPY, DISTANCE, unaccounted, with_views
from bench.corpus_table import kind_of, rest, table, totals
from bench.corpus_worker import Worker
from scenes import convert_mjcf


def test_models_are_files_whose_root_is_mujoco(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.xml").write_text('<?xml version="1.0"?>\n<!-- a <b> -->\n<mujoco model="a"/>')
    (tmp_path / "b.xml").write_text("<mujoco>")
    (tmp_path / "part.xml").write_text("<mujocoinclude><mujoco/></mujocoinclude>")
    (tmp_path / "robot.xml").write_text("<robot/>")
    (tmp_path / f"b{COPY}").write_text("<mujoco/>")
    assert models(tmp_path) == [tmp_path / "b.xml", tmp_path / "in/a.xml"]


def test_cameras_look_at_the_centre_from_four_sides_and_are_gone_after(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco><worldbody><geom size=".1" pos="1 2 3"/><camera pos="0 0 1"/></worldbody></mujoco>'
    )
    center = np.array([1.0, 2.0, 3.0])
    with with_views(path, center, 0.5) as wrapped:
        model = mujoco.MjModel.from_xml_path(str(wrapped))
    assert sorted(tmp_path.iterdir()) == [path]
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert model.ncam == 5
    for camera in range(1, 5):
        assert model.cam_fovy[camera] == 45.0
        forward = -data.cam_xmat[camera].reshape(3, 3)[:, 2]
        np.testing.assert_allclose(
            data.cam_xpos[camera] + DISTANCE * 0.5 * forward, center, atol=1e-9
        )
        assert data.cam_xmat[camera][8] > 0, "upright"
    assert len({tuple(np.sign(p[:2] - center[:2])) for p in data.cam_xpos[1:]}) == 4


def test_an_element_is_accounted_for_when_written_or_left_out_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(
        """<mujoco><worldbody><body><joint name="a"/><geom size=".1"/></body></worldbody>
        <actuator><motor joint="a"/><intvelocity joint="a" kp="1" actrange="0 1"/></actuator>
        </mujoco>"""
    )
    scene = convert_mjcf(path, tmp_path / "out")
    assert unaccounted(scene) == []
    report = scene.folder / "report.json"
    content = json.loads(report.read_text(encoding="utf-8"))
    report.write_text(json.dumps(content | {"left_out": []}), encoding="utf-8")
    assert unaccounted(scene) == ["actuators: 2 in, 1 out or left out by name"]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("XML Error: Schema violation: unrecognized attribute", "unknown element or attribute"),
        ("Error opening file 'a.xml'", "missing file"),
        ("material 'a' not found in geom 0", "fragment of another model"),
        (
            "mass and inertia of moving bodies must be larger than mjMINVAL",
            "moving body without mass",
        ),
        ("repeated name 'a' in body", "repeated name"),
        ("skin 'a' cannot be converted: its shape deforms", "skin"),
        ("who knows", "other"),
    ],
)
def test_refusals_are_counted_by_kind(message: str, kind: str) -> None:
    assert kind_of(message) == kind


def shown(model: str, share: float, explained: float = 1.0, **more: object) -> dict[str, Any]:
    return {
        "package": "p", "model": model, "status": "shown", "compiles": True, "geoms": 1,
        "share": share, "mean": share, "surface": share, "interior": 0,
        "decided": 1 - (1 - share) * (1 - explained), "explained": explained,
        "pairs": [["a", "b", 3]], "report": [], **more,
    }  # fmt: skip


def test_the_table_counts_by_package_and_the_rest_is_told_one_by_one() -> None:
    lines = [
        shown("good.xml", 0.995),
        shown("tied.xml", 0.98),
        shown("wrong.xml", 0.97, explained=0.1),
        shown("lost.xml", 1.0, report=["geoms: 2 in, 1 out or left out by name"]),
        {"package": "q", "model": "no.xml", "status": "MuJoCo refuses", "message": "who"},
        {"package": "q", "model": "skin.xml", "status": "refused", "message": "skin 'a' deforms",
         "compiles": True, "geoms": 2},
        {"package": "q", "model": "slow.xml", "status": "hangs", "message": "no end"},
    ]  # fmt: skip
    rows = totals(lines)
    assert [row["package"] for row in rows] == ["p", "q", "all"]
    assert [row[">=99%"] for row in rows] == [2, 0, 2]
    assert [row["unsettled"] for row in rows] == [1, 1, 2]
    assert [row["refused"] for row in rows] == [0, 1, 1]
    assert [row["decided"] for row in rows] == [3, 0, 3]
    assert rows[-1]["worst"] == 0.97
    assert rows[-1]["refused by kind"] == {"skin": 1}
    assert len(table(rows)) == 7
    told = rest(lines)
    assert [line.split(":")[0] for line in told] == [
        "p tied.xml", "p wrong.xml", "p lost.xml", "q skin.xml", "q slow.xml"
    ]  # fmt: skip
    assert "coplanar faces or rounding" in told[0] and "not explained" in told[1]


ODD = """
import os, time
from bench.corpus_worker import answer

class Odd:
    def look(self, path, root, step):
        step(f"meet {path.stem}")
        if path.stem == "dies":
            os._exit(3)
        if path.stem == "hangs":
            time.sleep(600)
        if path.stem == "fails":
            raise RuntimeError("odd")
        return {"status": "no geom", "process": os.getpid()}

def serve(line):
    answer(line, Odd())
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    """A worker whose process obeys the names of the models."""
    (tmp_path / "odd_looker.py").write_text(ODD)
    monkeypatch.syspath_prepend(tmp_path)
    one = Worker(importlib.import_module("odd_looker").serve, 60.0)
    yield one
    one.stop()
    sys.modules.pop("odd_looker")


def test_a_model_that_dies_or_fails_takes_nobody_along(tmp_path: Path, worker: Worker) -> None:
    done = tmp_path / "models.jsonl"
    names = ("a", "fails", "b", "dies", "c")
    sweep([("p", tmp_path, tmp_path / f"{name}.xml") for name in names], done, 1, lambda: worker)
    lines = [json.loads(line) for line in done.read_text(encoding="utf-8").splitlines()]
    assert [line["model"] for line in lines] == [f"{name}.xml" for name in names]
    a, fails, b, dies, c = lines
    assert (fails["status"], fails["message"]) == ("fails", "RuntimeError: odd")
    assert (dies["status"], dies["step"], dies["message"]) == ("dies", "meet dies", "exit code 3")
    assert a["process"] == b["process"] != c["process"]


def test_a_model_that_hangs_is_given_up(tmp_path: Path, worker: Worker) -> None:
    before = worker.look(tmp_path / "a.xml", tmp_path)
    worker.patience = 0.5
    assert worker.look(tmp_path / "hangs.xml", tmp_path)["status"] == "hangs"
    worker.patience = 60.0
    after = worker.look(tmp_path / "b.xml", tmp_path)
    assert before["process"] != after["process"]


def test_a_process_that_cannot_start_ends_the_sweep(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot start: exit code 1"):
        Worker(int, 60.0).look(tmp_path / "a.xml", tmp_path)
