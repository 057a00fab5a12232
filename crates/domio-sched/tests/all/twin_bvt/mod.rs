//! The slow twin of BVT: xen-spec 1 as written there, sentence by sentence.
//!
//! It shares no code with BVT. Numbers are large and are cut to 32 bits where Xen's are that
//! short, charging units are counted one by one, and everything is found by going through all.
//! Where the specification is silent it does what the page of the policy says under "Where the
//! source leaves a choice".
//!
//! A twin can be made with a [`Mistake`], to see that the comparison would notice one like that.

mod mistake;

use domio_contract::{Conflict, Cx, Descriptor, Pause, Pick, Prev, Scheduler, Wake};
use domio_core::{DomainId, Duration, Instant, ParamValues, PcpuId, VcpuId, VcpuName};
use domio_sched::find;
pub use mistake::Mistake;

/// Everything up to here fits in 32 bits.
const WORD: i128 = 1 << 32;
const US: i128 = 1_000;
const MS: i128 = 1_000_000;
const MCU: i128 = 100 * US;

#[derive(Clone, Debug)]
struct Vcpu {
    id: VcpuId,
    name: VcpuName,
    cpu: Option<PcpuId>,
    avt: i128,
    evt: i128,
    changed_cpu: bool,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    queue: Vec<VcpuId>,
    svt: i128,
    lastschd: i128,
    switched_in: i128,
    slice_timer: i128,
    /// What the timers of the host are set to: the slice brought forward, the first of all warps.
    forward: Option<i128>,
    warps: Option<i128>,
}

#[derive(Clone, Debug)]
struct Domain {
    id: DomainId,
    mcu_advance: i128,
    warpback: bool,
    warp: bool,
    warp_value: i128,
    warpl: i128,
    warpu: i128,
    warp_timer: Option<i128>,
    unwarp_timer: Option<i128>,
    timers_on: Option<PcpuId>,
    asked_to_warp: bool,
}

/// The policy.
pub struct TwinBvt {
    params: ParamValues,
    mistake: Option<Mistake>,
    vcpus: Vec<Vcpu>,
    cpus: Vec<Cpu>,
    domains: Vec<Domain>,
}

impl TwinBvt {
    pub fn new(params: &ParamValues, pcpus: usize, mistake: Option<Mistake>) -> Self {
        TwinBvt {
            params: *params,
            mistake,
            vcpus: Vec::new(),
            cpus: vec![Cpu::default(); pcpus],
            domains: Vec::new(),
        }
    }

    fn wrong(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn is_3_0_2(&self) -> bool {
        let spec = self.params.specs().iter().find(|s| s.name == "version");
        let value = self.params.by_name("version").expect("declared");
        let name = spec.expect("declared").show(value).to_string();
        (name == "3.0.2") != self.wrong(Mistake::ChargedAsAnotherRelease)
    }

    fn ctx_allow(&self) -> i128 {
        i128::from(self.params.by_name("ctx_allow_us").expect("declared")) * US
    }

    fn get(&self, id: VcpuId) -> &Vcpu {
        let mut vcpus = self.vcpus.iter();
        vcpus.find(|v| v.id == id).expect("it was inserted")
    }

    fn vcpu(&mut self, id: VcpuId) -> &mut Vcpu {
        let mut vcpus = self.vcpus.iter_mut();
        vcpus.find(|v| v.id == id).expect("it was inserted")
    }

    fn domain_of(&self, id: VcpuId) -> &Domain {
        let of = self.get(id).name.domain;
        let mut domains = self.domains.iter();
        domains.find(|d| d.id == of).expect("it was set")
    }

    fn domain_of_mut(&mut self, id: VcpuId) -> &mut Domain {
        let of = self.get(id).name.domain;
        let mut domains = self.domains.iter_mut();
        domains.find(|d| d.id == of).expect("it was set")
    }

    fn queued(&self, id: VcpuId) -> bool {
        self.cpus.iter().any(|c| c.queue.contains(&id))
    }

    /// Since when `cpu` owes its current vcpu a charge.
    fn since(&self, cpu: PcpuId) -> i128 {
        let c = &self.cpus[cpu.index()];
        if self.is_3_0_2() {
            c.switched_in
        } else {
            c.lastschd
        }
    }

    fn charged_avt(&self, cpu: PcpuId, id: VcpuId, now: i128) -> i128 {
        let ran = (now - self.since(cpu)).rem_euclid(WORD);
        let mut mcus = 0;
        while mcus * MCU < ran {
            mcus += 1;
        }
        if self.wrong(Mistake::UnitsRoundedDown) && mcus * MCU > ran {
            mcus -= 1;
        }
        (self.get(id).avt + mcus * self.domain_of(id).mcu_advance).rem_euclid(WORD)
    }

    fn evt_of(&self, id: VcpuId, avt: i128) -> i128 {
        let domain = self.domain_of(id);
        let value = if domain.warp { domain.warp_value } else { 0 };
        (avt - value).rem_euclid(WORD)
    }

    // ---- timers -----------------------------------------------------------------------------

    /// The timers of all domains that are on `cpu`: when, whose, and whether it is the unwarp one.
    fn timers(&self, cpu: PcpuId) -> Vec<(i128, DomainId, bool)> {
        let mut all = Vec::new();
        for d in self.domains.iter().filter(|d| d.timers_on == Some(cpu)) {
            all.extend(d.warp_timer.map(|at| (at, d.id, false)));
            all.extend(d.unwarp_timer.map(|at| (at, d.id, true)));
        }
        all.sort();
        all
    }

    /// Has the host's timer follow the timers of the domains.
    fn follow(&mut self, cx: &mut Cx<'_>, cpu: Option<PcpuId>) {
        let Some(cpu) = cpu else {
            return;
        };
        let first = self.timers(cpu).first().map(|t| t.0);
        if self.cpus[cpu.index()].warps != first {
            self.cpus[cpu.index()].warps = first;
            match first {
                Some(at) => cx.set_timer(cpu, 1, Instant::from_nanos(at as u64)),
                None => cx.stop_timer(cpu, 1),
            }
        }
    }

    fn expire(&mut self, cx: &mut Cx<'_>, id: DomainId, unwarp: bool) {
        let now = i128::from(cx.now().as_nanos());
        let mut of_domain: Vec<&Vcpu> = self.vcpus.iter().collect();
        of_domain.retain(|v| v.name.domain == id && v.cpu.is_some());
        of_domain.sort_by_key(|v| v.name.index);
        let reschedules = of_domain[0].cpu.expect("kept");
        let unwarp_tickles = self.wrong(Mistake::UnwarpTickles);
        let mut domains = self.domains.iter_mut();
        let d = domains.find(|d| d.id == id).expect("it was set");
        if unwarp {
            d.unwarp_timer = None;
            if d.warpback {
                d.warp = true;
                cx.tickle(reschedules);
            }
        } else {
            d.warp_timer = None;
            d.warp = false;
            d.unwarp_timer = Some(now + d.warpu);
            if d.warpu == 0 {
                d.warpback = false;
            }
            if d.warpu == 0 || unwarp_tickles {
                cx.tickle(reschedules);
            }
        }
        if self.wrong(Mistake::WaitingRecomputed) {
            let waiting: Vec<VcpuId> = self.vcpus.iter().map(|v| v.id).collect();
            for v in waiting {
                if self.get(v).name.domain == id {
                    let evt = self.evt_of(v, self.get(v).avt);
                    self.vcpu(v).evt = evt;
                }
            }
        }
    }

    // ---- placement --------------------------------------------------------------------------

    /// xen-spec 0.10.
    fn initial(&self, cx: &Cx<'_>, name: VcpuName) -> PcpuId {
        let one_before = self.vcpus.iter().find(|v| {
            let n = v.name;
            v.cpu.is_some() && n.domain == name.domain && n.index + 1 == name.index
        });
        let online: Vec<PcpuId> = cx.online().iter().collect();
        if let Some(before) = one_before {
            let cpu = before.cpu.expect("checked");
            let next = online.iter().find(|p| **p > cpu);
            return *next.unwrap_or(&online[0]);
        }
        if name.domain == DomainId(0) {
            return online[0];
        }
        let count = |cpu: PcpuId| {
            let mut there = self.vcpus.iter().filter(|v| v.cpu == Some(cpu)).count();
            for v in &self.vcpus {
                if v.cpu == Some(cpu) && cx.vcpu(v.id).pause.has(Pause::DOWN) {
                    there -= 1;
                }
            }
            there
        };
        let threads = |cpu: PcpuId| -> Vec<PcpuId> {
            let siblings = *cx.topology().siblings(cpu);
            online
                .iter()
                .copied()
                .filter(|p| siblings.contains(*p))
                .collect()
        };
        let first_core = threads(online[0]);
        let mut best = *first_core.get(1).unwrap_or(&online[0]);
        let mut used: Vec<PcpuId> = first_core;
        for cpu in online.iter().copied() {
            let core = threads(cpu);
            let primary = core.len() > 1 && core[0] == cpu;
            if used.contains(&cpu) || primary {
                continue;
            }
            used.extend(core);
            if count(cpu) <= count(best) {
                best = cpu;
            }
        }
        best
    }
}

impl Scheduler for TwinBvt {
    fn descriptor(&self) -> &'static Descriptor {
        find("bvt").expect("it is registered").descriptor
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, cpu: PcpuId) {
        self.cpus[cpu.index()] = Cpu::default();
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, cpu: PcpuId) {
        cx.stop_timer(cpu, 0);
        let rest = cx.online().iter().find(|p| *p != cpu);
        let mut any = false;
        for d in &mut self.domains {
            if d.timers_on == Some(cpu) {
                d.timers_on = rest;
                any = true;
            }
        }
        if any {
            self.follow(cx, Some(cpu));
            self.follow(cx, rest);
        }
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        self.descriptor().check_change(&self.params, params)?;
        self.params = *params;
        Ok(())
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, id: DomainId, params: &ParamValues) {
        let value = |name: &str| i128::from(params.by_name(name).expect("declared"));
        if !self.domains.iter().any(|d| d.id == id) {
            self.domains.push(Domain {
                id,
                mcu_advance: 10,
                warpback: false,
                warp: false,
                warp_value: 0,
                warpl: 2_000 * MS,
                warpu: 1_000 * MS,
                warp_timer: None,
                unwarp_timer: None,
                timers_on: None,
                asked_to_warp: false,
            });
        }
        let late = self.wrong(Mistake::WarpAfterWakeUp);
        let mut domains = self.domains.iter_mut();
        let d = domains.find(|d| d.id == id).expect("just added");
        d.mcu_advance = value("mcu_advance");
        d.warpback = value("warpback") == 1;
        d.asked_to_warp = d.warpback;
        d.warp = d.warpback && !late;
        d.warp_value = value("warp_value");
        d.warpl = value("warpl_ms") * MS;
        d.warpu = value("warpu_ms") * MS;
        d.unwarp_timer = None;
        if !d.warpback {
            d.warp_timer = None;
        }
        let on = d.timers_on;
        self.follow(cx, on);
    }

    fn insert(&mut self, cx: &mut Cx<'_>, id: VcpuId) {
        self.vcpus.push(Vcpu {
            id,
            name: cx.vcpu(id).name,
            cpu: None,
            avt: 0,
            evt: 0,
            changed_cpu: false,
        });
    }

    fn remove(&mut self, cx: &mut Cx<'_>, id: VcpuId) {
        let domain = self.get(id).name.domain;
        self.vcpus.retain(|v| v.id != id);
        if !self.vcpus.iter().any(|v| v.name.domain == domain) {
            let mut domains = self.domains.iter_mut();
            let d = domains.find(|d| d.id == domain).expect("it was set");
            d.warp_timer = None;
            d.unwarp_timer = None;
            d.warpback = d.asked_to_warp;
            d.warp = d.asked_to_warp;
            let on = d.timers_on.take();
            self.follow(cx, on);
        }
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, id: VcpuId) -> PcpuId {
        let allowed: Vec<PcpuId> = cx.hard(id).iter().collect();
        let Some(from) = self.get(id).cpu else {
            let start = self.initial(cx, self.get(id).name);
            let up = allowed.iter().find(|p| **p >= start);
            let cpu = *up.unwrap_or(&allowed[0]);
            let svt = self.cpus[cpu.index()].svt;
            let v = self.vcpu(id);
            v.cpu = Some(cpu);
            v.avt = svt;
            v.evt = svt;
            let d = self.domain_of_mut(id);
            if d.timers_on.is_none() {
                d.timers_on = Some(cpu);
            }
            return cpu;
        };
        let cpu = allowed[0];
        let v = self.vcpu(id);
        v.cpu = Some(cpu);
        v.changed_cpu |= cpu != from;
        cpu
    }

    fn wake(&mut self, cx: &mut Cx<'_>, id: VcpuId, _: Wake) {
        if self.queued(id) {
            return;
        }
        let now = i128::from(cx.now().as_nanos());
        let cpu = self.get(id).cpu.expect("it was placed");
        if self.wrong(Mistake::WokenToTheTail) {
            self.cpus[cpu.index()].queue.push(id);
        } else {
            self.cpus[cpu.index()].queue.insert(0, id);
        }
        if self.wrong(Mistake::WarpAfterWakeUp) {
            let d = self.domain_of_mut(id);
            d.warp = d.warpback;
        }
        let svt = self.cpus[cpu.index()].svt;
        let sleeping_earns = self.wrong(Mistake::CreditForSleeping);
        let one_time = self.wrong(Mistake::OneTimeForAll);
        let v = self.vcpu(id);
        if v.avt < svt && !sleeping_earns {
            v.avt = svt;
        }
        if v.changed_cpu && !one_time {
            v.avt = svt;
        }
        v.changed_cpu = false;
        let evt = self.evt_of(id, self.get(id).avt);
        self.vcpu(id).evt = evt;
        let Some(current) = cx.current(cpu) else {
            cx.tickle(cpu);
            return;
        };
        let curr_evt = self.evt_of(current, self.charged_avt(cpu, current, now));
        let since = self.since(cpu);
        let protected = self.wrong(Mistake::AllowanceProtects) && now < since + self.ctx_allow();
        if evt <= curr_evt && !protected {
            cx.tickle(cpu);
            return;
        }
        let ahead = (evt - curr_evt).max(0) / self.domain_of(current).mcu_advance;
        let until = since + ahead + self.ctx_allow();
        let never = self.wrong(Mistake::NeverForward);
        let c = &mut self.cpus[cpu.index()];
        if c.slice_timer > until && !never {
            c.slice_timer = until;
            c.forward = Some(until);
            cx.set_timer(cpu, 0, Instant::from_nanos(until.max(now) as u64));
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, id: VcpuId) {
        if cx.is_current(id) {
            cx.tickle(cx.vcpu(id).pcpu);
            return;
        }
        for c in &mut self.cpus {
            c.queue.retain(|v| *v != id);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, cpu: PcpuId, prev: Prev) -> Pick {
        let now = i128::from(cx.now().as_nanos());
        // (1)
        if let Some(id) = prev.vcpu {
            let avt = self.charged_avt(cpu, id, now);
            let evt = self.evt_of(id, avt);
            let v = self.vcpu(id);
            (v.avt, v.evt) = (avt, evt);
            let goes_on = self.wrong(Mistake::LimitOverPasses);
            let d = self.domain_of_mut(id);
            if d.warpback && d.warpl > 0 && !goes_on {
                d.warp_timer = None;
                let on = d.timers_on;
                self.follow(cx, on);
            }
            let queue = &mut self.cpus[cpu.index()].queue;
            queue.retain(|v| *v != id);
            if cx.vcpu(id).runnable() {
                queue.push(id);
            }
        }
        // (2)
        let mut order = self.cpus[cpu.index()].queue.clone();
        if let Some(least) = order.iter().map(|v| self.get(*v).avt).min() {
            self.cpus[cpu.index()].svt = least;
        }
        if self.wrong(Mistake::LastOfEquals) {
            order.reverse();
        }
        order.sort_by_key(|v| self.get(*v).evt);
        let next = order.first().copied();
        // (3)
        if let Some(id) = next {
            let goes_on = self.wrong(Mistake::LimitOverPasses);
            let d = self.domain_of_mut(id);
            if d.warp && d.warpl > 0 && !(goes_on && d.warp_timer.is_some()) {
                d.warp_timer = Some(now + d.warpl);
                let on = d.timers_on;
                self.follow(cx, on);
            }
        }
        // (5), of times that (4) has not touched yet.
        let mut slice = self.ctx_allow();
        match order[..] {
            [] => {}
            [_] => {
                if !self.wrong(Mistake::AloneNotLonger) {
                    slice *= 10;
                }
            }
            [one, two, ..] => {
                let ahead = self.get(two).evt - self.get(one).evt;
                let mut time = ahead / self.domain_of(one).mcu_advance;
                if self.wrong(Mistake::UnitsMade100Us) {
                    time *= MCU;
                }
                slice += time;
            }
        }
        // (4)
        if self.cpus[cpu.index()].svt >= 0xf000_0000 && !self.wrong(Mistake::NeverSetBack) {
            self.cpus[cpu.index()].svt -= 0xe000_0000;
            let queue = self.cpus[cpu.index()].queue.clone();
            let only_waiting = self.wrong(Mistake::SleepersNotSetBack);
            for v in &mut self.vcpus {
                if v.cpu == Some(cpu) && (!only_waiting || queue.contains(&v.id)) {
                    v.avt = (v.avt - 0xe000_0000).rem_euclid(WORD);
                    v.evt = (v.evt - 0xe000_0000).rem_euclid(WORD);
                }
            }
        }
        let c = &mut self.cpus[cpu.index()];
        c.forward = None;
        c.lastschd = now;
        c.slice_timer = now + slice;
        if next != prev.vcpu {
            c.switched_in = now;
        }
        cx.stop_timer(cpu, 0);
        Pick {
            next,
            time_slice: Some(Duration::from_nanos(slice as u64)),
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, cpu: PcpuId, slot: u8) -> Option<Instant> {
        if slot == 0 {
            self.cpus[cpu.index()].forward = None;
            cx.tickle(cpu);
            return None;
        }
        let now = i128::from(cx.now().as_nanos());
        loop {
            let first = self.timers(cpu).first().copied();
            let Some((_, domain, unwarp)) = first.filter(|t| t.0 <= now) else {
                self.cpus[cpu.index()].warps = first.map(|t| t.0);
                return first.map(|t| Instant::from_nanos(t.0 as u64));
            };
            self.expire(cx, domain, unwarp);
        }
    }
}
