//! Queues: who waits in which order, virtual times of queues, charging (linux-spec 2.2, 2.3, 3.2 to
//! 3.4).

use super::Linux;
use super::state::{NIL, Queue};
use super::weights::{down, fair};
use domio_contract::Cx;

/// Whether virtual time `a` is before `b`.
#[inline]
pub(super) fn before(a: i64, b: i64) -> bool {
    a.wrapping_sub(b) < 0
}

/// The later of two virtual times.
#[inline]
pub(super) fn later(a: i64, b: i64) -> i64 {
    match before(a, b) {
        true => b,
        false => a,
    }
}

impl Linux {
    /// The weight of `e` in sums.
    #[inline]
    pub(super) fn weight_of(&self, e: u32) -> i64 {
        let weight = self.entities[e as usize].effective.weight;
        match self.rules.release.is_exact() {
            true => weight as i64,
            false => down(weight) as i64,
        }
    }

    /// Puts `e` among those who wait on `q`, behind its equals.
    pub(super) fn link(&mut self, q: u32, e: u32) {
        let entity = &self.entities[e as usize];
        let key = match self.rules.eevdf {
            true => entity.deadline,
            false => entity.v,
        };
        let (v, weight) = (entity.v, self.weight_of(e));
        let queue = &mut self.queues[q as usize];
        let at = queue.waiting.partition_point(|(k, _)| !before(key, *k));
        queue.waiting.insert(at, (key, e));
        if self.rules.eevdf {
            queue.sum += v.wrapping_sub(queue.zero) * weight;
            queue.weights += weight;
        }
    }

    /// Takes `e` from those who wait on `q`.
    pub(super) fn unlink(&mut self, q: u32, e: u32) {
        let (v, weight) = (self.entities[e as usize].v, self.weight_of(e));
        let queue = &mut self.queues[q as usize];
        let at = queue.waiting.iter().position(|(_, w)| *w == e);
        queue.waiting.remove(at.expect("it waits there"));
        if self.rules.eevdf {
            queue.sum -= v.wrapping_sub(queue.zero) * weight;
            queue.weights -= weight;
        }
    }

    /// The first of those who wait on `q`.
    #[inline]
    pub(super) fn first(&self, q: u32) -> u32 {
        let first = self.queues[q as usize].waiting.first();
        first.map_or(NIL, |(_, e)| *e)
    }

    /// The current entity of `q`, if it is on the queue.
    #[inline]
    pub(super) fn runner(&self, q: u32) -> u32 {
        match self.queues[q as usize].current {
            e if e != NIL && self.entities[e as usize].on_queue => e,
            _ => NIL,
        }
    }

    /// The least virtual time of `q` grows (CFS).
    pub(super) fn update_min(&mut self, q: u32) {
        let (first, runner) = (self.first(q), self.runner(q));
        let v = |e: u32| self.entities[e as usize].v;
        let least = match (runner, first) {
            (NIL, NIL) => return,
            (NIL, first) => v(first),
            (runner, NIL) => v(runner),
            (runner, first) => match before(v(first), v(runner)) {
                true => v(first),
                false => v(runner),
            },
        };
        let queue = &mut self.queues[q as usize];
        queue.min_v = later(queue.min_v, least);
    }

    /// Sum of virtual times, relative to the queue's zero, and of weights, of all on `q`.
    #[inline]
    fn sums(&self, q: u32) -> (i64, i64) {
        let queue = &self.queues[q as usize];
        match self.runner(q) {
            NIL => (queue.sum, queue.weights),
            e => {
                let weight = self.weight_of(e);
                let v = self.entities[e as usize].v.wrapping_sub(queue.zero);
                (queue.sum + v * weight, queue.weights + weight)
            }
        }
    }

    /// The weighted mean of the virtual times on `q`, from which sums are relative from now on, and
    /// the sum of the weights there without scale (EEVDF).
    pub(super) fn mean(&mut self, q: u32) -> (i64, i64) {
        let (sum, weights) = self.sums(q);
        if weights != 0 {
            self.move_zero(q, sum.div_euclid(weights));
        }
        (self.queues[q as usize].zero, weights)
    }

    /// Sums of `q` are relative to a point that is `ahead` of the last one from now on.
    pub(super) fn move_zero(&mut self, q: u32, ahead: i64) {
        let queue = &mut self.queues[q as usize];
        queue.zero = queue.zero.wrapping_add(ahead);
        queue.sum -= ahead * queue.weights;
    }

    /// Whether virtual time `v` is not after the exact mean of `q`.
    #[inline]
    pub(super) fn is_eligible(&self, q: u32, v: i64) -> bool {
        self.eligible(q)(v)
    }

    /// Says of virtual times whether they are not after the exact mean of `q`.
    #[inline]
    pub(super) fn eligible(&self, q: u32) -> impl Fn(i64) -> bool + use<> {
        let (sum, weights) = self.sums(q);
        let zero = self.queues[q as usize].zero;
        // Whole weights need more bits.
        let exact = self.rules.release.is_exact();
        move |v| {
            let ahead = v.wrapping_sub(zero);
            match exact {
                true => i128::from(sum) >= i128::from(ahead) * i128::from(weights),
                false => sum >= ahead * weights,
            }
        }
    }

    /// What `e` on `q` is behind the mean (positive) or ahead, within limits.
    pub(super) fn lag(&mut self, q: u32, e: u32) -> i64 {
        let (mean, _) = self.mean(q);
        let longest = match self.rules.release.limits_lag_by_queue() {
            true => self.longest_slice(q) + self.rules.tick,
            false => (2 * self.entities[e as usize].slice).max(self.rules.tick),
        };
        let entity = &self.entities[e as usize];
        let limit = fair(longest, &entity.effective);
        mean.wrapping_sub(entity.v).clamp(-limit, limit)
    }

    /// Records the lag of `e` on `q`. Of one that sleeps there, it is no less than it was when it
    /// went to sleep, and not positive (7.2). Returns whether its virtual time agrees with that.
    pub(super) fn record_lag(&mut self, q: u32, e: u32) -> bool {
        let mut lag = self.lag(q, e);
        let mean = self.queues[q as usize].zero;
        let sleeper = self.rules.release.records_lag_of_sleepers();
        let entity = &mut self.entities[e as usize];
        if sleeper && entity.delayed {
            lag = lag.max(entity.lag).min(0);
        }
        entity.lag = lag;
        mean.wrapping_sub(lag) == entity.v
    }

    /// The shortest slice of all on `q`.
    pub(super) fn shortest_slice(&self, q: u32) -> i64 {
        // CFS asks nobody for slices.
        if !self.custom_slices || !self.rules.eevdf {
            return self.tunables.base_slice;
        }
        self.slices(q).min().unwrap_or(self.tunables.base_slice)
    }

    /// The longest slice of all on `q`.
    fn longest_slice(&self, q: u32) -> i64 {
        match self.custom_slices {
            true => self.slices(q).max().unwrap_or(0),
            false => self.tunables.base_slice,
        }
    }

    /// The slices of all on `q`.
    fn slices(&self, q: u32) -> impl Iterator<Item = i64> + '_ {
        let waiting = self.queues[q as usize].waiting.iter().map(|(_, e)| *e);
        let all = waiting.chain(Some(self.runner(q)).filter(|e| *e != NIL));
        all.map(|e| self.entities[e as usize].slice)
    }

    /// Charges whoever runs on `q` until now.
    pub(super) fn update_current(&mut self, cx: &mut Cx<'_>, q: u32) {
        let (cpu, e) = (self.queues[q as usize].cpu, self.queues[q as usize].current);
        if e == NIL {
            return;
        }
        let clock = self.cpus[usize::from(cpu)].clock;
        let entity = &mut self.entities[e as usize];
        let delta = clock - entity.exec_start;
        if delta <= 0 {
            return;
        }
        entity.exec_start = clock;
        entity.sum += delta;
        if self.rules.release.is_flat() {
            return self.charge_flat(cx, q, e, delta);
        }
        entity.v = entity.v.wrapping_add(fair(delta, &entity.effective));
        if self.highs > 0 && self.entities[e as usize].vcpu.is_some() {
            self.charge_server(cx, cpu, delta);
        }
        if !self.rules.eevdf {
            self.update_min(q);
            return self.charge_quota(cx, q, delta);
        }
        let over = self.renew_deadline(q, e);
        self.charge_quota(cx, q, delta);
        self.check_request(cx, cpu, q, e, over);
    }

    /// Whether `e`, which runs on `q`, gives way; its request is `over` or not.
    #[inline]
    pub(super) fn check_request(&mut self, cx: &mut Cx<'_>, cpu: u16, q: u32, e: u32, over: bool) {
        if self.queues[q as usize].count == 1 {
            return;
        }
        let resched = match (over, self.rules.release.has_vprot()) {
            (true, _) => true,
            (false, true) => !self.is_protected(e),
            (false, false) => {
                self.rules.preempt_short
                    && !self.is_protected(e)
                    && !self.is_eligible(q, self.entities[e as usize].v)
            }
        };
        if resched {
            self.resched_by_rule(cx, cpu);
            self.forget_buddy(e);
        }
    }

    /// Begins another request when the last one of `e` on `q` is over. Returns whether it is.
    #[inline]
    pub(super) fn renew_deadline(&mut self, q: u32, e: u32) -> bool {
        let base = self.tunables.base_slice;
        let entity = &mut self.entities[e as usize];
        if before(entity.v, entity.deadline) {
            return false;
        }
        if !entity.custom_slice {
            entity.slice = base;
        }
        entity.deadline = entity.v.wrapping_add(fair(entity.slice, &entity.effective));
        if self.rules.release.is_exact() {
            // Whole weights leave less room for sums relative to an old mean.
            self.mean(q);
        }
        true
    }

    /// `e` and all above are the buddies `of` their queues: those that run next, or those that ran
    /// last and are to go on soon (CFS).
    pub(super) fn favour(&mut self, e: u32, of: fn(&mut Queue) -> &mut u32) {
        let mut e = e;
        while e != NIL {
            let entity = &self.entities[e as usize];
            if !entity.on_queue || entity.idle {
                return;
            }
            *of(&mut self.queues[entity.queue as usize]) = e;
            e = entity.parent;
        }
    }

    /// `e` is not favoured or skipped any more.
    pub(super) fn forget_buddy(&mut self, e: u32) {
        if self.rules.release.is_flat() {
            let tree = self.line_of(e) as usize;
            if self.queues[tree].next == e {
                self.queues[tree].next = NIL;
            }
            return;
        }
        self.forget_above(e, |queue| &mut queue.next);
        self.forget_above(e, |queue| &mut queue.last);
        self.forget_above(e, |queue| &mut queue.skip);
    }

    fn forget_above(&mut self, e: u32, of: fn(&mut Queue) -> &mut u32) {
        let mut e = e;
        while e != NIL {
            let entity = &self.entities[e as usize];
            let buddy = of(&mut self.queues[entity.queue as usize]);
            if *buddy != e {
                return;
            }
            *buddy = NIL;
            e = entity.parent;
        }
    }
}
