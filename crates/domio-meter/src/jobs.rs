//! What a trace tells of each domain's jobs: how long they took from release to completion.

use std::collections::BTreeMap;

use domio_core::{DomainId, Record};

use crate::distribution::{Distribution, Quantiles};

/// Turnarounds of every domain with jobs.
#[derive(Debug, Default)]
pub(crate) struct JobBooks {
    by_domain: BTreeMap<DomainId, Distribution>,
}

impl JobBooks {
    /// Takes a `JobDone` record; returns whether its sample takes memory of its own.
    pub fn done(&mut self, record: &Record) -> bool {
        let turnaround = u64::from(record.data[0]) | u64::from(record.data[1]) << 32;
        let book = self.by_domain.entry(record.vcpu.domain).or_default();
        book.add(turnaround)
    }

    /// The distributions, to save memory on.
    pub fn distributions(&mut self) -> impl Iterator<Item = &mut Distribution> {
        self.by_domain.values_mut()
    }

    /// Those of `domain`, `None` when it has finished no job.
    pub fn take(&mut self, domain: DomainId) -> Option<Quantiles> {
        Some(self.by_domain.remove(&domain)?.quantiles())
    }
}
