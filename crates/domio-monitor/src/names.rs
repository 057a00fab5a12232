//! What domains are called.

use domio_core::{DomainId, VcpuName};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names of domains, as far as the source tells them. Clones share the names: a source that learns
/// of a domain while its records are shown adds it for all.
#[derive(Clone, Debug, Default)]
pub struct DomainNames(Arc<Mutex<BTreeMap<DomainId, String>>>);

impl DomainNames {
    /// The names that are told.
    pub fn new(names: impl IntoIterator<Item = (DomainId, String)>) -> Self {
        let all = DomainNames::default();
        all.add(names);
        all
    }

    /// Adds names, here and in all clones.
    pub fn add(&self, names: impl IntoIterator<Item = (DomainId, String)>) {
        let named = names.into_iter().filter(|(_, name)| !name.is_empty());
        self.all().extend(named);
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<DomainId, String>> {
        // Names are as good after a panic as before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of `domain`, if it is told.
    pub fn told(&self, domain: DomainId) -> Option<String> {
        self.all().get(&domain).cloned()
    }

    /// What to call `domain` in any case.
    pub fn domain(&self, domain: DomainId) -> String {
        domain.called(self.told(domain).as_deref())
    }

    /// What to call `vcpu`; the idle vcpus are alike.
    pub fn vcpu(&self, vcpu: VcpuName) -> String {
        vcpu.called(self.told(vcpu.domain).as_deref())
    }
}
