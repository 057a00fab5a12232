//! How busy each domain was, by the seconds of processor time that lists show.
//!
//! Two lists that were made one after the other say what each domain, or each vcpu, used in
//! between. One list with `xl uptime` gives the mean since the domain started. Anything else says
//! nothing.

use super::options::FromListsError;
use crate::xl::{CpuTimes, HostLists};
use std::collections::BTreeMap;

/// What more than all of its vcpus' time a domain may have used between two lists (%): the lists
/// are not made at one instant.
const SLACK_PCT: u64 = 5;
/// What rounding of both figures to a tenth of a second comes to (ms).
const ROUNDING_MS: u64 = 200;

/// What a domain used, in thousandths of the time of one pcpu.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Used {
    /// By vcpu.
    Vcpus(BTreeMap<u16, u64>),
    /// All vcpus together.
    Together(u64),
}

impl Used {
    /// Of all vcpus together.
    pub fn sum(&self) -> u64 {
        match self {
            Used::Vcpus(vcpus) => vcpus.values().sum(),
            Used::Together(sum) => *sum,
        }
    }
}

/// What says how busy a domain was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// Two lists, so many ms apart.
    Lists(u64),
    /// Its time since it started so many seconds ago.
    Uptime(u64),
}

/// How busy the domains were, as far as anything tells.
pub(super) fn loads(
    lists: &HostLists,
    interval_ms: Option<u64>,
) -> Result<BTreeMap<u16, (Used, By)>, FromListsError> {
    let mut loads = BTreeMap::new();
    for (id, used) in since_start(lists) {
        loads.insert(id, used);
    }
    let Some(interval) = interval_ms else {
        return Ok(loads);
    };
    let by_domain = both(lists, |times| !times.domains.is_empty());
    let by_vcpu = both(lists, |times| !times.vcpus.is_empty());
    if by_domain.is_none() && by_vcpu.is_none() {
        return Err(FromListsError::Unusable(
            "--interval is given, and no list with the column Time(s) comes twice; give both \
             outputs of `xl list; sleep 10; xl list`, or of `xl vcpu-list`"
                .to_owned(),
        ));
    }
    if let Some([first, last]) = by_domain {
        for (id, after) in &last.domains {
            if let Some(before) = first.domains.get(id) {
                let ms = between(lists, *id, (*before, first), (*after, last))?;
                fits(lists, *id, ms, interval)?;
                let used = Used::Together(ms * 1_000 / interval);
                loads.insert(*id, (used, By::Lists(interval)));
            }
        }
    }
    if let Some([first, last]) = by_vcpu {
        let mut all: BTreeMap<u16, BTreeMap<u16, u64>> = BTreeMap::new();
        for ((id, vcpu), after) in &last.vcpus {
            if let Some(before) = first.vcpus.get(&(*id, *vcpu)) {
                let ms = between(lists, *id, (*before, first), (*after, last))?;
                all.entry(*id).or_default().insert(*vcpu, ms);
            }
        }
        for (id, vcpus) in all {
            fits(lists, id, vcpus.values().sum(), interval)?;
            let used = vcpus.into_iter().map(|(v, ms)| (v, ms * 1_000 / interval));
            loads.insert(id, (Used::Vcpus(used.collect()), By::Lists(interval)));
        }
    }
    Ok(loads)
}

/// The first and the last list that `is_one`, if there are two.
fn both(lists: &HostLists, is_one: impl Fn(&CpuTimes) -> bool) -> Option<[&CpuTimes; 2]> {
    let mut found = lists.times.iter().filter(|times| is_one(times));
    let first = found.next()?;
    Some([first, found.next_back()?])
}

/// The mean of each domain since it started.
fn since_start(lists: &HostLists) -> BTreeMap<u16, (Used, By)> {
    let mut loads = BTreeMap::new();
    for (id, seconds) in &lists.uptimes {
        let of_list = |times: &CpuTimes| {
            let own = times.vcpus.range((*id, 0)..=(*id, u16::MAX));
            let vcpus: Vec<u64> = own.map(|(_, ms)| *ms).collect();
            let together = times.domains.get(id).copied();
            together.or_else(|| (!vcpus.is_empty()).then(|| vcpus.iter().sum()))
        };
        if let Some(ms) = lists.times.iter().rev().find_map(of_list)
            && let Some(used) = ms.checked_div(*seconds)
        {
            // Milliseconds a second are thousandths.
            loads.insert(*id, (Used::Together(used), By::Uptime(*seconds)));
        }
    }
    loads
}

/// The name of a domain, for messages.
fn name(lists: &HostLists, id: u16) -> String {
    let name = lists.domains.get(&id).and_then(|d| d.name.as_deref());
    format!("{} (id {id})", name.unwrap_or("the domain"))
}

/// What was used from the first list to the last.
fn between(
    lists: &HostLists,
    id: u16,
    (before, first): (u64, &CpuTimes),
    (after, last): (u64, &CpuTimes),
) -> Result<u64, FromListsError> {
    after.checked_sub(before).ok_or_else(|| {
        let place = |times: &CpuTimes| format!("{}, line {}", times.at.0, times.at.1);
        FromListsError::Unusable(format!(
            "{} has used {} s in the list of {} and {} s in that of {}, which was read later; give \
             lists in the order in which they were made",
            name(lists, id),
            tenths(before),
            place(first),
            tenths(after),
            place(last)
        ))
    })
}

/// A domain cannot use more than all of its vcpus' time.
fn fits(lists: &HostLists, id: u16, ms: u64, interval: u64) -> Result<(), FromListsError> {
    let vcpus = lists.domains.get(&id).and_then(|d| d.vcpus);
    let Some(vcpus) = vcpus.map(u64::from) else {
        return Ok(());
    };
    let most = vcpus * interval * (100 + SLACK_PCT) / 100 + ROUNDING_MS;
    if ms <= most {
        return Ok(());
    }
    let plural = if vcpus == 1 { "" } else { "s" };
    Err(FromListsError::Unusable(format!(
        "{} used {} s between the lists, more than {vcpus} vcpu{plural} can in {} s; --interval is \
         the time from the first list to the last",
        name(lists, id),
        tenths(ms),
        tenths(interval)
    )))
}

/// Milliseconds as seconds, to a tenth.
pub(super) fn tenths(ms: u64) -> String {
    format!("{}.{}", ms / 1_000, ms % 1_000 / 100)
}
