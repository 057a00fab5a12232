//! The suite on credit with what Zeng 2015 adds, in all combinations, and how fair it is then.

use domio_contract::Scheduler;
use domio_core::{Duration, Instant, ParamValues, Topology, VcpuId};
use domio_sched::conformance::world::World;
use domio_sched::conformance::*;
use domio_sched::registry;

/// Each combination of the parameters, and a word for it.
fn combinations() -> Vec<(String, ParamValues)> {
    let mut all = Vec::new();
    for version in ["3.4", "4.17"] {
        for balance in [0, 1] {
            for (vector, hold) in [(0, 0), (1, 0), (1, 300), (2, 0), (2, 300)] {
                let credit = registry::find("credit").expect("a policy of that name");
                let mut params = ParamValues::defaults(credit.descriptor.params);
                params.choose("version", version).expect("a release");
                for (name, value) in [
                    ("boost_balance", balance),
                    ("dispatch_vector", vector),
                    ("dispatch_hold_us", hold),
                ] {
                    params.set(name, value).expect("a value in range");
                }
                let word = format!("{version}, balance {balance}, vector {vector}/{hold}");
                all.push((word, params));
            }
        }
    }
    all
}

fn credit(params: &ParamValues, topology: &Topology) -> Box<dyn Scheduler> {
    domio_sched::credit::make(params, topology)
}

#[test]
fn credit_keeps_its_promises_in_all_combinations() {
    for (word, params) in combinations() {
        let report = check(&|topology| credit(&params, topology), 0..7);
        assert!(report.is_clean(), "{word}: {report}");
    }
}

/// With a bound, however long a driver domain has packets. (Without one, two vcpus of a driver
/// domain on one pcpu starve a third that has no boost, if they take turns to have packets.)
#[test]
fn with_a_bound_nobody_starves_however_many_packets_there_are() {
    for (word, params) in combinations() {
        if params.by_name("dispatch_hold_us") == Some(0) {
            continue;
        }
        let random = (0..7).map(random::script);
        for script in library::scripts().into_iter().chain(random) {
            let script = script.with_driver_domain(Duration::MAX);
            let found = check_script(&|topology| credit(&params, topology), &script, None);
            let found = found.expect("a script that makes sense");
            assert!(found.is_empty(), "{word}: {found:?}");
        }
    }
}

const SECONDS: u64 = 10;

/// A driver domain that computes all the time, with packets at hand for `held` of each `period`,
/// and other domains: `burners` that burn and `sleepers` that wake every now and then.
fn script(pcpus: u16, (held, period): (u64, u64), burners: usize, sleepers: usize) -> Script {
    let topology = Topology::flat(pcpus).expect("a few pcpus");
    let end = Instant::ZERO + Duration::from_secs(SECONDS);
    let mut script = Script::new("a driver domain among others", topology, end);
    let us = Duration::from_micros;
    let driver = script.domain(&[]);
    script.vcpu(
        driver,
        &[
            ScriptStep::Dispatch(2),
            ScriptStep::Run(us(held)),
            ScriptStep::Dispatch(0),
            ScriptStep::Run(us(period - held)),
        ],
    );
    for _ in 0..burners {
        let domain = script.domain(&[]);
        script.vcpu(domain, &[ScriptStep::Burn]);
    }
    for n in 0..sleepers as u64 {
        let domain = script.domain(&[]);
        let sleep = ScriptStep::Block(us(1_700 + 130 * n));
        script.vcpu(domain, &[ScriptStep::Run(us(200)), sleep]);
    }
    script
}

/// What each vcpu of `script` gets, in hundredths of a percent of the host.
fn shares(script: &Script, params: &ParamValues) -> Vec<u64> {
    let run = host::run(script, credit(params, &script.topology)).expect("a script that runs");
    let mut world = World::new(script.topology.pcpus(), script.vcpus.len());
    let mut got = vec![Duration::ZERO; script.vcpus.len()];
    let mut now = Instant::ZERO;
    for entry in &run.log {
        for v in world.current.iter().flatten() {
            got[v.index()] += entry.at.since(now);
        }
        now = entry.at;
        world.apply(entry);
    }
    for v in world.current.iter().flatten() {
        got[v.index()] += run.end.since(now);
    }
    let pcpus = script.topology.pcpus() as u64;
    let whole = Duration::from_secs(SECONDS).as_nanos() * pcpus / 10_000;
    got.iter().map(|time| time.as_nanos() / whole).collect()
}

/// Two points of the host's time.
const TOLERANCE: u64 = 200;

#[test]
fn who_burns_gets_the_share_of_its_weight() {
    for (word, params) in combinations() {
        let script = script(1, (2_000, 5_000), 4, 0);
        for (i, share) in shares(&script, &params).into_iter().enumerate() {
            assert!(
                share.abs_diff(2_000) <= TOLERANCE,
                "{word}: {} has {share} of 10000",
                VcpuId(i as u32).0
            );
        }
    }
}

/// Each part alone. With both it does not hold: docs/policies/credit.md, "What it does badly".
#[test]
fn on_several_pcpus_nobody_gets_another_share_than_without() {
    let script = script(4, (157, 419), 7, 6);
    let all = combinations();
    let mut unfair = String::new();
    for version in all.chunks(all.len() / 2) {
        let (_, plain) = &version[0];
        let plain = shares(&script, plain);
        for (word, params) in &version[1..] {
            let has = |name| params.by_name(name) != Some(0);
            if has("boost_balance") && has("dispatch_vector") {
                // Not kept: the driver domain gets 2.5 points more in 4.17, and 4.7 in 3.4, for
                // guests that wake are sent away, and with them the passes that would take its
                // turns.
                continue;
            }
            let with = shares(&script, params);
            let far = |(one, other): (&u64, &u64)| one.abs_diff(*other) > TOLERANCE;
            if plain.iter().zip(&with).any(far) {
                unfair += &format!("{word}: {plain:?} {with:?}\n");
            }
        }
    }
    assert!(unfair.is_empty(), "{unfair}");
}

/// What both parts do together is a matter of how seldom passes come to the driver domain's pcpu:
/// where slices end soon, nobody has more than without.
#[test]
fn on_several_pcpus_short_slices_are_fair_with_both_parts() {
    let script = script(4, (157, 419), 7, 6);
    let of = |slice, parts| {
        let credit = registry::find("credit").expect("a policy of that name");
        let mut params = ParamValues::defaults(credit.descriptor.params);
        params.choose("version", "4.17").expect("a release");
        params.set("tslice_ms", slice).expect("a slice");
        params.set("boost_balance", parts).expect("a switch");
        params.set("dispatch_vector", parts).expect("a switch");
        shares(&script, &params)
    };
    let more = |slice| of(slice, 1)[0].saturating_sub(of(slice, 0)[0]);
    assert!(more(30) > TOLERANCE, "{}", more(30));
    assert!(more(10) < more(30), "{} {}", more(10), more(30));
    assert!(more(3) < TOLERANCE / 2, "{}", more(3));
}

/// The bound shows: who wakes boosted beside a driver domain that always has packets waits for it.
#[test]
fn nobody_waits_for_longer_than_the_bound() {
    for (word, mut params) in combinations() {
        let bound = params.by_name("dispatch_hold_us");
        let bound = Duration::from_micros(bound.expect("a parameter") as u64);
        if bound.is_zero() {
            continue;
        }
        params.set("ratelimit_us", 0).expect("none");
        let script = script(1, (4_999, 5_000), 0, 1);
        let run = host::run(&script, credit(&params, &script.topology)).expect("a run");
        let mut world = World::new(1, script.vcpus.len());
        let (mut longest, mut boosted) = (Duration::ZERO, false);
        for entry in &run.log {
            let guest = world.vcpus[1];
            match entry.what {
                log::Occurrence::Call(log::PolicyCall::Wake(VcpuId(1), _)) => boosted = true,
                // Accounting ends a boost, and who was preempted itself waits for its turn.
                log::Occurrence::Call(log::PolicyCall::Timer(_, 1))
                | log::Occurrence::Switch(_, Some(VcpuId(1)), _) => boosted = false,
                log::Occurrence::Switch(_, _, Some(VcpuId(1))) if boosted => {
                    longest = longest.max(entry.at.since(guest.waits_since));
                }
                _ => {}
            }
            world.apply(entry);
        }
        assert_eq!(longest, bound, "{word}");
    }
}
