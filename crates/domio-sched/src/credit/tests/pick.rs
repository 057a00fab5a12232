//! Choosing a pcpu.

use super::super::wake::Step;
use super::*;

/// What a tick on the pcpu of `vcpu` would choose.
fn chosen(rig: &mut Rig, vcpu: VcpuId) -> PcpuId {
    let from = rig.home(vcpu);
    rig.call(|c, cx| c.choose_pcpu(cx, from, vcpu, from, false))
}

fn smt(sockets: u16, cores: u16) -> Topology {
    Topology::new(sockets, cores, 2).unwrap()
}

#[test]
fn on_equal_pcpus_it_stays() {
    for version in ["3.1", "4.0", "4.17"] {
        let mut rig = Rig::new(version, 4);
        let v = rig.running_on(P1, UNDER);
        assert_eq!(chosen(&mut rig, v), P1, "{version}");
    }
}

#[test]
fn a_free_core_is_better_than_half_a_core() {
    // Pcpus 0 and 1 are one core, 2 and 3 the other.
    for (version, to) in [("3.1", P2), ("4.0", P2), ("4.17", P2)] {
        let mut rig = Rig::with(version, smt(1, 2), &[]);
        rig.running_on(P1, UNDER);
        let v = rig.running_on(P0, UNDER);
        assert_eq!(chosen(&mut rig, v), to, "{version}");
    }
}

#[test]
fn a_tick_sends_a_long_runner_to_the_better_pcpu() {
    let mut rig = Rig::with("4.17", smt(1, 2), &[]);
    rig.running_on(P1, UNDER);
    let v = rig.running_on(P0, UNDER);
    rig.skip(ms(10));
    rig.tick(P0);
    assert!(rig.tickled().is_empty(), "the first tick only activates");
    rig.skip(ms(10));
    rig.tick(P0);
    assert_eq!(rig.tickled(), set(&[0]));
    assert!(rig.tables.vcpus[v.index()].pause.has(Pause::MIGRATING));
    rig.settle();
    assert_eq!(rig.current(P2), Some(v));
    assert_eq!(rig.credit.priority(v), UNDER, "and is not boosted for it");
}

#[test]
fn a_busy_own_queue_since_4_3() {
    // Somebody else queues on pcpu 0: it does not count as idle, and any idle pcpu is better.
    for (version, to) in [("4.2", P0), ("4.3", P1), ("4.17", P1)] {
        let mut rig = Rig::new(version, 2);
        let v = rig.running_on(P0, UNDER);
        rig.queued_on(P0, UNDER);
        assert_eq!(chosen(&mut rig, v), to, "{version}");
    }
}

#[test]
fn an_idle_thread_is_better_than_a_busy_one_beside_it() {
    // Cores {0, 1} and {2, 3}; only pcpu 1 idles, and somebody queues on pcpu 0.
    for (version, to) in [("4.2", P0), ("4.3", P1), ("4.17", P1)] {
        let mut rig = Rig::with(version, smt(1, 2), &[]);
        let v = rig.running_on(P0, UNDER);
        rig.running_on(P2, UNDER);
        rig.running_on(P3, UNDER);
        rig.queued_on(P0, UNDER);
        assert_eq!(chosen(&mut rig, v), to, "{version}");
    }
}

#[test]
fn another_socket_must_be_twice_as_idle_since_4_1() {
    // Sockets {0, 1, 2} and {3, 4, 5}; the own one has 2 idle with its own pcpu, the other 3.
    for (version, to) in [("3.1", 3), ("4.0", 3), ("4.1", 0), ("4.17", 0)] {
        let mut rig = Rig::with(version, Topology::new(2, 3, 1).unwrap(), &[]);
        rig.running_on(P1, UNDER);
        let v = rig.running_on(P0, UNDER);
        assert_eq!(chosen(&mut rig, v), PcpuId(to), "{version}: 2 against 3");
        rig.running_on(P2, UNDER);
        assert_eq!(chosen(&mut rig, v), P3, "{version}: 1 against 3");
    }
}

#[test]
fn power_savings_gather() {
    // v shares no core with anyone; the only other one runs on pcpu 3, and pcpu 2 beside it idles.
    for (version, to) in [("3.1", P0), ("3.4", P2), ("4.17", P2)] {
        let mut rig = Rig::with(version, smt(1, 2), &[("smt_power_savings", 1)]);
        rig.running_on(P3, UNDER);
        let v = rig.running_on(P0, UNDER);
        assert_eq!(chosen(&mut rig, v), to, "{version}");
    }
}

#[test]
fn equally_good_pcpus_take_turns_since_4_0() {
    // Three cores of two threads, pcpu 1 busy, v on pcpu 0: pcpus 2 to 5 are equally good.
    for (version, turns) in [("3.4", [2, 2]), ("4.0", [2, 3]), ("4.17", [2, 3])] {
        let mut rig = Rig::with(version, smt(1, 3), &[]);
        rig.running_on(P1, UNDER);
        let v = rig.running_on(P0, UNDER);
        for turn in turns {
            rig.tables.vcpus[v.index()].pcpu = P0;
            assert_eq!(chosen(&mut rig, v), PcpuId(turn), "{version}: a question");
            let pcpu = rig.call(|c, cx| c.pick_pcpu(cx, v));
            assert_eq!(pcpu, PcpuId(turn), "{version}: a move");
        }
    }
}

#[test]
fn a_search_of_two_steps_notes_both_choices_until_4_1() {
    // Pcpus 2k and 2k + 1 are a core, four of those a socket. Nobody idles in the socket of v,
    // which is on pcpu 0, and all but pcpu 8 in the other one.
    for (version, first) in [("4.0", 9), ("4.1", 9), ("4.2", 15), ("4.17", 15)] {
        let mut rig = Rig::with(version, smt(2, 4), &[]);
        for p in [1, 2, 3, 4, 5, 6, 7, 8] {
            rig.running_on(PcpuId(p), UNDER);
        }
        let v = rig.running_on(P0, UNDER);
        // It comes to 9, whose sibling runs somebody, and from there to a free core.
        let pcpu = rig.call(|c, cx| c.pick_pcpu(cx, v));
        assert_eq!(pcpu, PcpuId(10), "{version}");
        let bias = [9, 10].map(|p| rig.credit.pcpus[PcpuId(p)].idle_bias);
        assert_eq!(bias, [PcpuId(first), PcpuId(10)], "{version}");
    }
}

#[test]
fn affinity_bounds_the_choice() {
    for version in ["3.1", "4.17"] {
        let mut rig = Rig::with(version, smt(1, 3), &[]);
        rig.running_on(P1, UNDER);
        let v = rig.running_on(P0, UNDER);
        rig.set_hard(v, &[0, 5]);
        assert_eq!(chosen(&mut rig, v), PcpuId(5), "{version}");
        rig.set_hard(v, &[0, 1]);
        assert_eq!(chosen(&mut rig, v), P0, "{version}");
        rig.set_hard(v, &[3, 4]);
        // Not where it is any more: the next allowed one.
        let from_there = chosen(&mut rig, v);
        assert!(set(&[3, 4]).contains(from_there), "{version}");
    }
}

/// With all of the hard affinity in it, soft affinity says nothing since 4.6.
#[test]
fn soft_affinity_must_narrow_since_4_6() {
    for (version, says) in [
        ("4.3", false),
        ("4.4", false),
        ("4.5", true),
        ("4.6", false),
        ("4.7", false),
        ("4.17", false),
    ] {
        let mut rig = Rig::new(version, 4);
        let v = rig.running_on(P0, UNDER);
        rig.set_hard(v, &[1, 2]);
        rig.set_soft(v, &[1, 2]);
        let steps = rig.call(|c, cx| c.affinity(cx, v, Step::Soft));
        assert_eq!(steps.is_some(), says, "{version}");
        // Every pcpu of the host: not all that Xen can have.
        rig.set_soft(v, &[0, 1, 2, 3]);
        let steps = rig.call(|c, cx| c.affinity(cx, v, Step::Soft));
        assert_eq!(steps.is_some(), says, "{version}");
        for without in [CpuSet::ALL, set(&[3])] {
            rig.tables.affinity[v.index()].soft = without;
            let steps = rig.call(|c, cx| c.affinity(cx, v, Step::Soft));
            assert_eq!(steps, None, "{version}");
        }
    }
}

#[test]
fn soft_affinity_is_left_only_for_an_idle_pcpu() {
    for (version, to) in [("4.3", P0), ("4.5", P3), ("4.17", P3)] {
        let mut rig = Rig::new(version, 4);
        let v = rig.running_on(P0, UNDER);
        rig.set_soft(v, &[3]);
        assert_eq!(chosen(&mut rig, v), to, "{version}");
        // Preferred pcpu busy: hard affinity decides, and it stays.
        rig.running_on(P3, UNDER);
        assert_eq!(chosen(&mut rig, v), P0, "{version}");
    }
}

#[test]
fn a_choice_leaves_its_record() {
    let mut rig = Rig::new("4.17", 2);
    let v = rig.running_on(P1, UNDER);
    rig.notes.clear();
    chosen(&mut rig, v);
    assert_eq!(rig.notes_of(5), [[0, 0, 1]]);
}

/// Where the vcpus of new guests of these sizes go, one after the other.
fn placed(version: &str, topology: Topology, domains: &[usize]) -> Vec<u16> {
    let mut rig = Rig::with(version, topology, &[]);
    // Dom0 is no guest, and has nobody here.
    rig.domain(256, 0);
    let mut pcpus = Vec::new();
    for &vcpus in domains {
        let domain = rig.domain(256, 0);
        for _ in 0..vcpus {
            let v = rig.vcpu(domain);
            pcpus.push(rig.home(v).0);
        }
    }
    pcpus
}

#[test]
fn domains_start_on_the_emptiest_pcpu_until_4_7() {
    let flat = || Topology::flat(4).unwrap();
    for version in ["3.1", "4.0", "4.7"] {
        // They keep off pcpu 0 until it is the emptiest.
        assert_eq!(
            placed(version, flat(), &[1, 1, 1, 1, 1]),
            [3, 2, 1, 0, 3],
            "{version}"
        );
        assert_eq!(
            placed(version, flat(), &[3, 2]),
            [3, 0, 1, 2, 3],
            "{version}"
        );
    }
    // With hyperthreads, not on the first of a core, and in core 0 on its second.
    assert_eq!(placed("3.1", smt(1, 2), &[1, 1, 1]), [3, 1, 3]);
}

#[test]
fn dom0_boots_with_each_vcpu_on_the_pcpu_of_its_number() {
    for version in ["3.1", "4.0", "4.7", "4.17"] {
        let mut rig = Rig::new(version, 4);
        let dom0 = rig.domain(256, 0);
        let homes = [0; 3].map(|_| rig.vcpu(dom0)).map(|v| rig.home(v).0);
        assert_eq!(homes, [0, 1, 2], "{version}");
    }
}

#[test]
fn domains_start_on_a_random_pcpu_from_4_8_to_4_11() {
    for version in ["4.8", "4.9", "4.11"] {
        let mut rig = Rig::new(version, 4);
        // Xen builds dom0 itself, at the lowest one.
        rig.tables.any_pcpu = P2;
        let dom0 = rig.domain(256, 0);
        let control = rig.vcpu(dom0);
        let guest = rig.domain(256, 0);
        let [first, second] = [0; 2].map(|_| rig.vcpu(guest));
        // One was drawn that the vcpu may not use: the next one that it may.
        rig.tables.any_pcpu = P1;
        let bound = rig.domain(256, 0);
        let bound = rig.vcpu_within(bound, set(&[0, 3]), CpuSet::ALL);
        let homes = [control, first, second, bound].map(|v| rig.home(v));
        assert_eq!(homes, [P0, P2, P3, P3], "{version}");
    }
}

#[test]
fn later_releases_choose_a_better_one_from_there() {
    let flat = || Topology::flat(4).unwrap();
    // All idle: everybody stays where the search began.
    assert_eq!(placed("4.17", flat(), &[1, 3, 1]), [0, 0, 1, 2, 0]);
    let mut rig = Rig::new("4.17", 2);
    rig.running_on(P0, UNDER);
    let domain = rig.domain(256, 0);
    let v = rig.vcpu(domain);
    assert_eq!(
        rig.home(v),
        P0,
        "busy, but nobody queues there: it counts as idle"
    );
    rig.queued_on(P0, UNDER);
    let domain = rig.domain(256, 0);
    let v = rig.vcpu(domain);
    assert_eq!(rig.home(v), P1, "now it does not");
}

#[test]
fn placement_respects_affinity() {
    for version in ["3.1", "4.8", "4.17"] {
        let mut rig = Rig::new(version, 4);
        let domain = rig.domain(256, 0);
        let v = rig.vcpu_within(domain, set(&[2]), CpuSet::ALL);
        assert_eq!(rig.home(v), P2, "{version}");
    }
}

#[test]
fn a_migration_is_no_placement() {
    // The next vcpu of a domain is placed after the one before it, not after the one that moved.
    let mut rig = Rig::new("3.1", 4);
    rig.domain(256, 0);
    let domain = rig.domain(256, 0);
    let (first, second) = (rig.vcpu(domain), rig.vcpu(domain));
    assert_eq!((rig.home(first), rig.home(second)), (P3, P0));
    rig.set_hard(first, &[2]);
    let to = rig.call(|c, cx| c.pick_pcpu(cx, first));
    assert_eq!(to, P2);
    rig.tables.vcpus[first.index()].pcpu = to;
    let third = rig.vcpu(domain);
    assert_eq!(rig.home(third), P1);
}
