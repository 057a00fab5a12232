//! Sums of shipped recordings of Linux against those of the kernel's own tools: `perf sched
//! timehist`, `perf sched latency` and `trace-cmd report`, on the same file. Where a tool is not
//! installed, or cannot read the file, the test prints a line that begins with `SKIPPED`, and
//! passes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use domio_core::VcpuName;
use domio_linux::groups::Groups;
use domio_linux::{LinuxReader, LinuxWhat, Tid};
use domio_meter::{Account, Meter};
use domio_trace::{LinuxHost, LinuxRecords};

fn recording(name: &str) -> PathBuf {
    let root = [env!("CARGO_MANIFEST_DIR"), "..", "..", "testdata", "linux"];
    root.iter().collect::<PathBuf>().join(name)
}

/// Sums of a thread, in nanoseconds.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    running: u64,
    runnable: u64,
    waited_after_wake: u64,
    executions: u64,
}

/// What this workspace says of each thread, by id. A thread may be several vcpus.
fn accounts(path: &Path) -> BTreeMap<u32, Sums> {
    let mut reader = LinuxReader::open(path).unwrap();
    let mut records = LinuxRecords::new(Groups::default(), LinuxHost::default());
    let mut meter = Meter::new();
    while let Some(event) = reader.next_event().unwrap() {
        records.event(&event, reader.tasks());
        while let Some(record) = records.take() {
            domio_core::Sink::record(&mut meter, records.names(), &record);
        }
    }
    records.finish();
    while let Some(record) = records.take() {
        domio_core::Sink::record(&mut meter, records.names(), &record);
    }
    let of_vcpu: BTreeMap<VcpuName, Account> = meter
        .finish()
        .domains
        .iter()
        .flat_map(|domain| &domain.vcpus)
        .map(|vcpu| (vcpu.name, vcpu.account))
        .collect();
    let mut found: BTreeMap<u32, Sums> = BTreeMap::new();
    for thread in records.threads(reader.tasks()) {
        let sums = found.entry(thread.tid).or_default();
        if let Some(account) = of_vcpu.get(&thread.name) {
            sums.running += account.running;
            sums.runnable += account.runnable;
            sums.waited_after_wake += account.waited_after_wake;
            sums.executions += account.executions;
        }
    }
    found
}

/// What a tool prints, or a line why there is nothing.
fn printed(tool: &str, args: &[&str], path: &Path) -> Option<String> {
    let output = Command::new(tool).args(args).arg("-i").arg(path).output();
    let why = match output {
        Ok(output) if output.status.success() => {
            return Some(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    let why = why.trim().lines().next().unwrap_or("it fails");
    println!("SKIPPED, sums of {tool} are not compared: {why}");
    None
}

/// A shipped recording that is packed, unpacked in `folder`.
fn unpacked(name: &str, folder: &Path) -> PathBuf {
    let bytes = std::fs::read(recording(name)).unwrap();
    let path = folder.join(name.trim_end_matches(".gz"));
    let mut file = std::fs::File::create(&path).unwrap();
    std::io::copy(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut file).unwrap();
    path
}

/// The id at the end of a tool's name of a thread: "vm1:vcpu0[215/211]", "vm1:vcpu0:215".
fn tid(name: &str) -> Option<u32> {
    let number = match name.strip_suffix(']') {
        Some(name) => name.rsplit('[').next()?.split('/').next()?,
        None => name.rsplit(':').next()?,
    };
    number.parse().ok()
}

/// The threads that are the first or the last ones of a cpu: a run of each has only one switch.
fn cut(path: &Path) -> BTreeSet<u32> {
    let mut reader = LinuxReader::open(path).unwrap();
    let (mut cut, mut last) = (BTreeSet::new(), BTreeMap::new());
    while let Some(event) = reader.next_event().unwrap() {
        let current = match event.what {
            LinuxWhat::Switch { next, .. } => Some(next),
            _ => event.current,
        };
        if let Some(tid) = event.current.filter(|_| !last.contains_key(&event.cpu)) {
            cut.insert(tid.0);
        }
        last.extend(current.map(|tid| (event.cpu, tid.0)));
    }
    cut.extend(last.into_values());
    cut
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

#[test]
fn run_times_are_those_of_perf_sched_timehist() {
    let folder = tempfile::tempdir().unwrap();
    let path = unpacked("perf-sched.data.gz", folder.path());
    let Some(text) = printed("perf", &["sched", "timehist", "--summary"], &path) else {
        return;
    };
    let (ours, cut) = (accounts(&path), cut(&path));
    let mut compared = 0;
    for line in text.lines() {
        // comm[tid/pid], parent, count, run time, ...
        let words: Vec<&str> = line.split_whitespace().collect();
        let end = words.iter().position(|word| word.ends_with(']'));
        let Some((Some(tid), rest)) = end.map(|end| (tid(words[end]), &words[end + 1..])) else {
            continue;
        };
        let (Some(times), Some(ms)) = (
            rest.get(1).and_then(|word| number(word)),
            rest.get(2).and_then(|word| number(word)),
        ) else {
            continue;
        };
        let own = ours
            .get(&tid)
            .unwrap_or_else(|| panic!("no thread {tid}: {line}"));
        let ran = own.running as f64 / 1e6;
        // perf prints microseconds, cut off.
        let is_near = (ran - ms).abs() <= 0.0011;
        assert!(
            is_near || cut.contains(&tid) && ran > ms,
            "{line}: {ran} ms"
        );
        let runs = own.executions as f64;
        assert!((runs - times).abs() <= 1.0, "{line}: {runs} times");
        compared += 1;
    }
    assert!(compared >= 15, "{compared} threads of {text}");
    // The idle time of the only cpu, and the number of switches.
    let switches = text.lines().find_map(|line| {
        line.trim()
            .strip_prefix("Total number of context switches:")
    });
    assert_eq!(switches.map(str::trim), Some("470"));
}

#[test]
fn delays_are_those_of_perf_sched_latency() {
    let folder = tempfile::tempdir().unwrap();
    let path = unpacked("perf-sched.data.gz", folder.path());
    let Some(text) = printed("perf", &["sched", "latency", "-p"], &path) else {
        return;
    };
    let ours = accounts(&path);
    let mut compared = 0;
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Some(tid), true) = (cells.first().and_then(|name| tid(name)), cells.len() > 4) else {
            continue;
        };
        let value = |cell: usize| {
            number(
                cells[cell]
                    .split_whitespace()
                    .find(|w| number(w).is_some())?,
            )
        };
        let (Some(ran), Some(times), Some(mean), Some(longest)) =
            (value(1), value(2), value(3), value(4))
        else {
            continue;
        };
        let own = ours
            .get(&tid)
            .unwrap_or_else(|| panic!("no thread {tid}: {line}"));
        // `sched_waking` is all that the file has of wake-ups, and perf passes it over: its delays
        // are those of threads that are preempted.
        if times < 10.0 || own.waited_after_wake * 100 > own.runnable {
            continue;
        }
        // perf's run times are the kernel's (`sched_stat_runtime`).
        let own_ran = own.running as f64 / 1e6;
        assert!((own_ran - ran).abs() <= ran / 100.0, "{line}: {own_ran} ms");
        // perf leaves out the wait that lasts at the end of the trace.
        let waited = own.runnable as f64 / 1e6;
        let sum = mean * times;
        assert!(
            waited >= sum * 0.999 && waited <= sum * 1.001 + longest,
            "{line}: {waited} ms"
        );
        compared += 1;
    }
    assert!(compared >= 3, "{compared} threads of {text}");
}

#[test]
fn run_times_are_those_of_the_lines_of_trace_cmd_report() {
    for (name, expected) in [
        ("cfs-v7.dat", 3905),
        ("vhost-v7.dat", 10282),
        ("quota-v6.dat.gz", 2663),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = match name.ends_with(".gz") {
            true => unpacked(name, folder.path()),
            false => recording(name),
        };
        let Some(text) = printed("trace-cmd", &["report", "-t", "-F", "sched_switch"], &path)
        else {
            return;
        };
        let (switches, ran, cut) = of_lines(&text);
        assert_eq!(switches, expected, "{name}");
        let mut reader = LinuxReader::open(&path).unwrap();
        let mut counted = 0;
        while let Some(event) = reader.next_event().unwrap() {
            counted += u64::from(matches!(event.what, LinuxWhat::Switch { .. }));
        }
        assert_eq!(counted, switches, "{name}");
        let ours = accounts(&path);
        for (tid, ns) in ran {
            let own = ours.get(&tid).unwrap_or_else(|| panic!("{name}: no {tid}"));
            match cut.contains(&tid) {
                false => assert_eq!(own.running, ns, "{name}: {tid}"),
                true => assert!(
                    own.running >= ns,
                    "{name}: {tid} ran {} of {ns}",
                    own.running
                ),
            }
        }
    }
}

/// Switches in lines of `trace-cmd report -t`, and the run time of each thread from a switch to the
/// next one of its cpu; and the threads of which a run has one switch, as the trace begins or ends
/// with that run. `  vm1-190   [000]  2.805778123: sched_switch: vm1:190 [120] S ==> vm2:191 [120]`
fn of_lines(text: &str) -> (u64, BTreeMap<u32, u64>, BTreeSet<u32>) {
    let (mut switches, mut ran, mut cut) = (0, BTreeMap::new(), BTreeSet::new());
    let mut running: BTreeMap<&str, (u32, u64)> = BTreeMap::new();
    for line in text.lines() {
        let Some((before, what)) = line.split_once("sched_switch:") else {
            continue;
        };
        let words: Vec<&str> = before.split_whitespace().collect();
        let cpu = words.iter().find(|w| w.starts_with('[')).copied().unwrap();
        let time = words.last().unwrap().trim_end_matches(':');
        let (seconds, fraction) = time.split_once('.').unwrap();
        assert_eq!(fraction.len(), 9, "nanoseconds in {line}");
        let at = seconds.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap();
        let (prev, next) = what.split_once(" ==> ").unwrap();
        let thread = |text: &str| tid(text.rsplit_once(" [").unwrap().0.trim()).unwrap();
        switches += 1;
        match running.insert(cpu, (thread(next), at)) {
            Some((tid, since)) if tid != Tid::IDLE.0 => *ran.entry(tid).or_default() += at - since,
            Some(_) => {}
            None => {
                cut.insert(thread(prev));
            }
        }
    }
    cut.extend(running.values().map(|(tid, _)| *tid));
    (switches, ran, cut)
}
