//! The hypervisor's table of one domain's ports.

use crate::evtchn::binding::{Binding, Virq};
use crate::evtchn::error::EvtchnError;
use crate::evtchn::fifo::FifoPriority;
use crate::evtchn::guest::EvtchnGuest;
use crate::evtchn::port::Port;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::{DomainId, VcpuName};

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
