//! The hypervisor's event channels: binding ports, and sending to them.

use super::domain::Domain;
use crate::evtchn::abi::{Abi, Raised, Unmasked};
use crate::evtchn::binding::{Binding, Virq};
use crate::evtchn::error::EvtchnError;
use crate::evtchn::fifo::FifoPriority;
use crate::evtchn::guest::EvtchnGuest;
use crate::evtchn::port::Port;
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_core::{DomainId, VcpuName};

/// Whom a send reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a kick has to wake or interrupt the vcpu"]
pub struct Sent {
    /// The vcpu that the port notifies.
    pub to: VcpuName,
    /// The port of that domain.
    pub port: Port,
    /// What the send did there, and whether to kick that vcpu.
    pub raised: Raised,
    /// Vcpus of that domain poll, and the port was not pending: fetch them with
    /// [`Channels::unblock_poller`] and wake them.
    pub pollers: bool,
}

/// A new end of a channel between domains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a kick has to wake or interrupt the vcpu"]
pub struct Bound {
    /// The new port.
    pub port: Port,
    /// The event that binding sends to it, in place of any that was sent before and vanished.
    pub first: Sent,
}

/// The event channels of all domains of a host.
///
/// Ports are allocated lowest first, and freed ones are used again: what dom0 binds when it boots
/// gets low ports, and its backends get higher ones in the order in which guests start (xen-spec
/// 5.1, Ongaro et al. 2008, 4.1).
#[derive(Clone, Debug, Default)]
pub struct Channels {
    /// By domain id.
    domains: Vec<Option<Box<Domain>>>,
}

impl Channels {
    /// No domain.
    pub fn new() -> Channels {
        Channels::default()
    }

    /// Adds a domain without ports.
    ///
    /// # Errors
    ///
    /// If the id is in use.
    ///
    /// # Panics
    ///
    /// If `vcpus` is 0.
    pub fn add(&mut self, id: DomainId, abi: Abi, vcpus: u16) -> Result<(), EvtchnError> {
        if self.domains.len() <= id.index() {
            self.domains.resize_with(id.index() + 1, || None);
        }
        let domain = &mut self.domains[id.index()];
        if domain.is_some() {
            return Err(EvtchnError::DomainExists(id));
        }
        *domain = Some(Box::new(Domain::new(id, EvtchnGuest::new(abi, vcpus))));
        Ok(())
    }

    /// Closes all ports of a domain and forgets it.
    ///
    /// # Errors
    ///
    /// If there is no such domain.
    pub fn remove(&mut self, id: DomainId) -> Result<(), EvtchnError> {
        let ports = self.domain(id)?.table_len();
        for port in (1..ports).map(Port) {
            match self.close(id, port) {
                Ok(()) | Err(EvtchnError::NoPort(..)) => {}
                Err(error) => return Err(error),
            }
        }
        self.domains[id.index()] = None;
        Ok(())
    }

    #[inline]
    fn domain(&mut self, id: DomainId) -> Result<&mut Domain, EvtchnError> {
        let domain = self.domains.get_mut(id.index()).and_then(Option::as_mut);
        domain
            .map(|domain| &mut **domain)
            .ok_or(EvtchnError::NoDomain(id))
    }

    /// What `id` shares with Xen, for its kernel.
    ///
    /// # Errors
    ///
    /// If there is no such domain.
    #[inline]
    pub fn guest(&mut self, id: DomainId) -> Result<&mut EvtchnGuest, EvtchnError> {
        self.domain(id).map(|domain| &mut domain.guest)
    }

    /// Offers a new port of `local` to `remote`. It notifies vcpu 0.
    ///
    /// # Errors
    ///
    /// If there is no such domain, or no free port.
    pub fn offer(&mut self, local: DomainId, remote: DomainId) -> Result<Port, EvtchnError> {
        self.domain(remote)?;
        self.domain(local)?.allocate(Binding::Unbound { remote }, 0)
    }

    /// Binds a new port of `local` to `port` of `remote`, which was offered to it. It notifies vcpu
    /// 0, and is pending immediately.
    ///
    /// # Errors
    ///
    /// If there is no such domain or port, no free port, or the offer is not for `local`.
    pub fn connect(
        &mut self,
        local: DomainId,
        remote: DomainId,
        port: Port,
    ) -> Result<Bound, EvtchnError> {
        let binding = self.domain(remote)?.channel(port)?.binding;
        if binding != (Binding::Unbound { remote: local }) {
            return Err(EvtchnError::NotOffered {
                remote,
                port,
                binding,
                asked: local,
            });
        }
        let end = Binding::Interdomain { remote, port };
        let own = self.domain(local)?.allocate(end, 0)?;
        self.domain(remote)?.channel(port)?.binding = Binding::Interdomain {
            remote: local,
            port: own,
        };
        let first = self.set_pending(local, own)?;
        Ok(Bound { port: own, first })
    }

    /// Binds a new port to a virtual interrupt of `vcpu`.
    ///
    /// # Errors
    ///
    /// If there is no such domain, vcpu or virq, no free port, if the virq has a port already, or
    /// is one of the whole domain and `vcpu` is not its first.
    pub fn bind_virq(&mut self, vcpu: VcpuName, virq: Virq) -> Result<Port, EvtchnError> {
        self.domain(vcpu.domain)?.bind_virq(virq, vcpu.index)
    }

    /// Binds a new port to physical interrupt `number`. It notifies vcpu 0.
    ///
    /// # Errors
    ///
    /// If there is no such domain, or no free port.
    pub fn bind_pirq(&mut self, id: DomainId, number: u16) -> Result<Port, EvtchnError> {
        self.domain(id)?.allocate(Binding::Pirq(number), 0)
    }

    /// Binds a new port through which the domain's vcpus interrupt `vcpu`.
    ///
    /// # Errors
    ///
    /// If there is no such domain or vcpu, or no free port.
    pub fn bind_ipi(&mut self, vcpu: VcpuName) -> Result<Port, EvtchnError> {
        let domain = self.domain(vcpu.domain)?;
        domain.check_vcpu(vcpu.index)?;
        domain.allocate(Binding::Ipi, vcpu.index)
    }

    /// What `port` is bound to, and the vcpu that it notifies.
    ///
    /// # Errors
    ///
    /// If there is no such domain or port.
    pub fn binding(&mut self, id: DomainId, port: Port) -> Result<(Binding, u16), EvtchnError> {
        let channel = self.domain(id)?.channel(port)?;
        Ok((channel.binding, channel.vcpu))
    }

    /// Closes `port`. The other end of a channel is offered to the same domain again.
    ///
    /// # Errors
    ///
    /// If there is no such domain or port.
    pub fn close(&mut self, id: DomainId, port: Port) -> Result<(), EvtchnError> {
        let closed = self.domain(id)?.free(port)?;
        if let Binding::Interdomain { remote, port } = closed.binding {
            // The other end is in the table for as long as this one names it.
            if let Ok(end) = self.domain(remote).and_then(|d| d.channel(port)) {
                end.binding = Binding::Unbound { remote: id };
            }
        }
        Ok(())
    }

    /// Has `port` notify `vcpu` of its domain from now on: the kernel masks it, asks Xen, and
    /// unmasks it on `caller`, so that nothing sent meanwhile is lost. Masked before, it stays so.
    ///
    /// # Errors
    ///
    /// If there is no such domain, vcpu or port, or the port belongs to one vcpu: an IPI, or a virq
    /// that each vcpu has.
    pub fn rebind(
        &mut self,
        vcpu: VcpuName,
        port: Port,
        caller: u16,
    ) -> Result<Option<Unmasked>, EvtchnError> {
        let domain = self.domain(vcpu.domain)?;
        domain.check_vcpu(vcpu.index)?;
        domain.check_vcpu(caller)?;
        let channel = domain.channel(port)?;
        match channel.binding {
            Binding::Virq(virq) if !virq.per_vcpu() => {}
            Binding::Ipi | Binding::Virq(_) => {
                let binding = channel.binding;
                return Err(EvtchnError::Unsuitable(vcpu.domain, port, binding));
            }
            Binding::Unbound { .. } | Binding::Interdomain { .. } | Binding::Pirq(_) => {}
        }
        channel.vcpu = vcpu.index;
        let masked = domain.guest.is_masked(port);
        domain.guest.mask(port);
        domain.guest.bind(port, vcpu.index);
        Ok((!masked).then(|| domain.guest.unmask(port, caller)))
    }

    /// Gives `port` a priority, from when it is queued next. Only the FIFO ABI heeds it.
    ///
    /// # Errors
    ///
    /// If there is no such domain or port.
    pub fn set_priority(
        &mut self,
        id: DomainId,
        port: Port,
        priority: FifoPriority,
    ) -> Result<(), EvtchnError> {
        let domain = self.domain(id)?;
        domain.channel(port)?;
        domain.guest.set_priority(port, priority);
        Ok(())
    }

    /// A domain sends through its `port`: to the other end of a channel, or to a vcpu of its own.
    /// What is sent to a port that nobody has bound yet vanishes, with `Ok(None)`.
    ///
    /// # Errors
    ///
    /// If there is no such domain or port, or it is not for sending.
    #[inline]
    pub fn send(&mut self, id: DomainId, port: Port) -> Result<Option<Sent>, EvtchnError> {
        let binding = self.domain(id)?.channel(port)?.binding;
        match binding {
            Binding::Interdomain { remote, port } => self.set_pending(remote, port).map(Some),
            Binding::Ipi => self.set_pending(id, port).map(Some),
            Binding::Unbound { .. } => Ok(None),
            Binding::Virq(_) | Binding::Pirq(_) => Err(EvtchnError::Unsuitable(id, port, binding)),
        }
    }

    /// Xen raises a virtual interrupt; `Ok(None)` if no port is bound to it.
    ///
    /// # Errors
    ///
    /// If there is no such domain or vcpu.
    #[inline]
    pub fn raise_virq(&mut self, vcpu: VcpuName, virq: Virq) -> Result<Option<Sent>, EvtchnError> {
        let domain = self.domain(vcpu.domain)?;
        domain.check_vcpu(vcpu.index)?;
        match domain.virq_port(virq, vcpu.index) {
            Some(port) => self.set_pending(vcpu.domain, port).map(Some),
            None => Ok(None),
        }
    }

    /// A device raises the physical interrupt that `port` is bound to.
    ///
    /// # Errors
    ///
    /// If there is no such domain or port, or it is not bound to a physical interrupt.
    #[inline]
    pub fn raise_pirq(&mut self, id: DomainId, port: Port) -> Result<Sent, EvtchnError> {
        match self.domain(id)?.channel(port)?.binding {
            Binding::Pirq(_) => self.set_pending(id, port),
            binding => Err(EvtchnError::Unsuitable(id, port, binding)),
        }
    }

    /// The vcpu waits for one of `ports`, masked or not. False if one is pending already, and there
    /// is nothing to wait for. As in Xen 3.1 any port of the domain that becomes pending ends it.
    ///
    /// # Errors
    ///
    /// If there is no such domain, vcpu or port.
    pub fn poll(&mut self, vcpu: VcpuName, ports: &[Port]) -> Result<bool, EvtchnError> {
        let domain = self.domain(vcpu.domain)?;
        domain.check_vcpu(vcpu.index)?;
        for &port in ports {
            domain.channel(port)?;
            if domain.guest.is_pending(port) {
                return Ok(false);
            }
        }
        domain.poll(vcpu.index);
        Ok(true)
    }

    /// Ends the polling of one vcpu of the domain, lowest first; `Ok(None)` when none polls.
    ///
    /// # Errors
    ///
    /// If there is no such domain.
    pub fn unblock_poller(&mut self, id: DomainId) -> Result<Option<VcpuName>, EvtchnError> {
        let vcpu = self.domain(id)?.unblock_poller();
        Ok(vcpu.map(|index| VcpuName { domain: id, index }))
    }

    #[inline]
    fn set_pending(&mut self, id: DomainId, port: Port) -> Result<Sent, EvtchnError> {
        let domain = self.domain(id)?;
        let index = domain.channel(port)?.vcpu;
        let raised = domain.guest.set_pending(port, index);
        Ok(Sent {
            to: VcpuName { domain: id, index },
            port,
            raised,
            pollers: domain.pollers > 0 && raised != Raised::Coalesced,
        })
    }
}
