from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_scene import few_numbers, plant, settings

import datagen.audit.run as audit_run_module
from datagen.audit.baseline import Baseline, signature
from datagen.audit.results import AuditResults
from datagen.audit.run import audit, audit_against
from datagen.backends import Buffers
from datagen.configuration.config import RunConfig
from datagen.errors import ConfigError
from datagen.progress import SilentProgress
from writers import ReadError

ONE = {"audit": {"backends": ["newton"], "fine": 1}, "limit": 2}


def saved(config: RunConfig, file: Path) -> Path:
    audit(config, SilentProgress(), save_baseline=file, compare=few_numbers)
    return file


def against(config: RunConfig, file: Path) -> AuditResults:
    return audit_against(config, file, SilentProgress(), compare=few_numbers)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunConfig, Path]:
    folder = tmp_path_factory.mktemp("kept")
    config = settings(folder, **ONE)
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        return config, saved(config, folder / "then.npz")


@pytest.mark.gl
def test_an_unchanged_backend_is_the_same_to_the_byte(
    kept: tuple[RunConfig, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    results = against(*kept)
    assert results.passed
    assert results.changes == ()
    assert [view.camera for view in results.views] == ["top", "side"]
    assert all("the same to the byte as in the baseline" in view.notes for view in results.views)
    assert all(view.metrics["ids.agreement"] == 1.0 for view in results.views)


@pytest.mark.gl
def test_a_darkened_floor_is_seen_and_named(
    kept: tuple[RunConfig, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def darker(buffers: Buffers) -> Buffers:
        if buffers.rgb is None or buffers.part is None:
            return buffers
        floor = (buffers.part == buffers.part[0, 0])[..., None]
        rgb = np.where(floor, buffers.rgb * 0.9, buffers.rgb).astype(np.uint8)
        return dataclasses.replace(buffers, rgb=rgb)

    plant(monkeypatch, darker)
    results = against(*kept)
    assert not results.passed
    dark = {
        verdict.object_name
        for verdict in results.views[0].failures
        if verdict.metric == "objects.luminance_ratio"
    }
    assert dark == {"floor"}
    assert any("not the same to the byte" in note for note in results.views[0].notes)
    assert any("mean luminance" in note for note in results.views[0].notes)


@pytest.mark.gl
def test_other_versions_and_settings_are_named(
    kept: tuple[RunConfig, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    config, file = kept
    versions = audit_run_module.library_versions()
    monkeypatch.setattr(
        audit_run_module, "library_versions", lambda: {**versions, "mujoco": "9.9.9"}
    )
    changed = config.model_copy(update={"limit": 1, "cameras": ("top",)})
    changes = against(changed, file).changes
    assert f"mujoco {versions['mujoco']}, now 9.9.9" in changes
    assert any(line.startswith("config: cameras") for line in changes)
    assert any("1 views of the baseline were not shown again" in line for line in changes)


@pytest.mark.gl
def test_parts_are_found_again_by_their_prims(
    kept: tuple[RunConfig, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    config, file = kept
    parts_then = Baseline.open(file)._index["parts"]["table"]
    numbers = sorted(map(int, parts_then))
    opened = Baseline.open

    def renumbered(path: Path) -> Baseline:
        """The file of a scene whose parts were numbered in the other direction."""
        baseline = opened(path)
        read = baseline._read
        turned = dict(zip(numbers, reversed(numbers), strict=True))
        table = np.array([0, *(turned[n] for n in numbers)], np.uint16)
        index = json.loads(json.dumps(baseline._index))
        index["parts"]["table"] = {str(turned[int(n)]): p for n, p in parts_then.items()}
        baseline._index = index
        baseline._read = lambda name: table[read(name)] if "part" in name else read(name)
        return baseline

    monkeypatch.setattr(Baseline, "open", renumbered)
    results = against(config, file)
    assert all(view.metrics["ids.agreement"] == 1.0 for view in results.views)


@pytest.mark.gl
def test_the_same_pictures_give_the_same_file(
    kept: tuple[RunConfig, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    config, file = kept
    assert saved(config, tmp_path / "again.npz").read_bytes() == file.read_bytes()


@pytest.mark.gl
def test_position_and_distance_follow_from_the_depth(
    kept: tuple[RunConfig, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    errors: list[float] = []

    def measured(pair: Any, fine: Any):
        for name in ("position", "distance"):
            then = getattr(pair.reference.buffers, name)
            now = getattr(pair.candidate.buffers, name)
            seen = np.isfinite(now)
            assert (np.isfinite(then) == seen).all()
            errors.append(float(np.abs(then[seen] - now[seen]).max()))
        return few_numbers(pair, fine)

    audit_against(*kept, SilentProgress(), compare=measured)
    assert max(errors) < 1e-5


@pytest.mark.gl
def test_a_failed_audit_leaves_no_baseline(tmp_path: Path) -> None:
    config = settings(tmp_path, **ONE, size=[64, 48])
    with pytest.raises(ZeroDivisionError), pytest.MonkeyPatch.context() as patch:
        plant(patch, lambda buffers: 1 / 0)  # type: ignore[arg-type]
        saved(config, tmp_path / "then.npz")
    assert not list(tmp_path.glob("then.npz*"))


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "then.npz"
    file.write_bytes(content)
    with pytest.raises(ReadError, match=r"then\.npz"):
        Baseline.open(file)


def test_another_version_and_pickles_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "then.npz"
    np.savez(file, index=np.frombuffer(b'{"baseline_version": 99}', np.uint8))
    with pytest.raises(ReadError, match="version 99"):
        Baseline.open(file)
    np.savez(file, index=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ReadError, match="no baseline"):
        Baseline.open(file)
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(ReadError, match="no baseline"):
        Baseline.open(tmp_path / "one.npy")


@pytest.mark.gl
def test_a_baseline_without_these_renderers_is_refused(kept: tuple[RunConfig, Path]) -> None:
    config, file = kept
    other = config.audit.model_copy(update={"backends": ("mujoco",)})
    with pytest.raises(ConfigError, match=r"knows none of mujoco; it has newton"):
        against(config.model_copy(update={"audit": other}), file)


def test_signature_tells_one_changed_value() -> None:
    rgb = np.full((4, 4, 3), 100, np.uint8)
    changed = rgb.copy()
    changed[0, 0, 0] = 101
    one, other = signature(Buffers(rgb=rgb)), signature(Buffers(rgb=changed))
    assert one["digests"]["rgb"] != other["digests"]["rgb"]
    assert one["luminance"] == pytest.approx(100 / 255, abs=1e-6)
