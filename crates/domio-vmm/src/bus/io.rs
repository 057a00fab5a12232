//! What a device model may do when it is called.

use super::lines::{BusLine, KernelTimer, SoftirqLine, Tasklet, Token, WorkItem};
use super::locks::{KernelLock, Section};
use super::owner::WorkShare;
use super::wires::{Far, Wires};
use crate::event::Event;
use crate::evtchn::channels::Sent;
use crate::evtchn::error::EvtchnError;
use crate::evtchn::port::Port;
use crate::guest::pending::Pending;
use crate::process::Pid;
use domio_contract::PacketsMoved;
use domio_core::{ActorId, DomainId, Duration, Instant, Kind, PcpuId, Record, VcpuName};
use domio_sim::{EventQueue, TimerId};

/// What device models may do at any time.
pub struct Io<'a> {
    /// The time.
    pub now: Instant,
    /// The pcpu whose hypervisor or guest code runs.
    pub on: PcpuId,
    /// The model that is called.
    pub(crate) device: u16,
    pub(crate) queue: &'a mut EventQueue<Event>,
    pub(crate) wires: &'a mut Wires,
}

impl Io<'_> {
    /// Arms `timer` for `at`, in place of a former deadline. A time that has passed means now.
    #[inline]
    pub fn arm(&mut self, timer: TimerId, at: Instant) {
        self.queue.arm(timer, at.max(self.now));
    }

    /// Disarms `timer`.
    #[inline]
    pub fn disarm(&mut self, timer: TimerId) {
        self.queue.disarm(timer);
    }

    /// The backend of the calling model, which is in `moved.driver`, has moved packets. The policy
    /// learns if it needs to know.
    #[inline]
    pub fn moved(&mut self, moved: PacketsMoved) {
        if self.wires.tells_packets {
            self.wires.add_packets(moved);
        }
    }

    /// Offers a new port of `local` to `remote`. The handler of the port is the calling model, with
    /// `token`. The port notifies vcpu `vcpu`, and nothing sent before counts.
    ///
    /// # Errors
    ///
    /// As `Channels::offer`, and when there is no such vcpu.
    pub fn offer(
        &mut self,
        local: DomainId,
        remote: DomainId,
        vcpu: u16,
        token: Token,
    ) -> Result<Port, EvtchnError> {
        let port = self.wires.channels.offer(local, remote)?;
        self.open(local, port, vcpu, token)
    }

    /// Takes a free port of `domain` that nobody ever sends to, if there is one: a port that
    /// another user has on a real host.
    pub fn reserve(&mut self, domain: DomainId) -> Option<Port> {
        self.wires.channels.offer(domain, domain).ok()
    }

    /// Binds a new port of `local` to `port` of `remote`, which was offered to `local`. The handler
    /// of the new port is the calling model, with `token`. The port notifies vcpu `vcpu`.
    ///
    /// # Errors
    ///
    /// As `Channels::connect`, and when there is no such vcpu.
    pub fn connect(
        &mut self,
        local: DomainId,
        remote: DomainId,
        port: Port,
        vcpu: u16,
        token: Token,
    ) -> Result<Port, EvtchnError> {
        let port = self.wires.channels.connect(local, remote, port)?.port;
        self.open(local, port, vcpu, token)
    }

    /// Binds a new port of `domain` to physical interrupt `pirq`. The handler of the port is the
    /// calling model, with `token`. The port notifies vcpu `vcpu`.
    ///
    /// # Errors
    ///
    /// As `Channels::bind_pirq`, and when there is no such vcpu.
    pub fn bind_pirq(
        &mut self,
        domain: DomainId,
        pirq: u16,
        vcpu: u16,
        token: Token,
    ) -> Result<Port, EvtchnError> {
        let port = self.wires.channels.bind_pirq(domain, pirq)?;
        self.open(domain, port, vcpu, token)
    }

    /// Has `domain` listen to its new port. Nothing that was sent so far matters.
    fn open(
        &mut self,
        domain: DomainId,
        port: Port,
        vcpu: u16,
        token: Token,
    ) -> Result<Port, EvtchnError> {
        let line = BusLine {
            device: self.device,
            token,
        };
        self.wires.lines.set_port(domain, port, Some(line));
        if vcpu != 0 {
            self.wires
                .channels
                .rebind(VcpuName::new(domain, vcpu), port, vcpu)?;
        }
        let guest = self.wires.channels.guest(domain)?;
        guest.clear_pending(port);
        let _ = guest.unmask(port, vcpu);
        Ok(port)
    }

    /// Closes `port` of `domain`.
    ///
    /// # Errors
    ///
    /// As `Channels::close`.
    pub fn close(&mut self, domain: DomainId, port: Port) -> Result<(), EvtchnError> {
        self.wires.lines.set_port(domain, port, None);
        self.wires.channels.close(domain, port)
    }

    /// Raises the physical interrupt behind `port` of `domain`.
    ///
    /// # Panics
    /// When the port is bound to no physical interrupt: the model is wrong then.
    #[track_caller]
    pub fn raise_pirq(&mut self, domain: DomainId, port: Port) {
        match self.wires.channels.raise_pirq(domain, port) {
            Ok(sent) => self.notify(sent),
            Err(error) => panic!("{port} of {domain} is no physical interrupt's: {error}"),
        }
    }

    /// Queues a work item: a thread of the kernel of `vcpu` does the work.
    pub fn queue_work(&mut self, vcpu: VcpuName, item: WorkItem) {
        self.wires.far.push(Far::Work { vcpu, item });
    }

    /// An interrupt handler of the host's own kernel takes `time` from whatever executes on the
    /// pcpu that `vcpu` is on, or was on last: a host with KVM has handlers in the time of the
    /// thread that they interrupt. A pcpu that idles loses nothing.
    pub fn interrupt(&mut self, vcpu: VcpuName, time: Duration) {
        self.wires.far.push(Far::Interrupt { vcpu, time });
    }

    /// Schedules a tasklet on `vcpu`, from outside of the vcpu.
    pub fn schedule_on(&mut self, vcpu: VcpuName, tasklet: Tasklet) {
        let from = None;
        self.wires.far.push(Far::Tasklet {
            vcpu,
            tasklet,
            from,
        });
    }

    /// Sets `timer` of the kernel of `vcpu`, from outside of the vcpu: as [`KernelIo::set_timer`].
    pub fn set_timer_on(&mut self, vcpu: VcpuName, timer: KernelTimer, at: Option<Instant>) {
        self.wires.far.push(Far::Timer { vcpu, timer, at });
    }

    /// Has the host wake or interrupt the vcpu that an operation on the event channels reached.
    #[inline]
    pub fn notify(&mut self, sent: Sent) {
        self.notify_from(sent, ActorId::NONE);
    }

    /// As [`Io::notify`], from the vcpu that is the actor `sender`.
    #[inline]
    pub(crate) fn notify_from(&mut self, sent: Sent, sender: ActorId) {
        if self.wires.stages {
            let record = self.wires.record_of(self.now, self.on, &sent, sender);
            self.wires.records.push(record);
        }
        self.wires.kicks.push(sent);
    }

    /// The kernel on `vcpu` enters the handler of `port`.
    #[inline]
    pub(crate) fn serve(&mut self, vcpu: VcpuName, port: Port) {
        if self.wires.stages {
            let (actor, words) = (self.actor(vcpu), [port.0, 0, 0, 0]);
            let record = Record::with(self.now, self.on, Kind::EvtchnServe, actor, words);
            self.wires.records.push(record);
        }
    }

    /// Whether a trace is taken, so that [`Io::record`] is worth preparing for.
    #[inline]
    pub fn recording(&self) -> bool {
        self.wires.recording
    }

    /// Whether the trace is to give every step of a packet ([`Sink::STAGES`]).
    ///
    /// [`Sink::STAGES`]: domio_core::Sink::STAGES
    #[inline]
    pub fn stages(&self) -> bool {
        self.wires.stages
    }

    /// The actor that `vcpu` is in records; [`ActorId::NONE`] for a vcpu of a domain that was never
    /// created.
    #[inline]
    pub fn actor(&self, vcpu: VcpuName) -> ActorId {
        self.wires.actor(vcpu)
    }

    /// Adds a record to the trace, if one is taken. The record is of a class that
    /// [`Attach::class`](super::Attach::class) gave a number, and its actors are those of
    /// [`Io::actor`].
    #[inline]
    pub fn record(&mut self, record: Record) {
        if self.wires.recording {
            self.wires.records.push(record);
        }
    }
}

/// What driver code in a guest's kernel may do.
pub struct KernelIo<'a, 'b> {
    /// The vcpu that executes the driver code.
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

    /// Whether something was sent or raised that goes before whatever a process does next.
    #[inline]
    pub(crate) fn has_asked(&self) -> bool {
        self.io.wires.has_sent() || self.pending.concerns_processes()
    }

    /// Sends through `port`, at this instant. The time of the hypercall is the driver's to spend
    /// before. The host delivers the event before the sender does anything else.
    ///
    /// # Panics
    /// When the domain has no such port, or the port is not for sending: the driver is wrong then.
    #[track_caller]
    #[inline]
    pub fn send(&mut self, port: Port) {
        match self.io.wires.channels.send(self.vcpu.domain, port) {
            Ok(Some(sent)) => {
                let sender = self.io.actor(self.vcpu);
                self.io.notify_from(sent, sender);
            }
            Ok(None) => {}
            Err(error) => panic!("{} sends through {port}: {error}", self.vcpu),
        }
    }

    /// Asks for a run of `softirq` on this vcpu.
    #[inline]
    pub fn raise(&mut self, softirq: SoftirqLine) {
        self.pending.raise(softirq);
    }

    /// Asks for a run of `tasklet` on this vcpu, unless somebody has asked already.
    #[inline]
    pub fn schedule(&mut self, tasklet: Tasklet) {
        self.pending.schedule(tasklet);
    }

    /// As [`KernelIo::schedule`] on vcpu `vcpu` of this domain. Another vcpu than this one gets an
    /// IPI.
    pub fn schedule_on(&mut self, vcpu: u16, tasklet: Tasklet) {
        if vcpu == self.vcpu.index {
            self.pending.schedule(tasklet);
        } else {
            self.io.wires.far.push(Far::Tasklet {
                vcpu: VcpuName::new(self.vcpu.domain, vcpu),
                tasklet,
                from: Some(self.vcpu),
            });
        }
    }

    /// The last `time` of the next piece of work is a section that one vcpu at a time may be in:
    /// whoever comes to it while another vcpu is in it spins.
    #[inline]
    pub fn under(&mut self, lock: KernelLock, time: Duration) {
        self.pending.set_section(Section { lock, time });
    }

    /// The first `time` of the next piece of a tasklet is for copies and grant operations, where
    /// anybody wants to know.
    #[inline]
    pub fn moves_pages(&mut self, time: Duration) {
        self.pending.set_moving(time);
    }

    /// Flushes the TLBs of all vcpus of this domain, at this instant, as a hypercall that takes
    /// mappings away does. The flush of the own TLB is part of the piece of work that is named
    /// next.
    #[inline]
    pub fn flush_tlbs(&mut self) {
        if self.pending.has_neighbors() {
            self.io.wires.far.push(Far::Flush { from: self.vcpu });
        }
    }

    /// Has a thread of this vcpu's kernel do `item`, unless the item waits to be done already.
    #[inline]
    pub fn queue_work(&mut self, item: WorkItem) {
        self.pending.queue(item);
    }

    /// Wakes a process of this domain from a call that blocks, or from a wait. If the process lives
    /// on another vcpu of the domain, that vcpu gets an IPI.
    #[inline]
    pub fn wake(&mut self, process: Pid) {
        if process.vcpu == self.vcpu.index {
            self.pending.wake(process.index);
        } else {
            self.io.wires.far.push(Far::Wake {
                domain: self.vcpu.domain,
                process,
                from: self.vcpu,
            });
        }
    }

    /// Sets `timer` of vcpu `vcpu` of this domain: [`Device::timer`](super::Device::timer) is
    /// called from the timer softirq after `at`. `None` for never.
    #[inline]
    pub fn set_timer(&mut self, timer: KernelTimer, vcpu: u16, at: Option<Instant>) {
        if vcpu == self.vcpu.index {
            self.pending.set_timer(timer, at);
        } else {
            let vcpu = VcpuName::new(self.vcpu.domain, vcpu);
            self.io.wires.far.push(Far::Timer { vcpu, timer, at });
        }
    }

    /// Whether the hypervisor wants to know how many packets a vcpu of a driver domain has at hand.
    #[inline]
    pub fn tells_packets_at_hand(&self) -> bool {
        self.io.wires.at_hand.is_told()
    }

    /// The calling model has so many packets for this vcpu to pass on to other domains or to the
    /// world outside. Returns whether the kernel makes a hypercall to say, whose time is the
    /// driver's to spend.
    pub fn has_at_hand(&mut self, packets: u32) -> bool {
        let (device, vcpu) = (self.io.device, self.vcpu);
        self.io.wires.at_hand.set(device, vcpu, packets)
    }

    /// Whether anybody wants to know for whom driver domains work. If nobody does,
    /// [`Owner::Nobody`] will do for any piece, and shares need not be worked out.
    ///
    /// [`Owner::Nobody`]: super::Owner::Nobody
    #[inline]
    pub fn owners(&self) -> bool {
        self.io.wires.owners
    }

    /// Gives `domain` a share of the next piece of work, whose owner is [`Owner::Shared`]. Shares
    /// are in proportion to `weight`, for instance the part of the piece's time that the domain
    /// causes.
    ///
    /// [`Owner::Shared`]: super::Owner::Shared
    #[inline]
    pub fn share(&mut self, domain: DomainId, weight: Duration) {
        if self.io.wires.owners {
            self.pending.share(WorkShare {
                domain,
                weight: weight.as_nanos(),
            });
        }
    }
}
