//! How long whoever runs keeps its pcpu (EEVDF; linux-spec 3.7).

use super::Linux;
use super::queue::before;
use super::release::Waking;
use super::weights::fair;

impl Linux {
    /// Whether `e`, which runs, keeps its pcpu.
    #[inline]
    pub(super) fn is_protected(&self, e: u32) -> bool {
        let entity = &self.entities[e as usize];
        match self.rules.release.has_vprot() {
            true => before(entity.v, entity.protected_until),
            // For as long as it has the deadline of the switch in.
            false => entity.deadline == entity.protected_until,
        }
    }

    /// Ends the protection of `e`.
    pub(super) fn unprotect(&mut self, e: u32) {
        if self.rules.release.protects_picks_alone() && !self.is_protected(e) {
            return;
        }
        let vprot = self.rules.release.has_vprot();
        let entity = &mut self.entities[e as usize];
        entity.protected_until = match vprot {
            true => entity.v,
            false => entity.deadline.wrapping_add(1),
        };
    }

    /// `e`, which becomes current on `q`, is protected from now on. It was `picked`, or comes back
    /// after a change of its settings.
    pub(super) fn protect(&mut self, q: u32, e: u32, picked: bool) {
        let release = self.rules.release;
        if release.protects_picks_alone() {
            if picked {
                self.protect_pick(q, e);
            }
            return;
        }
        let shortest = match release.has_vprot() {
            true => self.shortest_slice(q),
            false => 0,
        };
        let (vprot, parity) = (release.has_vprot(), self.rules.run_to_parity);
        let base = self.tunables.base_slice;
        let entity = &mut self.entities[e as usize];
        entity.protected_until = entity.deadline;
        if !vprot {
            return;
        }
        let until = match (parity, shortest < entity.slice) {
            (true, false) => return,
            (true, true) => entity.v.wrapping_add(fair(shortest, &entity.effective)),
            (false, _) => entity.v.wrapping_add(base),
        };
        if before(until, entity.protected_until) {
            entity.protected_until = until;
        }
    }

    /// The same since 7.0: to the deadline, and beside shorter slices for the shortest of them, or
    /// until `e` is not eligible any more (7.3).
    fn protect_pick(&mut self, q: u32, e: u32) {
        let slice = match self.rules.run_to_parity {
            true => self.shortest_slice(q),
            false => self.tunables.unscaled_slice,
        };
        let short = self.rules.preempt_short;
        let ineligible = self.rules.release.waking() == Waking::Thread && short;
        let queue = &self.queues[q as usize];
        let others = match queue.weights {
            0 => queue.zero,
            weights => queue.zero.wrapping_add(queue.sum.div_euclid(weights)),
        };
        let entity = &mut self.entities[e as usize];
        entity.protected_until = entity.deadline;
        if slice >= entity.slice {
            return;
        }
        let until = match ineligible {
            true => others.wrapping_add(1),
            false => entity.v.wrapping_add(fair(slice, &entity.effective)),
        };
        if before(until, entity.protected_until) {
            entity.protected_until = until;
        }
    }

    /// Somebody came to `q` who does not preempt `e`, which runs there: it is protected for the
    /// shortest slice on the queue from now on, at most.
    pub(super) fn shorten_protection(&mut self, q: u32, e: u32) {
        let shortest = self.shortest_slice(q);
        let from = match self.rules.release.waking() {
            Waking::Thread => {
                let (mean, v) = (self.mean(q).0, self.entities[e as usize].v);
                if before(mean, v) { mean } else { v }
            }
            _ => self.entities[e as usize].v,
        };
        let entity = &mut self.entities[e as usize];
        let until = from.wrapping_add(fair(shortest, &entity.effective));
        if before(until, entity.protected_until) {
            entity.protected_until = until;
        }
    }
}
