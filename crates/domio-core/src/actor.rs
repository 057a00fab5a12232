//! Who does what a record reports: actors, by a dense index that grows with the stream.

use crate::VcpuName;
use core::fmt;

/// An actor of one stream of records, numbered densely from 0 in the order in which the stream
/// first names each. What the number stands for is in the stream's [`Names`](crate::Names).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActorId(pub u32);

impl ActorId {
    /// Nobody: the record is about no actor, or its actor is outside of the host.
    pub const NONE: ActorId = ActorId(u32::MAX);

    /// Actors that one stream may have: a switch keeps the runstate of who leaves in the two bits
    /// above.
    pub const MAX: u32 = 1 << 30;

    /// The id as an index into a dense table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The id, unless it is [`ActorId::NONE`].
    #[inline]
    pub const fn some(self) -> Option<ActorId> {
        if self.0 == ActorId::NONE.0 {
            None
        } else {
            Some(self)
        }
    }
}

impl Default for ActorId {
    fn default() -> Self {
        ActorId::NONE
    }
}

/// What an actor is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Actor {
    /// A vcpu of a domain, or the idle vcpu of a pcpu ([`VcpuName::idle`]).
    Vcpu(VcpuName),
}

impl Actor {
    /// The vcpu that the actor is.
    #[inline]
    pub const fn vcpu(self) -> VcpuName {
        match self {
            Actor::Vcpu(name) => name,
        }
    }
}

impl From<VcpuName> for Actor {
    fn from(name: VcpuName) -> Self {
        Actor::Vcpu(name)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Vcpu(name) => name.fmt(f),
        }
    }
}
