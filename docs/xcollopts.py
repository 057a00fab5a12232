#!/usr/bin/env python3
"""Which of the four switches of Zeng and others (2015) help on which host.

Sweeps three shipped scenarios over numbers of guests and cores, with every combination of the
switches under credit, and of those that credit2 knows under credit2. Writes what came out into
docs/xcollopts.md, between two marks, and into docs/images. With --small a few hosts are swept, and
the results go into out/xcollopts alone. Needs the release build, or the program in $DOMIO.
"""

import csv
import doctest
import itertools
import math
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "out/xcollopts"
PAGE = ROOT / "docs/xcollopts.md"
MARKS = ["<!-- begin: docs/xcollopts.py -->", "<!-- end: docs/xcollopts.py -->"]

# Name, key, and values off and on; N is the number of cores. The order is that of the bits.
SWITCHES = [
    ("LB", "scheduler.boost_balance", "false", "true"),
    ("P3", "scheduler.dispatch_vector", "off", "bit"),
    ("MTP", "network.netback_threads", "1", "N"),
    ("SDP", "network.small_packets", "grants", "pool"),
]
# Name, settings that choose the policy, and the switches that it knows.
POLICIES = [
    ("credit", [], [0, 1, 2, 3]),
    ("credit2", ["host.xen=4.17", "scheduler.version=4.17", "scheduler.policy=credit2"], [2, 3]),
]
# Column, title, word in names of files, and whether more is better. Figures of guests are added
# where more is better, and averaged otherwise. A guest that receives nothing has no throughput;
# pings without an answer have no round trip at all.
RATE = ("net_mbps", "throughput", "rate", True)
TRIP = ("ping_p99_ms", "round trip, 99 %", "trip", False)
# Name, title, what else is set to the number of cores, measures.
LOADS = [
    ("streams", "Guests that receive streams", ["Domain-0"], [RATE]),
    ("pings", "Pings beside computation", ["Domain-0", "burner"], [TRIP]),
    ("mixed", "Streams, pings and computation", ["Domain-0"], [RATE, TRIP]),
]
# Cores of a socket.
SOCKET = 4
# 97.5 % of Student's distribution are below, by degrees of freedom from 1 on.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]
# Is added to rates, as `domio compare` does: a guest that gets a thousandth of nothing is not
# worth a change (Mb/s).
FLOOR = 1.0
STAR = "\\*"
# The host has no such switch; guests got no answer with or without the switch.
ABSENT, SILENT = "–", "none"


def effect(gains):
    """The mean of logarithms, one a replication, and half of the 95 % interval.

    >>> effect([0.1])
    (0.1, inf)
    >>> [round(x, 3) for x in effect([0.1, 0.3])]
    [0.2, 1.271]
    """
    n = len(gains)
    half = math.inf
    if n > 1:
        half = STUDENT[min(n - 1, len(STUDENT)) - 1] * statistics.stdev(gains) / math.sqrt(n)
    return statistics.fmean(gains), half


def percent(log):
    """In percent: +100 is twice as much, or half as long."""
    return (math.exp(log) - 1) * 100


def is_proven(change):
    """Whether the interval is on one side of nothing, and the gain is one percent at least:
    replications that are all alike prove any trifle.

    >>> is_proven((0.1, 0.05)), is_proven((0.1, 0.2)), is_proven((0.005, 0.0))
    (True, False, False)
    """
    mean, half = change
    return abs(mean) > half and abs(percent(mean)) >= 1


def words(change):
    """
    >>> words((math.log(2), 0.0))
    '+100 % (+100 to +100)'
    """
    mean, half = change
    return f"{percent(mean):+.0f} % ({percent(mean - half):+.0f} to {percent(mean + half):+.0f})"


def differences(before, after):
    return [b - a for a, b in zip(before, after)]


class Results:
    """A measure of a load under a policy: for each host, by guests and cores, and each combination
    of switches the replications, each with the logarithm of its gain or None, the number of guests
    without a figure, and the number of pings that were answered.

    >>> def row(rep, threads, small, trip):
    ...     return {"domain": "guest1", "replication": rep, "domain.guest.count": "2",
    ...             SWITCHES[2][1]: threads, SWITCHES[3][1]: small, TRIP[0]: trip,
    ...             "ping_replies": "7"}
    >>> trips = {("1", "grants"): "8", ("1", "pool"): "4", ("4", "grants"): "2"}
    >>> def results(trips):
    ...     found = Results(TRIP)
    ...     found.add(4, [row(r, *at, trip) for at, trip in trips.items() for r in "01"])
    ...     return found
    >>> full = results(trips | {("4", "pool"): "1"})
    >>> [words(full.of_switch((2, 4), bit)[0]) for bit in [2, 3]]
    ['+300 % (+300 to +300)', '+100 % (+100 to +100)']
    >>> full.of_switch((2, 4), 0), full.silent((2, 4)), full.best((2, 4))[0]
    ((None, '–'), {}, 12)

    A combination without answers counts nowhere.

    >>> some = results(trips | {("4", "pool"): ""})
    >>> words(some.of_switch((2, 4), 2)[0]), some.of_switch((2, 4), 2)[1]
    ('+300 % (+300 to +300)', '\\\\*')
    >>> some.silent((2, 4)), some.of_all((2, 4)), some.best((2, 4))[0]
    ({12: [(1, 7), (1, 7)]}, (None, 'none'), 4)
    """

    def __init__(self, measure):
        self.measure = measure
        self.hosts = {}

    def add(self, cores, rows):
        """Adds rows of hosts with so many cores: one a cell, replication and domain."""
        column, _, _, more = self.measure
        cells = {}
        for row in rows:
            if row["domain"].startswith("guest"):
                on = (row.get(key, off) != off for _, key, off, _ in SWITCHES)
                bits = sum(1 << bit for bit, is_on in enumerate(on) if is_on)
                place = (int(row["domain.guest.count"]), bits, int(row["replication"]))
                cells.setdefault(place, []).append(row)
        for (guests, bits, _), rows in sorted(cells.items()):
            figures = [float(row[column] or (0 if more else "nan")) for row in rows]
            silent = sum(map(math.isnan, figures))
            answered = sum(int(float(row.get("ping_replies") or 0)) for row in rows)
            log = None
            if not silent:
                # A mean of the guests with answers alone would reward that others have none.
                total = sum(figures)
                log = math.log(total + FLOOR) if more else -math.log(total / len(figures))
            host = self.hosts.setdefault((guests, cores), {})
            host.setdefault(bits, []).append((log, silent, answered))

    def logs(self, host, bits):
        """What each replication gained; None where one has no figure."""
        logs = [log for log, _, _ in self.hosts[host][bits]]
        return None if None in logs else logs

    def between(self, host, before, after):
        """What one combination changes against another, or None."""
        before, after = self.logs(host, before), self.logs(host, after)
        return effect(differences(before, after)) if before and after else None

    def of_switch(self, host, bit):
        """What a switch changes, over all combinations of the others alike that have figures with
        and without, and a star where some have none. In place of a change: why there is none."""
        pairs = [(bits ^ 1 << bit, bits) for bits in self.hosts[host] if bits >> bit & 1]
        logs = [(self.logs(host, a), self.logs(host, b)) for a, b in pairs]
        gains = [differences(a, b) for a, b in logs if a and b]
        if not gains:
            return None, SILENT if pairs else ABSENT
        star = "" if len(gains) == len(pairs) else STAR
        return effect([statistics.fmean(gain) for gain in zip(*gains)]), star

    def of_all(self, host):
        """What all switches change that the host has."""
        change = self.between(host, 0, max(self.hosts[host]))
        return change, "" if change else SILENT

    def silent(self, host):
        """Combinations with which guests got no answer in some replication, each with guests
        without a figure and pings answered, by replication."""
        found = self.hosts[host].items()
        return {b: [cell[1:] for cell in c] for b, c in found if self.logs(host, b) is None}

    def best(self, host):
        """The fewest switches that gain as much as any: of the combinations whose gains are proven,
        and of which none is proven to gain more, the one with the fewest switches, and of several
        the one with the largest gain. None where no gain is proven."""
        gains = {bits: self.between(host, 0, bits) for bits in self.hosts[host]}
        gains = {b: g for b, g in gains.items() if g and g[0] > 0 and is_proven(g)}
        if not gains:
            return None
        most = max(reversed(gains), key=lambda bits: gains[bits][0])

        def is_as_good(bits):
            less = self.between(host, bits, most)
            return bits == most or not is_proven(less)

        good = filter(is_as_good, gains)
        best = min(good, key=lambda bits: (bits.bit_count(), -gains[bits][0]))
        return best, gains[best]


def sweep(load, policy, cores, guests, replications):
    """The rows of the cells of one number of cores."""
    settings = [
        f"host.sockets={math.ceil(cores / SOCKET)}",
        f"host.cores={min(cores, SOCKET)}",
        f"domain.guest.count={','.join(map(str, guests))}",
        *(f"domain.{domain}.vcpus={cores}" for domain in load[2]),
        *policy[1],
    ]
    for bit in policy[2]:
        _, key, off, on = SWITCHES[bit]
        # On one vcpu there is nothing to spread: the switch has one position.
        values = dict.fromkeys([off, on.replace("N", str(cores))])
        settings.append(f"{key}={','.join(values)}")
    file = OUT / f"{load[0]}-{policy[0]}-{cores}.csv"
    command = [os.environ.get("DOMIO", ROOT / "target/release/domio"), "sweep"]
    command.append(f"scenarios/xcollopts-{load[0]}.toml")
    command += [word for setting in settings for word in ("--set", setting)]
    command += ["--replications", str(replications), "--force", "--quiet", "--output", file]
    subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=True)
    with open(file, newline="", encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


def name_of(bits):
    """
    >>> name_of(0), name_of(0b1010)
    ('none', 'P3+SDP')
    """
    names = [switch[0] for bit, switch in enumerate(SWITCHES) if bits >> bit & 1]
    return "+".join(names) or "none"


def counted(number, what):
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def size(host):
    return f"{counted(host[0], 'guest')}, {counted(host[1], 'core')}"


def span(numbers):
    """The least and the most, in words."""
    least, most = min(numbers, default=0), max(numbers, default=0)
    return str(least) if least == most else f"{least} to {most}"


def table(head, rows):
    rule = ["---"] * len(head)
    lines = ["|" + "|".join(rule) + "|" if row is rule else f"| {' | '.join(row)} |"
             for row in [head, rule, *rows]]
    return "\n".join(lines) + "\n\n"


def counts(results):
    """On how many hosts a switch helps and harms, and by how much at most."""
    rows = []
    for (policy, _, switches), found in zip(POLICIES, results):
        for bit in switches:
            changes = [(host, *found.of_switch(host, bit)) for host in hosts(found)]
            proven = [(change, star, host) for host, change, star in changes
                      if change and is_proven(change)]
            proven.sort(key=lambda one: one[0][0])
            helps = [one for one in proven if one[0][0] > 0]
            harms = [one for one in proven if one[0][0] < 0]
            most = [f"{size(host)}: {words(change)}{star}"
                    for change, star, host in helps[-1:]] or [ABSENT]
            least = [f"{size(host)}: {words(change)}{star}"
                     for change, star, host in harms[:1]] or [ABSENT]
            rows.append([policy, SWITCHES[bit][0], str(len(helps)), str(len(harms)), *most, *least])
    head = ["policy", "switch", "hosts where it helps", "harms", "most help", "most harm"]
    return table(head, rows)


def hosts(found):
    return sorted(found.hosts)


def best(found):
    """The fewest switches that gain as much as any, by host."""
    def cell(host):
        silent = found.silent(host)
        if 0 in silent:
            return f"no answers ({span([answered for _, answered in silent[0]])})"
        best = found.best(host)
        text = f"{name_of(best[0])} {words(best[1])}" if best else "none"
        return text + (STAR if silent else "")

    rows = itertools.groupby(hosts(found), key=lambda host: host[0])
    rows = [[str(guests), *map(cell, of)] for guests, of in rows]
    cores = sorted({cores for _, cores in found.hosts})
    return table(["guests", *(counted(n, "core") for n in cores)], rows)


def silences(results):
    """Combinations without figures, by policy and host."""
    rows = []
    for (policy, _, _), found in zip(POLICIES, results):
        for host in filter(found.silent, hosts(found)):
            silent, all_of = found.silent(host), len(found.hosts[host])
            which = ", ".join(map(name_of, silent))
            if len(silent) > 6:
                whole = len(silent) == all_of
                which = f"all {all_of}" if whole else f"{len(silent)} of {all_of}"
            some = [cell for cells in silent.values() for cell in cells if cell[0]]
            rows.append([policy, size(host), which, *map(span, zip(*some))])
    if not rows:
        return ""
    head = ["policy", "host", "combinations", "guests without an answer", "pings answered"]
    return ("With these combinations guests got no answer to any ping in some replication. They "
            "have no mean round trip and\ncount nowhere above:\n\n" + table(head, rows))


def text(x, y, words, more=""):
    return f'<text x="{x}" y="{y}"{more}>{words}</text>'


MUTED = ' fill="#57606a"'
# Of a field, and left of a panel and above, between panels, above all and below, panels in a row.
WIDTH, HEIGHT, LEFT, ABOVE, GAP, TITLE, BELOW, PANELS = 46, 24, 34, 44, 14, 46, 26, 5


def field(x, y, change, note):
    """A change as a coloured field: white to the blue and the vermilion of Okabe and Ito, full
    where it is twice as much or half as long; grey where it is not proven."""
    fill, ink, words = "#f6f8fa", "#57606a", note
    if change:
        words = f"{percent(change[0]):+.0f}{note.strip(chr(92))}"
        if is_proven(change):
            full = (0x00, 0x72, 0xB2) if change[0] > 0 else (0xD5, 0x5E, 0x00)
            part = min(abs(change[0]) / math.log(2), 1)
            fill = "#" + "".join(f"{int(255 + (c - 255) * part + 0.5):02x}" for c in full)
            ink = "#ffffff" if part > 0.6 else "#1b1f24"
        else:
            words = f"({words})"
    middle = f' text-anchor="middle" fill="{ink}"'
    return (f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" fill="{fill}" '
            f'stroke="#ffffff"/>' + text(x + WIDTH // 2, y + 16, words, middle))


def picture(load, results, replications):
    """What each switch changes, a panel for each policy and switch."""
    guests, cores = (sorted(set(of)) for of in zip(*results[0].hosts))
    panel = (LEFT + len(cores) * WIDTH + GAP, ABOVE + len(guests) * HEIGHT + GAP)
    width, height = PANELS * panel[0] + GAP, TITLE + len(POLICIES) * panel[1] + BELOW
    _, title, _, more = results[0].measure
    what = f"{load[1]}: {title}"
    svg = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{what}, what each switch changes by guests and cores" '
        'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="11" '
        f'fill="#1b1f24"><rect width="{width}" height="{height}" fill="#ffffff"/>',
        text(GAP, 18, what, ' font-size="14"'),
        text(GAP, 34, f"change in %: blue is better ({'more' if more else 'shorter'}), orange is "
             "worse; in brackets: not proven at 95 %; rows are guests, columns are cores", MUTED),
    ]
    for row, ((policy, _, switches), found) in enumerate(zip(POLICIES, results)):
        for column, bit in enumerate([*switches, None]):
            name = "all of them" if bit is None else SWITCHES[bit][0]
            left, top = GAP + column * panel[0] + LEFT, TITLE + row * panel[1] + ABOVE
            svg.append(text(left, top - ABOVE + 20, f"{policy}: {name}", ' font-size="13"'))
            for i, n in enumerate(cores):
                x = left + i * WIDTH + WIDTH // 2
                svg.append(text(x, top - 6, n, f' text-anchor="middle"{MUTED}'))
            for j, n in enumerate(guests):
                y = top + j * HEIGHT
                svg.append(text(left - 5, y + 16, n, f' text-anchor="end"{MUTED}'))
                for i, m in enumerate(cores):
                    found_here = found.of_all((n, m)) if bit is None else found.of_switch((n, m), bit)
                    svg.append(field(left + i * WIDTH, y, *found_here))
    foot = (f"of a switch: the mean over all combinations of the others; {replications} "
            "replications; * : of those with answers; none: no answers; – : one position of the "
            "switch")
    return "\n".join([*svg, text(GAP, height - 10, foot, MUTED), "</svg>\n"])


def main(small):
    guests, cores, replications = ([2], [1, 2], 2) if small else (
        [1, 2, 4, 8, 16, 32], [1, 2, 4, 8, 16], 4)
    OUT.mkdir(parents=True, exist_ok=True)
    pictures = OUT if small else ROOT / "docs/images"
    page = ""
    for load in LOADS:
        found = [[Results(measure) for _ in POLICIES] for measure in load[3]]
        for n, (i, policy) in itertools.product(cores, enumerate(POLICIES)):
            rows = sweep(load, policy, n, guests, replications)
            for results in found:
                results[i].add(n, rows)
        page += f"## {load[1]}\n\n"
        for (_, title, word, _), results in zip(load[3], found):
            name = f"xcollopts-{load[0]}-{word}.svg"
            (pictures / name).write_text(picture(load, results, replications), encoding="utf-8")
            page += (f"### {title[0].upper()}{title[1:]}\n\n![What each switch changes in {title}, "
                     f"by guests and cores](images/{name})\n\n" + counts(results))
            for (policy, _, _), of in zip(POLICIES, results):
                page += f"The fewest switches that gain as much as any under {policy}:\n\n" + best(of)
            page += silences(results)
    if small:
        (OUT / "tables.md").write_text(page, encoding="utf-8")
    else:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
        _, _, tail = rest.partition(MARKS[1])
        PAGE.write_text(f"{head}{MARKS[0]}\n\n{page}{MARKS[1]}{tail}", encoding="utf-8")


if __name__ == "__main__":
    if doctest.testmod().failed:
        sys.exit(1)
    main("--small" in sys.argv[1:])
