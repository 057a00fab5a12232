//! BVT on a host as a scenario describes it: shares, releases, and what its guests see.

use crate::common::policies;
use domio_core::{Instant, NullSink};
use domio_run::Replication;
use domio_scenario::{NoReplay, Scenario};

fn parse(text: &str) -> Scenario {
    let policies = policies();
    Scenario::parse("test.toml", text.as_bytes(), &policies[..])
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// What each domain got of 10 s after the first one, in per cent of one pcpu.
fn shares(text: &str) -> Vec<f64> {
    let built = parse(text).build(&NoReplay).expect("no recordings");
    let mut host = Replication::new(&built, 0, NullSink);
    let mut running = |until_s: u64| -> Vec<u64> {
        let ended = host.until(Instant::from_nanos(until_s * 1_000_000_000));
        ended.unwrap_or_else(|fault| panic!("{fault}"));
        let times = host.vcpu_times().into_iter();
        times.map(|(_, t)| t.running.as_nanos()).collect()
    };
    let (before, after) = (running(1), running(11));
    let both = before.iter().zip(&after);
    both.map(|(b, a)| (a - b) as f64 / 1e8).collect()
}

/// A host of one pcpu with this release, and domains with these lines.
fn host(version: &str, xen: &str, profile: &str, domains: &[&str]) -> String {
    let mut text = format!(
        "[run]\nduration_s = 10\n[host]\nxen = \"{xen}\"\nprofile = \"{profile}\"\n\
         [scheduler]\npolicy = \"bvt\"\nversion = \"{version}\"\n"
    );
    for (i, lines) in domains.iter().enumerate() {
        text += &format!("[[domain]]\nname = \"d{i}\"\n{lines}\n");
    }
    text
}

const LIGHT: &str = "mcu_advance = 30\nworkload = \"burn\"";
const HEAVY: &str = "mcu_advance = 10\nworkload = \"burn\"";

/// The slide's weights of 1 and 3: a quarter and three quarters.
#[test]
fn weights_of_1_and_3_are_a_quarter_and_three_quarters() {
    for (version, xen) in [("2.0", "2.0"), ("3.0", "3.0"), ("3.0", "3.0.3")] {
        let got = shares(&host(version, xen, "ideal", &[LIGHT, HEAVY]));
        for (share, expected) in got.iter().zip([25.0, 75.0]) {
            assert!((share - expected).abs() < 0.3, "{version}: {got:?}");
        }
    }
}

#[test]
fn what_a_host_costs_changes_no_proportion() {
    let got = shares(&host("3.0", "3.0", "opteron-242", &[LIGHT, HEAVY]));
    let quarter = got[0] / (got[0] + got[1]);
    assert!((quarter - 0.25).abs() < 0.005, "{got:?}");
}

#[test]
fn one_alone_gets_all_whatever_its_weight() {
    for advance in [1, 10, 30, 1_000_000] {
        let lines = format!("mcu_advance = {advance}\nworkload = \"burn\"");
        for version in ["2.0", "3.0", "3.0.2"] {
            let idle = "workload = \"idle\"";
            let got = shares(&host(version, "3.0", "ideal", &[&lines, idle]));
            assert_eq!(got, [100.0, 0.0], "{version}, {advance}");
        }
    }
}

/// 3.0.2 charges the whole run again at each pass at which a vcpu goes on. Equals take turns, and
/// nobody goes on. Of 10 and 30, the light one is charged 1500 for its 5 ms; the heavy one 500 for
/// the first 5 ms and 1000 for the next, so that it stops after two turns instead of three.
#[test]
fn charging_twice_brings_shares_nearer_to_each_other() {
    let equals = shares(&host("3.0.2", "3.0", "ideal", &[HEAVY, HEAVY]));
    assert!((equals[0] - 50.0).abs() < 0.3, "{equals:?}");
    let got = shares(&host("3.0.2", "3.0", "ideal", &[LIGHT, HEAVY]));
    assert!((got[0] - 100.0 / 3.0).abs() < 1.5, "{got:?}");
}

#[test]
fn a_host_may_be_of_2_0_and_point_releases_of_it() {
    for xen in ["2.0", "2.0.6"] {
        let scenario = parse(&host("2.0.6", xen, "ideal", &[HEAVY]));
        assert_eq!(scenario.plan().host.version.name(), "2.0");
    }
    // Of BVT alone 3.0.2 is a release of its own.
    let built = parse(&host("3.0.2", "3.0.2", "ideal", &[HEAVY]));
    assert_eq!(built.plan().host.version.name(), "3.0");
}
