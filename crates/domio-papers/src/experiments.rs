//! The experiments and checks of papers, together in a registry.

use crate::claims::Claims;
use crate::effort::Effort;
use crate::folders::{self, PaperFolder};
use crate::paper::{self, Length, Machine, Paper};
use crate::registry::Registry;

/// Every experiment and check that ships with domio, at full effort.
pub fn registry() -> Registry {
    of_length(Length::Effort(Effort::Full))
}

/// Every experiment and check that ships with domio, with the measured times of all experiments
/// divided by `divisor`: for tests, and for a first look that need not be exact.
///
/// # Panics
/// When `divisor` is zero.
pub fn shortened(divisor: u32) -> Registry {
    assert!(divisor > 0, "times cannot be divided by zero");
    of_length(Length::Shortened(divisor))
}

fn of_length(length: Length) -> Registry {
    let central = Machine::central();
    of(&folders::shipped(), length, &central).unwrap_or_else(|e| panic!("shipped papers: {e}"))
}

/// The experiments and checks of the papers in `folders` on `machine`, of length `length`.
///
/// # Errors
/// When their files have mistakes, which the message tells with file and line; or claims read cells
/// that are not there, or two papers have an experiment of one name.
pub fn of(folders: &[PaperFolder], length: Length, machine: &Machine) -> Result<Registry, String> {
    let mut registry = Registry::new();
    registry.of_folders(folders.iter().map(PaperFolder::argument).collect());
    for folder in folders {
        paper::register(&mut registry, &Paper::read(folder)?, length, machine)?;
    }
    for folder in folders {
        if let Some(claims) = Claims::of_paper(folder).map_err(|e| e.to_string())? {
            registry.claims(&claims).map_err(|e| e.to_string())?;
        }
    }
    Ok(registry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Verdict;
    use crate::reproduce::{Options, Reproduction, reproduce};
    use domio_lab::{AllCores, Silent};

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
            .install(|| reproduce(&selected, &shortened(40), options, &AllCores(&Silent)))
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
