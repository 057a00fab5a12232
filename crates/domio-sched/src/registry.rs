//! The list of policies.

use crate::{arinc653, bvt, credit, credit2, linux, null, round_robin, rtds, sedf};
use alloc::boxed::Box;
use domio_contract::{Conflict, Descriptor, Policy, Scheduler};
use domio_core::{ParamValues, Topology};

static POLICIES: &[Policy] = &[
    Policy {
        validate: |p| credit::validate(p).map_err(Conflict::from),
        validate_change: Some(credit::validate_change),
        credits: Some(credit::credits),
        releases: Some(&credit::RELEASES),
        ..Policy::new(&credit::DESCRIPTOR, credit::make)
    },
    Policy {
        validate: credit2::validate,
        validate_domain: |p, _, v| credit2::validate_domain(p, v),
        releases: Some(&credit2::RELEASES),
        ..Policy::new(&credit2::DESCRIPTOR, |p, t| {
            Box::new(credit2::Credit2::new(p, t))
        })
    },
    Policy {
        validate: |p| sedf::validate(p).map_err(Conflict::from),
        releases: Some(&sedf::RELEASES),
        ..reserving(&sedf::DESCRIPTOR, |p, t| Box::new(sedf::Sedf::new(p, t)))
    },
    reserving(&sedf::dc::DESCRIPTOR, |p, t| {
        Box::new(sedf::Sedf::collecting(p, t))
    }),
    Policy {
        releases: Some(&bvt::RELEASES),
        ..Policy::new(&bvt::DESCRIPTOR, |p, t| Box::new(bvt::Bvt::new(p, t)))
    },
    reserving(&sedf::aware::DESCRIPTOR, |p, t| {
        Box::new(sedf::Sedf::listening(p, t))
    }),
    Policy {
        validate_domain: |_, _, v| rtds::validate(v),
        validate_vcpu: |_, _, v| rtds::validate(v),
        releases: Some(&rtds::RELEASES),
        ..Policy::new(&rtds::DESCRIPTOR, |p, t| Box::new(rtds::Rtds::new(p, t)))
    },
    Policy {
        validate_domains: arinc653::validate_domains,
        releases: Some(&arinc653::RELEASES),
        ..Policy::new(&arinc653::DESCRIPTOR, |p, t| {
            Box::new(arinc653::Arinc653::new(p, t))
        })
    },
    fair(&linux::CFS, |p, t| Box::new(linux::Linux::cfs(p, t))),
    fair(&linux::EEVDF, |p, t| Box::new(linux::Linux::eevdf(p, t))),
    round_robin::ENTRY,
    Policy {
        releases: Some(&null::RELEASES),
        ..Policy::new(&null::DESCRIPTOR, |p, t| Box::new(null::Null::new(p, t)))
    },
];

/// A policy of the family of SEDF.
const fn reserving(
    descriptor: &'static Descriptor,
    make: fn(&ParamValues, &Topology) -> Box<dyn Scheduler>,
) -> Policy {
    Policy {
        validate_domain: |p, d, v| sedf::validate_domain(p, d, v).map_err(Conflict::from),
        ..Policy::new(descriptor, make)
    }
}

/// A policy of Linux.
const fn fair(
    descriptor: &'static Descriptor,
    make: fn(&ParamValues, &Topology) -> Box<dyn Scheduler>,
) -> Policy {
    Policy {
        validate: linux::validate,
        validate_domain: |_, _, v| linux::validate_domain(v),
        validate_vcpu: |_, _, v| linux::validate_vcpu(v),
        validate_group: |_, v| linux::validate_group(v),
        ..Policy::new(descriptor, make)
    }
}

/// Every policy, in the order in which lists show them.
pub const fn policies() -> &'static [Policy] {
    POLICIES
}

/// The policy called `name`.
pub fn find(name: &str) -> Option<&'static Policy> {
    domio_contract::find(policies(), name)
}
