//! Decides a selection of claims: runs what their checks read, once each, then asks the checks.

use crate::claim::Claim;
use crate::effort::{Effort, RISK};
use crate::ledger::{Check, ClaimLedger, ClaimResult, LedgerEntry, Verdict};
use crate::registry::{Decider, Experiment, LabContext, Registry};
use crate::samples::{ExperimentError, Samples};
use domio_run::{Replicator, Sample, SampleJob, SampleKey};
use std::collections::{BTreeMap, BTreeSet};

/// What the user may choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Seed of all replications.
    pub seed: u64,
    /// How far to go.
    pub effort: Effort,
    /// Replications of every experiment, looked at together; `None` for as many as the effort has.
    pub replications: Option<u32>,
    /// How often samples are looked at, at most, with twice the replications each time; `None` for
    /// as often as the effort does.
    pub looks: Option<u32>,
}

impl Options {
    /// For the [headlines](crate::Claims::headlines): as short as quick effort, and more
    /// replications where the first ones do not decide.
    pub const fn headlines(seed: u64) -> Self {
        Options {
            seed,
            effort: Effort::Quick,
            replications: None,
            looks: Some(3),
        }
    }
}

/// Verdicts, and the samples behind them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reproduction {
    /// The verdicts, in the order of the selection.
    pub ledger: ClaimLedger,
    /// Samples by experiment, one a replication. An experiment that failed is not in it.
    pub samples: BTreeMap<String, Vec<Sample>>,
}

/// Processor time of the first look at `claims`, as it was recorded, in seconds; `None` when the
/// time of an experiment is not on record.
pub fn estimate_s(claims: &[&Claim], registry: &Registry, options: Options) -> Option<f64> {
    let each = needed(claims, registry).into_values().map(|experiment| {
        let replications = match options.replications {
            Some(replications) => replications,
            None => options.effort.replications(experiment.replications(), 0),
        };
        Some(experiment.takes_s()? * f64::from(replications))
    });
    each.sum()
}

/// Decides `claims` with the checks of `registry`.
///
/// `replicator` runs the replications of all needed experiments, in the stages of the
/// [effort](crate::effort): an experiment continues as long as a check that reads it, of a claim
/// that is undecided, is undecided itself. The result is the same on any number of cores, and with
/// samples that were kept. A claim whose experiment cannot run is undecided, with the reason and
/// the command that repeats it in its note.
pub fn reproduce(
    claims: &[&Claim],
    registry: &Registry,
    options: Options,
    replicator: &impl Replicator,
) -> Reproduction {
    let looks = looks(options);
    let mut outcomes: BTreeMap<&str, Outcome> = BTreeMap::new();
    let mut wanted = needed(claims, registry);
    let mut findings = Vec::new();
    for look in 0..looks {
        let size = |experiment: &Experiment| match options.replications {
            Some(replications) => replications,
            None => options.effort.replications(experiment.replications(), look),
        };
        experiments(&wanted, size, options.seed, replicator, &mut outcomes);
        let risk = RISK / f64::from(looks);
        let decided = |claim: &&Claim| match registry.check_of(&claim.id) {
            Some(check) => decide((registry, check), claim, &outcomes, options, risk),
            None => ClaimResult::not_implemented(),
        };
        findings = claims.iter().map(decided).collect();
        let undecided = undecided(claims, &findings, registry);
        wanted.retain(|name, _| undecided.contains(*name));
        if wanted.is_empty() {
            break;
        }
    }
    let entries = claims
        .iter()
        .zip(findings)
        .map(|(claim, finding)| LedgerEntry {
            claim: (*claim).clone(),
            finding,
        });
    let entries = entries.collect();
    let ran = |(name, outcome): (&str, Outcome)| Some((name.to_owned(), outcome.ok()?));
    Reproduction {
        ledger: ClaimLedger { entries },
        samples: outcomes.into_iter().filter_map(ran).collect(),
    }
}

/// Decides `claims` from `samples` by experiment, of an earlier run with the same options, and runs
/// nothing.
pub fn decide_again(
    claims: &[&Claim],
    registry: &Registry,
    options: Options,
    samples: &BTreeMap<String, Vec<Sample>>,
) -> ClaimLedger {
    let outcomes = samples
        .iter()
        .map(|(name, s)| (name.as_str(), Ok(s.clone())));
    let outcomes: BTreeMap<&str, Outcome> = outcomes.collect();
    let risk = RISK / f64::from(looks(options));
    let entry = |claim: &&Claim| LedgerEntry {
        claim: (*claim).clone(),
        finding: match registry.check_of(&claim.id) {
            Some(check) => decide((registry, check), claim, &outcomes, options, risk),
            None => ClaimResult::not_implemented(),
        },
    };
    ClaimLedger {
        entries: claims.iter().map(entry).collect(),
    }
}

/// How often samples are looked at, at most.
fn looks(options: Options) -> u32 {
    match options.replications {
        Some(_) => 1,
        None => options.looks.unwrap_or(options.effort.looks()),
    }
}

type Outcome = Result<Vec<Sample>, ExperimentError>;

/// Experiments that checks of `claims` read, by name.
fn needed<'r>(claims: &[&Claim], registry: &'r Registry) -> BTreeMap<&'r str, &'r Experiment> {
    let checks = claims.iter().filter_map(|c| registry.check_of(&c.id));
    checks
        .flat_map(Decider::reads)
        .filter_map(|name| registry.find(name))
        .map(|experiment| (experiment.name(), experiment))
        .collect()
}

/// Names of the experiments that undecided checks of undecided claims read. A claim with a check
/// that fails is decided: what its other checks say changes nothing.
fn undecided(claims: &[&Claim], findings: &[ClaimResult], registry: &Registry) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (claim, finding) in claims.iter().zip(findings) {
        let Some(decider) = registry.check_of(&claim.id) else {
            continue;
        };
        if finding.verdict != Verdict::Undecided {
            continue;
        }
        let open = |check: &&Check| check.verdict == Verdict::Undecided;
        for check in finding.checks.iter().filter(open) {
            // What was computed from several experiments may not know from which.
            match check.reads.is_empty() {
                true => names.extend(decider.reads().iter().cloned()),
                false => names.extend(check.reads.iter().cloned()),
            }
        }
    }
    names
}

/// Runs each of `wanted` until there are as many replications as `size` says.
fn experiments<'r>(
    wanted: &BTreeMap<&'r str, &'r Experiment>,
    size: impl Fn(&Experiment) -> u32,
    seed: u64,
    replicator: &impl Replicator,
    outcomes: &mut BTreeMap<&'r str, Outcome>,
) {
    let mut wants: Vec<(&'r Experiment, u32)> = Vec::new();
    for experiment in wanted.values() {
        let have = match outcomes.get(experiment.name()) {
            None => 0,
            Some(Ok(samples)) => samples.len() as u32,
            Some(Err(_)) => continue,
        };
        wants.extend((have..size(experiment)).map(|replication| (*experiment, replication)));
    }
    let job = |(experiment, replication): &(&'r Experiment, u32)| {
        let (experiment, replication) = (*experiment, *replication);
        SampleJob {
            name: experiment.name(),
            key: experiment.subject().map(|subject| SampleKey {
                subject,
                seed,
                replication,
            }),
            make: Box::new(move || experiment.run(&LabContext { seed }, replication)),
        }
    };
    let jobs: Vec<SampleJob<'_>> = wants.iter().map(job).collect();
    for ((experiment, replication), result) in wants.into_iter().zip(replicator.samples(&jobs)) {
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

fn decide(
    (registry, check): (&Registry, &Decider),
    claim: &Claim,
    outcomes: &BTreeMap<&str, Outcome>,
    options: Options,
    risk: f64,
) -> ClaimResult {
    let mut read = Vec::new();
    for name in check.reads() {
        match outcomes.get(name.as_str()) {
            Some(Ok(samples)) => read.push((name.as_str(), samples.as_slice())),
            Some(Err(error)) => {
                return could_not_run(registry.command(check.claim()), error, options);
            }
            None => read.push((name.as_str(), &[][..])),
        }
    }
    let samples = Samples::new(read).at_risk(risk);
    if samples.replications() == 0 {
        return ClaimResult::unknown(
            "no replication was run; ask for at least two with --replications",
        );
    }
    let mut finding = check.decide(&samples, claim);
    if finding.replications == 0 {
        finding.replications = samples.replications();
    }
    finding
}

fn could_not_run(command: String, error: &ExperimentError, options: Options) -> ClaimResult {
    let repeat = format!(
        "{command} --seed {} --replications {}",
        options.seed,
        error.replication + 1
    );
    ClaimResult::unknown(format!("could not run: {error}; to repeat: {repeat}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::ledger::{Measured, VerdictCounts};
    use crate::proof::Proof;
    use crate::series::Series;
    use domio_lab::{AllCores, Silent};
    use domio_run::OneByOne;
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
            ClaimResult::decided(true, s.values("burn", "share_pct"), "% of one pcpu")
        };
        registry.check(BURN, &["burn"], share);
        registry.check("ongaro.test1.fix-helps", &["burn"], share);
        registry.check(SEDF, &["burn", "broken"], share);
        registry
    }

    /// Full effort: the experiments' own numbers at the first look.
    fn full() -> Options {
        Options {
            effort: Effort::Full,
            ..Options::default()
        }
    }

    fn run(ids: &[&str], options: Options) -> (Reproduction, u32) {
        let runs = Arc::new(AtomicU32::new(0));
        let claims = Claims::shipped();
        let selected = claims.select(ids).unwrap();
        let result = reproduce(
            &selected,
            &registry(runs.clone()),
            options,
            &AllCores(&Silent),
        );
        (result, runs.load(Ordering::Relaxed))
    }

    #[test]
    fn an_experiment_runs_once_for_all_its_claims() {
        let (result, runs) = run(&["ongaro"], full());
        assert_eq!(runs, 4);
        let summary = result.ledger.summary();
        assert_eq!((summary.holds, summary.undecided), (2, 1));
        assert_eq!(summary.not_implemented, result.ledger.entries.len() - 3);
        assert_eq!(result.samples.keys().collect::<Vec<_>>(), ["burn"]);
        assert_eq!(result.ledger.entries[0].finding.replications, 4);
        assert_eq!(
            result.ledger.entries[0].finding.measured,
            Measured::Numbers(vec![14.0, 15.0, 16.0, 17.0])
        );
    }

    /// A figure of 20 on average, and a claim that it is over `limit`, and another figure, which is
    /// 4.5 on average at first, over `other`.
    fn uneven(limit: f64, other: f64) -> Registry {
        let mut registry = Registry::new();
        registry.experiment("burn", 10, |_, n| {
            Ok(Sample::new().with("ms", [10.0, 30.0][n as usize % 2]))
        });
        registry.experiment("other", 10, |_, n| {
            Ok(Sample::new().with("ms", f64::from(n)))
        });
        registry.check(BURN, &["burn", "other"], move |samples, _| {
            let mut proof = Proof::new(samples.risk());
            proof.above(&Series::of(samples, "burn", "ms", "burn", "ms"), limit);
            proof.above(&Series::of(samples, "other", "ms", "other", "ms"), other);
            proof.finding("", "both")
        });
        registry
    }

    #[test]
    fn an_experiment_goes_on_until_its_checks_are_decided() {
        let claims = Claims::shipped();
        let selected = claims.select(&[BURN]).unwrap();
        let run = |limit, options| {
            let result = reproduce(&selected, &uneven(limit, -1.0), options, &OneByOne);
            let n = |name: &str| result.samples[name].len();
            let verdict = result.ledger.entries[0].finding.verdict;
            (verdict, n("burn"), n("other"))
        };
        let full = Options {
            effort: Effort::Full,
            ..Options::default()
        };
        // The interval of 20 has 20 ± 7.1 at a risk of 0.7 %, that of 40 has 20 ± 4.5.
        assert_eq!(run(12.0, full), (Verdict::Holds, 20, 10));
        assert_eq!(run(15.0, full), (Verdict::Holds, 40, 10));
        assert_eq!(run(25.0, full), (Verdict::Fails, 40, 10));
        assert_eq!(run(20.0, full), (Verdict::Undecided, 640, 10));
        let quick = Options::default();
        assert_eq!(run(15.0, quick), (Verdict::Undecided, 5, 5));
        let six = Options {
            replications: Some(6),
            ..full
        };
        assert_eq!(run(15.0, six), (Verdict::Undecided, 6, 6), "as asked for");
    }

    /// A claim of two statements, of which the second is wrong at the first look.
    #[test]
    fn a_claim_that_fails_asks_for_nothing_more() {
        let claims = Claims::shipped();
        let selected = claims.select(&[BURN]).unwrap();
        let run = |registry: &Registry| {
            let result = reproduce(&selected, registry, full(), &OneByOne);
            let verdict = result.ledger.entries[0].finding.verdict;
            (verdict, result.samples["burn"].len())
        };
        assert_eq!(run(&uneven(20.0, -1.0)), (Verdict::Undecided, 640));
        assert_eq!(run(&uneven(20.0, 1e6)), (Verdict::Fails, 10));
    }

    #[test]
    fn nothing_runs_for_claims_without_a_check() {
        let (result, runs) = run(&["zeng"], Options::default());
        assert_eq!(runs, 0);
        let summary = result.ledger.summary();
        assert_eq!((summary.holds, summary.fails), (0, 0));
        assert_ne!(summary, VerdictCounts::default());
    }

    #[test]
    fn a_run_that_fails_leaves_its_claims_undecided_and_tells_how_to_repeat_it() {
        let (result, _) = run(&[SEDF], Options { seed: 9, ..full() });
        let finding = &result.ledger.entries[0].finding;
        assert_eq!(finding.verdict, Verdict::Undecided);
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
            ..Options::default()
        };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| run(&["ongaro"], options))
        };
        assert_eq!(on(1), on(7));
        assert_eq!(on(2).1, 16);
    }
}
