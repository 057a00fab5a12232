//! What the fields of a line say, as printed by the kernel (`key=value`), by the plug-ins of
//! trace-cmd (`comm:pid [prio] S ==> ...`) or raw.

use memchr::{memchr_iter, memmem};

use super::kernel::Kernel;
use super::line::{Line, number, rfind};
use crate::known::Known;
use crate::tracefs::decode::{Wake, of_one_number};
use crate::tracefs::states;
use crate::{DiskId, DiskRequest, DiskStep, Left, LinuxWhat, Tid};

/// What happened; none if the fields of a known event cannot be read.
pub fn what(line: &Line<'_>, known: &mut Known) -> Option<LinuxWhat> {
    let fields = Fields(line.fields);
    let time = line.time;
    Some(match line.name {
        b"sched_switch" => switch(line.fields, time, known)?,
        b"sched_waking" => wake(Wake::Waking, fields, time, known)?,
        b"sched_wakeup" => wake(Wake::Wakeup, fields, time, known)?,
        b"sched_wakeup_new" => wake(Wake::New, fields, time, known)?,
        b"sched_migrate_task" => {
            let tid = fields.named(b"comm", b"pid", time, known)?;
            LinuxWhat::Migrate {
                tid,
                from: fields.small(b"orig_cpu")?,
                to: fields.small(b"dest_cpu")?,
            }
        }
        b"sched_process_fork" => {
            let parent = fields
                .small(b"pid")
                .or_else(|| fields.small(b"parent_pid"))?;
            let (parent, child) = (Tid(parent), Tid(fields.small(b"child_pid")?));
            known.fork(child, parent, time);
            fields.named(b"child_comm", b"child_pid", time, known)?;
            LinuxWhat::Fork { parent, child }
        }
        b"sched_process_exit" => LinuxWhat::Exit {
            tid: fields.named(b"comm", b"pid", time, known)?,
        },
        b"sched_stat_runtime" => LinuxWhat::Runtime {
            tid: fields.named(b"comm", b"pid", time, known)?,
            ns: fields.number(b"runtime")?,
        },
        b"kvm_entry" => LinuxWhat::KvmEntry {
            vcpu: fields
                .after(b"vcpu")
                .or_else(|| fields.small(b"vcpu_id"))
                .unwrap_or(0),
        },
        b"kvm_exit" => LinuxWhat::KvmExit {
            reason: fields.reason()?,
        },
        b"kvm_vcpu_wakeup" => match fields.number(b"ns") {
            Some(ns) => LinuxWhat::KvmWakeup {
                ns,
                waited: fields.number(b"waited") != Some(0),
            },
            None => LinuxWhat::KvmWakeup {
                ns: u64::from(fields.after(b"time")?),
                waited: line.fields.starts_with(b"wait"),
            },
        },
        b"kvm_halt_poll_ns" => match fields.small(b"new") {
            Some(new) => LinuxWhat::HaltPoll {
                vcpu: fields.small(b"vcpu_id").unwrap_or(0),
                new,
                old: fields.small(b"old").unwrap_or(0),
            },
            None => LinuxWhat::HaltPoll {
                vcpu: fields.after(b"vcpu")?,
                new: fields.after(b"halt_poll_ns")?,
                old: fields
                    .after(b"(grow")
                    .or_else(|| fields.after(b"(shrink"))?,
            },
        },
        b"napi_poll" => LinuxWhat::NapiPoll {
            work: fields.after(b"work").or_else(|| fields.small(b"work"))?,
            budget: fields
                .after(b"budget")
                .or_else(|| fields.small(b"budget"))
                .unwrap_or(0),
        },
        b"task_rename" => {
            let tid = Tid(fields.small(b"pid")?);
            let comm = fields.text(b"newcomm", b"oom_score_adj")?;
            known.name(tid, time, comm);
            LinuxWhat::Other
        }
        b"task_newtask" => {
            let tid = Tid(fields.small(b"pid")?);
            let comm = fields.text(b"comm", b"clone_flags")?;
            known.name(tid, time, comm);
            LinuxWhat::Other
        }
        b"cgroup_attach_task" => {
            let tid = Tid(fields.small(b"pid")?);
            let path = fields
                .text(b"dst_path", b"pid")
                .or_else(|| fields.text(b"dst_path", b"comm"));
            let path = String::from_utf8_lossy(path?).into_owned();
            known.change(tid, |task| task.cgroup = Some(path));
            LinuxWhat::Attach { tid }
        }
        name => other(name, fields)?,
    })
}

/// Requests, and events of one number.
fn other(name: &[u8], fields: Fields<'_>) -> Option<LinuxWhat> {
    if let Some(step) = DiskStep::of_event(name) {
        return Some(LinuxWhat::Disk(request(step, fields)?));
    }
    match std::str::from_utf8(name).ok().and_then(of_one_number) {
        Some((what, names)) => {
            let value = names.iter().find_map(|n| fields.small(n.as_bytes()));
            Some(what(value?))
        }
        None => Some(LinuxWhat::Other),
    }
}

/// Texts of the form `key=value key=value`, where values can have spaces and `=`.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Where the value of `key` starts.
    fn start(self, key: &[u8]) -> Option<usize> {
        for equals in memchr_iter(b'=', self.0) {
            let before = &self.0[..equals];
            if let Some(rest) = before.strip_suffix(key)
                && rest.last().is_none_or(|b| *b == b' ')
            {
                return Some(equals + 1);
            }
        }
        None
    }

    /// The value of `key` up to white space.
    fn word(self, key: &[u8]) -> Option<&'a [u8]> {
        let value = &self.0[self.start(key)?..];
        let end = value.iter().position(|b| *b == b' ' || *b == b',');
        Some(&value[..end.unwrap_or(value.len())])
    }

    fn number(self, key: &[u8]) -> Option<u64> {
        any_number(self.word(key)?)
    }

    fn small(self, key: &[u8]) -> Option<u32> {
        u32::try_from(self.number(key)?).ok()
    }

    /// The value of `key` up to the key `until`, or to the end.
    fn text(self, key: &[u8], until: &[u8]) -> Option<&'a [u8]> {
        let value = Fields(&self.0[self.start(key)?..]);
        let end = match value.start(until) {
            Some(start) => start.saturating_sub(until.len() + 2),
            None => value.0.len(),
        };
        Some(value.0[..end].trim_ascii())
    }

    /// The number after a word, as in "vcpu 0, rip 0x1234".
    fn after(self, word: &[u8]) -> Option<u32> {
        let at = memmem::find(self.0, word)? + word.len();
        let rest = self.0[at..].trim_ascii_start();
        let end = rest
            .iter()
            .position(|b| !b.is_ascii_digit())
            .unwrap_or(rest.len());
        u32::try_from(number(&rest[..end])?).ok()
    }

    /// A thread with its name.
    fn named(self, comm: &[u8], pid: &[u8], time: u64, known: &mut Known) -> Option<Tid> {
        let tid = Tid(self.small(pid)?);
        known.name_if(tid, time, self.text(comm, pid));
        Some(tid)
    }

    /// Why a vcpu left its guest: a number, or a name of the kernel.
    fn reason(self) -> Option<u32> {
        if let Some(reason) = self.small(b"exit_reason").or_else(|| self.small(b"ret")) {
            return Some(reason);
        }
        let at = memmem::find(self.0, b"reason ")? + b"reason ".len();
        let rest = &self.0[at..];
        let end = rest.iter().position(|b| *b == b' ').unwrap_or(rest.len());
        let reason = &rest[..end];
        if let Some(n) = any_number(reason) {
            return u32::try_from(n).ok();
        }
        let known = REASONS.iter().find(|(name, _)| name.as_bytes() == reason);
        Some(known.map_or(u32::MAX, |(_, number)| *number))
    }
}

/// Reasons of an exit as the kernel prints them, of VMX and of SVM.
const REASONS: [(&str, u32); 30] = [
    ("EXCEPTION_NMI", 0),
    ("EXTERNAL_INTERRUPT", 1),
    ("INTERRUPT_WINDOW", 7),
    ("PENDING_INTERRUPT", 7),
    ("CPUID", 10),
    ("HLT", 12),
    ("VMCALL", 18),
    ("CR_ACCESS", 28),
    ("DR_ACCESS", 29),
    ("IO_INSTRUCTION", 30),
    ("MSR_READ", 31),
    ("MSR_WRITE", 32),
    ("MWAIT_INSTRUCTION", 36),
    ("PAUSE_INSTRUCTION", 40),
    ("APIC_ACCESS", 44),
    ("EOI_INDUCED", 45),
    ("EPT_VIOLATION", 48),
    ("EPT_MISCONFIG", 49),
    ("PREEMPTION_TIMER", 52),
    ("APIC_WRITE", 56),
    ("interrupt", 0x60),
    ("nmi", 0x61),
    ("vintr", 0x64),
    ("cpuid", 0x72),
    ("pause", 0x77),
    ("hlt", 0x78),
    ("io", 0x7b),
    ("msr", 0x7c),
    ("vmmcall", 0x81),
    ("npf", 0x400),
];

/// A number, decimal or with "0x".
fn any_number(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"0x") {
        Some(hex) => u64::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok(),
        None => number(text),
    }
}

fn prio(text: &[u8]) -> Option<i16> {
    match text.strip_prefix(b"-") {
        Some(text) => i16::try_from(number(text)?).ok().map(|n| -n),
        None => i16::try_from(number(text)?).ok(),
    }
}

/// A request of a block device: "8,0 WS 4096 () 1234 + 8 be,0,4 [dd]", or raw.
fn request(step: DiskStep, fields: Fields<'_>) -> Option<DiskRequest> {
    // Of a flush that is done the sector is the largest number.
    let sector = |text| any_number(text).or((text.len() == 20).then_some(u64::MAX));
    if let Some(disk) = fields.word(b"dev") {
        return Some(DiskRequest {
            step,
            disk: device(disk)?,
            writes: fields.word(b"rwbs").is_some_and(DiskRequest::writes),
            sector: sector(fields.word(b"sector")?)?,
            sectors: fields.small(b"nr_sector")?,
        });
    }
    let mut words = fields.0.split(|b| *b == b' ').filter(|w| !w.is_empty());
    let (disk, marks) = (words.next()?, words.next()?);
    let mut first = words.next()?;
    for word in words.by_ref() {
        if word == b"+" {
            break;
        }
        first = word;
    }
    Some(DiskRequest {
        step,
        disk: device(disk)?,
        writes: DiskRequest::writes(marks),
        sector: sector(first)?,
        sectors: u32::try_from(number(words.next()?)?).ok()?,
    })
}

/// A device: "8,0", or the kernel's number.
fn device(text: &[u8]) -> Option<DiskId> {
    let small = |text| u32::try_from(any_number(text)?).ok();
    match text.iter().position(|b| *b == b',') {
        Some(comma) => Some(DiskId::new(
            small(&text[..comma])?,
            small(&text[comma + 1..])?,
        )),
        None => small(text).map(DiskId::of_kernel),
    }
}

/// The state of a thread that leaves.
fn left(state: &[u8], comm: &[u8]) -> Left {
    if let Some(number) = any_number(state) {
        return states::of_number(number);
    }
    // Nobody traces a kernel worker: some programs print the idle state as "t".
    match state == b"t" && comm.starts_with(b"kworker/") {
        true => Left::Sleeping,
        false => states::of_letters(state),
    }
}

fn switch(fields: &[u8], time: u64, known: &mut Known) -> Option<LinuxWhat> {
    if let Some(switch) = Kernel(fields).switch() {
        let left = left(switch.state, switch.prev_comm);
        known.name(switch.prev, time, switch.prev_comm);
        known.name(switch.next, time, switch.next_comm);
        return Some(LinuxWhat::Switch {
            prev: switch.prev,
            prev_prio: switch.prev_prio,
            left,
            next: switch.next,
            next_prio: switch.next_prio,
        });
    }
    let Some(fields) = fields.strip_prefix(b"prev_comm=") else {
        return plugin_switch(fields, time, known);
    };
    let mut rest = Walk(fields);
    let prev_comm = rest.until(b" prev_pid=")?;
    let prev = rest.until(b" prev_prio=")?;
    let prev_prio = rest.until(b" prev_state=")?;
    let state = rest.word();
    rest.until(b"next_comm=")?;
    let next_comm = rest.until(b" next_pid=")?;
    let next = rest.until(b" next_prio=")?;
    let next_prio = rest.word();
    let prev = Tid(u32::try_from(number(prev)?).ok()?);
    let next = Tid(u32::try_from(number(next)?).ok()?);
    let what = LinuxWhat::Switch {
        prev,
        prev_prio: prio(prev_prio)?,
        left: left(state, prev_comm),
        next,
        next_prio: prio(next_prio)?,
    };
    known.name(prev, time, prev_comm);
    known.name(next, time, next_comm);
    Some(what)
}

/// Goes through a text from mark to mark.
struct Walk<'a>(&'a [u8]);

impl<'a> Walk<'a> {
    /// The text up to `mark`, which ends with `=`.
    #[inline]
    fn until(&mut self, mark: &[u8]) -> Option<&'a [u8]> {
        for equals in memchr_iter(b'=', self.0) {
            if let Some(before) = self.0[..equals + 1].strip_suffix(mark) {
                self.0 = &self.0[equals + 1..];
                return Some(before);
            }
        }
        None
    }

    /// The text up to a space.
    fn word(&mut self) -> &'a [u8] {
        let end = self
            .0
            .iter()
            .position(|b| *b == b' ')
            .unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        word
    }
}

/// "COMM:PID [PRIO]", with what is behind.
fn plugin_thread(text: &[u8]) -> Option<(&[u8], Tid, i16, &[u8])> {
    // A name can have brackets, so the last pair counts.
    let close = rfind(b']', text)?;
    let open = rfind(b'[', &text[..close])?;
    let head = text[..open].trim_ascii_end();
    let colon = rfind(b':', head)?;
    let tid = Tid(u32::try_from(number(&head[colon + 1..])?).ok()?);
    let prio = prio(&text[open + 1..close])?;
    Some((&head[..colon], tid, prio, text[close + 1..].trim_ascii()))
}

fn plugin_switch(fields: &[u8], time: u64, known: &mut Known) -> Option<LinuxWhat> {
    let mut equals = memchr_iter(b'=', fields);
    let arrow = equals
        .find(|at| fields[*at..].starts_with(b"==> "))?
        .checked_sub(1)?;
    let (prev_comm, prev, prev_prio, state) = plugin_thread(&fields[..arrow])?;
    let (next_comm, next, next_prio, _) = plugin_thread(&fields[arrow + 5..])?;
    known.name(prev, time, prev_comm);
    known.name(next, time, next_comm);
    Some(LinuxWhat::Switch {
        prev,
        prev_prio,
        left: left(state, prev_comm),
        next,
        next_prio,
    })
}

fn wake(which: Wake, fields: Fields<'_>, time: u64, known: &mut Known) -> Option<LinuxWhat> {
    if let Some((comm, tid, prio, cpu)) = Kernel(fields.0).wake() {
        known.name(tid, time, comm);
        return Some(which.what(tid, prio, cpu));
    }
    if fields.0.starts_with(b"comm=") {
        let tid = fields.named(b"comm", b"pid", time, known)?;
        let prio = prio(fields.word(b"prio")?)?;
        let cpu = fields.small(b"target_cpu").or_else(|| fields.small(b"cpu"));
        return Some(which.what(tid, prio, cpu?));
    }
    let (comm, tid, prio, rest) = plugin_thread(fields.0)?;
    known.name(tid, time, comm);
    let cpu = Fields(rest).after(b"CPU:")?;
    Some(which.what(tid, prio, cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, fields: &str) -> LinuxWhat {
        let line = Line {
            comm: b"x",
            tid: Some(1),
            process: None,
            cpu: Some(0),
            time: 5,
            name: name.as_bytes(),
            fields: fields.as_bytes(),
        };
        what(&line, &mut Known::default()).unwrap_or_else(|| panic!("{name}: {fields}"))
    }

    #[test]
    fn switches_of_all_programs_are_read() {
        let expected = LinuxWhat::Switch {
            prev: Tid(7),
            prev_prio: 120,
            left: Left::Preempted,
            next: Tid(8),
            next_prio: -1,
        };
        for fields in [
            "prev_comm=a b=c prev_pid=7 prev_prio=120 prev_state=R+ ==> \
             next_comm=CPU 0/KVM next_pid=8 next_prio=-1",
            "prev_comm=a prev_pid=7 prev_prio=120 prev_state=4096 \
             next_comm=b next_pid=8 next_prio=-1",
            "prev_comm=a prev_pid=7 prev_prio=120 prev_state=0x100 \
             next_comm=b next_pid=8 next_prio=-1",
            "kworker/0:1:7 [120] R+ ==> CPU 0/KVM:8 [-1]",
        ] {
            assert_eq!(of("sched_switch", fields), expected, "{fields}");
        }
    }

    #[test]
    fn wake_ups_of_all_programs_are_read() {
        let expected = LinuxWhat::Wakeup {
            tid: Tid(7),
            prio: 100,
            target_cpu: 3,
        };
        for fields in [
            "comm=a b pid=7 prio=100 target_cpu=003",
            "comm=a pid=7 prio=100 success=1 target_cpu=003",
            "a b:7 [100] success=1 CPU:003",
            "a:7 [100] CPU:003",
            "a:7 [100] <CANT FIND FIELD success> CPU:003",
        ] {
            assert_eq!(of("sched_wakeup", fields), expected, "{fields}");
        }
    }

    #[test]
    fn requests_of_all_kernels_are_read() {
        let expected = LinuxWhat::Disk(DiskRequest {
            step: DiskStep::Issue,
            disk: DiskId::new(8, 0),
            writes: true,
            sector: 1234,
            sectors: 8,
        });
        for fields in [
            "8,0 WS 4096 () 1234 + 8 be,0,4 [a + b]",
            "8,0 W 4096 () 1234 + 8 [dd]",
            "8,0 WS 0 (2a 00 00) 1234 + 8 [dd]",
            "8,0 WS 1234 + 8 [dd]",
            "dev=0x800000 sector=1234 nr_sector=8 bytes=4096 rwbs=WS comm=dd",
        ] {
            assert_eq!(of("block_rq_issue", fields), expected, "{fields}");
        }
    }

    #[test]
    fn other_events_are_read() {
        for (name, fields, what) in [
            (
                "kvm_exit",
                "vcpu 0 reason HLT rip 0xffff info 0 0",
                LinuxWhat::KvmExit { reason: 12 },
            ),
            (
                "kvm_entry",
                "vcpu 3, rip 0xffff",
                LinuxWhat::KvmEntry { vcpu: 3 },
            ),
            (
                "kvm_vcpu_wakeup",
                "poll time 1200 ns, polling valid",
                LinuxWhat::KvmWakeup {
                    ns: 1200,
                    waited: false,
                },
            ),
            (
                "kvm_halt_poll_ns",
                "vcpu 1: halt_poll_ns 20000 (grow 10000)",
                LinuxWhat::HaltPoll {
                    vcpu: 1,
                    new: 20000,
                    old: 10000,
                },
            ),
            (
                "napi_poll",
                "napi poll on napi struct 0000000012ab for device eth0 work 5 budget 64",
                LinuxWhat::NapiPoll {
                    work: 5,
                    budget: 64,
                },
            ),
            (
                "softirq_entry",
                "vec=3 [action=NET_RX]",
                LinuxWhat::SoftirqEntry { vec: 3 },
            ),
            (
                "irq_handler_exit",
                "irq=24 ret=handled",
                LinuxWhat::IrqExit { irq: 24 },
            ),
            (
                "sched_stat_runtime",
                "comm=a pid=7 runtime=1052803 [ns] vruntime=1632165679 [ns]",
                LinuxWhat::Runtime {
                    tid: Tid(7),
                    ns: 1_052_803,
                },
            ),
            (
                "sched_process_fork",
                "comm=a pid=7 child_comm=b child_pid=9",
                LinuxWhat::Fork {
                    parent: Tid(7),
                    child: Tid(9),
                },
            ),
            (
                "block_rq_complete",
                "8,1 FF () 18446744073709551615 + 0 [0]",
                LinuxWhat::Disk(DiskRequest {
                    step: DiskStep::Complete,
                    disk: DiskId::new(8, 1),
                    writes: false,
                    sector: u64::MAX,
                    sectors: 0,
                }),
            ),
            (
                "cgroup_attach_task",
                "dst_root=1 dst_id=9 dst_level=2 dst_path=/machine/a b pid=4 comm=y",
                LinuxWhat::Attach { tid: Tid(4) },
            ),
            (
                "sched_migrate_task",
                "comm=a pid=7 prio=120 orig_cpu=0 dest_cpu=1",
                LinuxWhat::Migrate {
                    tid: Tid(7),
                    from: 0,
                    to: 1,
                },
            ),
        ] {
            assert_eq!(of(name, fields), what, "{fields}");
        }
    }
}
