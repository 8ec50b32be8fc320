from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from writers import WriteError, held_folder

HOLD = """
import sys
from pathlib import Path
from writers import held_folder
with held_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_folder_is_kept_for_one_process_until_that_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(WriteError, match="another process is making this run"),
            held_folder(folder),
        ):
            pass
        holder.kill()
    with held_folder(folder):
        assert list(folder.iterdir()) == []


def test_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(WriteError, match=r"file/run: .* \(Not a directory\)"),
        held_folder(tmp_path / "file" / "run"),
    ):
        pass
