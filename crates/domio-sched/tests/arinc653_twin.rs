//! ARINC 653 decides as its slow twin does: equal boundary logs on hand-written and random scripts,
//! for the defaults and for random tables that change.

mod beside;
mod twin_arinc653;

use beside::Beside;
use domio_core::{Duration, ParamValues};
use domio_sched::conformance::rng::Rng;
use domio_sched::conformance::{Intervention, Script, library, random};
use domio_sched::find;
use twin_arinc653::{CELL, TwinArinc653};

/// Random scripts.
const SEEDS: u64 = 210;

/// Lengths of the major frame that the random scripts have, in us.
const FRAMES: [i64; 4] = [0, 0, 60_000, 120_000];

/// Runs both; `None` when they agree, else a report for people.
fn difference(script: &Script, major_frame_us: i64) -> Option<String> {
    let arinc653 = find("arinc653").expect("arinc653 is in the registry");
    let mut params = ParamValues::defaults(arinc653.descriptor.params);
    params
        .set("major_frame_us", major_frame_us)
        .expect("in range");
    let both = Beside {
        name: "arinc653",
        policy: &|t| (arinc653.make)(&params, t),
        twin: &|_| Box::new(TwinArinc653::new(&params)),
        to_the_letter: true,
    };
    both.difference(script)
}

/// The random script of `seed`, where domains ask for places at random and change that while they
/// run.
fn script(seed: u64) -> Script {
    let mut script = random::script(seed);
    if seed.is_multiple_of(3) {
        return script;
    }
    let mut rng = Rng::new(seed);
    let cell = (CELL / 1_000) as i64;
    let mut place = || {
        let mut values = vec![("runtime_us", cell * *rng.pick(&[0, 1, 3, 8, 20]))];
        if rng.one_in(3) {
            values.push(("offset_us", cell * *rng.pick(&[0, 10, 30, 77])));
        }
        if rng.one_in(3) {
            values.push(("every_us", *rng.pick(&[15_000, 20_000, 60_000, 7_000])));
        }
        values
    };
    for domain in &mut script.domains {
        domain.params.extend(place());
    }
    let ids: Vec<_> = script.domains.iter().map(|d| d.id).collect();
    let middle = script.end.as_nanos() / 2;
    for id in ids {
        let at = Duration::from_nanos(middle + u64::from(id.0) * 1_000_000);
        for (name, value) in place() {
            script.at(at, Intervention::Set(id, name, value));
        }
    }
    for (n, frame) in [80_000, 20_000, 0].into_iter().enumerate() {
        let at = Duration::from_nanos(middle / 2 + n as u64 * 333_000);
        script.at(at, Intervention::SetPolicy("major_frame_us", frame));
    }
    script
}

fn agree(seeds: core::ops::Range<u64>) {
    for seed in seeds {
        let frame = FRAMES[(seed % 4) as usize];
        if let Some(text) = difference(&script(seed), frame) {
            panic!("arinc653, seed {seed}: {text}");
        }
    }
}

#[test]
fn hand_written_scripts() {
    for script in library::scripts() {
        if let Some(text) = difference(&script, 0) {
            panic!("arinc653, script \"{}\": {text}", script.name);
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
    agree(1_000..5_000);
}
