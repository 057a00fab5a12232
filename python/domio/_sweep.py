"""Sweeps: on this machine, on a Dask cluster, on Ray."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from domio import _cluster, _domio, _plot, _toml
from domio._domio import Table
from domio._lab import ScenarioLike, _ArrowTable, _known


class SweepResult(_ArrowTable):
    """The rows of a sweep: one for each cell, replication and domain.

    The columns are those of ``domio sweep``: ``cell``, ``replication``, one an axis, ``domain``, and
    one a measure, whose name ends in the unit.
    """

    def __init__(
        self, table: Table | None, rows: int, cells: int, axes: Sequence[str], found: int,
        path: str | os.PathLike[str] | None,
    ) -> None:
        self._rows = table
        self.rows = rows
        """How many rows there are."""
        self.cells = cells
        """How many cells there are."""
        self.axes = list(axes)
        """Keys of the axes, which are columns."""
        self.found = found
        """Replications that came from kept results."""
        self.path = path
        """The file with the rows; ``None`` if they are in memory."""

    @property
    def _table(self) -> Table:  # type: ignore[override]
        if self._rows is None:
            raise _domio.DomioError(
                f"the rows are in {os.fspath(self.path or '')} and not in memory; read them from "
                "there, as by polars.read_parquet, or leave output out"
            )
        return self._rows

    def __len__(self) -> int:
        return self.rows

    def plot(
        self,
        measure: str = "share_pct",
        *,
        along: str | None = None,
        domains: Sequence[str] | None = None,
    ) -> Any:
        """Means of a measure along an axis, as an ``altair.Chart``.

        Parameters
        ----------
        measure
            A column, whose unit may be left out.
        along
            Key of an axis; the first if left out.
        domains
            Names of the domains that are drawn; all if left out.
        """
        if not self.axes:
            raise _domio.DomioError("the sweep has no axis to draw along")
        along = along or self.axes[0]
        if along not in self.axes:
            raise _domio.DomioError(
                f'no axis is called "{along}"; there are {", ".join(self.axes)}'
            )
        rows = self._table.to_pylist()
        names = domains or list(dict.fromkeys(row["domain"] for row in rows))
        several = [
            axis for axis in self.axes if axis != along and len({row[axis] for row in rows}) > 1
        ]
        return _plot.lines(rows, _known(measure), along, names, several)

    def __repr__(self) -> str:
        return f"<domio.SweepResult of {self.cells} cells, {self.rows} rows>"


def sweep(
    scenario: ScenarioLike,
    axes: Mapping[str, Any],
    *,
    design: str = "grid",
    replications: int = 1,
    seed: int | None = None,
    output: str | os.PathLike[str] | None = None,
    results: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    client: Any = None,
    ray: Any = False,
) -> SweepResult:
    """Runs a scenario with many settings.

    ``sweep("noisy-neighbour", {"scheduler.tslice_ms": [1, 5, 30], "domain.web.weight":
    "64..1024:5"})``

    Parameters
    ----------
    scenario
        A scenario, the path of one, or the name of a shipped one.
    axes
        Values by key: a list, a range, an array, or a text as ``domio sweep --set`` has it.
    design
        "grid" for every combination, "latin-hypercube" or "latin-hypercube:N" for N that are spread
        over all axes.
    replications
        Replications of each cell; all cells meet the same random streams.
    seed
        Where random streams begin, instead of the scenario's own seed.
    output
        A file for the rows, ``.parquet`` or ``.csv``, written as they come, in memory that does not
        grow with their number. In memory if left out.
    results
        A file in which replications are kept, and from which they are taken: an interrupted
        sweep continues.
    jobs
        Replications that run in parallel on this machine; as many as there are cores if left out.
    client
        A ``distributed.Client``: each replication of a cell is a task of the Dask cluster. A worker
        that dies costs the tasks that it had; Dask runs them again.
    ray
        ``True``, or the module ``ray`` after ``ray.init``: likewise on Ray.

    The rows are the same bytes wherever they are made.

    Raises
    ------
    ScenarioError
        When a cell makes no scenario.
    """
    if client is not None and ray:
        raise _domio.DomioError("client is of Dask and ray of Ray; leave one out")
    if jobs is not None and (client is not None or ray):
        raise _domio.DomioError("jobs is of this machine; a cluster has its own number of workers")
    pairs = [(str(key), _toml.axis(values)) for key, values in axes.items()]
    native = _domio.Sweep(scenario, pairs, design, replications, seed, results, output)
    if client is not None:
        _cluster.on_dask(native, client)
    elif ray:
        _cluster.on_ray(native, ray)
    else:
        native.run(jobs)
    table, rows = native.finish()
    return SweepResult(table, rows, native.cells, native.axes, native.found, output)
