//! What operators order, weights, and placing.

use super::{List, MS, TwinSedf, US, Vcpu};
use domio_contract::{Cx, Pause};
use domio_core::{CpuSet, DomainId, ParamValues, PcpuId, VcpuId, VcpuName, XenVersion};

/// What an operator ordered for a domain; `None` for what was not said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    period: Option<i128>,
    slice: Option<i128>,
    latency: i128,
    extratime: bool,
    weight: i128,
}

impl Order {
    const NONE: Order = Order {
        period: None,
        slice: None,
        latency: 0,
        extratime: true,
        weight: 0,
    };
}

/// What Xen creates a vcpu with: period, slice, extraweight.
fn created(version: XenVersion, domain: DomainId) -> (i128, i128, i128) {
    match (domain.0, version) {
        (0, XenVersion::V3_0) => (20 * MS, 15 * MS, 0),
        (0, v) if v < XenVersion::V4_2 => (20 * MS, 15 * MS, 1),
        _ => (100 * MS, 0, 1),
    }
}

impl TwinSedf {
    pub(super) fn order(&mut self, domain: DomainId, params: &ParamValues) {
        let param = |name: &str| i128::from(params.by_name(name).expect("sedf declares it"));
        let said = |name: &str| Some(param(name) * US).filter(|t| *t > 0);
        let order = Order {
            period: said("period_us"),
            slice: said("slice_us"),
            latency: param("latency_us") * US,
            extratime: param("extratime") == 1,
            weight: param("weight"),
        };
        if !self.orders.iter().any(|(d, _)| *d == domain) {
            self.orders.push((domain, Order::NONE));
        }
        if !self.accepts(domain, &order) {
            return;
        }
        let known = self.orders.iter_mut().find(|(d, _)| *d == domain);
        known.expect("it was just added").1 = order;
        let own: Vec<usize> = (0..self.vcpus.len())
            .filter(|i| matches!(&self.vcpus[*i], Some(v) if v.name.domain == domain))
            .collect();
        for i in &own {
            self.obey(*i, order);
        }
        if !own.is_empty() {
            self.weigh();
        }
        for i in own {
            self.share(VcpuId(i as u32), order);
        }
    }

    /// Whether Xen takes `order`; it is no order at all to say nothing.
    fn accepts(&self, domain: DomainId, order: &Order) -> bool {
        let (period, slice) = self.asked(domain, order);
        order.weight > 0 || *order == Order::NONE || (slice >= 5 * US && slice <= period)
    }

    /// Period and slice of `order`, with what it was created with where nothing was said.
    fn asked(&self, domain: DomainId, order: &Order) -> (i128, i128) {
        let (period, slice, _) = created(self.version, domain);
        (order.period.unwrap_or(period), order.slice.unwrap_or(slice))
    }

    fn obey(&mut self, vcpu: usize, order: Order) {
        let domain = self.vcpus[vcpu].as_ref().expect("it exists").name.domain;
        let (period, slice) = self.asked(domain, &order);
        let (.., extraweight) = created(self.version, domain);
        let v = self.vcpus[vcpu].as_mut().expect("it exists");
        match order {
            Order { weight: 0, .. } => {
                v.weight = 0;
                v.extraweight = match order == Order::NONE {
                    true => extraweight,
                    false => 0,
                };
                (v.period, v.slice) = (period, slice);
                (v.period_orig, v.slice_orig) = (period, slice);
            }
            // (a): the originals stay.
            Order {
                extratime: true,
                period: None,
                weight,
                ..
            } => {
                v.extraweight = weight;
                v.weight = 0;
                (v.period, v.slice) = (100 * MS, 0);
            }
            // (b)
            Order { weight, .. } => v.weight = weight,
        }
    }

    fn share(&mut self, v: VcpuId, order: Order) {
        self.v_mut(v).latency = order.latency;
        self.v_mut(v).aware = order.extratime;
        let on_l1 = self.is_on(List::L1, v);
        if order.extratime && !on_l1 && self.is_queued(v) {
            self.add(List::L1, v);
        }
        if !order.extratime && on_l1 && self.v(v).turn.is_none() {
            self.del(List::L1, v);
        }
    }

    /// "After any change, per CPU".
    fn weigh(&mut self) {
        let all: Vec<Vcpu> = self.vcpus.iter().flatten().cloned().collect();
        for v in self.vcpus.iter_mut().flatten() {
            if v.weight == 0 || v.home.is_none() {
                continue;
            }
            let here = all.iter().filter(|other| other.home == v.home);
            let sum_weights: i128 = here.clone().map(|o| o.weight).sum();
            let reserved = |o: &Vcpu| 100 * MS * o.slice_orig / o.period_orig;
            let unweighted: i128 = here.filter(|o| o.weight == 0).map(reserved).sum();
            v.period = 100 * MS;
            v.slice = v.weight * (95 * MS - unweighted) / sum_weights;
            (v.period_orig, v.slice_orig) = (v.period, v.slice);
        }
    }

    pub(super) fn build(&mut self, name: VcpuName, v: VcpuId) {
        let (period, slice, extraweight) = created(self.version, name.domain);
        self.vcpus[v.index()] = Some(Vcpu {
            name,
            home: None,
            period,
            slice,
            period_orig: period,
            slice_orig: slice,
            latency: 0,
            weight: 0,
            extraweight,
            aware: true,
            want_pen: false,
            turn: None,
            deadl: None,
            cputime: 0,
            sched_start: 0,
            block_abs: None,
            lost: 0,
            l0_score: 0,
            l1_score: 0,
            owes: Default::default(),
        });
        let order = self.order_of(name.domain);
        self.obey(v.index(), order);
        self.share(v, order);
    }

    fn order_of(&self, domain: DomainId) -> Order {
        let known = self.orders.iter().find(|(d, _)| *d == domain);
        known.expect("parameters come before the first vcpu").1
    }

    pub(super) fn pick(&mut self, cx: &Cx<'_>, v: VcpuId) -> PcpuId {
        let allowed = cx.hard(v);
        let index = usize::from(self.v(v).name.index);
        if self.v(v).home.is_some() {
            let first = match self.version >= XenVersion::V4_3 {
                true => index % allowed.len(),
                false => 0,
            };
            let from = allowed.iter().find(|p| p.index() >= first);
            let pcpu = from.or(allowed.first()).expect("somewhere");
            self.v_mut(v).home = Some(pcpu);
            return pcpu;
        }
        // xen-spec 0.10.
        let domain = self.v(v).name.domain;
        let before = self.vcpus.iter().flatten().find(|o| {
            o.home.is_some() && o.name.domain == domain && usize::from(o.name.index) + 1 == index
        });
        let start = match before.and_then(|o| o.home) {
            Some(home) => cx.online().cycle(home),
            None if domain == DomainId(0) => cx.online().first(),
            None => Some(self.least_populated(cx)),
        };
        let pcpu = start.and_then(|p| allowed.test_or_cycle(p));
        let pcpu = pcpu.expect("somewhere");
        self.v_mut(v).home = Some(pcpu);
        let order = self.order_of(domain);
        if order != Order::NONE {
            // The tools adjust the domain now that it is there.
            self.weigh();
        }
        pcpu
    }

    fn least_populated(&self, cx: &Cx<'_>) -> PcpuId {
        let count = |p: PcpuId| {
            let lives_here = |(i, o): &(usize, &Option<Vcpu>)| {
                let up = !cx.vcpu(VcpuId(*i as u32)).pause.has(Pause::DOWN);
                matches!(o, Some(o) if o.home == Some(p)) && up
            };
            self.vcpus.iter().enumerate().filter(lives_here).count()
        };
        let core = |p: PcpuId| *cx.topology().siblings(p) & cx.online();
        let first_core = core(cx.online().first().expect("a pcpu"));
        // Of a core with threads only the second one takes part, of a core without them the only.
        let candidate = |of: CpuSet| of.iter().nth(1).or(of.first()).expect("a pcpu");
        let mut best = candidate(first_core);
        for p in cx.online().iter() {
            let takes_part = !first_core.contains(p) && candidate(core(p)) == p;
            if takes_part && count(p) <= count(best) {
                best = p;
            }
        }
        best
    }
}
