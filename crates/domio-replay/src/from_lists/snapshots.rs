//! Lists that were made one after the other: the host is what the last of them has.
//!
//! A domain of the first list that the last one lacks is gone. A domain with a new id and an old
//! name was started anew: Xen has no two domains of one name at a time. Partial lists
//! (`xl vcpu-list web`, then `xl vcpu-list db`) are no snapshots, so that without an interval a new
//! id of an old name alone counts.

use crate::xl::{CpuTimes, HostLists};
use std::collections::BTreeMap;

/// What changed from the first list to the last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Changes {
    /// Domains that are gone, by their ids, with their names.
    pub gone: BTreeMap<u16, String>,
    /// Domains that are there anew, by their new ids, with the old one where the name is an old
    /// one.
    pub fresh: BTreeMap<u16, Option<u16>>,
}

/// The host as the last lists have it, and what changed before.
pub(super) fn last(lists: &HostLists, is_interval: bool) -> (HostLists, Changes) {
    let mut now = lists.clone();
    let mut changes = Changes::default();
    for is_of_vcpus in [false, true] {
        let of_kind: Vec<(usize, &CpuTimes)> = (0..)
            .zip(&lists.times)
            .filter(|(_, times)| times.is_of_vcpus == is_of_vcpus)
            .collect();
        let (Some((first, before)), Some((at, after))) = (of_kind.first(), of_kind.last()) else {
            continue;
        };
        if first == at {
            continue;
        }
        let others = || lists.times[at + 1..].iter();
        for (id, row) in &before.rows {
            let anew = after.rows.iter().find(|(other, new)| {
                *other != id && new.name == row.name && !before.rows.contains_key(other)
            });
            let is_gone = !after.rows.contains_key(id)
                && !others().any(|times| times.rows.contains_key(id))
                && (is_interval || anew.is_some());
            if is_gone {
                changes.gone.insert(*id, row.name.clone());
            }
            if let Some((new, _)) = anew.filter(|_| is_gone) {
                changes.fresh.insert(*new, Some(*id));
            }
        }
        if !is_interval {
            continue;
        }
        for (id, row) in &after.rows {
            if !before.rows.contains_key(id) {
                changes.fresh.entry(*id).or_default();
            }
            // A later list of the other kind overrides.
            if let Some(domain) = now.domains.get_mut(id)
                && !others().any(|times| times.rows.contains_key(id))
            {
                domain.vcpus = Some(row.vcpus);
                domain.hard.retain(|vcpu, _| *vcpu < row.vcpus);
                domain.soft.retain(|vcpu, _| *vcpu < row.vcpus);
            }
        }
    }
    for (new, old) in &changes.fresh {
        if let Some(old) = old {
            inherit(&mut now, *old, *new);
        }
    }
    for id in changes.gone.keys() {
        now.domains.remove(id);
        now.paused.remove(id);
        now.uptimes.remove(id);
        if let Some(sched) = &mut now.sched {
            sched.domains.remove(id);
        }
    }
    (now, changes)
}

/// What lists report the old id alone is taken over: the configuration of a domain that was started
/// anew is the same.
fn inherit(lists: &mut HostLists, old: u16, new: u16) {
    let before = lists.domains.get(&old).cloned();
    if let (Some(before), Some(now)) = (before, lists.domains.get_mut(&new)) {
        now.weight = now.weight.or(before.weight);
        now.cap = now.cap.or(before.cap);
        if now.hard.is_empty() && now.vcpus == before.vcpus {
            now.hard = before.hard;
            now.soft = before.soft;
        }
    }
    if let Some(sched) = &mut lists.sched
        && !sched.domains.contains_key(&new)
        && let Some(settings) = sched.domains.get(&old).cloned()
    {
        sched.domains.insert(new, settings);
    }
}
