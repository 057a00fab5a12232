//! A thread on all levels: queueing and leaving, the tick, preemption by whoever wakes
//! (linux-spec 2.6, 2.8, 2.9, 3.6, 3.8).

use super::Linux;
use super::entity::how;
use super::queue::before;
use super::state::NIL;
use super::weights::fair;
use domio_contract::Cx;

/// Threads that come to the queues of a pcpu, or leave them where the numbers are negative.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crowd {
    pub threads: i32,
    /// Those of them that are for idle times.
    pub idlers: i32,
    /// Those of them that sleep on their queue.
    pub delayed: i32,
}

impl Crowd {
    /// That it leaves.
    pub fn less(self) -> Crowd {
        Crowd {
            threads: -self.threads,
            idlers: -self.idlers,
            delayed: -self.delayed,
        }
    }
}

impl Linux {
    /// The queue that `e` is on.
    #[inline]
    pub(super) fn queue_of(&self, e: u32) -> u32 {
        self.entities[e as usize].queue
    }

    /// The entity around `e`.
    #[inline]
    pub(super) fn above(&self, e: u32) -> u32 {
        self.entities[e as usize].parent
    }

    /// Whether `q` is throttled as a whole, so that nothing below reaches the pcpu.
    pub(super) fn cuts_off(&self, q: u32) -> bool {
        self.queues[q as usize].throttled && !self.rules.throttles_threads
    }

    /// Threads for idle times among `threads` that are below `e`, seen from above it.
    fn idlers_seen(&self, e: u32, threads: i32, idlers: i32) -> i32 {
        match self.entities[e as usize].idle {
            true => threads,
            false => idlers,
        }
    }

    /// `crowd` has come to `x` on `q`, or has left it where the numbers are negative. Returns
    /// whether those further up see it: `q` is not cut off.
    pub(super) fn pass_level(
        &mut self,
        cx: &mut Cx<'_>,
        q: u32,
        x: u32,
        crowd: &mut Crowd,
    ) -> bool {
        crowd.idlers = self.idlers_seen(x, crowd.threads, crowd.idlers);
        let before = self.queues[q as usize].threads;
        let queue = &mut self.queues[q as usize];
        queue.threads = queue.threads.wrapping_add_signed(crowd.threads);
        queue.idlers = queue.idlers.wrapping_add_signed(crowd.idlers);
        self.count_sleepers(q, crowd.delayed);
        if self.highs > 0 && self.queues[q as usize].entity == NIL {
            self.follow_fair(cx, self.queues[q as usize].cpu, before);
        }
        !self.cuts_off(q)
    }

    /// The thread `e` comes to its queue. Where a group around it is throttled it does not reach
    /// the pcpu.
    pub(super) fn enqueue_thread(&mut self, cx: &mut Cx<'_>, e: u32, flags: u8) {
        if self.is_high(e) {
            return self.enqueue_high(cx, e, flags);
        }
        let mut crowd = self.alone(e, flags);
        let (mut x, mut flags) = (e, flags);
        let mut slice = None;
        while x != NIL {
            let q = self.queue_of(x);
            if self.entities[x as usize].on_queue {
                if self.entities[x as usize].delayed {
                    self.requeue_delayed(x);
                }
                break;
            }
            if let Some(slice) = slice.filter(|_| self.rules.eevdf) {
                let entity = &mut self.entities[x as usize];
                (entity.slice, entity.custom_slice) = (slice, true);
            }
            self.enqueue_entity(cx, q, x, flags);
            slice = Some(self.shortest_slice(q));
            if !self.pass_level(cx, q, x, &mut crowd) {
                return;
            }
            flags = how::SLEEP;
            x = self.above(x);
        }
        while x != NIL {
            let q = self.queue_of(x);
            self.update_load(q, x);
            self.note_runnable(x);
            self.update_group_weight(cx, x);
            if let Some(shortest) = slice.filter(|_| self.rules.eevdf) {
                self.entities[x as usize].slice = shortest;
                slice = Some(self.shortest_slice(q));
            }
            if !self.pass_level(cx, q, x, &mut crowd) {
                return;
            }
            x = self.above(x);
        }
    }

    /// The thread `e` leaves its queue, unless it sleeps and stays there.
    pub(super) fn dequeue_thread(&mut self, cx: &mut Cx<'_>, e: u32, flags: u8) {
        if self.is_high(e) {
            return self.dequeue_high(cx, e);
        }
        let crowd = self.alone(e, flags).less();
        self.dequeue_from(cx, e, flags, crowd);
    }

    /// The thread `e` as a crowd, which comes or goes as `flags` say. Who goes to sleep, or is done
    /// with it, counts as a sleeper where that is noted.
    fn alone(&self, e: u32, flags: u8) -> Crowd {
        let entity = &self.entities[e as usize];
        Crowd {
            threads: 1,
            idlers: i32::from(entity.idle),
            delayed: i32::from(entity.delayed && flags & (how::SLEEP | how::DELAYED) == 0),
        }
    }

    /// `e` leaves its queue with `crowd` in it, which has negative numbers, and the groups around
    /// it that become empty.
    pub(super) fn dequeue_from(&mut self, cx: &mut Cx<'_>, e: u32, flags: u8, crowd: Crowd) {
        let mut crowd = crowd;
        let (mut x, mut flags) = (e, flags);
        let sleeps = flags & how::SLEEP != 0;
        let mut slice = self.tunables.base_slice;
        while x != NIL {
            let q = self.queue_of(x);
            if !self.dequeue_entity(cx, q, x, flags) {
                if x == e {
                    return;
                }
                slice = self.shortest_slice(q);
                break;
            }
            if !self.pass_level(cx, q, x, &mut crowd) {
                return;
            }
            x = self.above(x);
            if self.queues[q as usize].load != 0 {
                slice = self.shortest_slice(q);
                // The pcpu rather stays with the group.
                if sleeps && x != NIL && self.queues[q as usize].throttles == 0 {
                    self.favour(x, |queue| &mut queue.next);
                }
                break;
            }
            flags = how::SLEEP | flags & how::SAVE;
        }
        while x != NIL {
            let q = self.queue_of(x);
            self.update_load(q, x);
            self.note_runnable(x);
            self.update_group_weight(cx, x);
            if self.rules.eevdf {
                self.entities[x as usize].slice = slice;
                slice = self.shortest_slice(q);
            }
            if !self.pass_level(cx, q, x, &mut crowd) {
                return;
            }
            x = self.above(x);
        }
    }

    /// The tick finds `e` running.
    pub(super) fn tick_of(&mut self, cx: &mut Cx<'_>, e: u32) {
        let mut x = e;
        while x != NIL {
            let q = self.queue_of(x);
            self.update_current(cx, q);
            self.update_load(q, x);
            self.update_group_weight(cx, x);
            if !self.rules.eevdf && self.queues[q as usize].count > 1 {
                self.check_slice(cx, q, x);
            }
            x = self.above(x);
        }
    }

    /// Whether the slice of `e`, which runs, is over (CFS).
    fn check_slice(&mut self, cx: &mut Cx<'_>, q: u32, e: u32) {
        let ideal = self.cfs_slice(e);
        let entity = &self.entities[e as usize];
        let ran = entity.sum - entity.sum_before;
        let cpu = self.queues[q as usize].cpu;
        if ran > ideal {
            self.resched(cx, cpu);
            self.forget_buddy(e);
            return;
        }
        let first = self.first(q);
        if ran < self.tunables.min_granularity || first == NIL {
            return;
        }
        let ahead = entity.v.wrapping_sub(self.entities[first as usize].v);
        // A virtual time is compared with a time.
        if ahead > ideal {
            self.resched(cx, cpu);
        }
    }

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

    /// The thread `e` has come to the pcpu: is it to run at once?
    pub(super) fn preempt(&mut self, cx: &mut Cx<'_>, e: u32) {
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        let current = self.cpus[usize::from(cpu)].current;
        if current == NIL {
            self.resched(cx, cpu);
        } else if current != e {
            match self.is_high(current) || self.is_high(e) {
                true => self.preempt_high(cx, cpu, current, e),
                false => self.preempt_fair(cx, cpu, current, e),
            }
        }
        let on_queue = current == NIL || self.entities[current as usize].on_queue;
        let c = &mut self.cpus[usize::from(cpu)];
        if c.resched && on_queue {
            c.skip_clock = true;
        }
    }

    fn preempt_fair(&mut self, cx: &mut Cx<'_>, cpu: u16, current: u32, e: u32) {
        let own = self.queue_of(e);
        if self.queues[own as usize].throttles > 0 || self.cpus[usize::from(cpu)].resched {
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
        // The two of one queue.
        let (mut s, mut w) = (current, e);
        while self.entities[s as usize].depth > self.entities[w as usize].depth {
            s = self.above(s);
        }
        while self.entities[w as usize].depth > self.entities[s as usize].depth {
            w = self.above(w);
        }
        while self.queue_of(s) != self.queue_of(w) {
            (s, w) = (self.above(s), self.above(w));
        }
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
        match eevdf {
            true => self.preempt_by_deadline(cx, cpu, q, s, w),
            false => self.preempt_by_time(cx, cpu, current, s, w),
        }
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

    fn preempt_by_deadline(&mut self, cx: &mut Cx<'_>, cpu: u16, q: u32, s: u32, w: u32) {
        let (a, b) = (&self.entities[s as usize], &self.entities[w as usize]);
        let shorter = self.rules.preempt_short && b.slice < a.slice;
        if !self.rules.vprot {
            let sooner = before(b.deadline, a.deadline) || !self.is_eligible(q, a.v);
            if shorter && self.is_eligible(q, b.v) && sooner {
                self.unprotect(s);
            }
            if self.earliest(q, true) == w {
                self.resched_by_rule(cx, cpu);
            }
            return;
        }
        if self.earliest(q, !shorter) == w {
            if shorter {
                self.unprotect(s);
            }
            self.resched_by_rule(cx, cpu);
        } else if shorter {
            let shortest = self.shortest_slice(q);
            let entity = &mut self.entities[s as usize];
            let until = entity.v.wrapping_add(fair(shortest, &entity.load));
            if before(until, entity.protected_until) {
                entity.protected_until = until;
            }
        }
    }

    /// The thread `e`, which runs, gives way (linux-spec 2.10, 3.12).
    pub(super) fn give_way(&mut self, cx: &mut Cx<'_>, e: u32) {
        let q = self.queue_of(e);
        self.forget_buddy(e);
        let cpu = self.queues[q as usize].cpu;
        let entity = &self.entities[e as usize];
        // CFS charges whoever is of the batch class later.
        if self.rules.eevdf || !entity.meek || entity.idle {
            self.read_clock(cx, cpu);
            self.update_current(cx, q);
            self.cpus[usize::from(cpu)].skip_clock = true;
        }
        if !self.rules.eevdf {
            let mut x = e;
            while x != NIL {
                let q = self.queue_of(x);
                self.queues[q as usize].skip = x;
                x = self.above(x);
            }
            return;
        }
        if !self.rules.vprot && !self.is_eligible(q, self.entities[e as usize].v) {
            return;
        }
        let entity = &mut self.entities[e as usize];
        entity.v = entity.deadline;
        let request = fair(entity.slice, &entity.load);
        entity.deadline = entity.deadline.wrapping_add(request);
    }

    /// A pass is due on `cpu`, after a slice or for a thread that woke.
    pub(super) fn resched_by_rule(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        match self.rules.vprot {
            true => self.resched_lazily(cx, cpu),
            false => self.resched(cx, cpu),
        }
    }

    /// A pass is due on `cpu`, at once.
    pub(super) fn resched(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let c = &mut self.cpus[usize::from(cpu)];
        if !core::mem::replace(&mut c.resched, true) {
            cx.tickle(domio_core::PcpuId(cpu));
        }
    }

    /// A pass is due on `cpu` if that idles although something is queued there.
    pub(super) fn resched_if_idle(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let idles = self.cpus[usize::from(cpu)].current == NIL;
        if idles && self.queues[usize::from(cpu)].count > 0 {
            self.resched(cx, cpu);
        }
    }

    /// A pass is due on `cpu` where its thread is in user mode, which it always is here.
    pub(super) fn resched_lazily(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let c = &mut self.cpus[usize::from(cpu)];
        if !c.resched && !core::mem::replace(&mut c.lazy, true) {
            cx.tickle(domio_core::PcpuId(cpu));
        }
    }
}
