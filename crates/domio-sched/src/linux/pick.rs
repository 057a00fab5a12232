//! Who runs next: the choice on each level, and the switch (linux-spec 0.7, 0.8, 2.7, 3.7).

use super::Linux;
use super::high::Turn;
use super::queue::before;
use super::release::Buddy;
use super::state::NIL;
use domio_contract::Cx;

impl Linux {
    /// The choice of CFS on `q`, where `current` is on the queue or [`NIL`].
    fn least(&self, q: u32, current: u32) -> u32 {
        let queue = &self.queues[q as usize];
        let v = |e: u32| self.entities[e as usize].v;
        let first = self.first(q);
        let left = match (first, current) {
            (NIL, current) => current,
            (first, NIL) => first,
            (first, current) if before(v(current), v(first)) => current,
            (first, _) => first,
        };
        let mut chosen = left;
        if queue.skip == left && left != NIL {
            let second = if left == current {
                first
            } else {
                // The one that was chosen is the first of those that wait.
                let next = queue.waiting.get(1).map_or(NIL, |(_, e)| *e);
                match (next, current) {
                    (next, NIL) => next,
                    (NIL, current) => current,
                    (next, current) if before(v(current), v(next)) => current,
                    (next, _) => next,
                }
            };
            if second != NIL && self.ahead(second, left) < 1 {
                chosen = second;
            }
        }
        if queue.next != NIL && self.ahead(queue.next, left) < 1 {
            chosen = queue.next;
        } else if queue.last != NIL && self.ahead(queue.last, left) < 1 {
            chosen = queue.last;
        }
        chosen
    }

    /// The choice of EEVDF on `q`: the earliest deadline of those that are eligible. `protects`
    /// says whether whoever runs keeps its pcpu while it is protected.
    pub(super) fn earliest(&self, q: u32, protects: bool) -> u32 {
        let queue = &self.queues[q as usize];
        let mut current = self.runner(q);
        if queue.count == 1 {
            return match current {
                NIL => self.first(q),
                current => current,
            };
        }
        let eligible = self.eligible(q);
        let eligible = |e: u32| eligible(self.entities[e as usize].v);
        let favours = match self.rules.release.buddy() {
            Buddy::First => false,
            Buddy::InChoice => true,
            Buddy::WhileProtected => protects,
        };
        if favours && queue.next != NIL && eligible(queue.next) {
            return queue.next;
        }
        if current != NIL && !eligible(current) {
            current = NIL;
        }
        let protects = protects && (self.rules.release.has_vprot() || self.rules.run_to_parity);
        if current != NIL && protects && self.is_protected(current) {
            return current;
        }
        let mut waiting = queue.waiting.iter();
        match waiting.find(|(_, e)| eligible(*e)) {
            None => current,
            Some((deadline, e)) => {
                let sooner =
                    current != NIL && before(self.entities[current as usize].deadline, *deadline);
                match sooner {
                    true => current,
                    false => *e,
                }
            }
        }
    }

    /// The choice on `q`; [`NIL`] when the pick has to begin anew.
    fn choose(&mut self, cx: &mut Cx<'_>, q: u32) -> u32 {
        if !self.rules.eevdf {
            return self.least(q, self.runner(q));
        }
        let first = self.rules.release.buddy() == Buddy::First;
        let next = self.queues[q as usize].next;
        if first && next != NIL && self.is_eligible(q, self.entities[next as usize].v) {
            // A buddy never sleeps on the queue.
            return next;
        }
        let e = self.earliest(q, true);
        if e != NIL && self.entities[e as usize].delayed {
            self.drop_sleeper(cx, e);
            return NIL;
        }
        e
    }

    /// Picks a thread for `cpu`; [`NIL`] when nobody can run. The second value says that a level on
    /// the way has no time left (6.18).
    fn pick_thread(&mut self, cx: &mut Cx<'_>, cpu: u16) -> (u32, bool) {
        if self.rules.release.is_flat() {
            return (self.pick_flat(cx, cpu), false);
        }
        let at_charge = self.rules.release.throttles_at_charge();
        'anew: loop {
            let mut q = u32::from(cpu);
            let mut out_of_time = false;
            if self.queues[q as usize].count == 0 {
                return (NIL, false);
            }
            loop {
                let current = self.queues[q as usize].current;
                if current != NIL {
                    if self.entities[current as usize].on_queue {
                        self.update_current(cx, q);
                    }
                    if !self.rules.eevdf && self.throttle_if_due(cx, q) {
                        // All of the levels have to be left and entered again.
                        self.put_all(cx, cpu);
                        continue 'anew;
                    }
                }
                if at_charge {
                    // Whoever is out of time is known already, or will be as it becomes current.
                } else if self.rules.release.throttles_threads() {
                    out_of_time |= self.throttle_if_due(cx, q);
                    out_of_time |= self.queues[q as usize].throttles > 0;
                } else if self.rules.eevdf && self.throttle_if_due(cx, q) {
                    continue 'anew;
                }
                let e = self.choose(cx, q);
                if e == NIL {
                    continue 'anew;
                }
                match self.entities[e as usize].own {
                    NIL => return (e, out_of_time),
                    own => q = own,
                }
            }
        }
    }

    /// `e` stops being current on its queue.
    fn put(&mut self, cx: &mut Cx<'_>, e: u32) {
        let q = self.queue_of(e);
        if self.entities[e as usize].on_queue {
            self.update_current(cx, q);
        }
        if !self.rules.release.throttles_at_charge() {
            self.throttle_if_due(cx, q);
        }
        if self.entities[e as usize].on_queue {
            if !self.rules.release.is_flat() {
                self.link(q, e);
            }
            self.update_load_quietly(q, e);
        }
        self.queues[q as usize].current = NIL;
    }

    /// All current entities of `cpu` stop being current, from the thread up.
    pub(super) fn put_all(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let mut x = core::mem::replace(&mut self.cpus[usize::from(cpu)].current, NIL);
        if x != NIL && self.is_high(x) {
            return self.put_high(cx, cpu, x);
        }
        let e = x;
        while x != NIL {
            self.put(cx, x);
            x = self.above(x);
        }
        if e != NIL && self.rules.release.is_flat() {
            self.put_flat(e);
        }
    }

    /// `e` is current on its queue from now on. It was `picked`, or comes back after a change of
    /// its settings.
    fn set(&mut self, e: u32, picked: bool) {
        let q = self.queue_of(e);
        if self.rules.release.is_flat() {
            if self.entities[e as usize].on_queue {
                self.update_load(q, e);
            }
        } else {
            self.forget_buddy(e);
            self.set_in_line(q, e, picked);
        }
        let clock = self.cpus[usize::from(self.queues[q as usize].cpu)].clock;
        self.queues[q as usize].current = e;
        let entity = &mut self.entities[e as usize];
        entity.exec_start = clock;
        entity.sum_before = entity.sum;
    }

    /// `e`, which becomes current on `q`, waits there no more.
    fn set_in_line(&mut self, q: u32, e: u32, picked: bool) {
        if !self.entities[e as usize].on_queue {
            return;
        }
        self.unlink(q, e);
        self.update_load(q, e);
        if self.rules.eevdf {
            // The entity counts still among those of the queue.
            self.queues[q as usize].current = e;
            self.protect(q, e, picked);
        }
    }

    /// The thread `e` and all around it become current on `cpu`, from the root down. It was
    /// `picked`, or comes back after a change of its settings.
    pub(super) fn set_all(&mut self, cx: &mut Cx<'_>, cpu: u16, e: u32, picked: bool) {
        if self.is_high(e) {
            return self.set_high(cpu, e);
        }
        self.set_below(NIL, e, picked);
        self.enter(cx, cpu, e, picked);
    }

    /// The thread `e` of the fair class, all of whose levels are current, is current on `cpu`.
    fn enter(&mut self, cx: &mut Cx<'_>, cpu: u16, e: u32, picked: bool) {
        if self.rules.release.is_flat() {
            self.set_flat(e, picked);
        }
        self.cpus[usize::from(cpu)].current = e;
        if self.rules.hrtick && self.entities[e as usize].on_queue {
            self.start_hrtick(cx, cpu, e);
        }
    }

    /// `e` and what is around it, up to `stop` and without it, become current.
    fn set_below(&mut self, stop: u32, e: u32, picked: bool) {
        if e == stop || e == NIL {
            return;
        }
        self.set_below(stop, self.above(e), picked);
        self.set(e, picked);
    }

    /// `cpu` goes from its current thread to `next`: only the levels that differ are touched.
    pub(super) fn switch(&mut self, cx: &mut Cx<'_>, cpu: u16, next: u32) {
        let current = self.cpus[usize::from(cpu)].current;
        if current == next {
            return;
        }
        if self.highs > 0 {
            self.note_idle_time(cpu, current, next);
        }
        let apart = |e: u32| e == NIL || self.is_high(e);
        if apart(next) || apart(current) {
            self.put_all(cx, cpu);
            if next != NIL {
                self.set_all(cx, cpu, next, true);
            }
            return;
        }
        let (mut a, mut b) = (current, next);
        while self.queue_of(a) != self.queue_of(b) {
            let depth = |e: u32| self.entities[e as usize].depth;
            let (below, above) = (depth(a) >= depth(b), depth(b) >= depth(a));
            if below {
                self.put(cx, a);
                a = self.above(a);
            }
            if above {
                b = self.above(b);
            }
        }
        self.put(cx, a);
        if self.rules.release.is_flat() {
            self.put_flat(current);
        }
        self.set_below(self.above(b), next, true);
        self.enter(cx, cpu, next, true);
    }

    /// The thread that runs on `cpu` from now on, after the levels have been switched; [`NIL`] for
    /// none.
    pub(super) fn pick_next(&mut self, cx: &mut Cx<'_>, cpu: u16) -> u32 {
        let idles = self.cpus[usize::from(cpu)].current == NIL;
        if idles && self.all_on(cpu) == 0 && self.rules.release.idles_without_a_look() {
            // Who idles and has no threads looks for none (`SM_IDLE`), not even for groups that
            // sleep on their queue.
            return NIL;
        }
        let mut serves = true;
        if self.highs > 0 {
            self.leave_high(cx, cpu);
        }
        loop {
            if self.highs > 0
                && let Turn::Thread(e) = self.turn(cpu, serves)
            {
                self.switch(cx, cpu, e);
                self.push(cx, cpu);
                return e;
            }
            let (e, out_of_time) = self.pick_thread(cx, cpu);
            if e == NIL {
                if self.highs > 0 && serves && self.high[usize::from(cpu)].serves {
                    self.server_yields(cx, cpu);
                    serves = false;
                    continue;
                }
                if self.pull_before_idling(cx, cpu) {
                    continue;
                }
                self.switch(cx, cpu, NIL);
                return NIL;
            }
            self.switch(cx, cpu, e);
            if (out_of_time || self.has_no_time(cx, e)) && self.put_aside(cx, e) {
                continue;
            }
            return e;
        }
    }
}
