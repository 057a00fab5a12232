//! Credit2 decides as its slow twin does: equal boundary logs on hand-written and random scripts,
//! for each arrangement of run queues and for random parameters.

mod beside;
mod twin_credit2;

use beside::Beside;
use domio_core::ParamValues;
use domio_sched::conformance::rng::Rng;
use domio_sched::conformance::{Script, library, random};
use domio_sched::find;
use twin_credit2::TwinCredit2;

const ARRANGEMENTS: [&str; 5] = ["cpu", "core", "socket", "node", "all"];

/// Random scripts for each arrangement. The twin is slow, and the thousands of the long test found
/// nothing that these do not.
const SEEDS: u64 = 84;

fn params(arrangement: &str) -> ParamValues {
    let credit2 = find("credit2").expect("credit2 is in the registry");
    let mut params = ParamValues::defaults(credit2.descriptor.params);
    let known = params.choose("runqueue", arrangement);
    known.expect("a known arrangement");
    params
}

/// Parameters as an operator might set them; the defaults for even seeds.
fn random_params(arrangement: &str, seed: u64) -> ParamValues {
    let mut params = params(arrangement);
    if !seed.is_multiple_of(2) {
        let mut rng = Rng::new(seed);
        let mut set = |name, values: &[i64]| {
            let value = *rng.pick(values);
            params.set(name, value).expect("a value in range");
        };
        set("max_cpus_runqueue", &[1, 2, 3, 16]);
        set("ratelimit_us", &[0, 100, 500, 1_000, 20_000]);
        set("migrate_resist_us", &[0, 100, 500, 5_000]);
        set("load_window_shift", &[11, 20, 25, 30]);
        set("load_precision_shift", &[4, 10, 18]);
        set("balance_under", &[-4, 0, 1]);
        set("balance_over", &[-4, -3, 0]);
        set("cap_period_ms", &[1, 10, 33]);
        set("smt_power_savings", &[0, 0, 1]);
    }
    if seed.is_multiple_of(3) {
        let release = ["4.8", "4.9", "4.10", "4.17"][(seed / 3 % 4) as usize];
        params.choose("version", release).expect("a known release");
    }
    params
}

/// Runs both; `None` when they agree, else a report for people.
fn difference(script: &Script, params: &ParamValues) -> Option<String> {
    let credit2 = find("credit2").expect("credit2 is in the registry");
    let both = Beside {
        name: "credit2",
        policy: &|t| (credit2.make)(params, t),
        twin: &|t| Box::new(TwinCredit2::new(params, t)),
        to_the_letter: false,
    };
    both.difference(script)
}

fn agree(seeds: core::ops::Range<u64>) {
    for arrangement in ARRANGEMENTS {
        for seed in seeds.clone() {
            let params = random_params(arrangement, seed);
            if let Some(text) = difference(&random::script(seed), &params) {
                panic!("credit2 by {arrangement}, seed {seed}: {text}");
            }
        }
    }
}

#[test]
fn hand_written_scripts() {
    for arrangement in ARRANGEMENTS {
        for script in library::scripts() {
            if let Some(text) = difference(&script, &params(arrangement)) {
                panic!(
                    "credit2 by {arrangement}, script \"{}\": {text}",
                    script.name
                );
            }
        }
    }
}

#[test]
fn random_scripts() {
    agree(0..SEEDS);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_scripts() {
    agree(1_000..2_000);
}
