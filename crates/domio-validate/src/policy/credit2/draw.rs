//! States of credit2 that a recorded host may have begun in.

use super::{Credit2Start, Credit2State, Credit2Vcpu};
use crate::ensemble::{shuffled, stream};
use crate::simulated::SimulatedHost;
use domio_core::{DomainId, Duration, Runstate};
use domio_sched::credit2::CREDIT_INIT;
use std::collections::BTreeSet;

/// Start state `number` of `simulation`. Every second simulation begins as the trace shows it: with
/// its credits, and with pools filled up when they were. In the others both are drawn, as if the
/// host had been recorded at another time: where two runs of one host part over a microsecond,
/// which of them was recorded is chance. A credit lies between nothing and what a reset gives, a
/// remainder anywhere below the weight, what is left in a pool anywhere between nothing and all of
/// it. So it does where the trace shows nothing. Budgets and averages of load are kept in all of
/// them.
pub(super) fn draw(host: &SimulatedHost<Credit2State>, number: u32) -> Credit2Start {
    let mut random = stream(number);
    let (start, shown) = (host.start(), host.policy());
    let keeps = number.is_multiple_of(2);
    let mut vcpus = Vec::new();
    for (v, s) in start.vcpus.iter().zip(&shown.vcpus) {
        let weight = host.domain_param(v.name.domain, "weight").unwrap_or(256);
        let credit = random.below(CREDIT_INIT as u64 + 1) as i64;
        let residual = random.below(weight as u64) as u32;
        let average = match v.state {
            Runstate::Running | Runstate::Runnable => shown.whole_load,
            _ => random.below(shown.whole_load as u64 + 1) as i64,
        };
        vcpus.push(Credit2Vcpu {
            credit: s.credit.filter(|_| keeps).unwrap_or(credit),
            residual,
            budget: s.budget.unwrap_or(0),
            average: s.average.unwrap_or(average),
        });
    }
    let queue = shuffled(vcpus.len(), &mut random);
    let domains: BTreeSet<DomainId> = start.vcpus.iter().map(|v| v.name.domain).collect();
    let mut pools = Vec::new();
    for domain in domains {
        let cap = host.domain_param(domain, "cap").unwrap_or(0) as u64;
        if cap == 0 {
            continue;
        }
        let period = shown.period.as_nanos();
        let left = random.below(period * cap / 100 + 1) as i64;
        let refill = Duration::from_nanos(random.below(period));
        let parked = |v: &crate::start::StartVcpu| v.name.domain == domain && v.parked;
        let left = match start.vcpus.iter().any(parked) {
            true => 0,
            false => left,
        };
        let refill = shown
            .refills
            .get(&domain)
            .filter(|_| keeps)
            .map_or(refill, |at| at.saturating_since(start.at));
        pools.push((domain, left, refill));
    }
    Credit2Start {
        vcpus,
        queue,
        pools,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ensemble::{TWINS, ensemble};
    use crate::shipped;
    use domio_vmm::Profile;

    #[test]
    fn every_second_state_is_the_one_that_the_trace_shows() {
        let recording = shipped::recording("c2-weights-1-2-4").unwrap();
        let host =
            SimulatedHost::<Credit2State>::new(&recording, &Profile::XEN_4_17_EMULATED).unwrap();
        let states = ensemble(&host);
        assert_eq!(states, ensemble(&host));
        assert_eq!(states.len(), TWINS as usize);
        let credits = |s: &Credit2Start| s.vcpus.iter().map(|v| v.credit).collect::<Vec<_>>();
        let shown: Vec<i64> = host
            .policy()
            .vcpus
            .iter()
            .filter_map(|v| v.credit)
            .collect();
        // Dom0 runs; then g3, g2, and, 3 ms later, g1.
        assert_eq!(shown.len(), 4);
        assert_eq!(shown[1..], [2_147_259, 1_575_323, 169_172]);
        let kept = states.iter().filter(|s| credits(s) == shown).count();
        assert_eq!(kept, TWINS as usize / 2);
        let most = |s: &&Credit2Start| s.vcpus.iter().any(|v| v.credit > 9_000_000);
        assert!(states.iter().filter(most).count() > 3);
        let low = |s: &&Credit2Start| {
            s.vcpus
                .iter()
                .all(|v| (0..=CREDIT_INIT).contains(&v.credit))
        };
        assert_eq!(states.iter().filter(low).count(), states.len());
    }
}
