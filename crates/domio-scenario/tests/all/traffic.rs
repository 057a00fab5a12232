//! Network workloads: what they do when they run.

use crate::network::change;
use crate::told::{Told, run};
use domio_core::{Instant, Kind};
use domio_net::class::NetRecord;

/// Megabits a second that `domain` was delivered within a run of 2 s.
pub fn mbps(records: &[Told], domain: u16) -> f64 {
    let delivered = |r: &&Told| r.is_net(NetRecord::Delivered as u8) && r.is_of(domain);
    let bytes = records.iter().filter(delivered).map(|r| r.value("bytes"));
    bytes.sum::<u64>() as f64 * 8.0 / 2.0 / 1e6
}

#[test]
fn a_free_host_fills_its_line_both_ways() {
    for (rate, direction, goodput) in [
        ("1G", "in", 941.4),
        ("1G", "out", 941.4),
        ("100M", "in", 94.14),
        ("100M", "out", 94.14),
    ] {
        let text = change("queue = 1000", &format!("rate = \"{rate}\""));
        let way = format!("\"stream\"\nbegin_s = 0\ndirection = \"{direction}\"");
        let text = text.replacen("\"stream\"", &way, 1);
        let got = mbps(&run(&text), 1);
        assert!(
            (got / goodput - 1.0).abs() < 0.01,
            "{rate} {direction}: {got}"
        );
    }
}

#[test]
fn a_limit_holds_for_what_the_guest_sends_alone() {
    let send = "\"udp\"\nbegin_s = 0\npps = 2500\nbytes = 1000\ndirection = \"out\"\n\
                vif.rate = \"10Mb/s\"";
    let sent = mbps(&run(&change("\"stream\"", send)), 1);
    assert!((9.0..10.0).contains(&sent), "{sent}");
    let receive = send.replace("\"out\"", "\"in\"");
    let received = mbps(&run(&change("\"stream\"", &receive)), 1);
    assert!((19.9..20.1).contains(&received), "{received}");
}

#[test]
fn guests_come_and_go_while_packets_are_under_way() {
    let text = change("cores = 2", "profile = \"opteron-242\"\nxen = \"3.1\"");
    let short = "name = \"web\"\ncount = 4\nstart_ms = 100\nstop_ms = 600";
    let text = text.replacen("name = \"web\"", short, 1);
    let records = run(&text);
    let delivered = records
        .iter()
        .filter(|r| r.is_net(NetRecord::Delivered as u8));
    let last = delivered.map(|r| r.at).max().expect("something arrived");
    let (from, to) = (
        Instant::from_nanos(500_000_000),
        Instant::from_nanos(600_000_000),
    );
    assert!(from < last && last <= to, "{last}");
    for way in ["\"out\"", "\"in\""] {
        let udp = format!("\"udp\"\npps = 50000\ndirection = {way}");
        run(&text.replacen("\"stream\"", &udp, 1));
    }
}

#[test]
fn a_thousand_guests_come_up_at_once() {
    let text = change("cores = 2", "cores = 1");
    let text = text.replacen(
        "name = \"web\"",
        "name = \"web\"\ncount = 1000\nvif = {}",
        1,
    );
    let text = text.replacen("workload = \"stream\"", "", 1);
    let waking = |r: &&Told| r.is(Kind::Wake) && r.at == Instant::ZERO;
    assert!(run(&text).iter().filter(waking).count() >= 1_000);
}

#[test]
fn a_guest_that_burns_answers_too() {
    let both = "\n[[domain.task]]\nworkload = \"burn\"\n[[domain.task]]\nworkload = \"ping\"";
    let records = run(&change("workload = \"stream\"", both));
    let replies = records.iter().filter(|r| r.is_net(NetRecord::Reply as u8));
    assert!(replies.count() > 1_000);
}
