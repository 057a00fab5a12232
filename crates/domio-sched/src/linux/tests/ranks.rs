//! Random histories with all classes: a pcpu never runs a thread of a lower class or priority while
//! a higher one waits there, and nobody has more than it reserves. Broken copies are noticed.

use super::*;
use crate::conformance::host;
use crate::conformance::rng::Rng;
use crate::conformance::world::World;
use crate::conformance::{Intervention, Script, check_script, random};
use crate::linux::given::ThreadSetting;
use crate::linux::params::{Class, Level};
use alloc::boxed::Box;
use alloc::string::String;
use domio_contract::{Cx, Descriptor, Pick, Prev, Scheduler, StateRows, Wake};
use domio_core::DomainId;

const SEEDS: u64 = 40;

/// Values of a domain of a random class.
fn of_a_class(rng: &mut Rng) -> Vec<(&'static str, i64)> {
    let class = *rng.pick(&[
        Class::Other,
        Class::Fifo,
        Class::RoundRobin,
        Class::Deadline,
    ]);
    let mut params = Vec::from([("class", class as i64)]);
    match class.level() {
        Level::Fair => {}
        Level::RealTime => params.push(("rt_priority", *rng.pick(&[1, 2, 50, 99]))),
        Level::Deadline => {
            let period = *rng.pick(&[5_000, 20_000, 100_000]);
            let deadline = if rng.one_in(3) { period / 2 } else { period };
            params.push(("dl_runtime_us", deadline / *rng.pick(&[2, 5, 10])));
            params.push(("dl_deadline_us", deadline));
            params.push(("dl_period_us", period));
        }
    }
    params
}

/// A random script in which each domain has a class for good.
fn script(seed: u64) -> Script {
    let mut script = random::script_for(&CFS, seed);
    let mut rng = Rng::new(seed ^ 0x7261_6e6b);
    for domain in &mut script.domains {
        domain.params.extend(of_a_class(&mut rng));
    }
    let stays = |name: &str| !["class", "rt_priority"].contains(&name) && !name.starts_with("dl_");
    script.actions.retain(|(_, action)| match action {
        Intervention::Set(_, name, _) | Intervention::SetVcpu(_, name, _) => stays(name),
        _ => true,
    });
    script
}

/// What each vcpu of `script` is given.
fn settings(script: &Script) -> Vec<ThreadSetting> {
    let of = |domain: DomainId| {
        let mut values = ParamValues::defaults(CFS.domain_params);
        for spec in CFS.domain_params {
            if let Some(value) = script.param(domain, spec.name) {
                let _ = values.set(spec.name, value);
            }
        }
        ThreadSetting::inherited(&values)
    };
    let vcpus = script.vcpus.iter();
    vcpus.map(|v| of(v.name.domain)).collect()
}

/// A copy of the policy with one mistake, which shows in what it keeps after each call.
struct Broken {
    inner: Linux,
    mistake: Mistake,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    /// The fair class goes first.
    FairFirst,
    /// The lowest priority goes first.
    LowestFirst,
    /// Whoever wakes preempts nobody above fair.
    WaitsForTheTick,
    /// A reservation is never used up.
    EndlessRuntime,
}

const MISTAKES: [Mistake; 4] = [
    Mistake::FairFirst,
    Mistake::LowestFirst,
    Mistake::WaitsForTheTick,
    Mistake::EndlessRuntime,
];

impl Broken {
    fn after(&mut self) {
        for high in &mut self.inner.high {
            match self.mistake {
                Mistake::LowestFirst => high.real_time.reverse(),
                Mistake::FairFirst => high.serves = true,
                _ => {}
            }
        }
        if self.mistake == Mistake::EndlessRuntime {
            for thread in &mut self.inner.threads {
                thread.cbs.runtime = thread.cbs.reserves.runtime;
            }
        }
    }
}

impl Scheduler for Broken {
    fn descriptor(&self) -> &'static Descriptor {
        self.inner.descriptor()
    }
    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.inner.pcpu_online(cx, pcpu);
    }
    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.inner.pcpu_offline(cx, pcpu);
    }
    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        self.inner.set_domain(cx, domain, params);
    }
    fn set_vcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, params: &ParamValues) {
        self.inner.set_vcpu(cx, vcpu, params);
    }
    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.inner.insert(cx, vcpu);
    }
    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.inner.remove(cx, vcpu);
    }
    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        self.inner.pick_pcpu(cx, vcpu)
    }
    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, why: Wake) {
        let level = self.inner.entities[self.inner.entity_of(vcpu) as usize].level;
        let late = self.mistake == Mistake::WaitsForTheTick && level > Level::Fair;
        // A pass that is due already is asked for no second time.
        let due: Vec<bool> = self.inner.cpus.iter().map(|c| c.resched).collect();
        for c in self
            .inner
            .cpus
            .iter_mut()
            .filter(|c| late && c.current != NIL)
        {
            c.resched = true;
        }
        self.inner.wake(cx, vcpu, why);
        if late {
            for (c, due) in self.inner.cpus.iter_mut().zip(due) {
                c.resched = due;
            }
        }
        self.after();
    }
    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.inner.sleep(cx, vcpu);
    }
    fn yielded(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.inner.yielded(cx, vcpu);
    }
    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let pick = self.inner.schedule(cx, pcpu, prev);
        self.after();
        pick
    }
    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        let next = self.inner.timer(cx, pcpu, slot);
        self.after();
        next
    }
    fn domain_timer(&mut self, cx: &mut Cx<'_>, domain: DomainId) -> Option<Instant> {
        self.inner.domain_timer(cx, domain)
    }
    fn state(&self, out: &mut StateRows) {
        self.inner.state(out);
    }
}

/// The policy of `release`; in eevdf without the fair server, which is above fifo on purpose.
fn policy(release: &str, topology: &Topology) -> Linux {
    match release {
        "6.1" => Linux::cfs(&values(CFS.params, &[]), topology),
        release => {
            let mut values = values(EEVDF.params, &[("fair_server_runtime_us", "0")]);
            values.choose("release", release).unwrap();
            Linux::eevdf(&values, topology)
        }
    }
}

/// What is wrong in a run of `script`, if anything.
fn wrong(script: &Script, release: &str, mistake: Option<Mistake>) -> Option<String> {
    let inner = policy(release, &script.topology);
    let policy: Box<dyn Scheduler> = match mistake {
        None => Box::new(inner),
        Some(mistake) => Box::new(Broken { inner, mistake }),
    };
    let run = host::run(script, policy).expect("a script that can be run");
    let given = settings(script);
    let rank = |v: VcpuId| (given[v.index()].class.level(), given[v.index()].priority);
    let mut ahead = alloc::vec![0_i64; given.len()];
    let mut world = World::new(script.topology.pcpus(), script.vcpus.len());
    let mut now = Instant::ZERO;
    for entry in &run.log {
        if entry.at > now {
            let length = entry.at.since(now).as_nanos() as i64;
            for (waits, state) in world.waiting() {
                let Some(runs) = world.current[state.pcpu.index()] else {
                    continue;
                };
                if rank(waits) > rank(runs) {
                    return Some(alloc::format!("{runs:?} runs before {waits:?} at {now}"));
                }
            }
            for (i, setting) in given.iter().enumerate() {
                let reserves = setting.reserves;
                if reserves.period == 0 {
                    continue;
                }
                // In units of the period.
                let due = i128::from(length) * i128::from(reserves.runtime);
                ahead[i] = (ahead[i] - (due / i128::from(reserves.period)) as i64).max(0);
                if world.vcpus[i].on.is_some() {
                    ahead[i] += length;
                }
                // A runtime of before, one of now, and a tick too much of each.
                if ahead[i] > 2 * reserves.runtime + 2 * 4 * MS {
                    return Some(alloc::format!("v{i} is {} ahead at {now}", ahead[i]));
                }
            }
            now = entry.at;
        }
        world.apply(entry);
    }
    None
}

const RELEASES: [&str; 3] = ["6.1", "6.12", "6.18"];

#[test]
fn the_highest_runs_and_nobody_has_more_than_it_reserves() {
    for seed in 0..SEEDS {
        let script = script(seed);
        for release in RELEASES {
            if let Some(text) = wrong(&script, release, None) {
                panic!("{release}, seed {seed}: {text}");
            }
        }
    }
}

/// The suite's own checkers, on the same scripts.
#[test]
fn the_suite_finds_nothing() {
    for seed in 0..SEEDS / 2 {
        let script = script(seed);
        for release in ["6.1", "6.12"] {
            let make = |topology: &Topology| Box::new(policy(release, topology)) as _;
            let found = check_script(&make, &script, Some(seed));
            let mut found = found.expect("a script that can be run");
            // These promises are of the fair class. A group without time is not throttled where it
            // waits under fifo, and cannot go where it is.
            let capped = !script.groups.is_empty()
                || script
                    .domains
                    .iter()
                    .any(|d| script.param(d.id, "cap").is_some());
            found.retain(|f| {
                let is = |names: &[&str]| names.contains(&f.checker);
                let excused = is(&["weights", "caps", "groups"]) || (capped && is(&["balances"]));
                !excused
            });
            assert!(found.is_empty(), "{release}, seed {seed}: {found:?}");
        }
    }
}

#[test]
fn every_broken_copy_is_noticed() {
    for mistake in MISTAKES {
        let noticed = (0..SEEDS).any(|seed| wrong(&script(seed), "6.1", Some(mistake)).is_some());
        assert!(noticed, "{mistake:?}");
    }
}
