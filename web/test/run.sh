#!/usr/bin/env bash
# Builds the page and holds it against the command line, in Chromium without a window. DOMIO is the
# command line. PAGE is a page that is built already. Ends with 77 where a browser, Node.js or the
# libraries for WebAssembly cannot be had.
# With PICTURES, a folder, it leaves pictures of the page there.
set -euo pipefail
cannot=77
here=$(cd "$(dirname "$0")" && pwd)
web=$(dirname "$here")

browser=${BROWSER:-}
for name in chromium chromium-browser google-chrome chrome; do
    [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
if [ -z "$browser" ]; then
    echo "there is no Chromium; \`apt-get install chromium\` gets it, or BROWSER names one" >&2
    exit $cannot
fi
if ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' 2>/dev/null; then
    echo "there is no Node.js from 18 on; \`apt-get install nodejs\` gets it" >&2
    exit $cannot
fi
if [ -n "${PAGE:-}" ]; then
    exec node "$here/page.mjs" "$browser" "$DOMIO" "$PAGE"
fi
libraries=$("${RUSTC:-rustc}" --print target-libdir --target wasm32-unknown-unknown)
if [ ! -d "$libraries" ]; then
    echo "no libraries for wasm32-unknown-unknown; \`rustup target add\` gets them" >&2
    exit $cannot
fi

page=$web/target/domio.html
(cd "$web" && "${CARGO:-cargo}" test --quiet --locked --workspace)
(cd "$web" && "${CARGO:-cargo}" run --quiet --locked --package domio-page -- "$page")
exec node "$here/page.mjs" "$browser" "$DOMIO" "$page"
