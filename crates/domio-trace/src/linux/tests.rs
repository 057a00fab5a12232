//! Records of events that are written down by hand.

mod disks;

use domio_core::{Kind, Record};
use domio_linux::groups::Groups;
use domio_linux::{Left, LinuxEvent, LinuxWhat, Tasks, Tid};

use super::{LinuxHost, LinuxRecords};

/// A host whose threads have the names and control groups of a list.
struct Host {
    records: LinuxRecords,
    tasks: Tasks,
}

const THREADS: [(u32, &str, &str); 6] = [
    (10, "CPU 0/KVM", "/machine/web"),
    (11, "CPU 1/KVM", "/machine/web"),
    (12, "vhost-10", "/machine/web"),
    (20, "CPU 0/KVM", "/machine/db"),
    (30, "kworker/0:1", "/"),
    (31, "cron", "/system.slice/cron.service"),
];

impl Host {
    fn new(threads: &[(u32, &str, &str)]) -> Self {
        let mut tasks = Tasks::new();
        for (tid, comm, cgroup) in threads {
            tasks.update(Tid(*tid), |task| {
                task.comm = (*comm).to_owned();
                task.cgroup = Some((*cgroup).to_owned());
            });
        }
        Host {
            records: LinuxRecords::new(Groups::default(), LinuxHost::default()),
            tasks,
        }
    }

    /// The records of an event at a time, on a cpu, with its current thread, a line each.
    fn at(&mut self, time: u64, cpu: u32, current: u32, what: LinuxWhat) -> Vec<String> {
        let event = LinuxEvent {
            time,
            cpu,
            current: Some(Tid(current)),
            what,
        };
        self.records.event(&event, &self.tasks);
        self.taken()
    }

    /// What was taken, but for the records that say which threads are vcpus of guests.
    fn taken(&mut self) -> Vec<String> {
        let mut lines = self.all_taken();
        lines.retain(|line| !line.ends_with(" of-guest"));
        lines
    }

    fn all_taken(&mut self) -> Vec<String> {
        let records: Vec<Record> = std::iter::from_fn(|| self.records.take()).collect();
        records.iter().map(|record| self.line(record)).collect()
    }

    fn line(&self, record: &Record) -> String {
        let names = self.records.names();
        let who = |actor| {
            names
                .vcpu(actor)
                .map_or_else(|| "?".into(), |v| v.to_string())
        };
        let declared = names.declared(record).unwrap();
        let mut line = format!("{} {}", record.pcpu, who(record.actor));
        match record.kind() {
            Some(Kind::Switch | Kind::RunstateChange) => {
                for (actor, old, new) in record.changes().into_iter().flatten() {
                    line += &format!(" {}:{}>{}", who(actor), old.name(), new.name());
                }
            }
            _ => {
                line += &format!(" {}", declared.name);
                for field in declared.fields {
                    line += &format!(" {}={}", field.name, field.value(record));
                }
            }
        }
        line
    }
}

fn switch(prev: u32, left: Left, next: u32) -> LinuxWhat {
    LinuxWhat::Switch {
        prev: Tid(prev),
        prev_prio: 120,
        left,
        next: Tid(next),
        next_prio: 120,
    }
}

fn wakeup(tid: u32, target_cpu: u32) -> LinuxWhat {
    LinuxWhat::Wakeup {
        tid: Tid(tid),
        prio: 120,
        target_cpu,
    }
}

#[test]
fn threads_of_vcpus_and_sleep_that_cannot_be_interrupted_are_said() {
    let mut host = Host::new(&THREADS);
    let mut at = |time, current, what| {
        let event = LinuxEvent {
            time,
            cpu: 0,
            current: Some(Tid(current)),
            what,
        };
        host.records.event(&event, &host.tasks);
        host.all_taken()
    };
    at(100, 0, LinuxWhat::Other);
    let woken = at(200, 0, wakeup(10, 0));
    assert_eq!(woken[1], "p0 d1v0 of-guest");
    at(250, 0, switch(0, Left::Runnable, 10));
    let left = at(300, 10, switch(10, Left::Uninterruptible, 0));
    assert_eq!(left.last().unwrap(), "p0 d1v0 uninterruptible");
    assert!(
        !at(310, 0, wakeup(10, 0))
            .iter()
            .any(|l| l.contains("of-guest"))
    );
}

#[test]
fn names_are_news_once_and_when_they_change() {
    let mut host = Host::new(&THREADS);
    assert!(!host.records.has_news());
    host.at(100, 0, 31, LinuxWhat::Other);
    assert!(host.records.has_news());
    let news = host.records.take_news(&host.tasks);
    assert_eq!(news, host.records.labels(&host.tasks));
    assert_eq!(news[0].1, "cron.service.cron-31");
    host.at(200, 0, 31, wakeup(10, 0));
    let news = host.records.take_news(&host.tasks);
    assert!(news.is_empty(), "a vcpu has no name of its own: {news:?}");
    // A new thread gets its name when it has begun.
    let (parent, child) = (Tid(31), Tid(40));
    host.at(300, 0, 31, LinuxWhat::Fork { parent, child });
    host.tasks
        .update(child, |task| task.comm = "job".to_owned());
    host.at(400, 0, 31, switch(31, Left::Sleeping, 40));
    host.records.take_news(&host.tasks);
    host.tasks
        .update(child, |task| task.comm = "jobs".to_owned());
    host.at(500, 0, 40, switch(40, Left::Sleeping, 0));
    host.at(600, 0, 0, wakeup(40, 0));
    let all = host.records.labels(&host.tasks);
    let news = host.records.take_news(&host.tasks);
    assert!(
        !news.is_empty() && news.iter().all(|new| all.contains(new)),
        "{news:?} {all:?}"
    );
    assert!(!host.records.has_news());
}

#[test]
fn a_wake_up_a_run_and_a_sleep() {
    let mut host = Host::new(&THREADS);
    let idles = host.at(100, 0, 0, LinuxWhat::Other);
    assert_eq!(idles, ["p0 idlev0 idlev0:running>running"]);
    let woken = host.at(200, 0, 0, wakeup(10, 0));
    assert_eq!(
        woken,
        ["p0 d1v0 d1v0:blocked>runnable", "p0 d1v0 pass-pending"]
    );
    let runs = host.at(250, 0, 0, switch(0, Left::Runnable, 10));
    assert_eq!(
        runs,
        [
            "p0 d1v0 ready time=50",
            "p0 idlev0 idlev0:running>runnable d1v0:runnable>running"
        ]
    );
    let sleeps = host.at(900, 0, 10, switch(10, Left::Sleeping, 0));
    assert_eq!(
        sleeps,
        ["p0 d1v0 d1v0:running>blocked idlev0:runnable>running"]
    );
    let names: Vec<_> = host
        .records
        .domains()
        .map(|(_, name)| name.to_owned())
        .collect();
    assert_eq!(names, ["kernel", "web"]);
}

#[test]
fn a_waking_is_the_wake_up_until_there_are_others() {
    let mut host = Host::new(&THREADS);
    let waking = |tid| LinuxWhat::Waking {
        tid: Tid(tid),
        prio: 120,
        target_cpu: 0,
    };
    host.at(1, 0, 31, LinuxWhat::Other);
    let first = host.at(2, 0, 31, waking(10));
    assert_eq!(first, ["p0 d2v0 d2v0:blocked>runnable", "p0 d2v0 queued"]);
    assert!(
        host.at(3, 0, 31, wakeup(10, 0)).is_empty(),
        "it is runnable"
    );
    assert!(
        host.at(4, 0, 31, waking(20)).is_empty(),
        "there are wake-ups"
    );
    assert_eq!(host.at(5, 0, 31, wakeup(20, 0)).len(), 2);
    // One that runs stays where it is.
    assert!(host.at(6, 0, 31, wakeup(31, 0)).is_empty());
}

#[test]
fn threads_that_were_there_have_not_waited() {
    let mut host = Host::new(&THREADS);
    let first = host.at(5, 0, 10, switch(10, Left::Runnable, 20));
    assert_eq!(
        first,
        [
            "p0 d1v0 d1v0:running>running",
            "p0 d1v0 d1v0:running>runnable",
            "p0 d2v0 d2v0:offline>running",
            "p0 d1v0 turn-over",
        ]
    );
}

#[test]
fn why_a_thread_leaves_runnable() {
    let mut host = Host::new(&THREADS);
    host.at(0, 0, 10, LinuxWhat::Other);
    host.at(1000, 0, 10, wakeup(20, 0));
    // Woken just before: it preempts.
    let preempts = host.at(1100, 0, 10, switch(10, Left::Runnable, 20));
    assert_eq!(preempts.len(), 2, "{preempts:?}");
    let turn = host.at(5_000_000, 0, 20, switch(20, Left::Preempted, 10));
    assert_eq!(turn[2..], ["p0 d2v0 turn-over"]);
    // Nobody else is there: it may not run.
    let limit = host.at(6_000_000, 0, 10, switch(10, Left::Runnable, 0));
    assert_eq!(limit.last().unwrap(), "p0 d1v0 limited");
    let above = LinuxWhat::Switch {
        prev: Tid(0),
        prev_prio: 120,
        left: Left::Runnable,
        next: Tid(30),
        next_prio: 49,
    };
    let above = host.at(7_000_000, 0, 0, above);
    assert_eq!(above.last().unwrap(), "p0 d0v0 rank rank=1");
}

#[test]
fn a_run_without_an_end_ends_with_the_next_event_of_the_cpu() {
    let mut host = Host::new(&THREADS);
    host.at(0, 0, 10, LinuxWhat::Other);
    let found = host.at(100, 0, 20, LinuxWhat::Other);
    assert_eq!(
        found,
        [
            "p0 d1v0 d1v0:running>blocked",
            "p0 d1v0 d1v0:blocked>offline",
            "p0 d2v0 d2v0:offline>running"
        ]
    );
    assert_eq!(host.records.missing(), 1);
    // What it did meanwhile contradicts its last record, so that the time is unknown.
    let woken = host.at(200, 0, 20, wakeup(10, 0));
    assert_eq!(woken[0], "p0 d1v0 d1v0:blocked>runnable");
    // The same on another cpu.
    let found = host.at(300, 1, 20, LinuxWhat::Other);
    assert_eq!(
        found,
        [
            "p0 d2v0 d2v0:running>blocked",
            "p0 d2v0 d2v0:blocked>offline",
            "p1 d2v0 d2v0:running>running"
        ]
    );
    assert_eq!(host.records.missing(), 2);
}

#[test]
fn what_works_for_a_guest_is_beside_it() {
    let mut host = Host::new(&THREADS);
    host.at(0, 0, 0, LinuxWhat::Other);
    host.at(10, 0, 0, wakeup(12, 0));
    host.at(20, 0, 0, switch(0, Left::Runnable, 12));
    let done = host.at(70, 0, 12, switch(12, Left::Sleeping, 0));
    assert_eq!(done[0], "p0 d2v0 driver-work owner=1 executed=50");
    let names: Vec<_> = host
        .records
        .domains()
        .map(|(_, name)| name.to_owned())
        .collect();
    assert_eq!(names, ["kernel", "web", "web:host"]);
    let labels: Vec<_> = host
        .records
        .labels(&host.tasks)
        .into_iter()
        .map(|(_, l)| l)
        .collect();
    assert_eq!(labels, ["web:host.vhost-10"]);
}

#[test]
fn interrupts_are_taken_from_the_thread_that_runs() {
    let mut host = Host::new(&THREADS);
    host.at(0, 0, 10, LinuxWhat::Other);
    host.at(100, 0, 10, LinuxWhat::SoftirqEntry { vec: 3 });
    host.at(120, 0, 10, LinuxWhat::IrqEntry { irq: 9 });
    let irq = host.at(150, 0, 10, LinuxWhat::IrqExit { irq: 9 });
    assert_eq!(irq, ["p0 d1v0 irq irq=9 time=30"]);
    let softirq = host.at(200, 0, 10, LinuxWhat::SoftirqExit { vec: 3 });
    assert_eq!(softirq, ["p0 d1v0 softirq vector=3 time=70"]);
    assert!(
        host.at(210, 0, 10, LinuxWhat::SoftirqExit { vec: 3 })
            .is_empty()
    );
    // Nothing is taken from the kernel's threads.
    host.at(300, 0, 10, switch(10, Left::Sleeping, 30));
    host.at(310, 0, 30, LinuxWhat::SoftirqEntry { vec: 3 });
    assert!(
        host.at(320, 0, 30, LinuxWhat::SoftirqExit { vec: 3 })
            .is_empty()
    );
}

#[test]
fn guest_mode_polling_and_skew_are_summed() {
    let mut host = Host::new(&THREADS);
    host.at(0, 0, 10, LinuxWhat::Other);
    host.at(0, 1, 0, LinuxWhat::Other);
    host.at(10, 0, 10, LinuxWhat::KvmEntry { vcpu: 0 });
    assert!(
        host.at(40, 0, 10, LinuxWhat::KvmExit { reason: 12 })
            .is_empty()
    );
    let polled = host.at(
        60,
        0,
        10,
        LinuxWhat::KvmWakeup {
            ns: 15,
            waited: false,
        },
    );
    assert_eq!(polled, ["p0 d1v0 halt-poll time=15"]);
    host.at(70, 0, 10, LinuxWhat::KvmEntry { vcpu: 0 });
    host.at(80, 0, 10, wakeup(11, 0));
    let over = host.at(100, 0, 10, switch(10, Left::Sleeping, 11));
    assert_eq!(
        over[..2],
        ["p0 d1v0 guest-mode time=60", "p0 d1v1 ready time=20"]
    );
    assert_eq!(over.last().unwrap(), "p0 d1v0 skew time=20");
}

#[test]
fn queues_ids_and_losses() {
    let mut host = Host::new(&THREADS);
    host.at(0, 0, 10, LinuxWhat::Other);
    host.at(0, 1, 20, LinuxWhat::Other);
    let elsewhere = host.at(10, 0, 10, wakeup(31, 1));
    assert_eq!(
        elsewhere,
        [
            "p0 d3v0 d3v0:blocked>runnable",
            "p0 d3v0 queues-on pcpu=1 from=0",
            "p0 d3v0 queued"
        ]
    );
    let moved = host.at(
        20,
        0,
        10,
        LinuxWhat::Migrate {
            tid: Tid(31),
            from: 1,
            to: 0,
        },
    );
    assert_eq!(moved, ["p0 d3v0 queues-on pcpu=0 from=1"]);
    assert_eq!(
        host.at(30, 0, 10, LinuxWhat::Lost { events: 7 }),
        ["p0 idlev0 lost records=7"]
    );
    assert_eq!(
        host.at(40, 0, 10, LinuxWhat::Other),
        ["p0 d1v0 d1v0:running>running"]
    );
    // An id is used again after the end of its thread.
    host.at(50, 0, 10, switch(10, Left::Dead, 31));
    let again = host.at(
        60,
        0,
        31,
        LinuxWhat::Fork {
            parent: Tid(31),
            child: Tid(10),
        },
    );
    assert!(again.is_empty());
    let new = LinuxWhat::WakeupNew {
        tid: Tid(10),
        prio: 120,
        target_cpu: 0,
    };
    let new = host.at(70, 0, 31, new);
    assert_eq!(new[0], "p0 d1v1 d1v1:offline>runnable");
}

#[test]
fn a_new_thread_is_grouped_by_its_later_name() {
    let mut host = Host::new(&THREADS);
    host.tasks.update(Tid(40), |task| {
        task.comm = "qemu-system-x86".to_owned();
        task.process = Some(Tid(40));
    });
    host.tasks.update(Tid(41), |task| {
        task.comm = "qemu-system-x86".to_owned();
        task.process = Some(Tid(40));
    });
    host.at(0, 0, 40, LinuxWhat::Other);
    host.at(
        1,
        0,
        40,
        LinuxWhat::Fork {
            parent: Tid(40),
            child: Tid(41),
        },
    );
    let new = LinuxWhat::WakeupNew {
        tid: Tid(41),
        prio: 120,
        target_cpu: 0,
    };
    assert_eq!(host.at(2, 0, 40, new)[0], "p0 d2v1 d2v1:offline>runnable");
    host.at(3, 0, 40, switch(40, Left::Runnable, 41));
    host.tasks
        .update(Tid(41), |task| task.comm = "CPU 2/KVM".to_owned());
    let again = host.at(9, 0, 41, switch(41, Left::Runnable, 40));
    assert_eq!(
        again,
        [
            "p0 d2v1 driver-work owner=1 executed=6",
            "p0 d2v1 d2v1:running>blocked d2v0:runnable>running",
            "p0 d2v1 d2v1:blocked>offline",
            "p0 d1v2 d1v2:offline>runnable",
            "p0 d1v2 turn-over"
        ]
    );
    let labels: Vec<_> = host
        .records
        .labels(&host.tasks)
        .into_iter()
        .map(|(_, l)| l)
        .collect();
    assert_eq!(
        labels,
        [
            "qemu-system-x86-40:host.qemu-system-x86-40",
            "qemu-system-x86-40:host.qemu-system-x86-41"
        ]
    );
}

#[test]
fn what_no_host_writes_is_counted() {
    let mut host = Host::new(&THREADS);
    host.at(0, 1 << 20, 0, LinuxWhat::Other);
    host.at(0, 0, u32::MAX, LinuxWhat::Other);
    host.at(0, 0, 0, wakeup(10, u32::MAX));
    assert_eq!(host.records.ignored(), 3);
    assert_eq!(host.records.cpus(), 1);
}
