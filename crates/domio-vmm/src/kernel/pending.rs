//! Work that interrupt handlers leave for later: softirqs, tasklets, services.

use alloc::vec::Vec;
use domio_core::Instant;

/// A softirq of Linux 2.6.18, by number: lower ones run first (`linux/interrupt.h`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Softirq {
    /// Expired timers.
    Timer = 1,
    /// Packets to send that waited.
    NetTx = 2,
    /// Devices to poll.
    NetRx = 3,
    /// Completed requests.
    Block = 4,
    /// Tasklets.
    Tasklet = 5,
}

impl Softirq {
    /// The first of a set.
    fn first(bits: u8) -> Option<Softirq> {
        let all = [
            Softirq::Timer,
            Softirq::NetTx,
            Softirq::NetRx,
            Softirq::Block,
            Softirq::Tasklet,
        ];
        all.into_iter().find(|s| bits & s.bit() != 0)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What is asked for on one vcpu.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Softirqs raised.
    softirqs: u8,
    /// Softirqs of the round under way that have not run.
    round: u8,
    /// Tasklets scheduled. The last one runs first: Linux 2.6.18 pushes to the head of its list.
    tasklets: Vec<u8>,
    /// Tasklets of the run under way, the next one last.
    running: Vec<u8>,
    /// Services that are awake.
    services: u8,
    pub(crate) timer_at: Instant,
}

impl Default for Pending {
    fn default() -> Self {
        Pending {
            softirqs: 0,
            round: 0,
            tasklets: Vec::new(),
            running: Vec::new(),
            services: 0,
            timer_at: Instant::MAX,
        }
    }
}

impl Pending {
    #[inline]
    pub(crate) fn raise(&mut self, softirq: Softirq) {
        self.softirqs |= softirq.bit();
    }

    #[inline]
    pub(crate) fn schedule(&mut self, tasklet: u8) {
        // One that waits in the run under way is scheduled as well.
        if !self.tasklets.contains(&tasklet) && !self.running.contains(&tasklet) {
            self.tasklets.push(tasklet);
            self.raise(Softirq::Tasklet);
        }
    }

    #[inline]
    pub(crate) fn wake(&mut self, service: u8) {
        self.services |= 1 << service;
    }

    /// Whether any softirq is raised.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.softirqs != 0
    }

    /// Begins a round: those raised by now run, each once.
    #[inline]
    pub(super) fn begin_round(&mut self) {
        self.round = core::mem::take(&mut self.softirqs);
    }

    /// The next softirq of the round.
    #[inline]
    pub(super) fn next_softirq(&mut self) -> Option<Softirq> {
        let next = Softirq::first(self.round)?;
        self.round &= !next.bit();
        Some(next)
    }

    /// Begins a run of the tasklets: those scheduled by now, last first.
    #[inline]
    pub(super) fn begin_tasklets(&mut self) {
        core::mem::swap(&mut self.tasklets, &mut self.running);
        self.tasklets.clear();
    }

    /// The next tasklet of the run. From now on it can be scheduled again.
    #[inline]
    pub(super) fn next_tasklet(&mut self) -> Option<u8> {
        self.running.pop()
    }

    /// The lowest service that is awake.
    #[inline]
    pub(super) fn next_service(&self) -> Option<u8> {
        (self.services != 0).then(|| self.services.trailing_zeros() as u8)
    }

    /// `service` begins: woken from now on, it is called again afterwards.
    #[inline]
    pub(super) fn begin_service(&mut self, service: u8) {
        self.services &= !(1 << service);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_softirqs_run_first_and_later_ones_wait_for_the_next_round() {
        let mut pending = Pending::default();
        pending.raise(Softirq::Tasklet);
        pending.raise(Softirq::NetRx);
        pending.begin_round();
        assert_eq!(pending.next_softirq(), Some(Softirq::NetRx));
        pending.raise(Softirq::NetRx);
        assert_eq!(pending.next_softirq(), Some(Softirq::Tasklet));
        assert_eq!(pending.next_softirq(), None);
        assert!(pending.any());
    }

    #[test]
    fn the_last_tasklet_runs_first() {
        let mut pending = Pending::default();
        for tasklet in [0, 1, 0] {
            pending.schedule(tasklet);
        }
        pending.begin_tasklets();
        assert_eq!(pending.next_tasklet(), Some(1));
        // 0 waits still, so this is nothing new; 1 runs, so it is.
        pending.schedule(0);
        pending.schedule(1);
        assert_eq!(pending.next_tasklet(), Some(0));
        assert_eq!(pending.next_tasklet(), None);
        pending.begin_tasklets();
        assert_eq!(
            (pending.next_tasklet(), pending.next_tasklet()),
            (Some(1), None)
        );
    }
}
