//! One vcpu's books: where its time went.

use domio_core::{PcpuId, Runstate, VcpuName};
use domio_trace::Losses;

use crate::distribution::Distribution;

/// The part of the trace that counts, in nanoseconds: from `from` up to, not including, `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Window {
    /// Length of the part of `start..end` that counts.
    #[inline]
    pub(crate) fn part(self, start: u64, end: u64) -> u64 {
        end.min(self.to).saturating_sub(start.max(self.from))
    }

    /// The part of `start..end` that counts: where it begins and ends, if it is any.
    #[inline]
    pub(crate) fn cut(self, start: u64, end: u64) -> Option<(u64, u64)> {
        let (start, end) = (start.max(self.from), end.min(self.to));
        (start < end).then_some((start, end))
    }

    /// Whether the stretch of time that ends at `at` counts.
    #[inline]
    pub(crate) fn ends_in(self, at: u64) -> bool {
        self.from < at && at <= self.to
    }

    /// Whether what happens at `at` counts.
    #[inline]
    pub(crate) fn holds(self, at: u64) -> bool {
        (self.from..self.to).contains(&at)
    }
}

/// Sums of a vcpu, in nanoseconds and counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sums {
    /// By runstate number.
    pub(crate) state: [u64; 4],
    /// Runnable after blocked, after running, after offline or nothing known.
    pub(crate) waited_after_wake: u64,
    pub(crate) waited_after_preempt: u64,
    pub(crate) waited_other: u64,
    /// Across lost records, or between records that contradict each other.
    pub(crate) unknown: u64,
    /// Times that it was put on a pcpu.
    pub(crate) executions: u64,
    /// Times that it was woken.
    pub(crate) wakeups: u64,
}

/// What is known of one vcpu.
#[derive(Debug)]
pub(crate) struct VcpuBook {
    pub(crate) name: VcpuName,
    /// Time of its latest runstate record: all before is accounted for.
    since: u64,
    /// When it came into `state`; `None` when that was before its first record, or in a gap.
    entered: Option<u64>,
    state: Runstate,
    /// The state before `state`.
    before: Runstate,
    pcpu: PcpuId,
    /// Losses that concerned it when the state started.
    losses: u64,
    /// Whether there was a record at all, and one that is no mark.
    known: bool,
    changed: bool,
    pub(crate) sums: Sums,
    pub(crate) runs: Distribution,
    pub(crate) wake_to_run: Distribution,
}

/// What a runstate change completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Completed {
    /// Time on the pcpu that ends now and counts, when the vcpu was running.
    pub(crate) ran: Option<u64>,
    /// Whether a sample was stored.
    pub(crate) sampled: bool,
}

impl VcpuBook {
    pub(crate) fn new(name: VcpuName) -> Self {
        VcpuBook {
            name,
            since: 0,
            entered: None,
            state: Runstate::Offline,
            before: Runstate::Offline,
            pcpu: PcpuId(0),
            losses: 0,
            known: false,
            changed: false,
            sums: Sums::default(),
            runs: Distribution::default(),
            wake_to_run: Distribution::default(),
        }
    }

    /// The vcpu goes from `old` to `new` at `at`. Where they are equal, its account is brought up
    /// to `at` and nothing else happens.
    #[inline]
    pub(crate) fn change(
        &mut self,
        at: u64,
        pcpu: PcpuId,
        old: Runstate,
        new: Runstate,
        losses: &Losses,
        window: Window,
    ) -> Completed {
        let mut completed = Completed::default();
        let is_mark = old == new;
        let mut sure = false;
        if self.known {
            let part = window.part(self.since, at);
            sure = old == self.state && !self.missed(losses);
            if sure {
                self.close(part);
                completed.ran = (old == Runstate::Running).then_some(part);
            } else {
                self.sums.unknown += part;
            }
            if sure
                && !is_mark
                && window.holds(at)
                && let Some(entered) = self.entered
            {
                let length = at.saturating_sub(entered);
                if old == Runstate::Running {
                    completed.sampled = self.runs.add(length);
                } else if old == Runstate::Runnable
                    && new == Runstate::Running
                    && self.before == Runstate::Blocked
                {
                    completed.sampled = self.wake_to_run.add(length);
                }
            }
        }
        self.since = self.since.max(at);
        self.changed |= !is_mark;
        if !is_mark {
            if window.holds(at) {
                self.sums.executions += u64::from(new == Runstate::Running);
                let woken = old == Runstate::Blocked && new == Runstate::Runnable;
                self.sums.wakeups += u64::from(woken);
            }
            self.entered = Some(self.since);
            self.before = old;
        } else if !sure {
            self.entered = None;
            self.before = Runstate::Offline;
        }
        self.state = new;
        self.pcpu = pcpu;
        self.losses = losses.concerning(new, pcpu);
        self.known = true;
        completed
    }

    /// Whether any record told of it.
    pub(crate) fn is_known(&self) -> bool {
        self.known
    }

    /// Whether its state was seen to change.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed
    }

    /// Adds `part` to the state that ends.
    #[inline]
    fn close(&mut self, part: u64) {
        self.sums.state[self.state as usize] += part;
        if self.state == Runstate::Runnable {
            match self.before {
                Runstate::Blocked => self.sums.waited_after_wake += part,
                Runstate::Running => self.sums.waited_after_preempt += part,
                Runstate::Runnable | Runstate::Offline => self.sums.waited_other += part,
            }
        }
    }

    /// Whether lost records may hide a change since the latest record.
    fn missed(&self, losses: &Losses) -> bool {
        losses.concerning(self.state, self.pcpu) != self.losses
    }

    /// Something tells at `at` of a vcpu that executes: its account is brought up to then, if it is
    /// known to do so. Returns time on the pcpu as in [`Completed::ran`], with that pcpu.
    pub(crate) fn executes(
        &mut self,
        at: u64,
        losses: &Losses,
        window: Window,
    ) -> Option<(PcpuId, u64)> {
        if !self.known || self.state != Runstate::Running || self.missed(losses) {
            return None;
        }
        let part = window.part(self.since, at);
        self.close(part);
        self.since = self.since.max(at);
        Some((self.pcpu, part))
    }

    /// Another vcpu is on `pcpu` at `at`. When this one is there, and only records that it goes on
    /// tell so, its run is over: since `at` where the record says so (`now`), else since nobody
    /// knows when. Until its next record its time is unknown. Returns time on the pcpu as in
    /// [`Completed::ran`].
    pub(crate) fn displaced(
        &mut self,
        at: u64,
        pcpu: PcpuId,
        now: bool,
        losses: &Losses,
        window: Window,
    ) -> Option<u64> {
        if !self.known || self.changed || self.state != Runstate::Running || self.pcpu != pcpu {
            return None;
        }
        let mut ran = None;
        if now {
            ran = self.end(at, losses, window).map(|(_, ran)| ran);
            self.since = self.since.max(at);
        }
        self.losses = Losses::UNSURE;
        ran
    }

    /// The pcpu of its latest runstate record.
    pub(crate) fn pcpu(&self) -> Option<PcpuId> {
        self.known.then_some(self.pcpu)
    }

    /// The trace ends at `at` and the state with it; returns time on a pcpu as in
    /// [`Completed::ran`], with that pcpu.
    pub(crate) fn end(
        &mut self,
        at: u64,
        losses: &Losses,
        window: Window,
    ) -> Option<(PcpuId, u64)> {
        if !self.known {
            return None;
        }
        let part = window.part(self.since, at);
        if self.missed(losses) {
            self.sums.unknown += part;
            return None;
        }
        self.close(part);
        (self.state == Runstate::Running).then_some((self.pcpu, part))
    }
}
