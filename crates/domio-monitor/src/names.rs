//! What domains are called.

use domio_core::{DomainId, VcpuName};
use std::collections::BTreeMap;

/// Names of domains, as far as the source tells them.
#[derive(Clone, Debug, Default)]
pub struct DomainNames(BTreeMap<DomainId, String>);

impl DomainNames {
    /// The names that are told.
    pub fn new(names: impl IntoIterator<Item = (DomainId, String)>) -> Self {
        let named = names.into_iter().filter(|(_, name)| !name.is_empty());
        DomainNames(named.collect())
    }

    /// The name of `domain`, if it is told.
    pub fn told(&self, domain: DomainId) -> Option<&str> {
        self.0.get(&domain).map(String::as_str)
    }

    /// What to call `domain` in any case.
    pub fn domain(&self, domain: DomainId) -> String {
        domain.called(self.told(domain))
    }

    /// What to call `vcpu`; the idle vcpus are alike.
    pub fn vcpu(&self, vcpu: VcpuName) -> String {
        vcpu.called(self.told(vcpu.domain))
    }
}
