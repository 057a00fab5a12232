//! The scenario that a command is given, as its arguments change it, and what is said of it.

use crate::args::{How, Reporting};
use crate::files::Files;
use crate::out;
use crate::report::{self, ReportFile, ReportKey};
use crate::shared::choice::Choice;
use anyhow::bail;
use domio_core::Duration;
use domio_front::scenarios;
use domio_report::run_answer;
use domio_scenario::{Built, Parts, Scenario};
use domio_trace::scenario_sha256;
use std::path::{Path, PathBuf};

/// The scenario with the changes that the command line asks for; its notices are told. `policy` is
/// as for [`Choice::parse`].
pub fn load(
    name: &str,
    how: &How,
    policy: Option<&str>,
    parts: &Parts,
) -> anyhow::Result<Scenario> {
    let scenario = read(name, how, policy, parts)?;
    for notice in scenario.notices() {
        out::notice(notice);
    }
    Ok(scenario)
}

/// As [`load`], and nothing is told.
pub fn read(
    name: &str,
    how: &How,
    policy: Option<&str>,
    parts: &Parts,
) -> anyhow::Result<Scenario> {
    refuse_doubled(&how.set, "leave one out, or see both with `domio compare`")?;
    let scenario = scenarios::load(name, parts)?;
    let seed = how.seed.map(|seed| seed.to_string());
    let choice = policy.map(|text| Choice::parse(text, parts)).transpose()?;
    let choice = choice.map_or_else(Vec::new, |choice| choice.changes());
    let pairs = choice.iter();
    let pairs = pairs.map(|(key, value)| (key.as_str(), value.as_str()));
    let mut changes: Vec<(&str, &str)> = pairs.collect();
    changes.extend(
        how.set
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str())),
    );
    if let Some(seed) = &seed {
        changes.push(("seed", seed));
    }
    scenario.with(&changes).map_err(scenarios::mistakes)
}

/// Refuses two values of one key: one of them would be ignored.
/// `advice` says what to do.
///
/// # Errors
/// The first key with two values.
pub fn refuse_doubled(set: &[(String, String)], advice: &str) -> anyhow::Result<()> {
    for (at, (key, value)) in set.iter().enumerate() {
        if let Some((_, before)) = set[..at].iter().find(|(other, _)| other == key) {
            bail!("--set gives {key} twice, as {before} and as {value}; {advice}");
        }
    }
    Ok(())
}

/// What a report of `domio VERB` on `scenarios` shows, run as `how` says under `policies`.
pub fn shown(verb: &str, scenarios: &[String], how: &How, policies: &[String]) -> ReportKey {
    let mut shown = ReportKey::new(verb, scenarios);
    for policy in policies {
        shown = shown.with("--policy", policy);
    }
    for (key, value) in &how.set {
        shown = shown.with("--set", format!("{key}={value}"));
    }
    if let Some(seed) = how.seed {
        shown = shown.with("--seed", seed);
    }
    match how.replications {
        1 => shown,
        n => shown.with("--replications", n),
    }
}

/// Begins the report of what is made of `files`, for commands that write nothing else.
///
/// # Errors
/// When the command reads from there, or it cannot be written.
pub fn report_beside(
    mut files: Files,
    reporting: &Reporting,
    shown: &ReportKey,
) -> anyhow::Result<Option<ReportFile>> {
    files.prints()?;
    report::wanted(&mut files, reporting, shown)
}

/// The policy of `built`, or that of each pool.
pub fn policy_names(built: &Built) -> String {
    let pools = run_answer::pools(built).map(|(name, policy)| format!("{policy} in {name}"));
    match pools.collect::<Vec<_>>() {
        pools if pools.is_empty() => built.policy.descriptor.name.to_owned(),
        pools => pools.join(", "),
    }
}

/// Title of a report on `scenario`.
pub fn title(scenario: &Scenario) -> String {
    let title = scenario.plan().title.clone();
    title.unwrap_or_else(|| scenario.name().to_owned())
}

/// All that the figures are a function of.
pub fn provenance(
    scenario: &Scenario,
    built: &Built,
    policies: &str,
    replications: u32,
) -> Vec<(String, String)> {
    let seconds = |d: Duration| d.as_nanos() as f64 / 1e9;
    let mut facts = vec![
        ("version", format!("domio {}", env!("CARGO_PKG_VERSION"))),
        ("scenario", scenario.name().to_owned()),
        ("its SHA-256", scenario_sha256(scenario.text().as_bytes())),
        ("policy", policies.to_owned()),
        ("seed", built.seed.to_string()),
        ("replications", replications.to_string()),
        ("measured time", format!("{} s", seconds(built.duration))),
        ("warm-up before it", format!("{} s", seconds(built.warmup))),
    ];
    // The policy has its own line.
    let other = |change: &&str| !change.starts_with("scheduler.policy");
    let overrides: Vec<&str> = scenario.overrides().filter(other).collect();
    if !overrides.is_empty() {
        facts.push(("changed", overrides.join(", ")));
    }
    facts
        .into_iter()
        .map(|(name, fact)| (name.to_owned(), fact))
        .collect()
}

/// The files of a command that simulates `scenario`: what was read of it, and what will be when it
/// is built.
pub fn files(scenario: &Scenario) -> Files {
    Files::reading(inputs(scenario))
}

/// What is read of `scenario`, as [`Files::reading`] takes it.
pub fn inputs(scenario: &Scenario) -> Vec<(&'static str, PathBuf)> {
    let own = Path::new(scenario.name());
    // A shipped one goes by a name at which there is no file, or it would have been read.
    let own = own.exists().then(|| ("the scenario", own.to_owned()));
    let plan = scenario.plan();
    let replays = plan.replays.iter();
    let replays = replays.map(|replay| ("the replayed trace", replay.trace.as_str()));
    let inputs = plan.inputs.iter().map(|input| input.input.path());
    let files = replays.chain(inputs.map(|path| ("the file of a workload", path)));
    let files = files.map(|(what, path)| (what, scenario.folder().join(path)));
    own.into_iter().chain(files).collect()
}
