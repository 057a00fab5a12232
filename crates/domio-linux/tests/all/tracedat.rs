//! trace.dat of both versions, from machines of either endianness and size of words.

use domio_linux::{Left, LinuxEvent, LinuxFormat, LinuxWhat, Tid};

use crate::build::{MACHINES, Machine, attach, switch, unknown, wakeup};
use crate::trace_dat::{
    PAGE, Packing, entry, head, option, page, string_option, v6, v7, with_data,
};
use crate::{all, error, read, reader};

const USUAL: Machine = MACHINES[0];

fn switched(time: u64, cpu: u32, prev: u32, left: Left, next: u32) -> LinuxEvent {
    LinuxEvent {
        time,
        cpu,
        current: Some(Tid(prev)),
        what: LinuxWhat::Switch {
            prev: Tid(prev),
            prev_prio: 120,
            left,
            next: Tid(next),
            next_prio: 139,
        },
    }
}

/// Two cpus with two pages and one; the second cpu's events are between those of the first.
fn pages(machine: Machine) -> Vec<Vec<Vec<u8>>> {
    let first = [
        (0, switch(machine, 1, 1, 2)),
        (100, switch(machine, 2, 1024, 3)),
    ];
    let second = [(50, switch(machine, 3, 2, 0))];
    let other = [
        (10, wakeup(machine, 5, 3, 0)),
        (0, attach(machine, 5, 3, "/machine/vm1")),
        (500, switch(machine, 5, 512, 6)),
    ];
    vec![
        vec![
            page(machine, 1000, &first, None),
            page(machine, 2000, &second, Some(7)),
        ],
        vec![page(machine, 1000, &other, None)],
    ]
}

fn expected() -> Vec<LinuxEvent> {
    let event = |time, cpu, current, what| LinuxEvent {
        time,
        cpu,
        current,
        what,
    };
    vec![
        switched(1000, 0, 1, Left::Sleeping, 2),
        event(
            1010,
            1,
            Some(Tid(5)),
            LinuxWhat::Wakeup {
                tid: Tid(3),
                prio: 100,
                target_cpu: 0,
            },
        ),
        event(1010, 1, Some(Tid(5)), LinuxWhat::Attach { tid: Tid(3) }),
        switched(1100, 0, 2, Left::Preempted, 3),
        switched(1510, 1, 5, Left::Stopped, 6),
        event(2050, 0, None, LinuxWhat::Lost { events: 7 }),
        switched(2050, 0, 3, Left::Uninterruptible, 0),
    ]
}

#[test]
fn both_versions_of_all_machines_have_the_same_events() {
    for machine in MACHINES {
        let cpus = pages(machine);
        let uname = string_option(machine, 5, "Linux rig 6.1.0 x86_64");
        let mut files = vec![v6(machine, std::slice::from_ref(&uname), &cpus, &[])];
        for packing in [Packing::None, Packing::Zlib, Packing::Zstd] {
            let options = std::slice::from_ref(&uname);
            files.push(v7(machine, packing, options, &[("", cpus.clone())]));
        }
        for (n, file) in files.into_iter().enumerate() {
            let (events, reader) = read(file);
            assert_eq!(events, expected(), "{machine:?}, file {n}");
            let about = reader.about();
            assert_eq!(about.kernel.as_deref(), Some("6.1.0"));
            assert_eq!(about.host.as_deref(), Some("rig"));
            let tasks = reader.tasks();
            assert_eq!(
                tasks.get(Tid(3)).unwrap().cgroup.as_deref(),
                Some("/machine/vm1")
            );
            assert_eq!(tasks.get(Tid(77)).unwrap().comm, "old name");
            assert_eq!(tasks.get(Tid(6)).unwrap().comm, "t6");
            assert_eq!((reader.losses().events, reader.losses().places), (7, 1));
            assert!(reader.damage().is_empty(), "{:?}", reader.damage());
        }
    }
}

#[test]
fn entries_of_all_kinds_count_their_time() {
    for machine in MACHINES {
        let mut data = Vec::new();
        entry(machine, &mut data, 5, &switch(machine, 1, 0, 2));
        // A time extension of 3 * 2^27 + 9, padding of 8 bytes, a long entry, an absolute time.
        data.extend(head(machine, 30, 9));
        data.extend(machine.number(3, 4));
        data.extend(head(machine, 29, 1));
        data.extend(machine.number(8, 4));
        data.extend([0; 4]);
        entry(machine, &mut data, 1, &unknown(machine, 200));
        data.extend(head(machine, 31, 77));
        data.extend(machine.number(1 << 10, 4));
        entry(machine, &mut data, 1, &switch(machine, 2, 0, 1));
        data.extend(head(machine, 29, 0));
        let high = 8 << 56;
        let start = high | 1000;
        let file = v6(
            machine,
            &[],
            &[vec![with_data(machine, start, &data, None)]],
            &[],
        );
        let (events, reader) = read(file);
        let times: Vec<_> = events.iter().map(|e| e.time).collect();
        let extended = start + 5 + (3 << 27) + 9 + 1 + 1;
        // An absolute time has 59 bits, without those of the page's time above.
        let absolute = high + (1 << 37) + 77 + 1;
        assert_eq!(times, [start + 5, extended, absolute], "{machine:?}");
        assert_eq!(events[1].what, LinuxWhat::Other);
        assert_eq!(reader.damage().skipped[0].count, 1);
    }
}

#[test]
fn times_are_converted_by_the_options() {
    let cpus = pages(USUAL);
    let half = USUAL.numbers(&[(1 << 15, 4), (16, 4), (0, 8)]);
    let options = [option(USUAL, 14, &half), string_option(USUAL, 7, "-100")];
    let (events, _) = read(v6(USUAL, &options, &cpus, &[]));
    assert_eq!(events[0].time, 400);
    assert_eq!(events.last().unwrap().time, 925);
}

#[test]
fn events_that_two_buffers_have_are_given_once() {
    let again = vec![vec![pages(USUAL)[0][0].clone()], vec![]];
    let (events, reader) = read(v6(USUAL, &[], &pages(USUAL), &[("again", again)]));
    assert_eq!(events, expected());
    assert_eq!(reader.damage().skipped[0].count, 2);
    assert_eq!(
        reader.about().notes,
        [("buffer".to_string(), "again".to_string())]
    );
}

#[test]
fn events_of_a_further_buffer_are_merged() {
    let top = vec![vec![], vec![]];
    let (events, _) = read(v6(USUAL, &[], &top, &[("sched", pages(USUAL))]));
    assert_eq!(events, expected());
    for packing in [Packing::None, Packing::Zlib, Packing::Zstd] {
        let [first, second] = pages(USUAL).try_into().unwrap();
        let buffers = [("", vec![first, vec![]]), ("other", vec![vec![], second])];
        let (events, reader) = read(v7(USUAL, packing, &[], &buffers));
        assert_eq!(events, expected(), "{packing:?}");
        let expected = [("buffer".to_string(), "other".to_string())];
        assert_eq!(reader.about().notes, expected);
    }
}

#[test]
fn a_file_that_is_cut_gives_its_whole_pages_first() {
    let whole = v6(USUAL, &[], &pages(USUAL), &[]);
    let cut = whole[..whole.len() - PAGE - 100].to_vec();
    let mut reader = reader(cut).unwrap();
    let (events, error) = all(&mut reader);
    let error = error.unwrap();
    assert!(error.is_truncation());
    let text = error.to_string();
    assert!(
        text.contains("cpu 0, 1") && text.contains("(2 events were read before)"),
        "{text}"
    );
    assert_eq!(events[..], [expected()[0], expected()[3]]);
    assert_eq!(reader.damage().cut.as_deref(), Some(text.as_str()));
}

#[test]
fn every_shorter_file_is_known_to_be_cut() {
    let whole = v6(USUAL, &[], &pages(USUAL), &[]);
    for n in (16..whole.len() - 1).step_by(97) {
        let error = error(whole[..n].to_vec());
        assert!(error.is_truncation(), "{n} bytes: {error}");
    }
    for packing in [Packing::None, Packing::Zlib, Packing::Zstd] {
        let whole = v7(USUAL, packing, &[], &[("", pages(USUAL))]);
        for n in (16..whole.len() - 1).step_by(97) {
            let error = error(whole[..n].to_vec());
            assert!(error.is_truncation(), "{packing:?}, {n} bytes: {error}");
        }
    }
}

#[test]
fn a_page_with_a_wrong_size_is_skipped_and_counted() {
    let mut cpus = pages(USUAL);
    cpus[0][0][8..12].copy_from_slice(&5000u32.to_le_bytes());
    let (events, reader) = read(v6(USUAL, &[], &cpus, &[]));
    assert_eq!(events.len(), 5);
    assert_eq!(
        reader.damage().skipped[0].what,
        "pages with a size that is too large"
    );
    assert_eq!(reader.losses().places, 1);
}

#[test]
fn text_of_a_latency_tracer_is_read() {
    let mut file = v6(USUAL, &[], &[], &[]);
    let at = file.windows(10).position(|w| w == b"flyrecord\0").unwrap();
    file.truncate(at);
    file.extend(b"latency  \0# tracer: wakeup\n");
    file.extend(b"  <idle>-0  [001] d..2. 1.5: sched_switch: prev_comm=swapper/1 prev_pid=0 ");
    file.extend(b"prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120\n");
    let (events, reader) = read(file);
    assert_eq!((events.len(), events[0].cpu), (1, 1));
    assert_eq!(reader.format(), LinuxFormat::TraceDat6);
}
