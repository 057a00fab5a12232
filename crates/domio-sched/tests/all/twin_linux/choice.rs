//! Sections 2.7 to 2.9 and 3.7, 3.8: picking, ticks, preemption.

use super::{Mistake, TwinLinux};
use domio_contract::Cx;

impl TwinLinux {
    // ---- 2.7, 3.7 ----------------------------------------------------------------------------

    /// -1, 0 or 1: `c` is not ahead of `s`, a little, or by more than a granularity.
    fn wpe(&self, c: usize, s: usize) -> i32 {
        let ahead = self.se[c].v - self.se[s].v;
        if ahead <= 0 {
            return -1;
        }
        let granularity = self.or("wakeup_granularity_ns", super::MS);
        i32::from(ahead > self.fair(granularity, s))
    }

    fn pick_cfs(&self, q: usize) -> Option<usize> {
        let order = self.sorted(q);
        let curr = self.runner(q);
        let before = |a: usize, b: usize| self.se[a].v < self.se[b].v;
        let left = match (curr, order.first().copied()) {
            (Some(c), Some(l)) if before(c, l) => c,
            (Some(c), None) => c,
            (_, l) => l?,
        };
        let mut se = left;
        if self.rq[q].skip == Some(left) {
            let second = if Some(left) == curr {
                order.first().copied()
            } else {
                match (order.get(1).copied(), curr) {
                    (None, curr) => curr,
                    (Some(s), Some(c)) if before(c, s) => Some(c),
                    (second, _) => second,
                }
            };
            if let Some(second) = second
                && self.wpe(second, left) < 1
            {
                se = second;
            }
        }
        let near = |b: Option<usize>| b.filter(|b| self.wpe(*b, left) < 1);
        Some(
            near(self.rq[q].next)
                .or(near(self.rq[q].last))
                .unwrap_or(se),
        )
    }

    pub(super) fn pick_eevdf(&self, q: usize, protects: bool) -> Option<usize> {
        let mut curr = self.runner(q);
        let line = self.line(q);
        if self.rivals(q) == 1 {
            return curr.or(self.rq[line].tree.first().copied());
        }
        let favours = match self.since("7.2") {
            true => protects,
            false => self.since("7.0"),
        };
        let next = self.rq[line].next.filter(|_| favours);
        if let Some(next) = next.filter(|n| self.eligible(q, self.se[*n].v)) {
            return Some(next);
        }
        curr = curr.filter(|c| self.eligible(q, self.se[*c].v));
        let parity = self.since("6.18") || self.flag("run_to_parity");
        if let Some(c) = curr
            && protects
            && parity
            && self.se[c].v < self.se[c].protected
        {
            return curr;
        }
        let best = self
            .sorted(q)
            .into_iter()
            .find(|e| self.eligible(q, self.se[*e].v));
        match (best, curr) {
            (Some(b), Some(c)) if self.se[c].d < self.se[b].d => curr,
            (None, _) => curr,
            _ => best,
        }
    }

    fn pick(&mut self, cx: &mut Cx<'_>) -> Option<(usize, bool)> {
        if self.flat() {
            return self.pick_flat(cx).map(|e| (e, false));
        }
        'again: loop {
            let mut q = 0;
            let mut aside = false;
            if self.nr(0) == 0 {
                return None;
            }
            loop {
                if let Some(c) = self.rq[q].curr {
                    if self.se[c].on {
                        self.update_curr(cx, q);
                    }
                    if self.cfs() && self.check_quota(cx, q) {
                        self.put_all(cx);
                        continue 'again;
                    }
                }
                if !self.cfs() && !self.since("7.2") {
                    let out = self.check_quota(cx, q);
                    if out && !self.since("6.18") {
                        continue 'again;
                    }
                    aside |= out || self.held(q);
                }
                let next = self.rq[q].next;
                let e = if self.cfs() {
                    self.pick_cfs(q)
                } else if let Some(next) =
                    next.filter(|n| !self.since("7.0") && self.eligible(q, self.se[*n].v))
                {
                    Some(next)
                } else {
                    self.pick_eevdf(q, true)
                };
                let e = e.expect("something is on the queue");
                if self.se[e].delayed {
                    self.dequeue(cx, e, "sleep delayed");
                    continue 'again;
                }
                if self.se[e].vcpu.is_some() {
                    return Some((e, aside));
                }
                q = self.se[e].group;
            }
        }
    }

    pub(super) fn pick_next(&mut self, cx: &mut Cx<'_>) -> Option<usize> {
        loop {
            let Some((e, aside)) = self.pick(cx) else {
                self.put_all(cx);
                return None;
            };
            self.switch(cx, e);
            if self.since("7.2") {
                for x in self.chain(e) {
                    let q = self.q(x);
                    self.check_quota(cx, q);
                }
            }
            let aside = aside || self.since("7.2");
            if aside && self.held(self.se[e].group) {
                self.dequeue(cx, e, "sleep special");
                self.park(cx, e);
                continue;
            }
            return Some(e);
        }
    }

    fn put(&mut self, cx: &mut Cx<'_>, e: usize) {
        let q = self.q(e);
        if self.se[e].on {
            self.update_curr(cx, q);
        }
        if !self.since("7.2") {
            self.check_quota(cx, q);
        }
        if self.se[e].on && !self.flat() {
            self.queue(q, e);
        }
        self.rq[q].curr = None;
    }

    pub(super) fn put_all(&mut self, cx: &mut Cx<'_>) {
        if let Some(e) = self.curr.take() {
            for x in self.chain(e) {
                self.put(cx, x);
            }
            self.back_to_tree(e);
        }
    }

    fn set(&mut self, e: usize, picked: bool) {
        let q = self.q(e);
        self.rq[q].curr = Some(e);
        self.se[e].exec = self.clock;
        self.se[e].prev_sum = self.se[e].sum;
        if self.flat() {
            return;
        }
        self.clear_buddies(e);
        self.unqueue(q, e);
        if !self.cfs() {
            self.protect(q, e, picked);
        }
    }

    pub(super) fn protect(&mut self, q: usize, e: usize, picked: bool) {
        let picks_alone = self.since("7.0") && !self.wrong(Mistake::ProtectsRestored);
        if picks_alone && !picked {
            return;
        }
        let d = self.se[e].d;
        self.se[e].protected = d;
        if self.since("6.18") {
            let shortest = self.min_slice(q);
            let v = self.se[e].v;
            if self.since("7.3")
                && self.flag("preempt_short")
                && self.flag("run_to_parity")
                && shortest < self.se[e].slice
            {
                let mean = self.mean_without(e);
                self.se[e].protected = d.min(mean + 1);
            } else if !self.flag("run_to_parity") && self.since("7.0") {
                self.se[e].protected = self.unfair_end(e);
            } else if !self.flag("run_to_parity") {
                self.se[e].protected = d.min(v + self.base_slice());
            } else if shortest < self.se[e].slice {
                self.se[e].protected = d.min(v + self.fair(shortest, e));
            }
        }
    }

    pub(super) fn set_all(&mut self, cx: &mut Cx<'_>, e: usize, picked: bool) {
        for x in self.chain(e).into_iter().rev() {
            self.set(x, picked);
        }
        self.becomes_current(cx, e, picked);
    }

    fn becomes_current(&mut self, cx: &mut Cx<'_>, e: usize, picked: bool) {
        self.off_the_tree(e, picked);
        self.curr = Some(e);
        self.start_hrtick(cx);
    }

    fn switch(&mut self, cx: &mut Cx<'_>, next: usize) {
        let Some(curr) = self.curr else {
            self.set_all(cx, next, true);
            return;
        };
        if curr == next {
            return;
        }
        let (s, w) = self.siblings(curr, next);
        for x in self.chain(curr) {
            self.put(cx, x);
            if x == s {
                break;
            }
        }
        let to = self.chain(next);
        let first = to.iter().position(|x| *x == w).expect("on the way up");
        self.back_to_tree(curr);
        for x in to[..=first].iter().rev() {
            self.set(*x, true);
        }
        self.becomes_current(cx, next, true);
    }

    /// Those of or around `a` and `b` that are on one queue.
    fn siblings(&self, a: usize, b: usize) -> (usize, usize) {
        let others = self.chain(b);
        let beside = |x: usize| others.iter().copied().find(|y| self.q(*y) == self.q(x));
        let mut pairs = self
            .chain(a)
            .into_iter()
            .filter_map(|x| Some((x, beside(x)?)));
        pairs.next().expect("the root is around both")
    }

    // ---- 2.8, 2.9, 3.8 ------------------------------------------------------------------------

    pub(super) fn next_tick(&self, cx: &Cx<'_>) -> i128 {
        let tick = self.tick();
        let mut at = Self::now(cx) / tick * tick;
        while at <= Self::now(cx) {
            at += tick;
        }
        at
    }

    pub(super) fn tick_of(&mut self, cx: &mut Cx<'_>, e: usize) {
        for x in self.chain(e) {
            let q = self.q(x);
            self.update_curr(cx, q);
            if self.se[x].vcpu.is_none() {
                self.update_group(cx, self.se[x].group);
            }
            if x == *self.chain(e).last().expect("itself at least") {
                self.weigh_running(e);
            }
            if !self.cfs() || self.nr(q) < 2 {
                continue;
            }
            let ideal = self.slice(x);
            let ran = self.se[x].sum - self.se[x].prev_sum;
            if ran > ideal {
                self.resched(cx);
                self.clear_buddies(x);
                continue;
            }
            if ran < self.min_granularity() && !self.wrong(Mistake::NoShortestSlice) {
                continue;
            }
            let first = self.sorted(q).first().copied();
            if first.is_some_and(|f| self.se[x].v - self.se[f].v > ideal) {
                self.resched(cx);
            }
        }
    }

    pub(super) fn wakeup_preempt(&mut self, cx: &mut Cx<'_>, p: usize, new: bool) {
        match (self.flat(), self.curr) {
            (true, Some(c)) if c != p => self.check_preempt_flat(cx, c, p, new),
            _ => self.check_preempt(cx, p, new),
        }
        if self.need && self.curr.is_none_or(|c| self.se[c].on) {
            self.skip_clock = true;
        }
    }

    fn check_preempt(&mut self, cx: &mut Cx<'_>, p: usize, new: bool) {
        let Some(c) = self.curr else {
            return self.resched(cx);
        };
        let held = self.held(self.se[p].group) && !self.since("7.0");
        if c == p || held || self.need {
            return;
        }
        if self.cfs() && self.se[c].idle && !self.se[p].idle {
            return self.resched(cx);
        }
        if !self.flag("wakeup_preemption") || (self.cfs() && self.se[p].meek) {
            return;
        }
        let (s, w) = self.siblings(c, p);
        if self.se[s].idle != self.se[w].idle {
            if self.se[s].idle {
                self.cancel(s);
                self.resched_to_wake(cx);
            }
            return;
        }
        if self.se[p].meek {
            return;
        }
        let q = self.q(s);
        self.update_curr(cx, q);
        if self.cfs() {
            if self.wpe(s, w) == 1 {
                self.set_next_buddy(w);
                self.resched(cx);
                if self.nr(self.q(c)) >= self.nr_latency() && self.se[s].vcpu.is_some() {
                    self.set_last_buddy(s);
                }
            }
            return;
        }
        let short = self.flag("preempt_short") && self.se[w].slice < self.se[s].slice;
        if !self.since("6.18") {
            let sooner = self.se[w].d < self.se[s].d || !self.eligible(q, self.se[s].v);
            if short && self.eligible(q, self.se[w].v) && sooner {
                self.se[s].protected = self.se[s].v;
            }
            if self.pick_eevdf(q, true) == Some(w) {
                self.resched(cx);
            }
            return;
        }
        if self.since("7.0") {
            if !short && ((new && !self.wrong(Mistake::NewPreempt)) || self.se[w].delayed) {
                return;
            }
            if self.pick_awake(cx, q, !short) == Some(w) {
                if short {
                    self.cancel(s);
                }
                self.resched_lazily(cx);
            } else if self.flag("run_to_parity") {
                let until = self.se[s].v + self.fair(self.min_slice(q), s);
                self.se[s].protected = self.se[s].protected.min(until);
            }
            return;
        }
        if self.pick_eevdf(q, !short) == Some(w) {
            if short {
                self.cancel(s);
            }
            self.resched_lazily(cx);
        } else if short {
            let until = self.se[s].v + self.fair(self.min_slice(q), s);
            self.se[s].protected = self.se[s].protected.min(until);
        }
    }

    /// Ends the protection of `e`.
    pub(super) fn cancel(&mut self, e: usize) {
        if !self.since("7.0") || self.se[e].v < self.se[e].protected {
            self.se[e].protected = self.se[e].v;
        }
    }

    /// The choice on `q`, in which nobody sleeps.
    pub(super) fn pick_awake(
        &mut self,
        cx: &mut Cx<'_>,
        q: usize,
        protects: bool,
    ) -> Option<usize> {
        loop {
            let e = self.pick_eevdf(q, protects)?;
            if !self.se[e].delayed {
                return Some(e);
            }
            self.dequeue(cx, e, "sleep delayed");
        }
    }

    fn resched_to_wake(&mut self, cx: &mut Cx<'_>) {
        match self.since("6.18") {
            true => self.resched_lazily(cx),
            false => self.resched(cx),
        }
    }
}
