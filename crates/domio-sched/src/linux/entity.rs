//! One entity on one queue: placing, queueing (linux-spec 2.4 to 2.6, 3.5, 3.6).

use super::Linux;
use super::queue::later;
use super::state::NIL;
use super::weights::{Load, fair, scale};
use domio_contract::Cx;

/// How an entity comes or goes, as bits.
pub(super) mod how {
    /// It wakes, or goes to sleep.
    pub const SLEEP: u8 = 1;
    /// It is new.
    pub const NEW: u8 = 2;
    /// It must not stay on the queue: stopped, or throttled.
    pub const AT_ONCE: u8 = 4;
    /// It slept on the queue and leaves for good.
    pub const DELAYED: u8 = 8;
    /// It comes from another pcpu.
    pub const MOVED: u8 = 16;
    /// It leaves for no time at all, so that the least virtual time stays (CFS).
    pub const SAVE: u8 = 32;
    /// It comes before its equals (fifo, rr).
    pub const HEAD: u8 = 64;
    /// It has been given another runtime (deadline).
    pub const REPLENISHED: u8 = 128;
}

impl Linux {
    /// The slice of `e` (CFS): its part of the latency at each level.
    pub(super) fn cfs_slice(&self, e: u32) -> i64 {
        let entity = &self.entities[e as usize];
        let root = &self.queues[usize::from(self.queues[entity.queue as usize].cpu)];
        let threads = root.threads + u32::from(!entity.on_queue);
        let t = &self.tunables;
        let mut slice = match threads > t.threads_in_latency {
            true => i64::from(threads) * t.min_granularity,
            false => t.latency,
        };
        let mut x = e;
        while x != NIL {
            let above = &self.entities[x as usize];
            let mut load = self.queues[above.queue as usize].load;
            if !above.on_queue {
                load += above.load.weight;
            }
            slice = scale(slice, above.load.weight, &Load::of(load));
            x = above.parent;
        }
        let own = &self.queues[entity.queue as usize];
        let all_idle = own.threads > 0 && own.threads == own.idlers;
        let least = match entity.idle && !all_idle {
            true => self.rules.idle_min_granularity,
            false => t.min_granularity,
        };
        slice.max(least)
    }

    /// Gives `e` its virtual time on `q` (CFS).
    pub(super) fn place_cfs(&mut self, q: u32, e: u32, flags: u8) {
        let mut v = self.queues[q as usize].min_v;
        if flags & how::NEW != 0 {
            if self.rules.start_debit {
                let slice = self.cfs_slice(e);
                v = v.wrapping_add(fair(slice, &self.entities[e as usize].load));
            }
        } else {
            let mut credit = match self.entities[e as usize].idle {
                true => self.tunables.min_granularity,
                false => self.tunables.latency,
            };
            if self.rules.gentle_fair_sleepers {
                credit >>= 1;
            }
            v = v.wrapping_sub(credit);
        }
        let entity = &mut self.entities[e as usize];
        entity.v = later(entity.v, v);
    }

    /// Gives `e` its virtual time and its deadline on `q` (EEVDF).
    pub(super) fn place(&mut self, q: u32, e: u32, flags: u8) {
        let (mean, weights) = self.mean(q);
        let own = self.weight_of(e);
        let base = self.tunables.base_slice;
        let place_lag = self.rules.place_lag && self.queues[q as usize].count > 0;
        let entity = &mut self.entities[e as usize];
        if !entity.custom_slice {
            entity.slice = base;
        }
        let mut request = fair(entity.slice, &entity.effective);
        let mut lag = 0;
        if place_lag {
            // The lag is what it is to be once the entity counts in the mean.
            lag = match self.rules.release.is_exact() {
                true => {
                    let inflated = i128::from(entity.lag) * i128::from(weights + own);
                    (inflated / i128::from(weights.max(1))) as i64
                }
                false => entity.lag.wrapping_mul(weights + own) / weights.max(1),
            };
        }
        entity.v = mean.wrapping_sub(lag);
        let relative = core::mem::take(&mut entity.relative_deadline);
        if self.rules.release.is_exact() && own > weights {
            // Sums are relative to where the heavier one is.
            self.move_zero(q, -lag);
        }
        let entity = &mut self.entities[e as usize];
        if relative {
            entity.deadline = entity.deadline.wrapping_add(entity.v);
            return;
        }
        if flags & how::NEW != 0 {
            request /= 2;
        }
        entity.deadline = entity.v.wrapping_add(request);
    }

    /// `e` comes to `q`.
    pub(super) fn enqueue_entity(&mut self, cx: &mut Cx<'_>, q: u32, e: u32, flags: u8) {
        let runs = self.queues[q as usize].current == e;
        if self.rules.eevdf {
            if runs {
                self.place(q, e, flags);
            }
            self.update_current(cx, q);
        } else {
            let min_v = self.queues[q as usize].min_v;
            if runs {
                self.make_absolute(e, min_v);
            }
            self.update_current(cx, q);
            let min_v = self.queues[q as usize].min_v;
            self.make_absolute(e, min_v);
        }
        self.update_load(q, e);
        self.note_runnable(e);
        self.update_group_weight(cx, e);
        if self.rules.eevdf && !runs {
            self.place(q, e, flags);
        }
        if !self.rules.eevdf && flags & (how::SLEEP | how::NEW) != 0 {
            self.place_cfs(q, e, flags);
        }
        let weight = self.entities[e as usize].load.weight;
        let queue = &mut self.queues[q as usize];
        queue.load += weight;
        queue.count += 1;
        let first = queue.count == 1;
        if flags & how::MOVED != 0 {
            self.entities[e as usize].exec_start = 0;
        }
        if !runs {
            self.link(q, e);
        }
        self.entities[e as usize].on_queue = true;
        if first {
            if self.rules.release.throttles_threads() {
                self.resume_pelt(q);
            }
            self.check_quota_of_first(cx, q);
        }
    }

    fn make_absolute(&mut self, e: u32, min_v: i64) {
        let entity = &mut self.entities[e as usize];
        if core::mem::take(&mut entity.relative) {
            entity.v = entity.v.wrapping_add(min_v);
        }
    }

    /// `e` leaves `q`. Returns false when it sleeps but stays on the queue.
    pub(super) fn dequeue_entity(&mut self, cx: &mut Cx<'_>, q: u32, e: u32, flags: u8) -> bool {
        let sleeps = flags & how::SLEEP != 0;
        self.update_current(cx, q);
        if self.rules.eevdf {
            self.forget_buddy(e);
            let may_stay = sleeps && flags & (how::AT_ONCE | how::DELAYED) == 0;
            if may_stay
                && self.rules.delay_dequeue
                && !self.is_eligible(q, self.entities[e as usize].v)
            {
                self.update_load_quietly(q, e);
                if self.rules.release.records_lag_of_sleepers() {
                    self.record_lag(q, e);
                }
                self.delay(e);
                return false;
            }
        }
        self.update_load(q, e);
        self.note_runnable(e);
        if self.rules.eevdf {
            self.record_lag(q, e);
            let entity = &mut self.entities[e as usize];
            if !sleeps {
                entity.deadline = entity.deadline.wrapping_sub(entity.v);
                entity.relative_deadline = true;
            }
        } else {
            self.forget_buddy(e);
        }
        if self.queues[q as usize].current != e {
            self.unlink(q, e);
        }
        let weight = self.entities[e as usize].load.weight;
        self.entities[e as usize].on_queue = false;
        let queue = &mut self.queues[q as usize];
        queue.load -= weight;
        queue.count -= 1;
        let stops =
            self.rules.release.throttles_threads() && queue.count == 0 && queue.throttles > 0;
        if !self.rules.eevdf && !sleeps {
            let min_v = queue.min_v;
            let entity = &mut self.entities[e as usize];
            entity.v = entity.v.wrapping_sub(min_v);
            entity.relative = true;
        }
        if stops {
            self.stop_pelt(q);
        }
        self.return_slack(cx, q);
        self.update_group_weight(cx, e);
        if self.rules.eevdf {
            if flags & how::DELAYED != 0 {
                let entity = &mut self.entities[e as usize];
                entity.lag = entity.lag.min(0);
                self.wake_delayed(e);
            }
        } else if flags & how::SAVE == 0 {
            self.update_min(q);
        }
        true
    }

    /// `e` sleeps from now on and stays on its queue.
    pub(super) fn delay(&mut self, e: u32) {
        self.entities[e as usize].delayed = true;
        if self.entities[e as usize].vcpu.is_some() {
            self.count_delayed(e, 1);
        }
    }

    /// So many threads more or less on `q` and below sleep there.
    pub(super) fn count_sleepers(&mut self, q: u32, more: i32) {
        let queue = &mut self.queues[q as usize];
        queue.delayed = queue.delayed.wrapping_add_signed(more);
    }

    /// One thread more or less, in the queues from `e` up, sleeps on its queue.
    pub(super) fn count_delayed(&mut self, e: u32, more: i32) {
        let mut e = e;
        while e != NIL {
            let q = self.entities[e as usize].queue;
            self.count_sleepers(q, more);
            if self.cuts_off(q) {
                return;
            }
            e = self.entities[e as usize].parent;
        }
    }

    /// `e`, which slept on its queue, is awake again.
    pub(super) fn requeue_delayed(&mut self, cx: &mut Cx<'_>, e: u32) {
        let q = self.line_of(e);
        let moves = match self.rules.release.records_lag_of_sleepers() {
            true => {
                self.charge_runner(cx, q);
                !self.record_lag(q, e)
            }
            // Before, whoever runs was not charged first.
            false => {
                let lag = self.lag(q, e);
                self.entities[e as usize].lag = lag.min(0);
                lag > 0
            }
        };
        if moves {
            let runs = self.queues[q as usize].current == e;
            if !runs {
                self.unlink(q, e);
            }
            self.queues[q as usize].count -= 1;
            self.place(q, e, 0);
            self.queues[q as usize].count += 1;
            if !runs {
                self.link(q, e);
            }
        }
        self.update_load_quietly(q, e);
        self.wake_delayed(e);
    }

    /// `e` does not sleep on its queue any more.
    pub(super) fn wake_delayed(&mut self, e: u32) {
        self.entities[e as usize].delayed = false;
        if self.entities[e as usize].vcpu.is_some() {
            self.count_delayed(e, -1);
        }
    }
}
