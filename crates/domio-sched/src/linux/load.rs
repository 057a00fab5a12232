//! Loads of queues and threads, and the weight of a group on each pcpu (linux-spec 1.6, 1.7, 1.10,
//! 1.11). On a host of one pcpu no decision needs them.

use super::Linux;
use super::params::GroupMode;
use super::pelt::Average;
use super::state::{NIL, Queue};
use super::weights::{Load, down};
use domio_contract::Cx;

impl Queue {
    /// Threads have come with this sum of load, or have left with it where it is negative.
    fn note_moved(&mut self, sum: i64) {
        if self.entity != NIL {
            self.moved = true;
            self.moved_sum += sum;
        }
    }
}

/// How often a queue tells its group of its load at most, since 6.7.
const TELL_EVERY: i64 = 1_000_000;

impl Linux {
    /// The averages of `e` and of its queue follow the clock, and the queue's group learns of that.
    pub(super) fn update_load(&mut self, q: u32, e: u32) {
        if self.averages && self.follow_load(q, e) {
            self.tell_group(q);
        }
    }

    /// The averages of `e` and of its queue follow the clock. The queue's group does not learn of
    /// that, unless the entity is new there.
    pub(super) fn update_load_quietly(&mut self, q: u32, e: u32) {
        let attached = self.entities[e as usize].average.is_attached();
        if self.averages && self.follow_load(q, e) && !attached {
            self.tell_group(q);
        }
    }

    /// The averages of `e` and of its queue follow the clock. Returns whether the queue's have
    /// changed.
    fn follow_load(&mut self, q: u32, e: u32) -> bool {
        let now = self.pelt_clock(q);
        let runs = self.queues[q as usize].current == e;
        let entity = &mut self.entities[e as usize];
        let own = entity.own;
        let load = u64::from(entity.on_queue);
        let runnable = match (entity.delayed, own) {
            (true, _) => 0,
            (false, NIL) => load,
            (false, _) => u64::from(entity.runnable),
        };
        let attached = entity.average.is_attached();
        if attached && entity.average.advance(now, load, runnable, runs) {
            entity.average.settle(down(entity.load.weight));
        }
        let mut changed = self.update_queue(q, now);
        if !attached {
            let entity = &mut self.entities[e as usize];
            let weight = down(entity.load.weight);
            let queue = &mut self.queues[q as usize];
            queue.average.attach(weight, &mut entity.average);
            let sum = entity.average.load_sum as i64;
            queue.note_moved(sum);
            changed = true;
        }
        if own != NIL {
            changed |= self.follow_below(q, e);
        }
        changed
    }

    /// The time by which averages on `q` go: without that in which it was throttled.
    #[inline]
    pub(super) fn pelt_clock(&self, q: u32) -> i64 {
        let queue = &self.queues[q as usize];
        let clock = match queue.pelt_stopped {
            true => queue.pelt_stopped_at,
            false => self.cpus[usize::from(queue.cpu)].clock,
        };
        clock - queue.pelt_stopped_for
    }

    /// The averages on `q` stand still from now on, as it is throttled.
    pub(super) fn stop_pelt(&mut self, q: u32) {
        let queue = &mut self.queues[q as usize];
        if !core::mem::replace(&mut queue.pelt_stopped, true) {
            queue.pelt_stopped_at = self.cpus[usize::from(queue.cpu)].clock;
        }
    }

    /// The averages on `q` go on.
    pub(super) fn resume_pelt(&mut self, q: u32) {
        let queue = &mut self.queues[q as usize];
        if core::mem::take(&mut queue.pelt_stopped) {
            let clock = self.cpus[usize::from(queue.cpu)].clock;
            queue.pelt_stopped_for += clock - queue.pelt_stopped_at;
        }
    }

    /// From now on the averages of the group `e` go by the threads that are in it now
    /// (`se_update_runnable`).
    pub(super) fn note_runnable(&mut self, e: u32) {
        let own = self.entities[e as usize].own;
        if self.averages && own != NIL {
            self.entities[e as usize].runnable = self.runnable(own) as u32;
        }
    }

    /// The averages of the group `e`, and of its queue `q`, follow threads that have come to the
    /// group on this pcpu or left it with their load. Returns whether there were any.
    fn follow_below(&mut self, q: u32, e: u32) -> bool {
        let entity = &mut self.entities[e as usize];
        let own = &mut self.queues[entity.own as usize];
        if !core::mem::take(&mut own.moved) {
            return false;
        }
        let sum = core::mem::take(&mut own.moved_sum);
        let (below, below_weight) = (own.average, down(own.load));
        let queue = &mut self.queues[q as usize];
        queue.note_moved(sum);
        let weight = down(entity.load.weight);
        queue
            .average
            .follow(weight, &mut entity.average, &below, below_weight, sum);
        true
    }

    /// The entity of a new group, whose queue `q` is, counts among what is around the group.
    pub(super) fn attach_group(&mut self, q: u32) {
        let e = self.queues[q as usize].entity;
        let above = self.queue_of(e);
        self.update_load(above, e);
        self.follow_above(above);
    }

    /// Those around `q`, up to one that is throttled, follow what has changed there.
    fn follow_above(&mut self, q: u32) {
        let mut q = q;
        while !self.cuts_off(q) {
            let x = self.queues[q as usize].entity;
            if x == NIL {
                return;
            }
            q = self.queue_of(x);
            self.update_load(q, x);
        }
    }

    /// The averages of `q` follow the clock. Returns whether a period has ended.
    pub(super) fn update_queue(&mut self, q: u32, now: i64) -> bool {
        let runnable = self.runnable(q);
        let queue = &mut self.queues[q as usize];
        let runs = queue.current != NIL;
        let ended = queue.average.advance(now, down(queue.load), runnable, runs);
        if ended {
            queue.average.settle(1);
        }
        ended
    }

    /// Threads of `q` and below that do not sleep.
    #[inline]
    pub(super) fn runnable(&self, q: u32) -> u64 {
        let queue = &self.queues[q as usize];
        u64::from(queue.threads - queue.delayed)
    }

    /// The group of `q` learns of its load, if that has changed by more than a part in 64.
    fn tell_group(&mut self, q: u32) {
        let now = self.time;
        let queue = &mut self.queues[q as usize];
        if queue.entity == NIL {
            return;
        }
        let limited = self.rules.release.tells_groups_rarely();
        if limited && now - queue.told_at < TELL_EVERY {
            return;
        }
        let counts = self.rules.release.is_flat();
        let delta = queue.average.load as i64 - queue.contribution;
        let runnable = queue.average.runnable as i64 - queue.runnable_contribution;
        let differs = delta.abs() > queue.contribution / 64
            || (counts && runnable.abs() > queue.runnable_contribution / 64);
        if differs {
            queue.contribution += delta;
            queue.runnable_contribution += runnable;
            queue.told_at = now;
            let group = &mut self.groups[queue.group as usize];
            group.load += delta;
            group.runnable += runnable;
        }
    }

    /// The weight of `e`, if it is a group, follows what the group has on this pcpu and on others.
    pub(super) fn update_group_weight(&mut self, cx: &mut Cx<'_>, e: u32) {
        let own = self.entities[e as usize].own;
        if own == NIL {
            return;
        }
        let queue = &self.queues[own as usize];
        let always = self.rules.release.reweights_always();
        let throttled = queue.throttles > 0 && !self.rules.release.throttles_threads();
        // An empty group has no weight of its own in 6.1; a new thread in it is placed with this.
        if throttled || (!always && queue.load == 0) {
            return;
        }
        let weight = self.group_weight(own);
        // 6.1 charges whoever runs there even where the weight stays.
        if always || weight != self.entities[e as usize].load.weight {
            self.reweight(cx, e, self.rules.load(Load::of(weight)));
        }
    }

    /// The weight that the group of `q` is to have on this pcpu, and the most that is possible: its
    /// shares, or a multiple of them (`cgroup_mode`).
    fn group_weight(&self, q: u32) -> u64 {
        let queue = &self.queues[q as usize];
        let group = &self.groups[queue.group as usize];
        // Threads of the group that run or wait, on all pcpus.
        let threads = || (group.runnable >> 10).max(1) as u64;
        let pcpus = || self.cpus.iter().filter(|c| c.online).count().max(1) as u64;
        let multiple = match self.rules.group_mode {
            GroupMode::Up => return group.shares,
            GroupMode::Smp => 1,
            GroupMode::Concur => threads().min(pcpus()),
            GroupMode::Tasks => threads(),
            GroupMode::Max => pcpus(),
        };
        let shares = group.shares * multiple;
        let most = match self.rules.group_mode {
            GroupMode::Max => Load::nice(-20).weight,
            _ => shares,
        };
        if !self.multi {
            // Nothing is elsewhere.
            return shares.min(most);
        }
        let load = down(queue.load).max(queue.average.load) as i64;
        let all = group.load - queue.contribution + load;
        // Many threads of heavy groups are beyond 64 bits in the modes of 7.3.
        let mut weight = i128::from(shares) * i128::from(load);
        if all > 0 {
            weight /= i128::from(all);
        }
        weight.clamp(2, i128::from(most)) as u64
    }

    /// What the thread `e` adds to the load of its pcpu.
    pub(super) fn thread_load(&self, e: u32) -> u64 {
        let entity = &self.entities[e as usize];
        let queue = &self.queues[entity.queue as usize];
        entity.average.load * self.queue_load(entity.queue) / (queue.average.load + 1)
    }

    /// What `q` adds to the load of its pcpu.
    fn queue_load(&self, q: u32) -> u64 {
        match self.queues[q as usize].entity {
            NIL => self.queues[q as usize].average.load,
            e => {
                let entity = &self.entities[e as usize];
                let above = entity.queue;
                let load = self.queues[above as usize].average.load;
                self.queue_load(above) * entity.average.load / (load + 1)
            }
        }
    }

    /// The thread `e` does not count on its pcpu any more.
    pub(super) fn detach_load(&mut self, e: u32) {
        if !self.averages || !self.entities[e as usize].average.is_attached() {
            return;
        }
        let q = self.queue_of(e);
        self.update_load_quietly(q, e);
        let entity = &mut self.entities[e as usize];
        let weight = down(entity.load.weight);
        self.queues[q as usize]
            .average
            .detach(weight, &entity.average);
        entity.average.last = i64::MIN;
        let sum = entity.average.load_sum as i64;
        self.queues[q as usize].note_moved(-sum);
        self.tell_group(q);
        self.follow_above(q);
    }

    /// What slept or left `cpu` fades from the averages there, and groups learn of that.
    pub(super) fn fade(&mut self, cpu: u16) {
        let deepest = self.groups.iter().map(|g| g.depth).max().unwrap_or(0);
        for depth in (1..=deepest).rev() {
            for group in 1..self.groups.len() as u32 {
                if self.groups[group as usize].depth == depth {
                    self.fade_group(self.queue_on(group, cpu));
                }
            }
        }
    }

    /// The same of `q`, a group's, and of the group's entity.
    fn fade_group(&mut self, q: u32) {
        let queue = &self.queues[q as usize];
        if queue.average.load > 0 || queue.contribution > 0 {
            self.update_queue(q, self.pelt_clock(q));
            self.tell_group(q);
        }
        let queue = &self.queues[q as usize];
        let average = &self.entities[queue.entity as usize].average;
        if queue.moved || average.load > 0 || average.util > 0 {
            self.update_load(self.queue_of(queue.entity), queue.entity);
        }
    }

    /// The averages of a new thread on `q`.
    pub(super) fn first_average(&self, q: u32, e: u32) -> Average {
        let weight = down(self.entities[e as usize].load.weight);
        let queue = &self.queues[q as usize].average;
        let room = 1024_u64.saturating_sub(queue.util) / 2;
        // 6.1 takes the weight with its ten more bits.
        let scaled = match self.rules.release.starts_busy() {
            true => self.entities[e as usize].load.weight,
            false => weight,
        };
        let util = match queue.util {
            0 => room,
            util => (util * scaled / (queue.load + 1)).min(room),
        };
        Average {
            load: weight,
            util,
            runnable: util,
            ..Average::ALONE
        }
    }
}
