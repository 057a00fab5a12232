//! The guest's part of the FIFO ABI (xen-spec 5.7): one port at a time from the most urgent queue.

use crate::evtchn::fifo::{Fifo, FifoPriority};
use crate::evtchn::port::Port;
use crate::evtchn::scan::form::Pass;

/// A pass that takes one port from the most urgent queue that has any, and then looks again which
/// that is.
#[derive(Clone, Debug, Default)]
pub(in crate::evtchn) struct FifoPass {
    /// Bit `p`: the queue of priority `p` has ports, as far as the guest has noticed.
    ready: u32,
    /// The next port of each queue, where the guest knows it from the last one that it took.
    heads: [Option<Port>; FifoPriority::COUNT],
}

impl Pass<Fifo> for FifoPass {
    fn set_aside(&mut self) -> Option<Self> {
        None
    }

    fn comes_first(&self, _: &Fifo, _: Port, _: u16) -> bool {
        // A timer that is to come first has the highest priority.
        false
    }

    fn begin(&mut self, _: &mut Fifo, _: u16) {}

    fn next(&mut self, events: &mut Fifo, vcpu: u16) -> Option<Port> {
        loop {
            self.ready |= events.take_ready(vcpu);
            if self.ready == 0 {
                return None;
            }
            let queue = self.ready.trailing_zeros() as usize;
            let port = self.heads[queue].unwrap_or_else(|| events.head(vcpu, queue));
            // It is out of the queue before its handler runs, so it may be queued again meanwhile.
            self.heads[queue] = events.unlink(port);
            if self.heads[queue].is_none() {
                self.ready &= !(1 << queue);
            }
            if events.is_pending(port) && !events.is_masked(port) {
                return Some(port);
            }
        }
    }

    fn goes_on_when_due(&self) -> bool {
        true
    }
}
