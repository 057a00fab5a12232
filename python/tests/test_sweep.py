"""Sweeps: the bytes of the command line, on one machine, on Dask and on Ray."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TEXT

import domio
import domio._domio

Cli = Callable[..., Any]
AXES: dict[str, Any] = {
    "scheduler.policy": ["credit", "credit2", "null"][:2],
    "domain.web.weight": "64..1024:5",
    "run.duration_ms": [200, 400],
}
SET = [
    "--set=scheduler.policy=credit,credit2",
    "--set=domain.web.weight=64..1024:5",
    "--set=run.duration_ms=200,400",
]


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "s.toml").write_text(TEXT)
    return str(tmp_path / "s.toml")


def test_a_sweep_writes_the_bytes_of_the_command_line(
    path: str, cli: Cli, tmp_path: Path
) -> None:
    for ending in ("csv", "parquet"):
        told, own = tmp_path / f"told.{ending}", tmp_path / f"own.{ending}"
        args = [*SET, "--replications", "2", "--output", str(told), "--no-results"]
        done = cli("sweep", path, *args, check=False)
        assert done.returncode == 0, done.stderr
        result = domio.sweep(path, AXES, replications=2, output=own)
        assert own.read_bytes() == told.read_bytes()
        assert (result.rows, result.cells) == (20 * 2 * 3, 20)
        with pytest.raises(domio.DomioError, match="not in memory"):
            pl.DataFrame(result)
    assert not list(tmp_path.glob("*.part"))


def test_a_table_in_memory_has_the_rows_of_the_file(path: str, tmp_path: Path) -> None:
    own = tmp_path / "own.parquet"
    domio.sweep(path, AXES, output=own)
    result = domio.sweep(path, AXES)
    read, table = pq.read_table(own), pa.table(result)
    assert table.column_names == read.column_names
    assert table.to_pylist() == read.to_pylist()
    assert table.schema.metadata[b"domio.scenario_sha256"]
    assert table.schema.metadata == {
        k: v for k, v in read.schema.metadata.items() if k.startswith(b"domio.")
    }


def test_axes_are_lists_ranges_and_texts(host: domio.Scenario) -> None:
    import numpy as np

    axes = {"domain.web.weight": range(64, 66), "run.duration_ms": np.array([100.0, 200.5])}
    result = domio.sweep(host, axes)
    frame = pl.DataFrame(result)
    assert frame["domain.web.weight"].unique().sort().to_list() == [64, 65]
    assert frame["run.duration_ms"].unique().sort().to_list() == [100.0, 200.5]
    chart = result.plot("share", along="run.duration_ms", domains=["web"]).to_dict()
    assert chart["mark"]["type"] == "line"
    assert len(chart["data"]["values"]) == 4
    with pytest.raises(domio.DomioError, match="no axis is called"):
        result.plot(along="seed")
    latin = domio.sweep(host, {"domain.web.weight": "64..1024"}, design="latin-hypercube:4")
    assert latin.cells == 4


def test_what_makes_no_sweep_is_told(host: domio.Scenario, tmp_path: Path) -> None:
    with pytest.raises(domio.DomioError, match="is not below"):
        domio.sweep(host, {"domain.web.weight": "5..1"})
    with pytest.raises(domio.ScenarioError, match="--set scheduler.policy=credit,kredit has kredit"):
        domio.sweep(host, {"scheduler.policy": ["credit", "kredit"]})
    with pytest.raises(domio.DomioError, match="the ending decides the format"):
        domio.sweep(host, {}, output=tmp_path / "rows.txt")
    with pytest.raises(domio.DomioError, match="a search looks for something"):
        domio.sweep(host, {}, design="search")
    with pytest.raises(domio.DomioError, match="has to be 1 at least"):
        domio.sweep(host, {}, replications=0)


def test_an_interrupted_sweep_leaves_no_file_and_goes_on(
    host: domio.Scenario, tmp_path: Path
) -> None:
    axes = {"domain.web.weight": "1..600", "run.duration_ms": [60000]}
    output, results = tmp_path / "rows.csv", tmp_path / "r.sqlite"

    def interrupt() -> None:
        time.sleep(1.0)
        signal.raise_signal(signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        domio.sweep(host, axes, output=output, results=results, jobs=1)
    interrupting.join()
    assert not output.exists()
    assert not list(tmp_path.glob("*.part"))
    part = {**axes, "domain.web.weight": "1..20"}
    again = domio.sweep(host, part, output=output, results=results)
    assert again.found > 0
    domio.sweep(host, part, output=tmp_path / "whole.csv")
    assert (tmp_path / "whole.csv").read_bytes() == output.read_bytes()


def test_python_costs_less_than_a_millisecond_a_cell(host: domio.Scenario) -> None:
    """Time on processors, of all threads, for cells of hardly any simulated time: what is left is
    what Python, Arrow and the making of scenarios cost."""
    short = host.with_(**{"run.duration_us": 1})
    cells = 400

    def took(work: Callable[[], object]) -> float:
        def once() -> float:
            began = time.process_time()
            work()
            return (time.process_time() - began) * 1e3 / cells

        return min(once() for _ in range(3))

    axes = {"domain.web.weight": f"1..{cells}"}
    tasks = domio._domio.Sweep(short, [("domain.web.weight", f"1..{cells}")])

    def as_on_a_cluster() -> None:
        for at in range(cells):
            tasks.put(at, *domio._domio.run_cell(short, *tasks.task(at)))

    of_sweep = took(lambda: domio.sweep(short, axes, jobs=1))
    of_tasks = took(as_on_a_cluster)
    print(f"\na cell of a sweep takes {of_sweep:.3f} ms, a task of a cluster {of_tasks:.3f} ms")
    assert of_sweep < 1.0
    assert of_tasks < 1.0


# A cluster.


@pytest.fixture
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="no Dask here")
    with (
        distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_dask_writes_the_same_bytes_also_when_a_worker_is_killed(
    path: str, client: Any, tmp_path: Path
) -> None:
    axes = {"domain.web.weight": "1..40", "run.duration_s": [5]}
    alone, spread = tmp_path / "alone.parquet", tmp_path / "spread.parquet"
    domio.sweep(path, axes, output=alone)
    workers = client.run(os.getpid)
    assert len(workers) == 4
    killed = []

    def kill() -> None:
        # When the store has some cells: in the middle.
        while not (results.exists() and results.stat().st_size > 0):
            time.sleep(0.01)
        time.sleep(0.5)
        victim = next(iter(workers.values()))
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    results = tmp_path / "r.sqlite"
    killer = threading.Thread(target=kill)
    killer.start()
    result = domio.sweep(path, axes, output=spread, results=results, client=client)
    killer.join()
    assert killed
    assert alone.read_bytes() == spread.read_bytes()
    assert result.found == 0
    # What the cluster made was kept, and one machine takes it from there.
    again = domio.sweep(path, axes, output=tmp_path / "again.parquet", results=results)
    assert again.found == 40
    assert (tmp_path / "again.parquet").read_bytes() == alone.read_bytes()
    # And the cluster takes it, too.
    taken = domio.sweep(path, axes, results=results, client=client)
    assert taken.found == 40


@pytest.mark.slow
def test_a_cell_that_fails_on_dask_is_named(host: domio.Scenario, client: Any) -> None:
    class Lost(domio.Policy):
        name = "only-here"

        def wake(self, host: domio.Host, vcpu: int, why: str) -> None: ...

        def schedule(self, *_: Any) -> None:
            return None

    domio.register_policy(Lost)
    axes = {"scheduler.policy": ["credit", "only-here"]}
    with pytest.raises(domio.DomioError) as raised:
        domio.sweep(host, axes, client=client)
    assert "cell 1, scheduler.policy=only-here" in "".join(raised.value.__notes__)


@pytest.mark.slow
def test_ray_writes_the_same_bytes_also_when_a_worker_is_killed(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="Ray has no wheel here")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "200")
    axes = {"domain.web.weight": "1..24", "run.duration_s": [5]}
    alone, spread = tmp_path / "alone.csv", tmp_path / "spread.csv"
    domio.sweep(path, axes, output=alone)
    try:
        ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    except Exception as error:  # noqa: BLE001
        pytest.skip(f"Ray does not start here: {error}")
    try:

        @ray.remote
        def die() -> None:
            # The worker has run cells before, or will.
            os.kill(os.getpid(), signal.SIGKILL)

        def kill() -> None:
            time.sleep(2.0)
            for _ in range(2):
                die.options(max_retries=0).remote()

        killer = threading.Thread(target=kill)
        killer.start()
        domio.sweep(path, axes, output=spread, ray=ray)
        killer.join()
    finally:
        ray.shutdown()
    assert alone.read_bytes() == spread.read_bytes()
    with pytest.raises(domio.DomioError, match="leave one out"):
        domio.sweep(path, axes, client=object(), ray=True)
