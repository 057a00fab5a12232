//! The slow twin of RTDS: xen-spec 4.2 as written there, sentence by sentence.
//!
//! It shares no code with RTDS: every vcpu has its state written out, periods are added one by one,
//! and who is the best is found by going through all. Where the specification is silent (order of
//! steps, ties) it does what Xen 4.17's sched/rt.c does.

use domio_core::{CpuSet, DomainId, Instant, ParamValues, PcpuId, VcpuId, VcpuName};
use domio_sched::{Cx, Descriptor, Pick, Prev, Scheduler, Wake, find};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Nothing,
    Runq,
    Depletedq,
}

#[derive(Clone, Debug)]
struct Unit {
    id: VcpuId,
    domain: DomainId,
    period: u64,
    budget: u64,
    extratime: bool,
    cur_budget: i64,
    cur_deadline: u64,
    priority_level: u64,
    last_start: u64,
    on: On,
    scheduled: bool,
    delayed: bool,
    depleted: bool,
    new: bool,
}

impl Unit {
    /// Small is urgent.
    fn urgency(&self) -> (u64, u64) {
        (self.priority_level, self.cur_deadline)
    }
}

/// The policy.
#[derive(Default)]
pub struct TwinRtds {
    domains: Vec<(DomainId, ParamValues)>,
    units: Vec<Unit>,
    runq: Vec<VcpuId>,
    replq: Vec<VcpuId>,
    tickled: Vec<PcpuId>,
    timer_on: Option<PcpuId>,
    last: Option<(VcpuName, PcpuId)>,
}

fn reservation(params: &ParamValues) -> (u64, u64, bool) {
    let us = |name: &str| params.by_name(name).expect("declared") as u64;
    let period = us("period_us") * 1_000;
    let budget = (us("budget_us") * 1_000).min(period);
    (period, budget, us("extratime") == 1)
}

impl TwinRtds {
    fn unit(&mut self, id: VcpuId) -> &mut Unit {
        let mut units = self.units.iter_mut();
        units.find(|u| u.id == id).expect("it was inserted")
    }

    fn get(&self, id: VcpuId) -> &Unit {
        let mut units = self.units.iter();
        units.find(|u| u.id == id).expect("it was inserted")
    }

    fn more_urgent(&self, a: VcpuId, b: VcpuId) -> bool {
        self.get(a).urgency() < self.get(b).urgency()
    }

    /// Deadline update: whole periods until it lies ahead.
    fn update(&mut self, id: VcpuId, now: u64) {
        let unit = self.unit(id);
        loop {
            unit.cur_deadline += unit.period;
            if unit.cur_deadline > now {
                break;
            }
        }
        unit.cur_budget = unit.budget as i64;
        unit.priority_level = 0;
        unit.last_start = now;
    }

    fn behind_equals(&self, queue: &[VcpuId], id: VcpuId) -> usize {
        for (i, other) in queue.iter().enumerate() {
            if self.more_urgent(id, *other) {
                return i;
            }
        }
        queue.len()
    }

    fn runq_insert(&mut self, id: VcpuId) {
        let unit = self.get(id);
        let has = unit.cur_budget > 0 || unit.extratime;
        if has {
            let at = self.behind_equals(&self.runq, id);
            self.runq.insert(at, id);
        }
        self.unit(id).on = if has { On::Runq } else { On::Depletedq };
    }

    fn q_remove(&mut self, id: VcpuId) {
        self.runq.retain(|u| *u != id);
        self.unit(id).on = On::Nothing;
    }

    fn set_timer(&self, cx: &mut Cx<'_>) {
        let pcpu = self.timer_on.expect("a pcpu is online");
        match self.replq.first() {
            Some(first) => {
                let at = Instant::from_nanos(self.get(*first).cur_deadline);
                cx.set_timer(pcpu, 0, at);
            }
            None => cx.stop_timer(pcpu, 0),
        }
    }

    fn replq_insert(&mut self, cx: &mut Cx<'_>, id: VcpuId) {
        let at = self.behind_equals(&self.replq, id);
        self.replq.insert(at, id);
        if at == 0 {
            self.set_timer(cx);
        }
    }

    fn replq_remove(&mut self, cx: &mut Cx<'_>, id: VcpuId) {
        let first = self.replq.first().copied();
        self.replq.retain(|u| *u != id);
        if first == Some(id) {
            self.set_timer(cx);
        }
    }

    fn tickle(&mut self, cx: &mut Cx<'_>, id: VcpuId) {
        // From its own pcpu on.
        let own = cx.vcpu(id).pcpu;
        let all: Vec<PcpuId> = cx.hard(id).iter().collect();
        let (before, after): (Vec<PcpuId>, Vec<PcpuId>) = all.into_iter().partition(|p| *p < own);
        let untickled = |p: &PcpuId| !self.tickled.contains(p);
        let order: Vec<PcpuId> = after.into_iter().chain(before).filter(untickled).collect();
        let idle = order.iter().copied().find(|p| cx.current(*p).is_none());
        let chosen = idle.or_else(|| {
            let mut worst: Option<(PcpuId, VcpuId)> = None;
            for p in order {
                let current = cx.current(p).expect("none idles");
                if worst.is_none_or(|(_, w)| self.more_urgent(w, current)) {
                    worst = Some((p, current));
                }
            }
            let (pcpu, current) = worst?;
            self.more_urgent(id, current).then_some(pcpu)
        });
        if let Some(pcpu) = chosen {
            self.tickled.push(pcpu);
            cx.tickle(pcpu);
        }
    }

    fn lowest(&mut self, cx: &mut Cx<'_>, but: Option<PcpuId>) {
        let remains: CpuSet = cx.online().iter().filter(|p| Some(*p) != but).collect();
        let old = self.timer_on;
        if old.is_some_and(|p| remains.contains(p)) {
            return;
        }
        if let Some(pcpu) = old
            && old == but
        {
            cx.stop_timer(pcpu, 0);
        }
        self.timer_on = remains.first();
        if !self.replq.is_empty() {
            self.set_timer(cx);
        }
    }
}

impl Scheduler for TwinRtds {
    fn descriptor(&self) -> &'static Descriptor {
        find("rtds").expect("it is registered").descriptor
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, _: PcpuId) {
        self.lowest(cx, None);
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.tickled.retain(|p| *p != pcpu);
        self.lowest(cx, Some(pcpu));
    }

    fn set_domain(&mut self, _: &mut Cx<'_>, id: DomainId, params: &ParamValues) {
        self.domains.retain(|(d, _)| *d != id);
        self.domains.push((id, *params));
        let (period, budget, extratime) = reservation(params);
        for unit in self.units.iter_mut().filter(|u| u.domain == id) {
            (unit.period, unit.budget, unit.extratime) = (period, budget, extratime);
        }
    }

    fn set_vcpu(&mut self, _: &mut Cx<'_>, id: VcpuId, params: &ParamValues) {
        let (period, budget, extratime) = reservation(params);
        let unit = self.units.iter_mut().find(|u| u.id == id);
        let unit = unit.expect("it was inserted");
        (unit.period, unit.budget, unit.extratime) = (period, budget, extratime);
    }

    fn insert(&mut self, cx: &mut Cx<'_>, id: VcpuId) {
        let domain = cx.vcpu(id).name.domain;
        let known = self.domains.iter().find(|(d, _)| *d == domain);
        let (period, budget, extratime) = reservation(&known.expect("it was set").1);
        self.units.push(Unit {
            id,
            domain,
            period: 10_000_000,
            budget: 4_000_000,
            extratime: true,
            cur_budget: 0,
            cur_deadline: 0,
            priority_level: 0,
            last_start: 0,
            on: On::Nothing,
            scheduled: false,
            delayed: false,
            depleted: false,
            new: true,
        });
        self.update(id, cx.now().as_nanos());
        let unit = self.unit(id);
        (unit.period, unit.budget, unit.extratime) = (period, budget, extratime);
    }

    fn remove(&mut self, cx: &mut Cx<'_>, id: VcpuId) {
        self.replq_remove(cx, id);
        self.units.retain(|u| u.id != id);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, id: VcpuId) -> PcpuId {
        let name = cx.vcpu(id).name;
        let mut start = cx.vcpu(id).pcpu;
        let new = core::mem::take(&mut self.unit(id).new);
        if new {
            start = cx.online().first().expect("some pcpu is online");
            if let Some((before, pcpu)) = self.last
                && name.index > 0
                && before.domain == name.domain
            {
                start = cx.online().cycle(pcpu).expect("some pcpu is online");
            }
        }
        let hard = cx.hard(id);
        let pcpu = if hard.contains(start) {
            start
        } else {
            hard.cycle(start).expect("some pcpu is allowed")
        };
        if new {
            self.last = Some((name, pcpu));
        }
        pcpu
    }

    fn wake(&mut self, cx: &mut Cx<'_>, id: VcpuId, _: Wake) {
        if cx.is_current(id) || self.get(id).on != On::Nothing {
            return;
        }
        let now = cx.now().as_nanos();
        let missed = self.get(id).cur_deadline <= now;
        if missed {
            self.update(id, now);
        }
        if !self.get(id).scheduled {
            self.replq_insert(cx, id);
            self.runq_insert(id);
            self.tickle(cx, id);
            return;
        }
        self.unit(id).delayed = true;
        if missed {
            let first = self.replq.first() == Some(&id);
            self.replq.retain(|u| *u != id);
            let at = self.behind_equals(&self.replq, id);
            self.replq.insert(at, id);
            if first || at == 0 {
                self.set_timer(cx);
            }
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, id: VcpuId) {
        if cx.is_current(id) {
            cx.tickle(cx.vcpu(id).pcpu);
        } else if self.get(id).on != On::Nothing {
            self.q_remove(id);
            self.replq_remove(cx, id);
        } else {
            self.unit(id).delayed = false;
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let now = cx.now().as_nanos();
        self.tickled.retain(|p| *p != pcpu);
        let mut current = None;
        if let Some(id) = prev.vcpu {
            let unit = self.unit(id);
            unit.cur_budget -= (now - unit.last_start) as i64;
            unit.last_start = now;
            if unit.cur_budget <= 0 && unit.extratime {
                unit.priority_level += 1;
                unit.cur_budget = unit.budget as i64;
            } else if unit.cur_budget <= 0 {
                unit.cur_budget = 0;
                unit.depleted = true;
            }
            if cx.vcpu(id).runnable() {
                current = Some(id);
            }
        }
        let allowed = |id: &&VcpuId| cx.hard(**id).contains(pcpu);
        let mut next = self.runq.iter().find(allowed).copied();
        if let Some(id) = current {
            let stays = next.is_none_or(|n| self.more_urgent(id, n));
            if stays && self.get(id).cur_budget > 0 {
                next = current;
            } else {
                self.unit(id).delayed = true;
            }
        }
        let Some(id) = next else {
            return Pick::IDLE;
        };
        if next != prev.vcpu {
            self.q_remove(id);
            self.unit(id).scheduled = true;
        }
        self.unit(id).last_start = now;
        let slice = self.get(id).cur_budget.max(1) as u64;
        Pick {
            next,
            time_slice: Some(domio_core::Duration::from_nanos(slice)),
        }
    }

    fn context_saved(&mut self, cx: &mut Cx<'_>, id: VcpuId) {
        self.unit(id).scheduled = false;
        let delayed = core::mem::take(&mut self.unit(id).delayed);
        if delayed && cx.vcpu(id).runnable() {
            self.runq_insert(id);
            self.tickle(cx, id);
        } else {
            self.replq_remove(cx, id);
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, _: PcpuId, _: u8) -> Option<Instant> {
        let now = cx.now().as_nanos();
        let mut done = Vec::new();
        while let Some(id) = self.replq.first().copied() {
            if now < self.get(id).cur_deadline {
                break;
            }
            self.replq.remove(0);
            self.update(id, now);
            done.insert(0, id);
            if self.get(id).on != On::Nothing {
                self.q_remove(id);
                self.runq_insert(id);
            }
        }
        for id in done {
            let head = self.runq.first().copied();
            if let (true, Some(head)) = (cx.is_current(id), head) {
                if self.more_urgent(head, id) {
                    self.tickle(cx, head);
                }
            } else if core::mem::take(&mut self.unit(id).depleted) && self.get(id).on != On::Nothing
            {
                self.tickle(cx, id);
            }
            let at = self.behind_equals(&self.replq, id);
            self.replq.insert(at, id);
        }
        let first = self.replq.first()?;
        Some(Instant::from_nanos(self.get(*first).cur_deadline))
    }
}
