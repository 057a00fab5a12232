//! Variants of hosts side by side: what `domio compare` shows of them.

use crate::hosts;
use domio_core::{DomainId, Figure};
use domio_lab::{Keeper, ProgressListener};
use domio_run::driver_work::OwnersOnly;
use domio_run::simulate::{self, RunFault};
use domio_run::{Sample, SampleKey, Subject};
use domio_scenario::{Built, Scenario};
use domio_stats::compare::Comparison;
use domio_stats::gains::{self, Gain};
use serde::Serialize;
use serde_json::{Value, json};

/// Samples of `replications` replications of each of `hosts`, in their order. What was kept is not
/// simulated again.
///
/// # Errors
/// The first run that ended early.
pub fn samples(
    hosts: &[&(Scenario, Built)],
    replications: u32,
    keeper: &Keeper,
    progress: &dyn ProgressListener,
) -> Result<Vec<Vec<Sample>>, RunFault> {
    let subjects = hosts.iter().map(|(s, _)| domio_lab::store::subject(s).ok());
    let subjects: Vec<Option<Subject>> = subjects.collect();
    let jobs: Vec<(&(Scenario, Built), Option<&Subject>, u32)> = hosts
        .iter()
        .zip(&subjects)
        .flat_map(|(&host, subject)| (0..replications).map(move |n| (host, subject.as_ref(), n)))
        .collect();
    let results = keeper.on_all_cores(
        &jobs,
        |((_, built), subject, n)| {
            Some(SampleKey {
                subject: (*subject)?,
                seed: built.seed,
                replication: *n,
            })
        },
        |((_, built), ..)| built.policy.descriptor.name,
        progress,
        |((scenario, built), _, n), heard| {
            let built = hosts::of_replication(scenario, built, *n)?;
            simulate::measured(&built, *n, OwnersOnly, heard)
        },
    );
    let samples = results.into_iter().map(|result| Ok(result?.0));
    let samples = samples.collect::<Result<Vec<Sample>, RunFault>>()?;
    let by_policy = samples.chunks(replications as usize);
    Ok(by_policy.map(<[Sample]>::to_vec).collect())
}

/// The domains of several variants: those of the first, and what others have besides.
pub fn all_domains(
    variants: impl Iterator<Item = Vec<(DomainId, String)>>,
) -> Vec<(DomainId, String)> {
    let mut all: Vec<(DomainId, String)> = Vec::new();
    for domain in variants.flatten() {
        if !all.iter().any(|(_, name)| *name == domain.1) {
            all.push(domain);
        }
    }
    all
}

/// What is compared, variants by domains.
pub struct ComparedTables {
    /// What changed from the first variant.
    pub changes: Vec<Gain>,
    /// A table a figure.
    pub measures: Vec<(&'static Figure, Comparison)>,
    /// By driver domain, whose name it is.
    pub driver_work: Vec<(String, Comparison)>,
}

impl ComparedTables {
    /// Compares the `samples` of variants, by their labels. `measured_ms` is the length of the
    /// measured time of one replication.
    pub fn of(
        domains: &[(DomainId, String)],
        samples: &[(String, Vec<Sample>)],
        measured_ms: f64,
    ) -> Self {
        let names: Vec<String> = domains.iter().map(|(_, name)| name.clone()).collect();
        ComparedTables {
            changes: gains::changes(&names, samples),
            measures: domio_stats::domains::comparisons(&names, samples),
            driver_work: domio_stats::drivers::comparisons(domains, samples, measured_ms),
        }
    }
}

/// One variant, for programs.
#[derive(Clone, Serialize)]
pub struct VariantJson {
    /// What it is called.
    pub label: String,
    /// Scenario or recording.
    pub source: String,
    /// Whether it is a recording.
    pub recorded: bool,
    /// Its policy; none for a recording.
    pub policy: Option<&'static str>,
    /// What was changed in the scenario, as `key = value`.
    pub changes: Vec<String>,
}

/// What a comparison is of.
pub struct ComparedVariants<'c> {
    /// The scenario of the first host.
    pub scenario: &'c str,
    /// The variants, in their order.
    pub variants: Vec<VariantJson>,
    /// Seed of the first host.
    pub seed: u64,
    /// Replications of each host.
    pub replications: u32,
    /// What is good to know.
    pub notices: &'c [String],
}

/// The comparison for programs.
pub fn to_json(of: &ComparedVariants<'_>, tables: &ComparedTables) -> Value {
    let table = |(figure, table): &(&Figure, Comparison)| {
        json!({
            "measure": figure.key,
            "title": figure.title,
            "unit": figure.unit,
            "table": table,
        })
    };
    let policies = of.variants.iter().map(|variant| variant.policy);
    let mut json = json!({
        "scenario": of.scenario,
        "policies": policies.collect::<Vec<_>>(),
        "variants": of.variants,
        "seed": of.seed,
        "replications": of.replications,
        "changes": tables.changes,
        "notices": of.notices,
        "measures": tables.measures.iter().map(table).collect::<Vec<_>>(),
    });
    if !tables.driver_work.is_empty() {
        let work = tables.driver_work.iter();
        let work = work.map(|(driver, table)| json!({ "driver": driver, "table": table }));
        json["driver_work"] = work.collect();
    }
    json
}
