//! What waits for `NetRx` in the driver domain (`softnet_data` in Linux): devices that want to be
//! polled, and the backlog of packets from guests.

use alloc::collections::VecDeque;

use domio_vmm::bus::{KernelIo, SoftirqLine};

use super::vif::Via;
use crate::packet::Packet;
use crate::queue::{DropPlace, Queue};

/// Packets that wait for the driver domain's stack (Linux 2.6.18: `netdev_max_backlog`).
const BACKLOG: usize = 1_000;

/// A device that wants to be polled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Polled {
    /// A queue of the card, by its number.
    Card(u16),
    Backlog,
    /// What the domain's own protocols send.
    Local,
}

/// Devices and packets that wait.
pub(super) struct Softnet {
    /// Packets from guests for the bridge, with their interface.
    pub backlog: Queue<(Via, Packet)>,
    /// Devices to poll, in turn.
    pub poll: VecDeque<Polled>,
    softirq: SoftirqLine,
}

impl Softnet {
    /// Where packets from guests end that the driver domain does not get to.
    pub const BACKLOG: DropPlace = DropPlace("netback, backlog");

    /// Nothing waits; `softirq` polls what will.
    pub fn new(softirq: SoftirqLine) -> Self {
        Softnet {
            backlog: Queue::new(Self::BACKLOG, BACKLOG),
            poll: VecDeque::new(),
            softirq,
        }
    }

    /// Asks for a run of the softirq.
    pub fn raise(&self, kernel: &mut KernelIo<'_, '_>) {
        kernel.raise(self.softirq);
    }

    /// The backlog has packets: it is polled.
    pub fn poll_backlog(&mut self, kernel: &mut KernelIo<'_, '_>) {
        self.poll(Polled::Backlog, kernel);
    }

    /// The domain's own protocols have sent packets: they go to the bridge.
    pub fn poll_local(&mut self, kernel: &mut KernelIo<'_, '_>) {
        self.poll(Polled::Local, kernel);
    }

    fn poll(&mut self, what: Polled, kernel: &mut KernelIo<'_, '_>) {
        if !self.poll.contains(&what) {
            self.poll.push_back(what);
        }
        self.raise(kernel);
    }
}
