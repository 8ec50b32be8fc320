from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from distributed import Security
from distributed.comm import connect

import datagen.run.cluster
from datagen.errors import DatagenError
from datagen.run.cluster import run_jobs


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
    monkeypatch.setattr(datagen.run.cluster, "_on_worker", be_killed)
    jobs = cast(Any, [NamedJob(NamedShard(f"train-0000{number}.parquet")) for number in range(2)])
    with pytest.raises(DatagenError) as caught:
        list(run_jobs(jobs, 2, lambda views: None))
    assert str(caught.value).startswith("train-0000")
    assert "was killed, perhaps because memory ran out" in str(caught.value)
    assert caught.value.exit_code == 4
    assert capfd.readouterr().err == ""
    assert list(tmp_path.iterdir()) == []


def listeners(process: int) -> list[int]:
    """Ports that a process and its children listen at."""
    tasks = Path(f"/proc/{process}/task")
    children = [int(n) for file in tasks.glob("*/children") for n in file.read_text().split()]
    inodes = set()
    for file in Path(f"/proc/{process}/fd").iterdir():
        try:
            inodes.add(file.readlink().name)
        except OSError:
            continue
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    own = [int(f[1][-4:], 16) for f in lines if f[3] == "0A" and f"socket:[{f[9]}]" in inodes]
    return own + [port for child in children for port in listeners(child)]


def answer_in_plain(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
        plain.sendall(b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return plain.recv(100)


def answer_without_certificate(port: int) -> bytes:
    anyone = ssl.create_default_context()
    anyone.check_hostname = False
    anyone.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
        anyone.wrap_socket(plain) as secured,
    ):
        secured.sendall(b"\0" * 64)
        return secured.recv(100)


def answer_to_dask(address: str, **arguments: Any) -> bytes:
    async def ask() -> object:
        comm = await connect(address, timeout=3, **arguments)
        try:
            await comm.write({"op": "identity", "reply": True})
            return await asyncio.wait_for(comm.read(), timeout=3)
        finally:
            comm.abort()

    return repr(asyncio.run(ask())).encode()


def knock(job: NamedJob) -> dict[str, bytes | str]:
    """Speak to every port of this run as another user of the machine could."""
    stranger = Security.temporary().get_connection_args("client")
    found: dict[str, bytes | str] = {}
    for port in listeners(os.getppid()):
        for name, ask in {
            "plain": lambda port: answer_in_plain(port),
            "no certificate": lambda port: answer_without_certificate(port),
            "dask": lambda port: answer_to_dask(f"tcp://127.0.0.1:{port}"),
            "other run": lambda port: answer_to_dask(f"tls://127.0.0.1:{port}", **stranger),
        }.items():
            try:
                found[f"{port} {name}"] = ask(port)
            except (OSError, ValueError) as error:
                found[f"{port} {name}"] = type(error).__name__
    return found


def test_nobody_without_the_run_s_key_is_answered_at_any_port(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(datagen.run.cluster, "_on_worker", knock)
    jobs = cast(Any, [NamedJob(NamedShard(f"train-0000{number}.parquet")) for number in range(2)])
    before = listeners(os.getpid())
    told = [cast(dict[str, bytes | str], each) for each in run_jobs(jobs, 2, lambda views: None)]
    for answers in told:
        ports = {key.partition(" ")[0] for key in answers} - {str(port) for port in before}
        assert len(ports) == 5  # The scheduler, and two workers with one that watches each.
        assert len(answers) == 4 * len(ports)
        assert [key for key, value in answers.items() if isinstance(value, bytes) and value] == []
    assert list(tmp_path.rglob("*.pem")) == []
    assert list(tmp_path.iterdir()) == []
