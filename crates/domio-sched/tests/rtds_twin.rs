//! RTDS decides as its slow twin does: equal boundary logs on hand-written and random scripts, for
//! the defaults and for random reservations.

mod twin_rtds;

use core::fmt::Write;
use domio_core::{ParamValues, Topology};
use domio_sched::conformance::rng::Rng;
use domio_sched::conformance::{
    Intervention, Occurrence, PolicyCall, Run, Script, host, library, random,
};
use domio_sched::{Scheduler, find};
use twin_rtds::TwinRtds;

/// Random scripts. The twin is slow, and the thousands of the long test found nothing that these do
/// not.
const SEEDS: u64 = 210;

/// A run, without what has no effect: stopping a timer that is not set.
fn run(script: &Script, make: impl Fn(&Topology) -> Box<dyn Scheduler>) -> Run {
    let mut run = host::run(script, make(&script.topology)).expect("a sound script");
    let mut set = Vec::new();
    run.log.retain(|entry| match entry.what {
        Occurrence::Timer(pcpu, slot, at) => {
            let was_set = set.contains(&(pcpu, slot));
            set.retain(|s| *s != (pcpu, slot));
            if at.is_some() {
                set.push((pcpu, slot));
            }
            was_set || at.is_some()
        }
        Occurrence::Call(PolicyCall::Timer(pcpu, slot)) => {
            set.retain(|s| *s != (pcpu, slot));
            true
        }
        _ => true,
    });
    run
}

/// Runs both; `None` when they agree, else a report for people.
fn difference(script: &Script) -> Option<String> {
    let rtds = find("rtds").expect("rtds is in the registry");
    let params = ParamValues::defaults(rtds.descriptor.params);
    let one = run(script, |t| (rtds.make)(&params, t));
    let two = run(script, |_| Box::new(TwinRtds::default()));
    let i = one.first_difference(&two)?;
    let mut text = format!("they differ at entry {i}:\n");
    for entry in &one.log[i.saturating_sub(40)..i] {
        writeln!(text, "{entry}").unwrap();
    }
    for (who, run) in [("rtds", &one), ("twin", &two)] {
        for entry in run.log.iter().skip(i).take(4) {
            writeln!(text, "{who}: {entry}").unwrap();
        }
    }
    Some(text)
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
