//! What ShareGuard promises, on random hosts: policies, processors, driver domains, traffic and
//! limits.

use crate::guard::{Look, looks};
use domio_contract::control::Traffic;
use domio_control::conformance::rng::Rng;
use domio_core::{DomainId, Duration};

/// A host with guests that have limits; the text of its scenario, and the limits in percent.
struct Random {
    text: String,
    limits: Vec<(DomainId, u64)>,
    graded: bool,
}

/// A random scenario of 3 s. Floods from outside are small enough for the dropping of them to stay
/// below the smallest limit: nobody can spare a driver domain that.
fn random(seed: u64) -> Random {
    let mut rng = Rng::new(seed);
    let policies = [
        "\"credit\"\nversion = \"3.1\"",
        "\"credit\"\nversion = \"4.17\"",
        "\"sedf\"",
        "\"round-robin\"",
    ];
    let form = *rng.pick(&["drop", "hold", "graded"]);
    let two = rng.one_in(3);
    let cores = rng.between(1, 4);
    let policy = rng.pick(&policies);
    let interval = rng.pick(&[50, 100, 200]);
    let mut text = format!(
        "run.duration_s = 3\n[host]\nprofile = \"opteron-242\"\nxen = \"3.1\"\n\
         cores = {cores}\n[scheduler]\npolicy = {policy}\n[[controller]]\nname = \"share-guard\"\n\
         form = \"{form}\"\ninterval_ms = {interval}\n[[network]]\nname = \"lan\"\nnic = \"tg3\"\n"
    );
    if two {
        text += "[[network]]\nname = \"san\"\nnic = \"e1000\"\ndriver = \"storage\"\n";
    }
    text += "[[domain]]\nname = \"Domain-0\"\n";
    let mut id = 1;
    if two {
        text += "[[domain]]\nname = \"storage\"\n";
        id += 1;
    }
    let mut limits = Vec::new();
    for guest in 0..rng.between(2, 4) {
        text += &format!("[[domain]]\nname = \"g{guest}\"\n");
        let network = if two && rng.one_in(2) { "san" } else { "lan" };
        if guest == 0 || rng.one_in(2) {
            let limit = rng.between(4, 15);
            text += &format!("driver_limit_percent = {limit}\n");
            limits.push((DomainId(id), limit));
        }
        id += 1;
        let begin = rng.between(10, 1_500);
        let common = format!("network = \"{network}\"\nbegin_ms = {begin}\n");
        if guest == 0 || rng.one_in(2) {
            let (pps, bytes) = (rng.between(500, 20_000), rng.between(20, 1_400));
            text += &format!(
                "[[domain.task]]\nname = \"out\"\nworkload = \"udp\"\ndirection = \"out\"\n\
                 pps = {pps}\nbytes = {bytes}\n{common}"
            );
        }
        if rng.one_in(2) {
            let (pps, bytes) = (rng.between(500, 12_000), rng.between(20, 1_400));
            text += &format!(
                "[[domain.task]]\nname = \"in\"\nworkload = \"udp\"\npps = {pps}\n\
                 bytes = {bytes}\n{common}"
            );
        }
        if rng.one_in(4) {
            let direction = rng.pick(&["in", "out"]);
            text += &format!(
                "[[domain.task]]\nname = \"tcp\"\nworkload = \"stream\"\n\
                 direction = \"{direction}\"\n{common}"
            );
        }
        if rng.one_in(3) {
            text += "[[domain.task]]\nname = \"burn\"\nworkload = \"burn\"\n";
        }
    }
    Random {
        text,
        limits,
        graded: form == "graded",
    }
}

/// The longest intervals with defences of `guest`: as pairs of first and last observation.
fn defences(looks: &[Look], guest: DomainId) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut begun = None;
    for (i, look) in looks.iter().enumerate() {
        let set = look.set.iter().find(|(id, _)| *id == guest);
        match set {
            Some((_, Traffic::Guarded { .. })) => {
                begun.get_or_insert(i);
            }
            _ => all.extend(begun.take().map(|first| (first, i))),
        }
    }
    all
}

/// For how long `guest` was served in these observations, and how long they are.
fn sum(looks: &[Look], guest: DomainId) -> (Duration, Duration) {
    let sums = looks.iter().map(|l| (l.of(guest).served, l.length()));
    sums.fold((Duration::ZERO, Duration::ZERO), |(a, b), (c, d)| {
        (a + c, b + d)
    })
}

fn holds(seed: u64) -> usize {
    let Random {
        text,
        limits,
        graded,
    } = random(seed);
    let looks = looks(&text, usize::MAX);
    // Before the first observation is over there is no interval.
    let looks = &looks[1..];
    let mut found = 0;
    for (guest, limit) in limits {
        let defences = defences(looks, guest);
        found += defences.len();
        for (first, last) in defences {
            let (served, length) = sum(&looks[first..=last], guest);
            assert!(
                served * 100 <= length * limit,
                "seed {seed}: {guest} was served {served} in {length} of interval and defence, \
                 against {limit} %, from {}\n{text}",
                looks[first].since
            );
            // A ration has no defence of its own length: its windows are those of the stops that
            // would have been.
            let longest = match graded {
                true => length.min(Duration::from_millis(1_000)),
                false => length,
            };
            for begin in 0..looks.len() {
                let mut most = Duration::ZERO;
                let (mut served, mut window) = (Duration::ZERO, Duration::ZERO);
                for look in &looks[begin..] {
                    window += look.length();
                    if window > longest {
                        break;
                    }
                    let part = look.of(guest).served;
                    served += part;
                    most = most.max(part);
                    let over = (served * 100).saturating_sub(longest * limit);
                    assert!(
                        over <= most * 100,
                        "seed {seed}: {guest} was served {served} within {longest} from {} on, \
                         {most} of it in one interval, against {limit} %\n{text}",
                        looks[begin].since
                    );
                }
            }
        }
    }
    found
}

#[test]
fn use_stays_within_the_limit_and_one_interval_s_worth() {
    let found: usize = (0..6).map(holds).sum();
    assert!(found >= 20, "{found} defences");
}

#[test]
#[ignore = "takes minutes; `cargo xtask nightly` runs it"]
fn use_stays_within_the_limit_and_one_interval_s_worth_of_a_hundred_hosts() {
    let found: usize = (0..100).map(holds).sum();
    assert!(found >= 400, "{found} defences");
}

/// After a crash at any time all traffic is free at the second observation, as an interval is then
/// over for certain, whatever was set before.
#[test]
fn a_controller_that_crashes_leaves_traffic_on() {
    let mut guarded = 0;
    for seed in 0..6 {
        let Random { text, limits, .. } = random(seed);
        let crash = Rng::new(seed).between(10, 19) as usize;
        let looks = looks(&text, crash);
        for (guest, _) in limits {
            let before = looks[crash - 1]
                .set
                .iter()
                .any(|(id, traffic)| *id == guest && *traffic != Traffic::Free);
            guarded += usize::from(before);
            for look in &looks[crash + 1..] {
                // A guest without traffic has no interface.
                let set = look.of(guest).set.traffic;
                let free = set.is_none_or(|traffic| traffic == Traffic::Free);
                assert!(free, "seed {seed} at {}: {set:?}", look.now);
            }
        }
    }
    assert!(guarded >= 2, "{guarded} were guarded");
}
