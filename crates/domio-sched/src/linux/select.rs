//! The pcpu of a thread that wakes or is new (linux-spec 5).

use super::Linux;
use super::params::IMBALANCE_PCT;
use super::state::{LEVELS, NIL};
use domio_contract::Cx;
use domio_core::{CpuSet, PcpuId, VcpuId};

impl Linux {
    /// The pcpus of domain `level` around `cpu` that are online.
    pub(super) fn span(&self, cx: &Cx<'_>, level: usize, cpu: u16) -> CpuSet {
        let topology = cx.topology();
        let all = match level {
            0 => *topology.siblings(PcpuId(cpu)),
            1 => *topology.socket(PcpuId(cpu)),
            _ => topology.all(),
        };
        all & cx.online()
    }

    /// Whether domain `level` of `cpu` exists: it has more pcpus than what is below.
    pub(super) fn has_level(&self, cx: &Cx<'_>, level: usize, cpu: u16) -> bool {
        let below = match level {
            0 => 1,
            _ => self.span(cx, level - 1, cpu).len(),
        };
        self.span(cx, level, cpu).len() > below
    }

    /// Whether `cpu` idles and nothing is on its way to it.
    #[inline]
    pub(super) fn is_idle(&self, cpu: u16) -> bool {
        let c = &self.cpus[usize::from(cpu)];
        c.online && c.current == NIL && self.all_on(cpu) == 0
    }

    /// Whether only threads for idle times are on `cpu`.
    fn is_idle_class(&self, cpu: u16) -> bool {
        let queue = &self.queues[usize::from(cpu)];
        queue.threads > 0 && queue.threads == queue.idlers && self.high_on(cpu) == 0
    }

    fn is_free(&self, cpu: u16) -> bool {
        self.is_idle(cpu) || self.is_idle_class(cpu)
    }

    /// Where `vcpu`, which wakes and was on `previous`, goes.
    pub(super) fn select(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, previous: u16) -> u16 {
        let waker = cx.here().0;
        self.note_wakee(self.now(cx), waker, vcpu);
        if cx.hard(vcpu).len() == 1 {
            return cx.hard(vcpu).first().expect("one").0;
        }
        let mut target = previous;
        let near = cx.may_run_on(vcpu, PcpuId(waker)) && !self.is_wide(cx, waker, vcpu);
        // A level has both of them where both are online.
        if near && waker != previous && cx.online().contains(PcpuId(previous)) {
            target = self.affine(cx, vcpu, waker, previous);
        }
        self.idle_sibling(cx, vcpu, previous, target)
    }

    /// The thread on `waker` woke `vcpu`.
    fn note_wakee(&mut self, now: i64, waker: u16, vcpu: VcpuId) {
        let current = self.cpus[usize::from(waker)].current;
        if current == NIL {
            return;
        }
        let by = self.entities[current as usize].vcpu.expect("a thread runs");
        let thread = &mut self.threads[by.index()];
        if now > thread.flips_at + 1_000_000_000 {
            thread.flips >>= 1;
            thread.flips_at = now;
        }
        if thread.wakee != vcpu.0 {
            thread.wakee = vcpu.0;
            thread.flips += 1;
        }
    }

    /// Whether the waker wakes so many that they are to be spread.
    fn is_wide(&self, cx: &Cx<'_>, waker: u16, vcpu: VcpuId) -> bool {
        let current = self.cpus[usize::from(waker)].current;
        let master = match current {
            NIL => 0,
            e => {
                let by = self.entities[e as usize].vcpu.expect("a thread runs");
                self.threads[by.index()].flips
            }
        };
        let slave = self.threads[vcpu.index()].flips;
        is_wide(master, slave, self.span(cx, 1, waker).len() as u32)
    }

    /// `waker` or `previous`, whichever a thread that wakes is better near.
    fn affine(&mut self, cx: &Cx<'_>, vcpu: VcpuId, waker: u16, previous: u16) -> u16 {
        let shares = self.span(cx, 1, waker).contains(PcpuId(previous));
        if self.is_idle(waker) && shares {
            return match self.is_idle(previous) {
                true => previous,
                false => waker,
            };
        }
        if self.is_idle(previous) {
            return previous;
        }
        let e = self.threads[vcpu.index()].entity;
        let load = self.thread_load(e);
        let of = |cpu: u16| self.queues[usize::from(cpu)].average.load;
        let here = (of(waker) + load) * 100 * self.capacity(previous);
        let pct = 100 + (IMBALANCE_PCT[1] - 100) / 2;
        let there = of(previous).saturating_sub(load) * pct * self.capacity(waker);
        match here < there {
            true => waker,
            false => previous,
        }
    }

    /// An idle pcpu near `target`, or `target`.
    fn idle_sibling(&mut self, cx: &Cx<'_>, vcpu: VcpuId, previous: u16, target: u16) -> u16 {
        let allowed = cx.hard(vcpu);
        let llc = self.span(cx, 1, target);
        let may = |cpu: u16| allowed.contains(PcpuId(cpu));
        if self.is_free(target) && may(target) {
            return target;
        }
        if previous != target && llc.contains(PcpuId(previous)) && self.is_free(previous) {
            return previous;
        }
        let recent = core::mem::replace(&mut self.threads[vcpu.index()].recent, previous);
        if recent != previous
            && recent != target
            && recent != u16::MAX
            && llc.contains(PcpuId(recent))
            && self.is_free(recent)
            && may(recent)
        {
            return recent;
        }
        if !self.has_level(cx, 1, target) && !self.has_level(cx, 0, target) {
            return target;
        }
        let socket = cx.topology().socket_of(PcpuId(target));
        let threads = cx.topology().threads_per_core();
        let idle_core = threads > 1 && self.idle_cores[socket];
        if threads > 1 && !idle_core && llc.contains(PcpuId(previous)) {
            let siblings = *cx.topology().siblings(PcpuId(previous)) & allowed;
            let free = siblings
                .iter()
                .find(|c| c.0 != previous && self.is_free(c.0));
            if let Some(free) = free {
                return free.0;
            }
        }
        let found = match idle_core {
            true => self.idle_core(cx, llc & allowed, target, socket),
            false => self.idle_cpu(llc & allowed, target, socket),
        };
        found.unwrap_or(target)
    }

    /// The first idle one of `candidates` after `target`, among as many as are worth a look.
    fn idle_cpu(&self, candidates: CpuSet, target: u16, socket: usize) -> Option<u16> {
        let looks = self.scan[socket] as usize;
        let in_turn = after(&candidates, target).take(looks);
        in_turn.map(|c| c.0).find(|c| self.is_free(*c))
    }

    /// A pcpu all of whose core idles, or else an idle one.
    fn idle_core(
        &mut self,
        cx: &Cx<'_>,
        candidates: CpuSet,
        target: u16,
        socket: usize,
    ) -> Option<u16> {
        let mut any = None;
        for c in after(&candidates, target) {
            let core = *cx.topology().siblings(c) & cx.online();
            if core.iter().all(|s| self.is_idle(s.0)) {
                return Some(c.0);
            }
            if any.is_none() && self.is_free(c.0) {
                any = Some(c.0);
            }
        }
        self.idle_cores[socket] = false;
        any
    }

    /// Where a new thread goes: from the largest domain down to the least loaded part of each.
    pub(super) fn select_new(&mut self, cx: &Cx<'_>, vcpu: VcpuId, home: u16) -> u16 {
        let mut cpu = home;
        for level in (0..LEVELS).rev() {
            if !self.has_level(cx, level, cpu) {
                continue;
            }
            cpu = self.idlest(cx, level, cpu, cx.hard(vcpu));
        }
        cpu
    }

    /// The least loaded pcpu of the least loaded part of domain `level` of `cpu`.
    fn idlest(&mut self, cx: &Cx<'_>, level: usize, cpu: u16, allowed: CpuSet) -> u16 {
        let mut best: Option<(super::balance::Load, CpuSet)> = None;
        let mut local = None;
        let mut rest = self.span(cx, level, cpu);
        while let Some(part) = self.next_part(cx, level, &mut rest) {
            if !part.intersects(&allowed) {
                continue;
            }
            let load = self.load_of(&part);
            if part.contains(PcpuId(cpu)) {
                local = Some((load, part));
            } else if best.as_ref().is_none_or(|(b, _)| load.is_idler_than(b)) {
                best = Some((load, part));
            }
        }
        let part = match (local, best) {
            (Some((here, part)), Some((there, other))) => {
                match here.keeps_against(&there, IMBALANCE_PCT[level]) {
                    true => part,
                    false => other,
                }
            }
            (Some((_, part)), None) | (None, Some((_, part))) => part,
            (None, None) => return cpu,
        };
        let part = part & allowed;
        let idle = part.iter().filter(|c| self.is_idle(c.0));
        let latest = idle.max_by_key(|c| {
            let since = self.cpus[c.index()].idle_since;
            (since, core::cmp::Reverse(c.0))
        });
        let least = || {
            part.iter()
                .min_by_key(|c| self.queues[c.index()].average.load)
        };
        latest.or_else(least).map_or(cpu, |c| c.0)
    }
}

/// The pcpus of `set` after `target`, in a circle that ends with `target`.
fn after(set: &CpuSet, target: u16) -> impl Iterator<Item = PcpuId> + '_ {
    let later = set.iter().filter(move |c| c.0 > target);
    later.chain(set.iter().filter(move |c| c.0 <= target))
}

/// Whether two threads with so many changes of whom they wake are to be spread over more than the
/// pcpus of one cache.
fn is_wide(one: u32, other: u32, factor: u32) -> bool {
    let (more, fewer) = (one.max(other), one.min(other));
    fewer >= factor && more >= fewer * factor
}

#[cfg(test)]
mod tests {
    use super::*;

    /// linux-spec 12, vector 24.
    #[test]
    fn many_wakers_are_spread() {
        let wide = |a, b| is_wide(a, b, 4);
        assert_eq!(
            [wide(20, 4), wide(20, 3), wide(15, 4)],
            [true, false, false]
        );
    }
}
