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
//! gives names, weights, caps, reservations, pins and soft affinity. What neither tells has a
//! default, and the text says so. Rules are those of Xen 4.17, as those of every simulation are.
//! Traces of Linux have control groups as domains, and threads as vcpus.

mod inside;
mod linux;
mod shown;
mod tree;

pub use crate::draft::{LinuxSources, Sources};
pub use crate::xl::{ListedDomain, SchedDomain, SchedText, XlError, list, sched_text};
pub use shown::Shown;

use crate::draft::domain::{self, Demanded, Setting};
use crate::draft::{Draft, write};
use domio_contract::Policy;
use domio_core::XenVersion;
use domio_scenario::{MAX_VCPUS, Scenario, ScenarioErrors};
use std::collections::BTreeSet;

/// The release whose rules the scenario has.
const RULES: XenVersion = XenVersion::V4_17;

/// Why no scenario can be made of a trace.
#[derive(Debug, thiserror::Error)]
pub enum FromTraceError {
    /// The trace does not show what is needed.
    #[error("{0}")]
    Unusable(String),
    /// What was read contradicts itself.
    #[error("the trace and the files make no valid scenario: {0}")]
    Scenario(ScenarioErrors),
}

/// The text of a scenario of the host that `shown` and `sources` report.
///
/// # Errors
/// When the trace shows no vcpu, or what it and the files say cannot be one host.
pub fn scenario(
    shown: &Shown,
    sources: &Sources,
    policies: &[Policy],
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
    let title = sources.trace.rsplit('/').next().unwrap_or(&sources.trace);
    let mut draft = Draft {
        title: format!("The host of {title}"),
        run: vec![("duration_s", seconds(length))],
        ..Draft::default()
    };
    if let Some(host) = &sources.linux {
        linux::fill(&mut draft, shown, sources, host);
        return checked(&draft, sources, policies);
    }
    let policy = policy(&mut draft, shown, sources, policies);
    let ids = ids(shown, sources);
    draft.pcpus = pcpus(&mut draft, shown, sources);
    draft.host = vec![
        ("profile", "\"ideal\"".to_owned()),
        ("xen", format!("\"{}\"", RULES.name())),
        ("cores", draft.pcpus.to_string()),
    ];
    params(&mut draft, shown, sources, policy);
    let mut names = BTreeSet::new();
    for id in ids {
        let vcpus = shown.vcpus().keys().filter(|v| v.domain.0 == id);
        let replayed: Vec<u16> = vcpus.map(|v| v.index).collect();
        let last = replayed.iter().max().map_or(0, |v| v.saturating_add(1));
        let demanded = |vcpus| demanded(id, &replayed, vcpus, sources);
        let domain = domain::domain(
            &mut draft,
            (id, last),
            sources,
            policy,
            &mut names,
            demanded,
        );
        draft.domains.push(domain);
    }
    draft
        .tries
        .push("domio compare THIS --policy credit --policy round-robin".to_owned());
    let has_weight = |d: &&domain::Domain| d.params.iter().any(|(key, _)| *key == "weight");
    if let Some(first) = draft.domains.iter().find(has_weight) {
        let key = format!("domain.{}.weight", first.name);
        let compare = format!("domio compare THIS --set {key}=256 --set {key}=512");
        draft.tries.push(compare);
    }
    say_sources(&mut draft, sources);
    checked(&draft, sources, policies)
}

/// The text of `draft`, if it is a valid scenario.
fn checked(
    draft: &Draft,
    sources: &Sources,
    policies: &[Policy],
) -> Result<String, FromTraceError> {
    let vcpus: usize = draft.domains.iter().map(|d| usize::from(d.vcpus)).sum();
    if vcpus > MAX_VCPUS {
        return Err(FromTraceError::Unusable(format!(
            "the trace and the files have {vcpus} vcpus; a scenario has {MAX_VCPUS} at most, \
             and no host has as many: the trace is damaged, record the host anew"
        )));
    }
    let text = write::text(draft, &sources.command);
    match Scenario::parse("the scenario", text.as_bytes(), policies) {
        Ok(_) => Ok(text),
        Err(errors) => Err(FromTraceError::Scenario(errors)),
    }
}

/// What a domain of `vcpus` vcpus asks for, of which `replayed` are in the trace.
fn demanded(id: u16, replayed: &[u16], vcpus: u16, sources: &Sources) -> Demanded {
    let idle = usize::from(vcpus) - replayed.len();
    let remarks = match (replayed.is_empty(), idle) {
        (true, _) => vec!["The trace has no record of it: it idles.".to_owned()],
        (false, 0) => Vec::new(),
        (false, n) => vec![format!("The trace has no record of {n} of its vcpus.")],
    };
    let task = |vcpu: &u16| {
        let mut task: Vec<Setting> = vec![
            ("name", format!("\"v{vcpu}\"")),
            ("workload", "\"replay\"".to_owned()),
            ("vcpu", vcpu.to_string()),
            ("trace", write::quoted(&sources.trace)),
            ("trace_domain", id.to_string()),
            ("trace_vcpu", vcpu.to_string()),
        ];
        if let Some((hz, _)) = sources.hz {
            task.push(("trace_hz", hz.to_string()));
        }
        task
    };
    Demanded {
        remarks,
        tasks: replayed.iter().map(task).collect(),
    }
}

/// Nanoseconds as seconds, without zeros at the end.
fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The policy of the host, or credit where domio has no such policy.
fn policy<'p>(
    draft: &mut Draft,
    shown: &Shown,
    sources: &Sources,
    policies: &'p [Policy],
) -> Option<&'p Policy> {
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
            .push("the policy is credit: the recorded policy is unknown".to_owned()),
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

/// As many pcpus as the trace, its head and pins report.
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
fn params(draft: &mut Draft, shown: &Shown, sources: &Sources, policy: Option<&Policy>) {
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
                draft.params.push((spec.name.to_owned(), value.to_string()));
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

/// Which of the host's settings are from which file.
fn say_sources(draft: &mut Draft, sources: &Sources) {
    let derived = &mut draft.derived;
    if let Some((_, from)) = &sources.hz {
        derived.push(format!("the clock of the trace: {from}"));
    }
    derived.push("what each vcpu asks for: replayed from the trace".to_owned());
    draft.say_taken();
    draft.say_pins(sources);
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
