//! Boosts by pcpu and domain: how evenly those of some domains are spread over run queues (Zeng
//! 2015, formula 1).
//!
//! Two ways to count: a boost each time that a vcpu gets one, or each time that a vcpu with a boost
//! is woken and enters a run queue. A vcpu that blocks with its boost keeps it, so that the second
//! way has more.
//!
//! [`BoostPlaces`] knows on which pcpu a boost is; the meter counts those of all domains together.

use domio_core::{ActorId, DomainId, Names, PcpuId, Record, Runstate};
use domio_meter::{BoostCounts, BoostPlaces, BoostSeen, balance_factor};

/// What counts as a boost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counting {
    /// A vcpu gets a boost.
    Entries,
    /// A vcpu with a boost is woken, and enters a run queue.
    WakeUps,
}

/// Boosts of a stretch of time, counted in both ways.
#[derive(Debug, Default)]
pub(super) struct Boosts {
    entries: Book,
    wake_ups: Book,
}

/// Boosts of a stretch of time.
#[derive(Debug, Default)]
struct Book {
    places: BoostPlaces,
    /// By domain.
    counts: Vec<BoostCounts>,
}

impl Boosts {
    /// An empty book for the time that follows, which knows where vcpus are.
    pub fn next(&self) -> Boosts {
        Boosts {
            entries: self.entries.next(),
            wake_ups: self.wake_ups.next(),
        }
    }

    /// Takes a record.
    pub fn record(&mut self, names: &Names, record: &Record) {
        for (actor, old, new) in record.changes().into_iter().flatten() {
            match (old, new) {
                (_, Runstate::Running) => {
                    self.entries.places.runs(actor, record.pcpu);
                    self.wake_ups.places.runs(actor, record.pcpu);
                }
                (Runstate::Blocked, Runstate::Runnable) => {
                    let seen = self.wake_ups.places.wakes(actor);
                    self.wake_ups.add(names, actor, seen);
                }
                _ => {}
            }
        }
        if let Some(declared) = names.declared(record) {
            for book in [&mut self.entries, &mut self.wake_ups] {
                let seen = book.places.hear(declared, record, true);
                book.add(names, record.actor, seen);
            }
        }
    }

    /// The load-balance factor of the boosts of `domains` over `pcpus` pcpus; `None` without any.
    pub fn balance(
        &self,
        counting: Counting,
        domains: impl Iterator<Item = DomainId>,
        pcpus: usize,
    ) -> Option<f64> {
        let book = match counting {
            Counting::Entries => &self.entries,
            Counting::WakeUps => &self.wake_ups,
        };
        let own: Vec<&BoostCounts> = domains.filter_map(|d| book.counts.get(d.index())).collect();
        let pcpus = (0..pcpus).map(|pcpu| PcpuId(pcpu as u16));
        balance_factor(pcpus.map(|pcpu| own.iter().map(|counts| counts.on(pcpu)).sum()))
    }
}

impl Book {
    fn next(&self) -> Book {
        let mut places = self.places.clone();
        places.settle();
        Book {
            places,
            counts: Vec::new(),
        }
    }

    fn add(&mut self, names: &Names, actor: ActorId, seen: Option<BoostSeen>) {
        if let Some(seen) = seen
            && let Some(vcpu) = names.vcpu(actor)
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(counts: &[(u16, u16, u64)]) -> Boosts {
        let mut boosts = Boosts::default();
        for (domain, pcpu, count) in counts {
            let own = boosts.entries.of(DomainId(*domain));
            (0..*count).for_each(|_| own.add(BoostSeen::On(PcpuId(*pcpu))));
        }
        boosts
    }

    #[test]
    fn the_factor_is_the_mean_by_the_most() {
        let boosts = counted(&[(1, 0, 8), (1, 1, 4), (2, 1, 2), (2, 3, 6), (3, 2, 99)]);
        let of = |domains: &[u16], pcpus| {
            let domains = domains.iter().map(|d| DomainId(*d));
            boosts.balance(Counting::Entries, domains, pcpus)
        };
        // 8, 6, 0 and 6.
        assert_eq!(of(&[1, 2], 4), Some(5.0 / 8.0));
        assert_eq!(of(&[3], 4), Some(0.25));
        assert_eq!((of(&[4], 4), of(&[], 4)), (None, None));
    }
}
