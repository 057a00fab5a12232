//! `[[controller]]`.

use super::Need::{Optional, Required};
use super::{Kind, Need, Params, Section, Variant, Words, key, variant};
use crate::limits::MAX_VCPUS;
use domio_control::accounting::SendWeight;

pub(crate) static CONTROLLER: Section = Section {
    header: "[[controller]]",
    doc: "A controller: a process of a domain that looks at the host once an interval and changes \
          settings, with the interval and the parameters that it declares as keys beside it. What \
          it declares for domains are keys of `[[domain]]`. Reading, deciding and setting take the \
          processor time that the hardware profile says.",
    keys: &[
        key(
            "name",
            Kind::Word(Words::Controllers),
            Required,
            "Which controller.",
        ),
        key(
            "domain",
            Kind::DomainName,
            Optional("the first driver domain, or else the domain with id 0"),
            "The domain that its process runs in, from when that is created.",
        ),
        key(
            "vcpu",
            Kind::Int {
                min: 0,
                max: MAX_VCPUS as i64 - 1,
            },
            Need::Int(0),
            "Index of the vcpu that the process lives on.",
        ),
        key(
            "accounting",
            Kind::Word(Words::Of(ACCOUNTINGS)),
            Need::Word("exact"),
            "How the controller knows for whom driver domains work.",
        ),
        key(
            SEND_WEIGHT,
            Kind::Int {
                min: *SendWeight::RANGE.start() as i64,
                max: *SendWeight::RANGE.end() as i64,
            },
            Need::Int(SendWeight::GUPTA_SYSTEM_1.0 as i64),
            "What a packet that a guest sends costs a driver domain over one that it receives, in \
             thousandths, where packets are counted. `domio calibrate` measures it.",
        ),
    ],
    selector: None,
    variants: &[],
    params: Params::Controller,
};

/// The key with the weight of packets that guests send.
pub(crate) const SEND_WEIGHT: &str = "send_weight_thousandths";

const ACCOUNTINGS: &[Variant] = &[
    variant(
        "exact",
        "It is told, to the nanosecond; no real host could tell.",
        &[],
    ),
    variant(
        "packets",
        "All the time of each driver domain is divided by the packets that pass netback, as in \
         Gupta et al. 2006.",
        &[],
    ),
];

#[cfg(test)]
mod tests {
    use crate::amount::split_unit;
    use crate::keys::{DOMAIN, WORKLOADS};

    fn base(name: &str) -> &str {
        split_unit(name).map_or(name, |(base, _)| base)
    }

    /// In `[[domain]]` a parameter for a controller stands beside those of the policy and the keys
    /// of a workload; nobody could tell one from the other if they had one name.
    #[test]
    fn what_controllers_declare_for_domains_is_no_other_key_of_a_domain() {
        let mut declared: Vec<(&str, &str)> = Vec::new();
        for controller in domio_control::all().map(|e| e.descriptor) {
            for spec in controller.domain_params {
                declared.push((base(spec.name), controller.name));
            }
        }
        assert!(!declared.is_empty());
        let keys = WORKLOADS.iter().flat_map(|w| w.keys).chain(DOMAIN.keys);
        let mut taken: Vec<&str> = keys.map(|key| key.name).collect();
        let policies = domio_sched::policies().iter();
        taken.extend(
            policies
                .flat_map(|p| p.descriptor.domain_params)
                .map(|s| base(s.name)),
        );
        for (i, (name, controller)) in declared.iter().enumerate() {
            assert!(!taken.contains(name), "{controller}: {name}");
            let mut before = declared[..i].iter();
            assert!(
                before.all(|(other, _)| other != name),
                "{controller}: {name}"
            );
        }
    }
}
