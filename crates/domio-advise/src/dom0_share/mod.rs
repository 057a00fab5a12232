//! How much of the processor dom0 should get for a mix, and what a setting changes.
//!
//! A [`Dom0Plan`] has policies and values for some axes: dom0's weight, cap, slice, vcpus, and a
//! pcpu of its own. [`run`] simulates the scenario as it is under every policy, and with each value
//! of each axis in turn, or with all combinations. Of each it says what the guests got of what they
//! are there for, what dom0 used, and what dom0's work on a reply or a KiB took. One more host says
//! what dom0 uses when nobody competes with it.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | the plan and the runs |
//! | `settings` | how a value of an axis is told to a policy |
//! | `figures` | what is measured of a setting |
//! | `answers` | what follows, in words |
//! | `text`, `picture` | what came out, for a terminal and as a figure |

pub mod answers;
mod figures;
pub mod picture;
mod settings;
#[cfg(test)]
mod tests;
pub mod text;

pub use figures::{Dom0Guest, Dom0Point, Dom0Service};
pub use settings::{Dom0Axis, Dom0Setting};

use domio_answer::{Inner, rows};
use domio_contract::{Descriptor, Policy};
use domio_core::DomainId;
use domio_run::driver_work::OwnersOnly;
use domio_run::{Replicator, RunFault, Sample, SampleJob, SampleKey, Subject, simulate};
use domio_scenario::{Built, ReplaySource, Scenario, ScenarioErrors};
use settings::Host;
use std::sync::{Mutex, PoisonError};

/// A policy with values for some of its parameters.
#[derive(Clone)]
pub struct Dom0Subject {
    /// What it is called.
    pub label: String,
    /// The policy.
    pub policy: Policy,
    /// Keys of the scenario that it changes, in addition to the policy's name.
    pub changes: Vec<(String, String)>,
    /// Whether somebody asked for it: if nobody did, a scenario that it cannot run leaves it out.
    pub wanted: bool,
}

/// What is tried.
#[derive(Clone, Debug, Default)]
pub struct Dom0Plan {
    /// Weights of dom0, in multiples of the largest weight of a guest.
    pub weights: Vec<f64>,
    /// Caps of dom0 (% of one pcpu).
    pub caps: Vec<u32>,
    /// Lengths of slices or periods (ms).
    pub slices_ms: Vec<u64>,
    /// Numbers of dom0's vcpus.
    pub vcpus: Vec<u32>,
    /// Whether dom0 gets a pcpu to itself, too.
    pub pin: bool,
    /// All combinations of the values, and not one axis after the other.
    pub full: bool,
    /// How often each is run.
    pub replications: u32,
    /// Name of the domain in question; the driver domain without one.
    pub dom0: Option<String>,
}

/// Makes what has the demands of a scenario's replays.
pub type Dom0Source<'s> = dyn Fn(&Scenario) -> Box<dyn ReplaySource> + Sync + 's;

rows! {
    /// What could not be tried, and why.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Dom0LeftOut {
        /// What the policy is called.
        pub policy: String = key("policy");
        /// The axis; absent where the policy as a whole is meant.
        pub axis: Option<Dom0Axis> = fact("axis");
        /// Why.
        pub why: String = fact("why");
    }

    /// What dom0 uses when it has a pcpu more for each of its vcpus, to itself.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Dom0Demand {
        /// The policy of that host.
        pub policy: String = fact("policy");
        /// What dom0 used (of one pcpu).
        pub share_pct: f64 = share("share_pct");
        /// What it could have used at most (of one pcpu).
        pub most_pct: f64 = share("most_pct");
        /// The guests' figures there.
        pub guests: Vec<Dom0Guest> = parts("guests", []);
    }

    /// All figures.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Dom0Outcome {
        /// Name of the domain in question.
        pub dom0: String = fact("dom0");
        /// By policy and setting: the scenario's own setting first for each policy.
        pub points: Vec<Dom0Point> = parts("points", []);
        /// What dom0 uses when it has a pcpu more for each of its vcpus, to itself.
        pub demand: Inner<Dom0Demand> = fact("demand");
        /// What was not tried.
        pub left_out: Vec<Dom0LeftOut> = parts("left_out", []);
    }
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum Dom0Fault {
    /// The scenario has no such domain, or no guest.
    #[error("{0}")]
    Mix(String),
    /// A scenario that somebody asked for is refused.
    #[error("{}", .0.render(false))]
    Scenario(ScenarioErrors),
    /// A run ended early.
    #[error(transparent)]
    Run(#[from] RunFault),
}

/// One host to simulate.
struct Job {
    label: String,
    descriptor: &'static Descriptor,
    settings: Vec<Dom0Setting>,
    told: Vec<String>,
    scenario: Scenario,
    built: Built,
}

/// Runs `scenario` under the policies of `subjects` with all settings of `plan`, on all cores.
/// `source` makes what has the demands of its replays.
///
/// # Errors
/// When the scenario has no dom0 or no guests, a policy that was asked for cannot run it, or a run
/// ends early.
pub fn run(
    scenario: &Scenario,
    subjects: &[Dom0Subject],
    plan: &Dom0Plan,
    source: &Dom0Source<'_>,
    replicator: &impl Replicator,
) -> Result<Dom0Outcome, Dom0Fault> {
    let host = Host::of(scenario, plan.dom0.as_deref())?;
    let mut left_out = Vec::new();
    let mut jobs = Vec::new();
    let mut demand = None;
    for subject in subjects {
        let base = match under(scenario, subject) {
            Ok(base) => base,
            Err(errors) if subject.wanted => return Err(Dom0Fault::Scenario(errors)),
            Err(errors) => {
                left_out.push(Dom0LeftOut {
                    policy: subject.label.clone(),
                    axis: None,
                    why: first_line(&errors),
                });
                continue;
            }
        };
        let host = host.of_policy(&base);
        jobs.push(job(&base, subject, &[], source, &[])?);
        if demand.is_none() {
            demand = Some(job(&base, subject, &[], source, &host.unconstrained())?);
        }
        for settings in combinations(plan) {
            match told(&host, subject, &settings) {
                Ok(changes) => match job(&base, subject, &settings, source, &changes) {
                    Ok(job) => jobs.push(job),
                    Err(Dom0Fault::Scenario(errors)) => {
                        leave_out(&mut left_out, subject, &settings, first_line(&errors));
                    }
                    Err(fault) => return Err(fault),
                },
                Err(why) => leave_out(&mut left_out, subject, &settings, why),
            }
        }
    }
    let Some(demand) = demand else {
        let why = left_out.iter().map(|l| format!("{}: {}", l.policy, l.why));
        let why: Vec<String> = why.collect();
        let text = format!("no policy runs this scenario: {}", why.join("; "));
        return Err(Dom0Fault::Mix(text));
    };
    jobs.push(demand);
    let samples = samples(&jobs, plan.replications, source, replicator)?;
    let mut points = Vec::new();
    for (job, samples) in jobs.iter().zip(&samples) {
        points.push(figures::point(job, &host.dom0, samples));
    }
    let last = points.pop().filter(|_| !points.is_empty());
    let last = last.ok_or_else(|| Dom0Fault::Mix("nothing was run".to_owned()))?;
    let most_pct = host.most_pct();
    figures::score(&mut points);
    Ok(Dom0Outcome {
        demand: Inner(Dom0Demand {
            policy: last.policy,
            share_pct: last.dom0_share_pct,
            most_pct,
            guests: last.guests,
        }),
        dom0: host.dom0,
        points,
        left_out,
    })
}

/// The scenario under a policy. Where the policy has no release of the name that the scenario has,
/// the policy's default one.
fn under(scenario: &Scenario, subject: &Dom0Subject) -> Result<Scenario, ScenarioErrors> {
    let name = subject.policy.descriptor.name;
    let mut changes = vec![("scheduler.policy".to_owned(), name.to_owned())];
    changes.extend(subject.changes.iter().cloned());
    let first = with(scenario, &changes);
    let default = subject.policy.descriptor.params.iter();
    let default = default.clone().find(|p| p.name == "version");
    let word = default.and_then(|spec| match spec.kind {
        domio_core::ParamKind::Choice(words) => words.get(spec.default as usize),
        _ => None,
    });
    match (first, word) {
        (Err(errors), Some(word)) => {
            changes.insert(1, ("scheduler.version".to_owned(), (*word).to_owned()));
            with(scenario, &changes).map_err(|_| errors)
        }
        (first, _) => first,
    }
}

fn with(scenario: &Scenario, changes: &[(String, String)]) -> Result<Scenario, ScenarioErrors> {
    let changes: Vec<(&str, &str)> = changes
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    scenario.with(&changes)
}

fn job(
    base: &Scenario,
    subject: &Dom0Subject,
    settings: &[Dom0Setting],
    source: &Dom0Source<'_>,
    changes: &[(String, String)],
) -> Result<Job, Dom0Fault> {
    let scenario = with(base, changes).map_err(Dom0Fault::Scenario)?;
    let built = scenario.build(&*source(&scenario));
    let built = built.map_err(Dom0Fault::Scenario)?;
    Ok(Job {
        label: subject.label.clone(),
        descriptor: subject.policy.descriptor,
        settings: settings.to_vec(),
        told: changes.iter().map(|(k, v)| format!("{k} = {v}")).collect(),
        scenario,
        built,
    })
}

/// What all of `settings` change, one after the other.
fn told(
    host: &Host,
    subject: &Dom0Subject,
    settings: &[Dom0Setting],
) -> Result<Vec<(String, String)>, String> {
    let mut changes = Vec::new();
    for setting in settings {
        changes.extend(setting.changes(host, subject.policy.descriptor)?);
    }
    Ok(changes)
}

/// Each value alone, or all combinations.
fn combinations(plan: &Dom0Plan) -> Vec<Vec<Dom0Setting>> {
    let axes = settings::axes(plan);
    if !plan.full {
        let alone = axes.into_iter().flatten();
        return alone.map(|setting| vec![setting]).collect();
    }
    let mut all = vec![Vec::new()];
    for axis in axes.into_iter().filter(|axis| !axis.is_empty()) {
        let grown = all.iter().flat_map(|before: &Vec<Dom0Setting>| {
            axis.iter().map(move |setting| {
                let mut settings = before.clone();
                settings.push(*setting);
                settings
            })
        });
        all = grown.collect();
    }
    all.retain(|settings| !settings.is_empty());
    all
}

/// Takes note of an axis that a policy does not have, once.
fn leave_out(
    left_out: &mut Vec<Dom0LeftOut>,
    subject: &Dom0Subject,
    settings: &[Dom0Setting],
    why: String,
) {
    let why = why.lines().next().unwrap_or_default().to_owned();
    let entry = Dom0LeftOut {
        policy: subject.label.clone(),
        axis: settings.first().map(|setting| setting.axis),
        why,
    };
    if !left_out.contains(&entry) {
        left_out.push(entry);
    }
}

fn first_line(errors: &ScenarioErrors) -> String {
    let text = errors.render(false);
    let line = text.lines().next().unwrap_or_default();
    let told = line.split_once(": ").map_or(line, |(_, told)| told);
    told.to_owned()
}

/// The samples of each job, by replication; those that were kept are not made again.
fn samples(
    jobs: &[Job],
    replications: u32,
    source: &Dom0Source<'_>,
    replicator: &impl Replicator,
) -> Result<Vec<Vec<Sample>>, Dom0Fault> {
    let fault = Mutex::new(None);
    let count = replications.max(1);
    let make = |job: &Job, n: u32| {
        let made = sample(job, n, source);
        made.map_err(|ended: RunFault| {
            let told = ended.to_string();
            let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
            fault.get_or_insert(ended);
            told
        })
    };
    let make = &make;
    let subjects: Vec<Option<Subject>> = jobs.iter().map(subject).collect();
    let wanted = jobs.iter().zip(&subjects);
    let wanted = wanted.flat_map(|job| (0..count).map(move |n| (job, n)));
    let wanted = wanted.map(|((job, subject), replication)| SampleJob {
        name: job.descriptor.name,
        key: subject.as_ref().map(|subject| SampleKey {
            subject,
            seed: job.built.seed,
            replication,
        }),
        make: Box::new(move || make(job, replication)),
    });
    let wanted: Vec<SampleJob<'_>> = wanted.collect();
    let all: Result<Vec<Sample>, String> = replicator.samples(&wanted).into_iter().collect();
    drop(wanted);
    let fault = fault.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (all, fault) {
        (Ok(all), _) => Ok(all.chunks(count as usize).map(<[Sample]>::to_vec).collect()),
        (Err(_), Some(fault)) => Err(fault.into()),
        (Err(told), None) => Err(Dom0Fault::Mix(told)),
    }
}

/// What samples of the job are kept as; `None` where it names files, which are not in its text.
fn subject(job: &Job) -> Option<Subject> {
    let has_files = job.scenario.plan().files().next().is_some();
    (!has_files).then(|| Subject::of_scenario(&job.scenario, &[]))
}

fn sample(job: &Job, replication: u32, source: &Dom0Source<'_>) -> Result<Sample, RunFault> {
    let source = source(&job.scenario);
    let built = simulate::of_replication(&job.scenario, &job.built, &*source, replication)?;
    Ok(simulate::measured(&built, replication, OwnersOnly, &|_| {})?.0)
}

/// Ids and names of the domains of a job.
fn domains(job: &Job) -> Vec<(DomainId, String)> {
    simulate::domains(&job.built)
}
