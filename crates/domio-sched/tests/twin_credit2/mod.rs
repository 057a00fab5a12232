//! The slow twin of credit2: xen-spec 4.1 as written there, sentence by sentence.
//!
//! It shares no code with credit2. Every queue is a `Vec` that is searched, the heaviest weight and
//! the threads of a core are looked up again whenever they are needed, and sums are in 128 bits.
//! Where the specification is silent (order of steps, which bias a placement moves) it does what
//! Xen 4.17's sched/credit2.c does.

mod money;
mod moving;

use domio_core::{CpuSet, DomainId, Duration, ParamValues, PcpuId, Topology, VcpuId};
use domio_sched::{Conflict, Cx, Descriptor, Pick, Prev, Scheduler, Wake, find};

const US: i128 = 1_000;
const MS: i128 = 1_000_000;
/// Credit of idling.
const IDLE: i128 = -10 * MS - 1;

/// A vcpu.
#[derive(Clone, Debug)]
struct Vcpu {
    domain: DomainId,
    /// Index of its run queue, once it has one.
    queue: Option<usize>,
    credit: i128,
    residual: i128,
    /// Time up to which it has paid.
    paid: i128,
    /// When it was switched in.
    entered: i128,
    /// A pcpu has it, or its state is not saved.
    scheduled: bool,
    /// It queues up when its state is saved.
    delayed: bool,
    yielding: bool,
    /// Where balancing wants it.
    request: Option<usize>,
    /// Flagged to migrate, but the host knows nothing yet.
    flagged: bool,
    /// The pcpu that was tickled for it.
    tickled: Option<PcpuId>,
    /// With a cap: what it may still run.
    budget: Option<i128>,
    quota: i128,
    load: i128,
    load_at: i128,
}

/// A run queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// Pcpus, in order of arrival.
    pcpus: Vec<PcpuId>,
    idle: CpuSet,
    tickled: CpuSet,
    smt_idle: CpuSet,
    bias: PcpuId,
    /// Those who wait, by credit.
    waiting: Vec<VcpuId>,
    /// All who belong here, in order of arrival.
    members: Vec<VcpuId>,
    running_or_waiting: i128,
    load: i128,
    balanced: i128,
    load_at: i128,
}

impl Queue {
    fn active(&self) -> CpuSet {
        self.pcpus.iter().copied().collect()
    }
}

/// A domain.
#[derive(Clone, Debug)]
struct Domain {
    id: DomainId,
    weight: i128,
    /// Cap that was asked for, and the one in force.
    asked: i128,
    cap: i128,
    pool: i128,
    next: i128,
    parked: Vec<VcpuId>,
}

/// The policy.
pub struct TwinCredit2 {
    params: ParamValues,
    topology: Topology,
    vcpus: Vec<Option<Vcpu>>,
    queues: Vec<Queue>,
    domains: Vec<Domain>,
    arrivals: usize,
}

fn now(cx: &Cx<'_>) -> i128 {
    i128::from(cx.now().as_nanos())
}

impl TwinCredit2 {
    /// A twin with the parameters of credit2.
    pub fn new(params: &ParamValues, topology: &Topology) -> Self {
        TwinCredit2 {
            params: *params,
            topology: topology.clone(),
            vcpus: Vec::new(),
            queues: Vec::new(),
            domains: Vec::new(),
            arrivals: 0,
        }
    }

    fn param(&self, name: &str) -> i128 {
        i128::from(self.params.by_name(name).expect("credit2 declares it"))
    }

    fn ratelimit(&self) -> i128 {
        self.param("ratelimit_us") * US
    }

    fn v(&mut self, v: VcpuId) -> &mut Vcpu {
        self.vcpus[v.index()].as_mut().expect("it exists")
    }

    fn get(&self, v: VcpuId) -> &Vcpu {
        self.vcpus[v.index()].as_ref().expect("it exists")
    }

    fn d(&mut self, id: DomainId) -> &mut Domain {
        let mut domains = self.domains.iter_mut();
        domains.find(|d| d.id == id).expect("it was set")
    }

    fn weight(&self, v: VcpuId) -> i128 {
        let id = self.get(v).domain;
        let domain = self.domains.iter().find(|d| d.id == id);
        domain.expect("it was set").weight
    }

    fn heaviest(&self, queue: usize) -> i128 {
        let weights = self.queues[queue].members.iter().map(|v| self.weight(*v));
        weights.max().unwrap_or(1).max(1)
    }

    fn queue_of(&self, pcpu: PcpuId) -> usize {
        let has = |q: &Queue| q.pcpus.contains(&pcpu);
        self.queues.iter().position(has).expect("it is online")
    }

    /// Threads of the core of `pcpu` that are in its run queue.
    fn core(&self, pcpu: PcpuId) -> CpuSet {
        self.queues[self.queue_of(pcpu)].active() & *self.topology.siblings(pcpu)
    }

    fn waits(&self, v: VcpuId) -> bool {
        self.queues.iter().any(|q| q.waiting.contains(&v))
    }

    fn runnable(&self, cx: &Cx<'_>, v: VcpuId) -> bool {
        cx.vcpu(v).runnable() && !self.get(v).flagged
    }

    // ---- idle and tickled pcpus ---------------------------------------------------------------

    fn smt_clear(&mut self, pcpu: PcpuId) {
        let (queue, core) = (self.queue_of(pcpu), self.core(pcpu));
        let q = &mut self.queues[queue];
        if core.iter().all(|p| q.smt_idle.contains(p)) {
            core.iter().for_each(|p| q.smt_idle.remove(p));
        }
    }

    fn smt_set(&mut self, pcpu: PcpuId) {
        let (queue, core) = (self.queue_of(pcpu), self.core(pcpu));
        let q = &mut self.queues[queue];
        let free = |p: PcpuId| q.idle.contains(p) && !q.tickled.contains(p);
        if core.iter().all(free) {
            core.iter().for_each(|p| q.smt_idle.insert(p));
        }
    }

    fn tickle_pcpu(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let queue = self.queue_of(pcpu);
        self.queues[queue].tickled.insert(pcpu);
        self.smt_clear(pcpu);
        cx.tickle(pcpu);
    }

    /// The first two of the releases, 4.8 and 4.9, know neither soft affinity nor caps.
    fn is_old(&self) -> bool {
        self.param("version") < 2
    }

    fn wish(&self, cx: &Cx<'_>, v: VcpuId) -> CpuSet {
        if self.is_old() {
            CpuSet::ALL
        } else {
            cx.soft(v)
        }
    }

    /// Soft affinity that says something.
    fn soft(&self, cx: &Cx<'_>, v: VcpuId) -> Option<CpuSet> {
        let (hard, soft) = (cx.hard(v), self.wish(cx, v));
        let covers = |set: CpuSet| set.iter().all(|p| soft.contains(p));
        let both: CpuSet = hard.iter().filter(|p| soft.contains(*p)).collect();
        (!both.is_empty() && !covers(hard) && !covers(cx.online())).then_some(both)
    }

    /// Tickle(new).
    fn tickle(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        let own = cx.vcpu(v).pcpu;
        if let Some(p) = self.whom_to_tickle(cx, v, own) {
            self.tickle_pcpu(cx, p);
            self.v(v).tickled = Some(p);
        }
    }

    fn whom_to_tickle(&mut self, cx: &mut Cx<'_>, v: VcpuId, own: PcpuId) -> Option<PcpuId> {
        let queue = self.queue_of(own);
        let q = self.queues[queue].clone();
        let untickled = |p: &PcpuId| q.idle.contains(*p) && !q.tickled.contains(*p);
        // (1)
        if cx.is_pinned(v) && untickled(&own) {
            return Some(own);
        }
        // (2)
        let saves = self.param("smt_power_savings") != 0;
        let steps = self.soft(cx, v).into_iter().chain([cx.hard(v)]);
        for step in steps.collect::<Vec<CpuSet>>() {
            let first = |p: &PcpuId| match saves {
                true => q.idle.contains(*p) && !q.smt_idle.contains(*p),
                false => q.smt_idle.contains(*p),
            };
            for wanted in [&first as &dyn Fn(&PcpuId) -> bool, &untickled] {
                let set: CpuSet = step.iter().filter(wanted).collect();
                if let Some(p) = set.test_or_cycle(own) {
                    return Some(p);
                }
            }
        }
        // (3)
        let busy = |p: &PcpuId| {
            let theirs = q.pcpus.contains(p) && cx.hard(v).contains(*p);
            theirs && !q.idle.contains(*p) && !q.tickled.contains(*p)
        };
        let mut others: Vec<PcpuId> = cx.online().iter().filter(busy).collect();
        let mut best: Option<(i128, PcpuId)> = None;
        if others.contains(&own) {
            others.retain(|p| *p != own);
            let score = self.score(cx, v, own);
            if score > 0 {
                if self.wish(cx, v).contains(own) {
                    return Some(own);
                }
                best = Some((score, own));
            }
        }
        for p in others {
            let score = self.score(cx, v, p);
            if score > best.map_or(0, |(s, _)| s) {
                best = Some((score, p));
            }
        }
        best.map(|(_, p)| p)
    }

    fn score(&mut self, cx: &mut Cx<'_>, v: VcpuId, pcpu: PcpuId) -> i128 {
        let Some(current) = cx.current(pcpu) else {
            return -1;
        };
        let ran = now(cx) - self.get(current).entered;
        if self.ratelimit() > 50 * US && ran <= self.ratelimit() - 50 * US {
            return -1;
        }
        self.burn(cx, current);
        let mut score = self.get(v).credit - self.get(current).credit;
        if cx.vcpu(v).pcpu != pcpu {
            score -= self.param("migrate_resist_us") * US;
        }
        if score > 0 {
            let bonus = |yes: bool| if yes { 10 * MS } else { 0 };
            score += bonus(self.wish(cx, v).contains(pcpu));
            score += bonus(!self.wish(cx, current).contains(pcpu));
        }
        score
    }

    // ---- the pass -----------------------------------------------------------------------------

    fn candidate(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Option<VcpuId>) -> Option<VcpuId> {
        let queue = self.queue_of(pcpu);
        let mut default = None;
        let mut yields = false;
        if let Some(v) = prev {
            yields = core::mem::take(&mut self.v(v).yielding);
            let runs_on = cx.vcpu(v).runnable();
            let ran = now(cx) - self.get(v).entered;
            if runs_on && !yields && ran < self.ratelimit() {
                return prev;
            }
            let q = &self.queues[queue];
            let away = self.soft(cx, v).is_some_and(|soft| {
                let better = |p: PcpuId| q.idle.contains(p) && !q.tickled.contains(p);
                !soft.contains(pcpu) && soft.iter().any(better)
            });
            if runs_on && !away {
                default = prev;
            }
        }
        let credit = default.map_or(IDLE, |v| self.get(v).credit);
        let resist = self.param("migrate_resist_us") * US;
        for v in self.queues[queue].waiting.clone() {
            let its = self.get(v).clone();
            if its.credit <= credit && !yields {
                break;
            }
            let promised = its
                .tickled
                .is_some_and(|p| p != pcpu && self.queues[queue].tickled.contains(p));
            let foreign = cx.vcpu(v).pcpu != pcpu;
            if !cx.vcpu(v).runnable()
                || !cx.hard(v).contains(pcpu)
                || promised
                || foreign && its.credit < credit + resist
                || its.budget.is_some() && !self.grab(cx, v)
            {
                continue;
            }
            return Some(v);
        }
        default
    }

    fn slice(&self, cx: &Cx<'_>, queue: usize, v: VcpuId, goes_on: bool) -> Duration {
        let its = self.get(v);
        let credit = match self.queues[queue].waiting.first() {
            Some(head) if self.get(*head).credit > 0 => its.credit - self.get(*head).credit,
            _ => its.credit,
        };
        let mut time = (credit * self.weight(v) / self.heaviest(queue)).max(0);
        if let Some(budget) = its.budget {
            time = time.min(budget);
        }
        let mut limit = self.ratelimit();
        if goes_on && limit > 0 {
            limit -= now(cx) - its.entered;
        }
        let least = limit.max(500 * US);
        let slice = if time < least {
            least
        } else {
            time.min(10 * MS)
        };
        Duration::from_nanos(slice as u64)
    }
}

impl Scheduler for TwinCredit2 {
    fn descriptor(&self) -> &'static Descriptor {
        find("credit2").expect("it is registered").descriptor
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.arrive(cx, pcpu);
    }

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, pcpu: PcpuId) {
        let queue = self.queue_of(pcpu);
        let q = &mut self.queues[queue];
        q.pcpus.retain(|p| *p != pcpu);
        [&mut q.idle, &mut q.tickled, &mut q.smt_idle]
            .into_iter()
            .for_each(|set| set.remove(pcpu));
        if q.bias == pcpu {
            q.bias = q.pcpus.iter().copied().min().unwrap_or(pcpu);
        }
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, id: DomainId, params: &ParamValues) {
        let param = |name: &str| i128::from(params.by_name(name).expect("declared"));
        if !self.domains.iter().any(|d| d.id == id) {
            self.domains.push(Domain {
                id,
                weight: 256,
                asked: 0,
                cap: 0,
                pool: 0,
                next: 0,
                parked: Vec::new(),
            });
        }
        let cap = if self.is_old() { 0 } else { param("cap") };
        let d = self.d(id);
        (d.weight, d.asked) = (param("weight"), cap);
        self.settle_cap(cx, id);
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        self.descriptor().check_change(&self.params, params)?;
        self.params = *params;
        Ok(())
    }

    fn insert(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        let domain = cx.vcpu(v).name.domain;
        let new = Vcpu {
            domain,
            queue: None,
            credit: 10 * MS,
            residual: 0,
            paid: 0,
            entered: 0,
            scheduled: false,
            delayed: false,
            yielding: false,
            request: None,
            flagged: false,
            tickled: None,
            budget: None,
            quota: 0,
            load: self.one() / 2,
            load_at: now(cx) >> 10,
        };
        while self.vcpus.len() <= v.index() {
            self.vcpus.push(None);
        }
        self.vcpus[v.index()] = Some(new);
        self.settle_cap(cx, domain);
    }

    fn remove(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        self.depart(v);
        let id = self.get(v).domain;
        self.vcpus[v.index()] = None;
        let d = self.d(id);
        if d.parked.contains(&v) {
            d.parked.retain(|p| *p != v);
            let _ = cx.unpark(v);
        }
        if self.of_domain(id).is_empty() && self.d(id).cap != 0 {
            self.d(id).cap = 0;
            cx.stop_domain_timer(id);
        }
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, v: VcpuId) -> PcpuId {
        self.place(cx, v)
    }

    fn wake(&mut self, cx: &mut Cx<'_>, v: VcpuId, _: Wake) {
        if cx.is_current(v) || self.waits(v) {
            return;
        }
        if self.get(v).scheduled {
            self.v(v).delayed = true;
        } else {
            self.appear(cx, v);
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        if cx.is_current(v) {
            self.tickle_pcpu(cx, cx.vcpu(v).pcpu);
        } else if self.waits(v) {
            self.change_load(cx, v, -1);
            self.unqueue(v);
        } else {
            self.v(v).delayed = false;
        }
    }

    fn yielded(&mut self, _: &mut Cx<'_>, v: VcpuId) {
        self.v(v).yielding = true;
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let queue = self.queue_of(pcpu);
        if self.queues[queue].tickled.contains(pcpu) {
            self.queues[queue].tickled.remove(pcpu);
            self.smt_set(pcpu);
        }
        if let Some(v) = prev.vcpu {
            if core::mem::take(&mut self.v(v).flagged) {
                cx.migrate(v);
            }
            self.burn(cx, v);
            if self.get(v).budget.is_some_and(|b| b <= 0) {
                self.grab(cx, v);
            }
        }
        let next = self.candidate(cx, pcpu, prev.vcpu);
        let goes_on = next.is_some() && next == prev.vcpu;
        if let Some(v) = prev.vcpu
            && !goes_on
            && cx.vcpu(v).runnable()
        {
            self.v(v).delayed = true;
        }
        let Some(v) = next else {
            if !self.queues[queue].idle.contains(pcpu) {
                self.queues[queue].idle.insert(pcpu);
                self.smt_set(pcpu);
            }
            self.change_queue_load(cx, queue, 0);
            return Pick::IDLE;
        };
        if goes_on {
            self.change_load(cx, v, 0);
        } else {
            self.unqueue(v);
            self.v(v).scheduled = true;
        }
        if self.queues[queue].idle.contains(pcpu) {
            self.queues[queue].idle.remove(pcpu);
            self.smt_clear(pcpu);
        }
        let head = self.queues[queue].waiting.first();
        let top = head.map_or(IDLE, |h| self.get(*h).credit);
        if top.max(self.get(v).credit) <= 0 {
            self.reset(cx, queue, v);
            self.balance(cx, queue, v);
        }
        let at = now(cx);
        self.v(v).paid = at;
        self.v(v).tickled = None;
        if !goes_on {
            self.v(v).entered = at;
        }
        if cx.vcpu(v).pcpu != pcpu {
            self.v(v).credit += 50 * US;
        }
        Pick {
            next,
            time_slice: Some(self.slice(cx, queue, v, goes_on)),
        }
    }

    fn context_saved(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        self.v(v).scheduled = false;
        let unparked = self.give_back(v);
        let delayed = core::mem::take(&mut self.v(v).delayed);
        if delayed && cx.vcpu(v).runnable() {
            self.queue_up(v);
            self.tickle(cx, v);
        } else {
            self.change_load(cx, v, -1);
        }
        self.unpark(cx, unparked);
    }

    fn domain_timer(&mut self, cx: &mut Cx<'_>, id: DomainId) -> Option<domio_core::Instant> {
        self.replenish(cx, id)
    }
}
