//! What Linux says beyond switches and wake-ups: limits, interrupts, time in guest mode, and sums
//! of guests.

use domio_core::{DomainId, PcpuId, Record, Runstate};

use super::super::class::Linux;
use super::super::threads::{Group, OF_KERNEL, State};
use super::{GUEST_MODE_MAX, LIMITED_FROM, LinuxRecords, NESTED_MAX};

impl LinuxRecords {
    /// A vcpu of a guest changes its state: is one of the guest running while another waits?
    pub(super) fn counts(&mut self, place: usize, before: State, after: State) {
        let now = self.now;
        let group = self.threads.get(place).group;
        let group: &mut Group = self.threads.group_at(group);
        for (state, more) in [(before, false), (after, true)] {
            let count = match state {
                State::Is(Runstate::Running) => &mut group.running,
                State::Is(Runstate::Runnable) => &mut group.waiting,
                _ => continue,
            };
            *count = match more {
                true => *count + 1,
                false => count.saturating_sub(1),
            };
        }
        let is_skewed = group.running > 0 && group.waiting > 0;
        match (group.skewed, is_skewed) {
            (None, true) => group.skewed = Some(now),
            (Some(since), false) => {
                group.skewed = None;
                self.skew(place, since);
            }
            _ => {}
        }
    }

    pub(super) fn skew(&mut self, place: usize, since: u64) {
        let cpu = usize::from(self.threads.get(place).cpu);
        self.note_time(cpu, place, Linux::Skew, self.now.saturating_sub(since));
    }

    /// Records how long the vcpu waited that has just been put on a cpu, or still waits.
    pub(super) fn ready(&mut self, place: usize) {
        let thread = self.threads.get(place);
        let waited = self.now.saturating_sub(thread.since);
        let cpu = usize::from(thread.cpu);
        self.note_time(cpu, place, Linux::Ready, waited);
    }

    /// Whether the limit of the thread's group is used up.
    pub(super) fn is_used_up(&mut self, place: usize) -> bool {
        let limit = self.threads.get(place).limit as usize;
        let limit = self.limits.get_mut(limit);
        limit.is_some_and(|(_, limit)| limit.is_used_up(self.now))
    }

    /// A thread comes from the queue of a cpu that idled beside it: a period of its limit begins.
    pub(super) fn may_begin(&mut self, place: usize) {
        let thread = *self.threads.get(place);

        let (now, limit) = (self.now, self.limits.get_mut(thread.limit as usize));
        let waited = now.saturating_sub(thread.since);
        if thread.is(Runstate::Runnable)
            && waited > LIMITED_FROM
            && let Some((_, limit)) = limit
        {
            limit.begins(now);
            limit.held.retain(|other| *other != place);
        }
    }

    /// A limit holds the thread back that is in `place`.
    pub(super) fn held_back(&mut self, cpu: usize, place: usize) {
        self.note(cpu, place, Linux::Limited, [0; 4]);
        let limit = self.threads.get(place).limit as usize;
        if let Some((_, limit)) = self.limits.get_mut(limit) {
            if !limit.held.contains(&place) {
                limit.held.push(place);
            }
            self.next_end = self.next_end.min(limit.ends());
        }
    }

    /// Periods of limits begin before `until`: whom they held back may run.
    #[cold]
    pub(super) fn release(&mut self, until: u64) {
        let now = self.now;
        for place in 0..self.limits.len() {
            let ends = self.limits[place].1.ends();
            if ends > until {
                continue;
            }
            self.now = now.max(ends);
            for thread in std::mem::take(&mut self.limits[place].1.held) {
                // The place may be another thread's by now.
                let is_held = self.threads.get(thread).limit as usize == place;
                if is_held && self.threads.get(thread).is(Runstate::Runnable) {
                    let cpu = usize::from(self.threads.get(thread).cpu);
                    self.note(cpu, thread, Linux::TurnOver, [0; 4]);
                }
            }
        }
        let ends = self.limits.iter().map(|(_, limit)| limit.ends());
        self.next_end = ends.min().unwrap_or(u64::MAX);
    }

    /// Sums that are recorded when a thread leaves its cpu: in guest mode, and on behalf of a
    /// guest.
    pub(super) fn sums(&mut self, place: usize) {
        let thread = *self.threads.get(place);
        let cpu = usize::from(thread.cpu);
        if thread.guest_mode > 0 {
            self.threads.get_mut(place).guest_mode = 0;
            self.note_time(cpu, place, Linux::GuestMode, thread.guest_mode);
        }
        let owner: Option<DomainId> = self.threads.group_at(thread.group).works_for;
        if let Some(owner) = owner.filter(|_| thread.is(Runstate::Running)) {
            let ran = self.now.saturating_sub(thread.since);
            let pcpu = PcpuId(cpu as u16);
            self.put(Record::driver_work(
                self.at(),
                pcpu,
                thread.actor,
                owner,
                ran,
            ));
        }
    }

    pub(super) fn enters(&mut self, cpu: usize, is_softirq: bool, number: u32) {
        let now = self.now;
        let serves = &mut self.cpus[cpu].serves;
        if serves.len() < NESTED_MAX {
            serves.push((is_softirq, number, now, 0));
        }
    }

    pub(super) fn exits(&mut self, cpu: usize, is_softirq: bool, number: u32) {
        let serves = &mut self.cpus[cpu].serves;
        let found = serves
            .iter()
            .rposition(|(softirq, n, ..)| (*softirq, *n) == (is_softirq, number));
        let Some(found) = found else {
            return;
        };
        // Whatever began later and did not end was cut off.
        let (_, _, began, within) = serves[found];
        serves.truncate(found);
        let whole = self.now.saturating_sub(began);
        if let Some((.., others)) = serves.last_mut() {
            *others += whole;
        }
        let ns = whole.saturating_sub(within);
        let current = self.cpus[cpu].current;
        let Some(place) = current.filter(|place| *place != self.cpus[cpu].idle) else {
            return;
        };
        let thread = self.threads.get(place);
        // Nothing is taken from the kernel's own threads, nor from one that came meanwhile.
        let is_kernel = thread.group == OF_KERNEL;
        if ns == 0 || is_kernel || !thread.is(Runstate::Running) {
            return;
        }
        let kind = match is_softirq {
            true => Linux::Softirq,
            false => Linux::Irq,
        };
        self.note(cpu, place, kind, [number, ns as u32, (ns >> 32) as u32, 0]);
    }

    /// The current thread of `cpu` is not in guest mode any more.
    pub(super) fn leaves_guest(&mut self, cpu: usize) {
        let now = self.now;
        let Some(since) = self.cpus[cpu].guest_since.take() else {
            return;
        };
        let Some(place) = self.cpus[cpu].current else {
            return;
        };
        let thread = self.threads.get_mut(place);
        thread.guest_mode += now.saturating_sub(since.max(thread.since));
        if thread.guest_mode >= GUEST_MODE_MAX {
            let ns = std::mem::take(&mut thread.guest_mode);
            self.note_time(cpu, place, Linux::GuestMode, ns);
        }
    }

    /// The vcpu that runs on `cpu` polled for so long.
    pub(super) fn polled(&mut self, cpu: usize, ns: u64) {
        if let Some(place) = self.cpus[cpu].current.filter(|p| *p != self.cpus[cpu].idle) {
            self.note_time(cpu, place, Linux::HaltPoll, ns);
        }
    }
}
