//! The list of policies.

use crate::contract::{Conflict, Descriptor, Scheduler};
use crate::{arinc653, bvt, credit, credit2, null, round_robin, rtds, sedf};
use alloc::boxed::Box;
use domio_core::{DomainId, ParamValues, Topology};

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
    /// Checks a change in a run from values of [`Descriptor::params`], the first argument, to
    /// others, the second one. `set_params` of the policy refuses what this refuses.
    pub validate_change: fn(&ParamValues, &ParamValues) -> Result<(), Conflict>,
    /// Checks, as `validate`, the values of [`Descriptor::domain_params`] of a domain, the third
    /// argument, under values of [`Descriptor::params`], the first one. `set_domain` of the policy
    /// copes with whatever this refuses.
    pub validate_domain: fn(&ParamValues, DomainId, &ParamValues) -> Result<(), Conflict>,
    /// Checks all domains of a host together, once each has passed `validate_domain`.
    pub validate_domains: ValidateDomains,
}

/// Checks whether values of [`Descriptor::domain_params`] of several domains, each with the number
/// of its vcpus, go together under values of [`Descriptor::params`]. An error names the domain that
/// is to change. `set_domain` and `set_params` of the policy cope with whatever this refuses.
pub type ValidateDomains =
    fn(&ParamValues, &[(DomainId, usize, &ParamValues)]) -> Result<(), (DomainId, Conflict)>;

/// [`Policy::validate_domains`] of a policy under which domains cannot clash.
pub fn never_clash(
    _: &ParamValues,
    _: &[(DomainId, usize, &ParamValues)],
) -> Result<(), (DomainId, Conflict)> {
    Ok(())
}

static POLICIES: &[Policy] = &[
    Policy {
        descriptor: &credit::DESCRIPTOR,
        make: credit::make,
        validate: |p| credit::validate(p).map_err(Conflict::from),
        validate_change: credit::validate_change,
        validate_domain: |_, _, _| Ok(()),
        validate_domains: never_clash,
    },
    Policy {
        descriptor: &credit2::DESCRIPTOR,
        make: |p, t| Box::new(credit2::Credit2::new(p, t)),
        validate: |_| Ok(()),
        validate_change: |now, to| credit2::DESCRIPTOR.check_change(now, to),
        validate_domain: |p, _, v| credit2::validate_domain(p, v),
        validate_domains: never_clash,
    },
    Policy {
        descriptor: &sedf::DESCRIPTOR,
        make: |p, t| Box::new(sedf::Sedf::new(p, t)),
        validate: |p| sedf::validate(p).map_err(Conflict::from),
        validate_change: |now, to| sedf::DESCRIPTOR.check_change(now, to),
        validate_domain: |p, d, v| sedf::validate_domain(p, d, v).map_err(Conflict::from),
        validate_domains: never_clash,
    },
    Policy {
        descriptor: &sedf::dc::DESCRIPTOR,
        make: |p, t| Box::new(sedf::Sedf::collecting(p, t)),
        validate: |_| Ok(()),
        validate_change: |now, to| sedf::dc::DESCRIPTOR.check_change(now, to),
        validate_domain: |p, d, v| sedf::validate_domain(p, d, v).map_err(Conflict::from),
        validate_domains: never_clash,
    },
    Policy {
        descriptor: &bvt::DESCRIPTOR,
        make: |p, t| Box::new(bvt::Bvt::new(p, t)),
        validate: |_| Ok(()),
        validate_change: |now, to| bvt::DESCRIPTOR.check_change(now, to),
        validate_domain: |_, _, _| Ok(()),
        validate_domains: never_clash,
    },
    Policy {
        descriptor: &sedf::aware::DESCRIPTOR,
        make: |p, t| Box::new(sedf::Sedf::listening(p, t)),
        validate: |_| Ok(()),
        validate_change: |now, to| sedf::aware::DESCRIPTOR.check_change(now, to),
        validate_domain: |p, d, v| sedf::validate_domain(p, d, v).map_err(Conflict::from),
        validate_domains: never_clash,
    },
    Policy {
        descriptor: &rtds::DESCRIPTOR,
        make: |p, t| Box::new(rtds::Rtds::new(p, t)),
        validate: |_| Ok(()),
        validate_change: |now, to| rtds::DESCRIPTOR.check_change(now, to),
        validate_domain: |_, _, v| rtds::validate_domain(v),
        validate_domains: never_clash,
    },
    Policy {
        descriptor: &arinc653::DESCRIPTOR,
        make: |p, t| Box::new(arinc653::Arinc653::new(p, t)),
        validate: |_| Ok(()),
        validate_change: |now, to| arinc653::DESCRIPTOR.check_change(now, to),
        validate_domain: |_, _, _| Ok(()),
        validate_domains: arinc653::validate_domains,
    },
    Policy {
        descriptor: &round_robin::DESCRIPTOR,
        make: |p, t| Box::new(round_robin::RoundRobin::new(p, t)),
        validate: |_| Ok(()),
        validate_change: |now, to| round_robin::DESCRIPTOR.check_change(now, to),
        validate_domain: |_, _, _| Ok(()),
        validate_domains: never_clash,
    },
    Policy {
        descriptor: &null::DESCRIPTOR,
        make: |p, t| Box::new(null::Null::new(p, t)),
        validate: |_| Ok(()),
        validate_change: |now, to| null::DESCRIPTOR.check_change(now, to),
        validate_domain: |_, _, _| Ok(()),
        validate_domains: never_clash,
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
