//! CFS and EEVDF decide as their slow twin does on one pcpu: equal boundary logs on hand-written
//! and random scripts, for each release, with random weights, quotas, nice values and classes, and
//! changes of them. Twins with one mistake each are noticed.

use crate::beside::Beside;
use crate::twin_linux::{Mistake, TwinLinux};
use domio_contract::WorksFor;
use domio_core::{CpuSet, DomainId, Duration, ParamValues, Topology, VcpuId};
use domio_sched::conformance::rng::Rng;
use domio_sched::conformance::{Intervention, Script, library, random};
use domio_sched::find;

/// Policies and their releases.
const RELEASES: [(&str, &str); 6] = [
    ("cfs", "6.1"),
    ("eevdf", "6.12"),
    ("eevdf", "6.18"),
    ("eevdf", "7.0"),
    ("eevdf", "7.2"),
    ("eevdf", "7.3"),
];

/// Random scripts for each release.
const SEEDS: u64 = 100;

fn params(name: &str, release: &str, seed: u64) -> ParamValues {
    let policy = find(name).expect("a policy of that name");
    let mut params = ParamValues::defaults(policy.descriptor.params);
    params.choose("release", release).expect("a known release");
    if seed.is_multiple_of(2) {
        return params;
    }
    let mut rng = Rng::new(seed ^ 0x11f7);
    let hz = *rng.pick(&["100", "250", "300", "1000"]);
    params.choose("hz", hz).expect("a known rate");
    for spec in policy.descriptor.params {
        let value = match spec.name {
            "sched_latency_ns" | "base_slice_ns" => *rng.pick(&[0, 1_000_000, 3_000_000]),
            "wakeup_granularity_ns" => *rng.pick(&[0, 100_000, 3_000_000]),
            "bandwidth_slice_us" => *rng.pick(&[1_000, 5_000, 20_000]),
            "hz" | "release" | "min_granularity_ns" | "idle_min_granularity_ns" => continue,
            "migration_cost_ns" | "ni_rate" => continue,
            // How many threads of a group run at a time, the twin does not know.
            "cgroup_mode" => rng.below(4) as i64,
            // What the twin does not have.
            name if ["sched_rt_", "rr_", "fair_server_"]
                .iter()
                .any(|p| name.starts_with(p)) =>
            {
                continue;
            }
            _ => i64::from(!rng.one_in(4)),
        };
        params.set(spec.name, value).expect("a value in range");
    }
    params
}

/// Whether `action` gives nobody a class above fair, which the twin does not have.
fn is_fair(action: &Intervention) -> bool {
    match action {
        Intervention::Set(_, name, value) | Intervention::SetVcpu(_, name, value) => {
            let above = name.starts_with("dl_") || *name == "rt_priority";
            !above && (*name != "class" || *value < 3)
        }
        _ => true,
    }
}

/// `script` on a host of one pcpu.
fn on_one_pcpu(mut script: Script) -> Script {
    script.topology = Topology::flat(1).expect("one pcpu");
    for vcpu in &mut script.vcpus {
        (vcpu.hard, vcpu.soft) = (CpuSet::ALL, CpuSet::ALL);
    }
    for (_, action) in &mut script.actions {
        if let Intervention::Affinity { hard, soft, .. } = action {
            (*hard, *soft) = (CpuSet::ALL, CpuSet::ALL);
        }
    }
    let stays = |action: &Intervention| {
        !matches!(action, Intervention::Offline(_) | Intervention::Online(_)) && is_fair(action)
    };
    script.actions.retain(|(_, action)| stays(action));
    script
}

fn script(name: &str, seed: u64) -> Script {
    let policy = find(name).expect("a policy of that name");
    let mut script = on_one_pcpu(random::script_for(policy.descriptor, seed));
    inside(&mut script, &mut Rng::new(seed ^ 0x6c69_6276));
    script
}

/// Groups inside those of domains, in half of the scripts: quotas of them, threads of the host, and
/// changes of all that.
fn inside(script: &mut Script, rng: &mut Rng) {
    if rng.one_in(2) {
        return;
    }
    let domains = script.domains.len() as u64;
    let param = |rng: &mut Rng| {
        let quota = *rng.pick(&[1_000, 3_000, 5_000, 10_000, 30_000, 0]);
        let period = *rng.pick(&[4_000, 10_000, 20_000, 100_000]);
        *rng.pick(&[
            ("layout", 0),
            ("layout", 1),
            ("vcpu_quota_us", quota),
            ("vcpu_period_us", period),
            ("emulator_quota_us", quota),
            ("emulator_period_us", period),
            ("iothread_quota_us", quota),
            ("quota_us", quota),
        ])
    };
    for domain in &mut script.domains {
        domain.params.push(("layout", i64::from(!rng.one_in(3))));
        for _ in 0..rng.below(4) {
            domain.params.push(param(rng));
        }
    }
    for vcpu in &mut script.vcpus {
        let guest = DomainId(rng.below(domains) as u16);
        vcpu.works = match rng.below(8) {
            0 | 1 => Some(WorksFor::Emulator(guest)),
            2 | 3 => Some(WorksFor::Iothread(guest, rng.between(1, 2) as u32)),
            4 => Some(WorksFor::Kernel),
            _ => None,
        };
    }
    for _ in 0..rng.below(6) {
        let at = Duration::from_millis(rng.below(script.end.as_nanos() / 1_000_000));
        let (name, value) = param(rng);
        let domain = DomainId(rng.below(domains) as u16);
        script.at(at, Intervention::Set(domain, name, value));
        let vcpu = VcpuId(rng.below(script.vcpus.len() as u64) as u32);
        let seat = rng.below(3) as i64;
        script.at(at, Intervention::SetVcpu(vcpu, "seat", seat));
    }
}

/// Runs both; `None` when they agree, else a report for people.
fn difference(
    name: &'static str,
    script: &Script,
    params: &ParamValues,
    wrong: Option<Mistake>,
) -> Option<String> {
    let policy = find(name).expect("a policy of that name");
    let both = Beside {
        name,
        policy: &|t| (policy.make)(params, t),
        twin: &|_| Box::new(TwinLinux::new(name, params, wrong)),
        to_the_letter: false,
    };
    both.difference(script)
}

fn agree(name: &'static str, release: &str, seeds: core::ops::Range<u64>) {
    for seed in seeds {
        let params = params(name, release, seed);
        if let Some(text) = difference(name, &script(name, seed), &params, None) {
            panic!("{name} {release}, seed {seed}: {text}");
        }
    }
}

#[test]
fn on_hand_written_scripts() {
    for (name, release) in RELEASES {
        for script in library::scripts() {
            let script = on_one_pcpu(script);
            let params = params(name, release, 0);
            if let Some(text) = difference(name, &script, &params, None) {
                panic!("{name} {release}, script \"{}\": {text}", script.name);
            }
        }
    }
}

#[test]
fn in_6_1() {
    agree("cfs", "6.1", 0..SEEDS);
}

#[test]
fn in_6_12() {
    agree("eevdf", "6.12", 0..SEEDS);
}

#[test]
fn in_6_18() {
    agree("eevdf", "6.18", 0..SEEDS);
}

#[test]
fn in_7_0() {
    agree("eevdf", "7.0", 0..SEEDS);
}

#[test]
fn in_7_2() {
    agree("eevdf", "7.2", 0..SEEDS);
}

#[test]
fn in_7_3() {
    agree("eevdf", "7.3", 0..SEEDS);
}

/// Each broken copy differs on some script.
#[test]
fn every_mistake_is_noticed() {
    for mistake in Mistake::ALL {
        let releases = match mistake.is_of_7() {
            true => &RELEASES[3..],
            false => &RELEASES[..3],
        };
        let noticed = (0..2 * SEEDS).any(|seed| {
            releases.iter().any(|&(name, release)| {
                let params = params(name, release, seed);
                difference(name, &script(name, seed), &params, Some(mistake)).is_some()
            })
        });
        assert!(noticed, "{mistake:?} goes unnoticed");
    }
}

#[test]
#[ignore = "takes minutes: run it after a change of cfs or eevdf"]
fn on_thousands_of_scripts() {
    for (name, release) in RELEASES {
        agree(name, release, 10_000..13_000);
    }
}
