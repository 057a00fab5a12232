//! Elevators of which there is no recording, against slow and obvious twins: the same log, to the
//! entry, under every history of the conformance suite.
//!
//! A twin keeps what waits in one list, looks through all of it for each choice, and shares no code
//! with its elevator.

mod bfq;
mod kyber;
mod lease;
mod mq_deadline;
mod none;

use domio_blk::conformance::{IoHistory, history, run};
use domio_blk::elevator::{Elevator, ElevatorInfo, Jiffies, Tuning, find_elevator};

/// The histories: hand-written ones and many random ones.
fn histories() -> impl Iterator<Item = IoHistory> {
    history::library()
        .into_iter()
        .chain((1000..1300).map(history::random))
}

/// Whether a copy of the elevator called `name` ever does something else.
fn parts(name: &str, make: fn(&Tuning, Jiffies) -> Box<dyn Elevator>) -> bool {
    let elevator = find_elevator(name).unwrap();
    let copy = ElevatorInfo { make, ..*elevator };
    histories().any(|history| run(elevator, &history) != run(&copy, &history))
}

/// Holds the elevator called `name` against a twin.
fn same(name: &str, make: fn(&Tuning, Jiffies) -> Box<dyn Elevator>) {
    let elevator = find_elevator(name).unwrap();
    let twin = ElevatorInfo { make, ..*elevator };
    let mut started = 0;
    for (i, history) in histories().enumerate() {
        let (ours, theirs) = (run(elevator, &history), run(&twin, &history));
        let mut both = ours.log.iter().zip(&theirs.log);
        let differs = both.position(|(a, b)| a != b);
        if let Some(at) = differs {
            let from = at.saturating_sub(12);
            let tail: Vec<_> = ours.log[from..at]
                .iter()
                .map(|e| format!("{e:?}\n"))
                .collect();
            let (a, b) = (&ours.log[at], &theirs.log[at]);
            panic!(
                "{name}, history {i}, entry {at}:\n{}{a:?}\ntwin: {b:?}",
                tail.concat()
            );
        }
        assert_eq!(ours, theirs, "{name}, history {i}");
        started += ours.log.len();
    }
    assert!(started > 100_000, "{started}");
}

#[test]
fn none_is_its_twin() {
    same("none", none::make);
}

#[test]
fn mq_deadline_is_its_twin() {
    same("mq-deadline", mq_deadline::make);
}

#[test]
fn kyber_is_its_twin() {
    same("kyber", kyber::make);
}

#[test]
fn bfq_is_its_twin() {
    same("bfq", bfq::make);
}

#[test]
fn lease_is_its_twin() {
    same("lease", lease::make);
}

#[test]
fn copies_with_a_mistake_are_noticed() {
    assert!(parts("bfq", bfq::broken));
    assert!(parts("lease", lease::broken));
}
