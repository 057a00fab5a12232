//! What domains and threads are called.

use domio_core::{DomainId, VcpuName};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names of domains and of a Linux host's threads, as far as the source tells them. Clones share
/// the names: a source that learns of a domain while its records are shown adds it for all.
#[derive(Clone, Debug, Default)]
pub struct DomainNames(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    domains: BTreeMap<DomainId, String>,
    /// By the vcpu that they are in records.
    threads: BTreeMap<VcpuName, String>,
}

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
        self.all().domains.extend(named);
    }

    /// Adds names of threads, here and in all clones.
    pub fn add_threads(&self, threads: impl IntoIterator<Item = (VcpuName, String)>) {
        self.all().threads.extend(threads);
    }

    fn all(&self) -> MutexGuard<'_, Known> {
        // Names are as good after a panic as before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of `domain`, if it is told.
    pub fn told(&self, domain: DomainId) -> Option<String> {
        self.all().domains.get(&domain).cloned()
    }

    /// What to call `domain` in any case.
    pub fn domain(&self, domain: DomainId) -> String {
        domain.called(self.told(domain).as_deref())
    }

    /// The name of the thread that `vcpu` stands for, if it is told.
    pub fn thread(&self, vcpu: VcpuName) -> Option<String> {
        self.all().threads.get(&vcpu).cloned()
    }

    /// What to call `vcpu`; the idle vcpus are alike.
    pub fn vcpu(&self, vcpu: VcpuName) -> String {
        if let Some(thread) = self.thread(vcpu) {
            return thread;
        }
        vcpu.called(self.told(vcpu.domain).as_deref())
    }
}
