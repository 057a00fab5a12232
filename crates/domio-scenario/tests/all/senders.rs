//! What sending costs a guest, and when a sender of datagrams sends.

use crate::told::{executed_us, ran, run};
use domio_core::Duration;
use domio_net::class::NetPlace::{DriverOut, TxRing};
use domio_scenario::{NoReplay, Scenario};

/// A guest that sends 1,000 datagrams a second.
fn text(more: &str) -> String {
    format!(
        r#"
        run.duration_s = 2
        host.profile = "opteron-242"
        scheduler.policy = "credit"
        [network]
        {more}
        [[domain]]
        name = "Domain-0"
        [[domain]]
        name = "sends"
          [[domain.task]]
          workload = "udp"
          direction = "out"
          begin_s = 0
          pps = 1000
          wake_ms = 10
        "#
    )
}

/// How long the guest executes in 2 s, in us.
fn executed(costs: &str) -> u64 {
    let scenario = Scenario::parse("s", text(costs).as_bytes(), domio_sched::policies());
    let built = scenario.unwrap().build(&NoReplay).unwrap();
    executed_us(&ran(&built, Duration::from_secs(2)), 1)
}

/// 2,000 datagrams in 2 s, each 20 us dearer.
#[test]
fn a_guest_pays_for_each_packet_with_data_that_it_sends() {
    let [free, dear] = ["0", "20"].map(|us| executed(&format!("costs.stack_send_us = {us}")));
    let more = dear - free;
    assert!((39_000..=41_000).contains(&more), "{more} us");
}

/// Who is late is late with all ten, and no later than the jitter.
#[test]
fn a_sender_with_jitter_sends_what_is_due_together() {
    let late = text("").replacen("wake_ms = 10", "wake_ms = 10\njitter_ms = 4", 1);
    let of = |text: &str| -> Vec<u64> {
        let records = run(text);
        let sent = records
            .iter()
            .filter(|r| r.places() == Some((TxRing, DriverOut)));
        sent.map(|r| r.at.as_nanos() / 1_000).collect()
    };
    let (exact, late) = (of(&text("")), of(&late));
    let by: Vec<u64> = exact.iter().zip(&late).map(|(e, l)| l - e).collect();
    assert!(by.len() > 1_900);
    assert!(by.iter().all(|us| *us < 4_100), "{by:?}");
    let after = by.iter().filter(|us| **us > 2_000).count() as f64 / by.len() as f64;
    assert!((0.35..0.65).contains(&after), "{after}");
}

/// Ten fall due between two wake-ups, and go together.
#[test]
fn a_sender_that_wakes_every_10_ms_sends_ten_datagrams_at_a_time() {
    let records = run(&text(""));
    let sent = records
        .iter()
        .filter(|r| r.places() == Some((TxRing, DriverOut)));
    let mut ticks: Vec<u64> = sent.map(|r| r.at.as_nanos() / 10_000_000).collect();
    ticks.dedup_by_key(|tick| *tick);
    let all = records
        .iter()
        .filter(|r| r.places() == Some((TxRing, DriverOut)));
    let per_tick = all.count() as f64 / ticks.len() as f64;
    assert!((9.5..=10.5).contains(&per_tick), "{per_tick} a tick");
}
