//! Run queues: who waits where, load, balancing, placement, and pcpus that come.

use super::{Queue, TwinCredit2, now};
use domio_core::{CpuSet, PcpuId, VcpuId};
use domio_sched::Cx;

impl TwinCredit2 {
    /// A load of one, with all bits behind the point.
    pub(super) fn one(&self) -> i128 {
        1 << self.param("load_precision_shift")
    }

    // ---- waiting ------------------------------------------------------------------------------

    pub(super) fn queue_up(&mut self, v: VcpuId) {
        let credit = self.get(v).credit;
        let queue = self.get(v).queue.expect("it has one");
        let waiting = &self.queues[queue].waiting;
        let behind = waiting.iter().position(|w| self.get(*w).credit < credit);
        let at = behind.unwrap_or(waiting.len());
        self.queues[queue].waiting.insert(at, v);
    }

    pub(super) fn unqueue(&mut self, v: VcpuId) {
        for q in &mut self.queues {
            q.waiting.retain(|w| *w != v);
        }
    }

    pub(super) fn appear(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        self.change_load(cx, v, 1);
        self.queue_up(v);
        self.tickle(cx, v);
    }

    // ---- load ---------------------------------------------------------------------------------

    /// The average `average`, last worked out at `since`, when the load was `load` since then.
    fn average(&self, average: i128, since: i128, at: i128, load: i128) -> i128 {
        let window = 1 << (self.param("load_window_shift") - 10);
        let load = load * self.one();
        if since + window < at {
            return load;
        }
        let delta = at - since;
        average + (delta * load).div_euclid(window) - (delta * average).div_euclid(window)
    }

    pub(super) fn change_queue_load(&mut self, cx: &Cx<'_>, queue: usize, change: i128) {
        let at = now(cx) >> 10;
        let q = &self.queues[queue];
        let load = self.average(q.load, q.load_at, at, q.running_or_waiting);
        let balanced = self.average(q.balanced, q.load_at, at, q.running_or_waiting);
        let q = &mut self.queues[queue];
        (q.load, q.balanced, q.load_at) = (load, balanced, at);
        q.running_or_waiting += change;
    }

    fn update_vcpu_load(&mut self, cx: &Cx<'_>, v: VcpuId, change: i128) {
        let at = now(cx) >> 10;
        let was = match change {
            -1 => true,
            1 => false,
            _ => self.runnable(cx, v),
        };
        let its = self.get(v);
        let load = self.average(its.load, its.load_at, at, i128::from(was));
        (self.v(v).load, self.v(v).load_at) = (load, at);
    }

    pub(super) fn change_load(&mut self, cx: &Cx<'_>, v: VcpuId, change: i128) {
        let queue = self.get(v).queue.expect("it has one");
        self.change_queue_load(cx, queue, change);
        self.update_vcpu_load(cx, v, change);
    }

    // ---- belonging ----------------------------------------------------------------------------

    fn belong(&mut self, v: VcpuId, queue: usize) {
        self.queues[queue].members.push(v);
        self.queues[queue].balanced += self.get(v).load;
        self.v(v).queue = Some(queue);
    }

    pub(super) fn depart(&mut self, v: VcpuId) {
        let queue = self.v(v).queue.take().expect("it has one");
        let load = self.get(v).load;
        let q = &mut self.queues[queue];
        q.members.retain(|m| *m != v);
        q.balanced = (q.balanced - load).max(0);
    }

    /// cycle(pick_bias), which moves on.
    fn turn(&mut self, queue: usize, set: CpuSet) -> PcpuId {
        let pcpu = set.cycle(self.queues[queue].bias).expect("not empty");
        self.queues[queue].bias = pcpu;
        pcpu
    }

    fn change_queue(&mut self, cx: &Cx<'_>, v: VcpuId, queue: usize) -> PcpuId {
        self.depart(v);
        let pcpu = self.turn(queue, cx.hard(v) & self.queues[queue].active());
        self.belong(v, queue);
        pcpu
    }

    /// Placement.
    pub(super) fn place(&mut self, cx: &Cx<'_>, v: VcpuId) -> PcpuId {
        self.v(v).flagged = false;
        let pcpu = self.choose(cx, v);
        let queue = self.queue_of(pcpu);
        match self.get(v).queue {
            None => {
                self.belong(v, queue);
                pcpu
            }
            Some(old) if old != queue => self.change_queue(cx, v, queue),
            Some(_) => pcpu,
        }
    }

    fn choose(&mut self, cx: &Cx<'_>, v: VcpuId) -> PcpuId {
        let hard = cx.hard(v);
        if let Some(wanted) = self.v(v).request.take() {
            let set = hard & self.queues[wanted].active();
            if !set.is_empty() {
                return self.turn(wanted, set);
            }
        }
        let load = |i: usize| match self.get(v).queue == Some(i) {
            true => (self.queues[i].balanced - self.get(v).load).max(0),
            false => self.queues[i].balanced,
        };
        let within = |set: CpuSet| {
            let all = 0..self.queues.len();
            let some = all.filter(|i| self.queues[*i].active().intersects(&set));
            some.min_by_key(|i| load(*i))
        };
        let lightest = within(hard).expect("some pcpu is allowed");
        let set = match self.soft(cx, v) {
            Some(soft) => soft & self.queues[within(soft).expect("not empty")].active(),
            None => hard & self.queues[lightest].active(),
        };
        self.turn(lightest, set)
    }

    // ---- balance_load -------------------------------------------------------------------------

    pub(super) fn balance(&mut self, cx: &mut Cx<'_>, own: usize, next: VcpuId) {
        self.change_queue_load(cx, own, 0);
        let some = |i: &usize| !self.queues[*i].pcpus.is_empty();
        let all: Vec<usize> = (0..self.queues.len()).filter(some).collect();
        for i in all.iter().filter(|i| **i != own) {
            self.change_queue_load(cx, *i, 0);
        }
        let b = |i: usize| self.queues[i].balanced;
        let differs = |i: usize| (b(own) - b(i)).abs();
        let mut other = own;
        for i in &all {
            if differs(*i) > differs(other) {
                other = *i;
            }
        }
        if other == own {
            return;
        }
        // The quirk: the last one.
        let last = *all.last().expect("there is one");
        let most = self.queues[own]
            .pcpus
            .len()
            .max(self.queues[last].pcpus.len());
        let tolerance = if b(own).max(b(last)) < most as i128 * self.one() {
            self.param("balance_under")
        } else {
            self.param("balance_over")
        };
        let threshold = 1 << (self.param("load_precision_shift") + tolerance);
        if differs(other) < threshold {
            return;
        }
        let (push, pull) = self.best_pair(cx, own, other);
        if let Some(v) = push {
            self.send(cx, v, other, next);
        }
        if let Some(v) = pull {
            self.send(cx, v, own, next);
        }
    }

    fn best_pair(
        &mut self,
        cx: &Cx<'_>,
        own: usize,
        other: usize,
    ) -> (Option<VcpuId>, Option<VcpuId>) {
        let pushes = self.queues[own].members.clone();
        let pulls = self.queues[other].members.clone();
        let may = |t: &Self, v: VcpuId, to: usize| {
            t.get(v).request.is_none() && cx.hard(v).intersects(&t.queues[to].active())
        };
        let mut pairs: Vec<(Option<VcpuId>, Option<VcpuId>)> = Vec::new();
        let pullable: Vec<VcpuId> = {
            let able = pulls.iter().copied().filter(|v| may(self, *v, own));
            able.collect()
        };
        let mut updated = false;
        for v in pushes {
            self.update_vcpu_load(cx, v, 0);
            if !may(self, v, other) {
                continue;
            }
            if !updated {
                for p in &pulls {
                    self.update_vcpu_load(cx, *p, 0);
                }
                updated = true;
            }
            pairs.extend(pullable.iter().map(|p| (Some(v), Some(*p))));
            pairs.push((Some(v), None));
        }
        pairs.extend(pullable.iter().map(|p| (None, Some(*p))));
        let mut best = (None, None);
        let mut least = (self.queues[own].balanced - self.queues[other].balanced).abs();
        for (push, pull) in pairs {
            let load = |v: Option<VcpuId>| v.map_or(0, |v| self.get(v).load);
            let here = self.queues[own].balanced - load(push) + load(pull);
            let there = self.queues[other].balanced + load(push) - load(pull);
            if (here - there).abs() < least {
                least = (here - there).abs();
                best = (push, pull);
            }
        }
        best
    }

    fn send(&mut self, cx: &mut Cx<'_>, v: VcpuId, to: usize, next: VcpuId) {
        if self.get(v).scheduled {
            self.v(v).request = Some(to);
            if v == next {
                self.v(v).flagged = true;
            } else {
                cx.migrate(v);
            }
            self.tickle_pcpu(cx, cx.vcpu(v).pcpu);
            return;
        }
        let waited = self.waits(v);
        if waited {
            let from = self.get(v).queue.expect("it waits");
            self.unqueue(v);
            self.change_queue_load(cx, from, -1);
        }
        let pcpu = self.change_queue(cx, v, to);
        cx.move_to(v, pcpu);
        if waited {
            self.change_queue_load(cx, to, 1);
            self.queue_up(v);
            self.tickle(cx, v);
        }
    }

    // ---- pcpus --------------------------------------------------------------------------------

    pub(super) fn arrive(&mut self, cx: &Cx<'_>, pcpu: PcpuId) {
        let total = self.topology.pcpus();
        let online = match self.arrivals < total {
            true => self.topology.all(),
            false => cx.online(),
        };
        self.arrivals += 1;
        let queue = self.queue_for(pcpu, online).unwrap_or_else(|| {
            let unused = self.queues.iter().position(|q| q.pcpus.is_empty());
            let number = unused.unwrap_or(self.queues.len());
            if number == self.queues.len() {
                self.queues.push(Queue::default());
            }
            self.queues[number] = Queue {
                bias: pcpu,
                ..Queue::default()
            };
            number
        });
        let q = &mut self.queues[queue];
        q.pcpus.push(pcpu);
        q.idle.insert(pcpu);
        q.smt_idle.insert(pcpu);
    }

    fn queue_for(&self, pcpu: PcpuId, online: CpuSet) -> Option<usize> {
        let t = &self.topology;
        let threads = t.threads_per_core();
        let max = self.param("max_cpus_runqueue") as usize;
        let rooms = (online.len() - 1) / max + 1;
        let most = online.len() / rooms;
        let arrangement = self.param("runqueue");
        let mut found: Option<usize> = None;
        for (i, q) in self.queues.iter().enumerate() {
            let alike = match arrangement {
                0 => false,
                1 => t.core_of(q.bias) == t.core_of(pcpu),
                2 | 3 => t.socket_of(q.bias) == t.socket_of(pcpu),
                _ => true,
            };
            if q.pcpus.is_empty() || !alike {
                continue;
            }
            let siblings = |a: PcpuId, b: PcpuId| t.core_of(a) == t.core_of(b);
            if q.pcpus
                .iter()
                .any(|p| siblings(*p, pcpu) && online.contains(*p))
            {
                return Some(i);
            }
            let mut cores: Vec<usize> = q.pcpus.iter().map(|p| t.core_of(*p)).collect();
            cores.sort_unstable();
            cores.dedup();
            let whole = (cores.len() + 1) * threads <= most;
            if q.pcpus.len() < most && (whole || arrangement == 4) {
                let fewer = |f: usize| q.pcpus.len() < self.queues[f].pcpus.len();
                if found.is_none_or(fewer) {
                    found = Some(i);
                }
            }
        }
        found
    }
}
