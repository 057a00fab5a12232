//! BVT decides as its slow twin does: equal boundary logs on hand-written and random scripts, for
//! each release, with random weights and warps and changes of them. Twins with one mistake each
//! are noticed.

use crate::beside::Beside;
use crate::twin_bvt::{Mistake, TwinBvt};
use domio_core::{DomainId, Duration, Instant, ParamKind, ParamValues, Topology};
use domio_sched::conformance::rng::Rng;
use domio_sched::conformance::{Intervention, Script, check_script, library, random};
use domio_sched::find;

const VERSIONS: [&str; 3] = ["2.0", "3.0", "3.0.2"];

/// Random scripts for each release. The twin is slow, and the thousands of the long test found
/// nothing that these do not.
const SEEDS: u64 = 140;

fn params(version: &str, seed: u64) -> ParamValues {
    let bvt = find("bvt").expect("bvt is in the registry");
    let mut params = ParamValues::defaults(bvt.descriptor.params);
    params.choose("version", version).expect("a known release");
    if !seed.is_multiple_of(3) {
        let allowance = *Rng::new(seed ^ 0xa110).pick(&[500, 1_000, 5_000, 20_000]);
        let known = params.set("ctx_allow_us", allowance);
        known.expect("a value in range");
    }
    params
}

/// A parameter with a value.
fn some_param(rng: &mut Rng) -> (&'static str, i64) {
    match rng.below(6) {
        0 | 1 => {
            // The large ones bring the end of 32 bits near.
            let advances = [1, 3, 10, 10, 20, 30, 500, 100_000, 1_000_000];
            ("mcu_advance", *rng.pick(&advances))
        }
        2 => ("warpback", i64::from(!rng.one_in(4))),
        3 => {
            let values = [0, 1, 40, 300, 2_000, 50_000, 4_000_000, 2_147_483_647];
            ("warp_value", *rng.pick(&values))
        }
        4 => ("warpl_ms", *rng.pick(&[0, 1, 2, 4, 10, 45, 200, 2_000])),
        _ => ("warpu_ms", *rng.pick(&[0, 1, 5, 20, 100, 1_000])),
    }
}

/// The random script of `seed`, where most domains have weights and warps and operators change
/// them.
fn script(seed: u64) -> Script {
    let mut script = random::script(seed);
    script.end = script.end.min(Instant::ZERO + Duration::from_millis(2_500));
    let mut rng = Rng::new(seed ^ 0xb27);
    for domain in &mut script.domains {
        for _ in 0..rng.below(6) {
            let (name, value) = some_param(&mut rng);
            domain.params.retain(|(n, _)| *n != name);
            domain.params.push((name, value));
        }
    }
    if rng.one_in(2) {
        let length_ms = script.end.as_nanos() / 1_000_000;
        for _ in 0..rng.between(1, 20) {
            let domain = DomainId(rng.below(script.domains.len() as u64) as u16);
            let at = Duration::from_millis(rng.below(length_ms));
            let action = if rng.one_in(6) {
                Intervention::SetPolicy("ctx_allow_us", *rng.pick(&[100, 3_000, 10_000]))
            } else {
                let (name, value) = some_param(&mut rng);
                Intervention::Set(domain, name, value)
            };
            script.at(at, action);
        }
    }
    script
}

/// Runs both; `None` when they agree, else a report for people.
fn difference(script: &Script, params: &ParamValues, wrong: Option<Mistake>) -> Option<String> {
    let bvt = find("bvt").expect("bvt is in the registry");
    let both = Beside {
        name: "bvt",
        policy: &|t| (bvt.make)(params, t),
        twin: &|t| Box::new(TwinBvt::new(params, t.pcpus(), wrong)),
        to_the_letter: false,
    };
    both.difference(script)
}

fn agree(version: &str, seeds: core::ops::Range<u64>) {
    for seed in seeds {
        if let Some(text) = difference(&script(seed), &params(version, seed), None) {
            panic!("bvt {version}, seed {seed}: {text}");
        }
    }
}

#[test]
fn every_release_is_compared() {
    let bvt = find("bvt").expect("bvt is in the registry");
    let version = bvt.descriptor.params.iter().find(|p| p.name == "version");
    let kind = version.map(|p| p.kind);
    assert_eq!(kind, Some(ParamKind::Choice(&VERSIONS)));
}

#[test]
fn on_hand_written_scripts() {
    for version in VERSIONS {
        for script in library::scripts() {
            if let Some(text) = difference(&script, &params(version, 0), None) {
                panic!("bvt {version}, script \"{}\": {text}", script.name);
            }
        }
    }
}

#[test]
fn in_2_0() {
    agree("2.0", 0..SEEDS);
}

#[test]
fn in_3_0() {
    agree("3.0", SEEDS..2 * SEEDS);
}

#[test]
fn in_3_0_2() {
    agree("3.0.2", 0..SEEDS);
}

/// Each broken copy differs on some script.
#[test]
fn every_mistake_is_noticed() {
    for mistake in Mistake::ALL {
        // The rarest needs more scripts than the comparison has.
        let noticed = (0..8 * SEEDS).any(|seed| {
            let params = params("3.0", seed);
            difference(&script(seed), &params, Some(mistake)).is_some()
        });
        assert!(noticed, "{mistake:?} goes unnoticed");
    }
}

/// The suite's own scripts know no weights and no warps. Whoever warps may keep others waiting for
/// longer than the suite puts up with, on a pcpu that does not idle.
#[test]
fn weights_and_warps_make_no_decision_that_cannot_be_carried_out() {
    let bvt = find("bvt").expect("bvt is in the registry");
    for seed in 0..SEEDS {
        let params = params(VERSIONS[seed as usize % 3], seed);
        let make = |topology: &Topology| (bvt.make)(&params, topology);
        let found = check_script(&make, &script(seed), Some(seed)).expect("a sound script");
        assert!(found.is_empty(), "{}", found[0]);
    }
}

#[test]
#[ignore = "takes minutes: run it after a change of bvt"]
fn on_thousands_of_scripts() {
    for version in VERSIONS {
        agree(version, 10_000..13_000);
    }
}
