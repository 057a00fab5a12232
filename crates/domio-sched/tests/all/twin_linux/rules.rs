//! Sections 1 to 3: weights, placing, picking, ticks, preemption.

use super::tables::{down, inverse, table_inverse};
use super::{Mistake, TwinLinux};
use domio_contract::Cx;

impl TwinLinux {
    // ---- 1.4 -------------------------------------------------------------------------------

    fn calc_delta(&self, delta: i128, weight: i128, load: i128, inv: i128) -> i128 {
        if self.wrong(Mistake::ExactScaling) != self.since("7.2") {
            return delta * weight / load;
        }
        let mut factor = down(weight) * inv;
        let mut shift = 32;
        while factor >= 1 << 32 {
            factor >>= 1;
            shift -= 1;
        }
        (delta * factor) >> shift
    }

    pub(super) fn fair(&self, delta: i128, e: usize) -> i128 {
        match self.pace(e) {
            0x10_0000 => delta,
            weight => self.calc_delta(delta, 1 << 20, weight, self.se[e].inverse),
        }
    }

    /// The weight by which the virtual time of `e` passes.
    pub(super) fn pace(&self, e: usize) -> i128 {
        match self.flat() {
            true => self.se[e].effective,
            false => self.se[e].weight,
        }
    }

    /// The weight of `e` in sums (3.1).
    fn counts(&self, e: usize) -> i128 {
        match self.since("7.2") {
            true => self.pace(e),
            false => down(self.pace(e)),
        }
    }

    // ---- 1.7, 1.8 --------------------------------------------------------------------------

    /// The weight of the group `g` is that of its shares; EEVDF leaves an empty group as before.
    /// CFS does this even where nothing changes.
    pub(super) fn update_group(&mut self, cx: &mut Cx<'_>, g: usize) {
        let e = self.rq[g].entity;
        let throttled = self.held(g) && !self.since("6.18");
        let skips = throttled || (!self.cfs() && self.load(g) == 0);
        let shares = match self.since("7.3") && self.params.word("cgroup_mode") == Some("max") {
            true => self.rq[g].shares.min(88_761 << 10),
            false => self.rq[g].shares,
        };
        if !skips && (self.cfs() || self.se[e].weight != shares) {
            self.reweight(cx, e, shares);
        }
    }

    pub(super) fn load(&self, q: usize) -> i128 {
        self.below(q).into_iter().map(|e| self.se[e].weight).sum()
    }

    /// How many are on `q`.
    pub(super) fn nr(&self, q: usize) -> usize {
        self.below(q).len()
    }

    pub(super) fn reweight(&mut self, cx: &mut Cx<'_>, e: usize, weight: i128) {
        let (q, old) = (self.q(e), self.se[e].weight);
        let scaled = |x: i128| x * old / weight;
        let runs = self.rq[q].curr == Some(e);
        if self.flat() {
            self.weigh(e, weight);
            return;
        }
        if !self.se[e].on {
            if !self.cfs() {
                self.se[e].lag = scaled(self.se[e].lag);
                if self.since("6.18") && self.se[e].relative_d {
                    self.se[e].d = scaled(self.se[e].d);
                }
            }
            self.weigh(e, weight);
            return;
        }
        if runs || !self.cfs() {
            self.update_curr(cx, q);
        }
        if self.cfs() {
            self.weigh(e, weight);
            return;
        }
        if self.since("7.0") {
            self.scale_about_mean(q, e, old, weight);
            self.weigh(e, weight);
            return;
        }
        if self.since("6.18") {
            let lag = self.lag(q, e);
            self.unqueue(q, e);
            self.se[e].lag = scaled(lag);
            self.se[e].d = scaled(self.se[e].d - self.se[e].v);
            self.se[e].relative_d = true;
            self.weigh(e, weight);
            self.place(q, e, "");
        } else {
            let v = self.mean(q);
            let lag = self.lag(q, e);
            self.unqueue(q, e);
            if self.se[e].v != v {
                self.se[e].v = v - scaled(lag);
            }
            self.se[e].d = v + scaled(self.se[e].d - v);
            self.se[e].protected = self.se[e].v;
            self.weigh(e, weight);
        }
        if !runs {
            self.queue(q, e);
        }
    }

    fn weigh(&mut self, e: usize, weight: i128) {
        self.se[e].weight = weight;
        self.se[e].inverse = match self.se[e].vcpu {
            None => inverse(weight),
            Some(_) => self.se[e].inverse,
        };
        if self.se[e].vcpu.is_some() {
            self.se[e].inverse = match weight >> 10 {
                3 => 1431655765,
                weight => table_inverse(weight),
            };
        }
    }

    // ---- order ------------------------------------------------------------------------------

    pub(super) fn queue(&mut self, q: usize, e: usize) {
        self.turn += 1;
        self.se[e].turn = self.turn;
        let line = self.line(q);
        self.rq[line].tree.push(e);
    }

    pub(super) fn unqueue(&mut self, q: usize, e: usize) {
        let line = self.line(q);
        self.rq[line].tree.retain(|x| *x != e);
    }

    /// Those who wait, in the order of the tree.
    pub(super) fn sorted(&self, q: usize) -> Vec<usize> {
        let mut all = self.rq[self.line(q)].tree.clone();
        let cfs = self.cfs();
        let backwards = self.wrong(Mistake::LastOfEquals);
        all.sort_by_key(|e| {
            let e = &self.se[*e];
            let turn = e.turn as i128;
            (
                if cfs { e.v } else { e.d },
                if backwards { -turn } else { turn },
            )
        });
        all
    }

    // ---- 2.3, 3.2 to 3.4 ----------------------------------------------------------------------

    pub(super) fn update_curr(&mut self, cx: &mut Cx<'_>, q: usize) {
        let Some(e) = self.rq[q].curr else {
            return;
        };
        let delta = self.clock - self.se[e].exec;
        if delta <= 0 {
            return;
        }
        self.se[e].exec = self.clock;
        self.se[e].sum += delta;
        if self.flat() {
            self.charge(cx, q, delta);
            if self.se[e].vcpu.is_none() {
                return;
            }
        }
        self.se[e].v += self.fair(delta, e);
        if self.cfs() {
            self.update_min(q);
            self.charge(cx, q, delta);
            return;
        }
        let mut over = false;
        if self.se[e].v >= self.se[e].d {
            if !self.se[e].custom {
                self.se[e].slice = self.base_slice();
            }
            self.se[e].d = self.se[e].v + self.fair(self.se[e].slice, e);
            over = true;
            if !self.since("6.18") && !self.wrong(Mistake::AlwaysProtected) {
                self.se[e].protected = self.se[e].v;
            }
            if self.wrong(Mistake::AlwaysProtected) {
                self.se[e].protected = self.se[e].d;
            }
        }
        if !self.flat() {
            self.charge(cx, q, delta);
        }
        if self.rivals(q) == 1 {
            return;
        }
        let unprotected = self.se[e].v >= self.se[e].protected;
        if self.since("6.18") {
            if over || unprotected {
                self.resched_lazily(cx);
                self.clear_buddies(e);
            }
        } else {
            let short = self.flag("preempt_short");
            if over || (short && unprotected && !self.eligible(q, self.se[e].v)) {
                self.resched(cx);
                self.clear_buddies(e);
            }
        }
    }

    fn update_min(&mut self, q: usize) {
        let least = self.all(q).into_iter().map(|e| self.se[e].v).min();
        if let Some(least) = least {
            self.rq[q].min_v = self.rq[q].min_v.max(least);
        }
    }

    pub(super) fn mean(&mut self, q: usize) -> i128 {
        let all = self.all(q);
        let weights: i128 = all.iter().map(|e| self.counts(*e)).sum();
        if weights > 0 {
            let sum: i128 = all.iter().map(|e| self.se[*e].v * self.counts(*e)).sum();
            let line = self.line(q);
            self.rq[line].reference = sum.div_euclid(weights);
        }
        self.rq[self.line(q)].reference
    }

    pub(super) fn eligible(&self, q: usize, v: i128) -> bool {
        let all = self.all(q);
        let weights: i128 = all.iter().map(|e| self.counts(*e)).sum();
        let sum: i128 = all.iter().map(|e| self.se[*e].v * self.counts(*e)).sum();
        sum >= v * weights
    }

    pub(super) fn lag(&mut self, q: usize, e: usize) -> i128 {
        let lag = self.mean(q) - self.se[e].v;
        let longest = match self.since("7.0") {
            true => {
                let slices = self.all(q).into_iter().map(|e| self.se[e].slice);
                slices.max().expect("it is there itself") + self.tick()
            }
            false => (2 * self.se[e].slice).max(self.tick()),
        };
        let limit = self.fair(longest, e);
        lag.clamp(-limit, limit)
    }

    pub(super) fn min_slice(&self, q: usize) -> i128 {
        let all = self.all(q).into_iter().map(|e| self.se[e].slice);
        all.min().unwrap_or(self.base_slice())
    }

    // ---- 2.4, 2.5, 3.5 ------------------------------------------------------------------------

    pub(super) fn slice(&self, e: usize) -> i128 {
        let (mut nr, _) = self.threads(0);
        let (own, idle) = self.threads(self.q(e));
        let all_idle = own > 0 && idle == own;
        if !self.se[e].on {
            nr += 1;
        }
        let mut slice = match nr > self.nr_latency() {
            true => nr as i128 * self.min_granularity(),
            false => self.latency(),
        };
        for x in self.chain(e) {
            let mut load = self.load(self.q(x));
            if !self.se[x].on {
                load += self.se[x].weight;
            }
            slice = self.calc_delta(slice, self.se[x].weight, load, inverse(load));
        }
        match self.se[e].idle && !all_idle {
            true => slice.max(self.param("idle_min_granularity_ns")),
            false => slice.max(self.min_granularity()),
        }
    }

    pub(super) fn place(&mut self, q: usize, e: usize, how: &str) {
        if self.cfs() {
            let mut v = self.rq[q].min_v;
            if how.contains("new") {
                if self.flag("start_debit") {
                    v += self.fair(self.slice(e), e);
                }
            } else {
                let credit = match self.se[e].idle {
                    true => self.min_granularity(),
                    false => self.latency(),
                };
                let gentle = self.flag("gentle_fair_sleepers") && !self.wrong(Mistake::WholeCredit);
                v -= if gentle { credit / 2 } else { credit };
            }
            self.se[e].v = self.se[e].v.max(v);
            return;
        }
        let v = self.mean(q);
        if !self.se[e].custom {
            self.se[e].slice = self.base_slice();
        }
        let others = self.rivals(q) - usize::from(self.se[e].on);
        let mut lag = 0;
        if others > 0 && self.flag("place_lag") && !self.wrong(Mistake::LagForgotten) {
            let all = self.all(q);
            let weights: i128 = all.iter().map(|e| self.counts(*e)).sum();
            lag = self.se[e].lag * (weights + self.counts(e)) / weights.max(1);
        }
        self.se[e].v = v - lag;
        if self.se[e].relative_d {
            self.se[e].d += self.se[e].v;
            self.se[e].relative_d = false;
            return;
        }
        let mut request = self.fair(self.se[e].slice, e);
        if how.contains("new") {
            request /= 2;
        }
        self.se[e].d = self.se[e].v + request;
    }

    // ---- 2.6, 3.6 ----------------------------------------------------------------------------

    /// Virtual times of CFS that are relative are not any more.
    fn renorm(&mut self, q: usize, e: usize) {
        if self.cfs() && self.se[e].relative {
            self.se[e].v += self.rq[q].min_v;
            self.se[e].relative = false;
        }
    }

    pub(super) fn enqueue_entity(&mut self, cx: &mut Cx<'_>, e: usize, how: &str) {
        let q = self.q(e);
        // A group comes back while it is current if a change of its thread found no time left.
        let runs = self.rq[q].curr == Some(e);
        if runs {
            self.renorm(q, e);
            if !self.cfs() {
                self.place(q, e, how);
            }
        }
        self.update_curr(cx, q);
        self.renorm(q, e);
        if self.se[e].vcpu.is_none() {
            self.update_group(cx, self.se[e].group);
        }
        let woken = how.contains("new") || how.contains("sleep");
        if if self.cfs() { woken } else { !runs } {
            self.place(q, e, how);
        }
        if !runs {
            self.queue(q, e);
        }
        self.se[e].on = true;
        if self.nr(q) == 1 {
            self.first_came(cx, q);
        }
    }

    pub(super) fn enqueue(&mut self, cx: &mut Cx<'_>, e: usize, how: &str) {
        if self.flat() {
            self.enqueue_flat(cx, e, how);
        } else {
            self.enqueue_levels(cx, e, how);
        }
        self.start_hrtick_if_none(cx);
    }

    fn enqueue_levels(&mut self, cx: &mut Cx<'_>, e: usize, how: &str) {
        let mut how = how;
        let mut slice = None;
        let mut rest = Vec::new();
        for x in self.chain(e) {
            if !rest.is_empty() || self.se[x].on {
                if rest.is_empty() && self.se[x].delayed {
                    self.requeue(cx, x);
                }
                rest.push(x);
                continue;
            }
            if let Some(slice) = slice
                && !self.cfs()
            {
                self.se[x].slice = slice;
                self.se[x].custom = true;
            }
            self.enqueue_entity(cx, x, how);
            let q = self.q(x);
            slice = Some(self.min_slice(q));
            if self.cut_off(q) {
                return;
            }
            how = "sleep";
        }
        for x in rest {
            self.update_group(cx, self.se[x].group);
            if let Some(shortest) = slice
                && !self.cfs()
            {
                self.se[x].slice = shortest;
                slice = Some(self.min_slice(self.q(x)));
            }
            if self.cut_off(self.q(x)) {
                return;
            }
        }
    }

    /// Whether `e` left its queue.
    pub(super) fn dequeue_entity(&mut self, cx: &mut Cx<'_>, e: usize, how: &str) -> bool {
        let q = self.q(e);
        let sleeps = how.contains("sleep");
        self.update_curr(cx, q);
        self.clear_buddies(e);
        if !self.cfs() {
            let may_stay = sleeps && !how.contains("special") && !how.contains("delayed");
            let delays = self.flag("delay_dequeue") && !self.wrong(Mistake::NeverDelayed);
            if may_stay && delays && !self.eligible(q, self.se[e].v) {
                if self.since("7.2") {
                    self.note_lag(q, e);
                }
                self.se[e].delayed = true;
                return false;
            }
            self.note_lag(q, e);
            if !sleeps {
                self.se[e].d -= self.se[e].v;
                self.se[e].relative_d = true;
            }
        }
        self.unqueue(q, e);
        self.se[e].on = false;
        if self.cfs() && !sleeps {
            self.se[e].v -= self.rq[q].min_v;
            self.se[e].relative = true;
        }
        self.give_back(cx, q);
        if self.se[e].vcpu.is_none() {
            self.update_group(cx, self.se[e].group);
        }
        if self.cfs() {
            if !how.contains("save") {
                self.update_min(q);
            }
        } else if how.contains("delayed") {
            self.se[e].delayed = false;
            self.se[e].lag = self.se[e].lag.min(0);
        }
        true
    }

    pub(super) fn dequeue(&mut self, cx: &mut Cx<'_>, e: usize, how: &str) {
        if self.flat() {
            return self.dequeue_flat(cx, e, how);
        }
        let sleeps = how.contains("sleep");
        let chain = self.chain(e);
        let mut slice = self.base_slice();
        let mut how = how;
        let mut i = 0;
        while i < chain.len() {
            let x = chain[i];
            let q = self.q(x);
            if !self.dequeue_entity(cx, x, how) {
                if x == e {
                    return;
                }
                slice = self.min_slice(q);
                break;
            }
            i += 1;
            if self.cut_off(q) {
                return;
            }
            if self.load(q) > 0 {
                slice = self.min_slice(q);
                if let Some(above) = chain.get(i)
                    && sleeps
                    && !self.held(q)
                    && !self.wrong(Mistake::NoBuddy)
                {
                    self.set_next_buddy(*above);
                }
                break;
            }
            how = match how.contains("save") {
                true => "sleep save",
                false => "sleep",
            };
        }
        for &x in &chain[i.min(chain.len())..] {
            if self.se[x].vcpu.is_none() {
                self.update_group(cx, self.se[x].group);
            }
            if !self.cfs() {
                self.se[x].slice = slice;
                slice = self.min_slice(self.q(x));
            }
            if self.cut_off(self.q(x)) {
                return;
            }
        }
    }

    pub(super) fn requeue(&mut self, cx: &mut Cx<'_>, e: usize) {
        let q = self.q(e);
        let moves = if self.since("7.2") {
            self.update_runner(cx, q);
            self.note_lag(q, e);
            self.mean(q) - self.se[e].lag != self.se[e].v
        } else {
            self.se[e].lag = self.lag(q, e);
            let moves = self.se[e].lag > 0;
            self.se[e].lag = self.se[e].lag.min(0);
            moves
        };
        if moves {
            let waits = self.runner(q) != Some(e);
            self.unqueue(q, e);
            self.place(q, e, "");
            if waits {
                self.queue(q, e);
            }
        }
        self.se[e].delayed = false;
    }

    /// 3.4, and 3.6 of those that sleep on the queue.
    pub(super) fn note_lag(&mut self, q: usize, e: usize) {
        let mut lag = self.lag(q, e);
        if self.since("7.2") && self.se[e].delayed && !self.wrong(Mistake::SleepersLagForgotten) {
            lag = lag.max(self.se[e].lag).min(0);
        }
        self.se[e].lag = lag;
    }

    /// 1.8, 7.0: distances from the mean are scaled.
    pub(super) fn scale_about_mean(&mut self, q: usize, e: usize, old: i128, new: i128) {
        let v = self.mean(q);
        let scaled = |x: i128| x * old / new;
        let lag = scaled(self.lag(q, e));
        let protected = self.runner(q) == Some(e) && self.se[e].v < self.se[e].protected;
        if self.runner(q) != Some(e) {
            self.unqueue(q, e);
            self.queue(q, e);
        }
        self.se[e].lag = lag;
        self.se[e].d = v + scaled(self.se[e].d - v);
        if protected && !self.wrong(Mistake::ProtectionUnscaled) {
            self.se[e].protected = v + scaled(self.se[e].protected - v);
        }
        self.se[e].v = v - lag;
    }
}
