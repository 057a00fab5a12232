//! A vcpu in the interval that is open.

use domio_core::{PcpuId, Runstate, VcpuName};
use domio_trace::{TakenFor, Track};

use super::{Figures, since};
use crate::budget::Budget;

/// What samples are made of.
#[derive(Debug)]
pub(super) struct Vcpu {
    pub name: VcpuName,
    pub track: Track,
    /// When it came into its state; when it was first seen in it, where that is not known.
    pub entered: u64,
    /// Where it ran last, or was first heard of.
    pub home: PcpuId,
    /// Its figures there, in this interval.
    pub here: Figures,
    pub budget: Budget,
    /// It cannot be interrupted as long as it is blocked.
    pub uninterruptible: bool,
    /// What samples have of the time since its latest record.
    pub told: Figures,
    /// Time that it executed so far.
    pub ran: u64,
}

impl Vcpu {
    pub fn new(name: VcpuName) -> Self {
        Vcpu {
            name,
            track: Track::new(),
            entered: 0,
            home: PcpuId(0),
            here: Figures::default(),
            budget: Budget::default(),
            uninterruptible: false,
            told: Figures::default(),
            ran: 0,
        }
    }

    /// Adds what passes from `from` up to `to`, as far as is known by now.
    pub fn pass(&mut self, from: u64, to: u64) {
        let from = from.max(self.track.since());
        let length = to.saturating_sub(from);
        let mut passed = Figures::default();
        match self.track.taken_for() {
            TakenFor::Unheard => {}
            TakenFor::Unknown => passed.unknown = length,
            TakenFor::State(state) => {
                let held = match state {
                    Runstate::Runnable => self.budget.take_until(from, to, since(0)),
                    _ => 0,
                };
                passed.add_time((state, self.track.before()), length - held);
                passed.parked += held;
                if self.uninterruptible && state == Runstate::Blocked {
                    passed.uninterruptible = length;
                }
            }
        }
        self.here.add(&passed);
        self.told.add(&passed);
    }

    /// Whether it is in a run queue, and its policy would let it run. Idle vcpus are runnable, but
    /// wait for nothing.
    #[inline]
    pub fn waits(&self) -> bool {
        let runnable = self.track.taken_for() == TakenFor::State(Runstate::Runnable);
        runnable && !self.name.is_idle() && !self.budget.is_used_up()
    }
}
