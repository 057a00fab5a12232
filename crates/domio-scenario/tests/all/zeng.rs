//! What the experiments of Zeng 2015 need: guests that ping each other, a steady share of a
//! processor, an archiver, cores that share caches.

use crate::common::{errors, parse};
use crate::told::{executed_us, ran};
use domio_core::Duration;
use domio_core::keys::Distribution;
use domio_net::host::FlowKind;
use domio_scenario::{Built, DeviceConfig, NoReplay};
use domio_vmm::config::Workload;

fn build(text: &str) -> Built {
    let scenario = parse(text).unwrap_or_else(|e| panic!("{e}"));
    scenario.build(&NoReplay).expect("nothing is replayed")
}

/// Three guests, of which the first pings `to`.
fn pinging(to: &str) -> String {
    format!(
        r#"
        run.duration_s = 1
        host.profile = "xeon-e5462"
        scheduler.policy = "credit"
        [[domain]]
        name = "Domain-0"
        [[domain]]
        name = "asks"
        workload = "ping"
        pace = "interval"
        to = "{to}"
        [[domain]]
        name = "answers"
        count = 2
        vif = {{}}
        [[domain]]
        name = "apart"
        workload = "burn"
        "#
    )
}

#[test]
fn a_ping_finds_the_interface_of_the_domain_that_it_names() {
    let built = build(&pinging("answers2"));
    let Some(DeviceConfig::Network(network)) = built.devices.first() else {
        panic!("a host with vifs has a network");
    };
    let flow = network.vifs[0].flows[0].kind;
    assert!(matches!(flow, FlowKind::PingGuest(_, 2)), "{flow:?}");
    assert!(network.vifs[1].flows.is_empty() && network.vifs.len() == 3);
}

#[test]
fn a_ping_to_nobody_is_a_mistake() {
    for (to, told) in [
        ("answers3", "there is no domain"),
        ("asks", "a domain at both ends of one flow"),
        ("apart", "has no vif on the network"),
        ("answers", "is a group"),
    ] {
        let errors = errors(&pinging(to));
        assert_eq!(errors.total(), 1, "{errors}");
        assert!(errors.to_string().contains(told), "{errors}");
    }
}

#[test]
fn lookbusy_asks_for_its_part_of_each_period() {
    let text = "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
                workload = \"lookbusy\"\npercent = 30\nperiod_ms = 20\n";
    let built = build(text);
    let task = &built.host.domains[0].vcpus[0].tasks[0];
    let Workload::Periodic { period, burst, .. } = task.workload else {
        panic!("a job in each period");
    };
    assert_eq!(period, Duration::from_millis(20));
    assert_eq!(burst, Distribution::Constant(Duration::from_millis(6)));
}

/// The vcpu of the archiver executes for what compressing takes, and reads in between.
#[test]
fn zip_compresses_what_it_has_read() {
    let text = r#"
        run.duration_s = 20
        scheduler.policy = "credit"
        disk = { profile = "sata-2008" }
        [[domain]]
        name = "Domain-0"
        [[domain]]
        name = "g"
        disk = { kind = "vbd", size = "1G" }
        workload = "zip"
        files = 20
        directories = 2
        size_low = 102400
        size_high = 102400
        work_kib_us = 100
        "#;
    let built = build(text);
    let host = ran(&built, Duration::from_secs(20));
    let ms = executed_us(&host, 1) / 1000;
    // 2,000 KiB at 100 us; on a machine without costs nothing else takes time.
    assert!((200..=205).contains(&ms), "{ms} ms");
}

#[test]
fn cores_that_share_a_cache_are_the_machines_unless_they_are_given() {
    let cores = |more: &str| {
        let text = format!(
            "run.duration_s = 1\nscheduler.policy = \"credit\"\n[host]\ncores = 4\n{more}\n\
             [[domain]]\nname = \"g\"\nworkload = \"burn\"\n"
        );
        build(&text).host.profile.cache_cores
    };
    assert_eq!(cores("profile = \"xeon-e5462\""), 2);
    assert_eq!(cores("profile = \"xeon-e5462\"\ncache_cores = 1"), 1);
    assert_eq!(cores(""), 0);
}
