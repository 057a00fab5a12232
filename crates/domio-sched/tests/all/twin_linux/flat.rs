//! Sections 3.9 and 3.10: the flat hierarchy of 7.3, and the timer at the end of a request.

use super::{CPU, Mistake, TwinLinux, instant};
use domio_contract::Cx;

impl TwinLinux {
    // ---- 3.9 ---------------------------------------------------------------------------------

    /// Charges whoever runs of those that compete with those on `q`.
    pub(super) fn update_runner(&mut self, cx: &mut Cx<'_>, q: usize) {
        match (self.flat(), self.running) {
            (true, Some(e)) => {
                let own = self.q(e);
                self.update_curr(cx, own);
            }
            (true, None) => {}
            (false, _) => self.update_curr(cx, q),
        }
    }

    /// What the thread `e` is of the whole pcpu, in parts of 2^20: at each level its part of the
    /// group, and what the outermost one is beside nice 0.
    fn part(&self, e: usize) -> i128 {
        let mut part = 1 << 20;
        for x in self.chain(e) {
            let of = match self.q(x) {
                0 => 1 << 20,
                group => self.load(group),
            };
            part = (part * self.se[x].weight / of).max(2);
        }
        part
    }

    /// The effective weight of the thread `e`, which runs, is computed.
    pub(super) fn weigh_running(&mut self, e: usize) {
        if !self.flat() || !self.se[e].on {
            return;
        }
        let (old, new) = (self.se[e].effective, self.part(e));
        if old != new {
            self.scale_about_mean(0, e, old, new);
            self.se[e].effective = new;
        }
    }

    /// All threads that wait are weighed, as if somebody told them of every change.
    fn weigh_all(&mut self) {
        if !self.wrong(Mistake::FreshWeights) {
            return;
        }
        for e in self.rq[0].tree.clone() {
            let (old, new) = (self.se[e].effective, self.part(e));
            if old != new {
                self.scale_about_mean(0, e, old, new);
                self.se[e].effective = new;
            }
        }
    }

    pub(super) fn enqueue_flat(&mut self, cx: &mut Cx<'_>, e: usize, how: &str) {
        self.update_runner(cx, 0);
        let runs = self.running == Some(e);
        if runs {
            self.place(0, e, how);
        }
        for x in self.chain(e) {
            let q = self.q(x);
            self.update_curr(cx, q);
            if self.se[x].vcpu.is_none() {
                self.update_group(cx, self.se[x].group);
            }
            if !self.se[x].on {
                self.se[x].on = true;
                if self.nr(q) == 1 {
                    self.first_came(cx, q);
                }
            }
        }
        if !runs {
            let (old, new) = (self.se[e].effective, self.part(e));
            self.se[e].lag = self.se[e].lag * old / new;
            if self.se[e].relative_d {
                self.se[e].d = self.se[e].d * old / new;
            }
            self.se[e].effective = new;
            self.place(0, e, how);
            self.queue(0, e);
        }
        self.weigh_all();
    }

    pub(super) fn dequeue_flat(&mut self, cx: &mut Cx<'_>, e: usize, how: &str) {
        let sleeps = how.contains("sleep");
        self.clear_buddies(e);
        self.update_runner(cx, 0);
        self.note_lag(0, e);
        let may_stay = sleeps && !how.contains("special") && !how.contains("delayed");
        let delays = self.flag("delay_dequeue") && !self.wrong(Mistake::NeverDelayed);
        if may_stay && delays && !self.eligible(0, self.se[e].v) {
            self.se[e].delayed = true;
            return;
        }
        let mut empties = true;
        for x in self.chain(e) {
            let q = self.q(x);
            self.update_curr(cx, q);
            if empties {
                self.se[x].on = false;
                self.give_back(cx, q);
                empties = self.load(q) == 0;
            }
            if self.se[x].vcpu.is_none() {
                self.update_group(cx, self.se[x].group);
            }
        }
        if !sleeps {
            self.se[e].d -= self.se[e].v;
            self.se[e].relative_d = true;
        }
        if how.contains("delayed") {
            self.se[e].delayed = false;
        }
        self.unqueue(0, e);
        self.weigh_all();
    }

    pub(super) fn pick_flat(&mut self, cx: &mut Cx<'_>) -> Option<usize> {
        loop {
            if self.rivals(0) == 0 {
                return None;
            }
            if let Some(e) = self.runner(0) {
                for x in self.chain(e) {
                    let q = self.q(x);
                    self.update_curr(cx, q);
                }
            }
            let e = self.pick_eevdf(0, true).expect("somebody is there");
            if !self.se[e].delayed {
                return Some(e);
            }
            self.dequeue(cx, e, "sleep delayed");
        }
    }

    /// The thread `e` does not run any more.
    pub(super) fn back_to_tree(&mut self, e: usize) {
        if self.flat() {
            self.running = None;
            if self.se[e].on {
                self.queue(0, e);
            }
        }
    }

    /// The thread `e` runs.
    pub(super) fn off_the_tree(&mut self, e: usize, picked: bool) {
        if !self.flat() {
            return;
        }
        self.clear_buddies(e);
        self.unqueue(0, e);
        self.running = Some(e);
        self.weigh_running(e);
        if self.se[e].on {
            self.protect(0, e, picked);
        }
    }

    /// The mean of those that compete with `e`, which runs.
    pub(super) fn mean_without(&self, e: usize) -> i128 {
        let others: Vec<usize> = self.all(0).into_iter().filter(|x| *x != e).collect();
        let weights: i128 = others.iter().map(|x| self.se[*x].effective).sum();
        if weights == 0 {
            return self.rq[0].reference;
        }
        let sum: i128 = others
            .iter()
            .map(|x| self.se[*x].v * self.se[*x].effective)
            .sum();
        sum.div_euclid(weights)
    }

    /// 3.7 without `RUN_TO_PARITY`, since 7.0: to the end of the base slice of one pcpu.
    pub(super) fn unfair_end(&self, e: usize) -> i128 {
        let se = &self.se[e];
        match self.base_slice() < se.slice {
            true if self.since("7.3") && self.flag("preempt_short") => {
                se.d.min(self.mean_without(e) + 1)
            }
            true => se.d.min(se.v + self.fair(self.base_slice(), e)),
            false => se.d,
        }
    }

    pub(super) fn check_preempt_flat(&mut self, cx: &mut Cx<'_>, c: usize, p: usize, new: bool) {
        let shorts = self.flag("preempt_short");
        if (!shorts && self.need) || !self.flag("wakeup_preemption") {
            return;
        }
        let idle = |e: usize| self.se[e].idle;
        if idle(c) && !idle(p) {
            self.cancel(c);
            return self.resched_lazily(cx);
        }
        for x in self.chain(c) {
            let q = self.q(x);
            self.update_curr(cx, q);
        }
        let short = shorts && self.se[p].slice < self.se[c].slice;
        let never = self.se[p].idle != self.se[c].idle || self.se[p].meek || self.se[p].delayed;
        let new = new && !self.wrong(Mistake::NewPreempt);
        let mut preempts = false;
        if !never && (short || !new) {
            preempts = self.pick_awake(cx, 0, !short) == Some(p);
            let suffices = short && !self.wrong(Mistake::ShorterIsPicked);
            preempts |= suffices && self.eligible(0, self.se[p].v);
        }
        if preempts {
            self.cancel(c);
            let favourite = self.rq[0].next;
            if short && favourite.is_none_or(|n| self.se[n].slice >= self.se[p].slice) {
                self.rq[0].next = Some(p);
            }
            self.resched_lazily(cx);
        } else if self.flag("run_to_parity") {
            let from = self.mean(0).min(self.se[c].v);
            let until = from + self.fair(self.min_slice(0), c);
            self.se[c].protected = self.se[c].protected.min(until);
        }
    }

    // ---- 3.10 --------------------------------------------------------------------------------

    fn has_hrtick(&self) -> bool {
        self.since("7.2") && self.flag("hrtick")
    }

    /// The timer of the thread that has become current.
    pub(super) fn start_hrtick(&mut self, cx: &mut Cx<'_>) {
        let Some(e) = self.curr.filter(|e| self.has_hrtick() && self.se[*e].on) else {
            return;
        };
        if self.threads(0).0 < 2 {
            return;
        }
        let left = self.se[e].d - self.se[e].v;
        if left < 0 {
            return self.resched(cx);
        }
        let after = (left * self.pace(e) / (1 << 20)).max(10_000);
        self.hrtick = true;
        cx.set_timer(CPU, 3, instant(Self::now(cx) + after));
    }

    pub(super) fn start_hrtick_if_none(&mut self, cx: &mut Cx<'_>) {
        if self.curr.is_some() && !self.hrtick {
            self.start_hrtick(cx);
        }
    }

    pub(super) fn hrtick_fires(&mut self, cx: &mut Cx<'_>) {
        self.hrtick = false;
        let Some(e) = self.curr else {
            return;
        };
        self.tick_of(cx, e);
        if self.wrong(Mistake::TimerSetAgain) {
            self.start_hrtick(cx);
        }
        self.resched(cx);
    }
}
