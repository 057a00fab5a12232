"""Cells of a sweep on a cluster: each replication of a cell is one task, of which the cluster's own
scheduler decides where and when it runs, and again if its worker dies.

A few tasks for each worker are under way at a time, so that a sweep of any length takes little
memory here and in the cluster's scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from domio import _domio
from domio._domio import Scenario

Task = tuple[int, list[tuple[str, str]], int]

#: Tasks under way for each thread of a worker: one that runs and some that wait for it.
_AHEAD = 4


def run_cell(
    scenario: Scenario, changes: list[tuple[str, str]], replication: int, program: str
) -> tuple[bytes, int]:
    """What a worker does: the figures of one replication, and how long it took in microseconds."""
    if program != _domio.PROGRAM:
        raise _domio.DomioError(
            f"this worker has domio {_domio.PROGRAM}, and the sweep is of {program}; have the same "
            "domio on all workers"
        )
    return _domio.run_cell(scenario, changes, replication)


def _missing(sweep: _domio.Sweep) -> Iterator[Task]:
    """Tasks that no kept result answers."""
    for at in range(len(sweep)):
        if not sweep.take_kept(at):
            changes, replication = sweep.task(at)
            yield at, changes, replication


def _failed(sweep: _domio.Sweep, at: int, error: BaseException) -> BaseException:
    """The error with the settings of the cell."""
    error.add_note(f"in {sweep.named(at)}")
    return error


def on_dask(sweep: _domio.Sweep, client: Any) -> None:
    """Runs all cells on the cluster of a ``distributed.Client``."""
    from distributed import as_completed

    # Goes with each task: what is scattered dies with the workers that hold it.
    scenario = sweep.scenario
    tasks = _missing(sweep)
    places: dict[str, int] = {}
    done: Any = as_completed(with_results=False)  # type: ignore[no-untyped-call]

    def submit() -> bool:
        task = next(tasks, None)
        if task is None:
            return False
        at, changes, replication = task
        future = client.submit(
            run_cell, scenario, changes, replication, _domio.PROGRAM, pure=False
        )
        places[future.key] = at
        done.add(future)
        return True

    workers = max(1, sum(client.nthreads().values()))
    for _ in range(workers * _AHEAD):
        if not submit():
            break
    pending: list[Any] = []
    try:
        for future in done:
            at = places.pop(future.key)
            if future.status != "finished":
                raise _failed(sweep, at, future.exception())
            figures, took_us = future.result()
            future.release()
            sweep.put(at, figures, took_us)
            submit()
    finally:
        pending.extend(done.futures)
        if pending:
            client.cancel(pending)


def on_ray(sweep: _domio.Sweep, ray: Any) -> None:
    """Runs all cells on Ray."""
    if ray is True:
        import ray as module

        ray = module
        if not ray.is_initialized():
            ray.init(ignore_reinit_error=True)
    # A worker that dies is no fault of the task: Ray runs it again, on another.
    remote = ray.remote(run_cell).options(max_retries=-1)
    scenario = ray.put(sweep.scenario)
    tasks = _missing(sweep)
    places: dict[Any, int] = {}

    def submit() -> None:
        task = next(tasks, None)
        if task is not None:
            at, changes, replication = task
            places[remote.remote(scenario, changes, replication, _domio.PROGRAM)] = at

    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    for _ in range(cores * _AHEAD):
        submit()
    try:
        while places:
            [future], _ = ray.wait(list(places), num_returns=1)
            at = places.pop(future)
            try:
                figures, took_us = ray.get(future)
            except ray.exceptions.RayTaskError as error:
                raise _failed(sweep, at, error.cause or error) from None
            sweep.put(at, figures, took_us)
            submit()
    finally:
        for future in places:
            ray.cancel(future)
