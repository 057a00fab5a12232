//! A xentrace file tells of a scenario what its own trace tells, in the same order, and Xen's own
//! `xenalyze` reads it, where it is installed.

#[path = "../../../domio-trace/tests/common/program.rs"]
mod program;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use assert_cmd::Command as Domio;
use domio_core::{
    Actor, ActorId, Class, DomainId, Duration, Field, Instant, Names, PcpuId, Record, Sink, Unit,
    VcpuName,
};
use domio_meter::{CheckReport, TraceChecker};
use domio_trace::{ReadOptions, TraceReader, XentraceWriter};
use tempfile::TempDir;

/// Furthest in ns that records of the instant `at` are moved: one for each but the first, to keep
/// their order, and one where counts of the clock become nanoseconds again.
fn moved_max(own: &Trace, at: Instant) -> u64 {
    let until = |end: Instant| own.records.partition_point(|record| record.at < end);
    (until(at + Duration::from_nanos(1)) - until(at)) as u64
}

fn domio(folder: &TempDir, args: &[&str]) {
    let mut command = Domio::cargo_bin("domio").expect("the program is built");
    command.current_dir(folder.path()).args(args);
    command.assert().success();
}

/// A trace with the names that its records hold numbers of.
struct Trace {
    names: Names,
    records: Vec<Record>,
}

/// What a record says, whatever the numbers of actors and classes are in its trace.
#[derive(PartialEq, Debug)]
struct Told {
    pcpu: PcpuId,
    class: Option<&'static str>,
    number: u8,
    whom: Option<Actor>,
    /// Values of the declared fields, and whom they name.
    fields: Vec<(&'static str, u64, Option<Actor>)>,
}

fn told(names: &Names, record: &Record) -> Told {
    let declared = names.declared(record);
    let field = |field: &Field| {
        let value = field.value(record);
        match field.unit {
            Unit::Actor => (field.name, 0, names.actor(ActorId(value as u32))),
            _ => (field.name, value, None),
        }
    };
    Told {
        pcpu: record.pcpu,
        class: names.class(record.class).map(|class| class.name),
        number: record.number,
        whom: names.actor(record.actor),
        fields: declared.map_or_else(Vec::new, |d| d.fields.iter().map(field).collect()),
    }
}

fn read(bytes: &[u8]) -> Trace {
    let mut records = Vec::new();
    let options = ReadOptions {
        classes: domio_scenario::Parts::from(domio_sched::policies()).classes(),
        ..ReadOptions::default()
    };
    let mut reader = TraceReader::new(bytes, &options).expect("a trace");
    reader.copy_to(&mut records).expect("a whole trace");
    assert_eq!(reader.merge_stats().late, 0);
    let names = reader.names().clone();
    Trace { names, records }
}

/// What a xentrace file has of a trace. For the way through the file each record gets an instant of
/// its own, so that nothing but time is needed to keep their order.
fn as_xen_tells(own: &Trace) -> Trace {
    const APART: u64 = 1000;
    let mut writer = XentraceWriter::new(Vec::new(), 1_000_000_000).expect("a frequency");
    for (i, record) in (1..).zip(&own.records) {
        let mut record = *record;
        record.at = Instant::from_nanos(i * APART);
        writer.record(&own.names, &record);
    }
    let mut found = read(&writer.finish().expect("memory"));
    for record in &mut found.records {
        let i = record.at.as_nanos() / APART - 1;
        record.at = own.records[i as usize].at;
    }
    found
}

fn check(trace: &Trace) -> CheckReport {
    let mut checker = TraceChecker::new();
    for record in &trace.records {
        checker.record(&trace.names, record);
    }
    checker.finish()
}

/// Runs a shipped scenario and returns its own trace and that of the xentrace file made of it,
/// which is `run.bin` in the folder.
fn traces(folder: &TempDir, scenario: &str, set: &[&str]) -> (Trace, Trace) {
    let mut run = vec!["run", scenario, "--trace", "run.domio"];
    for set in set {
        run.extend(["--set", *set]);
    }
    domio(folder, &run);
    let convert = ["trace", "convert", "run.domio", "--to", "xentrace"];
    domio(
        folder,
        &[&convert[..], &["--output", "run.bin", "--force"]].concat(),
    );
    let file = |name| std::fs::read(folder.path().join(name)).expect("it was written");
    (read(&file("run.domio")), read(&file("run.bin")))
}

/// Asserts that a file's records are those of the own trace, and that neither has a fault.
fn assert_the_same(scenario: &str, own: &Trace, found: &Trace) {
    let expected = as_xen_tells(own);
    assert_eq!(found.records.len(), expected.records.len(), "{scenario}");
    let pairs = found.records.iter().zip(&expected.records);
    for (i, (record, wanted)) in pairs.enumerate() {
        let moved = record.at.as_nanos().checked_sub(wanted.at.as_nanos());
        assert!(
            moved.is_some_and(|ns| ns <= moved_max(own, wanted.at)),
            "{scenario}: record {i} is {record:?}, expected {wanted:?}"
        );
        let [record, wanted] = [(found, record), (&expected, wanted)]
            .map(|(trace, record)| told(&trace.names, record));
        assert_eq!(record, wanted, "{scenario}: record {i}");
    }
    for records in [own, found] {
        let report = check(records);
        assert!(report.is_clean(), "{scenario}: {:?}", report.findings[0]);
    }
}

/// Asserts that `xenalyze` reads a file to its end.
fn assert_xenalyze_reads(program: &Path, scenario: &str, file: &Path) {
    let output = Command::new(program)
        .args(["--cpu-hz", "1G", "--summary"])
        .arg(file)
        .output()
        .expect("xenalyze starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{scenario}: {errors}");
    let summary = String::from_utf8_lossy(&output.stdout);
    assert!(
        summary.contains("|-- Domain 1 --|"),
        "{scenario}: {summary}"
    );
}

/// The classes of all policies that write records.
fn policies() -> impl Iterator<Item = &'static Class> {
    let policies = domio_sched::policies().iter();
    policies.filter_map(|policy| policy.descriptor.class)
}

/// `record` alone, on its way through a xentrace file.
fn through_a_file(names: &Names, record: &Record) -> Trace {
    let mut writer = XentraceWriter::new(Vec::new(), 1_000_000_000).expect("a frequency");
    writer.record(names, record);
    read(&writer.finish().expect("memory"))
}

/// Policies that no release of Xen has.
const OF_LINUX: [&str; 2] = ["cfs", "eevdf"];

#[test]
fn each_declared_record_of_a_policy_comes_back() {
    let (at, pcpu) = (Instant::from_nanos(1_000), PcpuId(0));
    let mut count = 0;
    for class in domio_scenario::Parts::from(domio_sched::policies()).classes() {
        let mut names = Names::new();
        let whom = names.add_actor(VcpuName::new(DomainId(3), 1));
        let id = names.add_class(class);
        for declared in class.records {
            let mut words = [0x0001_0002, 0x0003_0004, 0x0005_0006, 0x0007_0008];
            words[usize::from(declared.words)..].fill(0);
            let record = Record::of(at, pcpu, (id, declared.number), whom, words);
            let found = through_a_file(&names, &record);
            let is_of_xen = !OF_LINUX.contains(&class.name)
                && policies().any(|policy| policy.name == class.name);
            if !is_of_xen {
                // Xen knows nothing of devices and of Linux.
                assert!(found.records.is_empty(), "{} {declared:?}", class.name);
                continue;
            }
            let [back] = found.records[..] else {
                panic!("{} {declared:?}: {:?}", class.name, found.records);
            };
            let (own, back) = (told(&names, &record), told(&found.names, &back));
            // Xen names nobody in some of its records.
            let whom = back.whom.and(own.whom);
            assert_eq!(
                Told { whom, ..own },
                back,
                "{} {}",
                class.name,
                declared.name
            );
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}

/// Which vcpu each record of a policy is about is in the file, too, unless Xen names none there.
#[test]
fn each_record_of_a_policy_is_about_the_same_vcpu() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let every_switch = [
        "scheduler.boost_balance=true",
        "scheduler.dispatch_vector=bit",
        "scheduler.dispatch_hold_us=300",
        "run.duration_s=0.2",
    ];
    let of = |policy| ["run.duration_s=0.3", policy];
    let runs = [
        ("xcollopts-mixed", &every_switch[..]),
        ("xcollopts-mixed", &of("scheduler.version=4.17")),
        ("small-host", &of("scheduler.policy=credit2")),
    ];
    let mut numbers = BTreeSet::new();
    for (scenario, set) in runs {
        let (own, found) = traces(&folder, scenario, set);
        let policy = |trace: &Trace| {
            let all = trace
                .records
                .iter()
                .map(|record| told(&trace.names, record));
            let own = all.filter(|told| policies().any(|p| Some(p.name) == told.class));
            own.collect::<Vec<_>>()
        };
        let (own, found) = (policy(&own), policy(&found));
        assert_eq!(own.len(), found.len(), "{scenario}");
        for (own, found) in own.into_iter().zip(found) {
            if own.whom.is_some() {
                numbers.insert((own.class, own.number));
                assert_eq!(own, found, "{scenario} {set:?}");
            }
        }
    }
    // Those of what Xen never had, too.
    for number in 48..=52 {
        assert!(numbers.contains(&(Some("credit"), number)), "{numbers:?}");
    }
    assert!(numbers.iter().any(|(class, _)| *class == Some("credit2")));
}

/// Converts the traces of all scenarios for which there is something to set, and returns how many
/// neighbours of different pcpus have the same time.
fn convert_all(set_for: impl Fn(&str) -> Option<&'static [&'static str]>) -> usize {
    let program = program::xenalyze_or_say("xentrace files as xenalyze reads them");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut ties = 0;
    for &(scenario, _) in domio_scenario::examples() {
        let Some(set) = set_for(scenario) else {
            continue;
        };
        let (own, found) = traces(&folder, scenario, set);
        assert_the_same(scenario, &own, &found);
        ties += own
            .records
            .windows(2)
            .filter(|w| w[0].at == w[1].at && w[0].pcpu != w[1].pcpu)
            .count();
        if let Some(program) = &program {
            assert_xenalyze_reads(program, scenario, &folder.path().join("run.bin"));
        }
    }
    ties
}

/// Guests that come and go and operators at work do so in the first 12 s.
const LONG: [&str; 2] = ["hot-add", "maintenance"];

#[test]
fn xentrace_files_of_every_shipped_scenario_are_in_order() {
    let set = &["run.warmup_s=0.1", "run.duration_s=0.1"];
    let ties = convert_all(|scenario| (!LONG.contains(&scenario)).then_some(&set[..]));
    assert!(ties > 1000, "no scenario tests what this is about: {ties}");
}

#[test]
#[ignore = "takes minutes; `cargo xtask nightly long` runs it"]
fn xentrace_files_of_longer_runs_are_in_order() {
    let set = &["run.warmup_s=0.5", "run.duration_s=2"];
    convert_all(|scenario| match LONG.contains(&scenario) {
        true => Some(&[]),
        false => Some(&set[..]),
    });
}
