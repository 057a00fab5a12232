//! perf.data: files and pipes, packed or not, of either endianness.

use domio_linux::{Left, LinuxEvent, LinuxFormat, LinuxWhat, Tid};

use crate::build::{ATTACH, MACHINES, Machine, SWITCH, WAKEUP, attach, switch, wakeup};
use crate::perf_file::{
    CALLCHAIN, CGROUP, CPU, IDENTIFIER, RAW, READ, Recorded, TID, TIME, USUAL, file, packed, pipe,
    record, round, sample, trailer,
};
use crate::{all, error, read, reader, unpacked};

const MACHINE: Machine = MACHINES[0];

fn recorded(parts: u64) -> [Recorded; 3] {
    [
        Recorded::tracepoint(501, SWITCH, parts),
        Recorded::tracepoint(502, WAKEUP, parts),
        Recorded::tracepoint(503, ATTACH, parts),
    ]
}

/// Two rounds of two cpus. The second cpu's buffer is read after the first one's.
fn data(machine: Machine, parts: u64, other: &[u8]) -> Vec<u8> {
    let [switches, wakeups, attaches] = recorded(parts);
    let mut out = Vec::new();
    let mut comm = machine.numbers(&[(10, 4), (11, 4)]);
    comm.extend(b"vhost-10\0\0\0\0\0\0\0\0");
    comm.extend(trailer(machine, 501, 0, 0));
    out.extend(record(machine, 3, 0, &comm));
    let mut add = |event: &Recorded, time, cpu, raw: Vec<u8>| {
        out.extend(sample(machine, event, time, cpu, &raw, other));
    };
    add(&switches, 1000, 0, switch(machine, 1, 1, 2));
    add(&switches, 3000, 0, switch(machine, 2, 1024, 3));
    add(&wakeups, 2000, 1, wakeup(machine, 5, 3, 0));
    out.extend(round(machine));
    let mut add = |event: &Recorded, time, cpu, raw: Vec<u8>| {
        out.extend(sample(machine, event, time, cpu, &raw, other));
    };
    add(&attaches, 2500, 1, attach(machine, 5, 3, "/machine/vm1"));
    add(&switches, 4000, 1, switch(machine, 5, 512, 6));
    out.extend(round(machine));
    let mut lost = machine.numbers(&[(501, 8), (12, 8)]);
    lost.extend(trailer(machine, 501, 3500, 0));
    out.extend(record(machine, 2, 0, &lost));
    out.extend(round(machine));
    out
}

fn expected() -> Vec<LinuxEvent> {
    let event = |time, cpu, current, what| LinuxEvent {
        time,
        cpu,
        current,
        what,
    };
    let switched = |time, cpu, prev, left, next| {
        let what = LinuxWhat::Switch {
            prev: Tid(prev),
            prev_prio: 120,
            left,
            next: Tid(next),
            next_prio: 139,
        };
        event(time, cpu, Some(Tid(prev)), what)
    };
    let woken = LinuxWhat::Wakeup {
        tid: Tid(3),
        prio: 100,
        target_cpu: 0,
    };
    vec![
        switched(1000, 0, 1, Left::Sleeping, 2),
        event(2000, 1, Some(Tid(5)), woken),
        event(2500, 1, Some(Tid(5)), LinuxWhat::Attach { tid: Tid(3) }),
        switched(3000, 0, 2, Left::Preempted, 3),
        event(3500, 0, None, LinuxWhat::Lost { events: 12 }),
        switched(4000, 1, 5, Left::Stopped, 6),
    ]
}

fn check(bytes: Vec<u8>, format: LinuxFormat, what: &str) {
    let (events, reader) = read(bytes);
    assert_eq!(reader.format(), format);
    assert_eq!(events, expected(), "{what}");
    assert_eq!(reader.about().host.as_deref(), Some("rig"), "{what}");
    assert_eq!(reader.about().kernel.as_deref(), Some("6.12.0"), "{what}");
    let task = reader.tasks().get(Tid(11)).unwrap();
    assert_eq!(
        (task.comm.as_str(), task.process),
        ("vhost-10", Some(Tid(10))),
        "{what}"
    );
    let cgroup = reader.tasks().get(Tid(3)).unwrap().cgroup.as_deref();
    assert_eq!(cgroup, Some("/machine/vm1"), "{what}");
    assert_eq!(reader.losses().events, 12, "{what}");
    assert!(reader.damage().is_empty(), "{what}: {:?}", reader.damage());
}

#[test]
fn files_and_pipes_of_all_machines_have_the_same_events() {
    for machine in MACHINES {
        let events = recorded(USUAL);
        let data = data(machine, USUAL, &[]);
        let what = format!("{machine:?}");
        check(file(machine, &events, &data), LinuxFormat::PerfData, &what);
        check(pipe(machine, &events, &data), LinuxFormat::PerfPipe, &what);
        for kind in [81, 83] {
            for piece in [50, 300, 10_000] {
                let what = format!("{machine:?}, record {kind}, {piece} bytes");
                let packed = packed(machine, kind, &data, piece);
                check(
                    file(machine, &events, &packed),
                    LinuxFormat::PerfData,
                    &what,
                );
                check(
                    pipe(machine, &events, &packed),
                    LinuxFormat::PerfPipe,
                    &what,
                );
            }
        }
    }
}

#[test]
fn counters_and_callchains_before_the_event_are_skipped() {
    let parts = USUAL | READ | CALLCHAIN;
    // A group of two with times, ids and lost counts; three addresses.
    let read = [2u64, 7, 7, 1, 501, 0, 1, 502, 0];
    let chain = [3u64, 1, 2, 3];
    let words: Vec<_> = read.iter().chain(&chain).map(|n| (*n, 8)).collect();
    for machine in MACHINES {
        let mut events = recorded(parts);
        events.iter_mut().for_each(|e| e.read_format = 31);
        let data = data(machine, parts, &machine.numbers(&words));
        let bytes = file(machine, &events, &data);
        check(bytes, LinuxFormat::PerfData, "with counters");
    }
}

#[test]
fn control_groups_of_samples_are_known() {
    let parts = USUAL | CGROUP;
    let event = Recorded::tracepoint(501, SWITCH, parts);
    let mut data = Vec::new();
    let mut cgroup = MACHINE.number(4711, 8);
    cgroup.extend(b"/machine/vm7\0\0\0\0");
    data.extend(record(MACHINE, 19, 0, &cgroup));
    let mut with_cgroup = sample(MACHINE, &event, 5, 0, &switch(MACHINE, 11, 1, 2), &[]);
    with_cgroup.extend(MACHINE.number(4711, 8));
    let size = with_cgroup.len() as u64;
    with_cgroup[6..8].copy_from_slice(&MACHINE.number(size, 2));
    data.extend(with_cgroup);
    let (events, reader) = read(file(MACHINE, &[event], &data));
    assert_eq!(events.len(), 1);
    let cgroup = reader.tasks().get(Tid(11)).unwrap().cgroup.as_deref();
    assert_eq!(cgroup, Some("/machine/vm7"));
}

#[test]
fn events_with_different_samples_are_told_apart_by_their_id() {
    let short = IDENTIFIER | TID | TIME | CPU | RAW;
    let first = Recorded::tracepoint(501, SWITCH, USUAL);
    let second = Recorded::tracepoint(502, WAKEUP, short);
    let mut data = sample(MACHINE, &first, 5, 0, &switch(MACHINE, 1, 1, 2), &[]);
    data.extend(sample(
        MACHINE,
        &second,
        6,
        0,
        &wakeup(MACHINE, 2, 1, 0),
        &[],
    ));
    let (events, _) = read(file(MACHINE, &[first, second], &data));
    assert_eq!(events.len(), 2);
    assert!(matches!(events[1].what, LinuxWhat::Wakeup { .. }));
}

#[test]
fn a_file_without_events_of_the_scheduler_says_what_it_has() {
    let cycles = Recorded {
        kind: 0,
        config: 0,
        ..Recorded::tracepoint(501, 0, TID | TIME | CPU)
    };
    let data = sample(MACHINE, &cycles, 5, 0, &[], &[]).repeat(34);
    let error = error(file(MACHINE, &[cycles], &data)).to_string();
    assert!(error.contains("34 samples of cycles"), "{error}");
    assert!(error.contains("perf sched record"), "{error}");
}

#[test]
fn a_file_that_perf_did_not_finish_is_known_to_be_cut() {
    let whole = file(MACHINE, &recorded(USUAL), &data(MACHINE, USUAL, &[]));
    for n in (16..whole.len() - 1).step_by(41) {
        // What is missing are texts about the host, which are last, or all.
        let error = error(whole[..n].to_vec());
        assert!(error.is_truncation(), "{n} bytes: {error}");
        assert!(matches!(error.events, 0 | 6), "{n} bytes: {error}");
    }
    let mut unfinished = whole;
    unfinished[48..56].fill(0);
    let error = error(unfinished);
    assert!(error.to_string().contains("perf was killed"), "{error}");
}

#[test]
fn a_pipe_that_is_cut_gives_all_whole_events() {
    let whole = pipe(MACHINE, &recorded(USUAL), &data(MACHINE, USUAL, &[]));
    let end = whole.len();
    let mut reader = reader(whole[..end - 12].to_vec()).unwrap();
    let (events, error) = all(&mut reader);
    assert!(error.unwrap().is_truncation());
    // The record of lost events is cut.
    assert_eq!(events.len(), 5);
}

#[test]
fn a_real_recording_is_the_same_through_a_pipe_and_packed() {
    let file = unpacked("perf-sched.data.gz");
    let (expected, of_file) = read(file.clone());
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let (attr_size, attrs, attrs_size) = (word(16), word(24), word(32));
    let (start, size) = (word(40), word(48));
    let data = &file[start..start + size];
    let mut out = b"PERFILE2".to_vec();
    out.extend(16u64.to_le_bytes());
    for attr in file[attrs..attrs + attrs_size].chunks(attr_size) {
        let (attr, ids) = attr.split_at(attr_size - 16);
        let at = u64::from_le_bytes(ids[..8].try_into().unwrap()) as usize;
        let size = u64::from_le_bytes(ids[8..].try_into().unwrap()) as usize;
        let body = [attr, &file[at..at + size]].concat();
        out.extend(record(MACHINE, 64, 0, &body));
    }
    let features = start + size;
    let (at, size) = (word(features), word(features + 8));
    out.extend(record(MACHINE, 66, 0, &(size as u32).to_le_bytes()));
    out.extend(&file[at..at + size]);
    for data in [data.to_vec(), packed(MACHINE, 81, data, 40_000)] {
        let (events, reader) = read([&out[..], &data].concat());
        assert!(events == expected, "other events through a pipe");
        let names = |r: &domio_linux::LinuxReader| {
            r.tasks()
                .iter()
                .map(|(tid, t)| (tid, t.comm.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&reader), names(&of_file));
    }
}

#[test]
fn records_of_threads_are_events_where_no_tracepoint_is() {
    let event = Recorded::tracepoint(501, SWITCH, USUAL);
    let mut data = Vec::new();
    let mut add = |kind, misc, numbers: &[(u64, usize)], time| {
        let mut body = MACHINE.numbers(numbers);
        body.extend(trailer(MACHINE, 501, time, 1));
        data.extend(record(MACHINE, kind, misc, &body));
    };
    let thread = |pid, ppid, tid, ptid, time| [(pid, 4), (ppid, 4), (tid, 4), (ptid, 4), (time, 8)];
    // What was there before has time 0.
    add(7, 0, &thread(20, 1, 20, 1, 0), 0);
    add(7, 0, &thread(20, 20, 21, 20, 100), 100);
    add(4, 0, &thread(20, 20, 21, 20, 200), 200);
    add(13, 0, &[(9, 8)], 300);
    add(13, 1 << 15, &[(1000, 8)], 300);
    data.extend(sample(
        MACHINE,
        &event,
        400,
        1,
        &switch(MACHINE, 1, 1, 2),
        &[],
    ));
    let (events, reader) = read(file(MACHINE, &[event], &data));
    let what: Vec<_> = events.iter().map(|e| (e.time, e.what)).collect();
    let fork = LinuxWhat::Fork {
        parent: Tid(20),
        child: Tid(21),
    };
    let expected = [
        (100, fork),
        (200, LinuxWhat::Exit { tid: Tid(21) }),
        (300, LinuxWhat::Lost { events: 9 }),
    ];
    assert_eq!(what[..3], expected);
    assert_eq!(reader.tasks().get(Tid(21)).unwrap().process, Some(Tid(20)));
    assert_eq!(reader.tasks().get(Tid(20)).unwrap().parent, Some(Tid(1)));
}

#[test]
fn data_behind_a_record_of_auxtrace_are_skipped() {
    let event = Recorded::tracepoint(501, SWITCH, USUAL);
    let mut data = record(MACHINE, 71, 0, &MACHINE.numbers(&[(1000, 8), (0, 8)]));
    data.extend([0xaa; 1000]);
    data.extend(sample(
        MACHINE,
        &event,
        400,
        1,
        &switch(MACHINE, 1, 1, 2),
        &[],
    ));
    assert_eq!(read(file(MACHINE, &[event], &data)).0.len(), 1);
}
