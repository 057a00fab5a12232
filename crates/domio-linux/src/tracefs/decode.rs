//! From a raw event of the kernel to [`LinuxWhat`], by the description in the file.

use super::fields::{Number, Text};
use super::format::EventFormat;
use super::states::States;
use crate::bytes::Endian;
use crate::known::Known;
use crate::{DiskId, DiskRequest, DiskStep, LinuxWhat, Tid};

/// The fields of the events that are of use.
enum Layout {
    Switch(Box<SwitchFields>),
    Wake {
        which: Wake,
        comm: Option<Text>,
        pid: Number,
        prio: Option<Number>,
        cpu: Option<Number>,
    },
    Migrate {
        comm: Option<Text>,
        pid: Number,
        from: Number,
        to: Number,
    },
    Fork {
        parent: Number,
        child: Number,
        comm: Option<Text>,
    },
    Exit {
        pid: Number,
        comm: Option<Text>,
    },
    Runtime {
        pid: Number,
        ns: Number,
        comm: Option<Text>,
    },
    /// Events of one number, of which [`LinuxWhat`] is made.
    One(fn(u32) -> LinuxWhat, Option<Number>),
    KvmWakeup {
        ns: Number,
        waited: Option<Number>,
    },
    HaltPoll {
        vcpu: Option<Number>,
        new: Option<Number>,
        old: Option<Number>,
    },
    Napi {
        work: Number,
        budget: Option<Number>,
    },
    /// `task_rename`, `task_newtask`, `sched_process_free`: a thread and its name.
    Name {
        pid: Number,
        comm: Text,
    },
    Attach {
        pid: Number,
        comm: Option<Text>,
        path: Text,
    },
    Disk {
        step: DiskStep,
        disk: Number,
        sector: Number,
        sectors: Number,
        marks: Option<Text>,
    },
    Other,
}

struct SwitchFields {
    prev_comm: Option<Text>,
    prev: Number,
    prev_prio: Option<Number>,
    state: Number,
    next_comm: Option<Text>,
    next: Number,
    next_prio: Option<Number>,
    states: States,
}

/// The three events of a wake-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    Waking,
    Wakeup,
    New,
}

impl Wake {
    pub fn what(self, tid: Tid, prio: i16, target_cpu: u32) -> LinuxWhat {
        match self {
            Wake::Waking => LinuxWhat::Waking {
                tid,
                prio,
                target_cpu,
            },
            Wake::Wakeup => LinuxWhat::Wakeup {
                tid,
                prio,
                target_cpu,
            },
            Wake::New => LinuxWhat::WakeupNew {
                tid,
                prio,
                target_cpu,
            },
        }
    }
}

/// An event of one number, made of the number, and the names that the number's field has had.
type OneNumber = (fn(u32) -> LinuxWhat, &'static [&'static str]);

/// What an event of one number is, by its name.
pub fn of_one_number(name: &str) -> Option<OneNumber> {
    Some(match name {
        "irq_handler_entry" => (|irq| LinuxWhat::IrqEntry { irq }, &["irq"]),
        "irq_handler_exit" => (|irq| LinuxWhat::IrqExit { irq }, &["irq"]),
        "softirq_raise" => (|vec| LinuxWhat::SoftirqRaise { vec }, &["vec"]),
        "softirq_entry" => (|vec| LinuxWhat::SoftirqEntry { vec }, &["vec"]),
        "softirq_exit" => (|vec| LinuxWhat::SoftirqExit { vec }, &["vec"]),
        "kvm_entry" => (|vcpu| LinuxWhat::KvmEntry { vcpu }, &["vcpu_id"]),
        "kvm_exit" => (
            |reason| LinuxWhat::KvmExit { reason },
            &["exit_reason", "esr_ec", "ret", "trap_nr"],
        ),
        _ => return None,
    })
}

/// The number of a thread. Numbers below 0 do not occur, and are the idle task's.
#[inline]
pub fn tid(n: i64) -> Tid {
    Tid(u32::try_from(n).unwrap_or(0))
}

#[inline]
pub fn prio(n: i64) -> i16 {
    n.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16
}

/// Numbers of cpus and the like. What does not fit is the highest number.
#[inline]
pub fn small(n: i64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Descriptions of all events of a file, by number.
pub(crate) struct Decoder {
    endian: Endian,
    events: Vec<Option<Described>>,
}

struct Described {
    name: String,
    current: Option<Number>,
    layout: Layout,
}

impl Decoder {
    pub fn new(endian: Endian) -> Decoder {
        Decoder {
            endian,
            events: Vec::new(),
        }
    }

    /// Takes up one description.
    pub fn add(&mut self, system: &str, format: &EventFormat) {
        let id = usize::from(format.id);
        if self.events.len() <= id {
            self.events.resize_with(id + 1, || None);
        }
        // Events made by users can have the names of the kernel's.
        let own = matches!(system, "synthetic" | "kprobes" | "uprobes" | "eprobes");
        let layout = match own {
            true => None,
            false => layout(format),
        };
        self.events[id] = Some(Described {
            name: format.name.clone(),
            current: Number::of(format, "common_pid"),
            layout: layout.unwrap_or(Layout::Other),
        });
    }

    /// The name of the event with number `id`.
    pub fn name(&self, id: u16) -> Option<&str> {
        let described = self.events.get(usize::from(id))?.as_ref()?;
        Some(&described.name)
    }

    /// Number of a raw event.
    #[inline]
    pub fn id(&self, data: &[u8]) -> Option<u16> {
        Some(self.endian.u16(*data.first_chunk::<2>()?))
    }

    /// The current thread and what happened. Names go to `known`. None if the event has no
    /// description, or is shorter than its description.
    #[inline]
    pub fn decode(
        &self,
        data: &[u8],
        time: u64,
        known: &mut Known,
    ) -> Option<(Option<Tid>, LinuxWhat)> {
        let id = usize::from(self.id(data)?);
        let described = self.events.get(id)?.as_ref()?;
        let endian = self.endian;
        let current = match described.current {
            Some(field) => Some(tid(field.get(data, endian)?)),
            None => None,
        };
        let what = match &described.layout {
            Layout::Switch(fields) => fields.decode(data, endian, time, known)?,
            layout => layout.decode(data, endian, time, known)?,
        };
        Some((current, what))
    }
}

/// The number of a field, 0 where the description has no such field. None when the event is too
/// short.
#[inline]
fn or_zero(field: Option<Number>, data: &[u8], endian: Endian) -> Option<i64> {
    match field {
        Some(field) => field.get(data, endian),
        None => Some(0),
    }
}

impl SwitchFields {
    #[inline]
    fn decode(
        &self,
        data: &[u8],
        endian: Endian,
        time: u64,
        known: &mut Known,
    ) -> Option<LinuxWhat> {
        let number = |field| or_zero(field, data, endian);
        let prev = tid(self.prev.get(data, endian)?);
        let next = tid(self.next.get(data, endian)?);
        let name = |tid, comm: Option<Text>, known: &mut Known| {
            known.name_if(tid, time, comm.and_then(|comm| comm.get(data, endian)));
        };
        name(prev, self.prev_comm, known);
        name(next, self.next_comm, known);
        Some(LinuxWhat::Switch {
            prev,
            prev_prio: prio(number(self.prev_prio)?),
            left: self.states.left(self.state.get(data, endian)? as u64),
            next,
            next_prio: prio(number(self.next_prio)?),
        })
    }
}

impl Layout {
    fn decode(
        &self,
        data: &[u8],
        endian: Endian,
        time: u64,
        known: &mut Known,
    ) -> Option<LinuxWhat> {
        let number = |field| or_zero(field, data, endian);
        let name = |tid, comm: Option<Text>, known: &mut Known| {
            known.name_if(tid, time, comm.and_then(|comm| comm.get(data, endian)));
        };
        Some(match *self {
            Layout::Wake {
                which,
                comm,
                pid,
                prio: priority,
                cpu,
            } => {
                let tid = tid(pid.get(data, endian)?);
                name(tid, comm, known);
                which.what(tid, prio(number(priority)?), small(number(cpu)?))
            }
            Layout::Migrate {
                comm,
                pid,
                from,
                to,
            } => {
                let tid = tid(pid.get(data, endian)?);
                name(tid, comm, known);
                LinuxWhat::Migrate {
                    tid,
                    from: small(from.get(data, endian)?),
                    to: small(to.get(data, endian)?),
                }
            }
            Layout::Fork {
                parent,
                child,
                comm,
            } => {
                let parent = tid(parent.get(data, endian)?);
                let child = tid(child.get(data, endian)?);
                known.fork(child, parent, time);
                name(child, comm, known);
                LinuxWhat::Fork { parent, child }
            }
            Layout::Exit { pid, comm } => {
                let tid = tid(pid.get(data, endian)?);
                name(tid, comm, known);
                LinuxWhat::Exit { tid }
            }
            Layout::Runtime { pid, ns, comm } => {
                let tid = tid(pid.get(data, endian)?);
                name(tid, comm, known);
                let ns = ns.get(data, endian)? as u64;
                LinuxWhat::Runtime { tid, ns }
            }
            Layout::One(what, field) => what(small(number(field)?)),
            Layout::KvmWakeup { ns, waited } => LinuxWhat::KvmWakeup {
                ns: ns.get(data, endian)? as u64,
                waited: number(waited)? != 0,
            },
            Layout::HaltPoll { vcpu, new, old } => LinuxWhat::HaltPoll {
                vcpu: small(number(vcpu)?),
                new: small(number(new)?),
                old: small(number(old)?),
            },
            Layout::Napi { work, budget } => LinuxWhat::NapiPoll {
                work: small(work.get(data, endian)?),
                budget: small(number(budget)?),
            },
            Layout::Name { pid, comm } => {
                let tid = tid(pid.get(data, endian)?);
                name(tid, Some(comm), known);
                LinuxWhat::Other
            }
            Layout::Attach { pid, comm, path } => {
                let tid = tid(pid.get(data, endian)?);
                name(tid, comm, known);
                let path = path.get(data, endian)?;
                let path = String::from_utf8_lossy(path).into_owned();
                known.change(tid, |task| task.cgroup = Some(path));
                LinuxWhat::Attach { tid }
            }
            Layout::Disk {
                step,
                disk,
                sector,
                sectors,
                marks,
            } => LinuxWhat::Disk(DiskRequest {
                step,
                disk: DiskId::of_kernel(disk.get(data, endian)? as u32),
                writes: marks
                    .and_then(|marks| marks.get(data, endian))
                    .is_some_and(DiskRequest::writes),
                sector: sector.get(data, endian)? as u64,
                sectors: small(sectors.get(data, endian)?),
            }),
            Layout::Switch(_) | Layout::Other => LinuxWhat::Other,
        })
    }
}

/// The layout of an event that is of use, if its fields are there.
fn layout(format: &EventFormat) -> Option<Layout> {
    let number = |name| Number::of(format, name);
    let text = |name| Text::of(format, name);
    let wake = |which| {
        Some(Layout::Wake {
            which,
            comm: text("comm"),
            pid: number("pid")?,
            prio: number("prio"),
            cpu: number("target_cpu").or_else(|| number("cpu")),
        })
    };
    if let Some((what, names)) = of_one_number(&format.name) {
        return Some(Layout::One(what, names.iter().find_map(|n| number(n))));
    }
    if let Some(step) = DiskStep::of_event(format.name.as_bytes()) {
        return Some(Layout::Disk {
            step,
            disk: number("dev")?,
            sector: number("sector")?,
            sectors: number("nr_sector")?,
            marks: text("rwbs"),
        });
    }
    match format.name.as_str() {
        "sched_switch" => Some(Layout::Switch(Box::new(SwitchFields {
            prev_comm: text("prev_comm"),
            prev: number("prev_pid")?,
            prev_prio: number("prev_prio"),
            state: number("prev_state")?,
            next_comm: text("next_comm"),
            next: number("next_pid")?,
            next_prio: number("next_prio"),
            states: States::of_print(&format.print).unwrap_or_default(),
        }))),
        "sched_waking" => wake(Wake::Waking),
        "sched_wakeup" => wake(Wake::Wakeup),
        "sched_wakeup_new" => wake(Wake::New),
        "sched_migrate_task" => Some(Layout::Migrate {
            comm: text("comm"),
            pid: number("pid")?,
            from: number("orig_cpu")?,
            to: number("dest_cpu")?,
        }),
        "sched_process_fork" => Some(Layout::Fork {
            parent: number("parent_pid")?,
            child: number("child_pid")?,
            comm: text("child_comm"),
        }),
        "sched_process_exit" => Some(Layout::Exit {
            pid: number("pid")?,
            comm: text("comm"),
        }),
        "sched_stat_runtime" => Some(Layout::Runtime {
            pid: number("pid")?,
            ns: number("runtime")?,
            comm: text("comm"),
        }),
        "kvm_vcpu_wakeup" => Some(Layout::KvmWakeup {
            ns: number("ns")?,
            waited: number("waited"),
        }),
        "kvm_halt_poll_ns" => Some(Layout::HaltPoll {
            vcpu: number("vcpu_id"),
            new: number("new"),
            old: number("old"),
        }),
        "napi_poll" => Some(Layout::Napi {
            work: number("work")?,
            budget: number("budget"),
        }),
        "task_rename" => Some(Layout::Name {
            pid: number("pid")?,
            comm: text("newcomm")?,
        }),
        "task_newtask" => Some(Layout::Name {
            pid: number("pid")?,
            comm: text("comm")?,
        }),
        "cgroup_attach_task" => Some(Layout::Attach {
            pid: number("pid")?,
            comm: text("comm"),
            path: text("dst_path")?,
        }),
        _ => None,
    }
}
