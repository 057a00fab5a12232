#!/usr/bin/env bash
# Reads what `domio sweep` writes with DuckDB, Polars, pandas and PyArrow, each in the version that
# pip has today. DOMIO is the program. Ends with 77 where Python or the libraries cannot be had.
set -euo pipefail
cannot=77
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# VENV: an environment that has the readers already.
venv=${VENV:-}
if [ -z "$venv" ]; then
    venv=$work/venv
    if ! python3 -m venv "$venv" 2>"$work/why"; then
        echo "python3 makes no environment: $(tail -n 1 "$work/why")" >&2
        exit $cannot
    fi
    if ! "$venv/bin/pip" install --quiet --no-compile duckdb polars pandas pyarrow 2>"$work/why"; then
        echo "pip installs no readers: $(tail -n 1 "$work/why")" >&2
        exit $cannot
    fi
fi
cd "$work"
# Whole numbers, fractions, names and flags as axes; figures that are there and others that are not.
for file in rows.parquet rows.csv; do
    "$DOMIO" sweep small-host --quiet --replications 2 --output "$file" \
        --set run.duration_s=0.5..1.5:21 --set scheduler.tslice_ms=5..30:6 \
        --set scheduler.policy=credit --set scheduler.boost=true,false
done
"$venv/bin/python" "$here/check.py" rows.parquet rows.csv
