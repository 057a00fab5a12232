//! Who competes for processors, and who starves.

use crate::cast::{fed, first, names};
use domio_core::{DomainId, Duration, Instant, PcpuId, Record, Runstate};
use domio_meter::{Meter, Summary};
use serde_json::json;

use Runstate::{Blocked, Offline, Runnable, Running};

/// A second of the vcpus in `lives`: domain, and runstates with the milliseconds that each lasts.
fn summary(lives: &[(u16, &[(Runstate, u64)])]) -> Summary {
    let mut records = Vec::new();
    for (i, (domain, life)) in lives.iter().enumerate() {
        let pcpu = PcpuId(i as u16);
        let vcpu = first(*domain);
        let mut ms = 0;
        let mut before = life[0].0;
        for (state, lasts) in *life {
            let at = Instant::ZERO + Duration::from_millis(ms);
            records.push(Record::runstate(at, pcpu, vcpu, before, *state));
            (before, ms) = (*state, ms + lasts);
        }
        assert_eq!(ms, 1000);
        let end = Instant::ZERO + Duration::from_secs(1);
        records.push(Record::runstate(end, pcpu, vcpu, before, before));
    }
    records.sort_by_key(|r| r.at);
    fed(Meter::new(), &names(), &records).finish()
}

#[test]
fn who_hardly_sleeps_competes() {
    let summary = summary(&[
        // The control domain works for the others.
        (0, &[(Running, 1000)]),
        (1, &[(Running, 500), (Runnable, 500)]),
        (2, &[(Running, 300), (Offline, 700)]),
        (3, &[(Running, 800), (Blocked, 200)]),
        (4, &[(Blocked, 1000)]),
        (5, &[(Runnable, 950), (Blocked, 50)]),
        (32767, &[(Running, 1000)]),
    ]);
    assert_eq!(summary.competing(), [1, 2, 5].map(DomainId));
    let json = json!(summary.answer(|_| None, 1_000_000_000, false));
    assert_eq!(json["jain_over"], json!([1, 2, 5]));
    // 50, 30 and 0 % of a second.
    let expected = 80.0 * 80.0 / (3.0 * (50.0 * 50.0 + 30.0 * 30.0));
    assert!(
        (json["jain"].as_f64().unwrap() - expected).abs() < 1e-9,
        "{json:?}"
    );
}

#[test]
fn one_alone_competes_with_nobody() {
    let summary = summary(&[(1, &[(Running, 1000)]), (2, &[(Blocked, 1000)])]);
    let json = json!(summary.answer(|_| None, 1_000_000_000, false));
    assert_eq!(json["jain"], json!(null));
    assert_eq!(json["jain_over"], json!([1]));
}

#[test]
fn who_waits_and_never_runs_starves() {
    let summary = summary(&[
        (1, &[(Runnable, 1000)]),
        (2, &[(Blocked, 990), (Runnable, 10)]),
        (3, &[(Runnable, 990), (Running, 10)]),
        (4, &[(Blocked, 1000)]),
    ]);
    let starved = summary.domains.iter().filter(|d| d.starved().count() > 0);
    let starved: Vec<u16> = starved.map(|d| d.id.0).collect();
    assert_eq!(starved, [1, 2]);
}
