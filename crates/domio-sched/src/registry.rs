//! The list of policies.

use crate::contract::{Conflict, Descriptor, Scheduler};
use crate::{credit, null, round_robin};
use alloc::boxed::Box;
use domio_core::{ParamValues, Topology};

/// A policy that can be asked for by name.
#[derive(Clone, Copy)]
pub struct Policy {
    /// What it is.
    pub descriptor: &'static Descriptor,
    /// Makes one, from values of [`Descriptor::params`], for a host of the given shape.
    pub make: fn(&ParamValues, &Topology) -> Box<dyn Scheduler>,
    /// Checks what no single range of [`Descriptor::params`] can tell: whether the values go
    /// together.
    pub validate: fn(&ParamValues) -> Result<(), Conflict>,
}

static POLICIES: &[Policy] = &[
    Policy {
        descriptor: &credit::DESCRIPTOR,
        make: |p, t| Box::new(credit::Credit::new(p, t)),
        validate: |p| credit::validate(p).map_err(Conflict::from),
    },
    Policy {
        descriptor: &round_robin::DESCRIPTOR,
        make: |p, t| Box::new(round_robin::RoundRobin::new(p, t)),
        validate: |_| Ok(()),
    },
    Policy {
        descriptor: &null::DESCRIPTOR,
        make: |p, t| Box::new(null::Null::new(p, t)),
        validate: |_| Ok(()),
    },
];

/// Every policy, in the order in which lists show them.
pub fn policies() -> &'static [Policy] {
    POLICIES
}

/// The policy called `name`.
pub fn find(name: &str) -> Option<&'static Policy> {
    policies().iter().find(|p| p.descriptor.name == name)
}
