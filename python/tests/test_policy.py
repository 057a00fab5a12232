"""Policies in Python, and the conformance suite that they are held to."""

from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import domio


class RoundRobin(domio.Policy):
    """domio's own round robin, rule by rule."""

    name = "py-round-robin"
    summary = "one FIFO per pcpu"
    promises = ("work_conserving", "starvation_free")
    params = {"tslice_ms": 30}

    def __init__(self, pcpus: int, params: Mapping[str, int]) -> None:
        self.slice_ns = params["tslice_ms"] * 1_000_000
        self.queues: list[deque[int]] = [deque() for _ in range(pcpus)]
        self.home: dict[int, int] = {}

    def remove(self, host: domio.Host, vcpu: int) -> None:
        self.home.pop(vcpu, None)

    def pick_pcpu(self, host: domio.Host, vcpu: int) -> int:
        self.home.pop(vcpu, None)
        population = list(self.home.values())
        pcpu = min(host.allowed(vcpu), key=lambda p: (population.count(p), p))
        self.home[vcpu] = pcpu
        return pcpu

    def wake(self, host: domio.Host, vcpu: int, why: str) -> None:
        pcpu = host.pcpu(vcpu)
        if host.is_current(vcpu) or vcpu in self.queues[pcpu]:
            return
        self.queues[pcpu].append(vcpu)
        if host.current[pcpu] is None:
            host.tickle(pcpu)

    def sleep(self, host: domio.Host, vcpu: int) -> None:
        pcpu = host.pcpu(vcpu)
        if host.is_current(vcpu):
            host.tickle(pcpu)
        elif vcpu in self.queues[pcpu]:
            self.queues[pcpu].remove(vcpu)

    def schedule(
        self, host: domio.Host, pcpu: int, prev: int | None, ran_ns: int, why: str
    ) -> tuple[int, int | None] | None:
        queue = self.queues[pcpu]
        if prev is not None and host.runnable(prev):
            queue.append(prev)
        return (queue.popleft(), self.slice_ns) if queue else None


def test_a_policy_in_python_decides_as_the_same_rules_in_rust(host: domio.Scenario) -> None:
    domio.register_policy(RoundRobin)
    own = domio.run(host.with_(**{"scheduler.policy": "py-round-robin"}), replications=2)
    told = domio.run(host.with_(**{"scheduler.policy": "round-robin"}), replications=2)
    assert own.json["domains"] == told.json["domains"]
    short = {"scheduler.policy": "py-round-robin", "scheduler.tslice_ms": 2}
    other = domio.run(host.with_(**short))
    assert other.json["domains"] != told.json["domains"]


@pytest.mark.slow
def test_a_good_policy_passes_the_suite() -> None:
    assert domio.check_policy("round-robin", scripts=2, orders=False)
    found = domio.check_policy(RoundRobin, scripts=5, orders=False)
    assert found.passes, found.failed
    checks = {c["name"]: c["result"] for c in found.json["checks"]}
    assert checks["work-conserving"] == "passes"
    assert checks["weights"] == "not-promised"


def test_a_bad_policy_is_caught() -> None:
    class Forgets(RoundRobin):
        name = "py-forgets"

        def schedule(self, host: Any, pcpu: int, prev: int | None, ran_ns: int, why: str) -> Any:
            # Whoever ran is never queued again.
            queue = self.queues[pcpu]
            return (queue.popleft(), self.slice_ns) if queue else None

    found = domio.check_policy(Forgets, scripts=2, orders=False)
    assert not found
    assert "work-conserving" in found.failed or "starvation-free" in found.failed
    assert "fails" in repr(found)


def test_what_python_raises_comes_out(host: domio.Scenario) -> None:
    class Raises(RoundRobin):
        name = "py-raises"

        def wake(self, host: Any, vcpu: int, why: str) -> None:
            raise KeyError("lost")

    class Answers(RoundRobin):
        name = "py-answers"

        def schedule(self, *args: Any) -> Any:
            return "web"

    class Picks(RoundRobin):
        name = "py-picks"

        def schedule(self, host: Any, pcpu: int, *args: Any) -> Any:
            return (999, None)

    for policy, error, words in [
        (Raises, KeyError, "lost"),
        (Answers, TypeError, "schedule returned neither"),
        (Picks, domio.RunError, "py-picks"),
    ]:
        domio.register_policy(policy)
        with pytest.raises(error, match=words):
            domio.run(host.with_(**{"scheduler.policy": policy.name}))


def test_what_cannot_be_registered_is_told(host: domio.Scenario, tmp_path: Path) -> None:
    def made(**what: Any) -> type[domio.Policy]:
        return type("Made", (RoundRobin,), what)

    with pytest.raises(domio.DomioError, match="has a policy called"):
        domio.register_policy(made(name="credit"))
    with pytest.raises(domio.DomioError, match="has no name"):
        domio.register_policy(made(name=""))
    with pytest.raises(domio.DomioError, match="there is no promise"):
        domio.register_policy(made(name="py-x", promises=("speed",)))
    domio.register_policy(RoundRobin)
    own = host.with_(**{"scheduler.policy": "py-round-robin"})
    with pytest.raises(domio.DomioError, match="cannot be kept"):
        domio.run(own, results=tmp_path / "r.sqlite")
    with pytest.raises(domio.DomioError, match="cannot be kept"):
        axes = {"scheduler.policy": ["credit", "py-round-robin"]}
        domio.sweep(host, axes, results=tmp_path / "r.sqlite")
