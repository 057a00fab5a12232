//! What ports are bound to.

use crate::evtchn::port::Port;
use core::fmt;
use domio_core::DomainId;

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
