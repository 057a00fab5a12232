//! Credit decides as its slow twin does: equal boundary logs on hand-written and random scripts,
//! for each epoch and for random parameters.

mod beside;
mod twin;
mod twin_first;

use beside::Beside;
use domio_core::ParamValues;
use domio_sched::conformance::rng::Rng;
use domio_sched::conformance::{Script, library, random};
use domio_sched::find;
use twin::TwinCredit;
use twin_first::TwinFirst;

const EPOCHS: [&str; 5] = ["3.0.3", "3.1", "3.4", "4.0", "4.17"];

/// Those with a change.
const BETWEEN: [&str; 10] = [
    "4.1", "4.2", "4.3", "4.5", "4.6", "4.7", "4.8", "4.9", "4.11", "4.13",
];

/// Random scripts for each epoch. The twin is slow, and the thousands of the long test found
/// nothing that these do not.
const SEEDS: u64 = 84;

/// The releases between the epochs, which share nearly all of their rules with a neighbour, get
/// fewer.
const SEEDS_BETWEEN: u64 = 21;

fn params(version: &str) -> ParamValues {
    let credit = find("credit").expect("credit is in the registry");
    let mut params = ParamValues::defaults(credit.descriptor.params);
    params.choose("version", version).expect("a known release");
    params
}

/// Parameters as an operator might set them; the defaults for even seeds.
fn random_params(version: &str, seed: u64) -> ParamValues {
    let mut params = params(version);
    if !seed.is_multiple_of(2) {
        let mut rng = Rng::new(seed);
        let mut set = |name, values: &[i64]| {
            let value = *rng.pick(values);
            params.set(name, value).expect("a value in range");
        };
        set("tslice_ms", &[2, 5, 10, 30, 50]);
        set("ratelimit_us", &[0, 100, 500, 1_000, 2_000]);
        set("migration_delay_us", &[0, 0, 100, 1_000, 10_000]);
        set("smt_power_savings", &[0, 0, 1]);
    }
    params
}

/// Runs both; `None` when they agree, else a report for people.
fn difference(script: &Script, params: &ParamValues) -> Option<String> {
    let credit = find("credit").expect("credit is in the registry");
    let both = Beside {
        name: "credit",
        policy: &|t| (credit.make)(params, t),
        twin: &|t| match params.by_name("version") {
            // The first release has a twin of its own.
            Some(0) => Box::new(TwinFirst::new(params, t)),
            _ => Box::new(TwinCredit::new(params, t)),
        },
        to_the_letter: false,
    };
    both.difference(script)
}

fn agree(version: &str, seeds: core::ops::Range<u64>) {
    for seed in seeds {
        let params = random_params(version, seed);
        if let Some(text) = difference(&random::script(seed), &params) {
            panic!("credit {version}, seed {seed}: {text}");
        }
    }
}

fn agree_on_hand_written(version: &str) {
    for script in library::scripts() {
        if let Some(text) = difference(&script, &params(version)) {
            panic!("credit {version}, script \"{}\": {text}", script.name);
        }
    }
}

#[test]
fn on_hand_written_scripts() {
    for version in EPOCHS.into_iter().chain(BETWEEN) {
        agree_on_hand_written(version);
    }
}

#[test]
fn the_first_3_0_3() {
    agree("3.0.3", 0..SEEDS);
}

#[test]
fn epoch_a_3_1() {
    agree("3.1", 0..SEEDS);
}

#[test]
fn epoch_b_3_4() {
    agree("3.4", 0..SEEDS);
}

#[test]
fn epoch_b_4_0() {
    agree("4.0", 0..SEEDS);
}

#[test]
fn epoch_c_4_17() {
    agree("4.17", 0..SEEDS);
}

#[test]
fn between_the_epochs() {
    for version in BETWEEN {
        agree(version, 0..SEEDS_BETWEEN);
    }
}

#[test]
#[ignore = "takes minutes: run it after a change of credit"]
fn on_thousands_of_scripts() {
    for version in EPOCHS.into_iter().chain(BETWEEN) {
        agree(version, 10_000..11_000);
    }
}
