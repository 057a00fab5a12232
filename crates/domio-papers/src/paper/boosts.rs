//! Boosts by pcpu: how evenly vcpus with a boost are spread over run queues (Zeng 2015, formula 1).
//!
//! A vcpu that is boosted goes into the run queue of the pcpu on which it ran last, unless credit
//! [sends it elsewhere](Boosts::SENT). Records say both, in traces of real hosts as well.

use domio_core::{ActorId, DomainId, Names, PcpuId, Record, Runstate, Says};

/// Boosts of a stretch of time.
#[derive(Debug, Default)]
pub(super) struct Boosts {
    /// By actor: the pcpu on which it ran last.
    ran_on: Vec<Option<PcpuId>>,
    /// By domain, by pcpu.
    counts: Vec<Vec<u64>>,
}

impl Boosts {
    /// Number of credit's record that a boosted vcpu is placed, in a queue that may be another
    /// (`boost_balance`): it follows that of the boost.
    const SENT: u8 = 48;

    /// An empty book for the time that follows, which knows where vcpus are.
    pub fn next(&self) -> Boosts {
        Boosts {
            ran_on: self.ran_on.clone(),
            counts: Vec::new(),
        }
    }

    /// Takes a record.
    pub fn record(&mut self, names: &Names, record: &Record) {
        for (actor, _, new) in record.changes().into_iter().flatten() {
            if new == Runstate::Running {
                self.place(actor, record.pcpu);
            }
        }
        let Some(declared) = names.declared(record) else {
            return;
        };
        if declared.says == Says::Boosted {
            let domain = names.vcpu(record.actor).map(|vcpu| vcpu.domain);
            let at = self.ran_on.get(record.actor.index()).copied().flatten();
            if let Some((domain, at)) = domain.zip(at) {
                *self.count(domain, at) += 1;
            }
        } else if declared.number == Self::SENT
            && names.class(record.class).is_some_and(|class| class.name == "credit")
        {
            self.sent(names, record);
        }
    }

    /// A boosted vcpu goes from one queue to another.
    fn sent(&mut self, names: &Names, record: &Record) {
        let word = record.words[0];
        let (from, to) = (PcpuId(word as u16), PcpuId((word >> 16) as u16));
        if let Some(vcpu) = names.vcpu(record.actor) {
            let counted = self.count(vcpu.domain, from);
            if *counted > 0 {
                *counted -= 1;
                *self.count(vcpu.domain, to) += 1;
            }
        }
    }

    fn place(&mut self, actor: ActorId, pcpu: PcpuId) {
        if self.ran_on.len() <= actor.index() {
            self.ran_on.resize(actor.index() + 1, None);
        }
        self.ran_on[actor.index()] = Some(pcpu);
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

    /// The mean over `pcpus` pcpus of the boosts of `domains`, by the most of a pcpu: 1 where all
    /// have as many, one by the number of pcpus where one has all. `None` without boosts.
    pub fn balance(&self, domains: impl Iterator<Item = DomainId>, pcpus: usize) -> Option<f64> {
        let mut sums = vec![0; pcpus];
        for domain in domains {
            let own = self.counts.get(domain.index()).into_iter().flatten();
            for (sum, count) in sums.iter_mut().zip(own) {
                *sum += count;
            }
        }
        let most = sums.iter().max().filter(|most| **most > 0)?;
        let all: u64 = sums.iter().sum();
        Some(all as f64 / pcpus as f64 / *most as f64)
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
        let of = |domains: &[u16], pcpus| {
            boosts.balance(domains.iter().map(|d| DomainId(*d)), pcpus)
        };
        // 8, 6, 0 and 6.
        assert_eq!(of(&[1, 2], 4), Some(5.0 / 8.0));
        assert_eq!(of(&[3], 4), Some(0.25));
        assert_eq!((of(&[4], 4), of(&[], 4)), (None, None));
    }
}
