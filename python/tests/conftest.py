"""What tests share: the command line that figures are compared with, and a short scenario."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import domio

TEXT = """
run.duration_ms = 400
scheduler.policy = "credit"

[[domain]]
name = "web"
workload = "on-off"
on = { distribution = "exponential", mean_ms = 3 }
off = { distribution = "exponential", mean_ms = 5 }

[[domain]]
name = "batch"
count = 2
workload = "burn"
"""


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """Python hears no Ctrl-C where it was started with the signal ignored, as shells do with jobs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def host() -> domio.Scenario:
    return domio.Scenario.from_toml(TEXT)


@pytest.fixture(scope="session")
def program() -> str:
    path = os.environ.get("DOMIO")
    if not path:
        pytest.skip("DOMIO names no program to compare with")
    return path


@pytest.fixture
def cli(program: str, tmp_path: Path) -> Callable[..., Any]:
    """Runs the command line, and reads its JSON."""

    def run(*args: str, check: bool = True) -> Any:
        done = subprocess.run(
            [program, *args], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        if check:
            assert done.returncode in (0, 1), done.stderr
            return json.loads(done.stdout)
        return done

    return run
