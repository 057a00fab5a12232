//! Time that something outside the model takes from the timers of a pcpu.
//!
//! On a real machine the firmware, or a guest or device that the model does not have, keeps a pcpu
//! from its timers now and then. A [`TimerHold`] is one such time, given in advance.

use crate::event::{Event, Queue};
use alloc::vec::Vec;
use domio_core::{Instant, PcpuId};

/// Timers of a pcpu that expire from `from` to `until` come at `until` (from Xen 4.0 on, xen-spec
/// 0.3, and where the hypervisor's work takes time).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerHold {
    /// Whose timers; a pcpu that exists.
    pub pcpu: PcpuId,
    /// From when, not before the host's start.
    pub from: Instant,
    /// Until when.
    pub until: Instant,
}

/// Holds that have not begun, the next one last.
#[derive(Default)]
pub(crate) struct Holds(Vec<TimerHold>);

impl Holds {
    /// `holds`, in any order, are to come.
    pub fn plan(&mut self, queue: &mut Queue, holds: &[TimerHold]) {
        self.0 = holds.to_vec();
        self.0.sort_by_key(|hold| core::cmp::Reverse(hold.from));
        self.post(queue);
    }

    /// Posts the next of the holds.
    fn post(&self, queue: &mut Queue) {
        if let Some(hold) = self.0.last() {
            queue.post(hold.from, Event::TimerHold);
        }
    }

    /// The hold that begins.
    pub fn next(&mut self, queue: &mut Queue) -> Option<TimerHold> {
        let hold = self.0.pop();
        self.post(queue);
        hold
    }
}
