//! A scenario of a recorded host: what its guests asked for is replayed from its trace, so that the
//! same host can be tried under other policies and settings.
//!
//! ```text
//! trace ─▶ Shown ─┐
//! xl sched-credit ─▶ SchedText ─┼─▶ Draft ─▶ text of a scenario, with comments
//! xl vcpu-list ─▶ ListedDomain ─┘
//! ```
//!
//! The trace shows pcpus, vcpus, the policy, slices and the rate limit. What `xl` or `xm` printed
//! tells names, weights, caps, reservations, pins and soft affinity. What neither tells has a
//! default, and the text says so. Rules are those of Xen 4.17, as those of every twin are.

mod domain;
mod shown;
mod write;
mod xl;

pub use shown::Shown;
pub use xl::{ListedDomain, SchedDomain, SchedText, XlError, list, sched_text};

use domain::Domain;
use domio_core::XenVersion;
use domio_scenario::{MAX_VCPUS, Scenario, ScenarioErrors};
use domio_sched::Policy;
use domio_trace::TraceHeader;
use std::collections::{BTreeMap, BTreeSet};

/// The release whose rules the scenario has.
const RULES: XenVersion = XenVersion::V4_17;

/// What a scenario is made of, and what its comments call the sources.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Path of the trace, as the scenario names it.
    pub trace: String,
    /// The command that makes the scenario.
    pub command: String,
    /// Counts a second of the trace's clock, for traces that do not tell, and where the figure is
    /// from.
    pub hz: Option<(u64, String)>,
    /// The head of a trace of domio's own.
    pub header: Option<TraceHeader>,
    /// Settings of the scheduler, and the name of their file.
    pub sched: Option<(SchedText, String)>,
    /// Domains, and the name of their file.
    pub list: Option<(BTreeMap<u16, ListedDomain>, String)>,
}

/// Why no scenario can be made of a trace.
#[derive(Debug, thiserror::Error)]
pub enum FromTraceError {
    /// The trace does not show what is needed.
    #[error("{0}")]
    Unusable(String),
    /// What was read contradicts itself.
    #[error("what the trace and the files tell makes no scenario: {0}")]
    Scenario(ScenarioErrors),
}

/// A scenario before it is written.
#[derive(Debug, Default)]
struct Draft {
    seconds: String,
    pcpus: u16,
    policy: String,
    params: Vec<(String, i64)>,
    domains: Vec<Domain>,
    /// Sentences for the file's head: what is from where.
    derived: Vec<String>,
    assumed: Vec<String>,
    /// What was taken of settings, and from where.
    taken: Vec<(String, Vec<&'static str>)>,
}

impl Draft {
    /// Notes that `what` is from `source`.
    fn take(&mut self, what: &'static str, source: &str) {
        let at = self.taken.iter().position(|(from, _)| from == source);
        let at = at.unwrap_or_else(|| {
            self.taken.push((source.to_owned(), Vec::new()));
            self.taken.len() - 1
        });
        let taken = &mut self.taken[at].1;
        if !taken.contains(&what) {
            taken.push(what);
        }
    }
}

/// The text of a scenario of the host that `shown` and `sources` tell of.
///
/// # Errors
/// When the trace shows no vcpu, or what it and the files tell cannot be one host.
pub fn scenario(
    shown: &Shown,
    sources: &Sources,
    policies: &'static [Policy],
) -> Result<String, FromTraceError> {
    let unusable = |why: &str| Err(FromTraceError::Unusable(why.to_owned()));
    let Some(length) = shown.length().filter(|length| *length > 0) else {
        return unusable(
            "the trace has no two records at different times; record the host for longer",
        );
    };
    if shown.vcpus().is_empty() {
        return unusable(
            "the trace shows no vcpu of any domain; record while the guests work, with `xentrace \
             -e 0x0002f000`",
        );
    }
    let mut draft = Draft {
        seconds: seconds(length),
        ..Draft::default()
    };
    let policy = policy(&mut draft, shown, sources, policies);
    let ids = ids(shown, sources);
    draft.pcpus = pcpus(&mut draft, shown, sources);
    params(&mut draft, shown, sources, policy);
    let mut names = BTreeSet::new();
    for id in ids {
        let domain = domain::domain(&mut draft, id, (shown, sources), policy, &mut names);
        draft.domains.push(domain);
    }
    let vcpus: usize = draft.domains.iter().map(|d| usize::from(d.vcpus)).sum();
    if vcpus > MAX_VCPUS {
        return Err(FromTraceError::Unusable(format!(
            "the trace and the files tell of {vcpus} vcpus; a scenario has {MAX_VCPUS} at most, \
             and no host has as many: the trace is damaged, record the host anew"
        )));
    }
    say_sources(&mut draft, sources);
    let text = write::text(&draft, sources);
    match Scenario::parse("the scenario", text.as_bytes(), policies) {
        Ok(_) => Ok(text),
        Err(errors) => Err(FromTraceError::Scenario(errors)),
    }
}

/// Nanoseconds as seconds, without zeros at the end.
fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The policy of the host, or credit where domio has no such policy.
fn policy(
    draft: &mut Draft,
    shown: &Shown,
    sources: &Sources,
    policies: &'static [Policy],
) -> Option<&'static Policy> {
    let of_header = sources.header.as_ref().map(|h| h.policy.as_str());
    let told = [
        of_header
            .filter(|p| !p.is_empty())
            .map(|p| (p, "the head of the trace")),
        shown
            .policy()
            .map(|p| (p, "the policy's records in the trace")),
        sources
            .sched
            .as_ref()
            .and_then(|(sched, _)| sched.policy)
            .map(|p| (p, "the settings of the scheduler")),
    ];
    let find = |name: &str| policies.iter().find(|p| p.descriptor.name == name);
    let told = told.into_iter().flatten().next();
    draft.policy = "credit".to_owned();
    match told {
        Some((name, source)) if find(name).is_some() => {
            draft.derived.push(format!("the policy, {name}: {source}"));
            draft.policy = name.to_owned();
        }
        Some((name, source)) => draft.assumed.push(format!(
            "the policy is credit: the host ran {name} ({source}), which domio does not have"
        )),
        None => draft
            .assumed
            .push("the policy is credit: nothing tells which one it was".to_owned()),
    }
    find(&draft.policy)
}

fn ids(shown: &Shown, sources: &Sources) -> BTreeSet<u16> {
    let header = sources.header.iter().flat_map(|h| &h.domains).map(|d| d.id);
    let sched = sources
        .sched
        .iter()
        .flat_map(|(sched, _)| sched.domains.keys());
    let list = sources.list.iter().flat_map(|(list, _)| list.keys());
    let traced = shown.vcpus().keys().map(|v| v.domain.0);
    traced
        .chain(header)
        .chain(sched.copied())
        .chain(list.copied())
        .collect()
}

/// As many pcpus as the trace, its head and pins tell of.
fn pcpus(draft: &mut Draft, shown: &Shown, sources: &Sources) -> u16 {
    let header = sources.header.as_ref().map_or(0, |h| h.pcpus);
    let header = u16::try_from(header).unwrap_or(u16::MAX);
    let pins = sources.list.iter().flat_map(|(list, _)| list.values());
    let pins = pins.flat_map(|d| {
        let sets = d.hard.values().chain(d.soft.values()).flatten();
        sets.chain(&d.last_pcpu)
    });
    let listed = pins.max().map_or(0, |last| last + 1);
    let most = shown.pcpus().max(header).max(listed);
    let plural = if most == 1 { "" } else { "s" };
    let source = match most {
        _ if most == header => "the head of the trace",
        _ if most > shown.pcpus() => "the list of domains or vcpus names that many",
        _ => "the trace has records of that many",
    };
    draft.derived.push(format!("{most} pcpu{plural}: {source}"));
    draft.assumed.push(
        "one socket of cores without threads: topology and caches are not in a trace".to_owned(),
    );
    most
}

/// Parameters of the policy.
fn params(draft: &mut Draft, shown: &Shown, sources: &Sources, policy: Option<&'static Policy>) {
    let specs = policy.map_or(&[][..], |p| p.descriptor.params);
    let told = sources
        .sched
        .as_ref()
        .map(|(sched, file)| (&sched.params, file));
    let mut defaults = Vec::new();
    for name in ["tslice_ms", "ratelimit_us", "migration_delay_us"] {
        let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
            continue;
        };
        let of_file = told.and_then(|(params, file)| Some((*params.get(name)?, file.clone())));
        let of_trace = match name {
            "tslice_ms" => shown.tslice_ms().map(|ms| (ms, "the slices in the trace")),
            "ratelimit_us" => shown.ratelimit_us().map(|us| {
                let source = "what passes left of it in the trace";
                (us, source)
            }),
            _ => None,
        };
        let found = of_file.or(of_trace.map(|(value, from)| (value, from.to_owned())));
        match found {
            Some((value, source)) => {
                draft.derived.push(format!("{name} = {value}: {source}"));
                draft.params.push((spec.name.to_owned(), value));
            }
            None => defaults.push(name),
        }
    }
    if !defaults.is_empty() {
        draft
            .assumed
            .push(format!("Xen's defaults of {}", defaults.join(", ")));
    }
}

/// `what` as a phrase: names, vcpus and pins.
fn listed(what: &[&str]) -> String {
    match what {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Which of the host's settings are from which file.
fn say_sources(draft: &mut Draft, sources: &Sources) {
    let derived = &mut draft.derived;
    if let Some((_, from)) = &sources.hz {
        derived.push(format!("the clock of the trace: {from}"));
    }
    derived.push("what each vcpu asks for: replayed from the trace".to_owned());
    for (source, taken) in std::mem::take(&mut draft.taken) {
        derived.push(format!("{}: {source}", listed(&taken)));
    }
    if let Some((list, file)) = &sources.list {
        let sets = || list.values().flat_map(|d| d.hard.values());
        if sets().next().is_some() && sets().all(Vec::is_empty) {
            derived.push(format!("no vcpu is pinned: {file}"));
        }
    }
    let told = sources.list.iter().flat_map(|(list, _)| list.values());
    if told.flat_map(|d| d.hard.values()).next().is_none() {
        draft
            .assumed
            .push("no vcpu is pinned: nothing tells, as `xl vcpu-list` does".to_owned());
    }
    draft.assumed.push(format!(
        "rules of Xen {}: set host.xen and scheduler.version to the host's release",
        RULES.name()
    ));
    draft.assumed.push(
        "a hypervisor whose work takes no time: set host.profile to a machine like the host"
            .to_owned(),
    );
}

#[cfg(test)]
mod tests;
