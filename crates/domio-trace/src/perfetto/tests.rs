//! Packets of the writer, decoded, against the records that they are of.

use super::proto::Trace;
use super::*;
use crate::DomainInfo;
use Runstate::{Blocked, Runnable, Running};
use domio_core::{ActorId, Acts, Class, Field, Hold, Place, Unit};

/// Vcpu 0 of domains 0 to 2, idle, and one with an index beyond the thread ids of its domain.
pub(super) fn some_names() -> Names {
    let mut names = Names::new();
    for domain in [0, 1, 2, 32767] {
        names.add_actor(VcpuName::new(DomainId(domain), 0));
    }
    names.add_actor(VcpuName::new(DomainId(1), 1500));
    names
}

pub(super) fn packets(names: &Names, records: &[Record], header: &TraceHeader) -> Vec<TracePacket> {
    let mut w = PerfettoWriter::new(Vec::new(), Some(header));
    for r in records {
        w.record(names, r);
    }
    assert_eq!(w.undeclared().total(), 0);
    let bytes = w.finish().unwrap();
    Trace::decode(&bytes[..]).unwrap().packets
}

fn change(ns: u64, pcpu: u16, actor: u32, old: Runstate, new: Runstate) -> Record {
    let at = Instant::from_nanos(ns);
    Record::runstate(at, PcpuId(pcpu), ActorId(actor), old, new)
}

#[test]
fn slices_nest_and_threads_belong_to_their_domain() {
    let header = TraceHeader {
        domains: vec![DomainInfo {
            id: 1,
            name: "web".to_owned(),
            ..DomainInfo::default()
        }],
        ..TraceHeader::default()
    };
    let (at, prev) = (Instant::from_nanos(30), (ActorId(1), Blocked));
    let switch = Record::switch(at, PcpuId(0), prev, ActorId(2), [0; 3]);
    let records = [
        change(10, 0, 1, Blocked, Runnable),
        change(20, 0, 1, Runnable, Running),
        change(25, 0, 2, Blocked, Runnable),
        switch,
        change(50, 0, 3, Runnable, Running),
    ];
    let packets = packets(&some_names(), &records, &header);
    let processes: Vec<_> = packets
        .iter()
        .filter_map(|p| p.track_descriptor.as_ref()?.process.as_ref())
        .map(|p| (p.pid, p.process_name.as_str()))
        .collect();
    assert_eq!(processes, [(2000, "web (d1)"), (3000, "dom2")]);
    let threads: Vec<_> = packets
        .iter()
        .filter_map(|p| p.track_descriptor.as_ref()?.thread.as_ref())
        .map(|t| t.thread_name.as_str())
        .collect();
    assert_eq!(threads, ["web.0", "dom2.0"]);

    let mut depth = BTreeMap::new();
    for p in &packets {
        assert_eq!(p.sequence, Some(SEQUENCE));
        let Some(e) = &p.track_event else { continue };
        for counter in &e.counter_tracks {
            depth.entry(*counter).or_insert(0);
        }
        let open = depth.entry(e.track).or_insert(0);
        *open += match e.r#type {
            SLICE_BEGIN => 1,
            SLICE_END => -1,
            COUNTER => 0,
            other => panic!("type {other}"),
        };
        assert!((0..=1).contains(open), "{e:?}");
    }
    assert!(depth.values().all(|open| *open == 0), "{depth:?}");
    assert_eq!(
        depth.len(),
        4,
        "two vcpus, a pcpu, the run queues; idle has no track"
    );

    let states: Vec<_> = packets
        .iter()
        .filter_map(|p| Some((p.timestamp?, p.task_state.as_ref()?)))
        .map(|(at, s)| (at, s.tid, s.state, s.cpu))
        .collect();
    assert_eq!(
        states,
        [
            (10, 2000, 2, 0),
            (20, 2000, 3, 0),
            (25, 3000, 2, 0),
            (30, 2000, 4, 0),
            (30, 3000, 3, 0),
        ]
    );
}

/// Names by their numbers.
#[derive(Default)]
pub(super) struct Called {
    pub(super) events: BTreeMap<u64, String>,
    pub(super) categories: BTreeMap<u64, String>,
    pub(super) fields: BTreeMap<u64, String>,
    pub(super) values: BTreeMap<u64, String>,
}

impl Called {
    pub(super) fn of(packets: &[TracePacket]) -> Self {
        let mut called = Called::default();
        for packet in packets {
            let Some(data) = &packet.interned_data else {
                continue;
            };
            for (table, names) in [
                (&mut called.events, &data.event_names),
                (&mut called.categories, &data.event_categories),
                (&mut called.fields, &data.annotation_names),
                (&mut called.values, &data.annotation_values),
            ] {
                for name in names {
                    let before = table.insert(name.number, name.name.clone());
                    assert_eq!(before, None, "a number has one name");
                }
            }
        }
        called
    }
}

/// A wake-up that leads to a run has an arrow; one of a vcpu that runs, waits already or was
/// preempted has none.
#[test]
fn a_wake_up_points_to_the_run() {
    let wake = |ns: u64, actor: u32| {
        Record::new(
            Instant::from_nanos(ns),
            PcpuId(1),
            Kind::Wake,
            ActorId(actor),
        )
    };
    let records = [
        change(1, 0, 1, Runnable, Running),
        wake(2, 1),
        change(5, 0, 1, Running, Runnable),
        wake(6, 1),
        change(7, 0, 1, Runnable, Running),
        change(8, 0, 1, Running, Blocked),
        change(10, 0, 1, Blocked, Runnable),
        wake(10, 1),
        wake(11, 1),
        change(20, 0, 1, Runnable, Running),
        wake(30, 2),
        change(31, 0, 2, Blocked, Runnable),
        change(32, 0, 2, Runnable, Blocked),
        change(40, 0, 2, Blocked, Runnable),
        change(41, 0, 2, Runnable, Running),
    ];
    let packets = packets(&some_names(), &records, &TraceHeader::default());
    let events = packets
        .iter()
        .filter_map(|p| Some((p.timestamp?, p.track_event.as_ref()?)));
    let arrows = |ids: fn(&TrackEvent) -> &Vec<u64>| -> Vec<(u64, u64, u64)> {
        let of = |(at, e): (u64, &TrackEvent)| {
            ids(e)
                .iter()
                .map(|id| (at, *id, e.track))
                .collect::<Vec<_>>()
        };
        events.clone().flat_map(of).collect()
    };
    let waker = pcpu_track(PcpuId(1));
    assert_eq!(arrows(|e| &e.flow_ids), [(10, 1, waker), (30, 2, waker)]);
    let word = VcpuName::new(DomainId(1), 0).word();
    assert_eq!(
        arrows(|e| &e.terminating_flow_ids),
        [(20, 1, vcpu_track(word))]
    );
}

/// A device whose place is of a sort that no device of the project has: the items that wait there
/// are counted, and the driver domain brings them there.
#[test]
fn a_place_that_nobody_knew_has_its_queue_and_its_arrows() {
    static ACCELERATOR: Class = Class::new(
        "accelerator",
        &[Declared::new(
            0,
            "moved",
            &[
                Field::bits("from", 0, 8, Unit::Place),
                Field::bits("to", 8, 8, Unit::Place),
                Field::word("driver", 1, Unit::Actor),
                Field::long("ago", 2, Unit::Nanoseconds),
            ],
        )
        .says(Says::Moved {
            from: 0,
            to: 1,
            driver: 2,
            ago: 3,
        })],
    )
    .with_places(
        "jobs",
        &[
            Place::new("outside", Acts::Nobody, Hold::Nothing),
            Place::new("tokens", Acts::Device, Hold::Budget),
        ],
    );
    let mut names = some_names();
    let class = names.add_class(&ACCELERATOR);
    let moved = |ns, from: u32, to: u32| {
        let at = Instant::from_nanos(ns);
        Record::of(
            at,
            PcpuId(0),
            (class, 0),
            ActorId(1),
            [from | to << 8, 0, 0, 0],
        )
    };
    let records = [moved(10, 0, 1), moved(30, 1, 0)];
    let packets = packets(&names, &records, &TraceHeader::default());
    let counters = packets.iter().filter_map(|p| p.track_descriptor.as_ref());
    assert!(
        counters
            .filter_map(|t| t.name.as_deref())
            .any(|name| name == "jobs: tokens")
    );
    let events = packets.iter().filter_map(|p| p.track_event.as_ref());
    let events: Vec<&TrackEvent> = events.filter(|e| e.r#type == INSTANT).collect();
    let driver = vcpu_track(VcpuName::new(DomainId(0), 0).word());
    assert_eq!(
        events.iter().map(|e| e.track).collect::<Vec<_>>(),
        [driver; 2]
    );
    let arrows = [&events[0].flow_ids, &events[1].terminating_flow_ids];
    assert_eq!(arrows, [&vec![1], &vec![1]]);
}
