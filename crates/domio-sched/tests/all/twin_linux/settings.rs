//! Sections 1.5, 1.9 and 8.1: what operators set.

use super::tables::{TABLE, inverse, table_inverse};
use super::{MS, Mistake, Owner, Rq, Se, TwinLinux};
use domio_contract::{Cx, GroupId};
use domio_core::{DomainId, ParamValues};

impl TwinLinux {
    pub(super) fn group_of(&mut self, domain: DomainId) -> usize {
        self.group_called(Owner::Domain(domain.0), 0)
    }

    /// The group of `owner`, in `parent` if it is new.
    pub(super) fn group_called(&mut self, owner: Owner, parent: usize) -> usize {
        let of = |r: &Rq| r.owner == owner;
        if let Some(g) = self.rq.iter().position(of) {
            return g;
        }
        let g = self.rq.len();
        let grid = self.phase(owner);
        let parent = match self.wrong(Mistake::GroupsFlat) {
            true => 0,
            false => parent,
        };
        self.se.push(Se {
            group: g,
            weight: 1 << 20,
            inverse: inverse(1 << 20),
            slice: self.base_slice(),
            ..Se::default()
        });
        self.rq.push(Rq {
            owner,
            parent,
            entity: self.se.len() - 1,
            min_v: -(1 << 20),
            reference: -(1 << 20),
            inherited: (0, 0, 0),
            shares: 1 << 20,
            grid,
            ..Rq::default()
        });
        self.rq[parent].children.push(g);
        g
    }

    /// A group that is new to the pcpu has it read its clock.
    pub(super) fn greet(&mut self, cx: &Cx<'_>, known: usize) {
        if self.rq.len() > known {
            self.read_clock(cx);
        }
    }

    /// What domains and groups are told alike.
    pub(super) fn set_group_to(&mut self, cx: &mut Cx<'_>, g: usize, params: &ParamValues) {
        let value = |name: &str| i128::from(params.by_name(name).expect("declared"));
        let idle = value("idle") == 1;
        let shares = match idle {
            true => 3 << 10,
            false => ((value("weight") * 1024 + 50) / 100).clamp(2, 1 << 18) << 10,
        };
        let e = self.rq[g].entity;
        let was_idle = core::mem::replace(&mut self.se[e].idle, idle);
        // Of what was idle the weight is the usual one first.
        let first = (was_idle && !idle).then_some(1 << 20);
        for shares in first.into_iter().chain([shares]) {
            if core::mem::replace(&mut self.rq[g].shares, shares) != shares {
                self.weigh_anew(cx, g);
            }
        }
        let period = value("period_us") * 1000;
        let of_cap = (period / 100 * value("cap")).max(MS);
        let quota = match (value("cap"), value("quota_us") * 1000) {
            (0, quota) => quota,
            (_, 0) => of_cap,
            (_, quota) => of_cap.min(quota),
        };
        let burst = (value("burst_us") * 1000).min(quota);
        self.set_quota(cx, g, quota, period, burst);
    }

    /// Weights of `g` and of the groups around it.
    fn weigh_anew(&mut self, cx: &mut Cx<'_>, g: usize) {
        self.read_clock(cx);
        if self.wrong(Mistake::WeightLate) {
            return;
        }
        for x in self.chain(self.rq[g].entity) {
            self.update_group(cx, self.se[x].group);
        }
    }

    /// Takes the thread `e` off its queue; whether it was there and awake, and ran.
    pub(super) fn pull_out(&mut self, cx: &mut Cx<'_>, e: usize) -> Option<bool> {
        self.read_clock(cx);
        if self.se[e].delayed {
            self.dequeue(cx, e, "sleep delayed");
        }
        if !self.se[e].on {
            return None;
        }
        let runs = self.curr == Some(e);
        self.dequeue(cx, e, "");
        if runs {
            self.put_all(cx);
        }
        Some(runs)
    }

    pub(super) fn put_in(&mut self, cx: &mut Cx<'_>, e: usize, runs: bool) {
        self.enqueue(cx, e, "");
        if runs {
            self.set_all(cx, e, false);
        }
        if self.held(self.se[e].group) && !self.since("6.18") {
            self.park(cx, e);
        }
    }

    /// Nice value, class and slice as a weight, a class and a slice.
    pub(super) fn set_thread(&mut self, cx: &mut Cx<'_>, e: usize, setting: (i128, i128, i128)) {
        let before = self.se[e].setting;
        self.se[e].setting = setting;
        let only_slice = (before.0, before.1) == (setting.0, setting.1);
        if before == setting || (only_slice && self.cfs()) {
            return;
        }
        self.read_clock(cx);
        if only_slice && setting.2 == self.se[e].slice {
            return;
        }
        let (queued, runs) = (self.se[e].on, self.curr == Some(e));
        if queued {
            let moves = before.0 != setting.0 && before.1 != setting.1;
            self.dequeue(cx, e, if moves { "" } else { "save" });
            if runs {
                self.put_all(cx);
            }
        }
        self.give(cx, e);
        match (queued, self.se[e].delayed) {
            (false, _) => return,
            (true, true) => self.enqueue(cx, e, ""),
            (true, false) => self.put_in(cx, e, runs),
        }
        if before.0 == setting.0 || self.rivals(0) == 1 {
            return;
        }
        if !runs {
            self.wakeup_preempt(cx, e, false);
        } else if setting.0 > before.0 {
            self.resched(cx);
        }
    }

    pub(super) fn give(&mut self, cx: &mut Cx<'_>, e: usize) {
        let (nice, class, slice) = self.se[e].setting;
        let weight = if class == 2 {
            3
        } else {
            TABLE[(nice + 20) as usize]
        };
        if self.se[e].weight != weight << 10 {
            self.reweight(cx, e, weight << 10);
        }
        // Tables of the kernel are rounded, not cut.
        self.se[e].inverse = match class {
            2 => 1431655765,
            _ => table_inverse(weight),
        };
        self.se[e].idle = class == 2;
        self.se[e].meek = class > 0;
        self.se[e].custom = slice > 0;
        self.se[e].slice = if slice > 0 { slice } else { self.base_slice() };
    }

    /// `domain` is in `group` from now on.
    pub(super) fn regroup(&mut self, cx: &mut Cx<'_>, domain: DomainId, group: Option<GroupId>) {
        let g = self.group_of(domain);
        let parent = group.map_or(0, |p| self.group_called(Owner::Group(p.0), 0));
        if self.rq[g].parent == parent || self.wrong(Mistake::GroupsFlat) {
            return;
        }
        let mut queued = Vec::new();
        let inside = self.groups_below(g);
        for e in self.all_threads(g) {
            if let Some(runs) = self.pull_out(cx, e) {
                queued.push((e, runs));
            }
        }
        self.read_clock(cx);
        for g in inside.iter().rev() {
            let own = self.rq[*g].entity;
            if self.se[own].on {
                // It slept on its queue.
                self.dequeue(cx, own, "sleep delayed");
            }
        }
        let old = self.rq[g].parent;
        self.rq[old].children.retain(|c| *c != g);
        self.rq[parent].children.push(g);
        self.rq[g].parent = parent;
        for g in inside {
            let own = self.rq[g].entity;
            let before = &self.se[own];
            let fresh = Se {
                group: g,
                weight: before.weight,
                inverse: before.inverse,
                idle: before.idle,
                slice: self.base_slice(),
                ..Se::default()
            };
            let lag = (before.lag, before.v);
            self.se[own] = fresh;
            if self.wrong(Mistake::LagTakenAlong) {
                (self.se[own].lag, self.se[own].v) = lag;
            }
        }
        if self.all_threads(g).is_empty() && self.rq[g].shares != 1 << 20 {
            self.weigh_anew(cx, g);
        }
        for (e, runs) in queued {
            self.put_in(cx, e, runs);
            if runs {
                self.resched(cx);
            }
        }
        self.release(cx, g, 0);
        self.resched_if_idle(cx);
    }
}
