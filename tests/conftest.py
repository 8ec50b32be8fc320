"""What tests need of the machine: skipped where it is missing, but never where CI is true."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import shutil
from collections.abc import Generator

import pytest

IN_CI = os.environ.get("CI", "").lower() in ("1", "true")


def _missing(item: pytest.Item) -> str | None:
    if item.get_closest_marker("libero") and importlib.util.find_spec("libero") is None:
        return "the libero extra is not installed: pip install -e '.[libero,dev]'"
    libraries = ("EGL", "OSMesa")
    if item.get_closest_marker("gl") and not any(map(ctypes.util.find_library, libraries)):
        return "no OpenGL library: apt-get install libegl1 libgl1-mesa-dri"
    browsers = ("chromium", "chromium-browser", "google-chrome")
    if item.get_closest_marker("browser") and not any(map(shutil.which, browsers)):
        return "no browser: apt-get install chromium"
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if reason := _missing(item):
        pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    needs = [name for name in ("gl", "libero", "browser") if item.get_closest_marker(name)]
    if IN_CI and needs and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although CI runs all tests marked {needs}: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if IN_CI and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped as a whole although CI runs all tests: {report.longrepr}"
    return report
