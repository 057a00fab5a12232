#!/usr/bin/env bash
# Builds the Python package and tests all of it: `python/run.sh`. `python/run.sh wheel` builds the
# wheel alone, for any Python from 3.11 on, into target/wheels.
#
# DOMIO is the program that figures are compared with; without it, it is built. VENV is an
# environment to work in; without it, one is made in target/python-venv, and kept. PROFILE is the
# profile of cargo, `release` unless it is set; WHEELS is the folder for the wheel. Ends with 77 where
# Python or a package cannot be had.
set -euo pipefail
cannot=77
root=$(cd "$(dirname "$0")/.." && pwd)
here=$root/python
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
venv=${VENV:-$CARGO_TARGET_DIR/python-venv}
wheels=${WHEELS:-$CARGO_TARGET_DIR/wheels}
why=$(mktemp)
trap 'rm -f "$why"' EXIT

if [ ! -x "$venv/bin/python" ] && ! python3 -m venv "$venv" 2>"$why"; then
    echo "python3 makes no environment: $(tail -n 1 "$why")" >&2
    exit $cannot
fi
python=$venv/bin/python
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "Python is $("$python" -V), and domio needs 3.11 or later" >&2
    exit $cannot
fi

# Packages that are there already are not asked for again.
get() {
    local missing=()
    local package
    for package in "$@"; do
        "$python" -m pip show --quiet "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] ||
        "$python" -m pip install --quiet --no-compile "${missing[@]}" 2>"$why"
}

if ! get maturin; then
    echo "pip installs no maturin: $(tail -n 1 "$why")" >&2
    exit $cannot
fi
rm -f "$wheels"/domio-*.whl
"$venv/bin/maturin" build --quiet --profile "${PROFILE:-release}" --locked --interpreter "$python" \
    --manifest-path "$here/Cargo.toml" --out "$wheels"
wheel=$(echo "$wheels"/domio-*.whl)
echo "built ${wheel#"$root"/}"
[ "${1:-test}" = test ] || exit 0

if ! get altair dask distributed duckdb ipykernel mypy nbclient nbformat pandas polars pyarrow pytest; then
    echo "pip installs no packages for the tests: $(tail -n 1 "$why")" >&2
    exit $cannot
fi
# Ray has no wheel for every Python and machine; its tests say so and are left out.
get ray || true
"$python" -m pip install --quiet --no-compile --no-deps --force-reinstall "$wheel"
if [ -z "${DOMIO:-}" ]; then
    cargo build --quiet --release --package domio --manifest-path "$root/Cargo.toml"
    DOMIO=$CARGO_TARGET_DIR/release/domio
fi
export DOMIO
# Not from the folder of the sources, in which there is a `domio` without its native part.
cd "$(mktemp -d)"
"$venv/bin/mypy" --config-file "$here/pyproject.toml" --package domio
"$python" -m pytest "$here/tests" --rootdir "$here" -c "$here/pyproject.toml" -p no:cacheprovider
