//! Decides a selection of claims: runs what their checks read, once each, then asks the checks.

use crate::claims::Claim;
use crate::ledger::{Entry, Finding, Ledger, Measured};
use crate::registry::{Check, Experiment, LabContext, Registry};
use crate::replicate::{Progress, on_all_cores};
use crate::sample::{ExperimentError, Sample, Samples};
use std::collections::BTreeMap;
use std::ops::Range;

/// What the user may choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Seed of all replications.
    pub seed: u64,
    /// Replications of every experiment; `None` for each experiment's own number, and as many more
    /// as its [`Precision`](crate::registry::Precision) needs.
    pub replications: Option<u32>,
}

/// Verdicts, and the samples behind them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reproduction {
    /// The verdicts, in the order of the selection.
    pub ledger: Ledger,
    /// Samples by experiment, one a replication. An experiment that failed is not in it.
    pub samples: BTreeMap<String, Vec<Sample>>,
}

/// Decides `claims` with the checks of `registry`.
///
/// Replications of all needed experiments run in parallel. The result is the same on any number of
/// cores. A claim whose experiment cannot run fails, with the reason and the command that repeats
/// it in its note.
pub fn reproduce(
    claims: &[&Claim],
    registry: &Registry,
    options: Options,
    progress: &dyn Progress,
) -> Reproduction {
    let outcomes = run_experiments(claims, registry, options, progress);
    let entries = claims
        .iter()
        .map(|claim| Entry {
            claim: (*claim).clone(),
            finding: match registry.check_of(&claim.id) {
                Some(check) => decide(check, claim, &outcomes, options),
                None => Finding::not_implemented(),
            },
        })
        .collect();
    let ran = |(name, outcome): (&str, Outcome)| Some((name.to_owned(), outcome.ok()?));
    Reproduction {
        ledger: Ledger { entries },
        samples: outcomes.into_iter().filter_map(ran).collect(),
    }
}

type Outcome = Result<Vec<Sample>, ExperimentError>;

fn run_experiments<'r>(
    claims: &[&Claim],
    registry: &'r Registry,
    options: Options,
    progress: &dyn Progress,
) -> BTreeMap<&'r str, Outcome> {
    let checks = claims.iter().filter_map(|c| registry.check_of(&c.id));
    let needed: BTreeMap<&str, &Experiment> = checks
        .flat_map(Check::reads)
        .filter_map(|name| registry.find(name))
        .map(|experiment| (experiment.name(), experiment))
        .collect();
    let cx = LabContext { seed: options.seed };
    let mut outcomes: BTreeMap<&str, Outcome> = BTreeMap::new();
    loop {
        let jobs: Vec<(&Experiment, u32)> = needed
            .values()
            .flat_map(|experiment| {
                let next = next(experiment, outcomes.get(experiment.name()), options);
                next.map(|replication| (*experiment, replication))
            })
            .collect();
        if jobs.is_empty() {
            return outcomes;
        }
        let results = on_all_cores(
            &jobs,
            |(experiment, _)| experiment.name(),
            progress,
            |(experiment, replication)| experiment.run(&cx, *replication),
        );
        for ((experiment, replication), result) in jobs.into_iter().zip(results) {
            let outcome = outcomes.entry(experiment.name()).or_insert(Ok(Vec::new()));
            match (result, &mut *outcome) {
                (Ok(sample), Ok(samples)) => samples.push(sample),
                (Err(why), Ok(_)) => {
                    *outcome = Err(ExperimentError {
                        experiment: experiment.name().to_owned(),
                        replication,
                        why,
                    });
                }
                (_, Err(_)) => {}
            }
        }
    }
}

/// The replications of `experiment` that come next, given what has come of the ones before.
fn next(experiment: &Experiment, before: Option<&Outcome>, options: Options) -> Range<u32> {
    let samples: &[Sample] = match before {
        None => &[],
        Some(Ok(samples)) => samples,
        Some(Err(_)) => return 0..0,
    };
    let wanted = options.replications;
    samples.len() as u32..wanted.unwrap_or_else(|| experiment.wanted(samples))
}

fn decide(
    check: &Check,
    claim: &Claim,
    outcomes: &BTreeMap<&str, Outcome>,
    options: Options,
) -> Finding {
    let mut read = Vec::new();
    for name in check.reads() {
        match outcomes.get(name.as_str()) {
            Some(Ok(samples)) => read.push((name.as_str(), samples.as_slice())),
            Some(Err(error)) => return could_not_run(check, error, options),
            None => read.push((name.as_str(), &[][..])),
        }
    }
    let samples = Samples::new(read);
    if samples.replications() == 0 {
        return Finding::decided(false, Measured::Nothing, "")
            .note("no replication was run; ask for at least one with --replications");
    }
    let mut finding = check.decide(&samples, claim);
    if finding.replications == 0 {
        finding.replications = samples.replications();
    }
    finding
}

fn could_not_run(check: &Check, error: &ExperimentError, options: Options) -> Finding {
    let repeat = format!(
        "domio reproduce {} --seed {} --replications {}",
        check.claim(),
        options.seed,
        error.replication + 1
    );
    Finding::decided(false, Measured::Nothing, "")
        .note(format!("could not run: {error}; to repeat: {repeat}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::ledger::{Summary, Verdict};
    use crate::registry::Precision;
    use crate::replicate::Silent;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    const BURN: &str = "ongaro.fig2.cpu-fairness";
    const SEDF: &str = "ongaro.test1.sedf";

    fn registry(runs: Arc<AtomicU32>) -> Registry {
        let mut registry = Registry::new();
        registry.experiment("burn", 4, move |cx, n| {
            runs.fetch_add(1, Ordering::Relaxed);
            Ok(Sample::new().with("share_pct", 14.0 + cx.seed as f64 / 10.0 + f64::from(n)))
        });
        registry.experiment("broken", 4, |_, n| match n {
            0 | 2 => Ok(Sample::new()),
            _ => Err(format!("the policy picked a blocked vcpu at {n} ms")),
        });
        let share = |s: &Samples<'_>, _: &Claim| {
            Finding::decided(true, s.values("burn", "share_pct"), "% of one pcpu")
        };
        registry.check(BURN, &["burn"], share);
        registry.check("ongaro.test1.fix-helps", &["burn"], share);
        registry.check(SEDF, &["burn", "broken"], share);
        registry
    }

    fn run(ids: &[&str], options: Options) -> (Reproduction, u32) {
        let runs = Arc::new(AtomicU32::new(0));
        let claims = Claims::shipped();
        let selected = claims.select(ids).unwrap();
        let result = reproduce(&selected, &registry(runs.clone()), options, &Silent);
        (result, runs.load(Ordering::Relaxed))
    }

    #[test]
    fn an_experiment_runs_once_for_all_its_claims() {
        let (result, runs) = run(&["ongaro"], Options::default());
        assert_eq!(runs, 4);
        let summary = result.ledger.summary();
        assert_eq!((summary.holds, summary.fails), (2, 1));
        assert_eq!(summary.not_implemented, result.ledger.entries.len() - 3);
        assert_eq!(result.samples.keys().collect::<Vec<_>>(), ["burn"]);
        assert_eq!(result.ledger.entries[0].finding.replications, 4);
        assert_eq!(
            result.ledger.entries[0].finding.measured,
            Measured::Numbers(vec![14.0, 15.0, 16.0, 17.0])
        );
    }

    /// Means of 20 that differ by 10 need 19 replications to be known to a quarter.
    fn uneven() -> Registry {
        let mut registry = Registry::new();
        let experiment = registry.experiment("burn", 4, |_, n| {
            Ok(Sample::new().with("ms", [10.0, 30.0][n as usize % 2]))
        });
        experiment.until(Precision {
            figure: |samples| samples.iter().filter_map(|s| s.get("ms")).collect(),
            part: 0.25,
            most: 100,
        });
        registry.check(BURN, &["burn"], |s, _| {
            Finding::decided(true, s.values("burn", "ms"), "ms")
        });
        registry
    }

    #[test]
    fn an_experiment_is_repeated_until_it_is_exact() {
        let claims = Claims::shipped();
        let selected = claims.select(&[BURN]).unwrap();
        let replications = |options| {
            let result = reproduce(&selected, &uneven(), options, &Silent);
            result.ledger.entries[0].finding.replications
        };
        assert_eq!(replications(Options::default()), 20, "by fours");
        let six = Options {
            seed: 0,
            replications: Some(6),
        };
        assert_eq!(replications(six), 6, "what was asked for");
    }

    #[test]
    fn nothing_runs_for_claims_without_a_check() {
        let (result, runs) = run(&["zeng"], Options::default());
        assert_eq!(runs, 0);
        let summary = result.ledger.summary();
        assert_eq!((summary.holds, summary.fails), (0, 0));
        assert!(!result.ledger.has_failures() && summary != Summary::default());
    }

    #[test]
    fn a_run_that_fails_fails_its_claims_and_tells_how_to_repeat_it() {
        let (result, _) = run(
            &[SEDF],
            Options {
                seed: 9,
                replications: None,
            },
        );
        let finding = &result.ledger.entries[0].finding;
        assert_eq!(finding.verdict, Verdict::Fails);
        assert_eq!(
            finding.note,
            "could not run: broken, replication 1: the policy picked a blocked vcpu at 1 ms; \
             to repeat: domio reproduce ongaro.test1.sedf --seed 9 --replications 2"
        );
    }

    #[test]
    fn the_result_does_not_depend_on_threads() {
        let options = Options {
            seed: 3,
            replications: Some(16),
        };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| run(&["ongaro"], options))
        };
        assert_eq!(on(1), on(7));
        assert_eq!(on(2).1, 16);
    }
}
