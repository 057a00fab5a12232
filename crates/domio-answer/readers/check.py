"""Each reader finds in the Parquet file what the CSV file of the same sweep has."""

import csv
import math
import sys

import duckdb
import pandas
import polars
import pyarrow.parquet


def main(parquet: str, table: str) -> None:
    with open(table, newline="") as file:
        head, *rows = csv.reader(file)
    file = pyarrow.parquet.ParquetFile(parquet)
    types = {field.name: str(field.type) for field in file.schema_arrow}
    assert types["cell"] == types["scheduler.tslice_ms"] == "int64", types
    assert types["run.duration_s"] == types["wake_p99_us"] == "double", types
    assert types["scheduler.policy"] == types["domain"] == "string", types
    about = {name.decode(): text.decode() for name, text in file.metadata.metadata.items()}
    assert about["domio.scenario"] == "small-host", about
    assert about["domio.seed"] == "1" and about["domio.replications"] == "2", about
    assert "[[domain]]" in about["domio.scenario_text"], about
    assert about["domio.program"].startswith(about["domio.version"]), about
    assert file.metadata.num_row_groups > 0 and file.metadata.created_by.startswith("domio ")

    expected = [[value(cell, types[name]) for name, cell in zip(head, row)] for row in rows]
    relation = duckdb.sql(f"SELECT * FROM '{parquet}'")
    frame = polars.read_parquet(parquet)
    readers = {
        "pyarrow": (file.schema_arrow.names, rows_of(file.read().to_pydict())),
        "duckdb": (relation.columns, relation.fetchall()),
        "polars": (frame.columns, frame.rows()),
        "pandas": of_pandas(pandas.read_parquet(parquet)),
    }
    for name, (columns, found) in readers.items():
        assert list(columns) == head, (name, columns)
        found = [list(row) for row in found]
        assert len(found) == len(expected), (name, len(found))
        for number, (one, other) in enumerate(zip(found, expected)):
            assert one == other, (name, number, one, other)
    metadata = duckdb.sql(f"SELECT count(*) FROM parquet_kv_metadata('{parquet}')").fetchall()
    assert metadata == [(len(about),)], metadata
    print(f"{len(expected)} rows of {len(head)} columns are the same to " + ", ".join(readers))


def value(cell: str, kind: str):
    if cell == "":
        return None
    return {"int64": int, "double": float, "string": str}[kind](cell)


def rows_of(columns: dict) -> list:
    return list(zip(*columns.values()))


def of_pandas(frame: pandas.DataFrame):
    """pandas has no number where others have nothing."""
    nothing = lambda x: None if isinstance(x, float) and math.isnan(x) else x
    rows = [[nothing(x) for x in row] for row in frame.itertuples(index=False, name=None)]
    return frame.columns, rows


main(*sys.argv[1:])
