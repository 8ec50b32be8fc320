from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parent / "conftest.py"
MARKED = """
import pytest

@pytest.mark.gl
def test_needs_gl():
    pytest.skip("no OpenGL here")

@pytest.mark.gl
@pytest.mark.xfail
def test_expected_to_fail():
    assert False

def test_unmarked():
    pytest.skip("not today")
"""


def outcome(folder: Path, test: str, ci: str) -> str:
    shutil.copy(CONFTEST, folder)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  gl: x\n  libero: x\n")
    (folder / "test_marked.py").write_text(test)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "CI": ci},
    )
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("ci", "expected"),
    [("true", "1 failed, 1 skipped, 1 xfailed"), ("", "2 skipped, 1 xfailed")],
)
def test_skip_of_a_marked_test_fails_in_ci_only(tmp_path: Path, ci: str, expected: str) -> None:
    assert outcome(tmp_path, MARKED, ci).startswith(expected)


@pytest.mark.parametrize(("ci", "expected"), [("true", "1 error"), ("", "1 skipped")])
def test_skip_of_a_whole_module_fails_in_ci_only(tmp_path: Path, ci: str, expected: str) -> None:
    test = 'import pytest\npytest.importorskip("no_such_package")\n'
    assert outcome(tmp_path, test, ci).startswith(expected)
