//! When counting packets goes wrong: the estimate of what driver domains do for each guest against
//! what they did, in situations of one cause each. The figures are those of `docs/accounting.md`.

use crate::guard::looks;
use domio_core::{DomainId, Duration};

/// Percent of one pcpu for guests 1 and 2: the truth, the estimate, and the truth for nobody.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Shares {
    exact: [f64; 2],
    packets: [f64; 2],
    nobody: f64,
}

/// A host with Domain-0 on a pcpu of its own, with `network` keys and two guests.
fn shares(network: &str, guests: [&str; 2], weight: u32) -> Shares {
    let [one, two] = guests;
    let measured = |accounting: &str| {
        let text = format!(
            "run.duration_s = 2\n[host]\nprofile = \"opteron-242\"\nxen = \"3.1\"\ncores = 3\n\
             [scheduler]\npolicy = \"credit\"\nversion = \"3.1\"\n[network]\n{network}\n\
             [[controller]]\nname = \"share-guard\"\ninterval_ms = 100\n{accounting}\n\
             [[domain]]\nname = \"Domain-0\"\npin = \"0\"\n\
             [[domain]]\nname = \"one\"\npin = \"1\"\n{one}\n\
             [[domain]]\nname = \"two\"\npin = \"2\"\n{two}\n"
        );
        let looks = looks(&text, usize::MAX);
        let looks = &looks[5..];
        let all: Duration = looks
            .iter()
            .fold(Duration::ZERO, |sum, look| sum + look.length());
        let percent = |time: u64| time as f64 / all.as_nanos() as f64 * 100.0;
        let served = |id| {
            let parts = looks.iter().map(|look| look.of(DomainId(id)).served);
            percent(parts.map(Duration::as_nanos).sum())
        };
        let dom0 = looks.iter().map(|look| look.of(DomainId(0)).gotten);
        let dom0 = percent(dom0.map(Duration::as_nanos).sum());
        ([served(1), served(2)], dom0)
    };
    let (exact, dom0) = measured("accounting = \"exact\"");
    let counting = format!("accounting = \"packets\"\nsend_weight_thousandths = {weight}");
    let (packets, _) = measured(&counting);
    Shares {
        exact,
        packets,
        nobody: dom0 - exact[0] - exact[1],
    }
}

fn udp(direction: &str, pps: u32, bytes: u32) -> String {
    format!(
        "[[domain.task]]\nname = \"{direction}{bytes}\"\nworkload = \"udp\"\n\
         direction = \"{direction}\"\npps = {pps}\nbytes = {bytes}\n"
    )
}

/// `shares` are as expected to 0.3 points: the truth and the estimate for each guest.
#[track_caller]
fn are(shares: Shares, expected: [(f64, f64); 2]) {
    for (i, (exact, packets)) in expected.into_iter().enumerate() {
        let near = |a: f64, b: f64| (a - b).abs() <= 0.3;
        assert!(near(shares.exact[i], exact), "{shares:?}");
        assert!(near(shares.packets[i], packets), "{shares:?}");
    }
}

#[test]
fn packets_of_one_size_and_rate_are_counted_well() {
    let both = [udp("in", 5_000, 500), udp("in", 5_000, 500)];
    let shares = shares("nic = \"e1000\"", [&both[0], &both[1]], 1_000);
    are(shares, [(4.68, 5.15), (3.93, 5.15)]);
    // What Domain-0 did for nobody is divided as well.
    assert!((shares.nobody - 1.68).abs() < 0.3, "{shares:?}");
}

/// The same number of packets of 1,400 and of 100 bytes: netback copies before it flips, and Xen
/// copies where pages are not flipped.
#[test]
fn where_packets_are_copied_size_matters() {
    let both = [udp("in", 8_000, 1_400), udp("in", 8_000, 100)];
    for (mode, expected) in [
        ("flip", [(8.06, 8.39), (6.04, 8.39)]),
        ("copy", [(6.31, 6.62), (4.25, 6.62)]),
    ] {
        let network = format!("nic = \"e1000\"\nrx = \"{mode}\"");
        are(shares(&network, [&both[0], &both[1]], 1_000), expected);
    }
}

/// Guest one is paused: what comes for it is dropped in front of its full ring, and not counted.
#[test]
fn what_is_lost_before_the_ring_is_paid_by_others() {
    let one = udp("in", 8_000, 100);
    let pause = "[[action]]\nat_ms = 200\ndo = \"pause\"\ndomain = \"one\"\n";
    let two = format!("{}{pause}", udp("in", 8_000, 100));
    let shares = shares("nic = \"e1000\"", [&one, &two], 1_000);
    are(shares, [(3.85, 0.0), (6.96, 13.49)]);
}

/// In this profile a packet that a guest receives costs more than one that it sends; with the
/// paper's weight the estimate turns that round.
#[test]
fn a_weight_of_another_machine_charges_the_wrong_one() {
    let both = [udp("in", 12_000, 200), udp("out", 12_000, 200)];
    let of = |weight| shares("nic = \"tg3\"", [&both[0], &both[1]], weight);
    are(of(1_100), [(12.34, 14.86), (10.92, 16.35)]);
    are(of(885), [(12.34, 16.56), (10.92, 14.65)]);
}

/// A guest that copies from its disk, for which a driver domain works without any packet.
#[test]
fn work_without_packets_is_charged_to_those_who_have_some() {
    let disk = "disk = { kind = \"loopback\", size = \"64G\" }\nworkload = \"dd\"\n\
                block = \"256K\"";
    let other = udp("in", 2_000, 200);
    let shares = shares("nic = \"e1000\"", [disk, &other], 1_000);
    are(shares, [(88.9, 0.0), (2.06, 92.4)]);
}
