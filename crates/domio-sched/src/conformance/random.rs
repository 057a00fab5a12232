//! Random scripts, in the manner of swarm testing: each seed first decides which features its
//! script has at all, so that rare combinations get scripts of their own.
//!
//! Times lie on coarse grids, so that coincidences (a wake-up at a tick, a block at the end of a
//! slice) happen often.

use super::rng::Rng;
use super::script::{Intervention, Script, ScriptStep};
use alloc::vec::Vec;
use domio_contract::{Descriptor, GroupId, PacketsMoved, ShareBy};
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamSpec, PcpuId, Topology, VcpuId};
use domio_suite::draw;

/// Lengths of computing and blocking, in microseconds: around the constants of Xen's schedulers
/// (a tick of 10 ms, a slice of 30 ms, a rate limit of 1 ms, timer floors of 100 and 500 us).
const LENGTHS_US: &[u64] = &[
    20, 50, 100, 130, 300, 500, 999, 1_000, 1_700, 3_000, 5_000, 9_500, 10_000, 10_500, 30_000,
    70_000,
];

const WEIGHTS: &[i64] = &[32, 64, 128, 256, 256, 512, 1024, 4096];

/// Parameters of policies as a whole, and values for them: also some that do not go together.
const POLICY_PARAMS: &[(&str, &[i64])] = &[
    ("tslice_ms", &[1, 2, 5, 10, 10, 30, 50]),
    ("ratelimit_us", &[0, 100, 500, 1_000, 5_000]),
    ("migration_delay_us", &[0, 100, 1_000]),
];

/// Parameters of vcpus, and values for them: also some that do not go together.
const OWN_PARAMS: &[(&str, &[i64])] = &[
    ("period_us", &[500, 2_000, 5_000, 10_000, 30_000, 100_000]),
    ("budget_us", &[100, 500, 1_000, 4_000, 10_000, 20_000]),
    ("extratime", &[0, 0, 1]),
    ("weight", WEIGHTS),
];

/// Packets in one direction that are told together; the last one to make sums overflow.
const PACKETS: &[u32] = &[0, 0, 1, 1, 2, 10, 64, 1_000, u32::MAX];

const CAPS: &[i64] = &[0, 0, 10, 25, 50, 80, 120];

/// The random script of `seed`. Every seventh seed gives burners on one pcpu, whose shares can
/// be foretold; every seventh after that gives capped burners.
pub fn script(seed: u64) -> Script {
    let mut rng = Rng::new(seed);
    match seed % 7 {
        0 => weighted(&mut rng),
        1 => capped(&mut rng),
        _ => {
            let mut script = Swarm::new(rng).script();
            // A stream of their own: what else a seed says stays what it was without them.
            let mut rng = Rng::new(seed ^ 0x6f77_6e00);
            if rng.one_in(3) {
                own_parameters(&mut rng, &mut script);
            }
            if rng.one_in(4) {
                groups(&mut rng, &mut script);
            }
            script
        }
    }
}

/// The random script of `seed` for `policy`: that of [`script`], in which parameters that the lists
/// above do not have take values from anywhere in their ranges.
pub fn script_for(policy: &Descriptor, seed: u64) -> Script {
    let mut script = script(seed);
    // Shares can be foretold where nothing changes. A table can keep anybody waiting for as long as
    // the table says, so that nothing could be distinguished from a lost wake-up.
    let has_table = matches!(policy.held_by, Some(ShareBy::InFrame { .. }));
    if seed % 7 > 1 && !has_table {
        // A stream of their own, as above.
        declared(&mut Rng::new(seed ^ 0x6465_636c), policy, &mut script);
    }
    script
}

/// Parameters that only `policy` declares change.
fn declared(rng: &mut Rng, policy: &Descriptor, script: &mut Script) {
    let listed = |spec: &&ParamSpec| {
        let lists = [POLICY_PARAMS, OWN_PARAMS].concat();
        let listed = lists.iter().any(|(name, _)| *name == spec.name);
        listed || spec.name == "cap"
    };
    let of = |specs: &'static [ParamSpec]| specs.iter().filter(|spec| !listed(spec));
    type Change = fn(&mut Rng, &Script, &'static str, i64) -> Intervention;
    let groups: &[ParamSpec] = match script.groups.is_empty() {
        true => &[],
        false => policy.group_params,
    };
    let sorts: [(&'static [ParamSpec], Change); 4] = [
        (policy.changeable, |_, _, name, value| {
            Intervention::SetPolicy(name, value)
        }),
        (policy.domain_params, |rng, script, name, value| {
            let domain = rng.below(script.domains.len() as u64);
            Intervention::Set(DomainId(domain as u16), name, value)
        }),
        (policy.vcpu_params, |rng, script, name, value| {
            let vcpu = rng.below(script.vcpus.len() as u64);
            Intervention::SetVcpu(VcpuId(vcpu as u32), name, value)
        }),
        (groups, |rng, script, name, value| {
            let group = rng.below(script.groups.len() as u64);
            Intervention::SetGroup(GroupId(group as u16), name, value)
        }),
    ];
    let sorts = sorts.iter();
    let all: Vec<(&ParamSpec, Change)> = sorts
        .flat_map(|(specs, change)| of(specs).map(|spec| (spec, *change)))
        .collect();
    if all.is_empty() || !rng.one_in(2) {
        return;
    }
    for _ in 0..rng.between(1, 8) {
        let at = any_time(rng, script);
        let (spec, change) = *rng.pick(&all);
        let value = draw(spec, rng);
        let change = change(rng, script, spec.name, value);
        script.at(at, change);
    }
}

/// Vcpus have parameters of their own, which change; so do those of their domains.
fn own_parameters(rng: &mut Rng, script: &mut Script) {
    let vcpus = script.vcpus.len() as u64;
    for vcpu in &mut script.vcpus {
        if rng.one_in(2) {
            let (name, values) = *rng.pick(OWN_PARAMS);
            vcpu.params.push((name, *rng.pick(values)));
        }
    }
    for _ in 0..rng.between(1, 12) {
        let at = any_time(rng, script);
        let vcpu = VcpuId(rng.below(vcpus) as u32);
        let (name, values) = *rng.pick(OWN_PARAMS);
        let value = *rng.pick(values);
        let domain = script.vcpus[vcpu.index()].name.domain;
        script.at(
            at,
            match rng.one_in(4) {
                true => Intervention::Set(domain, name, value),
                false => Intervention::SetVcpu(vcpu, name, value),
            },
        );
    }
}

/// Domains are in groups, change them, and the groups change.
fn groups(rng: &mut Rng, script: &mut Script) {
    let count = rng.between(1, 5);
    for i in 0..count {
        let parent = (i > 0 && rng.one_in(2)).then(|| GroupId(rng.below(i) as u16));
        let quota = if rng.one_in(3) { *rng.pick(CAPS) } else { 0 };
        script.group(parent, &[("weight", *rng.pick(WEIGHTS)), ("cap", quota)]);
    }
    let any = |rng: &mut Rng| {
        let group = GroupId(rng.below(count) as u16);
        (!rng.one_in(4)).then_some(group)
    };
    for domain in &mut script.domains {
        domain.group = any(rng);
    }
    for _ in 0..rng.below(8) {
        let at = any_time(rng, script);
        let domain = DomainId(rng.below(script.domains.len() as u64) as u16);
        let group = any(rng);
        script.at(at, Intervention::Join(domain, group));
        if let (Some(group), true) = (group, rng.one_in(2)) {
            let weight = *rng.pick(WEIGHTS);
            script.at(at, Intervention::SetGroup(group, "weight", weight));
        }
    }
}

/// A whole millisecond of the script's time.
fn any_time(rng: &mut Rng, script: &Script) -> Duration {
    Duration::from_millis(rng.below(script.end.as_nanos() / 1_000_000))
}

fn weighted(rng: &mut Rng) -> Script {
    let topology = Topology::flat(1).expect("one pcpu");
    let mut script = Script::new(
        "random weights",
        topology,
        Instant::from_nanos(9_000_000_000),
    );
    for _ in 0..rng.between(2, 5) {
        let domain = script.domain(&[("weight", *rng.pick(&[128, 256, 384, 512, 1024]))]);
        script.vcpu(domain, &[ScriptStep::Burn]);
    }
    script
}

fn capped(rng: &mut Rng) -> Script {
    let topology = Topology::flat(rng.between(1, 4) as u16).expect("a few pcpus");
    let mut script = Script::new("random caps", topology, Instant::from_nanos(4_000_000_000));
    for _ in 0..rng.between(1, 4) {
        let domain = script.domain(&[("cap", *rng.pick(CAPS)), ("weight", *rng.pick(WEIGHTS))]);
        for _ in 0..rng.between(1, 3) {
            script.vcpu(domain, &[ScriptStep::Burn]);
        }
    }
    script
}

/// Which features a script has.
struct Swarm {
    rng: Rng,
    end: Duration,
    weights: bool,
    caps: bool,
    affinity: bool,
    soft: bool,
    lives: bool,
    pauses: bool,
    hotplug: bool,
    changes: bool,
    kicks: bool,
}

impl Swarm {
    fn new(mut rng: Rng) -> Self {
        let end = Duration::from_millis(*rng.pick(&[300, 1000, 1000, 2500]));
        let mut feature = || rng.one_in(3);
        Swarm {
            end,
            weights: feature(),
            caps: feature(),
            affinity: feature(),
            soft: feature(),
            lives: feature(),
            pauses: feature(),
            hotplug: feature(),
            changes: feature(),
            kicks: feature(),
            rng,
        }
    }

    fn script(mut self) -> Script {
        let topology = self.topology();
        let mut script = Script::new("random", topology, Instant::ZERO + self.end);
        let pcpus = script.topology.pcpus() as u64;
        let vcpus_max = self.rng.between(1, 2 * pcpus + 3);
        while (script.vcpus.len() as u64) < vcpus_max {
            let domain = self.domain(&mut script);
            for _ in 0..self.rng.between(1, 4) {
                self.vcpu(&mut script, domain, vcpus_max);
            }
            if self.lives && self.rng.one_in(2) {
                self.lives(&mut script, domain);
            }
        }
        // Kicks go to vcpus of the whole script, so they are known only now.
        let all = script.vcpus.len() as u64;
        for v in &mut script.vcpus {
            for step in &mut v.steps {
                if let ScriptStep::Kick(whom) = step {
                    *whom = VcpuId(self.rng.below(all) as u32);
                }
            }
        }
        self.actions(&mut script);
        if self.rng.one_in(3) {
            self.policy_changes(&mut script);
        }
        if self.rng.one_in(3) {
            self.packets(&mut script);
        }
        script
    }

    /// An operator tries parameters of the policy.
    fn policy_changes(&mut self, script: &mut Script) {
        for _ in 0..self.rng.between(1, 6) {
            let (name, values) = *self.rng.pick(POLICY_PARAMS);
            let at = Duration::from_millis(self.rng.below(self.end.as_nanos() / 1_000_000));
            script.at(at, Intervention::SetPolicy(name, *self.rng.pick(values)));
        }
    }

    /// Moves packets of domains at random, through the first one or another.
    fn packets(&mut self, script: &mut Script) {
        let domains = script.domains.len() as u64;
        let driver = match self.rng.one_in(4) {
            true => DomainId(self.rng.below(domains) as u16),
            false => DomainId(0),
        };
        for _ in 0..self.rng.between(3, 40) {
            let at = Duration::from_millis(self.rng.below(self.end.as_nanos() / 1_000_000));
            let moved = PacketsMoved {
                driver,
                guest: DomainId(self.rng.below(domains) as u16),
                sent: *self.rng.pick(PACKETS),
                received: *self.rng.pick(PACKETS),
            };
            script.at(at, Intervention::Packets(moved));
        }
    }

    fn topology(&mut self) -> Topology {
        let shapes = [
            (1, 1, 1),
            (1, 1, 2),
            (1, 2, 2),
            (2, 1, 2),
            (2, 2, 1),
            (2, 2, 2),
            (2, 4, 1),
        ];
        let (sockets, cores, threads) = match self.rng.one_in(2) {
            true => *self.rng.pick(&shapes),
            false => (1, self.rng.between(1, 8) as u16, 1),
        };
        Topology::new(sockets, cores, threads).expect("a few pcpus")
    }

    fn domain(&mut self, script: &mut Script) -> DomainId {
        let mut params = Vec::new();
        if self.weights {
            params.push(("weight", *self.rng.pick(WEIGHTS)));
        }
        if self.caps {
            params.push(("cap", *self.rng.pick(CAPS)));
        }
        script.domain(&params)
    }

    fn vcpu(&mut self, script: &mut Script, domain: DomainId, vcpus_max: u64) {
        if script.vcpus.len() as u64 == vcpus_max {
            return;
        }
        let steps = self.steps();
        let pcpus = script.topology.pcpus();
        let id = script.vcpu(domain, &steps);
        let vcpu = &mut script.vcpus[id.index()];
        if self.affinity && self.rng.one_in(2) {
            vcpu.hard = some_pcpus(&mut self.rng, pcpus);
        }
        if self.soft && self.rng.one_in(2) {
            vcpu.soft = some_pcpus(&mut self.rng, pcpus);
        }
    }

    /// All vcpus of a domain come immediately, as domains are built; they may go one by one.
    fn lives(&mut self, script: &mut Script, domain: DomainId) {
        let starts = self.rng.below(self.end.as_nanos() / 1_000_000);
        let starts = Instant::ZERO + Duration::from_millis(starts);
        for vcpu in script.vcpus.iter_mut().filter(|v| v.name.domain == domain) {
            vcpu.starts = starts;
            if self.rng.one_in(2) {
                vcpu.stops = Some(starts + Duration::from_millis(self.rng.between(1, 500)));
            }
        }
    }

    fn length(&mut self) -> Duration {
        Duration::from_micros(*self.rng.pick(LENGTHS_US))
    }

    /// Long enough that a whole script of it does not become a storm of passes.
    fn longer(&mut self) -> Duration {
        Duration::from_micros(*self.rng.pick(&LENGTHS_US[4..]))
    }

    fn steps(&mut self) -> Vec<ScriptStep> {
        match self.rng.below(6) {
            0 | 1 => alloc::vec![ScriptStep::Burn],
            2 => alloc::vec![
                ScriptStep::Run(self.length()),
                ScriptStep::Block(self.longer())
            ],
            3 => alloc::vec![ScriptStep::Run(self.longer()), ScriptStep::Yield],
            _ => self.mixed_steps(),
        }
    }

    fn mixed_steps(&mut self) -> Vec<ScriptStep> {
        let mut steps = alloc::vec![ScriptStep::Run(self.longer())];
        for _ in 0..self.rng.between(1, 6) {
            let step = match self.rng.below(if self.kicks { 6 } else { 4 }) {
                0 | 1 => ScriptStep::Run(self.length()),
                2 => ScriptStep::Block(self.length()),
                3 => ScriptStep::Yield,
                4 => ScriptStep::Wait,
                _ => ScriptStep::Kick(VcpuId(0)),
            };
            steps.push(step);
        }
        steps
    }

    fn actions(&mut self, script: &mut Script) {
        let pcpus = script.topology.pcpus();
        let kinds = [self.pauses, self.hotplug, self.changes, self.kicks];
        let Some(count) = kinds.contains(&true).then(|| self.rng.between(1, 30)) else {
            return;
        };
        let mut actions = Vec::new();
        for _ in 0..count {
            let grid = *self.rng.pick(&[100, 1_000, 10_000]);
            let at = self.rng.below(self.end.as_nanos() / 1_000 / grid) * grid;
            let at = Duration::from_micros(at);
            let vcpu = VcpuId(self.rng.below(script.vcpus.len() as u64) as u32);
            let pcpu = PcpuId(self.rng.below(pcpus as u64) as u16);
            let later = at + self.length();
            if self.pauses && self.rng.one_in(2) {
                actions.push((at, Intervention::Pause(vcpu)));
                actions.push((later, Intervention::Unpause(vcpu)));
            }
            if self.hotplug && self.rng.one_in(3) {
                actions.push((at, Intervention::Offline(pcpu)));
                actions.push((later, Intervention::Online(pcpu)));
            }
            if self.changes && self.rng.one_in(2) {
                actions.push((at, self.change(script, vcpu)));
            }
            if self.kicks && self.rng.one_in(2) {
                actions.push((at, Intervention::Kick(vcpu)));
            }
        }
        for (at, action) in actions {
            script.at(at, action);
        }
    }

    fn change(&mut self, script: &Script, vcpu: VcpuId) -> Intervention {
        let domain = script.vcpus[vcpu.index()].name.domain;
        let pcpus = script.topology.pcpus();
        match self.rng.below(3) {
            0 if self.weights => Intervention::Set(domain, "weight", *self.rng.pick(WEIGHTS)),
            1 if self.caps => Intervention::Set(domain, "cap", *self.rng.pick(CAPS)),
            _ => Intervention::Affinity {
                vcpu,
                hard: match self.rng.one_in(2) {
                    true => some_pcpus(&mut self.rng, pcpus),
                    false => CpuSet::ALL,
                },
                soft: CpuSet::ALL,
            },
        }
    }
}

/// At least one of the first `pcpus`.
fn some_pcpus(rng: &mut Rng, pcpus: usize) -> CpuSet {
    let mut set = CpuSet::of(PcpuId(rng.below(pcpus as u64) as u16));
    for _ in 0..rng.below(pcpus as u64) {
        set.insert(PcpuId(rng.below(pcpus as u64) as u16));
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_gives_a_script_that_can_be_run_and_gives_it_again() {
        for seed in 0..2_000 {
            let one = script(seed);
            assert_eq!(one.check(), Ok(()), "seed {seed}");
            assert_eq!(one, script(seed), "seed {seed}");
        }
    }

    #[test]
    fn every_kind_of_step_and_action_occurs() {
        let all: Vec<Script> = (0..500).map(script).collect();
        let steps = |wanted: fn(&ScriptStep) -> bool| {
            all.iter()
                .any(|s| s.vcpus.iter().any(|v| v.steps.iter().any(wanted)))
        };
        assert!(steps(|s| matches!(s, ScriptStep::Burn)));
        assert!(steps(|s| matches!(s, ScriptStep::Block(_))));
        assert!(steps(|s| matches!(s, ScriptStep::Wait)));
        assert!(steps(|s| matches!(s, ScriptStep::Yield)));
        assert!(steps(|s| matches!(s, ScriptStep::Kick(v) if v.0 > 0)));
        let actions = |wanted: fn(&Intervention) -> bool| {
            all.iter().any(|s| s.actions.iter().any(|(_, a)| wanted(a)))
        };
        assert!(actions(|a| matches!(a, Intervention::Pause(_))));
        assert!(actions(|a| matches!(a, Intervention::Offline(_))));
        assert!(actions(|a| matches!(a, Intervention::Set(..))));
        assert!(actions(|a| matches!(a, Intervention::SetPolicy(..))));
        assert!(actions(|a| matches!(a, Intervention::SetVcpu(..))));
        assert!(actions(|a| matches!(a, Intervention::SetGroup(..))));
        assert!(actions(|a| matches!(a, Intervention::Join(_, None))));
        assert!(actions(|a| matches!(a, Intervention::Join(_, Some(_)))));
        assert!(actions(|a| matches!(a, Intervention::Affinity { .. })));
        assert!(actions(|a| matches!(a, Intervention::Kick(_))));
        assert!(all.iter().any(|s| s.topology.threads_per_core() > 1));
        assert!(all.iter().any(|s| s.topology.sockets() > 1));
    }
}
