//! Whether a thread that wakes preempts the running one (linux-spec 2.9, 3.8).

use super::Linux;
use super::queue::before;
use super::release::Waking;
use super::state::NIL;
use super::weights::fair;
use domio_contract::Cx;

impl Linux {
    /// How far `a` is ahead of `b` (CFS): less than zero where it is behind, 1 where it is by more
    /// than a granularity.
    pub(super) fn ahead(&self, a: u32, b: u32) -> i32 {
        let (a, b) = (&self.entities[a as usize], &self.entities[b as usize]);
        let difference = a.v.wrapping_sub(b.v);
        match difference {
            ..=0 => -1,
            d if d > fair(self.tunables.wakeup_granularity, &b.load) => 1,
            _ => 0,
        }
    }

    /// The thread `e`, which is `new` or not, has come to the pcpu: is it to run at once?
    pub(super) fn preempt(&mut self, cx: &mut Cx<'_>, e: u32, new: bool) {
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        let current = self.cpus[usize::from(cpu)].current;
        if current == NIL {
            self.resched(cx, cpu);
        } else if current != e {
            match self.is_high(current) || self.is_high(e) {
                true => self.preempt_high(cx, cpu, current, e),
                false => self.preempt_fair(cx, cpu, current, e, new),
            }
        }
        let on_queue = current == NIL || self.entities[current as usize].on_queue;
        let c = &mut self.cpus[usize::from(cpu)];
        if c.resched && on_queue {
            c.skip_clock = true;
        }
    }

    fn preempt_fair(&mut self, cx: &mut Cx<'_>, cpu: u16, current: u32, e: u32, new: bool) {
        let waking = self.rules.release.waking();
        if waking == Waking::Thread {
            return self.preempt_thread(cx, cpu, current, e, new);
        }
        let own = self.queue_of(e);
        // Since 7.0 only whoever is held back itself, which is on no queue, waits for a quota.
        let held = self.queues[own as usize].throttles > 0 && waking != Waking::NoneButAwake;
        if held || self.cpus[usize::from(cpu)].resched {
            return;
        }
        let (is_idle, wakes_meekly) = {
            let (c, w) = (&self.entities[current as usize], &self.entities[e as usize]);
            (c.idle && !w.idle, w.meek)
        };
        let eevdf = self.rules.eevdf;
        if !eevdf && is_idle {
            return self.resched(cx, cpu);
        }
        if !eevdf && wakes_meekly {
            return;
        }
        if !self.rules.wakeup_preemption {
            return;
        }
        let (s, w) = self.of_one_queue(current, e);
        let q = self.queue_of(s);
        let idle = |e: u32| self.entities[e as usize].idle;
        if idle(s) != idle(w) {
            if idle(s) {
                if eevdf {
                    self.unprotect(s);
                }
                self.resched_by_rule(cx, cpu);
            }
            return;
        }
        if eevdf && wakes_meekly {
            return;
        }
        self.update_current(cx, q);
        match waking {
            Waking::Behind => self.preempt_by_time(cx, cpu, current, s, w),
            Waking::Picked => self.preempt_if_picked(cx, cpu, q, s, w),
            Waking::PickedOrShorter => self.preempt_if_shorter(cx, cpu, q, s, w),
            Waking::NoneButAwake | Waking::Thread => {
                self.preempt_if_awake(cx, cpu, q, (s, w), new);
            }
        }
    }

    /// Those of or around the threads `s` and `w` that are on one queue.
    fn of_one_queue(&self, s: u32, w: u32) -> (u32, u32) {
        let (mut s, mut w) = (s, w);
        while self.entities[s as usize].depth > self.entities[w as usize].depth {
            s = self.above(s);
        }
        while self.entities[w as usize].depth > self.entities[s as usize].depth {
            w = self.above(w);
        }
        while self.queue_of(s) != self.queue_of(w) {
            (s, w) = (self.above(s), self.above(w));
        }
        (s, w)
    }

    fn preempt_by_time(&mut self, cx: &mut Cx<'_>, cpu: u16, current: u32, s: u32, w: u32) {
        if self.ahead(s, w) != 1 {
            return;
        }
        self.favour(w, |queue| &mut queue.next);
        self.resched(cx, cpu);
        let crowded =
            self.queues[self.queue_of(current) as usize].count >= self.tunables.threads_in_latency;
        if crowded && self.entities[s as usize].vcpu.is_some() {
            self.favour(s, |queue| &mut queue.last);
        }
    }

    /// Whether `w` is to preempt `s` for its shorter slice (`PREEMPT_SHORT`).
    fn is_shorter(&self, w: u32, s: u32) -> bool {
        let slice = |e: u32| self.entities[e as usize].slice;
        self.rules.preempt_short && slice(w) < slice(s)
    }

    /// 6.12.
    fn preempt_if_picked(&mut self, cx: &mut Cx<'_>, cpu: u16, q: u32, s: u32, w: u32) {
        let (a, b) = (&self.entities[s as usize], &self.entities[w as usize]);
        let sooner = before(b.deadline, a.deadline) || !self.is_eligible(q, a.v);
        if self.is_shorter(w, s) && self.is_eligible(q, b.v) && sooner {
            self.unprotect(s);
        }
        if self.earliest(q, true) == w {
            self.resched_by_rule(cx, cpu);
        }
    }

    /// 6.18.
    fn preempt_if_shorter(&mut self, cx: &mut Cx<'_>, cpu: u16, q: u32, s: u32, w: u32) {
        let shorter = self.is_shorter(w, s);
        if self.earliest(q, !shorter) == w {
            if shorter {
                self.unprotect(s);
            }
            self.resched_by_rule(cx, cpu);
        } else if shorter {
            self.shorten_protection(q, s);
        }
    }

    /// 7.0 and 7.2.
    fn preempt_if_awake(
        &mut self,
        cx: &mut Cx<'_>,
        cpu: u16,
        q: u32,
        (s, w): (u32, u32),
        new: bool,
    ) {
        let shorter = self.is_shorter(w, s);
        if !shorter && (new || self.entities[w as usize].delayed) {
            return;
        }
        if self.earliest_awake(cx, q, !shorter) == w {
            if shorter {
                self.unprotect(s);
            }
            self.resched_by_rule(cx, cpu);
        } else if self.rules.run_to_parity {
            self.shorten_protection(q, s);
        }
    }

    /// As [`Linux::earliest`]; those that sleep on `q` leave where they would be chosen.
    fn earliest_awake(&mut self, cx: &mut Cx<'_>, q: u32, protects: bool) -> u32 {
        loop {
            let e = self.earliest(q, protects);
            if e == NIL || !self.entities[e as usize].delayed {
                return e;
            }
            self.drop_sleeper(cx, e);
        }
    }

    /// 7.3: the thread `w` beside the thread `s`, which runs.
    fn preempt_thread(&mut self, cx: &mut Cx<'_>, cpu: u16, s: u32, w: u32, new: bool) {
        let asked = !self.rules.preempt_short && self.cpus[usize::from(cpu)].resched;
        if asked || !self.rules.wakeup_preemption {
            return;
        }
        let tree = self.line_of(w);
        let idle = |e: u32| self.entities[e as usize].idle;
        let (other_idle, own_idle) = (idle(s), idle(w));
        let shorter = self.is_shorter(w, s);
        let preempts = if other_idle && !own_idle {
            self.unprotect(s);
            return self.resched_by_rule(cx, cpu);
        } else {
            self.charge_levels(cx, s);
            let woken = &self.entities[w as usize];
            match other_idle != own_idle || woken.meek || woken.delayed || (new && !shorter) {
                true => false,
                false => {
                    self.earliest_awake(cx, tree, !shorter) == w
                        || (shorter && self.is_eligible(tree, self.entities[w as usize].v))
                }
            }
        };
        if !preempts {
            if self.rules.run_to_parity {
                self.shorten_protection(tree, s);
            }
            return;
        }
        self.unprotect(s);
        let next = self.queues[tree as usize].next;
        let slice = |e: u32| self.entities[e as usize].slice;
        if shorter && (next == NIL || slice(next) >= slice(w)) && !own_idle {
            self.queues[tree as usize].next = w;
        }
        self.resched_by_rule(cx, cpu);
    }
}
