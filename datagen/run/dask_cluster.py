"""A Dask cluster of processes on this machine to which nobody else can speak.

Dask runs what it is sent, so whoever reaches a scheduler or worker acts as the user who started
it; that a port is bound to the loopback address keeps no other user of the machine away. Here
every connection is TLS in which both sides show the certificate of this one run.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from typing import Any

from distributed import Nanny, Scheduler, Security, SpecCluster, Worker

_HOST = "127.0.0.1"


class PortlessScheduler(Scheduler):
    """A scheduler without pages: HTTP would ask nobody who they are."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Serve nothing."""


class PortlessWorker(Worker):
    """A worker without pages."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Serve nothing."""


def local_cluster(workers: int) -> SpecCluster:
    """Start processes, one thread each, that take work from who holds the run's key alone.

    The key and its certificate are made here and go to the workers through the pipe that starts
    them. The TLS library takes them from a file: it stands in a folder of mode 0700 while it is
    loaded.
    """
    _silence()
    security = Security.temporary()
    common = {"host": _HOST, "port": 0, "protocol": "tls://", "security": security}
    worker = {
        "cls": Nanny,
        "options": common
        | {
            "nthreads": 1,
            "memory_limit": None,
            "silence_logs": logging.CRITICAL,
            "worker_class": PortlessWorker,
        },
    }
    scheduler = {"cls": PortlessScheduler, "options": common | {"dashboard": False}}
    return SpecCluster(
        scheduler=scheduler,
        workers=dict.fromkeys(range(workers), worker),
        security=security,
        silence_logs=logging.CRITICAL,  # pyright: ignore[reportArgumentType]
    )


def _silence() -> None:
    """Keep the libraries' logs off the terminal for good: connections also break after the end."""
    for name in ("distributed", "asyncio", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("distributed") and isinstance(logger, logging.Logger):
            for handler in logger.handlers:
                handler.setLevel(logging.CRITICAL)


def kill_workers(cluster: SpecCluster) -> None:
    """End the worker processes at once, whatever they are doing."""

    async def kill() -> None:
        for nanny in cluster.workers.values():
            pid = nanny.pid
            nanny.close_gracefully()  # So it does not start another one.
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    cluster.sync(kill)
