//! How device models come to the bus, and what a model asks for there.

use super::device::Device;
use super::lines::{
    BusLine, BusLines, KernelTimer, Softirq, SoftirqLine, Tasklet, Token, WorkItem,
};
use super::locks::{KernelLock, Locks};
use super::models::Bus;
use crate::event::Event;
use alloc::vec::Vec;
use domio_core::{Class, ClassId, Names};
use domio_sim::{EventQueue, TimerId};

/// What a device model is made of, and how. A list of kinds of devices asks nothing else of a kind.
pub trait Blueprint {
    /// The model.
    type Model: Device;

    /// What the model's records mean, if the model writes any.
    const RECORDS: Option<&'static Class> = None;

    /// Makes the model. The model's random streams are those of `seed` and `replication`.
    fn make(&self, attach: &mut Attach<'_>, seed: u64, replication: u32) -> Self::Model;
}

/// A bus that is being put together.
pub struct Assembly<'a, D> {
    pub(crate) queue: &'a mut EventQueue<Event>,
    pub(crate) bus: Bus<D>,
}

impl<D: Device> Assembly<'_, D> {
    /// Attaches the model that `make` makes. Returns the model's index, by which processes name the
    /// model's files. The order counts: the first model is plugged into a domain first, and has the
    /// lower ports.
    pub fn add(&mut self, make: impl FnOnce(&mut Attach<'_>) -> D) -> u16 {
        let device = self.bus.devices.len() as u16;
        let model = make(&mut Attach {
            device,
            queue: self.queue,
            lines: &mut self.bus.wires.lines,
            locks: &mut self.bus.wires.locks,
            names: &mut self.bus.wires.names,
        });
        self.bus.devices.push(model);
        device
    }

    /// The models so far.
    pub fn devices(&self) -> &Vec<D> {
        &self.bus.devices
    }
}

/// What a device model may ask for while it is made.
pub struct Attach<'a> {
    device: u16,
    queue: &'a mut EventQueue<Event>,
    lines: &'a mut BusLines,
    locks: &'a mut Locks,
    names: &'a mut Names,
}

impl Attach<'_> {
    fn line(&self, token: Token) -> BusLine {
        BusLine {
            device: self.device,
            token,
        }
    }

    /// Index of the model on the bus.
    pub fn device(&self) -> u16 {
        self.device
    }

    /// The number in the trace of the class that the blueprint `B` declares. Models of one kind
    /// share it. A blueprint that declares none ([`Blueprint::RECORDS`]) does not compile here.
    pub fn class<B: Blueprint>(&mut self) -> ClassId {
        let class = const { B::RECORDS.expect("the blueprint declares records") };
        self.names.add_class(class)
    }

    /// A timer of the world outside, which calls [`Device::event`]. The timer is not armed.
    pub fn timer(&mut self, token: Token) -> TimerId {
        let line = self.line(token);
        let number = self.lines.add_timer(line);
        self.queue.timer(Event::Device(number))
    }

    /// An action of `softirq`, which calls [`Device::softirq`] on the vcpu that raised it.
    ///
    /// # Panics
    /// For softirqs of the kernel itself: [`Softirq::Timer`] and [`Softirq::Tasklet`].
    #[track_caller]
    pub fn softirq(&mut self, softirq: Softirq, token: Token) -> SoftirqLine {
        let own = matches!(softirq, Softirq::Timer | Softirq::Tasklet);
        assert!(!own, "{softirq:?} is the kernel's own softirq");
        let line = self.line(token);
        self.lines.add_softirq(softirq, line)
    }

    /// A tasklet, which calls [`Device::tasklet`] on the vcpu that scheduled it.
    pub fn tasklet(&mut self, token: Token) -> Tasklet {
        let line = self.line(token);
        self.lines.add_tasklet(line)
    }

    /// A work item, which calls [`Device::work`] in a thread of the kernel that queued it.
    pub fn work(&mut self, token: Token) -> WorkItem {
        let line = self.line(token);
        self.lines.add_work(line)
    }

    /// A timer of a kernel, which calls [`Device::timer`] from the timer softirq.
    pub fn kernel_timer(&mut self, token: Token) -> KernelTimer {
        let line = self.line(token);
        self.lines.add_kernel_timer(line)
    }

    /// A spin lock of one kernel.
    pub fn lock(&mut self) -> KernelLock {
        self.locks.add()
    }

    /// A physical interrupt that no other device of the host has.
    pub fn pirq(&mut self) -> u16 {
        self.lines.add_pirq()
    }
}
