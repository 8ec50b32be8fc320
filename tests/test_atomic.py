import errno
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from writers import WriteError, remove_leftovers, write_atomically
from writers.store.atomic import atomic_file, create_exclusively, write_error, write_errors

CASE = Path(__file__).parent / "cases" / "e01-footerless-shard"


def test_a_file_appears_only_at_the_end_and_with_its_digest(tmp_path: Path):
    path = tmp_path / "deep" / "a.parquet"
    with atomic_file(path) as file:
        file.write(b"one ")
        assert not path.exists()
        assert [p.suffix for p in path.parent.iterdir()] == [".tmp"]
        file.write(b"two")
    assert path.read_bytes() == b"one two"
    assert file.size == 7
    assert file.hexdigest() == hashlib.blake2b(b"one two", digest_size=32).hexdigest()
    assert list(path.parent.iterdir()) == [path]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_failing_block_leaves_the_old_file_and_nothing_else(tmp_path: Path):
    path = tmp_path / "a.json"
    write_atomically(path, b"old")
    with pytest.raises(KeyError, match="the block's own"), atomic_file(path) as file:
        file.write(b"new")
        raise KeyError("the block's own")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path):
    path = tmp_path / "a.parquet"
    with atomic_file(path) as first, atomic_file(path) as second:
        first.write(b"first")
        second.write(b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_file_and_folder_are_synced_around_the_rename(tmp_path: Path, monkeypatch):
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def spy_fsync(descriptor):
        target = Path(f"/proc/self/fd/{descriptor}").readlink()
        events.append("folder" if target == tmp_path else "file")
        fsync(descriptor)

    def spy_replace(self, target):
        events.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(Path, "replace", spy_replace)
    write_atomically(tmp_path / "a.json", b"{}")
    assert events == ["file", "rename", "folder"]


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"a\.json: the file could not be written"):
        write_atomically(tmp_path / "file" / "a.json", b"{}")


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, match="no space left"):
        write_atomically(tmp_path / "a.json", b"{}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_forbidden_folder_is_said_so(code):
    error = write_error(Path("out/a.json"), OSError(code, os.strerror(code)))
    assert str(error).startswith("out/a.json: the folder is not writable")


def test_write_errors_leave_other_errors_alone(tmp_path: Path):
    with pytest.raises(ValueError, match="mine"), write_errors(tmp_path):
        raise ValueError("mine")


def test_an_exclusive_file_is_made_once_and_kept(tmp_path: Path):
    path = tmp_path / "plan.json"
    assert create_exclusively(path, b"first") is True
    assert create_exclusively(path, b"second") is False
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_an_exclusive_file_needs_no_hard_links(tmp_path: Path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "no hard links")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "plan.json"
    assert create_exclusively(path, b"first") is True
    assert create_exclusively(path, b"second") is False
    assert path.read_bytes() == b"first"


def test_of_many_processes_one_makes_the_exclusive_file(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path\n"
        "from writers.store.atomic import create_exclusively\n"
        "print(create_exclusively(Path(sys.argv[1]), sys.argv[2].encode() * 100000))"
    )
    path = tmp_path / "plan.json"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), name], stdout=subprocess.PIPE, text=True
        )
        for name in "abc"
    ]
    answers = [run.communicate(timeout=60)[0].strip() for run in runs]
    assert sorted(answers) == ["False", "False", "True"]
    winner = "abc"[answers.index("True")]
    assert path.read_text() == winner * 100000


def test_a_killed_writer_leaves_only_a_leftover_that_can_be_removed(tmp_path: Path):
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from writers.store.atomic import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])) as file:\n"
        "    file.write(b'x' * 1000000)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "train-00000.parquet"
    run = subprocess.run([sys.executable, "-c", code, str(path)], check=False, timeout=60)
    assert run.returncode == -signal.SIGKILL
    assert not path.exists()
    assert list(tmp_path.glob("*.parquet")) == []
    (leftover,) = tmp_path.iterdir()
    assert remove_leftovers(tmp_path) == [leftover]
    assert list(tmp_path.iterdir()) == []


def test_only_leftovers_of_this_package_are_removed(tmp_path: Path):
    for shard in (CASE / "out").iterdir():
        (tmp_path / shard.name).write_bytes(shard.read_bytes())
    (tmp_path / "notes.tmp").write_text("mine")
    (tmp_path / "sub.parquet.tmp").mkdir()
    assert [p.name for p in remove_leftovers(tmp_path)] == ["shard-00003.parquet.tmp"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "notes.tmp",
        "shard-00000.parquet",
        "shard-00001.parquet",
        "shard-00002.parquet",
        "sub.parquet.tmp",
    ]
    assert remove_leftovers(tmp_path / "absent") == []
