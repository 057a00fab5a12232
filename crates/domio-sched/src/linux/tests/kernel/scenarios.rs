//! Random scenarios for the comparison with the kernel.

use super::super::super::{CFS, EEVDF, Linux};
use crate::conformance::rng::Rng;
use crate::conformance::{Intervention, Script, ScriptStep};
use alloc::vec::Vec;
use domio_contract::GroupId;
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId};

/// A random time in microseconds, of any order of magnitude from 10^1 to 10^`most`.
fn some_time(rng: &mut Rng, most: u64) -> Duration {
    let order = 10_u64.pow(rng.between(1, most) as u32);
    let us = rng.between(order / 2, order * 3);
    let extra = match rng.one_in(3) {
        true => 0,
        false => rng.below(1_000),
    };
    Duration::from_nanos(us * 1_000 + extra)
}

/// What scripts have.
#[derive(Clone, Copy)]
pub(super) struct With {
    pub pcpus: u16,
    pub quotas: bool,
    pub changes: bool,
    pub groups: bool,
    /// Vcpus of one domain are on several pcpus.
    pub spread: bool,
}

/// `cpu.weight`s, some around the lightest that preempts by a sleeper's credit.
const WEIGHTS: [i64; 13] = [
    10, 20, 33, 34, 50, 100, 100, 100, 137, 200, 400, 1_000, 10_000,
];

/// A scenario in the making, and what it has at all.
struct Scene {
    rng: Rng,
    with: With,
    idle_class: bool,
    nices: bool,
    slices: bool,
    yields: bool,
    /// How many groups of domains.
    groups: u64,
}

/// The scenario of `seed`.
pub(super) fn script(seed: u64, seconds: u64, eevdf: bool, with: With) -> Script {
    let mut rng = Rng::new(seed ^ 0x6b65_726e);
    let topology = Topology::flat(with.pcpus).expect("a few pcpus");
    let end = Instant::ZERO + Duration::from_millis(seconds * 1_000);
    let mut script = Script::new("random", topology, end);
    let idle_class = rng.one_in(4);
    let nices = rng.one_in(2);
    // Linux sets a slice and the idle class in two steps, each of which moves the thread.
    let slices = eevdf && !idle_class && rng.one_in(2);
    let yields = rng.one_in(3);
    let groups = match with.groups && rng.one_in(2) {
        true => rng.between(1, 4),
        false => 0,
    };
    let mut scene = Scene {
        rng,
        with,
        idle_class,
        nices,
        slices,
        yields,
        groups,
    };
    scene.add_groups(&mut script);
    for _ in 0..scene.rng.between(1, 6) {
        scene.add_domain(&mut script);
    }
    if with.changes && scene.rng.one_in(2) {
        for _ in 0..scene.rng.between(1, 40) {
            let at = Duration::from_nanos(scene.rng.below(seconds * 1_000_000_000));
            scene.add_change(&mut script, at);
        }
    }
    script
}

impl Scene {
    fn weight(&mut self) -> (&'static str, i64) {
        ("weight", *self.rng.pick(&WEIGHTS))
    }

    /// A quota, its period and its burst.
    fn limits(&mut self) -> [(&'static str, i64); 3] {
        let rng = &mut self.rng;
        let period = *rng.pick(&[5_000, 10_000, 20_000, 50_000, 100_000, 33_333]);
        let quota = (period * rng.between(3, 140) as i64 / 100).max(1_000);
        let burst = match rng.one_in(3) {
            true => quota * rng.between(1, 100) as i64 / 100,
            false => 0,
        };
        [
            ("period_us", period),
            ("quota_us", quota),
            ("burst_us", burst),
        ]
    }

    /// Something that a thread is given.
    fn thread(&mut self) -> (&'static str, i64) {
        let rng = &mut self.rng;
        match rng.below(4) {
            0 if self.idle_class => ("class", rng.below(3) as i64),
            1 if self.slices => ("slice_us", *rng.pick(&[0, 100, 300, 1_000, 5_000, 100_000])),
            _ => ("nice", *rng.pick(&[-20, -10, -5, -1, 0, 1, 3, 5, 10, 19])),
        }
    }

    fn add_groups(&mut self, script: &mut Script) {
        for i in 0..self.groups {
            let parent = (i > 0 && self.rng.one_in(2)).then(|| GroupId(self.rng.below(i) as u16));
            let mut params = Vec::from([self.weight()]);
            if self.idle_class && self.rng.one_in(4) {
                params.push(("idle", 1));
            }
            if self.with.quotas && self.rng.one_in(3) {
                params.extend(self.limits());
            }
            script.group(parent, &params);
        }
    }

    fn add_domain(&mut self, script: &mut Script) {
        let mut params = Vec::new();
        if self.rng.one_in(2) {
            params.push(self.weight());
        }
        if self.idle_class && self.rng.one_in(4) {
            params.push(("idle", 1));
        }
        if self.with.quotas && self.rng.one_in(2) {
            params.extend(self.limits());
        }
        let domain = script.domain(&params);
        if self.groups > 0 && !self.rng.one_in(4) {
            let group = GroupId(self.rng.below(self.groups) as u16);
            script.domains[domain.index()].group = Some(group);
        }
        let pcpus = u64::from(self.with.pcpus);
        let together = PcpuId(self.rng.below(pcpus) as u16);
        for _ in 0..self.rng.between(1, 3) {
            let steps = self.steps();
            let id = script.vcpu(domain, &steps);
            let vcpu = &mut script.vcpus[id.index()];
            if self.nices && self.rng.one_in(2) {
                vcpu.params.push(self.thread());
            }
            if self.rng.one_in(3) {
                vcpu.starts = Instant::ZERO + some_time(&mut self.rng, 6);
            }
            vcpu.hard = match self.with.spread {
                true => CpuSet::of(PcpuId(self.rng.below(pcpus) as u16)),
                false => CpuSet::of(together),
            };
        }
    }

    fn steps(&mut self) -> Vec<ScriptStep> {
        let rng = &mut self.rng;
        let mut steps = Vec::new();
        match rng.below(5) {
            0 | 1 => steps.push(ScriptStep::Burn),
            2 => {
                steps.push(ScriptStep::Run(some_time(rng, 4)));
                steps.push(ScriptStep::Block(some_time(rng, 4)));
            }
            _ => {
                for _ in 0..rng.between(1, 5) {
                    steps.push(ScriptStep::Run(some_time(rng, 4)));
                    steps.push(match rng.below(6) {
                        0 if self.yields => ScriptStep::Yield,
                        _ => ScriptStep::Block(some_time(rng, 5)),
                    });
                }
            }
        }
        steps
    }

    /// An operator changes something.
    fn add_change(&mut self, script: &mut Script, at: Duration) {
        let domain = DomainId(self.rng.below(script.domains.len() as u64) as u16);
        let vcpu = VcpuId(self.rng.below(script.vcpus.len() as u64) as u32);
        if self.groups > 0 && self.rng.one_in(4) {
            let group = GroupId(self.rng.below(self.groups) as u16);
            let changes = match self.with.quotas && self.rng.one_in(2) {
                true => Vec::from(self.limits()),
                false => Vec::from([self.weight()]),
            };
            for (name, value) in changes {
                script.at(at, Intervention::SetGroup(group, name, value));
            }
            return;
        }
        match self.rng.below(5) {
            0 if self.with.quotas => {
                for (name, value) in self.limits() {
                    script.at(at, Intervention::Set(domain, name, value));
                }
            }
            1 if self.idle_class => {
                let idle = self.rng.below(2) as i64;
                script.at(at, Intervention::Set(domain, "idle", idle));
            }
            2 if self.with.quotas => script.at(at, Intervention::Set(domain, "quota_us", 0)),
            0..=2 => {
                let (name, value) = self.weight();
                script.at(at, Intervention::Set(domain, name, value));
            }
            _ => {
                let (name, value) = self.thread();
                script.at(at, Intervention::SetVcpu(vcpu, name, value));
            }
        }
    }
}

/// The policy of `seed`, with tunables at random.
pub(super) fn policy(seed: u64, release: &str, pcpus: u16) -> Linux {
    let topology = Topology::flat(pcpus).expect("a few pcpus");
    let cfs = release == "6.1";
    let descriptor = if cfs { &CFS } else { &EEVDF };
    let mut params = ParamValues::defaults(descriptor.params);
    params.choose("release", release).expect("a known release");
    let mut rng = Rng::new(seed ^ 0x7061_7261);
    if rng.one_in(2) {
        for spec in descriptor.params {
            let value = match spec.name {
                "sched_latency_ns" => *rng.pick(&[0, 0, 1_000_000, 3_000_000]),
                "base_slice_ns" => *rng.pick(&[0, 500_000, 1_000_000, 3_000_000]),
                "wakeup_granularity_ns" => *rng.pick(&[0, 100_000, 3_000_000]),
                "bandwidth_slice_us" => *rng.pick(&[1_000, 5_000, 20_000]),
                "gentle_fair_sleepers"
                | "start_debit"
                | "wakeup_preemption"
                | "run_to_parity"
                | "preempt_short"
                | "place_lag"
                | "delay_dequeue" => i64::from(!rng.one_in(6)),
                _ => continue,
            };
            params.set(spec.name, value).expect("a value in range");
        }
    }
    let mut policy = match cfs {
        true => Linux::cfs(&params, &topology),
        false => Linux::eevdf(&params, &topology),
    };
    policy.balances = false;
    policy
}
