//! The slow twin of the first credit scheduler (Xen 3.0.3), after the description in
//! docs/policies/credit.md, "The first credit scheduler".
//!
//! It shares no code with credit. All who wait are in one list, an active vcpu is one with a stamp,
//! and lists are made of stamps whenever they are needed: whoever came last is first.

use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId};
use domio_sched::{Conflict, Cx, Descriptor, Pause, Pick, Prev, Scheduler, Wake, find};
use std::cmp::Reverse;
use std::collections::BTreeMap;

const UNDER: i32 = -1;
const OVER: i32 = -2;
const IDLE: i32 = -64;
const PARKED: i32 = -65;

#[derive(Clone, Debug)]
struct Vcpu {
    domain: DomainId,
    index: u16,
    pri: i32,
    credit: i64,
    placed: bool,
    /// Since when it earns, as a stamp.
    earns: Option<u64>,
}

#[derive(Clone, Debug)]
struct Domain {
    weight: i64,
    cap: i64,
    /// Since when it is in front.
    front: u64,
}

/// The twin.
#[derive(Debug)]
pub struct TwinFirst {
    params: ParamValues,
    stamp: u64,
    vcpus: BTreeMap<u32, Vcpu>,
    domains: BTreeMap<u16, Domain>,
    /// Who waits where, in order; `None` is an idle vcpu.
    waiting: Vec<(PcpuId, Option<VcpuId>)>,
    ticks: BTreeMap<u16, u64>,
    /// Pcpus whose queue is not in order.
    unsorted: CpuSet,
    idlers: CpuSet,
    joined: CpuSet,
    master: Option<PcpuId>,
    balance: i64,
}

fn ceil(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}

impl TwinFirst {
    /// A twin with the parameters of credit.
    pub fn new(params: &ParamValues, _: &Topology) -> Self {
        let mut params = *params;
        for (name, built) in [
            ("tslice_ms", 30),
            ("ratelimit_us", 1000),
            ("migration_delay_us", 0),
            ("smt_power_savings", 0),
        ] {
            params.set(name, built).expect("credit declares it");
        }
        TwinFirst {
            params,
            stamp: 0,
            vcpus: BTreeMap::new(),
            domains: BTreeMap::new(),
            waiting: Vec::new(),
            ticks: BTreeMap::new(),
            unsorted: CpuSet::EMPTY,
            idlers: CpuSet::EMPTY,
            joined: CpuSet::EMPTY,
            master: None,
            balance: 0,
        }
    }

    fn v(&self, v: VcpuId) -> &Vcpu {
        &self.vcpus[&v.0]
    }

    fn v_mut(&mut self, v: VcpuId) -> &mut Vcpu {
        self.vcpus.get_mut(&v.0).expect("inserted")
    }

    fn pri(&self, who: Option<VcpuId>) -> i32 {
        who.map_or(IDLE, |v| self.v(v).pri)
    }

    fn next_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// Vcpus of `domain` that earn, the last one that began first.
    fn earners(&self, domain: u16) -> Vec<VcpuId> {
        let mine = self.vcpus.iter().filter(|(_, v)| v.domain.0 == domain);
        let mut earners: Vec<(u64, VcpuId)> = mine
            .filter_map(|(id, v)| Some((v.earns?, VcpuId(*id))))
            .collect();
        earners.sort_by_key(|(stamp, _)| Reverse(*stamp));
        earners.into_iter().map(|(_, v)| v).collect()
    }

    fn earn(&mut self, v: VcpuId) {
        let domain = self.v(v).domain.0;
        let stamp = self.next_stamp();
        if self.earners(domain).is_empty() {
            self.domains.get_mut(&domain).expect("known").front = stamp;
        }
        self.v_mut(v).earns = Some(stamp);
    }

    /// Before the first of strictly lower priority in the queue of `p`.
    fn queue(&mut self, p: PcpuId, who: Option<VcpuId>) {
        let pri = self.pri(who);
        let lower = |(q, other): &(PcpuId, Option<VcpuId>)| *q == p && self.pri(*other) < pri;
        let at = self.waiting.iter().position(lower);
        let at = at.unwrap_or(self.waiting.len());
        self.waiting.insert(at, (p, who));
    }

    fn waits(&self, v: VcpuId) -> bool {
        self.waiting.iter().any(|(_, who)| *who == Some(v))
    }

    fn account(&mut self) {
        let mut order: Vec<(u64, u16)> = self.domains.iter().map(|(d, x)| (x.front, *d)).collect();
        order.sort_by_key(|(front, _)| Reverse(*front));
        order.retain(|(_, d)| !self.earners(*d).is_empty());
        let weight: i64 = order.iter().map(|(_, d)| self.domains[d].weight).sum();
        if weight == 0 {
            self.balance = 0;
            return;
        }
        let owed = if self.balance < 0 { -self.balance } else { 0 };
        let mut credit = 30 * self.joined.len() as i64 + owed;
        let (mut left, mut balance, mut extra) = (weight, 0, false);
        for (_, d) in order {
            let earners = self.earners(d);
            let n = earners.len() as i64;
            let Domain { weight: w, cap, .. } = self.domains[&d];
            left -= w;
            let mut peak = 30 * n;
            if owed > 0 {
                peak += ceil(owed * w, weight);
            }
            if cap > 0 && ceil(30 * cap, 100) < peak {
                peak = ceil(30 * cap, 100);
            }
            let fair = ceil(credit * w, weight);
            let given = if fair < peak {
                extra = true;
                fair
            } else {
                if left > 0 {
                    credit += ceil((fair - peak) * weight, left);
                }
                if extra {
                    let stamp = self.next_stamp();
                    self.domains.get_mut(&d).expect("known").front = stamp;
                }
                peak
            };
            for v in earners {
                let v = self.v_mut(v);
                v.credit += ceil(given, n);
                if v.credit < 0 {
                    v.pri = if cap > 0 { PARKED } else { OVER };
                    v.credit = v.credit.max(-30);
                    balance += v.credit;
                } else {
                    v.pri = UNDER;
                    balance += v.credit;
                    if v.credit > 30 {
                        (v.credit, v.earns) = (0, None);
                    }
                }
            }
        }
        self.balance = balance;
        self.unsorted = CpuSet::ALL;
    }

    /// All with credit in front, everybody else behind, each in the order they had.
    fn sort(&mut self, p: PcpuId) {
        if !self.unsorted.contains(p) {
            return;
        }
        self.unsorted.remove(p);
        let mut own: Vec<_> = self
            .waiting
            .iter()
            .copied()
            .filter(|(q, _)| *q == p)
            .collect();
        self.waiting.retain(|(q, _)| *q != p);
        // Sorting keeps the order of equals.
        own.sort_by_key(|(_, who)| self.pri(*who) != UNDER);
        self.waiting.extend(own);
    }

    fn balance(&mut self, cx: &Cx<'_>, p: PcpuId, pri: i32) -> Option<VcpuId> {
        let count = if cx.online().contains(p) {
            cx.pcpus() as u16
        } else {
            0
        };
        for i in 1..count {
            let peer = PcpuId((p.0 + i) % count);
            let queue = self.waiting.iter().filter(|(q, _)| *q == peer);
            for (_, who) in queue {
                if self.pri(*who) <= IDLE || self.pri(*who) <= pri {
                    break;
                }
                if let Some(v) = who
                    && !cx.vcpu(*v).on_pcpu
                    && cx.hard(*v).contains(p)
                {
                    return Some(*v);
                }
            }
        }
        None
    }

    /// The pcpu with the fewest vcpus: the siblings of the first one only if all others have more;
    /// of a core the second thread; of equals the highest.
    fn emptiest(&self, cx: &Cx<'_>) -> PcpuId {
        let online = cx.online();
        let core = |p: PcpuId| *cx.topology().siblings(p) & online;
        let second = |set: CpuSet| set.iter().nth(1).or(set.first()).expect("not empty");
        let count = |p: PcpuId| {
            let here = |(id, v): &(&u32, &Vcpu)| {
                let view = cx.vcpu(VcpuId(**id));
                v.placed && view.pcpu == p && !view.pause.has(Pause::DOWN)
            };
            self.vcpus.iter().filter(here).count()
        };
        let first_core = core(online.first().expect("some pcpu is online"));
        let mut best = second(first_core);
        for p in online.iter() {
            let is_second = second(core(p)) == p;
            if !first_core.contains(p) && is_second && count(p) <= count(best) {
                best = p;
            }
        }
        best
    }
}

impl Scheduler for TwinFirst {
    fn descriptor(&self) -> &'static Descriptor {
        find("credit")
            .expect("credit is in the registry")
            .descriptor
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.joined.insert(pcpu);
        self.idlers.insert(pcpu);
        self.unsorted.remove(pcpu);
        self.waiting.retain(|(q, _)| *q != pcpu);
        self.ticks.insert(pcpu.0, 0);
        self.master = self.master.or(Some(pcpu));
        cx.set_timer_in(pcpu, 0, Duration::from_millis(10));
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.joined.remove(pcpu);
        self.idlers.remove(pcpu);
        if self.master == Some(pcpu) {
            self.master = self.joined.first();
        }
        cx.stop_timer(pcpu, 0);
    }

    fn set_domain(&mut self, _: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        let param = |name: &str| params.by_name(name).expect("credit declares it");
        let front = self.domains.get(&domain.0).map_or(0, |d| d.front);
        let (weight, cap) = (param("weight"), param("cap"));
        self.domains.insert(domain.0, Domain { weight, cap, front });
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        match *params == self.params {
            true => Ok(()),
            false => Err(Conflict::fixed("tslice_ms")),
        }
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let name = cx.vcpu(vcpu).name;
        let v = Vcpu {
            domain: name.domain,
            index: name.index,
            pri: UNDER,
            credit: 0,
            placed: false,
            earns: None,
        };
        self.vcpus.insert(vcpu.0, v);
        self.earn(vcpu);
    }

    fn remove(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        // Its name stays known: the next vcpu is placed beside it.
        self.v_mut(vcpu).earns = None;
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let (hard, own) = (cx.hard(vcpu) & cx.online(), cx.vcpu(vcpu).pcpu);
        if self.v(vcpu).placed {
            return hard
                .iter()
                .find(|p| *p == own)
                .or(hard.first())
                .expect("allowed");
        }
        let Vcpu { domain, index, .. } = *self.v(vcpu);
        let before = |v: &&Vcpu| v.domain == domain && v.index + 1 == index && v.placed;
        let found = self.vcpus.iter().find(|(_, v)| before(v));
        let start = match found.map(|(id, _)| cx.vcpu(VcpuId(*id)).pcpu) {
            Some(pcpu) => cx.online().cycle(pcpu).expect("some pcpu is online"),
            None => self.emptiest(cx),
        };
        self.v_mut(vcpu).placed = true;
        cx.hard(vcpu).test_or_cycle(start).expect("never empty")
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        if cx.is_current(vcpu) || self.waits(vcpu) {
            return;
        }
        let p = cx.vcpu(vcpu).pcpu;
        self.queue(p, Some(vcpu));
        let current = self.pri(cx.current(p));
        let mut asked = if current > IDLE {
            self.idlers
        } else {
            CpuSet::EMPTY
        };
        if self.v(vcpu).pri > current {
            asked.insert(p);
        }
        for p in asked.iter() {
            cx.tickle(p);
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        match cx.is_current(vcpu) {
            true => cx.tickle(cx.vcpu(vcpu).pcpu),
            false => self.waiting.retain(|(_, who)| *who != Some(vcpu)),
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        match prev.vcpu {
            Some(v) if !cx.vcpu(v).runnable() => {}
            who => self.queue(pcpu, who),
        }
        let mut own = self.waiting.iter().filter(|(q, _)| *q == pcpu);
        let (_, mut next) = *own.next().expect("idle waits");
        if self.pri(next) <= OVER
            && let Some(stolen) = self.balance(cx, pcpu, self.pri(next))
        {
            next = Some(stolen);
        }
        let taken =
            |(q, who): &(PcpuId, Option<VcpuId>)| *who == next && (who.is_some() || *q == pcpu);
        let at = self.waiting.iter().position(taken).expect("it waits");
        self.waiting.remove(at);
        match next {
            None => self.idlers.insert(pcpu),
            Some(_) => self.idlers.remove(pcpu),
        }
        Pick {
            next,
            time_slice: Some(Duration::from_millis(30)),
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, _: u8) -> Option<Instant> {
        if let Some(v) = cx.current(pcpu) {
            self.v_mut(v).credit -= 10;
            if self.v(v).earns.is_none() {
                self.earn(v);
            }
        }
        let ticks = self.ticks.entry(pcpu.0).or_insert(0);
        *ticks += 1;
        if ticks.is_multiple_of(3) && self.master == Some(pcpu) {
            self.account();
        }
        self.sort(pcpu);
        cx.set_timer_in(pcpu, 0, Duration::from_millis(10));
        None
    }
}
