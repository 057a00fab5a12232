//! Events of Linux hosts, measured and explained.

use domio_core::{DomainId, Instant, Sink, VcpuName};
use domio_linux::groups::Groups;
use domio_linux::{Left, LinuxEvent, LinuxReader, LinuxWhat, Tasks, Tid};
use domio_meter::{
    Explainer, Explanation, MapWindow, Meter, Sampler, Summary, TraceChecker, VcpuWaits, Why,
};
use domio_trace::{LinuxHost, LinuxOptions, LinuxRecords, ReadOptions, TraceReader};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// Vcpus 0 and 1 of `web`, vcpu 0 of `db`, a thread that works for `web`, and one of the kernel.
const THREADS: [(u32, &str, &str); 5] = [
    (10, "CPU 0/KVM", "/machine/web"),
    (11, "CPU 1/KVM", "/machine/web"),
    (12, "vhost-10", "/machine/web"),
    (20, "CPU 0/KVM", "/machine/db"),
    (30, "kworker/0:1", "/"),
];

fn tasks() -> Tasks {
    let mut tasks = Tasks::new();
    for (tid, comm, cgroup) in THREADS {
        tasks.update(Tid(tid), |task| {
            task.comm = comm.to_owned();
            task.cgroup = Some(cgroup.to_owned());
        });
    }
    tasks
}

/// Hands the records of `events` to `sink`; the names of domains.
fn feed(events: &[LinuxEvent], host: LinuxHost, sink: &mut impl Sink) -> Vec<String> {
    let tasks = tasks();
    let mut records = LinuxRecords::new(Groups::default(), host);
    let mut drain = |records: &mut LinuxRecords| {
        while let Some(record) = records.take() {
            sink.record(records.names(), &record);
        }
    };
    for event in events {
        records.event(event, &tasks);
        drain(&mut records);
    }
    records.finish();
    drain(&mut records);
    records.domains().map(|(_, name)| name.to_owned()).collect()
}

fn summary(events: &[LinuxEvent]) -> (Summary, Vec<String>) {
    let mut meter = Meter::new();
    let names = feed(events, LinuxHost::default(), &mut meter);
    (meter.finish(), names)
}

fn explained(events: &[LinuxEvent], host: LinuxHost) -> Explanation {
    let mut explainer = Explainer::new(MapWindow::Worst);
    feed(events, host, &mut explainer);
    explainer.finish()
}

fn at(time: u64, cpu: u32, current: u32, what: LinuxWhat) -> LinuxEvent {
    LinuxEvent {
        time,
        cpu,
        current: Some(Tid(current)),
        what,
    }
}

fn switch(time: u64, cpu: u32, prev: u32, left: Left, next: u32) -> LinuxEvent {
    let prio = |tid: u32| if tid == 30 { 49 } else { 120 };
    let what = LinuxWhat::Switch {
        prev: Tid(prev),
        prev_prio: prio(prev),
        left,
        next: Tid(next),
        next_prio: prio(next),
    };
    at(time, cpu, prev, what)
}

fn wakeup(time: u64, cpu: u32, current: u32, tid: u32, target_cpu: u32) -> LinuxEvent {
    let what = LinuxWhat::Wakeup {
        tid: Tid(tid),
        prio: if tid == 30 { 49 } else { 120 },
        target_cpu,
    };
    at(time, cpu, current, what)
}

/// The time that vcpu 0 of `web` waited, by cause.
fn causes(explanation: &Explanation) -> Vec<(Why, u64)> {
    let web = VcpuName::new(DomainId(1), 0);
    let found = explanation.vcpus.iter().find(|vcpu| vcpu.name == web);
    found
        .map(VcpuWaits::by_cause)
        .unwrap_or_default()
        .into_iter()
        .collect()
}

#[test]
fn a_thread_that_is_woken_waits_for_the_one_that_runs() {
    let events = [
        at(0, 0, 20, LinuxWhat::Other),
        wakeup(MS, 0, 20, 10, 0),
        switch(4 * MS, 0, 20, Left::Runnable, 10),
        switch(5 * MS, 0, 10, Left::Sleeping, 20),
    ];
    let explanation = explained(&events, LinuxHost::default());
    // The groups are numbered as they are seen: `db` is 1.
    let web = explanation
        .vcpus
        .iter()
        .find(|v| v.name.domain.0 == 2)
        .unwrap();
    let db = VcpuName::new(DomainId(1), 0);
    assert_eq!(web.times, [((Some(db), Why::Queued), 3 * MS)].into());
    assert_eq!((web.running, web.blocked), (MS, MS));
    let db = explanation.vcpus.iter().find(|v| v.name == db).unwrap();
    assert_eq!(db.by_cause(), [(Why::SliceOver, MS)].into());
}

#[test]
fn what_holds_a_thread_back_is_said() {
    let busy = at(0, 0, 10, LinuxWhat::Other);
    let first = |rest: &[LinuxEvent]| [&[busy], rest].concat();
    // A limit: the cpu idles beside it.
    let limited = first(&[
        switch(10 * MS, 0, 10, Left::Runnable, 0),
        switch(50 * MS, 0, 0, Left::Runnable, 10),
        at(60 * MS, 0, 10, LinuxWhat::Other),
    ]);
    let found = explained(&limited, LinuxHost::default());
    assert_eq!(causes(&found), [(Why::Throttled, 40 * MS)]);
    // A limit again, but it is woken meanwhile: the wake-up takes its time first.
    let woken = first(&[
        switch(10 * MS, 0, 10, Left::Sleeping, 0),
        wakeup(20 * MS, 0, 0, 10, 0),
        switch(50 * MS, 0, 0, Left::Runnable, 10),
        at(60 * MS, 0, 10, LinuxWhat::Other),
    ]);
    let found = explained(&woken, LinuxHost::default());
    let expected = [(Why::Pass, MS / 2), (Why::Throttled, 30 * MS - MS / 2)];
    assert_eq!(causes(&found), expected);
    // A thread of real time.
    let above = first(&[
        wakeup(10 * MS, 0, 10, 30, 0),
        switch(10 * MS, 0, 10, Left::Runnable, 30),
        switch(13 * MS, 0, 30, Left::Sleeping, 10),
        at(20 * MS, 0, 10, LinuxWhat::Other),
    ]);
    let found = explained(&above, LinuxHost::default());
    assert_eq!(causes(&found), [(Why::HigherClass, 3 * MS)]);
    // Interrupts in the time of the one that runs.
    let interrupts = first(&[
        switch(10 * MS, 0, 10, Left::Runnable, 20),
        at(12 * MS, 0, 20, LinuxWhat::SoftirqEntry { vec: 3 }),
        at(15 * MS, 0, 20, LinuxWhat::SoftirqExit { vec: 3 }),
        switch(16 * MS, 0, 20, Left::Sleeping, 10),
        at(20 * MS, 0, 10, LinuxWhat::Other),
    ]);
    let found = explained(&interrupts, LinuxHost::default());
    let expected = [(Why::SliceOver, 3 * MS), (Why::Interrupts, 3 * MS)];
    assert_eq!(causes(&found), expected);
}

#[test]
fn an_idle_cpu_elsewhere_is_a_cause_and_affinity_another() {
    let events = [
        at(0, 0, 10, LinuxWhat::Other),
        at(0, 1, 0, LinuxWhat::Other),
        switch(10 * MS, 0, 10, Left::Runnable, 20),
        // The other cpu is busy for a while.
        switch(12 * MS, 1, 0, Left::Runnable, 11),
        switch(15 * MS, 1, 11, Left::Sleeping, 0),
        switch(16 * MS, 0, 20, Left::Sleeping, 10),
        at(20 * MS, 0, 10, LinuxWhat::Other),
    ];
    let found = explained(&events, LinuxHost::default());
    let rest = (Why::SliceOver, 3 * MS);
    assert_eq!(causes(&found), [rest, (Why::IdleElsewhere, 3 * MS)]);
    let said = found.untold().join(" ");
    assert!(said.contains("NAME.host.json"), "{said}");
    let host = |cpus: &str| {
        let text = format!(
            r#"{{"format": "domio-linux-host", "version": 1,
                "threads": [{{"tid": 10, "cpus": "{cpus}"}}]}}"#
        );
        LinuxHost::parse(&text).unwrap()
    };
    let found = explained(&events, host("0"));
    assert_eq!(causes(&found), [rest, (Why::Affinity, 3 * MS)]);
    assert!(!found.untold().join(" ").contains("NAME.host.json"));
    let found = explained(&events, host("0-1"));
    assert_eq!(causes(&found), [rest, (Why::IdleElsewhere, 3 * MS)]);
}

#[test]
fn a_thread_waits_in_the_queue_that_it_was_put_into() {
    let events = [
        at(0, 0, 10, LinuxWhat::Other),
        at(0, 1, 20, LinuxWhat::Other),
        at(0, 2, 11, LinuxWhat::Other),
        wakeup(MS, 0, 10, 12, 1),
        at(
            2 * MS,
            0,
            10,
            LinuxWhat::Migrate {
                tid: Tid(12),
                from: 1,
                to: 2,
            },
        ),
        switch(4 * MS, 2, 11, Left::Sleeping, 12),
        at(5 * MS, 2, 12, LinuxWhat::Other),
    ];
    let explanation = explained(&events, LinuxHost::default());
    let helper = explanation
        .vcpus
        .iter()
        .find(|v| v.name.domain.0 == 3)
        .unwrap();
    let [db, web] = [(2, 0), (1, 1)].map(|(d, v)| Some(VcpuName::new(DomainId(d), v)));
    assert_eq!(helper.behind(), [(db, MS), (web, 2 * MS)].into());
    // Its work is the guest's.
    let work = &explanation.driver_work;
    assert_eq!(work.len(), 1);
    assert_eq!(work[0].done_for, [(DomainId(1), MS)].into());
}

#[test]
fn ready_time_and_what_was_taken_are_figures_of_guests() {
    let events = [
        at(0, 0, 10, LinuxWhat::Other),
        at(0, 1, 11, LinuxWhat::Other),
        at(MS, 0, 10, LinuxWhat::IrqEntry { irq: 1 }),
        at(2 * MS, 0, 10, LinuxWhat::IrqExit { irq: 1 }),
        switch(10 * MS, 0, 10, Left::Runnable, 20),
        switch(30 * MS, 0, 20, Left::Sleeping, 10),
        at(100 * MS, 1, 11, LinuxWhat::Other),
    ];
    let (summary, names) = summary(&events);
    assert_eq!(names, ["kernel", "web", "db"]);
    let web = summary.domains.iter().find(|d| d.id.0 == 1).unwrap();
    let figure = |key| summary.figure(web, key);
    assert_eq!(figure("rdy_pct"), Some(10.0));
    assert_eq!(figure("steal_pct"), Some(20.0));
    assert_eq!(figure("skew_pct"), Some(20.0));
    assert_eq!(figure("irq_pct"), Some(1.0));
    assert_eq!(figure("waiting_pct"), Some(10.0));
    let db = summary.domains.iter().find(|d| d.id.0 == 2).unwrap();
    assert_eq!(summary.figure(db, "rdy_pct"), None, "it has not waited");
}

#[test]
fn sleep_that_cannot_be_interrupted_is_apart() {
    let events = [
        at(0, 0, 10, LinuxWhat::Other),
        switch(10 * MS, 0, 10, Left::Uninterruptible, 0),
        wakeup(13 * MS, 0, 0, 10, 0),
        switch(14 * MS, 0, 0, Left::Runnable, 10),
        switch(20 * MS, 0, 10, Left::Sleeping, 0),
        wakeup(50 * MS, 0, 0, 10, 0),
        switch(50 * MS, 0, 0, Left::Runnable, 10),
        switch(60 * MS, 0, 10, Left::Uninterruptible, 0),
        at(62 * MS, 0, 0, LinuxWhat::Other),
    ];
    let web = VcpuName::new(DomainId(1), 0);
    let explanation = explained(&events, LinuxHost::default());
    let waits = explanation.vcpus.iter().find(|v| v.name == web).unwrap();
    assert_eq!(
        (waits.blocked, waits.uninterruptible),
        (35 * MS, 5 * MS),
        "3 ms, and 2 ms up to the end"
    );
    let (summary, _) = summary(&events);
    let domain = summary.domains.iter().find(|d| d.id == web.domain).unwrap();
    let total = &domain.total;
    assert_eq!((total.blocked, total.uninterruptible), (35 * MS, 5 * MS));
    let share = summary.figure(domain, "uninterruptible_pct").unwrap();
    assert!((share - 500.0 / 62.0).abs() < 1e-9, "{share}");
    // An interval of 12 ms has the part that lies within.
    let mut sampler = Sampler::new(domio_core::Duration::from_millis(12));
    feed(&events, LinuxHost::default(), &mut sampler);
    let parts: Vec<u64> = sampler
        .finish()
        .map(|sample| sample.domain(web.domain).uninterruptible)
        .collect();
    assert_eq!(parts, [2, 1, 0, 0, 0, 2].map(|ms| ms * MS));
}

#[test]
fn fairness_is_that_of_guests_and_not_of_groups_of_the_host() {
    // The thread of the kernel competes as well.
    let events = [
        at(0, 0, 10, LinuxWhat::Other),
        at(0, 1, 30, LinuxWhat::Other),
        wakeup(0, 0, 10, 20, 0),
        switch(10 * MS, 0, 10, Left::Runnable, 20),
        switch(20 * MS, 0, 20, Left::Runnable, 10),
        at(40 * MS, 0, 10, LinuxWhat::Other),
        at(40 * MS, 1, 30, LinuxWhat::Other),
    ];
    let (summary, names) = summary(&events);
    let named = |name: &str| names.iter().position(|n| n == name).unwrap() as u16;
    let guests = [named("web"), named("db")].map(DomainId);
    assert_eq!(summary.guests, guests);
    assert_eq!(summary.competing(), guests);
}

fn any_event() -> impl Strategy<Value = (u64, u32, u32, u8, u32, u32)> {
    (0..3 * MS, 0..3_u32, 0..6_u32, 0..18_u8, 0..6_u32, 0..4_u32)
}

/// An event of these numbers; threads are those of [`THREADS`], the idle task and a few others.
fn event(
    (cpu, current, what): (u32, u32, u8),
    (tid, other): (u32, u32),
) -> (u32, Option<Tid>, LinuxWhat) {
    let thread = |n: u32| Tid([0, 10, 11, 12, 20, 77][n as usize % 6]);
    let (tid, prio, target_cpu) = (thread(tid), 120 - other as i16 * 40, other);
    let lefts = [
        Left::Runnable,
        Left::Preempted,
        Left::Sleeping,
        Left::Uninterruptible,
        Left::Stopped,
        Left::Dead,
    ];
    let what = match what {
        0..6 => LinuxWhat::Switch {
            prev: thread(current),
            prev_prio: prio,
            left: lefts[usize::from(what)],
            next: tid,
            next_prio: 120,
        },
        6 => LinuxWhat::Waking {
            tid,
            prio,
            target_cpu,
        },
        7 | 8 => LinuxWhat::Wakeup {
            tid,
            prio,
            target_cpu,
        },
        9 => LinuxWhat::WakeupNew {
            tid,
            prio,
            target_cpu,
        },
        10 => LinuxWhat::Migrate {
            tid,
            from: 0,
            to: other,
        },
        11 => LinuxWhat::Fork {
            parent: thread(current),
            child: tid,
        },
        12 => LinuxWhat::Lost {
            events: u64::from(other),
        },
        13 => LinuxWhat::SoftirqEntry { vec: other },
        14 => LinuxWhat::SoftirqExit { vec: other },
        15 => LinuxWhat::KvmEntry { vcpu: 0 },
        16 => LinuxWhat::KvmExit { reason: 1 },
        _ => LinuxWhat::Other,
    };
    (cpu, Some(thread(current)).filter(|_| other != 3), what)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_events_can_be_measured(list in proptest::collection::vec(any_event(), 1..120)) {
        let mut now = 0;
        let events: Vec<LinuxEvent> = list
            .into_iter()
            .map(|(after, cpu, current, what, tid, other)| {
                now += after;
                let (cpu, current, what) = event((cpu, current, what), (tid, other));
                LinuxEvent { time: now, cpu, current, what }
            })
            .collect();
        let (summary, _) = summary(&events);
        let elapsed = summary.end.as_nanos() - summary.start.as_nanos();
        for vcpu in summary.domains.iter().flat_map(|d| &d.vcpus) {
            let a = &vcpu.account;
            let sum = a.running + a.runnable + a.blocked + a.offline + a.unknown;
            prop_assert!(sum <= elapsed, "{} has {sum} of {elapsed}", vcpu.name);
        }
        let explanation = explained(&events, LinuxHost::default());
        for waits in &explanation.vcpus {
            let sum = waits.running + waits.runnable() + waits.blocked + waits.parked
                + waits.paused + waits.unknown;
            prop_assert_eq!(sum, waits.seen, "{}", waits.name);
            let accounts = summary.domains.iter().flat_map(|d| &d.vcpus);
            let account = accounts.into_iter().find(|v| v.name == waits.name).unwrap();
            prop_assert_eq!(account.account.running, waits.running);
            prop_assert_eq!(account.account.runnable, waits.runnable());
        }
        let mut checker = TraceChecker::new();
        feed(&events, LinuxHost::default(), &mut checker);
        checker.finish();
    }
}

/// Running and runnable time of threads of a shipped recording, between two times.
fn recorded(name: &str, [from, to]: [u64; 2]) -> Vec<(String, u64, u64)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/linux");
    let stem = name.split('.').next().unwrap();
    let host = std::fs::read_to_string(format!("{folder}/{stem}.host.json")).unwrap();
    let options = ReadOptions {
        linux: LinuxOptions {
            groups: Vec::new(),
            host: Some(LinuxHost::parse(&host).unwrap()),
        },
        ..ReadOptions::default()
    };
    let reader = LinuxReader::open(format!("{folder}/{name}")).unwrap();
    let mut reader: TraceReader<std::fs::File> = TraceReader::linux(reader, &options);
    let [from, to] = [from, to].map(Instant::from_nanos);
    let mut meter = Meter::window(from, to);
    reader.copy_to(&mut meter).unwrap();
    let summary = meter.finish();
    let header = reader.header().unwrap();
    let mut found = Vec::new();
    for vcpu in summary.domains.iter().flat_map(|d| &d.vcpus) {
        let domain = header.domain_name(vcpu.name.domain.0).unwrap_or("idle");
        let account = &vcpu.account;
        found.push((
            format!("{domain}.{}", vcpu.name.index),
            account.running,
            account.runnable,
        ));
    }
    found
}

/// A thread, how long it ran and how long it waited.
type Thread = (&'static str, u64, u64);

/// What `/proc/TID/schedstat` said at both ends of the same time: ran and waited. The clock of a
/// trace stands still while the kernel switches, so that the two differ a little.
#[test]
fn times_of_threads_are_those_of_schedstat() {
    let recordings: [(&str, [u64; 2], &[Thread]); 3] = [
        (
            "cfs-v7.dat",
            [3_010_908_000, 13_010_927_237],
            &[
                ("vm1.0", 1_284_584_689, 8_716_456_386),
                ("vm2.0", 2_566_548_573, 7_434_489_283),
                ("vm3.0", 5_133_217_992, 4_867_815_080),
                ("vm4.0", 1_015_836_434, 12_240_423),
            ],
        ),
        (
            "vhost-v7.dat",
            [4_051_224_310, 14_052_008_902],
            &[
                ("vm1.0", 2_046_051_282, 765_751_777),
                ("vm1.1", 2_561_579_528, 873_288_501),
                ("vm1:host.", 1_835_049_183, 2_185_863_158),
                ("vm2.0", 3_692_205_016, 6_310_548_600),
                ("vm2.1", 3_752_958_722, 6_249_865_508),
                ("vm3.0", 6_114_875_512, 3_887_103_845),
            ],
        ),
        (
            "quota-v6.dat.gz",
            [3_430_615_648, 13_430_629_529],
            &[
                ("vm1.0", 3_024_681_782, 7_020_426_767),
                ("vm2.0", 4_998_722_535, 5_003_311_519),
                ("vm3.0", 1_005_428_758, 1_263_166_209),
            ],
        ),
    ];
    for (name, window, threads) in recordings {
        let found = recorded(name, window);
        for (thread, ran, waited) in threads {
            // The threads of a guest that execute no vcpu: the busiest is meant.
            let of_name = found.iter().filter(|(own, ..)| own.starts_with(thread));
            let (_, running, runnable) = of_name.max_by_key(|(_, ran, _)| *ran).unwrap();
            let near = |a: u64, b: u64| a.abs_diff(b) <= b / 100;
            assert!(
                near(*running, *ran),
                "{name}: {thread} ran {running}, expected {ran}"
            );
            // Short waits are mostly the way from the wake-up to the switch.
            let is_long = *waited > 100 * MS;
            assert!(
                !is_long || near(*runnable, *waited),
                "{name}: {thread} waited {runnable}, expected {waited}"
            );
        }
    }
}
