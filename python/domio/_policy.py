"""Policies written in Python, for trying out.

They are slow: each decision calls Python, and what the host is like is copied for it. A host that
domio simulates in a second takes a minute or more. A policy that proves itself is written in Rust
(`CONTRIBUTING.md`, "A new policy").
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from domio import _domio
from domio._domio import Host as Host


class Policy:
    """A scheduling policy. Derive a class, give it a name, and pass it to
    :func:`register_policy`; scenarios ask for it by ``scheduler.policy``.

    Vcpus, pcpus and domains are numbers. The order of calls is that of domio's own policies: a vcpu
    is inserted, gets a pcpu by :meth:`pick_pcpu`, wakes; :meth:`schedule` picks it, and is called
    again when its slice is over, when it blocks, or when somebody tickled its pcpu. A vcpu that runs
    and is still runnable when another is picked has to be queued by :meth:`schedule`.

    An object is made for each run. All that it keeps is its own; nothing may come from a clock, from
    ``random`` or from outside, so that a run repeats itself.
    """

    name: ClassVar[str] = ""
    """Name in scenarios."""
    summary: ClassVar[str] = ""
    """One line about it."""
    promises: ClassVar[Sequence[str]] = ()
    """What the conformance suite holds it to, beyond the contract: "work_conserving", "balances",
    "starvation_free", "weights"."""
    params: ClassVar[Mapping[str, int]] = {}
    """Parameters with their defaults: whole numbers from 0 on, keys of ``scheduler``."""
    domain_params: ClassVar[Mapping[str, int]] = {}
    """Parameters of each domain with their defaults."""

    def __init__(self, pcpus: int, params: Mapping[str, int]) -> None:
        """For a host of so many pcpus."""

    def pcpu_online(self, host: Host, pcpu: int) -> None:
        """``pcpu`` joins, idle."""

    def pcpu_offline(self, host: Host, pcpu: int) -> None:
        """``pcpu`` leaves. It idles, and no vcpu belongs to it any more."""

    def set_domain(self, host: Host, domain: int, params: Mapping[str, int]) -> None:
        """``domain`` has these parameters from now on; comes before its first vcpu."""

    def insert(self, host: Host, vcpu: int) -> None:
        """``vcpu`` is known from now on, and not runnable yet."""

    def remove(self, host: Host, vcpu: int) -> None:
        """``vcpu`` is gone. It is neither queued nor running."""

    def pick_pcpu(self, host: Host, vcpu: int) -> int:
        """The pcpu that ``vcpu``, which is neither queued nor running, belongs to from now on: one
        of ``host.allowed(vcpu)``."""
        return host.allowed(vcpu)[0]

    def wake(self, host: Host, vcpu: int, why: str) -> None:
        """``vcpu`` became runnable ("event", "unpause" or "migrate"): queue it, and tickle the pcpu
        that is to run it. It may be current or queued already; the call counts for nothing then."""
        raise NotImplementedError

    def sleep(self, host: Host, vcpu: int) -> None:
        """The host paused ``vcpu``: tickle its pcpu if it is current, else take it off the queue."""
        raise NotImplementedError

    def yielded(self, host: Host, vcpu: int) -> None:
        """``vcpu``, which is current, asked to be passed over; ``schedule`` follows."""

    def schedule(
        self, host: Host, pcpu: int, prev: int | None, ran_ns: int, why: str
    ) -> tuple[int, int | None] | None:
        """The vcpu that runs next on ``pcpu``, and for how many nanoseconds at most (``None``:
        no limit); ``None`` to idle.

        ``prev`` ran until now, for ``ran_ns``; ``None`` if the pcpu idled. It stopped for ``why``:
        "slice", "not_runnable", "yielded" or "tickled".
        """
        raise NotImplementedError

    def context_saved(self, host: Host, vcpu: int) -> None:
        """``vcpu`` was switched out, and another pcpu may run it from now on."""


def register_policy(policy: type[Policy]) -> type[Policy]:
    """Makes a policy known to scenarios of this process, by its name; also as a decorator.

    A class with the name of an earlier one takes its place. What it gives is never kept, and it runs
    on no cluster: other processes do not have it.
    """
    _domio.register_policy(policy)
    return policy


class Conformance:
    """What the conformance suite found."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.json = found
        """What ``domio policy check --json`` prints."""

    @property
    def passes(self) -> bool:
        """Whether no check failed."""
        return bool(self.json["passes"])

    @property
    def failed(self) -> dict[str, str]:
        """Checks that failed, each with its first finding."""
        checks = self.json["checks"]
        return {c["name"]: c["first"]["message"] for c in checks if c["result"] == "fails"}

    def __bool__(self) -> bool:
        return self.passes

    def __repr__(self) -> str:
        verdict = "passes" if self.passes else f"fails {', '.join(self.failed)}"
        return f"<domio.Conformance: {self.json['policy']} {verdict}>"


def check_policy(
    policy: str | type[Policy], *, scripts: int = 20, orders: bool = True
) -> Conformance:
    """Holds a policy to the conformance suite, as ``domio policy check`` does.

    Parameters
    ----------
    policy
        A class, which is registered, or the name of any policy.
    scripts
        Random scripts, in addition to the hand-written ones.
    orders
        Whether all orders of a few events are tried as well.
    """
    if not isinstance(policy, str):
        register_policy(policy)
        policy = policy.name
    return Conformance(json.loads(_domio.check_policy(policy, scripts, orders)))
