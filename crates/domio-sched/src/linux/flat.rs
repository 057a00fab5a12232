//! The flat hierarchy: threads of all groups compete on one tree of their pcpu (linux-spec 3.9).
//!
//! Each group keeps its queue on each pcpu, with whoever runs there, its weights, its averages and
//! its quota. Virtual times, deadlines and lags are of threads alone. A thread passes virtual time
//! by its effective weight: its part of each group around it. That is computed where the thread
//! comes, becomes current or is found by a tick, and is stale in between.

use super::entity::how;
use super::state::NIL;
use super::weights::{Load, NICE_0, fair};
use super::{Linux, TREE};
use domio_contract::Cx;

/// Least effective weight.
const LEAST: u64 = 2;

impl Linux {
    /// The queue on which the virtual times of the threads of `cpu` are.
    #[inline]
    fn tree(&self, cpu: u16) -> u32 {
        self.queue_on(TREE, cpu)
    }

    /// The queue on which `e` has its virtual time.
    #[inline]
    pub(super) fn line_of(&self, e: u32) -> u32 {
        let q = self.queue_of(e);
        match self.rules.release.is_flat() {
            true => self.tree(self.queues[q as usize].cpu),
            false => q,
        }
    }

    /// Those who compete where the threads of `cpu` begin: entities of the root, or all threads.
    #[inline]
    pub(super) fn competitors(&self, cpu: u16) -> u32 {
        let q = match self.rules.release.is_flat() {
            true => self.tree(cpu),
            false => u32::from(cpu),
        };
        self.queues[q as usize].count
    }

    /// Charges whoever runs of those that have their virtual times on `q` until now.
    pub(super) fn charge_runner(&mut self, cx: &mut Cx<'_>, q: u32) {
        let runner = self.queues[q as usize].current;
        match self.rules.release.is_flat() {
            true if runner == NIL => {}
            true => self.update_current(cx, self.queue_of(runner)),
            false => self.update_current(cx, q),
        }
    }

    /// Charges the thread `e`, which runs, and all around it until now.
    pub(super) fn charge_levels(&mut self, cx: &mut Cx<'_>, e: u32) {
        let mut x = e;
        while x != NIL {
            self.update_current(cx, self.queue_of(x));
            x = self.above(x);
        }
    }

    /// `e`, which runs on `q`, used `delta` of its time.
    pub(super) fn charge_flat(&mut self, cx: &mut Cx<'_>, q: u32, e: u32, delta: i64) {
        self.charge_quota(cx, q, delta);
        let cpu = self.queues[q as usize].cpu;
        let entity = &mut self.entities[e as usize];
        if entity.vcpu.is_none() {
            return;
        }
        entity.v = entity.v.wrapping_add(fair(delta, &entity.effective));
        let tree = self.tree(cpu);
        let over = self.renew_deadline(tree, e);
        if self.highs > 0 {
            self.charge_server(cx, cpu, delta);
        }
        self.check_request(cx, cpu, tree, e, over);
    }

    /// The effective weight that the thread `e`, which is queued, is to have now.
    fn part_of_pcpu(&self, e: u32) -> u64 {
        let (mut x, mut part) = (e, NICE_0);
        while x != NIL {
            let entity = &self.entities[x as usize];
            let whole = match entity.parent {
                NIL => NICE_0,
                _ => self.queues[entity.queue as usize].load,
            };
            part = (part * entity.load.weight / whole.max(1)).max(LEAST);
            x = entity.parent;
        }
        part
    }

    /// Computes the effective weight of the thread `e`, which runs, anew.
    pub(super) fn refresh_weight(&mut self, e: u32) {
        let part = self.part_of_pcpu(e);
        if part != self.entities[e as usize].effective.weight {
            let tree = self.line_of(e);
            self.rescale(tree, e, part, |linux| linux.set_effective(e, part));
        }
    }

    fn set_effective(&mut self, e: u32, weight: u64) {
        self.entities[e as usize].effective = Load::of(weight).exact();
    }

    /// The thread `e` comes to the queue of its group, and to the tree.
    pub(super) fn enqueue_flat(&mut self, cx: &mut Cx<'_>, e: u32, flags: u8) {
        let tree = self.line_of(e);
        self.charge_runner(cx, tree);
        let runs = self.queues[tree as usize].current == e;
        if runs {
            self.place(tree, e, flags);
        }
        let mut crowd = self.alone(e, flags);
        let (mut x, mut level_flags) = (e, flags);
        while x != NIL {
            let q = self.queue_of(x);
            self.update_current(cx, q);
            match self.entities[x as usize].on_queue {
                true => {
                    self.update_load(q, x);
                    self.note_runnable(x);
                    self.update_group_weight(cx, x);
                }
                false => self.enter_level(cx, q, x, level_flags),
            }
            self.pass_level(cx, q, x, &mut crowd);
            level_flags = how::SLEEP;
            x = self.above(x);
        }
        if !runs {
            let part = self.part_of_pcpu(e);
            self.rescale_absent(e, part);
            self.set_effective(e, part);
            self.place(tree, e, flags);
            self.link(tree, e);
        }
        self.queues[tree as usize].count += 1;
    }

    /// `x` comes to the queue `q` of its group.
    fn enter_level(&mut self, cx: &mut Cx<'_>, q: u32, x: u32, flags: u8) {
        self.update_load(q, x);
        self.note_runnable(x);
        self.update_group_weight(cx, x);
        let entity = &mut self.entities[x as usize];
        entity.on_queue = true;
        if flags & how::MOVED != 0 {
            entity.exec_start = 0;
        }
        let queue = &mut self.queues[q as usize];
        queue.load += entity.load.weight;
        queue.count += 1;
        if queue.count == 1 {
            self.resume_pelt(q);
            self.check_quota_of_first(cx, q);
        }
    }

    /// The thread `e` leaves the queue of its group and the tree, unless it sleeps and stays there.
    pub(super) fn dequeue_flat(&mut self, cx: &mut Cx<'_>, e: u32, flags: u8) {
        let tree = self.line_of(e);
        let sleeps = flags & how::SLEEP != 0;
        self.forget_buddy(e);
        self.charge_runner(cx, tree);
        self.record_lag(tree, e);
        let may_stay = sleeps && flags & (how::AT_ONCE | how::DELAYED) == 0;
        if may_stay
            && self.rules.delay_dequeue
            && !self.is_eligible(tree, self.entities[e as usize].v)
        {
            self.update_load_quietly(self.queue_of(e), e);
            self.delay(e);
            return;
        }
        let mut crowd = self.alone(e, flags).less();
        let (mut x, mut leaves) = (e, true);
        while x != NIL {
            let q = self.queue_of(x);
            self.update_current(cx, q);
            if leaves {
                self.leave_level(cx, q, x);
                if x == e && flags & how::DELAYED != 0 {
                    self.wake_delayed(e);
                }
                leaves = self.queues[q as usize].load == 0;
            } else {
                self.update_load(q, x);
                self.note_runnable(x);
                self.update_group_weight(cx, x);
            }
            self.pass_level(cx, q, x, &mut crowd);
            x = self.above(x);
        }
        let entity = &mut self.entities[e as usize];
        if !sleeps {
            entity.deadline = entity.deadline.wrapping_sub(entity.v);
            entity.relative_deadline = true;
        }
        if self.queues[tree as usize].current != e {
            self.unlink(tree, e);
        }
        self.queues[tree as usize].count -= 1;
    }

    /// `x` leaves the queue `q` of its group.
    fn leave_level(&mut self, cx: &mut Cx<'_>, q: u32, x: u32) {
        self.update_load(q, x);
        self.note_runnable(x);
        let entity = &mut self.entities[x as usize];
        entity.on_queue = false;
        let queue = &mut self.queues[q as usize];
        queue.load -= entity.load.weight;
        queue.count -= 1;
        if queue.count == 0 && queue.throttles > 0 {
            self.stop_pelt(q);
        }
        self.return_slack(cx, q);
        self.update_group_weight(cx, x);
    }

    /// Picks a thread for `cpu`; [`NIL`] when nobody can run.
    pub(super) fn pick_flat(&mut self, cx: &mut Cx<'_>, cpu: u16) -> u32 {
        let tree = self.tree(cpu);
        loop {
            if self.queues[tree as usize].count == 0 {
                return NIL;
            }
            let runner = self.runner(tree);
            if runner != NIL {
                self.charge_levels(cx, runner);
            }
            let e = self.earliest(tree, true);
            if !self.entities[e as usize].delayed {
                return e;
            }
            self.drop_sleeper(cx, e);
        }
    }

    /// The thread `e`, all of whose levels have stopped being current that have to, goes back to
    /// the tree.
    pub(super) fn put_flat(&mut self, e: u32) {
        let tree = self.line_of(e);
        self.queues[tree as usize].current = NIL;
        if self.entities[e as usize].on_queue {
            self.link(tree, e);
        }
    }

    /// The thread `e`, all of whose levels have become current, is that of its pcpu. It was
    /// `picked`, or comes back after a change of its settings.
    pub(super) fn set_flat(&mut self, e: u32, picked: bool) {
        let tree = self.line_of(e);
        self.forget_buddy(e);
        let queued = self.entities[e as usize].on_queue;
        if queued {
            self.unlink(tree, e);
        }
        self.queues[tree as usize].current = e;
        if queued {
            self.refresh_weight(e);
            self.protect(tree, e, picked);
        }
    }
}
