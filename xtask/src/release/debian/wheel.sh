# Installs the wheel $1 into a new environment and simulates with it.
python3 -m venv venv
venv/bin/pip install --quiet --no-index --no-deps "$1"
venv/bin/python - <<'END'
import json

import domio

host = domio.Scenario.load("small-host")
result = domio.run(host, replications=2, seed=1)
again = domio.run(host, replications=2, seed=1)
wait = result.mean("wake_p99_us", "web")
print(f"domio {domio.__version__}: small-host, web: wake to run, p99 {wait:.1f} us")
assert wait > 0, "the web server never waits"
assert result.json == again.json, "one seed gives two results"
json.dumps(result.json)
END
