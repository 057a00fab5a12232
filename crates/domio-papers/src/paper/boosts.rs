//! Boosts by pcpu and domain: how evenly those of some domains are spread over run queues (Zeng
//! 2015, formula 1).
//!
//! [`BoostPlaces`] knows on which pcpu a boost is; the meter counts those of all domains together.

use domio_core::{DomainId, Names, PcpuId, Record, Runstate};
use domio_meter::{BoostCounts, BoostPlaces, balance_factor};

/// Boosts of a stretch of time.
#[derive(Debug, Default)]
pub(super) struct Boosts {
    places: BoostPlaces,
    /// By domain.
    counts: Vec<BoostCounts>,
}

impl Boosts {
    /// An empty book for the time that follows, which knows where vcpus are.
    pub fn next(&self) -> Boosts {
        let mut places = self.places.clone();
        places.settle();
        Boosts {
            places,
            counts: Vec::new(),
        }
    }

    /// Takes a record.
    pub fn record(&mut self, names: &Names, record: &Record) {
        for (actor, _, new) in record.changes().into_iter().flatten() {
            if new == Runstate::Running {
                self.places.runs(actor, record.pcpu);
            }
        }
        if let Some(declared) = names.declared(record)
            && let Some(vcpu) = names.vcpu(record.actor)
            && let Some(seen) = self.places.hear(declared, record, true)
        {
            self.of(vcpu.domain).add(seen);
        }
    }

    fn of(&mut self, domain: DomainId) -> &mut BoostCounts {
        if self.counts.len() <= domain.index() {
            self.counts
                .resize_with(domain.index() + 1, BoostCounts::default);
        }
        &mut self.counts[domain.index()]
    }

    /// The load-balance factor of the boosts of `domains` over `pcpus` pcpus; `None` without any.
    pub fn balance(&self, domains: impl Iterator<Item = DomainId>, pcpus: usize) -> Option<f64> {
        let own: Vec<&BoostCounts> = domains.filter_map(|d| self.counts.get(d.index())).collect();
        let pcpus = (0..pcpus).map(|pcpu| PcpuId(pcpu as u16));
        balance_factor(pcpus.map(|pcpu| own.iter().map(|counts| counts.on(pcpu)).sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_meter::BoostSeen;

    fn counted(counts: &[(u16, u16, u64)]) -> Boosts {
        let mut boosts = Boosts::default();
        for (domain, pcpu, count) in counts {
            let own = boosts.of(DomainId(*domain));
            (0..*count).for_each(|_| own.add(BoostSeen::On(PcpuId(*pcpu))));
        }
        boosts
    }

    #[test]
    fn the_factor_is_the_mean_by_the_most() {
        let boosts = counted(&[(1, 0, 8), (1, 1, 4), (2, 1, 2), (2, 3, 6), (3, 2, 99)]);
        let of =
            |domains: &[u16], pcpus| boosts.balance(domains.iter().map(|d| DomainId(*d)), pcpus);
        // 8, 6, 0 and 6.
        assert_eq!(of(&[1, 2], 4), Some(5.0 / 8.0));
        assert_eq!(of(&[3], 4), Some(0.25));
        assert_eq!((of(&[4], 4), of(&[], 4)), (None, None));
    }
}
