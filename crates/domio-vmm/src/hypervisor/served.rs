//! For how long driver domains have worked for each domain.

use alloc::vec::Vec;
use domio_core::{DomainId, Duration};

/// The accounts of driver domains' work.
pub(crate) struct ServedAccounts {
    /// Whether it is to be known for whom driver domains work, by the trace or by a controller.
    pub known: bool,
    /// Whether a controller wants the sums.
    summed: bool,
    /// By domain id.
    sums: Vec<Duration>,
}

impl ServedAccounts {
    pub fn new(known: bool, summed: bool) -> Self {
        ServedAccounts {
            known,
            summed,
            sums: Vec::new(),
        }
    }

    /// Somebody has worked for `domain` for `time`.
    #[inline]
    pub fn add(&mut self, domain: DomainId, time: Duration) {
        if self.summed {
            if self.sums.len() <= domain.index() {
                self.sums.resize(domain.index() + 1, Duration::ZERO);
            }
            self.sums[domain.index()] += time;
        }
    }

    /// For how long others have worked for `domain`.
    pub fn of(&self, domain: DomainId) -> Duration {
        self.sums.get(domain.index()).copied().unwrap_or_default()
    }
}
