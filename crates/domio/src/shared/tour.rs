//! One small host under three schedulers, for whoever runs `domio reproduce` without arguments.

use crate::out;
use crate::shared::host;
use crate::shared::pictures::TIMELINE;
use domio_core::accounted::{SHARE, WAKE_P95};
use domio_core::{DomainId, Names, Record, Sink};
use domio_front::hosts;
use domio_lab::{Keeper, ProgressListener};
use domio_papers::tour::{REPLICATIONS, SCENARIO, hosts};
use domio_report::data::{Picture, Section};
use domio_report::{observed, samples, text};
use domio_run::measure::Measures;
use domio_run::observe::{Observer, Seen, Window};
use domio_run::simulate::{RunFault, domains, measured};
use domio_run::{Sample, SampleKey, Subject};
use domio_scenario::{Built, Scenario};
use std::collections::BTreeMap;

/// Measures that the terminal shows.
const SHOWN: [&str; 2] = [SHARE, WAKE_P95];

/// What came out.
pub struct Tour {
    scenario: Scenario,
    host: Built,
    /// By scheduler.
    parts: Vec<Part>,
}

struct Part {
    scheduler: String,
    samples: Vec<Sample>,
    /// What the first replication showed.
    seen: Seen,
}

struct Eyes(Option<Observer>);

impl Sink for Eyes {
    fn record(&mut self, names: &Names, record: &Record) {
        if let Some(observer) = &mut self.0 {
            observer.record(names, record);
        }
    }
}

impl Tour {
    /// Simulates the host under each scheduler.
    ///
    /// # Errors
    /// When a run ends early, which is a mistake in domio.
    pub fn take(
        seed: u64,
        replications: Option<u32>,
        keeper: &Keeper,
        progress: &dyn ProgressListener,
    ) -> anyhow::Result<Self> {
        let count = replications.unwrap_or(REPLICATIONS);
        let mut built: Vec<(String, Scenario, Built)> = Vec::new();
        for (name, scenario) in hosts(seed)? {
            let host = hosts::build(&scenario)?;
            built.push((name, scenario, host));
        }
        let subjects = built
            .iter()
            .map(|(_, s, _)| domio_lab::store::subject(s).ok());
        let subjects: Vec<Option<Subject>> = subjects.collect();
        let jobs: Vec<(&str, &Built, Option<&Subject>, u32)> = built
            .iter()
            .zip(&subjects)
            .flat_map(|((name, _, host), subject)| {
                (0..count).map(move |n| (name.as_str(), host, subject.as_ref(), n))
            })
            .collect();
        let results = keeper.on_all_cores(
            &jobs,
            |(_, host, subject, n)| {
                // The first replication is drawn; the others only measure.
                Some(SampleKey {
                    subject: subject.filter(|_| *n > 0)?,
                    seed: host.seed,
                    replication: *n,
                })
            },
            |(name, ..)| *name,
            progress,
            |(_, host, _, n), heard| {
                // The first replication is drawn; the others only measure.
                let eyes = Eyes((*n == 0).then(|| Observer::new(Window::Worst(TIMELINE))));
                let (sample, eyes) = measured(host, *n, eyes, heard)?;
                Ok((sample, eyes.0.map(Observer::finish)))
            },
        );
        let results: Result<Vec<_>, RunFault> = results.into_iter().collect();
        let mut results = results.map_err(|fault| hosts::failed(&fault))?.into_iter();
        let parts = built
            .iter()
            .map(|(name, ..)| {
                let (samples, seen): (Vec<_>, Vec<_>) =
                    results.by_ref().take(count as usize).unzip();
                Part {
                    scheduler: name.clone(),
                    samples,
                    seen: seen
                        .into_iter()
                        .flatten()
                        .flatten()
                        .next()
                        .unwrap_or_default(),
                }
            })
            .collect();
        // All hosts have the same domains.
        let (_, scenario, host) = built.swap_remove(0);
        Ok(Tour {
            scenario,
            host,
            parts,
        })
    }

    /// The tables for the terminal.
    pub fn text(&self) -> String {
        let policies = self.policies();
        let labels: Vec<String> = policies.iter().map(|(label, _)| label.clone()).collect();
        let measures = Measures::from(self.scenario.parts());
        let mut figures = domio_stats::domains::comparisons(&measures, &self.names(), &policies);
        figures.retain(|figure| SHOWN.contains(&&*figure.of.measure));
        let tables = text::compare::render(&measures, &figures, &labels, out::view());
        format!("{SCENARIO}: {}\n\n{tables}", host::title(&self.scenario))
    }

    /// The sections for the report.
    pub fn sections(&self) -> Vec<Section> {
        let domains = domains(&self.host);
        let description = self.scenario.plan().description.clone();
        let moments = self.parts.iter().filter_map(|part| {
            let caption = format!("Under {}", part.scheduler);
            observed::moments_of(&caption, &part.seen, &domains)
        });
        vec![
            Section {
                title: "A small host under three schedulers".to_owned(),
                text: description.unwrap_or_default(),
                figures: self.bars(),
            },
            Section {
                title: "Around its longest waits".to_owned(),
                text: "What runs on each pcpu and what each vcpu does around the longest wait \
                       under each scheduler."
                    .to_owned(),
                figures: moments.collect(),
            },
            Section {
                title: "Its waits and runs".to_owned(),
                text: String::new(),
                figures: vec![
                    observed::curves(
                        "The web server, from a wake-up until it runs",
                        "wake to run",
                        &self.lengths("web", |seen| &seen.wake_to_run_us),
                    ),
                    observed::curves(
                        "The batch job, length of a run",
                        "run",
                        &self.lengths("batch", |seen| &seen.runs_us),
                    ),
                ],
            },
        ]
    }

    fn names(&self) -> Vec<String> {
        let domains = domains(&self.host).into_iter();
        domains.map(|(_, name)| name).collect()
    }

    fn policies(&self) -> Vec<(String, Vec<Sample>)> {
        let parts = self.parts.iter();
        parts
            .map(|p| (p.scheduler.clone(), p.samples.clone()))
            .collect()
    }

    /// Charts of the measures that the terminal shows too.
    fn bars(&self) -> Vec<Picture> {
        let shown = |name: &str| SHOWN.iter().any(|key| name.ends_with(key));
        let reduced = |sample: &Sample| {
            let values = sample.values().filter(|(name, _)| shown(name));
            values.fold(Sample::new(), |s, (name, value)| s.with(name, value))
        };
        let policies: Vec<(String, Vec<Sample>)> = self
            .parts
            .iter()
            .map(|p| (p.scheduler.clone(), p.samples.iter().map(reduced).collect()))
            .collect();
        let members: Vec<(String, &[Sample])> = policies
            .iter()
            .map(|(name, samples)| (name.clone(), samples.as_slice()))
            .collect();
        let measures = Measures::from(self.scenario.parts());
        samples::figures(&measures, &members, &self.names())
    }

    /// By scheduler, what the first replication showed of `domain`.
    fn lengths<'t>(
        &'t self,
        domain: &str,
        of: fn(&Seen) -> &BTreeMap<DomainId, Vec<f64>>,
    ) -> Vec<(&'t str, &'t [f64])> {
        let domains = domains(&self.host);
        let id = domains.iter().find(|(_, name)| name == domain);
        let curve = |part: &'t Part| {
            let lengths = of(&part.seen).get(&id?.0)?;
            Some((part.scheduler.as_str(), lengths.as_slice()))
        };
        self.parts.iter().filter_map(curve).collect()
    }
}
