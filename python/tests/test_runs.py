"""Runs, comparisons and explanations: the figures of the command line, as Arrow."""

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import TEXT

import domio

Cli = Callable[..., Any]


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "s.toml").write_text(TEXT)
    return str(tmp_path / "s.toml")


def test_a_run_has_the_figures_of_the_command_line(path: str, cli: Cli) -> None:
    result = domio.run(path, replications=3, seed=7)
    assert result.json == cli("run", path, "--replications", "3", "--seed", "7", "--json")
    frame = pl.DataFrame(result)
    share = frame.filter(pl.col("domain") == "web")["share_pct"].mean()
    assert share == pytest.approx(result.mean("share", "web"))
    with pytest.raises(domio.DomioError, match="there are web, batch1, batch2"):
        result.mean("share", "db")
    with pytest.raises(domio.DomioError, match="no measure is called"):
        result.mean("speed", "web")


def test_all_libraries_take_the_rows(host: domio.Scenario) -> None:
    result = domio.run(host, replications=2)
    names = result.table.column_names
    assert names[:3] == ["replication", "domain", "share_pct"]
    assert "wake_p99_us" in names
    rows = result.table.to_pylist()
    assert len(rows) == len(result) == 6
    assert pa.table(result).to_pylist() == rows
    assert pl.DataFrame(result).to_dicts() == rows
    frame = pd.DataFrame.from_arrow(result)
    assert list(frame.columns) == names
    assert frame["share_pct"].tolist() == [row["share_pct"] for row in rows]
    [(count,)] = duckdb.sql("SELECT count(*) FROM result WHERE domain = 'web'").fetchall()
    assert count == 2
    assert pa.table(result).schema.metadata[b"domio.seed"] == b"1"
    # No copy: two tables of the same rows begin at the same address.
    one, other = pa.table(result), pa.table(result)
    column = names.index("share_pct")
    addresses = [t.column(column).chunk(0).buffers()[1].address for t in (one, other)]
    assert addresses[0] == addresses[1]


def test_a_comparison_has_the_figures_of_the_command_line(path: str, cli: Cli) -> None:
    result = domio.compare(path, policies=["credit", "credit2"], replications=3)
    told = cli(
        "compare", path, "--policy", "credit", "--policy", "credit2", "--replications", "3", "--json"
    )
    assert result.json == told
    means = pl.DataFrame(result.means)
    rows = pl.DataFrame(result)
    by = rows.group_by("variant", "domain").agg(pl.col("share_pct").mean())
    joined = means.filter(pl.col("measure") == "share_pct").join(by, on=["variant", "domain"])
    assert joined.height == 6
    assert (joined["mean"] - joined["share_pct"]).abs().max() < 1e-9
    assert set(pl.DataFrame(result.changes).columns) >= {"variant", "difference", "proven"}
    settings = domio.compare(
        path, settings=[{"scheduler.tslice_ms": 30}, {"scheduler.tslice_ms": 5}]
    )
    assert [v["label"] for v in settings.json["variants"]] == [
        "scheduler.tslice_ms=30",
        "scheduler.tslice_ms=5",
    ]
    with pytest.raises(domio.DomioError, match="nothing to compare with"):
        domio.compare(path)


def test_an_explanation_has_the_figures_of_the_command_line(path: str, cli: Cli) -> None:
    result = domio.explain(path, replications=2)
    assert result.json == cli("explain", path, "--replications", "2", "--json")
    causes = pl.DataFrame(result)
    for vcpu in result.json["vcpus"]:
        name = next(d["name"] for d in result.json["domains"] if d["id"] == vcpu["domain"])
        own = causes.filter(pl.col("domain") == name, pl.col("vcpu") == vcpu["vcpu"])
        told = sum(part["ns"] or 0 for part in vcpu["causes"])
        assert own["waited_ns"].sum() == told
    assert pl.DataFrame(result.behind)["waited_ns"].sum() > 0


def test_a_trace_is_explained_and_read(path: str, cli: Cli, tmp_path: Path) -> None:
    trace = tmp_path / "host.domio"
    cli("run", path, "--trace", str(trace), check=False)
    result = domio.explain(trace)
    assert result.json == cli("explain", str(trace), "--json")
    with pytest.raises(domio.DomioError, match="which has happened already"):
        domio.explain(trace, seed=3)
    for rows, form in [("records", "csv-records"), ("intervals", "csv")]:
        out = tmp_path / f"{form}.csv"
        cli("trace", "convert", str(trace), "--to", form, "--output", str(out), check=False)
        told = pl.read_csv(out, infer_schema_length=None)
        read = pl.DataFrame(domio.read_trace(trace, rows=rows))
        assert read.height == told.height > 100
        for column in set(read.columns) & set(told.columns):
            ours, theirs = (f[column].cast(pl.String).fill_null("") for f in (read, told))
            assert (ours == theirs).all(), column
    stream = domio.read_trace(trace)
    assert "web" in stream.metadata["domio.domains"]
    assert len(pa.RecordBatchReader.from_stream(stream).read_all()) > 0
    with pytest.raises(domio.DomioError, match="were read before"):
        pl.DataFrame(stream)
    with pytest.raises(domio.DomioError, match="this is a scenario, where a trace is expected"):
        domio.read_trace(path)
    (tmp_path / "cut").write_bytes(trace.read_bytes()[:200])
    with pytest.raises(domio.DomioError):
        pl.DataFrame(domio.read_trace(tmp_path / "cut"))


def test_kept_results_are_taken(host: domio.Scenario, tmp_path: Path) -> None:
    results = tmp_path / "r.sqlite"
    first = domio.run(host, replications=2, results=results)
    began = time.perf_counter()
    again = domio.run(host.with_(), replications=2, results=results)
    assert time.perf_counter() - began < 5
    assert pa.table(first) == pa.table(again)
    (tmp_path / "text").write_text("no database")
    with pytest.raises(domio.DomioError, match="text"):
        domio.run(host, results=tmp_path / "text")


def test_the_gil_is_free_while_a_host_is_simulated(host: domio.Scenario) -> None:
    long = host.with_(**{"run.duration_s": 60})
    worker = threading.Thread(target=lambda: domio.run(long))
    counted = 0
    worker.start()
    while worker.is_alive():
        counted += 1
        time.sleep(0.001)
    assert counted > 5


def test_ctrl_c_ends_a_simulation(host: domio.Scenario) -> None:
    forever = host.with_(**{"run.duration_s": 86_400})

    def interrupt() -> None:
        time.sleep(0.5)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        domio.run(forever, jobs=1)
    # The next one is none the worse.
    assert len(domio.run(host)) == 3


def test_recordings_and_claims_have_the_verdicts_of_the_command_line(cli: Cli) -> None:
    told = cli("validate", "--json")
    result = domio.validate()
    assert result.json == told
    assert len(result) == len(told["traces"])
    with pytest.raises(domio.DomioError, match="no shipped recording"):
        domio.validate("nowhere")
    claims = domio.reproduce("ongaro.test3", replications=2)
    told = cli("reproduce", "ongaro.test3", "--replications", "2", "--json")
    assert claims.json == told
    assert pl.DataFrame(claims)["claim"].str.starts_with("ongaro.test3").all()
    with pytest.raises(domio.DomioError, match="expected one of quick, normal, full"):
        domio.reproduce("ongaro.test3", effort="little")


def test_figures_are_drawn(host: domio.Scenario) -> None:
    chart = domio.run(host, replications=2).plot("wake_p99").to_dict()
    assert chart["mark"]["type"] == "bar"
    assert len(chart["data"]["values"]) > 0
    compared = domio.compare(host, policies=["credit", "credit2"]).plot()
    assert compared.to_dict()["encoding"]["xOffset"]["field"] == "variant"
    assert "cause" in str(domio.explain(host).plot().to_dict())


def test_a_missing_altair_is_told(
    host: domio.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ImportError, match="pip install altair"):
        domio.run(host).plot()
