//! The papers' experiments, one file a paper, and the host that `domio reproduce` shows first.
//!
//! The host of an experiment is a scenario in this folder, or a shipped one. What differs from run
//! to run of a real laboratory, such as when each guest was created, is drawn anew for each
//! replication from streams of its own, so that intervals tell how far it matters. The rest is
//! fixed: no setting is adjusted to an experiment.

pub mod ongaro;
pub mod tour;
mod zeng;

use crate::claims::Claims;
use crate::registry::{LabContext, Registry};
use crate::simulate::{RunFault, domains};
use domio_core::{DomainId, Duration};
use domio_scenario::{Built, NoReplay, Scenario};
use domio_sim::random::RandomStream;

/// Every experiment and check that domio has.
pub fn registry() -> Registry {
    shortened(1)
}

/// Every experiment and check, the cells of Ongaro's tests under `cells`.
pub fn with_cells(cells: ongaro::Settings) -> Registry {
    registry_of(1, cells)
}

/// Every experiment and check, with the times of all experiments divided by `divisor`: for tests,
/// and for a first look that need not be exact.
///
/// # Panics
/// When `divisor` is zero.
pub fn shortened(divisor: u32) -> Registry {
    assert!(divisor > 0, "times cannot be divided by zero");
    registry_of(divisor, ongaro::Settings::shortened(divisor))
}

fn registry_of(divisor: u32, cells: ongaro::Settings) -> Registry {
    let mut registry = Registry::new();
    ongaro::register(&mut registry, divisor, cells);
    zeng::register(&mut registry, divisor);
    for claims in Claims::shipped_by_paper() {
        if let Err(error) = registry.claims(&claims) {
            panic!("shipped claims read cells that are not there:\n{error}");
        }
    }
    registry
}

/// The host of scenario `text`, called `name` in messages, after `changes` (keys and values).
fn host(
    name: &str,
    text: &str,
    changes: &[(String, String)],
    cx: &LabContext,
) -> Result<Built, String> {
    let changes: Vec<(&str, &str)> = changes
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let built = Scenario::parse(name, text.as_bytes(), domio_sched::policies())
        .and_then(|scenario| scenario.with(&changes))
        .and_then(|scenario| scenario.build(&NoReplay));
    let mut built = built.map_err(|mistakes| mistakes.to_string())?;
    built.seed = cx.seed;
    Ok(built)
}

/// Settings of an experiment whose times are divided by `divisor`, for people.
fn divided(divisor: u32) -> String {
    match divisor {
        1 => String::new(),
        divisor => format!("times divided by {divisor}"),
    }
}

/// The change of key `key` to `value`.
fn change(key: &str, value: impl ToString) -> (String, String) {
    (key.to_owned(), value.to_string())
}

/// The changes that create `domains` at times that are equally likely up to `latest`.
fn random_starts(
    domains: &[String],
    latest: Duration,
    cx: &LabContext,
    replication: u32,
) -> Vec<(String, String)> {
    let start = |domain: &String| {
        let stream = format!("laboratory/{domain}/start");
        let at = RandomStream::new(cx.seed, replication, &stream)
            .duration_uniform(Duration::ZERO, latest);
        change(&format!("domain.{domain}.start_ns"), at.as_nanos())
    };
    domains.iter().map(start).collect()
}

/// `PREFIX1` to `PREFIXn`, the members of a group.
fn members(prefix: &str, n: u32) -> Vec<String> {
    (1..=n).map(|i| format!("{prefix}{i}")).collect()
}

/// The id of the domain called `name`.
fn id(built: &Built, name: &str) -> Result<DomainId, String> {
    let found = domains(built).into_iter().find(|(_, other)| other == name);
    let (id, _) = found.ok_or_else(|| format!("the scenario has no domain \"{name}\""))?;
    Ok(id)
}

/// What went wrong, with the state in which it did.
fn told(fault: RunFault) -> String {
    format!("{fault}\n{}", fault.dump)
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
