//! Variants of hosts side by side: what `domio compare` shows of them.

use crate::hosts;
use domio_answer::column::fact;
use domio_answer::{Answered, Holds, Table, Value, rows};
use domio_core::DomainId;
use domio_lab::{Keeper, ProgressListener};
use domio_report::text;
use domio_run::driver_work::OwnersOnly;
use domio_run::measure::Measures;
use domio_run::simulate::{self, RunFault};
use domio_run::{Sample, SampleKey, Subject};
use domio_scenario::{Built, Scenario};
use domio_stats::compare::VariantFigure;
use domio_stats::gains::{self, Gain};
use std::borrow::Cow;

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

/// The domains of several variants: those of the first, and further ones of the others.
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

rows! {
    /// One variant.
    #[derive(Clone, PartialEq, Debug)]
    pub struct VariantRow {
        /// What rows are called.
        pub label: String = key("label");
        /// Scenario or recording.
        pub source: String = fact("source");
        /// Whether it is a recording.
        pub recorded: bool = fact("recorded");
        /// Name of the policy; null for a recording.
        pub policy: Option<Cow<'static, str>> = fact("policy");
        /// What the command line changed, as `key = value`.
        pub changes: Vec<String> = parts("changes", [fact("change").doc("A key and its value.")]);
    }

    /// Variants side by side.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct ComparedVariants {
        /// File or name of the first scenario.
        pub scenario: String = fact("scenario");
        /// What is compared; the first is what the others are compared with.
        pub variants: Vec<VariantRow> = parts("variants", []);
        /// Seed of the random streams.
        pub seed: u64 = fact("seed");
        /// How often each scenario was run.
        pub replications: u32 = fact("replications");
        /// What else to know, once each, with the labels of the variants that it holds for unless
        /// it holds for all.
        pub notices: Vec<String> = parts("notices", [fact("notice").doc("A sentence.")]);
        /// Who gains and who pays, what matters most first.
        pub changes: Vec<Gain> = parts("changes", []);
        /// Figures of domains by measure, domain and variant, then those of the work of driver
        /// domains.
        pub measures: Vec<VariantFigure> = parts("measures", []);
    }
}

impl ComparedVariants {
    /// The same with what the `samples` of the variants, by their labels, say of the `measures` of
    /// `domains`.
    /// `measured_ms` is the length of the measured time of one replication.
    pub fn with(
        self,
        measures: &Measures,
        domains: &[(DomainId, String)],
        samples: &[(String, Vec<Sample>)],
        measured_ms: f64,
    ) -> Self {
        let names: Vec<String> = domains.iter().map(|(_, name)| name.clone()).collect();
        let mut figures = domio_stats::domains::comparisons(measures, &names, samples);
        figures.extend(domio_stats::drivers::comparisons(
            domains,
            samples,
            measured_ms,
        ));
        ComparedVariants {
            changes: gains::changes(measures, &names, samples),
            measures: figures,
            ..self
        }
    }

    /// The labels of the variants.
    pub fn labels(&self) -> Vec<String> {
        self.variants.iter().map(|v| v.label.clone()).collect()
    }

    /// The figures of the work of driver domains.
    pub fn driver_work(&self) -> &[VariantFigure] {
        let is_work = |figure: &VariantFigure| figure.of.driver.is_some();
        let begin = self.measures.iter().position(is_work);
        &self.measures[begin.unwrap_or(self.measures.len())..]
    }

    /// The comparison as an answer.
    pub fn answer(&self) -> Answered {
        let doc = "What `domio compare --json` prints: variants of a scenario beside each other.";
        let mut answer = Answered::of("compare", 2, doc, self);
        let policy = fact("policy").of(Holds::Text).optional();
        let mut policies = Table::new("", [policy.doc("Name of a policy.")]);
        self.variants
            .iter()
            .for_each(|variant| policies.row([variant.policy.cell()]));
        let doc = "Policy of each variant; null for a recording.";
        answer.derive_table("policies", doc, policies);
        answer.findings = text::gains::findings(&self.labels(), &self.changes);
        answer
    }
}
