//! Agreement with traces recorded on a real Xen 4.17 (`testdata/xen-traces`).
//!
//! Goal: the simulated host does what the recorded one did. Method: `Agreement` simulates each
//! recording from its start state and compares shares, run lengths, latencies and switch rates by
//! the published limits.

use domio_twin::exact::Settings;
use domio_twin::{Agreement, Recording};
use std::path::Path;

fn check(name: &str, tries: u32) -> Agreement {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/xen-traces")
        .join(name);
    let recording = Recording::load(&folder).unwrap();
    let settings = Settings {
        tries,
        ..Settings::default()
    };
    Agreement::check_with(&recording, &settings).unwrap()
}

fn differences(agreement: &Agreement) -> Vec<String> {
    agreement
        .domains
        .iter()
        .flat_map(|d| {
            d.differs_in
                .iter()
                .map(move |what| format!("{} {what}", d.name))
        })
        .collect()
}

fn makes_every_dispatch(name: &str, tries: u32) {
    let agreement = check(name, tries);
    assert_eq!(
        agreement.matched.0, agreement.matched.1,
        "every dispatch, in order and time"
    );
    assert_eq!(differences(&agreement), [""; 0]);
}

#[test]
fn weights_1_2_4_makes_every_recorded_dispatch() {
    makes_every_dispatch("c1-weights-1-2-4", 60_000);
}

#[test]
fn a_cap_of_30_makes_every_recorded_dispatch() {
    makes_every_dispatch("c1-cap30", 100_000);
}

#[test]
fn a_guest_that_wakes_among_burning_ones_makes_every_recorded_dispatch() {
    makes_every_dispatch("c1-burn7-periodic", 300_000);
}

#[test]
fn seven_burning_guests_make_every_recorded_dispatch() {
    makes_every_dispatch("c1-burn7", 100_000);
}

/// The checks can fail: a recording whose description is wrong does not agree.
#[test]
fn a_wrong_description_does_not_agree() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces/c1-weights-1-2-4");
    let mut recording = Recording::load(&folder).unwrap();
    recording.description.domains[1].weight = 1024;
    let settings = Settings {
        tries: 200,
        ..Settings::default()
    };
    let agreement = Agreement::check_with(&recording, &settings).unwrap();
    assert!(!agreement.agrees);
    assert!(differences(&agreement).contains(&"g1 share".to_owned()));
}
