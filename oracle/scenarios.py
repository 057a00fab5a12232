"""Random scenarios, and how they are written for both sides."""
import random

POLICIES = ("credit", "credit2", "rtds", "null", "arinc653")
FEATURES = "weight,cap,pin,soft,pause,set,repin,resoft,late,yield,hotplug,global,options,round".split(",")
RUNQUEUES = ("cpu", "core", "socket", "node", "all")
# Policies with a parameter `version`.
VERSIONED = ("credit", "credit2", "rtds")
# Keys of `[scheduler]`, what the harness calls them, and values to draw from.
OPTIONS = {
    "credit": {
        "tslice_ms": ("tslice_ms", [30, 30, 30, 10, 5, 1, 2, 17]),
        "ratelimit_us": ("ratelimit_us", [1000, 1000, 1000, 0, 100, 5000, 500]),
        "migration_delay_us": ("migr_us", [0, 0, 0, 1000, 500]),
        "smt_power_savings": ("smt", [False, False, False, True]),
    },
    "credit2": {
        "runqueue": ("runqueue", ["socket", "socket", "cpu", "core", "node", "all"]),
        "max_cpus_runqueue": ("max_cpus", [16, 16, 16, 1, 2, 3, 4]),
        "ratelimit_us": ("ratelimit_us", [1000, 1000, 1000, 0, 100, 5000, 500]),
        "migrate_resist_us": ("resist_us", [500, 500, 500, 0, 100, 2000]),
        "load_window_shift": ("window", [30, 30, 30, 26, 33, 20]),
        "load_precision_shift": ("precision", [18, 18, 18, 12, 6]),
        "balance_under": ("under", [0, 0, 0, -2, 1]),
        "balance_over": ("over", [-3, -3, -3, 0, -1]),
        "cap_period_ms": ("cap_ms", [10, 10, 10, 3, 30]),
        "smt_power_savings": ("smt", [False, False, False, True]),
    },
    # As long as the entries, or long enough for all of them.
    "arinc653": {"major_frame_us": ("major_us", [0, 0, 1_500_000])},
}


def for_release(s, version):
    """The scenario `s` under the rules of release `version`, without what that does not have. Before 4.14 pcpus that
    come back are not compared: what takes the change back (earlier.sh) does not know of numbers in between."""
    old = tuple(map(int, version.split("."))) < (4, 14)
    s = dict(s, version=version, options=dict(s["options"]))
    if old:
        s["options"].pop("max_cpus_runqueue", None)
        s["actions"] = [a for a in s["actions"] if a[1] not in ("off", "on")]
    return s


def log_uniform(r, low, high):
    return int(low * (high / low) ** r.random())


def random_tasks(r, features):
    k = r.random()
    if k < 0.5:
        tasks = []
        for _ in range(r.choice([1, 1, 2, 3])):
            period = log_uniform(r, 700_000, 200_000_000)
            share = r.choice([0.02, 0.1, 0.3, 0.6]) * r.uniform(0.5, 1.5)
            tasks.append(["periodic", period, r.randrange(1, period), max(1000, int(period * share))])
        return tasks
    if k < 0.58 and "yield" in features:
        return [["yield", log_uniform(r, 50_000, 20_000_000)]]
    if k < 0.95:
        return [["onoff", log_uniform(r, 20_000, 80_000_000), log_uniform(r, 50_000, 150_000_000)]]
    return [["compute", log_uniform(r, 1_000_000, 8_000_000_000)]]


def params(r, policy, features, vcpus, some):
    if policy in ("credit", "credit2"):
        p = {"weight": 256, "cap": 0}
        if "weight" in features and r.random() < 0.6:
            p["weight"] = r.randint(64, 1024) if r.random() < 0.8 else r.randint(1, 65535)
        if "cap" in features and some and r.random() < 0.5:
            p["cap"] = r.randint(5, 100) if r.random() < 0.7 else r.randint(50, 100 * vcpus)
        return p
    if policy == "rtds":
        period = log_uniform(r, 500, 200_000)
        return {"period_us": period, "budget_us": max(10, int(period * r.uniform(0.02, 0.6))),
                "extratime": r.random() < 0.6}
    if policy == "arinc653":
        return {"runtime_us": log_uniform(r, 300, 60_000)}
    return {}


def generate(policy, seed, topology, seconds, features):
    r = random.Random(f"{seed}/{'x'.join(map(str, topology))}/{policy}")
    pcpus = topology[0] * topology[1] * topology[2]
    full = (1 << pcpus) - 1
    if policy == "arinc653":
        # Xen 4.17 does not ask for the affinity of a vcpu there, and domio does.
        features = features - {"pin", "repin"}
    s = {"policy": policy, "seed": seed, "topology": topology, "duration": seconds * 1_000_000_000,
         "options": {}, "domains": [], "actions": []}
    for key, (_, values) in OPTIONS.get(policy, {}).items():
        value = r.choice(values)
        if "options" in features or key == "ratelimit_us":
            s["options"][key] = value
    if policy == "credit":
        o = s["options"]
        o["ratelimit_us"] = min(o["ratelimit_us"], o.get("tslice_ms", 30) * 1000)
    # Pcpus that go and come. Whoever is pinned may use one that stays.
    going = []
    if "hotplug" in features and pcpus > 1 and r.random() < 0.3:
        going = r.sample(range(pcpus), r.randint(1, pcpus - 1))
    staying = [p for p in range(pcpus) if p not in going]

    def mask():
        m = r.randint(1, full)
        return m if not going or any(m >> p & 1 for p in staying) else m | 1 << r.choice(staying)

    pin_some = "pin" in features and r.random() < 0.35
    soft_some = "soft" in features and r.random() < 0.35
    cap_some = r.random() < 0.5
    total = 0
    for i in range(r.randint(2, 12)):
        nv = min(r.choice([1, 1, 1, 2, 3, 4]) if pcpus > 1 else r.choice([1, 1, 1, 1, 2]), 24 - total)
        if nv < 1:
            break
        total += nv
        d = {"id": i + 1, "start": r.randrange(100_000, 150_000_000), "hard": full, "soft": full}
        d["params"] = params(r, policy, features, nv, cap_some)
        if "late" in features and r.random() < 0.4:
            d["start"] = r.randrange(1_000_000, max(2_000_000, s["duration"] - 1_000_000_000))
            if r.random() < 0.7:
                d["stop"] = r.randrange(d["start"] + 200_000_000, max(d["start"] + 200_000_001, s["duration"]))
        if pin_some and r.random() < 0.4:
            d["hard"] = mask()
        if soft_some and r.random() < 0.4:
            d["soft"] = r.randint(1, full)
        burner = r.random() < 0.45
        d["vcpus"] = []
        for _ in range(nv):
            b = burner if r.random() < 0.8 else not burner
            d["vcpus"].append([["burn"]] if b else random_tasks(r, features))
        s["domains"].append(d)

    def moment(d):
        low = max(200_000_000, d["start"] + 1)
        return r.randrange(low, max(low + 1, d.get("stop", s["duration"])))

    if "pause" in features and r.random() < 0.4:
        for _ in range(r.randint(1, 4)):
            d = r.choice(s["domains"])
            at = moment(d)
            s["actions"].append([at, "pause", d["id"]])
            until = at + log_uniform(r, 100_000, 500_000_000)
            if until < d.get("stop", 1 << 62):
                s["actions"].append([until, "unpause", d["id"]])
    if "set" in features and policy != "null" and r.random() < 0.4:
        for _ in range(r.randint(1, 4)):
            d = r.choice(s["domains"])
            s["actions"].append([moment(d), "set", d["id"], params(r, policy, features, len(d["vcpus"]), True)])
    if "repin" in features and r.random() < 0.3:
        for _ in range(r.randint(1, 5)):
            d = r.choice(s["domains"])
            s["actions"].append([moment(d), "pin", d["id"], r.randrange(len(d["vcpus"])), mask(), 0])
    if "repin" in features and "resoft" in features and r.random() < 0.15:
        d = r.choice(s["domains"])
        s["actions"].append([moment(d), "pin", d["id"], r.randrange(len(d["vcpus"])), mask(), r.randint(1, full)])
    if "resoft" in features and r.random() < 0.3:
        for _ in range(r.randint(1, 5)):
            d = r.choice(s["domains"])
            s["actions"].append([moment(d), "pin", d["id"], r.randrange(len(d["vcpus"])), 0, r.randint(1, full)])
    if "global" in features and policy in ("credit", "credit2") and r.random() < 0.25:
        for _ in range(r.randint(1, 3)):
            limit = r.choice([0, 100, 500, 1000, 4000])
            if policy == "credit":
                limit = min(limit, s["options"].get("tslice_ms", 30) * 1000)
            s["actions"].append([r.randrange(200_000_000, s["duration"]), "global", 0, {"ratelimit_us": limit}])
    for p in going:
        at = r.randrange(50_000_000, s["duration"])
        while at < s["duration"]:
            s["actions"].append([at, "off", p])
            at += log_uniform(r, 1_000_000, 3_000_000_000)
            s["actions"].append([at, "on", p])
            at += log_uniform(r, 1_000_000, 20_000_000_000)
    s["actions"] = [a for a in s["actions"] if a[0] < s["duration"]]
    s["actions"].sort(key=lambda a: a[0])
    if "round" in features and r.random() < 0.25:
        coarse(s, r.choice([100_000, 500_000, 1_000_000]))
    return s


def coarse(s, step):
    """Times become multiples of `step`, so that many things happen at one instant."""
    def near(t):
        return max(step, t // step * step)

    for d in s["domains"]:
        d["start"] = near(d["start"])
        if "stop" in d:
            d["stop"] = max(near(d["stop"]), d["start"] + step)
        for tasks in d["vcpus"]:
            # The turns that several tasks take are domio's, and would end at other places here.
            del tasks[1:]
            for x in tasks:
                x[1:] = [near(t) for t in x[1:]]
                if x[0] == "periodic" and x[3] > x[1]:
                    x[3] = x[1]
    for a in s["actions"]:
        a[0] = near(a[0])
    # What is at one instant comes in the order of the list; a domain has to be there.
    there = {d["id"]: (d["start"], d.get("stop", 1 << 62)) for d in s["domains"]}
    s["actions"] = [a for a in s["actions"] if a[1] in ("on", "off", "global")
                    or there[a[2]][0] < a[0] < there[a[2]][1]]


def toml_value(v):
    return f'"{v}"' if isinstance(v, str) else str(v).lower() if isinstance(v, bool) else str(v)


def ours_value(v):
    return RUNQUEUES.index(v) if isinstance(v, str) else int(v)


def cpus(mask):
    return "[" + ", ".join(str(i) for i in range(64) if mask >> i & 1) + "]"


def write(s, stem):
    """STEM.toml for domio, STEM.txt for the harness."""
    so, co, th = s["topology"]
    full = (1 << (so * co * th)) - 1
    policy = s["policy"]
    t = [f"run.duration_ns = {s['duration']}", 'host.xen = "4.17"', f"host.sockets = {so}", f"host.cores = {co}",
         f"host.threads = {th}", f'scheduler.policy = "{policy}"']
    if s.get("version") and policy in VERSIONED:
        t.append(f'scheduler.version = "{s["version"]}"')
    o = [f"topology {so} {co} {th}", f"duration {s['duration']}"]
    for key, value in s["options"].items():
        t.append(f"scheduler.{key} = {toml_value(value)}")
        o.append(f"{OPTIONS[policy][key][0]} {ours_value(value)}")
    if "tie" in s:
        o.append(f"tie {s['tie']}")
    o += [f"order {at} {draw}" for at, draw in s.get("orders", [])]
    for d in s["domains"]:
        t += ["[[domain]]", f'name = "d{d["id"]}"', f"id = {d['id']}", f"vcpus = {len(d['vcpus'])}",
              f"start_ns = {d['start']}"]
        t += [f"{k} = {toml_value(v)}" for k, v in d["params"].items()]
        o.append(" ".join(map(str, ["domain", d["id"], d["start"], len(d["vcpus"])] + list(map(int, d["params"].values())))))
        if "stop" in d:
            t.append(f"stop_ns = {d['stop']}")
            o.append(f"action {d['stop']} stop {d['id']}")
        if d["hard"] != full:
            t.append(f"pin = {cpus(d['hard'])}")
        if d["soft"] != full:
            t.append(f"soft = {cpus(d['soft'])}")
        for i, tasks in enumerate(d["vcpus"]):
            wide = [m if m != full else (1 << 64) - 1 for m in (d["hard"], d["soft"])]
            if wide != [(1 << 64) - 1] * 2:
                o.append(f"affinity {d['id']} {i} {wide[0]:x} {wide[1]:x}")
            for k, x in enumerate(tasks):
                t += ["[[domain.task]]", f'name = "t{i}_{k}"', f"vcpu = {i}"]
                if x[0] == "burn":
                    t.append('workload = "burn"')
                    o.append(f"task {d['id']} {i} burn")
                elif x[0] == "periodic":
                    t += ['workload = "periodic"', f"period_ns = {x[1]}", f"phase_ns = {x[2]}", f"burst_ns = {x[3]}"]
                    o.append(f"task {d['id']} {i} periodic {x[1]} {x[2]} {x[3]}")
                elif x[0] == "onoff":
                    t += ['workload = "on-off"', f"on_ns = {x[1]}", f"off_ns = {x[2]}"]
                    o.append(f"task {d['id']} {i} onoff {x[1]} {x[2]}")
                elif x[0] == "yield":
                    t += ['workload = "yield"', f"burst_ns = {x[1]}"]
                    o.append(f"task {d['id']} {i} yield {x[1]}")
                else:
                    t += ['workload = "compute"', f"work_ns = {x[1]}"]
                    o.append(f"task {d['id']} {i} work {x[1]}")
    now = dict(s["options"])
    for a in s["actions"]:
        at, what = a[0], a[1]
        t += ["[[action]]", f"at_ns = {at}"]
        if what in ("off", "on"):
            t += [f'do = "pcpu-{what}line"', f"pcpu = {a[2]}"]
            o.append(f"action {at} {what} {a[2]}")
        elif what == "global":
            now.update(a[3])
            t += ['do = "set-policy"'] + [f"{k} = {v}" for k, v in a[3].items()]
            o.append(f"action {at} global {now.get('tslice_ms', 30)} {now.get('ratelimit_us', 1000)} "
                     f"{now.get('migration_delay_us', 0)}")
        else:
            t += [f'do = "{what}"', f'domain = "d{a[2]}"']
            if what == "set":
                t += [f"{k} = {toml_value(v)}" for k, v in a[3].items()]
                o.append(" ".join(map(str, ["action", at, "set", a[2]] + list(map(int, a[3].values())))))
            elif what == "pin":
                t.append(f"vcpu = {a[3]}")
                t += [f"pin = {cpus(a[4])}"] if a[4] else []
                t += [f"soft = {cpus(a[5])}"] if a[5] else []
                o.append(f"action {at} pin {a[2]} {a[3]} {a[4]:x} {a[5]:x}")
            else:
                o.append(f"action {at} {what} {a[2]}")
    with open(stem + ".toml", "w") as f:
        f.write("\n".join(t) + "\n")
    with open(stem + ".txt", "w") as f:
        f.write("\n".join(o) + "\n")
