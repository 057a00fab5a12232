//! The hypervisor's table of one domain's ports.

use super::{EvtchnError, EvtchnGuest, FifoPriority, Port};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use domio_core::{DomainId, VcpuName};

/// A virtual interrupt: what Xen itself tells a domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Virq(pub u8);

impl Virq {
    /// The periodic tick and the one-shot timer; one for each vcpu.
    pub const TIMER: Virq = Virq(0);
    /// A request for debugging output; one for each vcpu.
    pub const DEBUG: Virq = Virq(1);
    /// Bytes from the console.
    pub const CONSOLE: Virq = Virq(2);
    /// A domain died or asks for attention.
    pub const DOM_EXC: Virq = Virq(3);
    /// Number of virqs.
    pub const COUNT: u8 = 24;

    /// Whether each vcpu has its own; the others are of the domain, on vcpu 0.
    pub const fn per_vcpu(self) -> bool {
        self.0 == Virq::TIMER.0 || self.0 == Virq::DEBUG.0
    }
}

impl fmt::Display for Virq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "virq {}", self.0)
    }
}

/// What a port is bound to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binding {
    /// Offered to a domain, which has not bound its end yet.
    Unbound {
        /// Who may bind it.
        remote: DomainId,
    },
    /// One end of a channel.
    Interdomain {
        /// Domain of the other end.
        remote: DomainId,
        /// Port of the other end.
        port: Port,
    },
    /// A virtual interrupt from Xen.
    Virq(Virq),
    /// A physical interrupt that the domain drives, by number.
    Pirq(u16),
    /// From the domain's vcpus to one of them.
    Ipi,
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Binding::Unbound { remote } => write!(f, "offered to d{}", remote.0),
            Binding::Interdomain { remote, port } => write!(f, "bound to {port} of d{}", remote.0),
            Binding::Virq(virq) => virq.fmt(f),
            Binding::Pirq(number) => write!(f, "physical interrupt {number}"),
            Binding::Ipi => f.write_str("an IPI"),
        }
    }
}

/// An allocated port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    pub(super) binding: Binding,
    /// The vcpu that it notifies.
    pub(super) vcpu: u16,
}

/// One domain.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    id: DomainId,
    pub(super) guest: EvtchnGuest,
    /// By port; port 0 stays free. Grows to the highest port that was ever in use.
    channels: Vec<Option<Channel>>,
    /// Port of each per-vcpu virq, by vcpu, and of the others, at vcpu 0.
    virqs: Vec<[Option<Port>; Virq::COUNT as usize]>,
    /// Vcpus that wait for any port, whatever is masked.
    polling: Vec<bool>,
    /// How many they are.
    pub(super) pollers: u16,
}

impl Domain {
    pub(super) fn new(id: DomainId, guest: EvtchnGuest) -> Domain {
        let vcpus = guest.vcpus() as usize;
        Domain {
            id,
            guest,
            channels: vec![None],
            virqs: vec![[None; Virq::COUNT as usize]; vcpus],
            polling: vec![false; vcpus],
            pollers: 0,
        }
    }

    /// A port above all that are allocated.
    pub(super) fn table_len(&self) -> u32 {
        self.channels.len() as u32
    }

    /// The allocated `port`.
    #[inline]
    pub(super) fn channel(&mut self, port: Port) -> Result<&mut Channel, EvtchnError> {
        let channel = self.channels.get_mut(port.index());
        let unknown = EvtchnError::NoPort(self.id, port);
        channel.and_then(Option::as_mut).ok_or(unknown)
    }

    /// Refuses a vcpu that the domain does not have.
    pub(super) fn check_vcpu(&self, vcpu: u16) -> Result<(), EvtchnError> {
        let name = VcpuName {
            domain: self.id,
            index: vcpu,
        };
        let known = vcpu < self.guest.vcpus();
        known.then_some(()).ok_or(EvtchnError::NoVcpu(name))
    }

    /// The lowest free port, which the next allocation returns.
    pub(super) fn lowest_free(&self) -> Result<Port, EvtchnError> {
        let gap = self.channels.iter().skip(1).position(Option::is_none);
        let port = gap.map_or(self.channels.len(), |gap| gap + 1) as u32;
        let exists = port < self.guest.ports();
        exists
            .then_some(Port(port))
            .ok_or(EvtchnError::NoFreePort(self.id))
    }

    /// Binds the lowest free port. It is masked and not pending, of the default priority.
    pub(super) fn allocate(&mut self, binding: Binding, vcpu: u16) -> Result<Port, EvtchnError> {
        let port = self.lowest_free()?;
        if port.index() == self.channels.len() {
            self.channels.push(None);
        }
        self.channels[port.index()] = Some(Channel { binding, vcpu });
        self.guest.expand(port);
        self.guest.set_priority(port, FifoPriority::DEFAULT);
        self.guest.bind(port, vcpu);
        Ok(port)
    }

    /// Frees a port. The guest has masked it, and forgets what was sent.
    pub(super) fn free(&mut self, port: Port) -> Result<Channel, EvtchnError> {
        let channel = *self.channel(port)?;
        self.channels[port.index()] = None;
        if let Binding::Virq(virq) = channel.binding {
            self.virqs[channel.vcpu as usize][virq.0 as usize] = None;
            if virq == Virq::TIMER {
                self.guest.set_timer(channel.vcpu, None);
            }
        }
        self.guest.mask(port);
        self.guest.clear_pending(port);
        Ok(channel)
    }

    /// Binds `virq` of `vcpu`.
    pub(super) fn bind_virq(&mut self, virq: Virq, vcpu: u16) -> Result<Port, EvtchnError> {
        self.check_vcpu(vcpu)?;
        if virq.0 >= Virq::COUNT {
            return Err(EvtchnError::NoVirq(virq));
        }
        if !virq.per_vcpu() && vcpu != 0 {
            return Err(EvtchnError::GlobalVirq(virq));
        }
        if self.virqs[vcpu as usize][virq.0 as usize].is_some() {
            let name = VcpuName {
                domain: self.id,
                index: vcpu,
            };
            return Err(EvtchnError::VirqTaken(name, virq));
        }
        let port = self.allocate(Binding::Virq(virq), vcpu)?;
        self.virqs[vcpu as usize][virq.0 as usize] = Some(port);
        if virq == Virq::TIMER {
            self.guest.set_timer(vcpu, Some(port));
        }
        Ok(port)
    }

    /// The port of a virq, if it is bound.
    #[inline]
    pub(super) fn virq_port(&self, virq: Virq, vcpu: u16) -> Option<Port> {
        let vcpu = if virq.per_vcpu() { vcpu } else { 0 };
        *self.virqs.get(vcpu as usize)?.get(virq.0 as usize)?
    }

    /// Begins to poll.
    pub(super) fn poll(&mut self, vcpu: u16) {
        self.pollers += u16::from(!core::mem::replace(&mut self.polling[vcpu as usize], true));
    }

    /// Ends the polling of the lowest vcpu that polls, if one does.
    pub(super) fn unblock_poller(&mut self) -> Option<u16> {
        if self.pollers == 0 {
            return None;
        }
        let vcpu = self.polling.iter().position(|&polls| polls)?;
        self.polling[vcpu] = false;
        self.pollers -= 1;
        Some(vcpu as u16)
    }
}
