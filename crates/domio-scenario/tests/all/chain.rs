//! Networks behind each other: what the keys become, what is refused, and that each domain on the
//! way works.

use crate::common::{good, only};
use crate::told::ran;
use domio_core::DomainId;
use domio_scenario::{Code, DeviceConfig, NoReplay};
use domio_vmm::bus::Device as _;

const CHAIN: &str = r#"
[run]
duration_ms = 300
[host]
profile = "opteron-242"
cores = 4
[scheduler]
policy = "credit2"
[[network]]
name = "outer"
driver = "net"
[[network]]
name = "inner"
driver = "fw"
[[domain]]
name = "net"
vcpus = 2
[[domain]]
name = "fw"
vif = { network = "outer" }
[[domain]]
name = "work"
workload = "stream"
network = "inner"
"#;

fn change(old: &str, new: &str) -> String {
    let changed = CHAIN.replacen(old, new, 1);
    assert_ne!(changed, CHAIN, "{old}");
    changed
}

/// Each has the rings of those whose backends it has, and slots of its own pairs.
#[test]
fn driver_domains_of_a_chain_have_memory_for_their_own_interfaces() {
    let pools = change(
        "driver = \"fw\"",
        "driver = \"fw\"\nsmall_packets = \"pool-out\"",
    );
    let built = good(&pools).build(&NoReplay).unwrap();
    assert_eq!(built.network_drivers(), [DomainId(1), DomainId(2)]);
    let [net, fw, work] = [1, 2, 3].map(|id| built.network_memory(DomainId(id)));
    assert_eq!([net.rings, fw.rings, work.rings], [8192, 8192, 0]);
    assert_eq!(
        [net.pending, fw.pending, work.pending],
        [1 << 20, 1 << 20, 0]
    );
    assert_eq!([net.pools, fw.pools, fw.guest_pools], [0, 1 << 20, 0]);
}

/// One device with both driver domains; the second goes out by its vif on the first network.
#[test]
fn a_driver_domain_with_a_vif_elsewhere_goes_out_by_that() {
    for text in [
        CHAIN,
        &change("driver = \"fw\"", "driver = \"fw\"\nuplink = \"outer\""),
    ] {
        let scenario = good(text);
        assert_eq!(scenario.notices(), [""; 0]);
        let [DeviceConfig::Network(network)] = &scenario.plan().devices[..] else {
            panic!("{:?}", scenario.plan().devices);
        };
        assert_eq!(network.driver, DomainId(1));
        let [behind] = &network.behind[..] else {
            panic!("{:?}", network.behind);
        };
        assert_eq!((behind.driver, behind.uplink), (DomainId(2), 0));
        let vifs: Vec<_> = network
            .vifs
            .iter()
            .map(|v| (v.domain.0, v.behind))
            .collect();
        assert_eq!(vifs, [(2, None), (3, Some(0))]);
    }
}

#[test]
fn a_card_of_its_own_is_none_of_the_chain() {
    let scenario = good(&change("driver = \"fw\"", "driver = \"fw\"\nnic = \"tg3\""));
    assert_eq!(scenario.plan().networks().count(), 2);
    let told = scenario.notices().join("\n");
    assert!(
        told.contains("no workload sends anything through the card of net"),
        "{told}"
    );
}

#[test]
fn keys_of_the_line_do_nothing_behind_another_domain() {
    let text = change(
        "driver = \"fw\"",
        "driver = \"fw\"\nrate = \"10G\"\nlatency_us = 5",
    );
    let told = good(&text).notices().join("\n");
    let expected = "packets of the network inner leave by the vif of fw on the network outer: \
                    `rate`, `latency` of the former do nothing";
    assert_eq!(told, expected);
}

#[test]
fn ways_out_that_are_not_there_are_refused() {
    let refused = |new: &str| only(&change("driver = \"fw\"", new));
    let both = refused("driver = \"fw\"\nuplink = \"outer\"\nnic = \"tg3\"");
    assert_eq!(both.code, Code::Conflict);
    assert!(
        both.message.contains("both an `uplink` and a card"),
        "{}",
        both.message
    );
    let itself = refused("driver = \"fw\"\nuplink = \"inner\"");
    assert!(
        itself.message.contains("has no vif on the network"),
        "{}",
        itself.message
    );
    let unknown = refused("driver = \"fw\"\nuplink = \"outre\"");
    assert_eq!(unknown.code, Code::UnknownName);
}

/// Each of the three domains executes, and the firewall domain works for the guest behind.
#[test]
fn every_domain_on_the_way_works() {
    let built = good(CHAIN).build(&NoReplay).expect("nothing is replayed");
    let host = ran(&built, built.duration);
    let network = &host.devices()[0];
    let through = |driver, guest| network.counted(DomainId(driver), DomainId(guest)).received;
    assert!(through(1, 2) > 1_000, "{}", through(1, 2));
    assert!(through(2, 3) > 1_000 && through(2, 3) <= through(1, 2));
}

#[test]
fn netback_is_spread_over_as_many_vcpus_as_there_are() {
    let threads = |text: &str| {
        let scenario = good(text);
        let network = scenario
            .plan()
            .networks()
            .next()
            .expect("a network")
            .clone();
        (network.netback.vcpus(), scenario.notices().join("\n"))
    };
    assert_eq!(threads(CHAIN), (1, String::new()));
    let (spread, told) = threads(&change(
        "driver = \"net\"",
        "driver = \"net\"\nnetback_threads = 8",
    ));
    assert_eq!(spread, 2, "the domain has two vcpus");
    assert!(
        told.contains("does nothing: the driver domain has one vcpu, or one vif to serve"),
        "{told}"
    );
}
