//! Times, pcpus and rates as texts: what they stand for, and what stands for nothing.

use crate::common::{change, only, parse};
use domio_core::{CpuSet, Duration, PcpuId};
use domio_scenario::Problem;
use proptest::prelude::*;

/// When a domain starts whose `start` is so much of this unit.
fn start(unit: &str, amount: &str) -> Result<Duration, Box<Problem>> {
    let text = change("name", &format!("start_{unit} = {amount}\nname"));
    match parse(&text) {
        Ok(scenario) => {
            let start = scenario.plan().host.domains[0].start;
            Ok(Duration::from_nanos(start.as_nanos()))
        }
        Err(_) => Err(Box::new(only(&text))),
    }
}

#[test]
fn fractions_of_any_unit_are_exact() {
    let time = |unit, amount| start(unit, amount).unwrap();
    assert_eq!(time("ms", "0.1"), Duration::from_micros(100));
    assert_eq!(
        time("s", "999_999.999_999_999"),
        Duration::from_nanos(999_999_999_999_999)
    );
    // A million seconds are the longest time.
    assert_eq!(time("s", "1_000_000"), Duration::from_secs(1_000_000));
    let highest = i128::MAX.to_string();
    for (unit, amount, why) in [
        ("ns", "nan", "nan is no time"),
        ("ns", "1e300", "1e300 ns is too long"),
        ("ns", "-0.5", "a time cannot be negative: -0.5"),
        ("us", &highest, "us is too long"),
        ("ns", "1_000_000_000_000_001", "ns is too long"),
    ] {
        let told = start(unit, amount).unwrap_err().message;
        assert!(told.contains(why), "{amount} {unit}: {told}");
    }
}

/// The pcpus of a domain with this `pin`, on a host with as many as there can be.
fn pinned(pin: &str) -> Result<CpuSet, Box<Problem>> {
    let text = change("cores = 2", "sockets = 4\ncores = 64");
    let text = text.replacen("name", &format!("pin = {pin}\nname"), 1);
    match parse(&text) {
        Ok(scenario) => Ok(scenario.plan().host.domains[0].vcpus[0].hard),
        Err(_) => Err(Box::new(only(&text))),
    }
}

/// The same with a list in quotes.
fn listed(list: &str) -> Result<CpuSet, Box<Problem>> {
    pinned(&format!("\"{list}\""))
}

#[test]
fn pcpu_lists_read_as_xl_does() {
    let set = |all: &[u16]| Ok(all.iter().copied().map(PcpuId).collect::<CpuSet>());
    assert_eq!(listed("0-3,6"), set(&[0, 1, 2, 3, 6]));
    assert_eq!(listed("0-7,^3"), set(&[0, 1, 2, 4, 5, 6, 7]));
    let all: Vec<u16> = (0..256).collect();
    assert_eq!(listed("^0, all"), set(&all));
    let refused = |list: &str| listed(list).unwrap_err().message;
    assert!(refused("3-1").contains("counts down"));
    for bad in ["", "a", "1,", "-1", "1-", "+1", "1--2"] {
        assert!(refused(bad).contains("no pcpu and no range"), "{bad}");
    }
    for beyond in ["256", "99999999999999999999"] {
        assert!(refused(beyond).contains("no host has a pcpu"), "{beyond}");
    }
}

proptest! {
    /// A message shows pcpus in the notation in which they are read.
    #[test]
    fn a_shown_list_reads_back(members in proptest::collection::btree_set(0u16..256, 1..40)) {
        let set: CpuSet = members.iter().copied().map(PcpuId).collect();
        let array = format!("{:?}", members.iter().collect::<Vec<_>>());
        prop_assert_eq!(pinned(&array), Ok(set));
        // The host of two pcpus has none of these, so that a message has to show them.
        prop_assume!(members.iter().any(|pcpu| *pcpu > 1));
        let shown = only(&change("name", &format!("pin = {array}\nname"))).found;
        prop_assert_eq!(listed(&shown), Ok(set));
    }
}

/// The rate of a line whose `rate` is written so, in bit/s.
fn rate(written: &str) -> Option<u64> {
    let text = format!(
        "run.duration_s = 1\nscheduler.policy = \"credit\"\nnetwork.rate = \"{written}\"\n\
         [[domain]]\nname = \"Domain-0\"\n[[domain]]\nname = \"a\"\nworkload = \"stream\"\n"
    );
    let scenario = parse(&text).ok()?;
    let network = scenario.plan().networks().next().expect("a network");
    Some(network.link.rate.bps())
}

#[test]
fn lines_are_as_fast_as_they_say() {
    assert_eq!(rate("100M"), Some(100_000_000));
    assert_eq!(rate("1Gb/s"), Some(1_000_000_000));
    assert_eq!(rate("1Gb/s"), rate("1000Mbit/s"));
    assert_eq!(rate("64000K"), Some(64_000_000));
    assert_eq!(rate("64000000"), rate("64000K"));
    for bad in [
        "",
        "G",
        "1g",
        "1.5G",
        "-1",
        "+1",
        "1 G",
        "1GB/s",
        "1G/s",
        "20000000000G",
    ] {
        assert_eq!(rate(bad), None, "{bad}");
    }
}
