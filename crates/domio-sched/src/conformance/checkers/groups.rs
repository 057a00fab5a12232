//! The checker of groups of domains: shares at each level of the tree, and quotas.

use super::checker::Checker;
use crate::conformance::script::{DEFAULT_WEIGHT, Intervention, Script, ScriptStep};
use crate::conformance::world::World;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use domio_contract::{GroupId, Promises};
use domio_core::{Duration, Instant};

/// From the last change to where shares count.
const SETTLES: Duration = Duration::from_secs(1);

/// Shortest measurement of shares.
const MEASURED_MIN: Duration = Duration::from_secs(2);

/// A share may miss by one part in so many of the pcpu.
const SHARE_TOLERANCE: u64 = 10;

/// What a group may be ahead of its quota, as [caps](super::shares).
const AHEAD_MAX: Duration = Duration::from_millis(150);

pub(super) fn all(script: &Script, promises: &Promises) -> Option<Box<dyn Checker>> {
    let burns = |v: &crate::conformance::ScriptVcpu| {
        v.starts == Instant::ZERO && v.stops.is_none() && v.steps == [ScriptStep::Burn]
    };
    let regroups = |(_, a): &(Instant, Intervention)| {
        matches!(a, Intervention::SetGroup(..) | Intervention::Join(..))
    };
    let watched = promises.groups
        && !script.groups.is_empty()
        && script.topology.pcpus() == 1
        && script.vcpus.iter().all(burns)
        && script.actions.iter().all(regroups);
    watched.then(|| Box::new(Groups::new(script)) as Box<dyn Checker>)
}

struct Groups {
    script: Script,
    /// The tree as the last action leaves it, and since when it has been so, and settled.
    tree: Tree,
    since: Instant,
    /// By domain: the time that it got since then.
    got: Vec<Duration>,
    /// By group: how far it is ahead of its quota, in hundredths of a nanosecond.
    ahead: Vec<u64>,
}

/// Who is where, and with what.
struct Tree {
    /// By group: its parent, its weight, and its quota, zero for none.
    groups: Vec<(Option<GroupId>, u64, u64)>,
    /// By domain.
    domains: Vec<Option<GroupId>>,
}

impl Tree {
    fn after_all_of(script: &Script) -> Tree {
        let mut groups = script.groups.clone();
        let mut domains: Vec<_> = script.domains.iter().map(|d| d.group).collect();
        for (_, action) in &script.actions {
            match *action {
                Intervention::SetGroup(g, name, value) => {
                    groups[g.index()].params.retain(|(n, _)| *n != name);
                    groups[g.index()].params.push((name, value));
                }
                Intervention::Join(d, g) => domains[d.index()] = g,
                _ => {}
            }
        }
        let value = |params: &[(&str, i64)], name| {
            let found = params.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| *value)
        };
        let group = |g: &crate::conformance::script::ScriptGroup| {
            let weight = value(&g.params, "weight").unwrap_or(DEFAULT_WEIGHT);
            let quota = value(&g.params, "cap").unwrap_or(0);
            (g.parent, weight as u64, quota as u64)
        };
        Tree {
            groups: groups.iter().map(group).collect(),
            domains,
        }
    }

    /// Whether a domain in `from` is in `group`, or in one that is in it.
    fn within(&self, from: Option<GroupId>, group: GroupId) -> bool {
        let parent = |g: &GroupId| self.groups[g.index()].0;
        core::iter::successors(from, parent).any(|g| g == group)
    }

    /// Whether anybody is in `group`.
    fn inhabited(&self, group: GroupId) -> bool {
        self.domains.iter().any(|d| self.within(*d, group))
    }

    /// Weight of all that is in `parent`: groups by theirs, each domain by the usual one.
    fn weight_in(&self, parent: Option<GroupId>) -> u64 {
        let ids = (0..self.groups.len()).map(|i| GroupId(i as u16));
        let groups = ids.filter(|g| self.groups[g.index()].0 == parent && self.inhabited(*g));
        let of_groups: u64 = groups.map(|g| self.groups[g.index()].1).sum();
        let domains = self.domains.iter().filter(|d| **d == parent).count() as u64;
        of_groups + domains * DEFAULT_WEIGHT as u64
    }

    /// What a domain in `group` gets of `length`, where no quota counts.
    fn due(&self, group: Option<GroupId>, length: Duration) -> u64 {
        let usual = DEFAULT_WEIGHT as u64;
        match group {
            None => length.as_nanos() * usual / self.weight_in(None),
            Some(g) => {
                let (parent, weight, _) = self.groups[g.index()];
                // The group itself, as a domain of its weight beside the others.
                let whole = self.due(parent, length) * weight / usual;
                whole * usual / self.weight_in(group)
            }
        }
    }
}

impl Groups {
    fn new(script: &Script) -> Self {
        let last = script.actions.iter().map(|(at, _)| *at).max();
        Groups {
            tree: Tree::after_all_of(script),
            since: last.unwrap_or(Instant::ZERO) + SETTLES,
            got: alloc::vec![Duration::ZERO; script.domains.len()],
            ahead: alloc::vec![0; script.groups.len()],
            script: script.clone(),
        }
    }
}

impl Checker for Groups {
    fn name(&self) -> &'static str {
        "groups"
    }

    fn lasting(&mut self, world: &World, from: Instant, to: Instant) -> Option<String> {
        let length = to.saturating_since(from.max(self.since));
        let mut running = Vec::new();
        for v in world.current.iter().flatten() {
            let domain = self.script.vcpus[v.index()].name.domain;
            self.got[domain.index()] += length;
            running.push(self.tree.domains[domain.index()]);
        }
        for (i, ahead) in self.ahead.iter_mut().enumerate() {
            let (group, quota) = (GroupId(i as u16), self.tree.groups[i].2);
            let runs = running.iter().any(|g| self.tree.within(*g, group));
            let used = if runs { length.as_nanos() * 100 } else { 0 };
            *ahead = (*ahead + used).saturating_sub(length.as_nanos() * quota);
            if quota != 0 && *ahead > AHEAD_MAX.as_nanos() * 100 {
                let ahead = Duration::from_nanos(*ahead / 100);
                return Some(alloc::format!(
                    "{group} is {ahead} ahead of its quota of {quota} %"
                ));
            }
        }
        None
    }

    fn end(&mut self, at: Instant) -> Option<String> {
        let length = at.saturating_since(self.since);
        let unlimited = self.tree.groups.iter().all(|(_, _, quota)| *quota == 0);
        if !unlimited || length < MEASURED_MIN {
            return None;
        }
        let tolerance = (length / SHARE_TOLERANCE).as_nanos();
        let wrong = |(i, got): &(usize, &Duration)| {
            let due = self.tree.due(self.tree.domains[*i], length);
            got.as_nanos().abs_diff(due) > tolerance
        };
        let (i, got) = self.got.iter().enumerate().find(wrong)?;
        let due = Duration::from_nanos(self.tree.due(self.tree.domains[i], length));
        let domain = self.script.domains[i].id;
        Some(alloc::format!(
            "{domain} got {got} of {length}, and {due} by the weights of its groups"
        ))
    }
}
