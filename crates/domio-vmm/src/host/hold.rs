//! Time that something outside the model takes from the timers of a pcpu.
//!
//! On a real machine the firmware, or a guest or device that the model does not have, keeps a pcpu
//! from its timers now and then. A [`Hold`] is one such time, given in advance.

use super::{Event, Host, Queue};
use crate::bus::device::Device;
use domio_core::{Instant, PcpuId, Sink};

/// Timers of a pcpu that expire from `from` to `until` come at `until` (from Xen 4.0 on, xen-spec
/// 0.3, and where the hypervisor's work takes time).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Whose timers; a pcpu that exists.
    pub pcpu: PcpuId,
    /// From when, not before the host's start.
    pub from: Instant,
    /// Until when.
    pub until: Instant,
}

impl<S: Sink, D: Device> Host<S, D> {
    /// `holds`, in any order, are to come.
    pub(super) fn plan_holds(&mut self, queue: &mut Queue, holds: &[Hold]) {
        self.holds = holds.to_vec();
        self.holds.sort_by_key(|hold| core::cmp::Reverse(hold.from));
        self.post_hold(queue);
    }

    /// Posts the next of the holds, which are kept in reverse.
    fn post_hold(&mut self, queue: &mut Queue) {
        if let Some(hold) = self.holds.last() {
            queue.post(hold.from, Event::Hold);
        }
    }

    /// The next hold begins.
    pub(super) fn hold(&mut self, queue: &mut Queue) {
        if let Some(hold) = self.holds.pop() {
            let p = &mut self.pcpus[hold.pcpu];
            p.timer_floor = p.timer_floor.max(hold.until);
        }
        self.post_hold(queue);
    }
}
