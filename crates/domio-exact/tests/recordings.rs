//! Simulations that make the decisions which were recorded on a real Xen 4.17
//! (`testdata/xen-traces`).
//!
//! The dispatches of one recording are followed to the last; `cargo xtask nightly` does so with the
//! others.

use domio_exact::SearchSettings;
use domio_validate::{Agreement, Judgement, Recording, shipped};

/// In which figures an agreement differs, each after the name of its domain.
fn differences(agreement: &Agreement) -> Vec<String> {
    let domains = agreement.domains.iter();
    let named = domains.flat_map(|d| d.differs_in.iter().map(|f| format!("{} {f}", d.name)));
    named.collect()
}

fn exact(recording: &Recording, tries: u32) -> Agreement {
    let settings = SearchSettings {
        tries,
        ..SearchSettings::default()
    };
    domio_exact::agreement(recording, &settings).unwrap()
}

fn makes_every_dispatch(name: &str, tries: u32) {
    let agreement = exact(&shipped::recording(name).unwrap(), tries);
    let followed = agreement.exact.0.as_ref().unwrap();
    assert_eq!(
        followed.dispatches, followed.of,
        "every dispatch, in order and time: {:?}",
        followed.parts.0
    );
    assert_eq!(followed.parts.0, None);
    assert_eq!(differences(&agreement), [""; 0]);
}

#[test]
#[ignore = "searches for seconds to minutes; cargo xtask nightly runs it"]
fn a_cap_of_30_makes_every_recorded_dispatch() {
    makes_every_dispatch("c1-cap30", 100_000);
}

#[test]
fn weights_1_2_4_makes_every_recorded_dispatch() {
    makes_every_dispatch("c1-weights-1-2-4", 60_000);
}

#[test]
#[ignore = "searches for seconds to minutes; cargo xtask nightly runs it"]
fn a_guest_that_wakes_among_burning_ones_makes_every_recorded_dispatch() {
    makes_every_dispatch("c1-burn7-periodic", 300_000);
}

#[test]
#[ignore = "searches for seconds to minutes; cargo xtask nightly runs it"]
fn seven_burning_guests_make_every_recorded_dispatch() {
    makes_every_dispatch("c1-burn7", 100_000);
}

/// A search that explains little says where the simulation parts.
#[test]
fn a_wrong_description_parts_early() {
    let mut recording = shipped::recording("c1-weights-1-2-4").unwrap();
    recording.description.domains[1].weight = 1024;
    let agreement = exact(&recording, 200);
    assert_eq!(agreement.verdict, Judgement::Differs);
    assert!(differences(&agreement).contains(&"g1 share".to_owned()));
    let followed = agreement.exact.0.unwrap();
    assert!(followed.dispatches < followed.of / 2, "{followed:?}");
    let parts = followed.parts.0.expect("it parts");
    assert!(parts.at_s < 10.0, "{parts:?}");
}

#[test]
fn credit2_has_no_search_for_start_states() {
    let recording = shipped::recording("c2-cap30").unwrap();
    let refused = domio_exact::agreement(&recording, &SearchSettings::default()).unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("c2-cap30") && said.contains("leave --exact out"),
        "{said}"
    );
}
