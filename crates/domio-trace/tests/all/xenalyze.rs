//! Xen's own `xenalyze` reads what we write, and finds what we know.
//!
//! Needs `xenalyze` on the PATH or in /usr/lib/xen-*/bin (Debian: package xen-utils-common); says
//! so and passes when it is not there.

use std::collections::BTreeMap;
use std::process::Command;

use crate::common::host;
use crate::program::xenalyze_or_say;
use domio_core::{Names, Record, Runstate, Sink};
use domio_trace::{Intervals, XentraceWriter};

/// xenalyze leaves out a vcpu's first interval and counts its last one up to the end of the file;
/// in this trace those are below 20 ms, and every sum is above 2 s.
const TOLERANCE: u64 = 20_000_000;

/// Sums in ns of running, runnable and blocked by domain and vcpu.
type Sums = BTreeMap<(u16, u16), [u64; 3]>;

fn ours(names: &Names, records: &[Record]) -> Sums {
    let mut sums = Sums::new();
    let mut intervals = Intervals::new();
    for r in records {
        intervals.feed(r, |i| {
            let state = i.state.expect("the host does not contradict itself");
            if state != Runstate::Offline {
                let vcpu = names.vcpu(i.actor).expect("the host names all");
                let vcpu = (vcpu.domain.0, vcpu.index);
                sums.entry(vcpu).or_default()[state as usize] += i.end.since(i.start).as_nanos();
            }
        });
    }
    sums
}

/// Reads the sums from a summary: the lines "  running:  COUNT  SECONDSs MEAN {..." below
/// "-- vN --" below "|-- Domain N --|". COUNT times MEAN is exact to COUNT cycles, SECONDS only to
/// 10 ms.
fn theirs(summary: &str) -> Sums {
    let mut sums = Sums::new();
    let (mut domain, mut vcpu) = (None, None);
    for line in summary.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("|-- Domain ") {
            domain = rest.split(' ').next().and_then(|n| n.parse().ok());
            vcpu = None;
        } else if let Some(rest) = line.strip_prefix("-- v") {
            vcpu = rest.split(' ').next().and_then(|n| n.parse().ok());
        }
        let (Some(domain), Some(vcpu)) = (domain, vcpu) else {
            continue;
        };
        let states = ["running:", "runnable:", "blocked:"];
        let Some(state) = states.iter().position(|s| line.starts_with(s)) else {
            continue;
        };
        let mut words = line[states[state].len()..].split_whitespace();
        let count: u64 = words.next().unwrap().parse().unwrap();
        let mean: u64 = words.nth(1).unwrap().parse().unwrap();
        sums.entry((domain, vcpu)).or_default()[state] = count * mean;
    }
    sums
}

/// Ends the trace with a mark for each vcpu, as a simulated host does.
fn mark_end(names: &Names, records: &mut Vec<Record>) {
    let mut last = BTreeMap::new();
    for r in records.iter() {
        for (actor, _, new) in r.changes().into_iter().flatten() {
            last.insert(actor, (r.pcpu, new));
        }
    }
    let at = records.last().expect("a trace").at;
    let is_guest = |actor| names.vcpu(actor).is_some_and(|vcpu| !vcpu.is_idle());
    let guests = last.into_iter().filter(|(actor, _)| is_guest(*actor));
    let mark = |(actor, (pcpu, state))| Record::runstate(at, pcpu, actor, state, state);
    records.extend(guests.map(mark));
}

#[test]
fn xenalyze_finds_the_same_sums() {
    let Some(program) = xenalyze_or_say("sums as xenalyze finds them") else {
        return;
    };
    let (names, mut records) = host(7, 2, 6, 20_000);
    mark_end(&names, &mut records);
    let folder = std::env::temp_dir().join(format!("domio-xenalyze-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("trace.bin");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = XentraceWriter::new(file, 1_000_000_000).unwrap();
    for r in &records {
        writer.record(&names, r);
    }
    writer.finish().unwrap();
    let output = Command::new(&program)
        .args(["--cpu-hz", "1G", "--summary"])
        .arg(&path)
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let summary = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{summary}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let ours = ours(&names, &records);
    let theirs = theirs(&summary);
    assert_eq!(
        ours.keys().collect::<Vec<_>>(),
        theirs.keys().collect::<Vec<_>>(),
        "{summary}"
    );
    for (vcpu, sums) in &ours {
        for (state, (a, b)) in sums.iter().zip(theirs[vcpu]).enumerate() {
            assert!(
                a.abs_diff(b) <= TOLERANCE,
                "d{}v{} {}: {a} ns here, {b} ns there\n{summary}",
                vcpu.0,
                vcpu.1,
                Runstate::ALL[state].name()
            );
        }
    }
}
