"""The native part. What is pleasant to call is in `domio` itself."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, final

__version__: str
PROGRAM: str

_Path: TypeAlias = str | os.PathLike[str]
_ScenarioLike: TypeAlias = "Scenario | _Path"
_Changes: TypeAlias = list[tuple[str, str]]

class DomioError(Exception):
    """What domio could not do, and what to do about it. All exceptions of domio are of this class."""

class ScenarioError(DomioError):
    """Mistakes of a scenario, all at once, each with its line."""

    problems: list[dict[str, Any]]
    """The mistakes, with the keys of ``domio scenario check --json``."""

class RunError(DomioError):
    """A simulation that did not get to its end."""

    state: str
    """State of host and policy when it stopped."""

class TraceError(DomioError):
    """A trace that cannot be read."""

class DomioWarning(UserWarning):
    """What is good to know of a scenario or a trace."""

@final
class Scenario:
    """A scenario: which machine, which policy and which domains a run has. It never changes;
    `set` and `with_` give another one."""

    @staticmethod
    def from_toml(text: str, folder: _Path | None = None) -> Scenario:
        """Reads a scenario from its text; files that it names are in `folder`."""

    @staticmethod
    def load(name: _Path) -> Scenario:
        """Reads the scenario in a file, or the shipped one or the cell of a paper of that name."""

    @staticmethod
    def build(
        folder: _Path | None = None, **sections: Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | int
    ) -> Scenario:
        """Makes a scenario of its sections: dictionaries, or lists of them for ``[[section]]``."""

    def set(self, changes: Mapping[str, Any]) -> Scenario:
        """The scenario with other values at some keys, all at once."""

    def with_(self, **changes: Any) -> Scenario:
        """As `set`, with keywords."""

    def to_toml(self) -> str:
        """The scenario as TOML."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def title(self) -> str | None:
        """One line about it."""

    @property
    def description(self) -> str | None:
        """What it shows."""

    @property
    def text(self) -> str:
        """The text as it was read."""

    @property
    def overrides(self) -> list[str]:
        """What was changed, each as "key = value"."""

    @property
    def notices(self) -> list[str]:
        """What is good to know of it."""

    @property
    def domains(self) -> list[str]:
        """Names of its domains."""

    @property
    def policy(self) -> str:
        """Name of its scheduling policy."""

    @property
    def seed(self) -> int:
        """Seed of its random streams."""

    @property
    def duration_s(self) -> float:
        """Measured time in seconds."""

    def __hash__(self) -> int: ...

@final
class Table:
    """A table in memory, in Arrow's layout, which every library that takes Arrow takes as it is."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    @property
    def num_rows(self) -> int:
        """How many rows there are."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; a name ends in its unit."""

    @property
    def metadata(self) -> dict[str, str]:
        """What the rows come from."""

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries, for small tables."""

    def __len__(self) -> int: ...

@final
class TraceStream:
    """The rows of a trace, read when they are asked for, once."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    @property
    def column_names(self) -> list[str]:
        """Names of the columns; a name ends in its unit."""

    @property
    def metadata(self) -> dict[str, str]:
        """What the trace says of itself."""

@final
class Host:
    """The host during one call of a policy: what it is like, which stands still, and what the
    policy asks for, which is carried out when the call returns."""

    @property
    def now_ns(self) -> int:
        """Nanoseconds since the host began."""

    @property
    def here(self) -> int | None:
        """The pcpu whose code makes the call."""

    @property
    def online(self) -> list[int]:
        """Numbers of the pcpus that are online."""

    @property
    def current(self) -> list[int | None]:
        """By pcpu: the vcpu that is current there."""

    def domain(self, vcpu: int) -> int:
        """The domain of `vcpu`, by its id."""

    def index(self, vcpu: int) -> int:
        """The number of `vcpu` in its domain."""

    def pcpu(self, vcpu: int) -> int:
        """The pcpu that `vcpu` belongs to."""

    def runnable(self, vcpu: int) -> bool:
        """Whether `vcpu` wants to execute; it may be executing already."""

    def allowed(self, vcpu: int) -> list[int]:
        """The pcpus that `vcpu` may run on, of those that are online."""

    def is_current(self, vcpu: int) -> bool:
        """Whether `vcpu` is current on a pcpu."""

    def tickle(self, pcpu: int) -> None:
        """Asks for a pass on `pcpu`."""

    def migrate(self, vcpu: int) -> None:
        """Asks that `vcpu` gets another pcpu by `pick_pcpu`."""

@final
class Sweep:
    """A sweep under way."""

    def __init__(
        self,
        scenario: _ScenarioLike,
        axes: Sequence[tuple[str, str]],
        design: str = "grid",
        replications: int = 1,
        seed: int | None = None,
        results: _Path | None = None,
        output: _Path | None = None,
    ) -> None: ...
    def run(self, jobs: int | None = None) -> None: ...
    def __len__(self) -> int: ...
    def task(self, at: int) -> tuple[_Changes, int]: ...
    def take_kept(self, at: int) -> bool: ...
    def put(self, at: int, figures: bytes, took_us: int) -> None: ...
    def named(self, at: int) -> str: ...
    def finish(self) -> tuple[Table | None, int]: ...
    @property
    def scenario(self) -> Scenario: ...
    @property
    def cells(self) -> int: ...
    @property
    def axes(self) -> list[str]: ...
    @property
    def found(self) -> int: ...

def shipped() -> list[tuple[str, str]]: ...
def measures() -> list[tuple[str, str, str, str]]: ...
def is_trace(path: _Path) -> bool: ...
def table(columns: Sequence[tuple[str, str, list[Any]]]) -> Table: ...
def run(
    scenario: _ScenarioLike,
    replications: int = 1,
    seed: int | None = None,
    results: _Path | None = None,
    jobs: int | None = None,
) -> tuple[Table, str, list[str]]: ...
def run_cell(scenario: Scenario, changes: _Changes, replication: int) -> tuple[bytes, int]: ...
def compare(
    variants: Sequence[tuple[str, _ScenarioLike]],
    replications: int = 1,
    seed: int | None = None,
    results: _Path | None = None,
    jobs: int | None = None,
) -> tuple[Table, str, list[str]]: ...
def explain(
    scenario: _ScenarioLike,
    replications: int = 1,
    seed: int | None = None,
    results: _Path | None = None,
    jobs: int | None = None,
) -> tuple[str, list[str]]: ...
def explain_trace(path: _Path, cpu_hz: int | None = None) -> tuple[str, list[str]]: ...
def read_trace(path: _Path, rows: str = "records", cpu_hz: int | None = None) -> TraceStream: ...
def validate(recordings: Sequence[_Path], exact: bool = False, jobs: int | None = None) -> str: ...
def reproduce(
    claims: Sequence[str],
    effort: str = "quick",
    seed: int = 1,
    replications: int | None = None,
    results: _Path | None = None,
    jobs: int | None = None,
) -> str: ...
def register_policy(policy: type[Any]) -> str: ...
def check_policy(name: str, scripts: int = 20, orders: bool = True) -> str: ...
