//! Recordings of real kernels, with counts that other programs have found.

use std::collections::BTreeMap;

use domio_linux::{Left, LinuxEvent, LinuxReader, LinuxWhat, Tid};

use crate::{all, recording, unpacked};

/// Switches and the run time of each thread, from a switch to the next one.
fn runs(events: &[LinuxEvent]) -> (u64, BTreeMap<Tid, u64>) {
    let (mut switches, mut ran) = (0, BTreeMap::new());
    let mut running: BTreeMap<u32, (Tid, u64)> = BTreeMap::new();
    for event in events {
        if let LinuxWhat::Switch { next, .. } = event.what {
            switches += 1;
            if let Some((tid, since)) = running.insert(event.cpu, (next, event.time)) {
                *ran.entry(tid).or_default() += event.time - since;
            }
        }
    }
    (switches, ran)
}

fn open(name: &str) -> (Vec<LinuxEvent>, LinuxReader) {
    let mut reader = LinuxReader::open(recording(name)).unwrap();
    let (events, error) = all(&mut reader);
    assert!(error.is_none(), "{name}: {error:?}");
    assert!(reader.damage().is_empty(), "{name}: {:?}", reader.damage());
    assert!(events.is_sorted_by_key(|e| e.time), "{name}");
    (events, reader)
}

#[test]
fn trace_dat_of_version_7() {
    let (events, reader) = open("cfs-v7.dat");
    let (switches, ran) = runs(&events);
    assert_eq!(switches, 3905);
    let count = |is: fn(&LinuxWhat) -> bool| events.iter().filter(|e| is(&e.what)).count();
    assert_eq!(count(|w| matches!(w, LinuxWhat::Waking { .. })), 1271);
    assert_eq!(count(|w| matches!(w, LinuxWhat::Wakeup { .. })), 1271);
    assert_eq!(count(|w| matches!(w, LinuxWhat::Fork { .. })), 12);
    assert_eq!(count(|w| matches!(w, LinuxWhat::Exit { .. })), 13);
    assert_eq!(count(|w| matches!(w, LinuxWhat::Attach { .. })), 4);
    let preempted = |w: &LinuxWhat| match w {
        LinuxWhat::Switch { left, .. } => *left == Left::Preempted,
        _ => false,
    };
    assert_eq!(count(preempted), 29);
    assert_eq!(ran[&Tid(192)], 5_133_874_484);
    let about = reader.about();
    assert_eq!(about.kernel.as_deref(), Some("6.1.0-56-cloud-amd64"));
    assert_eq!(
        (about.clock.as_deref(), about.cpus),
        (Some("mono"), Some(1))
    );
    let vm = reader.tasks().get(Tid(192)).unwrap();
    assert_eq!(
        (vm.comm.as_str(), vm.cgroup.as_deref()),
        ("vm3:vcpu0", Some("/machine/vm3"))
    );
}

#[test]
fn trace_dat_of_version_6_and_its_report_agree() {
    let (of_file, _) = open("quota-v6.dat.gz");
    let (of_text, reader) = open("quota-report.txt.gz");
    assert_eq!(of_file.len(), of_text.len());
    assert_eq!(runs(&of_file), runs(&of_text));
    assert_eq!(runs(&of_file).0, 2663);
    for (a, b) in of_file.iter().zip(&of_text) {
        assert_eq!((a.time, a.cpu, a.current), (b.time, b.cpu, b.current));
        if matches!(
            b.what,
            LinuxWhat::Waking { .. } | LinuxWhat::Wakeup { .. } | LinuxWhat::Migrate { .. }
        ) {
            assert_eq!(a.what, b.what);
        }
    }
    assert!(
        reader
            .tasks()
            .iter()
            .any(|(_, t)| t.comm.starts_with("vm1:"))
    );
}

#[test]
fn perf_data_and_its_script_agree() {
    let (of_file, reader) = open("perf-sched.data.gz");
    let (of_text, _) = open("perf-script.txt.gz");
    let (switches, _) = runs(&of_file);
    assert_eq!(switches, 470);
    assert_eq!(of_file.len(), of_text.len());
    for (a, b) in of_file.iter().zip(&of_text) {
        // The text has microseconds.
        assert_eq!(a.time / 1000, b.time / 1000);
        assert_eq!((a.cpu, a.what), (b.cpu, b.what));
    }
    assert_eq!(reader.about().tool.as_deref(), Some("perf 6.1.192"));
    let vcpu = reader.tasks().get(Tid(217)).unwrap();
    assert_eq!(vcpu.comm, "vm3:vcpu0");
}

#[test]
fn recordings_are_recognised_by_their_first_bytes() {
    for name in [
        "cfs-v7.dat",
        "quota-v6.dat.gz",
        "quota-report.txt.gz",
        "perf-sched.data.gz",
        "perf-script.txt.gz",
    ] {
        let file = unpacked(name);
        assert!(domio_linux::recognise(&file[..2048]), "{name}");
    }
    for foreign in [
        &b"domain, 1\nversion = 5\n"[..],
        b"\x0a\x03abc",
        b"{\"a\": 1}",
        b"",
    ] {
        assert!(!domio_linux::recognise(foreign), "{foreign:?}");
    }
}
