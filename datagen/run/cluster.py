"""Shards on Dask: one process and one renderer per worker."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing import resource_tracker
from tempfile import TemporaryDirectory

from datagen.errors import DatagenError
from datagen.interrupts import interrupts_held
from datagen.run.shard_job import ShardJob, ShardOutcome, make_shard

_TOPIC = "datagen-views"


def threads_per_worker(workers: int) -> int:
    """Threads for each worker's renderer, so that workers do not fight for cores."""
    return max(1, len(os.sched_getaffinity(0)) // workers)


def run_jobs(
    jobs: Sequence[ShardJob], workers: int, advance: Callable[[int], None]
) -> Iterator[ShardOutcome]:
    """Make shards, in whatever order they finish.

    One worker runs in this process; more run on a Dask cluster of local processes, to which nobody
    else can speak.

    Args:
        jobs: The shards to make.
        workers: Number of processes.
        advance: Called with a number of views when they are done.

    Raises:
        BackendError: A renderer failed.
        DatagenError: A worker process died.
        WriteError: A file could not be written.
    """
    workers = min(workers, len(jobs))
    if workers <= 1:
        for job in jobs:
            yield make_shard(job, advance)
        return
    yield from _run_on_dask(jobs, workers, advance)


def _run_on_dask(
    jobs: Sequence[ShardJob], workers: int, advance: Callable[[int], None]
) -> Iterator[ShardOutcome]:
    import dask
    from distributed import Client, KilledWorker, as_completed

    from datagen.run.dask_cluster import kill_workers, local_cluster

    settings = {
        # A shard is made again by the next run, not by guesswork in this one.
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.daemon": False,
        "distributed.admin.log-length": 0,
        "distributed.scheduler.work-stealing": False,
    }
    with ExitStack() as stack:
        scratch = stack.enter_context(TemporaryDirectory(prefix="datagen-"))
        stack.enter_context(dask.config.set(settings | {"temporary-directory": scratch}))
        # Its start lets held signals through in the thread that asks for it, so it comes first.
        with interrupts_held():
            resource_tracker.ensure_running()
        # The command itself ends its workers.
        with interrupts_held():
            cluster = local_cluster(workers)
            stack.enter_context(cluster)
        client = stack.enter_context(Client(cluster, timeout=60))
        stack.push(lambda kind, error, trace: kind is not None and kill_workers(cluster))
        client.subscribe_topic(_TOPIC, lambda event: advance(event[1]))
        names = {
            client.submit(_on_worker, job, pure=False, retries=0): job.shard.name for job in jobs
        }
        try:
            for future in as_completed(names):
                try:
                    outcome = future.result()
                except KilledWorker as error:
                    raise DatagenError(
                        f"{names[future]}: the worker process that was to make this shard was "
                        "killed, perhaps because memory ran out. Finished shards are kept; give "
                        "the same command again, with fewer workers if memory is short."
                    ) from error
                yield outcome
        finally:
            client.cancel(list(names))


def _on_worker(job: ShardJob) -> ShardOutcome:
    from distributed import get_worker

    return make_shard(job, functools.partial(get_worker().log_event, _TOPIC))
