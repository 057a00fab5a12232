//! Taking work from other pcpus.

use super::*;

/// Busy pcpus of `version`, each running one vcpu; pcpu 0 idles.
fn busy(version: &str, topology: Topology, params: &[(&str, i64)]) -> Rig {
    let pcpus = topology.pcpus() as u16;
    let mut rig = Rig::with(version, topology, params);
    for p in 1..pcpus {
        rig.running_on(PcpuId(p), UNDER);
    }
    rig.skip(ms(1));
    rig
}

fn flat(version: &str, pcpus: u16) -> Rig {
    busy(version, Topology::flat(pcpus).unwrap(), &[])
}

#[test]
fn an_idle_pcpu_takes_anything() {
    for version in ["3.1", "4.3", "4.17"] {
        for priority in [OVER, UNDER, BOOST] {
            let mut rig = flat(version, 2);
            let v = rig.queued_on(P1, priority);
            assert_eq!(rig.pass(P0).next, Some(v), "{version}");
            assert_eq!(rig.home(v), P0);
            assert!(rig.queue(P1).is_empty());
            assert_eq!(rig.credit.pcpus[PcpuId(0)].runnable, 1);
            assert_eq!(rig.credit.pcpus[PcpuId(1)].runnable, 1);
            assert!(!rig.credit.idlers.contains(P0));
            assert_eq!(rig.notes_of(4), [[1, 1, 0]], "STOLEN");
        }
    }
}

#[test]
fn an_over_head_takes_only_better_ones() {
    for version in ["3.1", "4.17"] {
        let mut rig = flat(version, 2);
        let own = rig.queued_on(P0, OVER);
        let peer_over = rig.queued_on(P1, OVER);
        assert_eq!(rig.pass(P0).next, Some(own), "{version}");
        let peer_under = rig.queued_on(P1, UNDER);
        rig.skip(ms(30));
        assert_eq!(rig.pass(P0).next, Some(peer_under), "{version}");
        assert_eq!(rig.queue(P0), [own], "the own head stays queued");
        assert_eq!(rig.queue(P1), [peer_over]);
    }
}

#[test]
fn a_head_with_credit_never_looks_elsewhere() {
    for version in ["3.1", "4.17"] {
        let mut rig = flat(version, 2);
        let own = rig.queued_on(P0, UNDER);
        rig.queued_on(P1, BOOST);
        assert_eq!(rig.pass(P0).next, Some(own));
        assert!(rig.notes_of(11).is_empty(), "no STEAL_CHECK");
    }
}

#[test]
fn the_search_stops_at_the_first_that_is_not_better() {
    let mut rig = flat("4.17", 2);
    let own = rig.queued_on(P0, OVER);
    // Out of order until the next sort.
    let a = rig.queued_on(P1, UNDER);
    let b = rig.queued_on(P1, UNDER);
    rig.force(a, OVER);
    assert_eq!(rig.pass(P0).next, Some(own));
    assert_eq!(rig.queue(P1), [a, b]);
}

#[test]
fn a_vcpu_in_a_switch_or_bound_elsewhere_stays() {
    for version in ["3.1", "4.17"] {
        let mut rig = flat(version, 2);
        let switching = rig.queued_on(P1, UNDER);
        rig.tables.vcpus[switching.index()].on_pcpu = true;
        let bound = rig.queued_on(P1, UNDER);
        rig.set_hard(bound, &[1]);
        assert_eq!(rig.pass(P0).next, None, "{version}");
        let free = rig.queued_on(P1, OVER);
        assert_eq!(
            rig.pass(P0).next,
            Some(free),
            "{version}: the next one is taken"
        );
    }
}

#[test]
fn a_peer_that_idles_is_left_alone() {
    for version in ["3.1", "4.17"] {
        let mut rig = Rig::new(version, 2);
        let v = rig.queued_on(P1, UNDER);
        // Tickled, and not through its pass yet.
        rig.credit.idlers.remove(P1);
        assert_eq!(rig.pass(P0).next, None);
        assert_eq!(rig.pass(P1).next, Some(v));
    }
}

#[test]
fn migration_delay_protects_who_ran_lately_since_3_4() {
    for (version, protects) in [("3.1", false), ("3.4", true), ("4.17", true)] {
        let topology = Topology::flat(2).unwrap();
        let mut rig = busy(version, topology, &[("migration_delay_us", 1000)]);
        let first = rig.current(P1).unwrap();
        let second = rig.queued_on(P1, UNDER);
        rig.skip(ms(30));
        assert_eq!(rig.pass(P1).next, Some(second));
        rig.skip(us(999));
        let taken = rig.pass(P0).next;
        assert_eq!(taken.is_none(), protects, "{version}");
        if protects {
            rig.skip(us(1));
            assert_eq!(rig.pass(P0).next, Some(first), "{version}");
        }
    }
}

/// Peers checked by three searches of pcpu `by` for work that nobody has.
fn checked(rig: &mut Rig, by: PcpuId) -> Vec<u32> {
    rig.notes.clear();
    rig.pass(by);
    rig.notes_of(11).iter().map(|w| w[0]).collect()
}

#[test]
fn the_order_of_peers_by_release() {
    let idle_at_2 = |version: &str| {
        let mut rig = Rig::new(version, 5);
        for p in [0, 1, 3, 4] {
            rig.running_on(PcpuId(p), UNDER);
        }
        rig
    };
    // From its own number on.
    for version in ["3.1", "4.2"] {
        assert_eq!(
            checked(&mut idle_at_2(version), P2),
            [3, 4, 0, 1],
            "{version}"
        );
    }
    // From the lowest number on.
    for version in ["4.3", "4.8"] {
        assert_eq!(
            checked(&mut idle_at_2(version), P2)[..4],
            [0, 1, 3, 4],
            "{version}"
        );
    }
    // From the one after the last success on; at first that is the lowest pcpu.
    for version in ["4.9", "4.17"] {
        let mut rig = idle_at_2(version);
        assert_eq!(checked(&mut rig, P2)[..4], [1, 3, 4, 0], "{version}");
        let v = rig.queued_on(P3, UNDER);
        assert_eq!(rig.pass(P2).next, Some(v));
        rig.block(v);
        assert_eq!(checked(&mut rig, P2)[..4], [4, 0, 1, 3], "{version}");
    }
}

#[test]
fn nobody_is_searched_without_a_second_runnable_vcpu_since_4_9() {
    for (version, searched) in [("4.8", 1), ("4.9", 0), ("4.17", 0)] {
        let mut rig = flat(version, 2);
        rig.pass(P0);
        let checks = rig.notes_of(11);
        assert_eq!(checks.last(), Some(&alloc::vec![1, searched]), "{version}");
    }
}

#[test]
fn the_own_node_comes_first_since_4_3() {
    let two_nodes = || Topology::new(2, 2, 1).unwrap();
    for (version, near) in [
        ("3.1", false),
        ("4.2", false),
        ("4.3", true),
        ("4.17", true),
    ] {
        let mut rig = Rig::with(version, two_nodes(), &[]);
        for p in [P0, P1, P2] {
            rig.running_on(p, UNDER);
        }
        rig.skip(ms(1));
        let far = rig.queued_on(P0, UNDER);
        let next_door = rig.queued_on(P2, OVER);
        let expected = if near { next_door } else { far };
        assert_eq!(rig.pass(P3).next, Some(expected), "{version}");
    }
}

#[test]
fn who_prefers_this_pcpu_comes_first_since_4_5() {
    for (version, softly) in [("4.3", false), ("4.5", true), ("4.17", true)] {
        let mut rig = flat(version, 4);
        let indifferent = rig.queued_on(P1, UNDER);
        let prefers_us = rig.queued_on(P3, OVER);
        rig.set_soft(prefers_us, &[0]);
        let expected = if softly { prefers_us } else { indifferent };
        assert_eq!(rig.pass(P0).next, Some(expected), "{version}");
    }
}

#[test]
fn a_pcpu_that_leaves_takes_nothing() {
    for version in ["3.1", "4.17"] {
        let mut rig = flat(version, 2);
        rig.queued_on(P1, UNDER);
        rig.tables.online.remove(P0);
        assert_eq!(rig.pass(P0).next, None, "{version}");
    }
}
