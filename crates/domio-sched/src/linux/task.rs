//! A thread on all levels: queueing and leaving, the tick, giving way, asking for a pass
//! (linux-spec 2.6, 2.8, 2.10, 3.6, 3.12).

use super::Linux;
use super::entity::how;
use super::state::NIL;
use super::weights::fair;
use domio_contract::{Cx, Pause};
use domio_core::VcpuId;

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
        self.queues[q as usize].throttled && !self.rules.release.throttles_threads()
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
        match self.rules.release.is_flat() {
            true => self.enqueue_flat(cx, e, flags),
            false => self.enqueue_levels(cx, e, flags),
        }
        self.update_hrtick(cx, self.queues[self.queue_of(e) as usize].cpu);
    }

    /// The thread `e` of the fair class comes to the queue of each level.
    fn enqueue_levels(&mut self, cx: &mut Cx<'_>, e: u32, flags: u8) {
        let mut crowd = self.alone(e, flags);
        let (mut x, mut flags) = (e, flags);
        let mut slice = None;
        while x != NIL {
            let q = self.queue_of(x);
            if self.entities[x as usize].on_queue {
                if self.entities[x as usize].delayed {
                    self.requeue_delayed(cx, x);
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
        match self.rules.release.is_flat() {
            true => self.dequeue_flat(cx, e, flags),
            false => {
                let crowd = self.alone(e, flags).less();
                self.dequeue_from(cx, e, flags, crowd);
            }
        }
    }

    /// `e`, which slept on its queue and would be picked, leaves for good.
    pub(super) fn drop_sleeper(&mut self, cx: &mut Cx<'_>, e: u32) {
        let flags = how::SLEEP | how::DELAYED;
        match self.entities[e as usize].vcpu {
            Some(_) => self.dequeue_thread(cx, e, flags),
            None => self.dequeue_from(cx, e, flags, Crowd::default()),
        }
    }

    /// The thread `e` as a crowd, which comes or goes as `flags` say. Who goes to sleep, or is done
    /// with it, counts as a sleeper where that is noted.
    pub(super) fn alone(&self, e: u32, flags: u8) -> Crowd {
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

    /// Takes the thread `e`, which sleeps, waits or is throttled, from whatever queue it is on.
    pub(super) fn take_off(&mut self, cx: &mut Cx<'_>, e: u32, flags: u8) {
        self.read_clock(cx, self.queues[self.queue_of(e) as usize].cpu);
        let entity = &self.entities[e as usize];
        match (entity.on_queue, entity.delayed) {
            (false, _) => {}
            (true, true) => self.dequeue_thread(cx, e, how::SLEEP | how::DELAYED),
            (true, false) => self.dequeue_thread(cx, e, flags),
        }
    }

    /// How a thread leaves that is not runnable any more, for the reasons in `pause`.
    pub(super) fn leaves(&mut self, vcpu: VcpuId, pause: Pause) -> u8 {
        if pause.bits() == Pause::MIGRATING {
            self.threads[vcpu.index()].moving = true;
            return 0;
        }
        match pause.bits() & !(Pause::BLOCKED | Pause::MIGRATING) {
            0 => how::SLEEP,
            _ => how::SLEEP | how::AT_ONCE,
        }
    }

    /// `e` wakes: it is queued on `cpu`, and may preempt whoever runs there.
    pub(super) fn come(&mut self, cx: &mut Cx<'_>, e: u32, cpu: u16, flags: u8) {
        self.read_clock(cx, cpu);
        let q = self.queue_of(e);
        if flags & how::NEW != 0 {
            if self.averages && !self.is_high(e) {
                let average = self.first_average(q, e);
                self.entities[e as usize].average = average;
            }
            let vcpu = self.entities[e as usize].vcpu.expect("a thread");
            self.threads[vcpu.index()].known = true;
            self.threads[vcpu.index()].recent = cpu;
        }
        if self.entities[e as usize].delayed {
            self.requeue_delayed(cx, e);
        } else {
            self.enqueue_thread(cx, e, flags);
        }
        if self.all_on(cpu) > 1 {
            self.overloaded = true;
        }
        // A pcpu that idles looks for work even where the group has no time.
        self.preempt(cx, e, flags & how::NEW != 0);
        if self.is_high(e) {
            return self.push_woken(cx, cpu, e);
        }
        self.park_with_group(cx, e);
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
        if self.rules.release.is_flat() && self.entities[e as usize].on_queue {
            self.refresh_weight(e);
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

    /// The thread `e`, which runs, gives way (linux-spec 2.10, 3.12).
    pub(super) fn give_way(&mut self, cx: &mut Cx<'_>, e: u32) {
        let q = self.line_of(e);
        self.forget_buddy(e);
        let cpu = self.queues[q as usize].cpu;
        let entity = &self.entities[e as usize];
        // CFS charges whoever is of the batch class later.
        if self.rules.eevdf || !entity.meek || entity.idle {
            self.read_clock(cx, cpu);
            self.charge_runner(cx, q);
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
        let always = self.rules.release.yields_always();
        if !always && !self.is_eligible(q, self.entities[e as usize].v) {
            return;
        }
        let entity = &mut self.entities[e as usize];
        entity.v = entity.deadline;
        let request = fair(entity.slice, &entity.effective);
        entity.deadline = entity.deadline.wrapping_add(request);
    }

    /// A pass is due on `cpu`, after a slice or for a thread that woke.
    pub(super) fn resched_by_rule(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        match self.rules.release.has_vprot() {
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
