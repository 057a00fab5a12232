//! A weight that changes, and what that does to virtual times (linux-spec 1.8, 3.9).

use super::Linux;
use super::release::Reweight;
use super::weights::{Load, down};
use domio_contract::Cx;

/// `x` of an entity of the weight `old`, as it is with the weight `new`.
fn rescaled(x: i64, old: u64, new: u64) -> i64 {
    (i128::from(x) * i128::from(old) / i128::from(new)) as i64
}

impl Linux {
    /// `e` has this weight in its group from now on.
    pub(super) fn reweight(&mut self, cx: &mut Cx<'_>, e: u32, load: Load) {
        let q = self.entities[e as usize].queue;
        let (on_queue, old) = {
            let entity = &self.entities[e as usize];
            (entity.on_queue, entity.load.weight)
        };
        if self.rules.release.is_flat() {
            // Virtual times follow when the effective weight does.
            self.change_load(q, e, load);
        } else if !on_queue {
            if self.rules.eevdf {
                self.rescale_absent(e, load.weight);
            }
            self.change_load(q, e, load);
        } else {
            self.reweight_on_queue(cx, q, e, load);
        }
        if on_queue {
            let queue = &mut self.queues[q as usize];
            queue.load = queue.load - old + load.weight;
        }
    }

    /// The same of `e` on `q`, but for the sum of weights there.
    fn reweight_on_queue(&mut self, cx: &mut Cx<'_>, q: u32, e: u32, load: Load) {
        let (old, new) = (self.entities[e as usize].load.weight, load.weight);
        let runs = self.queues[q as usize].current == e;
        let reweight = self.rules.release.reweight();
        if runs || reweight != Reweight::Untouched {
            self.update_current(cx, q);
        }
        match reweight {
            Reweight::Untouched => return self.change_load(q, e, load),
            Reweight::WithProtection => {
                return self.rescale(q, e, new, |linux| linux.change_load(q, e, load));
            }
            Reweight::Anew => {
                let lag = self.lag(q, e);
                if !runs {
                    self.unlink(q, e);
                }
                self.queues[q as usize].count -= 1;
                let entity = &mut self.entities[e as usize];
                let request = entity.deadline.wrapping_sub(entity.v);
                entity.lag = rescaled(lag, old, new);
                entity.deadline = rescaled(request, old, new);
                entity.relative_deadline = true;
                self.change_load(q, e, load);
                self.place(q, e, 0);
                self.queues[q as usize].count += 1;
            }
            Reweight::AboutMean => {
                let (mean, _) = self.mean(q);
                let lag = self.lag(q, e);
                if !runs {
                    self.unlink(q, e);
                }
                let entity = &mut self.entities[e as usize];
                if entity.v != mean {
                    entity.v = mean.wrapping_sub(rescaled(lag, old, new));
                }
                let request = entity.deadline.wrapping_sub(mean);
                entity.deadline = mean.wrapping_add(rescaled(request, old, new));
                self.change_load(q, e, load);
            }
        }
        if !runs {
            self.link(q, e);
        }
    }

    /// `e`, which is on no queue, is about to pass virtual time by the weight `new`.
    pub(super) fn rescale_absent(&mut self, e: u32, new: u64) {
        let entity = &mut self.entities[e as usize];
        let old = entity.effective.weight;
        entity.lag = rescaled(entity.lag, old, new);
        if self.rules.release.has_vprot() && entity.relative_deadline {
            entity.deadline = rescaled(entity.deadline, old, new);
        }
    }

    /// `e` on `q` passes virtual time by the weight `new` from now on, which `change` sets: its
    /// distances from the mean are scaled (7.0).
    pub(super) fn rescale(&mut self, q: u32, e: u32, new: u64, change: impl FnOnce(&mut Linux)) {
        let old = self.entities[e as usize].effective.weight;
        let lag = rescaled(self.lag(q, e), old, new);
        let mean = self.queues[q as usize].zero;
        let runs = self.queues[q as usize].current == e;
        if !runs {
            self.unlink(q, e);
        }
        let protected = runs && self.is_protected(e);
        let from_mean = |x: i64| mean.wrapping_add(rescaled(x.wrapping_sub(mean), old, new));
        let entity = &mut self.entities[e as usize];
        entity.lag = lag;
        entity.deadline = from_mean(entity.deadline);
        if protected {
            entity.protected_until = from_mean(entity.protected_until);
        }
        entity.v = mean.wrapping_sub(lag);
        change(self);
        if !runs {
            self.link(q, e);
        }
    }

    /// Sets the weight of `e` in its group, and what its queue's averages hold of it.
    fn change_load(&mut self, q: u32, e: u32, load: Load) {
        let entity = &mut self.entities[e as usize];
        if self.averages && entity.average.is_attached() {
            let (old, new) = (down(entity.load.weight), down(load.weight));
            let average = &mut entity.average;
            let queue = &mut self.queues[q as usize].average;
            queue.take_load(old, average);
            average.load = new * average.load_sum / average.divider();
            queue.add_load(new, average);
        }
        let entity = &mut self.entities[e as usize];
        entity.load = load;
        if !self.rules.release.is_flat() {
            entity.effective = load;
        }
    }
}
