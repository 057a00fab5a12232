//! Recorded networks (`testdata/net-traces`): a real Xen 4.17 with netback and netfront of Linux
//! 6.1.
//!
//! Goal: what is recorded and what is simulated are brought side by side, flows included. Method:
//! two short recordings, and descriptions that are wrong.

use domio_validate::{Agreement, Compared, Judgement, Recording, RecordingError};
use std::fs::File;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/net-traces")
        .join(name)
}

fn recording(name: &str) -> Recording {
    Recording::load(&folder(name), &|path| Ok(Box::new(File::open(path)?))).expect(name)
}

/// Figure `figure` of domain `domain`.
#[track_caller]
fn figure(agreement: &Agreement, domain: u16, figure: &str) -> Compared {
    let domain = agreement
        .domains
        .iter()
        .find(|d| d.id.0 == domain)
        .expect("a domain");
    let found = domain.figures.iter().find(|f| f.figure == figure);
    found
        .unwrap_or_else(|| panic!("{} has no {figure}", domain.name))
        .compared
}

#[test]
fn a_stream_has_the_recorded_throughput() {
    let agreement = Agreement::check(&recording("net-c1-rx")).unwrap();
    let throughput = figure(&agreement, 1, "flow0.mbyte_per_s");
    assert_eq!(throughput.verdict, Judgement::Agrees, "{throughput:?}");
    assert_eq!(throughput.recorded, Some(222.249));
    // Shares are of the trace, and of the window of truth.json alone.
    let share = figure(&agreement, 0, "share");
    let recorded = share.recorded.expect("dom0 ran");
    assert!((recorded - 54.9).abs() < 0.1, "{share:?}");
    let batches = figure(&agreement, 1, "packets_per_interrupt");
    assert!((batches.recorded.expect("counted") - 3.497).abs() < 0.001);
}

#[test]
fn round_trips_are_beside_those_of_pings() {
    let agreement = Agreement::check(&recording("net-c1-ping")).unwrap();
    let trip = figure(&agreement, 1, "flow0.rtt_us.p50");
    assert_eq!(trip.recorded, Some(120.0));
    let simulated = trip.simulated.expect("pings come back");
    assert!((100.0..140.0).contains(&simulated), "{trip:?}");
    assert_eq!(agreement.simulations, 8);
}

/// Half the speed of the recorded one, or twice the packets.
#[test]
fn what_was_not_asked_for_is_noticed() {
    let mut other = recording("net-c1-rx");
    let network = other.description.network.as_mut().expect("a network");
    network.vif.gso_tcpv4 = "off".into();
    let agreement = Agreement::check(&other).unwrap();
    let throughput = figure(&agreement, 1, "flow0.mbyte_per_s");
    assert_eq!(throughput.verdict, Judgement::Differs, "{throughput:?}");
}

#[test]
fn a_description_that_cannot_be_simulated_is_refused() {
    let refused = |change: fn(&mut Recording)| {
        let mut recording = recording("net-c1-ping");
        change(&mut recording);
        match Agreement::check(&recording) {
            Err(RecordingError::Unusable { problem, .. }) => problem,
            other => panic!("{other:?}"),
        }
    };
    let unknown = refused(|r| {
        r.description.network.as_mut().expect("a network").flows[0].dst = "n9".to_owned();
    });
    assert!(unknown.contains("n9"), "{unknown}");
    let flips = refused(|r| {
        r.description.network.as_mut().expect("a network").vif.rx = "flip".to_owned();
    });
    assert!(flips.contains("flip"), "{flips}");
    let outside = refused(|r| r.truth.as_mut().expect("a truth").sched.window_tsc = [1, 2]);
    assert!(outside.contains("window_tsc"), "{outside}");
}

#[test]
fn an_emulated_counter_is_a_remark() {
    let mut emulated = recording("net-c1-ping");
    let native = Agreement::check(&emulated).unwrap();
    emulated.description.guest_tsc_mode = Some("default (emulated, RDTSC traps)".to_owned());
    let agreement = Agreement::check(&emulated).unwrap();
    assert_eq!(agreement.remarks.len(), native.remarks.len() + 1);
    assert!(agreement.remarks.iter().any(|r| r.contains("RDTSC traps")));
}
