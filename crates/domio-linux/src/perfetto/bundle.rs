//! `FtraceEventBundle`: events of one cpu, as messages or in columns (`CompactSched`).

use super::generic::{self, Generics};
use super::wire::{Fields, Value, numbers};
use crate::known::Known;
use crate::tracefs::decode::{Wake, prio, small, tid};
use crate::tracefs::states::of_number;
use crate::{DiskId, DiskRequest, DiskStep, LinuxEvent, LinuxWhat, Tid};

/// The thread that a cpu went to last, which compact switches leave out.
pub type Running = Option<(Tid, i16)>;

/// Columns of `CompactSched`, kept from bundle to bundle to save their memory.
#[derive(Default)]
pub(crate) struct Columns {
    columns: [Vec<u64>; 13],
}

fn signed(value: Value<'_>) -> i64 {
    i64::from(value.number() as i32)
}

/// Adds the events of a bundle in the order of time.
pub fn events(
    cpu: u32,
    data: &[u8],
    running: &mut Running,
    columns: &mut Columns,
    generics: &Generics,
    known: &mut Known,
    into: &mut Vec<LinuxEvent>,
) -> bool {
    into.clear();
    let mut fields = Fields::of(data);
    let mut lost = false;
    let mut switches = None;
    for (field, value) in fields.by_ref() {
        match field {
            2 => into.extend(message(cpu, value.bytes(), generics, known)),
            3 => lost = value.number() != 0,
            4 => {
                // The state of the cpu before the bundle is not known after a loss.
                let before = if lost { None } else { *running };
                let start = into.len();
                compact(cpu, value.bytes(), before, columns, known, into);
                let last = into[start..].iter().rev().find_map(|e| after(e.what));
                switches = last.or(switches);
            }
            _ => {}
        }
    }
    into.sort_by_key(|e| e.time);
    let last = into.iter().rev().find_map(|e| after(e.what));
    *running = last.or(switches).or(if lost { None } else { *running });
    if lost {
        let time = into.first().map_or(0, |e| e.time);
        into.insert(
            0,
            LinuxEvent {
                time,
                cpu,
                current: None,
                what: LinuxWhat::Lost { events: 0 },
            },
        );
    }
    !fields.broken
}

/// The thread that runs after a switch.
fn after(what: LinuxWhat) -> Running {
    match what {
        LinuxWhat::Switch {
            next, next_prio, ..
        } => Some((next, next_prio)),
        _ => None,
    }
}

/// One `FtraceEvent`.
fn message(cpu: u32, data: &[u8], generics: &Generics, known: &mut Known) -> Option<LinuxEvent> {
    let (mut time, mut current, mut event) = (None, None, None);
    for (field, value) in Fields::of(data) {
        match field {
            1 => time = Some(value.number()),
            2 => current = Some(tid(signed(value))),
            5 => {}
            _ => event = Some((field, value.bytes())),
        }
    }
    let time = time?;
    let what = match event {
        Some((field, data)) => what(field, data, time, generics, known),
        None => None,
    };
    Some(LinuxEvent {
        time,
        cpu,
        current,
        what: what.unwrap_or(LinuxWhat::Other),
    })
}

/// Fields 0 to 7 of a message. Messages that are of use have no others.
fn parts(data: &[u8]) -> [Value<'_>; 8] {
    let mut parts = [Value::Number(0); 8];
    for (field, value) in Fields::of(data) {
        if let Some(part) = parts.get_mut(field as usize) {
            *part = value;
        }
    }
    parts
}

/// What the message in field `id` of an event says. Numbers are those of `ftrace_event.proto`.
fn what(
    id: u32,
    data: &[u8],
    time: u64,
    generics: &Generics,
    known: &mut Known,
) -> Option<LinuxWhat> {
    let one = |what: fn(u32) -> LinuxWhat| Some(what(small(signed(parts(data)[1]))));
    match id {
        4 => Some(switch(data, time, known)),
        17 => Some(wake(Wake::Wakeup, data, time, known)),
        20 => Some(wake(Wake::Waking, data, time, known)),
        114 => Some(wake(Wake::New, data, time, known)),
        24 => one(|vec| LinuxWhat::SoftirqEntry { vec }),
        25 => one(|vec| LinuxWhat::SoftirqExit { vec }),
        26 => one(|vec| LinuxWhat::SoftirqRaise { vec }),
        36 => one(|irq| LinuxWhat::IrqEntry { irq }),
        37 => one(|irq| LinuxWhat::IrqExit { irq }),
        45 | 119 | 125 | 126 => Some(LinuxWhat::Disk(request(id, data))),
        67 | 235..=239 => Some(of_thread(id, data, time, known)),
        376 => Some(LinuxWhat::KvmEntry { vcpu: 0 }),
        377 => one(|reason| LinuxWhat::KvmExit { reason }),
        400 => {
            let [_, ns, _, waited, ..] = parts(data);
            Some(LinuxWhat::KvmWakeup {
                ns: ns.number(),
                waited: waited.number() != 0,
            })
        }
        491 => {
            let [_, comm, pid, _, from, to, ..] = parts(data);
            let tid = tid(signed(pid));
            known.name(tid, time, comm.bytes());
            Some(LinuxWhat::Migrate {
                tid,
                from: small(signed(from)),
                to: small(signed(to)),
            })
        }
        327 => generic::what(data, time, known),
        _ => generics.what(id, data, time, known),
    }
}

/// `block_rq_issue`, `block_bio_queue`, `block_rq_complete` and `block_rq_insert`. Devices have the
/// numbers that programs know, of which bits 8 to 19 are the driver's.
fn request(id: u32, data: &[u8]) -> DiskRequest {
    let [_, disk, sector, sectors, fourth, fifth, ..] = parts(data);
    let (step, marks) = match id {
        45 => (DiskStep::Issue, fifth),
        119 => (DiskStep::Bio, fourth),
        125 => (DiskStep::Complete, fifth),
        _ => (DiskStep::Insert, fifth),
    };
    let disk = disk.number();
    let (major, minor) = (disk >> 8 & 0xfff, disk & 0xff | disk >> 12 & 0xf_ff00);
    DiskRequest {
        step,
        disk: DiskId::new(major as u32, minor as u32),
        writes: DiskRequest::writes(marks.bytes()),
        sector: sector.number(),
        sectors: u32::try_from(sectors.number()).unwrap_or(u32::MAX),
    }
}

fn switch(data: &[u8], time: u64, known: &mut Known) -> LinuxWhat {
    let [
        _,
        prev_comm,
        prev,
        prev_prio,
        state,
        next_comm,
        next,
        next_prio,
    ] = parts(data);
    let (prev, next) = (tid(signed(prev)), tid(signed(next)));
    known.name(prev, time, prev_comm.bytes());
    known.name(next, time, next_comm.bytes());
    LinuxWhat::Switch {
        prev,
        prev_prio: prio(signed(prev_prio)),
        left: of_number(state.number()),
        next,
        next_prio: prio(signed(next_prio)),
    }
}

fn wake(which: Wake, data: &[u8], time: u64, known: &mut Known) -> LinuxWhat {
    let [_, comm, pid, priority, _, target, ..] = parts(data);
    let tid = tid(signed(pid));
    known.name(tid, time, comm.bytes());
    which.what(tid, prio(signed(priority)), small(signed(target)))
}

/// Events that say what a thread is: `cgroup_attach_task`, `task_newtask`, `task_rename`,
/// `sched_process_exec`, `_exit` and `_fork`.
fn of_thread(id: u32, data: &[u8], time: u64, known: &mut Known) -> LinuxWhat {
    let [_, first, second, third, fourth, _, _, path] = parts(data);
    match id {
        67 => {
            let tid = tid(signed(third));
            known.name(tid, time, fourth.bytes());
            let path = String::from_utf8_lossy(path.bytes()).into_owned();
            known.change(tid, |task| task.cgroup = Some(path));
            LinuxWhat::Attach { tid }
        }
        235 => {
            known.name(tid(signed(first)), time, second.bytes());
            LinuxWhat::Other
        }
        236 => {
            known.name(tid(signed(first)), time, third.bytes());
            LinuxWhat::Other
        }
        238 => {
            let (tid, process) = (tid(signed(second)), tid(signed(third)));
            known.name(tid, time, first.bytes());
            if process != Tid::IDLE {
                known.process(tid, process);
            }
            LinuxWhat::Exit { tid }
        }
        239 => {
            let (parent, child) = (tid(signed(second)), tid(signed(fourth)));
            known.fork(child, parent, time);
            known.name(child, time, third.bytes());
            LinuxWhat::Fork { parent, child }
        }
        _ => LinuxWhat::Other,
    }
}

/// Events in columns. Times are differences, from 0 on.
fn compact(
    cpu: u32,
    data: &[u8],
    mut running: Running,
    columns: &mut Columns,
    known: &mut Known,
    into: &mut Vec<LinuxEvent>,
) {
    columns.columns.iter_mut().for_each(Vec::clear);
    let mut names: Vec<&[u8]> = Vec::new();
    for (field, value) in Fields::of(data) {
        match field {
            5 => names.push(value.bytes()),
            1..=4 | 6..=12 => numbers(value, &mut columns.columns[field as usize]),
            _ => {}
        }
    }
    let column = |n: usize| &columns.columns[n];
    let number = |n: usize, row: usize| column(n).get(row).copied();
    let name = |n: usize, row: usize| {
        let index = usize::try_from(number(n, row)?).ok()?;
        names.get(index).copied()
    };
    let mut time = 0u64;
    for (row, delta) in column(1).iter().enumerate() {
        time = time.wrapping_add(*delta);
        let (Some(state), Some(next), Some(next_prio)) =
            (number(2, row), number(3, row), number(4, row))
        else {
            known
                .damage
                .skip("rows of compact switches that lack a column", 0);
            break;
        };
        let next = tid(i64::from(next as i32));
        let next_prio = prio(i64::from(next_prio as i32));
        if let Some(comm) = name(6, row) {
            known.name(next, time, comm);
        }
        let (prev, prev_prio) = running.unwrap_or((Tid::UNKNOWN, 0));
        running = Some((next, next_prio));
        into.push(LinuxEvent {
            time,
            cpu,
            current: (prev != Tid::UNKNOWN).then_some(prev),
            what: LinuxWhat::Switch {
                prev,
                prev_prio,
                left: of_number(state),
                next,
                next_prio,
            },
        });
    }
    let mut time = 0u64;
    for (row, delta) in column(7).iter().enumerate() {
        time = time.wrapping_add(*delta);
        let (Some(pid), Some(target), Some(priority)) =
            (number(8, row), number(9, row), number(10, row))
        else {
            known
                .damage
                .skip("rows of compact wake-ups that lack a column", 0);
            break;
        };
        let tid = tid(i64::from(pid as i32));
        if let Some(comm) = name(11, row) {
            known.name(tid, time, comm);
        }
        into.push(LinuxEvent {
            time,
            cpu,
            current: None,
            what: LinuxWhat::Waking {
                tid,
                prio: prio(i64::from(priority as i32)),
                target_cpu: small(i64::from(target as i32)),
            },
        });
    }
}
