//! Keys of single vcpus: `[[domain.vcpu]]`, and the action that changes their parameters.

use super::Need::{Optional, Required};
use super::{Key, Kind, Params, Section, Variant, key};
use crate::limits::MAX_VCPUS;

pub(crate) static VCPU: Section = Section {
    header: "[[domain.vcpu]]",
    doc: "A vcpu that differs from the others of its domain, with the parameters that the policy \
          has for vcpus as keys beside it. Those that are not named are the domain's.",
    keys: &[
        key(
            "vcpu",
            Kind::Int {
                min: 0,
                max: MAX_VCPUS as i64 - 1,
            },
            Required,
            "Index of the vcpu.",
        ),
        key(
            "pin",
            Kind::Pcpus,
            Optional("the domain's"),
            "Hard affinity of the vcpu.",
        ),
        key(
            "soft",
            Kind::Pcpus,
            Optional("the domain's"),
            "Soft affinity of the vcpu.",
        ),
    ],
    selector: None,
    variants: &[],
    params: Params::Vcpu,
};

/// One vcpu, or all of a domain.
pub(super) const VCPU_KEY: Key = key(
    "vcpu",
    Kind::Vcpu,
    Optional("all of them"),
    "Index of the vcpu, or `\"all\"`.",
);

/// An action.
pub(super) const fn set_vcpu(domain: &'static [Key]) -> Variant {
    Variant {
        word: "set-vcpu",
        doc: "`xl sched-rtds -d -v` and its like: new values for parameters that the policy has \
              for vcpus; those that are not named stay. `set` ends what its vcpus had of their \
              own.",
        keys: domain,
        params: Params::Vcpu,
    }
}
