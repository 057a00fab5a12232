//! The papers' experiments, one file a paper, and the host that `domio reproduce` shows first.
//!
//! What is simulated is data, in the folders of `papers/`: see [`crate::paper`]. Here are the
//! checks that read those experiments.

pub mod tour;

use crate::claims::Claims;
use crate::effort::Effort;
use crate::paper::{self, Length, Machine, Paper};
use crate::registry::Registry;

/// Every experiment and check that domio has, at full effort.
pub fn registry() -> Registry {
    of_length(Length::Effort(Effort::Full))
}

/// Every experiment and check, with the measured times of all experiments divided by `divisor`: for
/// tests, and for a first look that need not be exact.
///
/// # Panics
/// When `divisor` is zero.
pub fn shortened(divisor: u32) -> Registry {
    assert!(divisor > 0, "times cannot be divided by zero");
    of_length(Length::Shortened(divisor))
}

/// Every experiment and check, of length `length`.
pub fn of_length(length: Length) -> Registry {
    let central = |paper| (paper, Machine::central());
    of_papers(paper::shipped().into_iter().map(central), length)
}

/// Every experiment and check, of length `length`, with those of `paper` on `machine`.
pub fn on_machine(paper: &Paper, length: Length, machine: &Machine) -> Registry {
    let shipped = paper::shipped().into_iter();
    of_papers(
        shipped.map(|other| match other.name == paper.name {
            true => (paper.clone(), machine.clone()),
            false => (other, Machine::central()),
        }),
        length,
    )
}

fn of_papers(papers: impl Iterator<Item = (Paper, Machine)>, length: Length) -> Registry {
    let mut registry = Registry::new();
    for (paper, machine) in papers {
        paper::register(&mut registry, &paper, length, &machine);
    }
    for claims in Claims::shipped_by_paper() {
        if let Err(error) = registry.claims(&claims) {
            panic!("shipped claims read cells that are not there:\n{error}");
        }
    }
    registry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Verdict;
    use crate::replicate::Silent;
    use crate::reproduce::{Options, Reproduction, reproduce};
    use crate::store::Keeper;

    const IDS: [&str; 3] = [
        "ongaro.fig2.cpu-fairness",
        "ongaro.debit.sampling",
        "zeng.table4.cpu-bound",
    ];

    fn short(seed: u64, threads: usize) -> Reproduction {
        let claims = Claims::shipped();
        let selected = claims.select(&IDS).unwrap();
        let options = Options {
            seed,
            replications: Some(3),
            ..Options::default()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap()
            .install(|| reproduce(&selected, &shortened(40), options, &Keeper::none(), &Silent))
    }

    #[test]
    fn every_check_decides_a_shipped_claim() {
        let registry = registry();
        let strays = registry.strays(&Claims::shipped());
        assert!(strays.is_empty(), "checks without a claim: {strays:?}");
        for id in IDS {
            assert!(registry.check_of(id).is_some(), "{id} has no check");
        }
    }

    #[test]
    fn results_depend_on_the_seed_and_not_on_threads() {
        let one = short(1, 1);
        assert_eq!(one, short(1, 3));
        assert_ne!(one.samples, short(2, 2).samples);
        for entry in &one.ledger.entries {
            assert_ne!(entry.finding.verdict, Verdict::NotImplemented);
            assert_eq!(entry.finding.replications, 3, "{}", entry.claim.id);
        }
    }

    #[test]
    fn replications_differ() {
        for (name, samples) in &short(1, 2).samples {
            assert!(
                samples.iter().any(|s| *s != samples[0]),
                "all replications of {name} are the same"
            );
        }
    }
}
