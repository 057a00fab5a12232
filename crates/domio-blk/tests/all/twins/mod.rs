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

use domio_blk::conformance::{HistoryStep, IoHistory, history, run};
use domio_blk::elevator::{
    Bio, Elevator, ElevatorInfo, IoPrio, IoWay, Jiffies, Submitter, Tuning, elevators,
    find_elevator,
};

/// The histories: hand-written ones, many random ones, and a few long ones.
fn histories() -> impl Iterator<Item = IoHistory> {
    history::library()
        .into_iter()
        .chain((1000..1300).map(history::random))
        .chain((0..6).map(crowd))
}

/// Four guests want more than the device can do for half a minute. Each is away now and then, for a
/// second and longer.
fn crowd(seed: u64) -> IoHistory {
    let mut state = seed;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut steps = Vec::new();
    for step in 0..6000u64 {
        let guest = below(4);
        if step / (300 + 100 * guest) % 3 != 1 {
            let bio = Bio {
                sector: guest * 1000 + below(100) * 8,
                sectors: 8,
                segments: 1,
                way: [IoWay::Read, IoWay::Write][below(2) as usize],
                sync: below(3) == 0,
                meta: false,
                submitter: Submitter(guest as u32),
                prio: IoPrio::None { nice: 0 },
                tag: 0,
            };
            steps.extend([HistoryStep::Submit(vec![bio]), HistoryStep::Unplug]);
        }
        steps.push(HistoryStep::Pass(5000));
    }
    IoHistory {
        name: format!("a crowd, {seed}"),
        hz: [100, 250, 1000][seed as usize % 3],
        depth: 1 + seed as u32 * 3,
        requests: 128,
        sectors: 64,
        rotational: true,
        service_us: Some(6000),
        steps,
    }
}

/// Whether a copy of the elevator called `name` ever does something else.
fn parts(name: &str, make: fn(&Tuning, Jiffies) -> Box<dyn Elevator>) -> bool {
    let elevator = find_elevator(elevators(), name).unwrap();
    let copy = ElevatorInfo { make, ..*elevator };
    histories().any(|history| run(elevator, &history) != run(&copy, &history))
}

/// Holds the elevator called `name` against a twin.
fn same(name: &str, make: fn(&Tuning, Jiffies) -> Box<dyn Elevator>) {
    let elevator = find_elevator(elevators(), name).unwrap();
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
