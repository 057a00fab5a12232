//! A scenario of a host of which nothing is known but what `xl` or `xm` printed.
//!
//! ```text
//! xl list, vcpu-list, sched-*, info, uptime ─▶ HostLists ─┬─▶ Draft ─▶ text of a scenario
//!                                  two lists ─▶ loads ─┘
//! ```
//!
//! Lists tell domains, vcpus, weights, caps, reservations, pins and soft affinity; `xl info` tells
//! pcpus, release and scheduler. How busy a domain was follows from two lists. No list says how
//! long its work is and when it comes, so that shares follow from a list, and waits are those of
//! what is assumed. The text says what was told and by what, what is assumed, and what would say.

#[cfg(test)]
mod changes_tests;
pub(crate) mod demand;
mod load;
mod options;
mod say;
mod snapshots;
#[cfg(test)]
mod tests;

pub use crate::xl::{CpuTimes, HostLists, ListKind, XlError};
pub use options::{FromListsError, ListOptions, OfLists};

use crate::draft::domain;
use crate::draft::{Draft, Sources, write};
use demand::{Demand, Guessed};
use domio_contract::Policy;
use domio_core::{ParamKind, XenVersion};
use domio_scenario::{MAX_VCPUS, Scenario};
use load::{By, Used, loads};
use std::collections::{BTreeMap, BTreeSet};

/// The release whose rules hold where nothing says which one it is.
const RELEASE: XenVersion = XenVersion::V4_17;

/// The text of a scenario of the host that `lists` report.
///
/// # Errors
/// When they report no domain, contradict each other, or cannot be one host.
pub fn scenario(
    lists: &HostLists,
    options: &ListOptions,
    policies: &[Policy],
) -> Result<OfLists, FromListsError> {
    let (now, changes) = snapshots::last(lists, options.interval_ms.is_some());
    let ids = ids(&now);
    if ids.is_empty() {
        return Err(FromListsError::Unusable(
            "the lists have no domain; give the output of `xl list`, `xl vcpu-list` or `xl \
             sched-credit2`"
                .to_owned(),
        ));
    }
    let mut loads = loads(lists, options.interval_ms)?;
    loads.retain(|id, _| ids.contains(id));
    let lists = &now;
    let sources = sources(lists, options);
    let mut draft = Draft {
        title: format!("The host of {}", files(lists)),
        run: vec![
            ("warmup_s", "1".to_owned()),
            ("duration_s", "10".to_owned()),
        ],
        ..Draft::default()
    };
    let release = release(lists);
    let policy = policy(&mut draft, lists, release.known(), policies);
    host(&mut draft, lists, options, &loads)?;
    draft.host.insert(0, ("profile", "\"ideal\"".to_owned()));
    draft
        .host
        .insert(1, ("xen", format!("\"{}\"", release.rules().name())));
    params(&mut draft, lists, &release, policy);
    let mut names = BTreeSet::new();
    let mut guessed = Guessed::default();
    for id in ids {
        let demanded = |vcpus| {
            let demand = Demand {
                lists,
                options,
                id,
                load: loads.get(&id),
            };
            demand.demanded(vcpus, &mut guessed)
        };
        let domain = domain::domain(&mut draft, (id, 0), &sources, policy, &mut names, demanded);
        guessed.name(id, &domain.name);
        draft.domains.push(domain);
    }
    let vcpus: usize = draft.domains.iter().map(|d| usize::from(d.vcpus)).sum();
    if vcpus > MAX_VCPUS {
        return Err(FromListsError::Unusable(format!(
            "the lists have {vcpus} vcpus; a scenario has {MAX_VCPUS} at most"
        )));
    }
    say::sources(&mut draft, lists, &sources, &loads);
    say::assumed(&mut draft, options, &loads, &guessed);
    say::changed(&mut draft, &changes);
    say::unknown(&mut draft, (lists, options), (&loads, &changes), &guessed);
    say::tries(&mut draft);
    let text = write::text(&draft, &options.command);
    match Scenario::parse("the scenario", text.as_bytes(), policies) {
        Ok(_) => Ok(OfLists {
            text,
            notices: draft.unknown,
        }),
        Err(errors) => Err(FromListsError::Scenario(errors)),
    }
}

/// Domains that any list names.
fn ids(lists: &HostLists) -> BTreeSet<u16> {
    let of_sched = lists.sched.iter().flat_map(|sched| sched.domains.keys());
    lists.domains.keys().chain(of_sched).copied().collect()
}

/// All files that were read, each once.
fn files(lists: &HostLists) -> String {
    let mut all: Vec<&str> = Vec::new();
    for file in lists.printed.values().flat_map(|files| files.split(", ")) {
        if !all.contains(&file) {
            all.push(file);
        }
    }
    all.join(", ")
}

/// What reports domains and of the scheduler, with the names of the outputs.
fn sources(lists: &HostLists, options: &ListOptions) -> Sources {
    let named = |what: ListKind| {
        let files = lists.printed.get(&what)?;
        Some(format!("`{}` ({files})", what.command()))
    };
    let of_domains = [ListKind::List, ListKind::VcpuList, ListKind::LongList];
    let of_domains: Vec<String> = of_domains.into_iter().filter_map(named).collect();
    let of_domains: Vec<&str> = of_domains.iter().map(String::as_str).collect();
    let list =
        (!lists.domains.is_empty()).then(|| (lists.domains.clone(), write::listed(&of_domains)));
    let of_sched = named(ListKind::Sched).unwrap_or_default();
    Sources {
        command: options.command.clone(),
        sched: lists.sched.clone().map(|sched| (sched, of_sched)),
        list,
        ..Sources::default()
    }
}

/// The release that `xl info` tells: the numbers at the head of `xen_version`, behind which vendors
/// have their own, or `xen_major` and `xen_minor`. With it, what `xl info` has where that is no
/// release of domio.
fn release(lists: &HostLists) -> Release {
    let of_version = lists.info.get("xen_version").and_then(|v| numbers(v));
    let of_numbers = || {
        let number = |key: &str| lists.info.get(key)?.parse().ok();
        Some(vec![number("xen_major")?, number("xen_minor")?])
    };
    let Some(told) = of_version.or_else(of_numbers) else {
        return Release::Unknown;
    };
    let words: Vec<String> = told.iter().map(u16::to_string).collect();
    // Releases before 3.1 have three numbers, and all others two.
    let found = [3, 2].into_iter().find_map(|n| {
        let words = words.get(..n.min(words.len()))?;
        XenVersion::of_release(&words.join("."))
    });
    match (found, XenVersion::ALL.last()) {
        (Some(release), _) => Release::Known(release),
        (None, Some(newest)) if numbers(newest.name()).is_some_and(|newest| told > newest) => {
            Release::Other(*newest, words.join("."))
        }
        _ => Release::Other(RELEASE, words.join(".")),
    }
}

/// What reports the release.
enum Release {
    /// One of domio's.
    Known(XenVersion),
    /// None of domio's: the one whose rules hold instead, and what the host has.
    Other(XenVersion, String),
    /// Nothing says.
    Unknown,
}

impl Release {
    fn known(&self) -> Option<XenVersion> {
        match self {
            Release::Known(release) => Some(*release),
            _ => None,
        }
    }

    fn rules(&self) -> XenVersion {
        match self {
            Release::Known(release) | Release::Other(release, _) => *release,
            Release::Unknown => RELEASE,
        }
    }
}

/// The numbers at the head of a version, two at least: 4, 13 and 0 of `4.13.0-8.9.1.xcpng`.
fn numbers(version: &str) -> Option<Vec<u16>> {
    let is_other = |c: char| !c.is_ascii_digit() && c != '.';
    let head = version.trim().split(is_other).next()?;
    let numbers: Vec<u16> = head.split('.').map_while(|n| n.parse().ok()).collect();
    (numbers.len() >= 2).then_some(numbers)
}

/// The scheduler, by settings or by `xl info`; else the release's default.
fn policy<'p>(
    draft: &mut Draft,
    lists: &HostLists,
    release: Option<XenVersion>,
    policies: &'p [Policy],
) -> Option<&'p Policy> {
    let find = |name: &str| policies.iter().find(|p| p.descriptor.name == name);
    let of_sched = lists.sched.as_ref().and_then(|sched| sched.policy);
    let of_info = lists.info.get("xen_scheduler").map(String::as_str);
    let told = of_sched
        .map(|name| (name, "its settings"))
        .or_else(|| of_info.map(|name| (name, "`xl info`")));
    let by_default = match release {
        Some(release) if release < XenVersion::V4_12 => "credit",
        _ => "credit2",
    };
    draft.policy = by_default.to_owned();
    match told {
        Some((name, by)) if find(name).is_some() => {
            draft.derived.push(format!("the scheduler, {name}: {by}"));
            draft.policy = name.to_owned();
        }
        Some((name, by)) => draft.assumed.push(format!(
            "the scheduler is {by_default}: the host has {name} ({by}), which domio does not have"
        )),
        None => {
            draft.assumed.push(format!(
                "the scheduler is {by_default}, Xen's default {}",
                match by_default {
                    "credit" => "before 4.12",
                    _ => "since 4.12",
                }
            ));
            draft
                .unknown
                .push("which scheduler the host has: `xl info` (`xen_scheduler`)".to_owned());
        }
    }
    if let (Some(sched), Some(info)) = (of_sched, of_info.filter(|i| Some(*i) != of_sched)) {
        draft.assumed.push(format!(
            "every pool has {sched}: `xl info` also names {info}, and pools are left out"
        ));
    }
    find(&draft.policy)
}

/// Pcpus and their arrangement.
fn host(
    draft: &mut Draft,
    lists: &HostLists,
    options: &ListOptions,
    loads: &BTreeMap<u16, (Used, By)>,
) -> Result<(), FromListsError> {
    let sets = lists.domains.values().flat_map(|d| {
        let sets = d.hard.values().chain(d.soft.values()).flatten();
        sets.chain(&d.last_pcpu)
    });
    let named = sets.max().map_or(0, |last| last.saturating_add(1));
    let busy = loads.values().map(|(used, _)| used.sum()).sum::<u64>();
    // Lists round, and are not made at one instant.
    let busy = u16::try_from(busy.saturating_sub(50).div_ceil(1_000)).unwrap_or(u16::MAX);
    let told = options
        .pcpus
        .map(|n| (n, "--pcpus"))
        .or_else(|| Some((lists.number("nr_cpus")?, "`xl info`")));
    let Some((pcpus, by)) = told else {
        let pcpus = named.max(busy).max(1);
        draft.pcpus = pcpus;
        draft.host = vec![("cores", pcpus.to_string())];
        let why = match pcpus {
            _ if named >= busy && named > 0 => "no list names a higher one",
            _ if busy > 0 => "so many were busy together",
            _ => "no list shows more",
        };
        let plural = if pcpus == 1 { "" } else { "s" };
        draft.assumed.push(format!(
            "{pcpus} pcpu{plural}, of cores without threads in one socket: {why}, and the host may \
             have more"
        ));
        let unknown = "how many pcpus the host has: `xl info` (`nr_cpus`), or --pcpus".to_owned();
        draft.unknown.push(unknown);
        return Ok(());
    };
    if named > pcpus {
        return Err(FromListsError::Unusable(format!(
            "a list names pcpu {}, and {by} says {pcpus}, which count from 0",
            named - 1
        )));
    }
    if busy > pcpus {
        return Err(FromListsError::Unusable(format!(
            "all domains together used the time of {busy} pcpus, and {by} says {pcpus}; \
             --interval is the time from the first list to the last"
        )));
    }
    draft.pcpus = pcpus;
    draft.derived.push(format!("{pcpus} pcpus: {by}"));
    let threads = lists.number("threads_per_core").unwrap_or(1);
    let cores = lists.number("cores_per_socket").unwrap_or(pcpus);
    let in_socket = u32::from(threads) * u32::from(cores);
    let is_whole = u32::from(pcpus) % in_socket == 0 && by != "--pcpus";
    let is_told = is_whole && lists.info.contains_key("cores_per_socket");
    draft.host = match is_told {
        true => {
            draft
                .derived
                .push("sockets, cores and threads: `xl info`".to_owned());
            let sockets = u32::from(pcpus) / in_socket;
            vec![
                ("sockets", sockets.to_string()),
                ("cores", cores.to_string()),
                ("threads", threads.to_string()),
            ]
        }
        false => {
            let one = "cores without threads in one socket: no list shows how pcpus are arranged";
            draft.assumed.push(one.to_owned());
            vec![("cores", pcpus.to_string())]
        }
    };
    Ok(())
}

/// Parameters of the policy.
fn params(draft: &mut Draft, lists: &HostLists, release: &Release, policy: Option<&Policy>) {
    let specs = policy.map_or(&[][..], |p| p.descriptor.params);
    let told = lists.sched.as_ref().map(|sched| &sched.params);
    let mut defaults = Vec::new();
    for name in ["tslice_ms", "ratelimit_us", "migration_delay_us"] {
        if !specs.iter().any(|spec| spec.name == name) {
            continue;
        }
        match told.and_then(|params| params.get(name)) {
            Some(value) => {
                draft
                    .derived
                    .push(format!("{name} = {value}: the settings of the scheduler"));
                draft.params.push((name.to_owned(), value.to_string()));
            }
            None => defaults.push(name),
        }
    }
    if !defaults.is_empty() {
        draft
            .assumed
            .push(format!("Xen's defaults of {}", defaults.join(", ")));
    }
    let release = match release {
        Release::Known(release) => release,
        Release::Other(rules, has) => {
            return draft.assumed.push(format!(
                "rules of Xen {}: the host has {has} (`xl info`), which domio does not have",
                rules.name()
            ));
        }
        Release::Unknown => {
            draft.assumed.push(format!(
                "rules of Xen {}: set host.xen and scheduler.version to the host's release",
                RELEASE.name()
            ));
            let unknown = "the release of Xen: `xl info` (`xen_version`)".to_owned();
            return draft.unknown.push(unknown);
        }
    };
    let versions = specs.iter().find(|spec| spec.name == "version");
    let has = versions.is_some_and(|spec| match spec.kind {
        ParamKind::Choice(words) => words.contains(&release.name()),
        _ => false,
    });
    let by = "`xl info`";
    draft
        .derived
        .push(format!("rules of Xen {}: {by}", release.name()));
    match (has, versions) {
        (true, _) => {
            let version = format!("\"{}\"", release.name());
            draft.params.insert(0, ("version".to_owned(), version));
        }
        (false, Some(_)) => draft.assumed.push(format!(
            "the scheduler's rules are those of its newest release here: {} of {} is not there",
            draft.policy,
            release.name()
        )),
        (false, None) => {}
    }
}
