//! What the hypervisor refuses.

use crate::evtchn::binding::{Binding, Virq};
use crate::evtchn::port::Port;
use core::fmt;
use domio_core::{DomainId, VcpuName};

/// A request for event channels that Xen refuses. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvtchnError {
    /// No domain of this id was added.
    NoDomain(DomainId),
    /// A domain of this id was added before.
    DomainExists(DomainId),
    /// The domain has no vcpu of this index.
    NoVcpu(VcpuName),
    /// The port is not allocated: 0, beyond the last, or free.
    NoPort(DomainId, Port),
    /// All ports of the domain are in use.
    NoFreePort(DomainId),
    /// The remote port waits for nobody, or for another domain.
    NotOffered {
        /// Domain of the remote port.
        remote: DomainId,
        /// The remote port.
        port: Port,
        /// What it is bound to.
        binding: Binding,
        /// Who asked for it.
        asked: DomainId,
    },
    /// The virq is bound to a port of that vcpu already.
    VirqTaken(VcpuName, Virq),
    /// A virq of this number does not exist.
    NoVirq(Virq),
    /// A virq of the whole domain has to be bound to vcpu 0.
    GlobalVirq(Virq),
    /// The operation does not suit what the port is bound to: only ends of channels and IPIs are
    /// sent to, only virqs and physical interrupts are raised, and per-vcpu ports do not move.
    Unsuitable(DomainId, Port, Binding),
}

impl fmt::Display for EvtchnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            EvtchnError::NoDomain(domain) => {
                write!(f, "d{}: no such domain; add it first", domain.0)
            }
            EvtchnError::DomainExists(domain) => {
                write!(f, "d{}: was added before; use another id", domain.0)
            }
            EvtchnError::NoVcpu(vcpu) => write!(
                f,
                "d{}v{}: the domain has fewer vcpus",
                vcpu.domain.0, vcpu.index
            ),
            EvtchnError::NoPort(domain, port) => {
                write!(f, "d{}: {port} is not allocated; bind it first", domain.0)
            }
            EvtchnError::NoFreePort(domain) => {
                write!(f, "d{}: all ports are in use; close some", domain.0)
            }
            EvtchnError::NotOffered {
                remote,
                port,
                binding,
                asked,
            } => write!(
                f,
                "d{}: {port} is {binding}, not offered to d{}; let d{0} offer a port to it",
                remote.0, asked.0
            ),
            EvtchnError::VirqTaken(vcpu, virq) => write!(
                f,
                "d{}v{}: {virq} has a port already; close that one first",
                vcpu.domain.0, vcpu.index
            ),
            EvtchnError::NoVirq(virq) => {
                write!(
                    f,
                    "{virq} does not exist; virqs are 0 to {}",
                    Virq::COUNT - 1
                )
            }
            EvtchnError::GlobalVirq(virq) => {
                write!(f, "{virq} is one for the domain; bind it to vcpu 0")
            }
            EvtchnError::Unsuitable(domain, port, binding) => write!(
                f,
                "d{}: {port} is {binding}, which does not allow that",
                domain.0
            ),
        }
    }
}

impl core::error::Error for EvtchnError {}
