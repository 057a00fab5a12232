//! Machines: that every cost has its key, and that figures are those of their sources.

use domio_core::{Duration, PcpuId, Topology};
use domio_vmm::Profile;
use domio_vmm::config::{ControllerCosts, KernelCosts};
use domio_vmm::hardware::{
    CONTROLLER_COSTS, HOST_COSTS, HOST_KERNEL, Hardware, OPTERON_242, XEON_E5, XEON_E5462,
};
use std::fmt::Debug;

/// Number of times in `figures`, all of which are zero.
fn times(figures: &impl Debug) -> usize {
    let zero = format!("{:?}", Duration::ZERO);
    format!("{figures:?}").matches(&zero).count()
}

/// A new cost has to become a key.
#[test]
fn every_cost_is_a_key() {
    let profile = Profile {
        name: "",
        source: "",
        timer_slop: Duration::ZERO,
        ..Profile::IDEAL
    };
    assert_eq!(HOST_COSTS.keys.len(), times(&profile));
    assert_eq!(HOST_KERNEL.keys.len(), times(&KernelCosts::FREE));
    assert_eq!(CONTROLLER_COSTS.keys.len(), times(&ControllerCosts::FREE));
}

const KERNEL: &str = "[host.kernel]";
const NETWORK: &str = "[network.costs]";

/// What `key` of the table with this header takes on `machine`.
fn figure(machine: &Hardware, header: &str, key: &str) -> Duration {
    let table = machine.tables().find(|(own, _)| *own == header);
    let (_, figures) = table.expect("a table");
    let found = figures.iter().find(|(own, _)| *own == key);
    found.expect("a figure").1
}

/// Cycles of 2.1 GHz.
fn cycles(count: u64) -> u64 {
    count * 10 / 21
}

fn is_near(sum: Duration, measured: u64) {
    let off = sum.as_nanos().abs_diff(measured);
    assert!(off * 50 <= measured, "{sum}, measured {measured} ns");
}

/// What was measured as a whole is the sum of its parts, within 2 %.
#[test]
fn sums_are_what_was_measured() {
    let p = XEON_E5.profile;
    is_near(p.block_to_pass + p.switch + p.resume, cycles(10_534));
    let upcall = figure(&XEON_E5, KERNEL, "upcall");
    let event = figure(&XEON_E5, NETWORK, "send_event");
    let idle = p.ipi + p.ipi_to_pass + p.idle_switch + p.resume;
    is_near(event + idle + upcall, cycles(10_050));
    is_near(p.interrupt, cycles(1_228 + 1_464));
    is_near(p.keep, cycles(1_228) + 12);
}

/// Packets a second are those of the publication, within 2 %.
#[test]
fn packets_take_what_was_measured() {
    let sum = |keys: &[&str]| {
        let times = keys.iter().map(|key| figure(&XEON_E5, NETWORK, key));
        times.fold(Duration::ZERO, |sum, time| sum + time)
    };
    let copy = sum(&["grant_hypercall", "grant_copy"]);
    let to_guest = sum(&["back_queue", "back_rx"]);
    is_near(to_guest, 1_000_000_000 / 2_040_000);
    is_near(to_guest + copy, 1_000_000_000 / 1_020_000);
    is_near(sum(&["back_tx", "back_answer"]), 1_000_000_000 / 3_600_000);
}

#[test]
fn figures_are_the_cycles_of_the_opteron_or_own_ones() {
    let of = |header, key| figure(&XEON_E5462, header, key);
    let (ns, us) = (Duration::from_nanos, Duration::from_micros);
    assert_eq!(of("[network.costs]", "bridge"), ns(857));
    assert_eq!(of("[network.costs]", "copy_kib"), ns(340));
    assert_eq!(of("[network.costs]", "grant_copy_kib"), ns(510));
    assert_eq!(of("[network.writers]", "switch"), ns(1_142));
    assert_eq!(of("[network.writers]", "wake"), us(3));
}

/// Each figure of the Opteron has one here, and none takes longer than there.
#[test]
fn no_work_takes_longer_than_at_16_ghz() {
    for (header, figures) in OPTERON_242.tables() {
        let own = XEON_E5462.tables().find(|(h, _)| *h == header);
        let (_, own) = own.expect("the same tables");
        assert_eq!(own.len(), figures.len(), "{header}");
        for ((key, there), (same, here)) in figures.iter().zip(own) {
            assert_eq!(key, same, "{header}");
            assert!(here <= there, "{header} {key}: {here} {there}");
        }
    }
}

#[test]
fn two_pairs_of_cores_share_a_cache_each() {
    let topology = Topology::flat(4).unwrap();
    let alike = |a, b| {
        XEON_E5462
            .profile
            .share_a_cache(&topology, PcpuId(a), PcpuId(b))
    };
    assert!(alike(0, 1) && alike(2, 3));
    assert!(!alike(1, 2) && !alike(0, 3));
    let all = Profile {
        cache_cores: 0,
        ..*XEON_E5462.profile
    };
    assert!(all.share_a_cache(&topology, PcpuId(0), PcpuId(3)));
    let two = Topology::new(2, 2, 1).unwrap();
    assert!(!all.share_a_cache(&two, PcpuId(1), PcpuId(2)));
}
