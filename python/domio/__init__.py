"""domio: a laboratory for scheduling virtual machines.

>>> import domio
>>> host = domio.Scenario.load("small-host")
>>> result = domio.run(host.with_(**{"run.duration_s": 1}))
>>> result.mean("share_pct", "web") > 0
True

Tables are handed over as Arrow: ``polars.DataFrame(result)``, ``pyarrow.table(result)``,
``duckdb.sql("FROM result")``, ``pandas.DataFrame.from_arrow(result)``. Names of columns end in the
unit: ``wake_p99_us`` is in microseconds.

Exceptions are :class:`DomioError`, with the messages of the command line. The GIL is released while
a host is simulated, and Ctrl-C ends a simulation.
"""

from domio._domio import PROGRAM as __program__
from domio._domio import (
    DomioError,
    DomioWarning,
    RunError,
    Scenario,
    ScenarioError,
    Table,
    TraceError,
    TraceStream,
    __version__,
)
from domio._lab import (
    Comparison,
    Explanation,
    Measure,
    Reproduction,
    RunResult,
    Validation,
    compare,
    explain,
    measures,
    read_trace,
    reproduce,
    run,
    scenarios,
    validate,
)
from domio._policy import Conformance, Host, Policy, check_policy, register_policy
from domio._sweep import SweepResult, sweep

__all__ = [
    "Comparison",
    "Conformance",
    "DomioError",
    "DomioWarning",
    "Explanation",
    "Host",
    "Measure",
    "Policy",
    "Reproduction",
    "RunError",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "SweepResult",
    "Table",
    "TraceError",
    "TraceStream",
    "Validation",
    "__program__",
    "__version__",
    "check_policy",
    "compare",
    "explain",
    "measures",
    "read_trace",
    "register_policy",
    "reproduce",
    "run",
    "scenarios",
    "sweep",
    "validate",
]
