"""Runs, comparisons, explanations, traces, recordings and claims."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from domio import _domio, _plot
from domio._domio import Scenario, Table, TraceStream

ScenarioLike: TypeAlias = Scenario | str | os.PathLike[str]


class Measure(NamedTuple):
    """A figure of a domain: a column of tables."""

    key: str
    """The column; ends in the unit."""
    title: str
    """For people."""
    unit: str
    """For people: "us", "% of one pcpu"."""
    better: str
    """Which way it improves: "higher", "lower" or "neither"."""


def measures() -> list[Measure]:
    """All measures, in the order of columns."""
    return [Measure(*m) for m in _domio.measures()]


def scenarios() -> dict[str, str]:
    """Names and titles of the scenarios that ship with domio."""
    return dict(_domio.shipped())


class _ArrowTable:
    """A result with a table, which libraries that take Arrow read without a copy."""

    _table: Table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    @property
    def table(self) -> Table:
        """The rows."""
        return self._table

    def __len__(self) -> int:
        return len(self._table)


def _warn(notices: Sequence[str]) -> None:
    for notice in notices:
        warnings.warn(notice, _domio.DomioWarning, stacklevel=3)


class RunResult(_ArrowTable):
    """What a run gave: a row a replication and domain, with a column a measure."""

    def __init__(self, table: Table, figures: dict[str, Any]) -> None:
        self._table = table
        self.json = figures
        """What ``domio run --json`` prints."""

    def mean(self, measure: str, domain: str) -> float | None:
        """The mean of a measure of a domain, in its unit; ``None`` if nothing was measured."""
        for entry in self.json["domains"]:
            if entry["name"] == domain:
                return _mean(entry.get(_known(measure)))
        names = ", ".join(entry["name"] for entry in self.json["domains"])
        raise _domio.DomioError(f'no domain is called "{domain}"; there are {names}')

    def plot(self, measure: str = "share_pct") -> Any:
        """Bars of a measure by domain, as an ``altair.Chart``."""
        return _plot.bars(self._table.to_pylist(), _known(measure), "domain")

    def __repr__(self) -> str:
        n = self.json["replications"]
        return f"<domio.RunResult of {self.json['scenario']}, {n} replications>"


def _mean(estimate: Mapping[str, Any] | None) -> float | None:
    return None if estimate is None else estimate["mean"]


def _known(measure: str) -> str:
    """The key of a measure, whose unit may be left out."""
    keys = [m.key for m in measures()]
    for key in keys:
        if measure == key or key.rsplit("_", 1)[0] == measure:
            return key
    raise _domio.DomioError(f'no measure is called "{measure}"; there are {", ".join(keys)}')


def run(
    scenario: ScenarioLike,
    *,
    replications: int = 1,
    seed: int | None = None,
    results: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
) -> RunResult:
    """Simulates a scenario.

    Parameters
    ----------
    scenario
        A scenario, the path of one, or the name of a shipped one.
    replications
        How often, each time with other random streams; at least 1.
    seed
        Where random streams begin, instead of the scenario's own seed.
    results
        A file in which replications are kept, and from which they are taken; that of the command
        line is ``out/results.sqlite``. Nothing is kept if left out.
    jobs
        Replications that run in parallel; as many as there are cores if left out.

    Raises
    ------
    ScenarioError
        With all mistakes of the scenario.
    RunError
        When the simulation does not get to its end.
    """
    table, figures, notices = _domio.run(scenario, replications, seed, results, jobs)
    _warn(notices)
    return RunResult(table, json.loads(figures))


class Comparison(_ArrowTable):
    """Variants side by side: a row a variant, replication and domain."""

    def __init__(self, table: Table, figures: dict[str, Any]) -> None:
        self._table = table
        self.json = figures
        """What ``domio compare --json`` prints."""

    @property
    def changes(self) -> Table:
        """What changed from the first variant: a row a variant, domain and measure, with the
        difference in the unit of the measure, its 95 % interval, and whether it is proven."""
        rows = [{**row, **row["difference"]} for row in self.json["changes"]]
        ends = [row["ci95"] or (None, None) for row in rows]

        def column(name: str, kind: str, key: str | None = None) -> tuple[str, str, list[Any]]:
            return name, kind, [row.get(key or name) for row in rows]

        return _domio.table(
            [
                column("variant", "text"),
                column("domain", "text"),
                column("measure", "text"),
                column("unit", "text"),
                *[column(name, "float") for name in ("from", "to")],
                column("difference", "float", "mean"),
                ("ci95_low", "float", [low for low, _ in ends]),
                ("ci95_high", "float", [high for _, high in ends]),
                ("gains", "int", [int(row["gains"]) for row in rows]),
                ("proven", "int", [int(row["proven"]) for row in rows]),
            ]
        )

    @property
    def means(self) -> Table:
        """Means with 95 % intervals: a row a variant, domain and measure."""
        own = [row for row in self.json["measures"] if row.get("driver") is None]
        names = ("variant", "domain", "measure", "unit")
        rows: list[tuple[Any, ...]] = []
        for row in own:
            mean = row["mean"]
            low, high = mean["ci95"] or (None, None)
            rows.append((*(row[name] for name in names), mean["mean"], low, high))
        figures = (("mean", "float"), ("ci95_low", "float"), ("ci95_high", "float"))
        return _columns(rows, *((name, "text") for name in names), *figures)

    def plot(self, measure: str = "share_pct") -> Any:
        """Bars of a measure by domain and variant, as an ``altair.Chart``."""
        return _plot.bars(self._table.to_pylist(), _known(measure), "domain", "variant")

    def __repr__(self) -> str:
        labels = ", ".join(v["label"] for v in self.json["variants"])
        return f"<domio.Comparison of {labels}>"


def _load(scenario: ScenarioLike) -> Scenario:
    return scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)


def _variants(
    scenarios: Sequence[ScenarioLike] | Mapping[str, ScenarioLike],
    policies: Sequence[str],
    settings: Sequence[Mapping[str, Any]],
) -> list[tuple[str, Scenario]]:
    if isinstance(scenarios, Mapping):
        named = [(label, _load(s)) for label, s in scenarios.items()]
    else:
        loaded = [_load(s) for s in scenarios]
        several = len(loaded) > 1
        named = [(Path(s.name).stem if several else "", s) for s in loaded]
    out: list[tuple[str, Scenario]] = []
    for name, scenario in named:
        for policy in policies or [""]:
            for setting in settings or [{}]:
                changes = {"scheduler.policy": policy} if policy else {}
                own = " ".join(f"{k}={v}" for k, v in setting.items())
                label = " ".join(part for part in (name, policy, own) if part)
                changed = scenario.set({**changes, **setting})
                out.append((label or Path(scenario.name).stem, changed))
    return out


def compare(
    *scenarios: ScenarioLike | Mapping[str, ScenarioLike],
    policies: Sequence[str] = (),
    settings: Sequence[Mapping[str, Any]] = (),
    replications: int = 1,
    seed: int | None = None,
    results: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
) -> Comparison:
    """Simulates variants and compares each with the first: who gains, and who pays.

    ``compare("small-host", policies=["credit", "credit2"])``,
    ``compare(host, settings=[{"scheduler.tslice_ms": 30}, {"scheduler.tslice_ms": 5}])``,
    ``compare({"before": a, "after": b})``.

    Parameters
    ----------
    scenarios
        One or several scenarios, or a dictionary of them by label.
    policies
        Names of policies, each of which makes a variant of each scenario.
    settings
        Changes of keys, each of which makes a variant of each of those.
    replications, seed, results, jobs
        As for :func:`run`.
    """
    given: Any = scenarios
    if len(scenarios) == 1 and isinstance(scenarios[0], Mapping):
        given = scenarios[0]
    variants = _variants(given, policies, settings)
    table, figures, notices = _domio.compare(variants, replications, seed, results, jobs)
    _warn(notices)
    return Comparison(table, json.loads(figures))


class Explanation(_ArrowTable):
    """What vcpus waited for: a row a vcpu and cause, with the time in nanoseconds."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self.json = figures
        """What ``domio explain --json`` prints."""
        self._table = self._causes()

    def _name(self, domain: int) -> str:
        """The name of a domain, or else its id."""
        named = (d.get("name") for d in self.json["domains"] if d["id"] == domain)
        return next(named, None) or f"d{domain}"

    def _causes(self) -> Table:
        rows: list[tuple[Any, ...]] = []
        for vcpu in self.json["vcpus"]:
            whom = (self._name(vcpu["domain"]), vcpu["vcpu"])
            for part in vcpu["causes"]:
                if part["ns"] is not None:
                    rows.append((*whom, part["cause"], part["ns"]))
        return _columns(
            rows, ("domain", "text"), ("vcpu", "int"), ("cause", "text"), ("waited_ns", "int")
        )

    @property
    def behind(self) -> Table:
        """Behind whom vcpus waited: a row for each vcpu, cause and vcpu that ran meanwhile."""
        rows: list[tuple[Any, ...]] = []
        for vcpu in self.json["vcpus"]:
            for part in vcpu["behind"]:
                who = part["behind_domain"]
                other = (None, None) if who is None else (self._name(who), part["behind_vcpu"])
                whom = (self._name(vcpu["domain"]), vcpu["vcpu"])
                rows.append((*whom, part["cause"], *other, part["ns"]))
        return _columns(
            rows,
            ("domain", "text"),
            ("vcpu", "int"),
            ("cause", "text"),
            ("behind_domain", "text"),
            ("behind_vcpu", "int"),
            ("waited_ns", "int"),
        )

    def plot(self) -> Any:
        """Bars of the time waited by domain and cause, as an ``altair.Chart``."""
        return _plot.causes(self._table.to_pylist())


def _columns(rows: Sequence[tuple[Any, ...]], *heads: tuple[str, str]) -> Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(heads)
    return _domio.table(
        [(name, kind, list(c)) for (name, kind), c in zip(heads, columns, strict=True)]
    )


def explain(
    what: ScenarioLike,
    *,
    replications: int | None = None,
    seed: int | None = None,
    results: str | os.PathLike[str] | None = None,
    cpu_hz: int | None = None,
    jobs: int | None = None,
) -> Explanation:
    """What the domains of a scenario wait for, or those of a recorded host, and behind whom.

    Parameters
    ----------
    what
        A scenario, the path or the name of one, or the path of a trace.
    replications, seed, results, jobs
        As for :func:`run`, of scenarios.
    cpu_hz
        Counts a second of the clock of a trace of Xen, if neither the trace nor a file beside it
        tells.
    """
    if not isinstance(what, Scenario) and _is_trace(what):
        if replications is not None or seed is not None or results is not None:
            raise _domio.DomioError(
                f"replications, seed and results are of a scenario, and {os.fspath(what)} is a "
                "trace, which has happened already"
            )
        figures, notices = _domio.explain_trace(what, cpu_hz)
    else:
        count = 1 if replications is None else replications
        figures, notices = _domio.explain(what, count, seed, results, jobs)
    _warn(notices)
    return Explanation(json.loads(figures))


def _is_trace(path: str | os.PathLike[str]) -> bool:
    return _domio.is_trace(path)


def read_trace(
    path: str | os.PathLike[str], *, rows: str = "records", cpu_hz: int | None = None
) -> TraceStream:
    """The rows of a trace: domio's own, or one of xentrace, packed by gzip or zstd or not.

    The result is a stream that is read once, a batch at a time, so that a trace of any length takes
    little memory: ``pyarrow.RecordBatchReader.from_stream(t)``, ``polars.DataFrame(t)``,
    ``duckdb.sql("FROM t")``.

    Parameters
    ----------
    path
        The file.
    rows
        "records" for all records, "intervals" for completed intervals of runstates. Times are in
        nanoseconds.
    cpu_hz
        As for :func:`explain`.
    """
    return _domio.read_trace(path, rows, cpu_hz)


class Validation(_ArrowTable):
    """How far simulated hosts agree with recorded ones: a row a recording."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self.json = figures
        """What ``domio validate --json`` prints."""
        rows = [(trace["recording"], trace["verdict"]) for trace in figures["traces"]]
        self._table = _columns(rows, ("recording", "text"), ("verdict", "text"))


def validate(
    *recordings: str | os.PathLike[str], exact: bool = False, jobs: int | None = None
) -> Validation:
    """Simulates recorded hosts, and compares with what was recorded.

    Parameters
    ----------
    recordings
        Folders of recordings, or names of those that ship; all that ship if left out.
    exact
        Whether the start state is searched from which the same decisions are made.
    jobs
        Recordings that are judged in parallel; as many as there are cores if left out.
    """
    return Validation(json.loads(_domio.validate(list(recordings), exact, jobs)))


class Reproduction(_ArrowTable):
    """Verdicts on claims of papers: a row a claim."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self.json = figures
        """What ``domio reproduce --json`` prints."""
        claims = figures["claims"]
        rows = [(c["id"], c["verdict"], c.get("replications")) for c in claims]
        self._table = _columns(
            rows, ("claim", "text"), ("verdict", "text"), ("replications", "int")
        )


def reproduce(
    *claims: str,
    effort: str = "quick",
    seed: int = 1,
    replications: int | None = None,
    results: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
) -> Reproduction:
    """Decides claims of papers by simulation.

    Parameters
    ----------
    claims
        Ids of claims or their first words ("ongaro.test3"), and folders of papers; all claims of
        all shipped papers if left out.
    effort
        "quick", "normal" or "full": how many replications, of what length.
    replications
        Replications of each experiment, instead of those of the effort.
    seed, results, jobs
        As for :func:`run`.
    """
    decided = _domio.reproduce(list(claims), effort, seed, replications, results, jobs)
    return Reproduction(json.loads(decided))
