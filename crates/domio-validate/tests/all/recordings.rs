//! Agreement with traces recorded on a real Xen 4.17 in an emulated machine
//! (`testdata/xen-traces`).
//!
//! Goal: the simulated host does what the recorded one did. Method: `Agreement::check` simulates
//! each recording from an ensemble of start states and judges the recorded figures by it. Wrong
//! descriptions and wrong rules have to be noticed.

use crate::faults::{Fault, are_noticed, differences, param};
use domio_validate::linux::described::DescribedLinux;
use domio_validate::{Agreement, Judgement, shipped};

#[test]
fn every_shipped_recording_agrees() {
    for name in shipped::names() {
        let agreement = Agreement::check(&shipped::recording(name).unwrap()).unwrap();
        assert_eq!(differences(&agreement), [""; 0], "{name}");
        assert!(
            agreement.verdict == Judgement::Agrees && agreement.simulations >= 40,
            "{name}"
        );
        assert_eq!(agreement.domains.len(), agreement_domains(name), "{name}");
    }
}

fn agreement_domains(name: &str) -> usize {
    let recording = shipped::recording(name).unwrap();
    let threads = |linux: &DescribedLinux| linux.vms.iter().map(|vm| vm.threads.len()).sum();
    let of_linux = recording.linux.as_ref().map(threads);
    of_linux.unwrap_or(recording.description.domains.len())
}

const FAULTS: &[Fault] = &[
    Fault {
        what: "whoever wakes is not boosted",
        plant: |d| param(d, "boost", 0),
        noticed: &[
            ("c1-burn7", "Domain-0 wake_to_run_us.p50"),
            ("c1-burn7-periodic", "Domain-0 wake_to_run_us.p95"),
            ("c1-cap30", "Domain-0 wake_to_run_us.p95"),
            ("c1-weights-1-2-4", "Domain-0 switches_per_s"),
        ],
    },
    Fault {
        what: "a wake-up preempts nobody",
        plant: |d| param(d, "tickle", 0),
        noticed: &[
            ("c1-burn7", "Domain-0 wake_to_run_us.p50"),
            ("c1-burn7-periodic", "p switches_per_s"),
            ("c1-weights-1-2-4", "Domain-0 wake_to_run_us.p50"),
        ],
    },
    Fault {
        what: "slices of 10 ms instead of 30",
        plant: |d| param(d, "tslice_ms", 10),
        noticed: &[
            ("c1-burn7", "g1 run_us.p95"),
            ("c1-cap30", "g1 switches_per_s"),
            ("c1-weights-1-2-4", "g3 switches_per_s"),
        ],
    },
    Fault {
        what: "slices of 25 ms instead of 30",
        plant: |d| param(d, "tslice_ms", 25),
        noticed: &[("c1-burn7", "g1 run_us.p95")],
    },
    Fault {
        what: "slices of 40 ms instead of 30",
        plant: |d| param(d, "tslice_ms", 40),
        noticed: &[
            ("c1-burn7", "g1 run_us.p95"),
            ("c1-weights-1-2-4", "g1 run_us.p95"),
        ],
    },
    Fault {
        what: "no rate limit",
        plant: |d| param(d, "ratelimit_us", 0),
        noticed: &[
            ("c1-burn7", "Domain-0 wake_to_run_us.p95"),
            ("c1-burn7-periodic", "p wake_to_run_us.p95"),
            ("c1-weights-1-2-4", "Domain-0 wake_to_run_us.p95"),
        ],
    },
    Fault {
        what: "a rate limit of 5 ms instead of 1",
        plant: |d| param(d, "ratelimit_us", 5_000),
        noticed: &[
            ("c1-burn7", "Domain-0 wake_to_run_us.p95"),
            ("c1-burn7-periodic", "p wake_to_run_us.p50"),
            ("c1-weights-1-2-4", "Domain-0 wake_to_run_us.p50"),
        ],
    },
    Fault {
        what: "the last domain has three quarters of its weight",
        plant: |d| d.domains.last_mut().unwrap().weight = 768,
        noticed: &[("c1-weights-1-2-4", "g3 share")],
    },
    Fault {
        what: "the first guest has an eighth more weight",
        plant: |d| d.domains[1].weight += d.domains[1].weight / 8,
        noticed: &[("c1-weights-1-2-4", "g1 share")],
    },
    Fault {
        what: "a cap of 33 instead of 30",
        plant: |d| d.domains[1].cap = 33,
        noticed: &[("c1-cap30", "g1 share")],
    },
    Fault {
        what: "no cap",
        plant: |d| d.domains[1].cap = 0,
        noticed: &[("c1-cap30", "g1 share"), ("c1-cap30", "g1 run_us.p50")],
    },
];

/// The judgement has teeth: what is wrong in one thing does not agree with what was recorded.
#[test]
fn what_is_wrong_in_one_thing_differs() {
    are_noticed(FAULTS);
}

/// Half of what somebody did, or twice as much, is noticed too: the demand is part of the
/// simulation.
#[test]
fn another_recording_of_the_same_guests_differs() {
    let mut recording = shipped::recording("c1-burn7").unwrap();
    let other = shipped::recording("c1-burn7-periodic").unwrap();
    // As if p, which has the first guest's number there, were one that computes.
    let names: Vec<_> = recording.description.domains.drain(..).collect();
    recording.description.domains = other.description.domains.clone();
    recording.description.domains[1].workload = names[1].workload;
    recording.records = other.records;
    let agreement = Agreement::check(&recording).unwrap();
    assert!(differences(&agreement).contains(&"p share".to_owned()));
}
