//! Boosts by pcpu and domain: how evenly those of some domains are spread over run queues (Zeng
//! 2015, formula 1).
//!
//! A vcpu that is boosted goes into the run queue of the pcpu on which it ran last, unless its
//! policy says that it queues elsewhere. Records say both, in traces of real hosts as well. The
//! meter counts the boosts of all domains together in the same way.

use domio_core::{ActorId, DomainId, Names, PcpuId, Record, Runstate, Says};
use domio_meter::balance_factor;

/// Where a vcpu ran last, and where its last boost was counted, until it runs.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    ran_on: Option<PcpuId>,
    counted: Option<PcpuId>,
}

/// Boosts of a stretch of time.
#[derive(Debug, Default)]
pub(super) struct Boosts {
    /// By actor.
    places: Vec<Place>,
    /// By domain, by pcpu.
    counts: Vec<Vec<u64>>,
}

impl Boosts {
    /// An empty book for the time that follows, which knows where vcpus are.
    pub fn next(&self) -> Boosts {
        let places = self.places.iter().map(|place| Place {
            counted: None,
            ..*place
        });
        Boosts {
            places: places.collect(),
            counts: Vec::new(),
        }
    }

    /// Takes a record.
    pub fn record(&mut self, names: &Names, record: &Record) {
        for (actor, _, new) in record.changes().into_iter().flatten() {
            if new == Runstate::Running {
                *self.place(actor) = Place {
                    ran_on: Some(record.pcpu),
                    counted: None,
                };
            }
        }
        let Some(declared) = names.declared(record) else {
            return;
        };
        let Some(vcpu) = names.vcpu(record.actor) else {
            return;
        };
        match declared.says {
            Says::Boosted => {
                let place = self.place(record.actor);
                place.counted = place.ran_on;
                if let Some(pcpu) = place.ran_on {
                    *self.count(vcpu.domain, pcpu) += 1;
                }
            }
            Says::Queued { pcpu } => {
                let to = PcpuId(declared.value(record, pcpu) as u16);
                // Without a place its boost is of an earlier wake-up.
                if let Some(from) = self.place(record.actor).counted {
                    self.place(record.actor).counted = Some(to);
                    *self.count(vcpu.domain, from) -= 1;
                    *self.count(vcpu.domain, to) += 1;
                }
            }
            _ => {}
        }
    }

    fn place(&mut self, actor: ActorId) -> &mut Place {
        if self.places.len() <= actor.index() {
            self.places.resize(actor.index() + 1, Place::default());
        }
        &mut self.places[actor.index()]
    }

    fn count(&mut self, domain: DomainId, pcpu: PcpuId) -> &mut u64 {
        if self.counts.len() <= domain.index() {
            self.counts.resize_with(domain.index() + 1, Vec::new);
        }
        let own = &mut self.counts[domain.index()];
        if own.len() <= pcpu.index() {
            own.resize(pcpu.index() + 1, 0);
        }
        &mut own[pcpu.index()]
    }

    /// The load-balance factor of the boosts of `domains` over `pcpus` pcpus; `None` without any.
    pub fn balance(&self, domains: impl Iterator<Item = DomainId>, pcpus: usize) -> Option<f64> {
        let mut sums = vec![0; pcpus];
        for domain in domains {
            let own = self.counts.get(domain.index()).into_iter().flatten();
            for (sum, count) in sums.iter_mut().zip(own) {
                *sum += count;
            }
        }
        balance_factor(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(counts: &[(u16, u16, u64)]) -> Boosts {
        let mut boosts = Boosts::default();
        for (domain, pcpu, count) in counts {
            *boosts.count(DomainId(*domain), PcpuId(*pcpu)) += count;
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
