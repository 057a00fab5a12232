//! The conformance suite of elevators: those of the registry pass, and each broken one is caught.

mod broken;

use domio_blk::conformance::{CHECKERS, check};
use domio_blk::elevator::elevators;

#[test]
fn names_of_checkers_are_unique_and_in_kebab_case() {
    assert_eq!(domio_suite::misnamed(CHECKERS), [""; 0]);
}

#[test]
fn every_elevator_of_the_registry_passes() {
    for elevator in elevators() {
        let report = check(elevator, 0..80);
        assert!(report.is_clean(), "{report}");
        assert!(report.subjects > 85);
    }
}

#[test]
fn every_broken_elevator_is_caught_by_its_checker() {
    for broken in broken::ALL {
        let report = check(&broken.info, 0..20);
        let mut caught = report.checkers();
        let name = broken.info.name;
        assert!(caught.any(|c| c == broken.caught_by), "{name}: {report}");
    }
}

#[test]
fn what_the_broken_ones_are_made_from_passes() {
    let report = check(&broken::SOUND, 0..20);
    assert!(report.is_clean(), "{report}");
}
