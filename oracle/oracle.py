#!/usr/bin/env python3
"""Xen's own schedulers against domio, decision by decision. See README.md.

  oracle.py sweep --policy credit2 --topology 1x2x1 --count 200 [--seed 1] [--seconds 30]
  oracle.py one FILE.json        compare one scenario and show where the two part
  oracle.py min FILE.json        make a scenario that diverges smaller
  oracle.py broken TREE          schedulers that are broken on purpose are noticed
"""
import argparse, copy, json, os, struct, subprocess, sys, time
from scenarios import FEATURES, POLICIES, for_release, generate, write

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ.get("ORACLE_BIN", "/tmp/oracle/bin")
DOMIO = os.environ.get("DOMIO", "domio")
WORK = os.environ.get("ORACLE_WORK", "/tmp/oracle/work")
STATES = {"running": 0, "runnable": 1, "blocked": 2, "offline": 3}
NONE = 0xFFFFFFFF


# ---- the two sides ---------------------------------------------------------------------------

def run(args, what, **kw):
    p = subprocess.run(args, stderr=subprocess.PIPE, text=True, **kw)
    if p.returncode:
        raise RuntimeError(f"{what}: {p.stderr.strip()[-800:]}")
    return p


def run_domio(stem):
    run([DOMIO, "run", stem + ".toml", "--trace", stem + ".domio", "--json", "--no-progress"], "domio",
        stdout=subprocess.DEVNULL)


def domio_records(stem, notes):
    run_domio(stem)
    wanted = "-vE ',(class|foreign),'" if notes else "-E ',sched,(switch|continue),'"
    p = run(f"{DOMIO} trace convert {stem}.domio --to csv-records | LC_ALL=C grep {wanted}", "domio", shell=True,
            stdout=subprocess.PIPE)
    private = private_records(stem) if notes else {}
    out = []
    os.remove(stem + ".domio")

    def name(vcpu):
        domain, index = vcpu.split("v")
        return f"i.{index}" if domain == "idle" else f"{domain[1:]}.{index}"

    for line in p.stdout.splitlines():
        at, cpu, of, record, domain, vcpu, _, new, fields = line.split(",")
        if of != "sched":
            out.append((int(at), int(cpu), "n") + next(private[int(cpu)]))
            continue
        if record not in ("switch", "continue"):
            continue
        fields = dict(field.split("=") for field in fields.split(";"))
        slice = -1 if int(fields["slice_ns"]) == NONE else int(fields["slice_ns"])
        who = f"i.{vcpu}" if domain in ("32767", "idle") else f"{domain.lstrip('d')}.{vcpu}"
        if record == "switch":
            out.append((int(at), int(cpu), "s", who, name(fields["next"]), STATES[new], slice))
        else:
            out.append((int(at), int(cpu), "c", who, slice))
    return out


def private_records(stem):
    """Numbers and first three words of private records as Xen lays them out, in turn for each pcpu: by way of a xentrace
    file. Its times do not count, as it moves records of several pcpus that share a time."""
    run([DOMIO, "trace", "convert", stem + ".domio", "--to", "xentrace", "--output", stem + ".bin"], "domio",
        stdout=subprocess.DEVNULL)
    with open(stem + ".bin", "rb") as f:
        data = f.read()
    os.remove(stem + ".bin")
    out, at, cpu = {}, 0, 0
    while at < len(data):
        header, = struct.unpack_from("<I", data, at)
        event, extra, timed = header & 0xfffffff, header >> 28 & 7, header >> 31
        words = struct.unpack_from(f"<{2 * timed + extra}I", data, at + 4)
        at += 4 + 4 * len(words)
        if event == 0x1f003:
            cpu = words[0]
        elif event & ~0xfff == 0x22000:
            out.setdefault(cpu, []).append((event & 0x1ff,) + words[2:5])
    return {pcpu: iter(records) for pcpu, records in out.items()}


def xen_records(stem, binary, notes):
    p = run([f"{BIN}/oracle-{binary}"] + (["-n"] if notes else []) + [stem + ".txt"], "oracle", stdout=subprocess.PIPE)
    out = []
    for line in p.stdout.splitlines():
        f = line.split()
        if f[0] == "s":
            out.append((int(f[1]), int(f[2]), "s", f[3], f[4], int(f[5]), int(f[6])))
        elif f[0] == "c":
            out.append((int(f[1]), int(f[2]), "c", f[3], int(f[4])))
        elif f[0] == "n":
            out.append((int(f[1]), int(f[2]), "n") + tuple(int(x) for x in f[3:]))
    return out


def quick(s, stem, binary, trace):
    """Whether both make the same decisions in the same order, and how many before they part."""
    write(s, stem)
    with open(stem + ".out", "w") as f:
        run([f"{BIN}/oracle-{binary}", stem + ".txt"], "oracle", stdout=f)
    if not trace or not os.path.exists(stem + ".domio"):
        run_domio(stem)
    r = run([f"{BIN}/same", stem + ".domio", stem + ".out", str(s["duration"])], "same", stdout=subprocess.PIPE)
    os.remove(stem + ".out")
    word, n = r.stdout.split()
    return word == "same", int(n)


def compare(s, stem, binary=None, notes=False, ours=None):
    """`ours`: what domio decides, if that is known already."""
    def in_order(records):
        # At one instant the order of different pcpus does not matter.
        return [x for x in sorted(records, key=lambda x: (x[0], x[1])) if x[0] < s["duration"]]

    write(s, stem)
    a = ours or in_order(domio_records(stem, notes))
    b = in_order(xen_records(stem, binary or s["policy"], notes))
    same = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return {"identical": same == len(a) == len(b), "same": same, "domio": a, "xen": b}


def show(r, before=12, after=6):
    i, a, b = r["same"], r["domio"], r["xen"]
    for k in range(max(0, i - before), i):
        print("    both ", *a[k])
    for k in range(i, min(i + after, max(len(a), len(b)))):
        print("    domio", *(a[k] if k < len(a) else ["-"]))
        print("    xen  ", *(b[k] if k < len(b) else ["-"]))
    sys.stdout.flush()


def parts_at(r):
    return min(x[r["same"]][0] for x in (r["domio"], r["xen"]) if r["same"] < len(x))


def steer(s, stem, binary, r):
    """Xen leaves to chance in which order independent pcpus do what they do at one nanosecond. Looks for the order
    of events, at the instant where the two part or at one before it, with which Xen goes on like domio, and so on to
    the end. Returns the comparison, and at how many instants the order was turned."""
    s = dict(s, orders=[])
    while not r["identical"] and len(s["orders"]) < 100:
        at = parts_at(r)
        both = r["xen"][max(0, r["same"] - 6000):r["same"]]
        shared = {x[0] for x, y in zip(both, both[1:]) if x[0] == y[0] and x[1] != y[1]}
        earlier = sorted(shared - {at}, reverse=True)[:400]
        # Two timers of one pcpu leave one decision at most: where nothing else helps, any instant may have had more
        # events than are seen.
        earlier += sorted({x[0] for x in both} - shared - {at}, reverse=True)[:200]
        for when, draw in [(at, d) for d in range(1, 33)] + [(w, d) for w in earlier for d in range(1, 7)]:
            c = dict(s, orders=[o for o in s["orders"] if o[0] != when] + [[when, draw]])
            better = compare(c, stem, binary, ours=r["domio"])
            if better["identical"] or parts_at(better) > at:
                s, r = c, better
                break
        else:
            break
    return r, len(s["orders"])


# ---- commands --------------------------------------------------------------------------------

def sweep(o):
    os.makedirs(WORK, exist_ok=True)
    topology = [int(x) for x in o.topology.split("x")]
    features = set(o.features.split(",")) if o.features else set()
    binary = o.binary or o.policy
    n = ok = decisions = identical = errors = ties = orders = 0
    bad = []
    t0 = time.time()
    stem = f"{WORK}/sweep-{binary}-{o.topology}-{os.getpid()}"
    for seed in range(o.seed, o.seed + o.count):
        s = generate(o.policy, seed, topology, o.seconds, features)
        if o.version:
            s = for_release(s, o.version)
        try:
            same, count = quick(s, stem, binary, False)
            tie = 0
            while not same and tie < 6 and not o.no_ties:
                # Two events of one nanosecond: Xen leaves their order to chance, and either is right.
                tie += 1
                same, count = quick(dict(s, tie=tie), stem, binary, True)
            if not same:
                # As good: the same decisions, with those of one nanosecond in another order of pcpus.
                r = compare(s, stem, binary)
                same, count = r["identical"], len(r["xen"])
                if not same and not o.no_ties:
                    r, turned = steer(s, stem, binary, r)
                    same, count = r["identical"], len(r["xen"])
                    orders += turned if same else 0
            ties += same and tie > 0
        except RuntimeError as e:
            errors += 1
            bad.append(seed)
            if errors <= 2:
                print(f"  seed {seed}: {str(e)[-300:]}", flush=True)
            continue
        finally:
            if os.path.exists(stem + ".domio"):
                os.remove(stem + ".domio")
        n += 1
        decisions += count
        if same:
            ok += 1
            identical += count
            continue
        identical += r["same"]
        bad.append(seed)
        if o.first_only:
            break
        path = f"{WORK}/bad-{binary}-{o.topology}-{seed}.json"
        with open(path, "w") as f:
            json.dump(s, f)
        if not o.quiet and (o.verbose or len(bad) <= 2):
            print(f"  seed {seed}: after {r['same']} of {count} decisions, {parts_at(r) / 1e9:.9f} s; {path}")
            show(r, 4, 2)
    result = {"policy": binary, "topology": o.topology, "seconds": o.seconds, "scenarios": n, "identical": ok,
              "ties": ties, "orders": orders, "decisions": decisions, "same": identical, "errors": errors, "bad": bad[:20],
              "wall": round(time.time() - t0, 1)}
    if not o.quiet:
        print(json.dumps(result), flush=True)
    return result


def one(o):
    os.makedirs(WORK, exist_ok=True)
    with open(o.file) as f:
        s = json.load(f)
    stem = f"{WORK}/one-{os.getpid()}"
    r = compare(s, stem, o.binary, o.notes)
    if not r["identical"] and not o.no_ties:
        r, turned = steer(s, stem, o.binary or s["policy"], r)
        print(f"with the order of events at {turned} instants turned:")
    print("identical" if r["identical"] else "differs", r["same"], "of", len(r["xen"]))
    if not r["identical"]:
        show(r, o.before, 8)
    return r["identical"]


def smaller(s):
    """Scenarios with a little less in them."""
    for i in reversed(range(len(s["actions"]))):
        c = copy.deepcopy(s)
        del c["actions"][i]
        yield c
    for i in reversed(range(len(s["domains"]))):
        if len(s["domains"]) > 1:
            c = copy.deepcopy(s)
            gone = c["domains"].pop(i)["id"]
            c["actions"] = [a for a in c["actions"] if a[1] in ("global", "on", "off") or a[2] != gone]
            yield c
    full = (1 << (s["topology"][0] * s["topology"][1] * s["topology"][2])) - 1
    for d, domain in enumerate(s["domains"]):
        pinned = any(a[1] == "pin" and a[2] == domain["id"] for a in s["actions"])
        for k in reversed(range(len(domain["vcpus"]))):
            if len(domain["vcpus"]) > 1 and not pinned:
                c = copy.deepcopy(s)
                del c["domains"][d]["vcpus"][k]
                yield c
            if domain["vcpus"][k] != [["burn"]]:
                c = copy.deepcopy(s)
                c["domains"][d]["vcpus"][k] = [["burn"]]
                yield c
                for t in range(len(domain["vcpus"][k])):
                    if len(domain["vcpus"][k]) > 1:
                        c = copy.deepcopy(s)
                        del c["domains"][d]["vcpus"][k][t]
                        yield c
        for key in ("hard", "soft"):
            if domain[key] != full:
                c = copy.deepcopy(s)
                c["domains"][d][key] = full
                yield c
        for key, plain in (("weight", 256), ("cap", 0)):
            if domain["params"].get(key, plain) != plain:
                c = copy.deepcopy(s)
                c["domains"][d]["params"][key] = plain
                yield c
    for key in s["options"]:
        c = copy.deepcopy(s)
        del c["options"][key]
        yield c


def minimise(o):
    os.makedirs(WORK, exist_ok=True)
    with open(o.file) as f:
        s = json.load(f)
    stem = f"{WORK}/min-{os.getpid()}"
    r = compare(s, stem)
    if r["identical"]:
        print("identical")
        return True

    def cut(s, r):
        s["duration"] = parts_at(r) + 1_000_000
        s["actions"] = [a for a in s["actions"] if a[0] < s["duration"]]
        s["domains"] = [d for d in s["domains"] if d["start"] < s["duration"]]
        for d in s["domains"]:
            if d.get("stop", 0) > s["duration"]:
                del d["stop"]
        return s

    s = cut(s, r)
    changed = True
    while changed:
        changed = False
        for c in smaller(s):
            try:
                r = compare(c, stem)
            except RuntimeError:
                continue
            if not r["identical"]:
                s, changed = cut(c, r), True
                break
    path = o.file.replace(".json", "-min")
    write(s, path)
    with open(path + ".json", "w") as f:
        json.dump(s, f)
    print(open(path + ".toml").read())
    show(compare(s, stem), 20, 4)
    return False


# One constant or comparison of each scheduler, as somebody might get it wrong.
BROKEN = {
    "credit": [("boost", r"s/svc->pri = CSCHED_PRI_TS_BOOST;/svc->pri = CSCHED_PRI_TS_UNDER;/"),
               ("credit-max", r"s/if \( credit > prv->credits_per_tslice \)/if ( credit > 2 * prv->credits_per_tslice )/")],
    "credit2": [("carry-over", r"s/(CSCHED2_CARRYOVER_MAX +)CSCHED2_MIN_TIMER/\1MICROSECS(499)/"),
                ("queue-order", r"s/svc->credit > iter_svc->credit/svc->credit >= iter_svc->credit/"),
                ("compensation", r"s/(CSCHED2_MIGRATE_COMPENSATION) MICROSECS\(50\)/\1 MICROSECS(51)/"),
                ("quota", r"s/sdom->tot_budget \/ sdom->nr_units,/sdom->tot_budget,/")],
    "rtds": [("deadline", r"s/return v2->cur_deadline - v1->cur_deadline;/return v2->cur_deadline - v1->cur_deadline + 1;/"),
             ("level", r"s/svc->priority_level\+\+;/;/")],
    "null": [("queue", r"s/list_add_tail\(&nvc->waitq_elem, &prv->waitq\)/list_add(\&nvc->waitq_elem, \&prv->waitq)/"),
             ("soft", r"s/bs == BALANCE_SOFT_AFFINITY &&/1 \&\& bs == BALANCE_SOFT_AFFINITY ||/")],
    "arinc653": [("frame", r"s/next_major_frame = now \+ sched_priv->major_frame/next_major_frame = now + sched_priv->major_frame + 1/")],
}


def broken(o):
    """Builds each broken scheduler and sees that some scenario tells it from domio's."""
    passed = True
    for policy, breaks in BROKEN.items():
        if o.only and policy not in o.only.split(","):
            continue
        for name, expression in breaks:
            subprocess.run([f"{HERE}/build.sh", o.file, BIN, policy], check=True,
                           env=dict(os.environ, BREAK=expression, AS=name))
            noticed = None
            for topology in ("2x2x1", "1x1x1"):
                c = argparse.Namespace(**vars(o))
                c.policy, c.topology, c.binary = policy, topology, f"{policy}-{name}"
                c.quiet = c.first_only = c.no_ties = True
                r = sweep(c)
                if r["scenarios"] > r["identical"]:
                    # The scheduler as it is decides like domio there.
                    c.binary, c.seed, c.count, c.no_ties = policy, r["bad"][-1], 1, False
                    if not sweep(c)["bad"]:
                        noticed = f"{topology}, seed {c.seed}"
                        break
            print(f"{policy} with {name} broken: {'noticed, ' + noticed if noticed else 'NOT NOTICED'}", flush=True)
            passed &= noticed is not None
    return passed


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("command", choices=["sweep", "one", "min", "broken"])
    p.add_argument("file", nargs="?", help="a scenario, or the tree of Xen")
    p.add_argument("--policy", default="credit2", choices=POLICIES)
    p.add_argument("--binary", help="another build of the policy: oracle-BINARY")
    p.add_argument("--version", help="the release whose rules domio has, where not the default")
    p.add_argument("--only", help="policies to break, all of them without")
    p.add_argument("--topology", default="1x1x1", help="sockets x cores x threads")
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=int, default=30)
    p.add_argument("--features", default=",".join(FEATURES))
    p.add_argument("--notes", action="store_true", help="compare private trace records as well")
    p.add_argument("--before", type=int, default=14)
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--quiet", action="store_true")
    p.add_argument("--no-ties", action="store_true", help="only the order of posting")
    p.add_argument("--first-only", action="store_true", help="end at the first difference")
    o = p.parse_args()
    result = {"sweep": sweep, "one": one, "min": minimise, "broken": broken}[o.command](o)
    good = result if isinstance(result, bool) else not result["bad"]
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
