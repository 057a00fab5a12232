//! What a host has besides processors: the contract between the host and models of devices.
//!
//! The host knows time, vcpus and event channels. Networks and disks are built on top of it, in
//! crates of their own, and plug in here: drivers inside the guests' kernels, and the world outside
//! that sends and receives.
//!
//! ```text
//!   world: links, disks ──Devices::event──▶ raises a physical interrupt of the driver domain
//!   kernel of a vcpu    ──Devices::irq, softirq, tasklet, service──▶ drivers: work, sends
//! ```
//!
//! Whatever runs in a guest takes its processor's time, and can be interrupted or preempted within
//! it. So driver code is asked for one piece of work at a time: it says how long the piece takes
//! ([`Progress::Run`]), is called again when that much has been executed, does what the piece was
//! for and names the next one, until it is [`Progress::Done`].

use crate::evtchn::{Channels, Port, Raised, Sent};
use crate::host::Event;
use crate::kernel::{KernelConfig, Pending, Softirq};
use alloc::vec::Vec;
use domio_core::{DomainId, Duration, Instant, Kind, PcpuId, Record, VcpuName};
use domio_sim::{EventQueue, TimerId};

/// What driver code does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "driver code that is not charged for runs in no time"]
pub enum Progress {
    /// Executes for this long, then wants to be called again.
    Run(Duration),
    /// Has nothing more to do.
    Done,
}

/// Timers for device models that are being made.
pub struct Timers<'a> {
    pub(crate) queue: &'a mut EventQueue<Event>,
}

impl Timers<'_> {
    /// A timer that calls [`Devices::event`] with `token` when it fires. It is not armed.
    pub fn timer(&mut self, token: u32) -> TimerId {
        self.queue.timer(Event::Device(token))
    }
}

/// What device models may do at any time.
pub struct Io<'a> {
    /// The time.
    pub now: Instant,
    /// The pcpu whose hypervisor or guest code runs.
    pub on: PcpuId,
    /// Event channels of the host.
    pub channels: &'a mut Channels,
    pub(crate) queue: &'a mut EventQueue<Event>,
    pub(crate) kicks: &'a mut Vec<Sent>,
    pub(crate) records: &'a mut Vec<Record>,
    pub(crate) recording: bool,
    pub(crate) stages: bool,
}

impl Io<'_> {
    /// Arms `timer` for `at`, in place of a former deadline. A time that has passed is now.
    #[inline]
    pub fn arm(&mut self, timer: TimerId, at: Instant) {
        self.queue.arm(timer, at.max(self.now));
    }

    /// Disarms `timer`.
    #[inline]
    pub fn disarm(&mut self, timer: TimerId) {
        self.queue.disarm(timer);
    }

    /// Has the host wake or interrupt whom an operation on the event channels reached.
    #[inline]
    pub fn notify(&mut self, sent: Sent) {
        self.notify_from(sent, u32::MAX);
    }

    /// The same, from the vcpu with the word `sender`.
    #[inline]
    fn notify_from(&mut self, sent: Sent, sender: u32) {
        if self.stages {
            let mut record = Record::new(self.now, self.on, Kind::EvtchnSend, sent.to);
            record.detail = (sent.raised == Raised::Coalesced) as u8;
            record.data = [sent.port.0, sender, 0, 0];
            self.records.push(record);
        }
        self.kicks.push(sent);
    }

    /// The kernel on `vcpu` enters the handler of `port`.
    #[inline]
    pub(crate) fn serve(&mut self, vcpu: VcpuName, port: Port) {
        if self.stages {
            let mut record = Record::new(self.now, self.on, Kind::EvtchnServe, vcpu);
            record.data[0] = port.0;
            self.records.push(record);
        }
    }

    /// Whether a trace is taken, so that [`Io::record`] is worth preparing for.
    #[inline]
    pub fn recording(&self) -> bool {
        self.recording
    }

    /// Whether the trace is to tell every step of a packet ([`Sink::STAGES`]).
    ///
    /// [`Sink::STAGES`]: domio_core::Sink::STAGES
    #[inline]
    pub fn stages(&self) -> bool {
        self.stages
    }

    /// Adds a record to the trace, if one is taken.
    #[inline]
    pub fn record(&mut self, record: Record) {
        if self.recording {
            self.records.push(record);
        }
    }
}

/// What driver code in a guest's kernel may do.
pub struct KernelIo<'a, 'b> {
    /// The vcpu that executes it.
    pub vcpu: VcpuName,
    /// What may be done anywhere.
    pub io: &'a mut Io<'b>,
    pub(crate) pending: &'a mut Pending,
}

impl KernelIo<'_, '_> {
    /// The time.
    #[inline]
    pub fn now(&self) -> Instant {
        self.io.now
    }

    /// Sends through `port`, at this instant. The hypercall's time is the caller's to spend before.
    ///
    /// # Panics
    /// When the domain has no such port, or it is not for sending: the driver is wrong then.
    #[track_caller]
    #[inline]
    pub fn send(&mut self, port: Port) {
        match self.io.channels.send(self.vcpu.domain, port) {
            Ok(Some(sent)) => self.io.notify_from(sent, self.vcpu.word()),
            Ok(None) => {}
            Err(error) => panic!("{} sends through {port}: {error}", self.vcpu),
        }
    }

    /// Asks for a run of `softirq` on this vcpu.
    #[inline]
    pub fn raise(&mut self, softirq: Softirq) {
        self.pending.raise(softirq);
    }

    /// Asks for a run of a tasklet on this vcpu, unless it is asked for already.
    #[inline]
    pub fn schedule(&mut self, tasklet: u8) {
        self.pending.schedule(tasklet);
    }

    /// Wakes a service of this vcpu: a process of the guest that the device model plays.
    #[inline]
    pub fn wake_service(&mut self, service: u8) {
        self.pending.wake(service);
    }

    /// Sets the one timer that the drivers of this vcpu have: [`Devices::timers`] is called from
    /// the timer softirq after `at`. `None` for none.
    #[inline]
    pub fn set_timer(&mut self, at: Option<Instant>) {
        self.pending.timer_at = at.unwrap_or(Instant::MAX);
    }
}

/// Models of devices: drivers in the guests' kernels, and what is outside of the host.
///
/// The `step` of a call counts from 0 the calls for one piece of work after the other in the same
/// run of a handler.
pub trait Devices {
    /// Whether there are any. A host without leaves their code out.
    const PRESENT: bool = true;

    /// Settings of the kernel of `domain`, when it has devices; `None` for a domain without.
    fn kernel(&self, domain: DomainId) -> Option<KernelConfig>;

    /// `domain`, which has devices, is created: binds its ports. Domains come in the order in which
    /// they start, which decides their ports' numbers (xen-spec 5.1).
    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>);

    /// `domain` is gone.
    fn unplug(&mut self, domain: DomainId, io: &mut Io<'_>);

    /// A timer made with [`Timers::timer`] has fired.
    fn event(&mut self, token: u32, io: &mut Io<'_>);

    /// The handler of `port`, with interrupts off.
    fn irq(&mut self, port: Port, step: u32, kernel: &mut KernelIo<'_, '_>) -> Progress;

    /// The action of `softirq`.
    fn softirq(&mut self, softirq: Softirq, step: u32, kernel: &mut KernelIo<'_, '_>) -> Progress;

    /// A tasklet.
    fn tasklet(&mut self, tasklet: u8, step: u32, kernel: &mut KernelIo<'_, '_>) -> Progress;

    /// A service: done, it sleeps until it is woken again.
    fn service(&mut self, service: u8, step: u32, kernel: &mut KernelIo<'_, '_>) -> Progress;

    /// Part of the timer softirq, whose time is charged by the kernel: expires the drivers' timers,
    /// and sets the next with [`KernelIo::set_timer`].
    fn timers(&mut self, kernel: &mut KernelIo<'_, '_>);
}

/// No devices: processors and guests that compute.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDevices;

impl Devices for NoDevices {
    const PRESENT: bool = false;

    fn kernel(&self, _: DomainId) -> Option<KernelConfig> {
        None
    }

    fn plug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn unplug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn event(&mut self, _: u32, _: &mut Io<'_>) {}

    fn irq(&mut self, _: Port, _: u32, _: &mut KernelIo<'_, '_>) -> Progress {
        Progress::Done
    }

    fn softirq(&mut self, _: Softirq, _: u32, _: &mut KernelIo<'_, '_>) -> Progress {
        Progress::Done
    }

    fn tasklet(&mut self, _: u8, _: u32, _: &mut KernelIo<'_, '_>) -> Progress {
        Progress::Done
    }

    fn service(&mut self, _: u8, _: u32, _: &mut KernelIo<'_, '_>) -> Progress {
        Progress::Done
    }

    fn timers(&mut self, _: &mut KernelIo<'_, '_>) {}
}
