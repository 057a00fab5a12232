#!/usr/bin/env python3
"""Decisions of Xen's own schedulers as vectors, which the project's tests compare without Xen's source. See README.md.

  vectors.py xen FOLDER                     Xen 4.17's decisions, and that domio's are the same
  vectors.py earlier FOLDER                 those of 4.14.6 and of what is left when changes are taken back (earlier.sh)
  vectors.py releases POLICY FOLDER VERSION...   domio's decisions under rules of other releases

A case is NAME.toml, a scenario, and NAME.txt: a line for each 50 ms of virtual time with decisions, with the start of
the time (ns), the number of decisions, and the FNV-1a hash (64 bits) of their lines, which are those of
testdata/decisions. At one instant the order of different pcpus means nothing: lines are in the order of pcpus then.
"""
import os, sys
import oracle
from scenarios import FEATURES, POLICIES, for_release, generate, write

TOPOLOGIES = ([1, 1, 1], [1, 2, 1], [2, 2, 1], [2, 2, 2])
SECONDS = 4
WINDOW = 50_000_000
STATES = {number: name for name, number in oracle.STATES.items()}


def fnv(text):
    h = 0xcbf29ce484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def line(x):
    def who(name):
        domain, vcpu = name.split(".")
        return "idle" if domain == "i" else f"d{domain}v{vcpu}"

    def length(ns):
        return "-" if ns < 0 else str(ns)

    if x[2] == "s":
        return f"{x[0]} p{x[1]} {who(x[3])} {STATES[x[5]]}, {who(x[4])} for {length(x[6])}"
    return f"{x[0]} p{x[1]} {who(x[3])} goes on for {length(x[4])}"


def windows(records):
    out = {}
    for x in records:
        out.setdefault(x[0] // WINDOW * WINDOW, []).append(line(x) + "\n")
    return "".join(f"{start} {len(lines)} {fnv(''.join(lines)):016x}\n" for start, lines in sorted(out.items()))


def keep(folder, name, s, records):
    os.makedirs(folder, exist_ok=True)
    write(s, f"{folder}/{name}")
    with open(f"{folder}/{name}.txt", "w") as f:
        f.write(windows(records))


def xen(folder):
    for policy in POLICIES:
        for topology in TOPOLOGIES:
            shape = "x".join(map(str, topology))
            kept = seed = 0
            # Where Xen leaves the order of one nanosecond open, domio may decide otherwise: no vector.
            while kept < 3:
                seed += 1
                s = generate(policy, seed, topology, SECONDS, set(FEATURES) - {"round"})
                r = oracle.compare(s, f"{oracle.WORK}/vector")
                if not r["identical"]:
                    print(f"{policy} {shape} seed {seed}: parts after {r['same']}", file=sys.stderr)
                    continue
                kept += 1
                keep(folder, f"{policy}-{shape}-{seed}", s, r["xen"])


# Releases whose rules Xen's own code decides by, oldest first, and the binary of each; the release after it.
EARLIER = {
    "credit2": [("4.10", "credit2-4.10", "4.11"), ("4.12", "credit2-4.12", "4.13"), ("4.13", "credit2-4.13", "4.14"),
                ("4.14", "credit2-4.14", "4.15"), ("4.15", "credit2-4.15", "4.16"), ("4.16", "credit2", "4.17")],
    "rtds": [("4.8", "rtds-4.8", "4.9"), ("4.9", "rtds-4.9", "4.10")],
}


def decided(s, stem):
    write(s, stem)
    records = sorted(oracle.domio_records(stem, False), key=lambda x: (x[0], x[1]))
    return [x for x in records if x[0] < s["duration"]]


def earlier(folder):
    """One host for each release, on which the release after it decides otherwise."""
    for policy, releases in EARLIER.items():
        for version, binary, later in releases:
            for seed in range(1, 2000):
                topology = TOPOLOGIES[2 + seed % 2]
                s = for_release(generate(policy, seed, topology, SECONDS, set(FEATURES) - {"round"}), version)
                stem = f"{oracle.WORK}/vector"
                ours = decided(s, stem)
                if ours == decided(dict(s, version=later), stem):
                    continue
                r = oracle.compare(s, stem, binary)
                if not r["identical"]:
                    print(f"{binary} seed {seed}: parts after {r['same']}", file=sys.stderr)
                    continue
                keep(folder, f"{policy}-{version}-{'x'.join(map(str, topology))}", s, r["xen"])
                break
            else:
                print(f"{version} and {later} of {policy}: no host on which they differ", file=sys.stderr)


def releases(policy, folder, versions):
    for n, version in enumerate(versions):
        for topology in (TOPOLOGIES[1 + n % 2], TOPOLOGIES[3]):
            # What no release lacks: options and affinities came later, and caps of credit2 with 4.10.
            s = generate(policy, 100 + n, topology, SECONDS, {"weight", "late", "yield", "pause", "set"} | ({"cap"} if policy == "credit" else set()))
            s["options"] = {}
            name = f"{policy}-{version}-{'x'.join(map(str, topology))}"
            stem = f"{oracle.WORK}/vector"
            write(s, stem)
            with open(stem + ".toml") as f:
                text = f.read().replace('host.xen = "4.17"', f'host.xen = "{version}"')
            text = text.replace(f'scheduler.policy = "{policy}"',
                                f'scheduler.policy = "{policy}"\nscheduler.version = "{version}"')
            with open(stem + ".toml", "w") as f:
                f.write(text)
            records = sorted(oracle.domio_records(stem, False), key=lambda x: (x[0], x[1]))
            keep(folder, name, s, [x for x in records if x[0] < s["duration"]])
            with open(f"{folder}/{name}.toml", "w") as f:
                f.write(text)


if __name__ == "__main__":
    os.makedirs(oracle.WORK, exist_ok=True)
    if sys.argv[1:2] == ["xen"] and len(sys.argv) == 3:
        xen(sys.argv[2])
    elif sys.argv[1:2] == ["earlier"] and len(sys.argv) == 3:
        earlier(sys.argv[2])
    elif sys.argv[1:2] == ["releases"] and len(sys.argv) > 4:
        releases(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(__doc__)
