//! A policy that can be asked for by name, and how lists of such are searched.

use crate::allocation::Credits;
use crate::contract::{Conflict, Descriptor, Scheduler};
use crate::releases::Releases;
use alloc::boxed::Box;
use domio_core::{DomainId, ParamValues, Topology};

/// A policy that can be asked for by name.
#[derive(Clone, Copy)]
pub struct Policy {
    /// What it is.
    pub descriptor: &'static Descriptor,
    /// Makes one, from values of [`Descriptor::params`], for a host of the given shape.
    pub make: fn(&ParamValues, &Topology) -> Box<dyn Scheduler>,
    /// Checks what no single range of [`Descriptor::params`] can say: whether the values go
    /// together.
    pub validate: fn(&ParamValues) -> Result<(), Conflict>,
    /// See [`Policy::check_change`]; `None` where only what is not changeable is refused.
    pub validate_change: Option<ValidateChange>,
    /// Checks, as `validate`, the values of [`Descriptor::domain_params`] of a domain, the third
    /// argument, under values of [`Descriptor::params`], the first one. `set_domain` of the policy
    /// copes with whatever this refuses.
    pub validate_domain: ValidateOne,
    /// Checks all domains of a host together, once each has passed `validate_domain`.
    pub validate_domains: ValidateDomains,
    /// Checks, as `validate_domain`, the values of [`Descriptor::vcpu_params`] of a vcpu of the
    /// domain.
    pub validate_vcpu: ValidateOne,
    /// Checks all vcpus of a host together, once each has passed `validate_vcpu`.
    pub validate_vcpus: ValidateVcpus,
    /// Checks, as `validate_domain`, the values of [`Descriptor::group_params`] of a group, the
    /// second argument.
    pub validate_group: fn(&ParamValues, &ParamValues) -> Result<(), Conflict>,
    /// How it pays vcpus, of a policy that does so in credits, under values of
    /// [`Descriptor::params`].
    pub credits: Option<fn(&ParamValues) -> Credits>,
    /// The releases of Xen that have it; `None` for a policy that no release has.
    pub releases: Option<&'static Releases>,
}

/// Checks values of parameters of a domain, or of a vcpu of that domain, under values of
/// [`Descriptor::params`].
pub type ValidateOne = fn(&ParamValues, DomainId, &ParamValues) -> Result<(), Conflict>;

/// Checks a change in a run from values of [`Descriptor::params`], the first argument, to others,
/// the second one.
pub type ValidateChange = fn(&ParamValues, &ParamValues) -> Result<(), Conflict>;

/// Checks whether values of [`Descriptor::domain_params`] of several domains, each with the number
/// of its vcpus, go together under values of [`Descriptor::params`]. An error names the domain that
/// is to change. `set_domain` and `set_params` of the policy cope with whatever this refuses.
pub type ValidateDomains =
    fn(&ParamValues, &[(DomainId, usize, &ParamValues)]) -> Result<(), (DomainId, Conflict)>;

/// Checks whether values of [`Descriptor::vcpu_params`] of all vcpus of a host with so many pcpus,
/// each with its domain, go together under values of [`Descriptor::params`]. An error names the
/// domain that is to change. The policy copes with whatever this refuses.
pub type ValidateVcpus =
    fn(&ParamValues, usize, &[(DomainId, ParamValues)]) -> Result<(), (DomainId, Conflict)>;

impl Policy {
    /// A policy whose values go together whenever each is in its range.
    pub const fn new(
        descriptor: &'static Descriptor,
        make: fn(&ParamValues, &Topology) -> Box<dyn Scheduler>,
    ) -> Policy {
        Policy {
            descriptor,
            make,
            validate: |_| Ok(()),
            validate_change: None,
            validate_domain: |_, _, _| Ok(()),
            validate_domains: |_, _| Ok(()),
            validate_vcpu: |_, _, _| Ok(()),
            validate_vcpus: |_, _, _| Ok(()),
            validate_group: |_, _| Ok(()),
            credits: None,
            releases: None,
        }
    }

    /// Checks a change in a run from the values `now` of [`Descriptor::params`] to `wanted`.
    ///
    /// # Errors
    /// What is wrong with it. `set_params` of the policy refuses it likewise.
    pub fn check_change(&self, now: &ParamValues, wanted: &ParamValues) -> Result<(), Conflict> {
        match self.validate_change {
            Some(check) => check(now, wanted),
            None => self.descriptor.check_change(now, wanted),
        }
    }
}

/// The one of `policies` that is called `name`.
pub fn find<'a>(policies: &'a [Policy], name: &str) -> Option<&'a Policy> {
    policies.iter().find(|p| p.descriptor.name == name)
}
