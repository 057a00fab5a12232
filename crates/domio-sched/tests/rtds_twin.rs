//! RTDS decides as its slow twin does: equal boundary logs on hand-written and random scripts, for
//! the defaults and for random reservations.

mod beside;
mod twin_rtds;

use beside::Beside;
use domio_core::ParamValues;
use domio_sched::conformance::rng::Rng;
use domio_sched::conformance::{Intervention, Script, library, random};
use domio_sched::find;
use twin_rtds::TwinRtds;

/// Random scripts. The twin is slow, and the thousands of the long test found nothing that these do
/// not.
const SEEDS: u64 = 210;

/// Runs both; `None` when they agree, else a report for people.
fn difference(script: &Script) -> Option<String> {
    let rtds = find("rtds").expect("rtds is in the registry");
    let params = ParamValues::defaults(rtds.descriptor.params);
    let both = Beside {
        name: "rtds",
        policy: &|t| (rtds.make)(&params, t),
        twin: &|_| Box::new(TwinRtds::default()),
        to_the_letter: false,
    };
    both.difference(script)
}

/// The random script of `seed`, where domains reserve at random and change that while they run.
fn script(seed: u64) -> Script {
    let mut script = random::script(seed);
    if seed.is_multiple_of(3) {
        return script;
    }
    let mut rng = Rng::new(seed);
    let mut reservation = || {
        let period = *rng.pick(&[1_000, 3_000, 10_000, 10_000, 50_000]);
        let budget = *rng.pick(&[period / 10, period / 4, period / 2, period]);
        let extratime = i64::from(!rng.one_in(2));
        let values = [("period_us", period), ("budget_us", budget)];
        [values[0], values[1], ("extratime", extratime)]
    };
    for domain in &mut script.domains {
        domain.params.extend(reservation());
    }
    let ids: Vec<_> = script.domains.iter().map(|d| d.id).collect();
    for id in ids {
        let middle = script.end.as_nanos() / 2 + u64::from(id.0) * 1_000_000;
        for (name, value) in reservation() {
            let action = Intervention::Set(id, name, value);
            script.at(domio_core::Duration::from_nanos(middle), action);
        }
    }
    script
}

fn agree(seeds: core::ops::Range<u64>) {
    for seed in seeds {
        if let Some(text) = difference(&script(seed)) {
            panic!("rtds, seed {seed}: {text}");
        }
    }
}

#[test]
fn hand_written_scripts() {
    for script in library::scripts() {
        if let Some(text) = difference(&script) {
            panic!("rtds, script \"{}\": {text}", script.name);
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
