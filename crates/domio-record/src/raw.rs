//! The events that `bpf/record.bpf.c` writes to its ring buffer.

use domio_linux::{DiskId, DiskRequest, DiskStep, Left};

use crate::{Event, Tasks, Tid, What};

/// Where the name of an event begins, behind the process.
const NAME_AT: usize = 4;

/// Bytes of an event, of one with a name, with a path, and with a place on a disk. The kernel fills
/// up to eights.
const EVENT: usize = 24;
const NAMED: usize = EVENT + NAME_AT + 16;
const ATTACHED: usize = EVENT + 232;
const DISK: usize = EVENT + 16;

/// Events of a lot, and the bytes before the first one.
const LOT_EVENTS: usize = 64;
const LOT_HEAD: usize = 16;

/// Bytes of a lot.
pub const LOT: usize = LOT_HEAD + LOT_EVENTS * EVENT;

// The order of `enum kind`.
const SWITCH: u8 = 1;
const WAKEUP: u8 = 2;
const WAKEUP_NEW: u8 = 3;
const MIGRATE: u8 = 4;
const FORK: u8 = 5;
const EXIT: u8 = 6;
const NAME: u8 = 7;
const ATTACH: u8 = 8;
const IRQ_ENTRY: u8 = 9;
const IRQ_EXIT: u8 = 10;
const SOFTIRQ_ENTRY: u8 = 11;
const SOFTIRQ_EXIT: u8 = 12;
const BIO: u8 = 13;
const INSERT: u8 = 14;
const ISSUE: u8 = 15;
const COMPLETE: u8 = 16;

/// The state of a thread that leaves its cpu, from the bits of `task_struct` (`TASK_*` in
/// `include/linux/sched.h`, the same from Linux 5.8 on). These are not the bits that trace points
/// print.
fn left(state: u16, preempted: bool) -> Left {
    const INTERRUPTIBLE: u16 = 0x1;
    const UNINTERRUPTIBLE: u16 = 0x2;
    const STOPPED_TRACED_PARKED: u16 = 0x4 | 0x8 | 0x40;
    const EXITS_AND_DEAD: u16 = 0x10 | 0x20 | 0x80;
    const NOLOAD: u16 = 0x400;
    const RTLOCK_FROZEN: u16 = 0x1000 | 0x8000;
    let has = |bits: u16| state & bits != 0;
    if preempted {
        Left::Preempted
    } else if has(EXITS_AND_DEAD) {
        Left::Dead
    } else if has(UNINTERRUPTIBLE) {
        match has(NOLOAD) {
            true => Left::Sleeping,
            false => Left::Uninterruptible,
        }
    } else if has(INTERRUPTIBLE) {
        Left::Sleeping
    } else if has(STOPPED_TRACED_PARKED) {
        Left::Stopped
    } else if has(RTLOCK_FROZEN) {
        Left::Uninterruptible
    } else {
        Left::Runnable
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Text up to the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The priority of a byte.
fn prio(byte: u8) -> i16 {
    i16::from(byte) - 1
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Whether an event has a name or a path, for [`learn`].
pub fn is_named(bytes: &[u8]) -> bool {
    matches!(bytes.get(10), Some(&(FORK | NAME | ATTACH)))
}

/// What a lot says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LotHead {
    /// How many lots of its cpu were before.
    pub number: u32,
    /// How many events it has.
    pub used: u32,
    /// How many events there was no room for since the lot before.
    pub lost: u32,
}

impl LotHead {
    /// The head of a lot.
    pub fn of(lot: &[u8]) -> Option<LotHead> {
        Some(LotHead {
            number: u32_at(lot, 0)?,
            used: u32_at(lot, 4)?,
            lost: u32_at(lot, 8)?,
        })
    }
}

/// The events of a lot from the one with number `from` to before the one with number `to`.
pub fn of_lot(lot: &[u8], from: u32, to: u32) -> impl Iterator<Item = Option<Event>> {
    let events = lot.get(LOT_HEAD..).unwrap_or_default().chunks_exact(EVENT);
    let (from, to) = (from as usize, to as usize);
    events.take(to).skip(from).map(decode)
}

/// Decodes an event. `None` for one that contradicts the layout.
#[inline]
pub fn decode(bytes: &[u8]) -> Option<Event> {
    let head: &[u8; EVENT] = bytes.first_chunk()?;
    let time = u64::from_ne_bytes(*head.first_chunk()?);
    let cpu = u32::from(u16_at(head, 8)?);
    let (a, b) = (u32_at(head, 12)?, u32_at(head, 16)?);
    let word = u16_at(head, 20)?;
    let (prio_a, prio_b) = (prio(head[22]), prio(head[23]));
    let mut current = Some(Tid(b));
    let (tid, target_cpu) = (Tid(a), u32::from(word));
    let what = match head[10] {
        SWITCH => {
            current = Some(tid);
            What::Switch {
                prev: tid,
                prev_prio: prio_a,
                left: left(word, head[11] != 0),
                next: Tid(b),
                next_prio: prio_b,
            }
        }
        WAKEUP => What::Wakeup {
            tid,
            prio: prio_a,
            target_cpu,
        },
        WAKEUP_NEW => What::WakeupNew {
            tid,
            prio: prio_a,
            target_cpu,
        },
        MIGRATE => {
            current = None;
            What::Migrate {
                tid,
                from: target_cpu,
                to: b,
            }
        }
        FORK => What::Fork {
            parent: Tid(b),
            child: tid,
        },
        NAME => What::Other,
        EXIT => What::Exit { tid },
        ATTACH => What::Attach { tid },
        IRQ_ENTRY => What::IrqEntry { irq: a },
        IRQ_EXIT => What::IrqExit { irq: a },
        SOFTIRQ_ENTRY => What::SoftirqEntry { vec: a },
        SOFTIRQ_EXIT => What::SoftirqExit { vec: a },
        BIO => What::Disk(disk(DiskStep::Bio, bytes)?),
        INSERT => What::Disk(disk(DiskStep::Insert, bytes)?),
        ISSUE => What::Disk(disk(DiskStep::Issue, bytes)?),
        COMPLETE => What::Disk(disk(DiskStep::Complete, bytes)?),
        _ => return None,
    };
    Some(Event {
        time,
        cpu,
        current,
        what,
    })
}

/// The step of a request that an event of a disk is.
#[cold]
fn disk(step: DiskStep, bytes: &[u8]) -> Option<DiskRequest> {
    let bytes: &[u8; DISK] = bytes.first_chunk()?;
    Some(DiskRequest {
        step,
        disk: DiskId::of_kernel(u32_at(bytes, 12)?),
        writes: bytes[11] != 0,
        sector: u64_at(bytes, EVENT)?,
        sectors: u32_at(bytes, EVENT + 8)?,
    })
}

/// Takes what an event says of threads: a new one, a new name, another control group.
pub fn learn(bytes: &[u8], tasks: &mut Tasks) {
    let (Some(kind), Some(tid)) = (bytes.get(10), u32_at(bytes, 12)) else {
        return;
    };
    let tid = Tid(tid);
    match (*kind, bytes.first_chunk::<NAMED>()) {
        (FORK | NAME, Some(named)) => {
            let parent = u32_at(named, 16).filter(|_| *kind == FORK).map(Tid);
            name(named, tid, parent, tasks);
        }
        (ATTACH, Some(_)) if bytes.len() >= ATTACHED => {
            let path = text(&bytes[EVENT..ATTACHED]);
            if !path.is_empty() {
                tasks.update(tid, |task| task.cgroup = Some(path));
            }
        }
        _ => {}
    }
}

/// A thread is new, made by `parent`, or has a new name.
fn name(named: &[u8; NAMED], tid: Tid, parent: Option<Tid>, tasks: &mut Tasks) {
    let process = u32_at(named, EVENT).map(Tid);
    let comm = text(&named[EVENT + NAME_AT..]);
    let cgroup = parent.and_then(|parent| tasks.get(parent)?.cgroup.clone());
    tasks.update(tid, |task| {
        task.comm = comm;
        task.process = process;
        if parent.is_some() {
            // Whatever had this id before has ended.
            task.parent = parent;
            task.cgroup = cgroup;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of an event: kind, flags, a, b, word, priorities.
    fn bytes(kind: u8, flags: u8, [a, b]: [u32; 2], word: u16, prios: [u8; 2]) -> Vec<u8> {
        let mut bytes = 77u64.to_ne_bytes().to_vec();
        bytes.extend(3u16.to_ne_bytes());
        bytes.extend([kind, flags]);
        bytes.extend(a.to_ne_bytes());
        bytes.extend(b.to_ne_bytes());
        bytes.extend(word.to_ne_bytes());
        bytes.extend(prios);
        bytes
    }

    fn one(bytes: &[u8]) -> Event {
        decode(bytes).unwrap()
    }

    #[test]
    fn a_switch_is_decoded() {
        let event = one(&bytes(SWITCH, 0, [11, 12], 1, [121, 0]));
        assert_eq!((event.time, event.cpu), (77, 3));
        assert_eq!(event.current, Some(Tid(11)));
        let switch = What::Switch {
            prev: Tid(11),
            prev_prio: 120,
            left: Left::Sleeping,
            next: Tid(12),
            next_prio: -1,
        };
        assert_eq!(event.what, switch);
    }

    #[test]
    fn states_are_those_of_the_kernel() {
        let states = [
            (0, Left::Runnable),
            (0x1, Left::Sleeping),
            (0x2, Left::Uninterruptible),
            (0x402, Left::Sleeping),
            (0x102, Left::Uninterruptible),
            (0x2001, Left::Sleeping),
            (0x4, Left::Stopped),
            (0x108, Left::Stopped),
            (0x40, Left::Stopped),
            (0x80, Left::Dead),
            (0x1000, Left::Uninterruptible),
            (0x8000, Left::Uninterruptible),
        ];
        for (state, expected) in states {
            assert_eq!(left(state, false), expected, "{state:#x}");
            assert_eq!(left(state, true), Left::Preempted);
        }
    }

    #[test]
    fn a_new_thread_has_the_group_of_its_parent() {
        let mut tasks = Tasks::new();
        tasks.update(Tid(5), |task| task.cgroup = Some("/vms/web".to_owned()));
        let mut fork = bytes(FORK, 0, [9, 5], 0, [121, 0]);
        fork.extend(9u32.to_ne_bytes());
        fork.extend(b"CPU 0/KVM\0\0\0\0\0\0\0");
        let made = What::Fork {
            parent: Tid(5),
            child: Tid(9),
        };
        assert_eq!(one(&fork).what, made);
        learn(&fork, &mut tasks);
        let task = tasks.get(Tid(9)).unwrap();
        assert_eq!(task.comm, "CPU 0/KVM");
        assert_eq!((task.process, task.parent), (Some(Tid(9)), Some(Tid(5))));
        assert_eq!(task.cgroup.as_deref(), Some("/vms/web"));
        // Cut within the name.
        let mut none = Tasks::new();
        learn(&fork[..40], &mut none);
        assert_eq!(none.changes(), 0);
    }

    #[test]
    fn a_thread_goes_to_another_group() {
        let mut tasks = Tasks::new();
        let mut attach = bytes(ATTACH, 0, [9, 1], 0, [0, 0]);
        attach.extend(b"/vms/db");
        attach.resize(ATTACHED, 0);
        assert!(is_named(&attach));
        assert_eq!(one(&attach).what, What::Attach { tid: Tid(9) });
        learn(&attach, &mut tasks);
        assert_eq!(
            tasks.get(Tid(9)).unwrap().cgroup.as_deref(),
            Some("/vms/db")
        );
    }

    #[test]
    fn what_is_no_event_is_none() {
        let event = bytes(99, 0, [0, 0], 0, [0, 0]);
        assert!(decode(&event).is_none());
        assert!(decode(&event[..20]).is_none());
        learn(&event[..5], &mut Tasks::new());
        assert!(decode(&bytes(ISSUE, 0, [8, 0], 0, [0, 0])).is_none());
        let moved = one(&bytes(MIGRATE, 0, [7, 2], 1, [121, 0]));
        let expected = What::Migrate {
            tid: Tid(7),
            from: 1,
            to: 2,
        };
        assert_eq!(moved.what, expected);
    }

    #[test]
    fn a_request_is_decoded() {
        let mut issue = bytes(ISSUE, 1, [8 << 20 | 3, 9], 0, [0, 0]);
        issue.extend(4_096u64.to_ne_bytes());
        issue.extend(16u32.to_ne_bytes());
        issue.extend([0; 4]);
        let event = one(&issue);
        let expected = DiskRequest {
            step: DiskStep::Issue,
            disk: DiskId::new(8, 3),
            writes: true,
            sector: 4_096,
            sectors: 16,
        };
        assert_eq!(event.what, What::Disk(expected));
        assert_eq!((event.current, is_named(&issue)), (Some(Tid(9)), false));
    }

    #[test]
    fn events_of_a_lot_are_those_asked_for() {
        let mut lot = Vec::new();
        for word in [5u32, 64, 2, 0] {
            lot.extend(word.to_ne_bytes());
        }
        for tid in 0..64 {
            lot.extend(bytes(EXIT, 0, [tid, 0], 0, [0, 0]));
        }
        assert_eq!(lot.len(), LOT);
        let head = LotHead {
            number: 5,
            used: 64,
            lost: 2,
        };
        assert_eq!(LotHead::of(&lot), Some(head));
        let exits: Vec<_> = of_lot(&lot, 61, 64).flatten().map(|e| e.what).collect();
        assert_eq!(exits, [61, 62, 63].map(|tid| What::Exit { tid: Tid(tid) }));
        assert_eq!(of_lot(&lot, 3, 3).count(), 0);
        assert_eq!(of_lot(&lot[..LOT_HEAD + EVENT + 1], 0, 64).count(), 1);
        assert_eq!(LotHead::of(&lot[..7]), None);
    }
}
