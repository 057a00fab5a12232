//! ALERT, the ALlocation ERror Test (Cherkasova, Gupta and Vahdat 2007): how far what a domain gets
//! is from what it was allocated.
//!
//! dom0 is allocated a few percent, dom1 runs a tight loop and is allocated so many percent in one
//! simulation after another. What dom1 gets is measured over windows of several lengths, from trace
//! records alone. The error is what was measured less what was allocated, in percentage points and
//! in percent of the allocation.
//!
//! | page | holds |
//! |---|---|
//! | `plan` | what is tested, and by what it is judged |
//! | [`allocation`] | how an allocation is told to each policy |
//! | [`host`] | the scenario of one allocation |
//! | [`errors`] | what a domain got in each window, and how far that is off |
//! | [`worst`] | the worst allocation, explained by its trace |
//! | [`text`], [`picture`] | what came out, for a terminal and as a figure |

pub mod allocation;
mod books;
pub mod errors;
pub mod host;
pub mod picture;
mod plan;
pub mod text;
pub mod worst;

use allocation::AlertMode;
use domio_answer::{AnswerSpec, Answered, Inner, RowType, rows};
use domio_core::Instant;
use domio_run::simulate::simulate;
use domio_run::{Replicator, Sample, SampleJob, SampleKey, Subject};
use domio_scenario::{Built, NoReplay, Scenario};
use errors::{AlertBins, WindowErrors};
use host::{DOM0, GUEST, scenario};
use plan::NOTABLE;
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};
use worst::AlertWorst;

pub use plan::{AlertDom0, AlertFault, AlertPlan, AlertShare, AlertSubject, WARMUP, WINDOWS};

rows! {
    /// One allocation of dom1.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AlertPoint {
        /// dom1 over the whole measured time.
        pub guest: AlertShare = fact("");
        /// dom0 over the whole measured time. What it does not want is no error.
        pub dom0: Inner<AlertShare> = fact("dom0");
        /// What dom1 was told, as keys of a domain in a scenario.
        pub told: Vec<String> = fact("told");
        /// By window, the shortest first.
        pub windows: Vec<WindowErrors> = parts("windows", []);
    }

    /// Windows of one length over all allocations.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AlertSummary {
        /// Length of the windows.
        pub seconds: u64 = column("seconds", "s", ColumnKind::Key);
        /// Mean over the allocations of the mean error's size, in percent of the allocation.
        pub mean_percent: f64 = share("mean_percent");
        /// The window with the largest error, with its sign, in percent of the allocation.
        pub worst_percent: f64 = share("worst_percent");
        /// The allocation of that window, in percent of one pcpu.
        pub worst_allocation: f64 = fact("worst_allocation");
    }

    /// A policy with all its allocations.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AlertOutcome {
        /// The policy as it was named, with values of parameters.
        pub label: String = key("label");
        /// Name of the policy.
        pub policy: Cow<'static, str> = fact("policy");
        /// How it is told an allocation, for people.
        pub way: String = fact("way");
        /// By allocation, ascending.
        pub points: Vec<AlertPoint> = parts("points", []);
        /// By window, the shortest first.
        pub summary: Vec<AlertSummary> = parts("summary", []);
        /// The worst allocation, explained.
        pub worst: Inner<AlertWorst> = fact("worst");
    }

    /// What was tested, and what came out.
    #[derive(Clone, PartialEq, Debug)]
    struct AlertTest {
        /// Whether an allocation holds when nobody else wants the time.
        mode: AlertMode = fact("mode");
        /// Pcpus of the host.
        pcpus: u32 = fact("pcpus");
        /// Vcpus of each domain.
        vcpus: u32 = fact("vcpus");
        /// Allocation of dom0 (of one pcpu).
        dom0_percent: u32 = column("dom0_percent", "%", ColumnKind::Fact);
        /// What dom0 does.
        dom0_work: AlertDom0 = fact("dom0_work");
        /// Measured time.
        seconds: u64 = column("seconds", "s", ColumnKind::Fact);
        /// Lengths of the windows.
        windows_s: Vec<u64> = column("windows_s", "s", ColumnKind::Fact);
        /// Seed of all random streams.
        seed: u64 = fact("seed");
        /// By policy, in the order in which they were asked for.
        policies: Vec<AlertOutcome> = parts("policies", []);
    }
}

/// What the answer is.
pub fn spec() -> AnswerSpec {
    let doc =
        "What `domio alert --json` prints: how far what a domain gets is from its allocation.";
    AnswerSpec::new("alert", 2, doc, AlertTest::spec())
}

/// The answer: the figures of all policies, and for each how far it errs, in words.
pub fn answer(plan: &AlertPlan, outcomes: &[AlertOutcome]) -> Answered {
    let test = AlertTest {
        mode: plan.mode,
        pcpus: plan.pcpus,
        vcpus: plan.vcpus,
        dom0_percent: plan.dom0,
        dom0_work: plan.dom0_work,
        seconds: plan.seconds,
        windows_s: plan.windows.clone(),
        seed: plan.seed,
        policies: outcomes.to_vec(),
    };
    let mut answer = Answered::new(spec(), test.cells());
    answer.findings = outcomes.iter().flat_map(text::findings).collect();
    answer
}

/// One host to simulate.
struct Job<'s> {
    subject: &'s AlertSubject,
    allocation: u32,
    built: Built,
    kept_as: Subject,
}

/// What the simulation of one allocation is kept as.
fn kept_as(
    plan: &AlertPlan,
    subject: &AlertSubject,
    allocation: u32,
    scenario: &Scenario,
) -> Subject {
    let name = format!("alert {}", subject.label);
    let settings = format!("dom1 at {allocation} %, {} s", plan.seconds);
    let fingerprint = Subject::of_scenario(scenario, &[]).fingerprint;
    Subject::new(&name, &settings, &[fingerprint.as_bytes()])
}

/// What was measured in each job; what was kept is not simulated again.
fn samples(
    plan: &AlertPlan,
    jobs: &[Job<'_>],
    replicator: &impl Replicator,
) -> Result<Vec<Sample>, AlertFault> {
    let fault = Mutex::new(None);
    let make = |job: &Job<'_>| {
        let bins = AlertBins::new(Instant::ZERO + job.built.warmup, plan.seconds);
        let ended = simulate(&job.built, 0, bins).map_err(|ended| {
            let told = ended.to_string();
            let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
            fault.get_or_insert(ended);
            told
        })?;
        Ok(ended.sink.sample())
    };
    let make = &make;
    let wanted = jobs.iter().map(|job| SampleJob {
        name: job.subject.policy.descriptor.name,
        key: Some(SampleKey {
            subject: &job.kept_as,
            seed: job.built.seed,
            replication: 0,
        }),
        make: Box::new(move || make(job)),
    });
    let wanted: Vec<SampleJob<'_>> = wanted.collect();
    let all: Result<Vec<Sample>, String> = replicator.samples(&wanted).into_iter().collect();
    drop(wanted);
    let fault = fault.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (all, fault) {
        (Ok(all), _) => Ok(all),
        (Err(_), Some(fault)) => Err(fault.into()),
        (Err(told), None) => Err(AlertFault::TooMuch(told)),
    }
}

/// Tests every subject with every allocation of `plan`; `replicator` does the simulations.
///
/// # Errors
/// The first fault, in the order of subjects and allocations.
pub fn run(
    plan: &AlertPlan,
    subjects: &[AlertSubject],
    replicator: &impl Replicator,
) -> Result<Vec<AlertOutcome>, AlertFault> {
    let mut jobs = Vec::new();
    for subject in subjects {
        for &allocation in &plan.allocations {
            let scenario = scenario(plan, subject, allocation)?;
            jobs.push(Job {
                subject,
                allocation,
                built: build(&scenario)?,
                kept_as: kept_as(plan, subject, allocation, &scenario),
            });
        }
    }
    let samples = samples(plan, &jobs, replicator)?;
    let points = jobs.iter().zip(&samples);
    let points = points.map(|(job, sample)| point(plan, job, &AlertBins::of(sample)));
    let points: Result<Vec<AlertPoint>, AlertFault> = points.collect();
    let mut points = points?.into_iter();
    let outcome = |subject: &AlertSubject| {
        let descriptor = subject.policy.descriptor;
        let points: Vec<AlertPoint> = points.by_ref().take(plan.allocations.len()).collect();
        let summary = summary(plan, &points);
        Ok(AlertOutcome {
            label: subject.label.clone(),
            policy: descriptor.name.into(),
            way: allocation::told(allocation::way(descriptor, plan.mode)?, plan.mode),
            worst: Inner(worst(plan, subject, &points, &summary)?),
            points,
            summary,
        })
    };
    subjects.iter().map(outcome).collect()
}

fn build(scenario: &Scenario) -> Result<Built, AlertFault> {
    scenario.build(&NoReplay).map_err(AlertFault::Scenario)
}

fn point(plan: &AlertPlan, job: &Job<'_>, bins: &AlertBins) -> Result<AlertPoint, AlertFault> {
    let allocated = f64::from(job.allocation);
    let whole = |domain| bins.shares(domain, plan.seconds)[0];
    let descriptor = job.subject.policy.descriptor;
    let way = allocation::way(descriptor, plan.mode)?;
    let told = allocation::settings(way, descriptor, plan.terms(), job.allocation);
    Ok(AlertPoint {
        guest: AlertShare::of(allocated, whole(GUEST)),
        dom0: Inner(AlertShare::of(f64::from(plan.dom0), whole(DOM0))),
        told: told.iter().map(|(k, v)| format!("{k} = {v}")).collect(),
        windows: plan
            .windows
            .iter()
            .map(|s| WindowErrors::of(*s, &bins.shares(GUEST, *s), allocated))
            .collect(),
    })
}

fn summary(plan: &AlertPlan, points: &[AlertPoint]) -> Vec<AlertSummary> {
    let of_window = |(i, seconds): (usize, &u64)| {
        let errors = || points.iter().map(|p| (p, &p.windows[i]));
        let sum: f64 = errors().map(|(_, w)| w.mean_percent).sum();
        let larger = |a: &(f64, f64), b: &(f64, f64)| a.0.abs().total_cmp(&b.0.abs());
        // Of equal errors, that of the smallest allocation.
        let all = errors().map(|(p, w)| (w.worst_percent, p.guest.allocated_percent));
        let (worst_percent, worst_allocation) = all.rev().max_by(larger).unwrap_or((0.0, 0.0));
        AlertSummary {
            seconds: *seconds,
            mean_percent: sum / points.len().max(1) as f64,
            worst_percent,
            worst_allocation,
        }
    };
    plan.windows.iter().enumerate().map(of_window).collect()
}

/// The allocation with the largest error over the longest windows; where that is small, over the
/// shortest ones.
fn worst(
    plan: &AlertPlan,
    subject: &AlertSubject,
    points: &[AlertPoint],
    summary: &[AlertSummary],
) -> Result<AlertWorst, AlertFault> {
    let last = summary.len() - 1;
    let index = match summary[last].worst_percent.abs() >= NOTABLE {
        true => last,
        false => 0,
    };
    let allocation = summary[index].worst_allocation;
    let found = |p: &&AlertPoint| p.guest.allocated_percent == allocation;
    let point = points.iter().find(found).unwrap_or(&points[0]);
    let built = build(&scenario(plan, subject, allocation as u32)?)?;
    let window = &point.windows[index];
    Ok(AlertWorst::explain(
        &built,
        point.guest,
        window,
        plan.vcpus,
    )?)
}

#[cfg(test)]
mod tests;
