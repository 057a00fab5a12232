//! What Zeng 2015 adds: where boosted vcpus go, and driver domains that are not preempted.

use super::*;
use domio_contract::Work;

const BALANCED: u8 = 48;
const PUT_OFF: u8 = 49;
const WAITS_FOR_DRIVER: u8 = 50;
const DISPATCHED: u8 = 51;
const WAITED: u8 = 52;

/// What a pcpu has before the wake-up.
#[derive(Clone, Copy)]
enum Has {
    /// Nothing.
    Idle,
    /// A vcpu with credit runs.
    Under,
    /// A boosted one runs, and so many boosted ones queue.
    Boost(usize),
}
use Has::{Boost, Idle, Under};

/// Two sockets of two cores of two threads, with these on pcpus 0 to 7.
fn balanced(pcpus: [Has; 8]) -> Rig {
    let topology = Topology::new(2, 2, 2).unwrap();
    let mut rig = Rig::with("3.4", topology, &[("boost_balance", 1)]);
    for (p, has) in (0..8).map(PcpuId).zip(pcpus) {
        match has {
            Idle => {}
            Under => drop(rig.running_on(p, UNDER)),
            Boost(queued) => {
                rig.running_on(p, BOOST);
                for _ in 0..queued {
                    rig.queued_on(p, BOOST);
                }
            }
        }
    }
    rig.pending = CpuSet::EMPTY;
    rig.tickled();
    rig
}

/// Where a vcpu of pcpu 0 goes that wakes in such a host, and whom that tickles.
fn target(pcpus: [Has; 8]) -> (PcpuId, CpuSet) {
    let mut rig = balanced(pcpus);
    let vcpu = rig.guest_on(P0);
    rig.wake(vcpu);
    let home = rig.home(vcpu);
    assert!(rig.queue(home).contains(&vcpu));
    assert_eq!(rig.credit.priority(vcpu), BOOST);
    (home, rig.tickled())
}

fn goes_to(pcpu: u16, runs_at_once: bool, pcpus: [Has; 8]) {
    let tickled = if runs_at_once {
        set(&[pcpu])
    } else {
        CpuSet::EMPTY
    };
    assert_eq!(target(pcpus), (PcpuId(pcpu), tickled));
}

const B: Has = Boost(0);

#[test]
fn an_idle_pcpu_is_taken_from_near_to_far() {
    // The thread beside it, then its socket, then the other.
    goes_to(1, true, [B, Idle, Idle, Idle, Idle, B, B, B]);
    goes_to(2, true, [B, B, Idle, Idle, Idle, B, B, B]);
    goes_to(3, true, [B, B, B, Idle, Idle, B, B, B]);
    goes_to(6, true, [B, B, B, B, B, B, Idle, Idle]);
    // However near one is that runs nobody boosted.
    goes_to(7, true, [B, Under, Under, B, B, B, B, Idle]);
}

#[test]
fn then_one_without_a_boosted_vcpu_in_the_same_order() {
    goes_to(1, true, [B, Under, Under, Under, Under, B, B, B]);
    goes_to(3, true, [B, B, B, Under, Under, Under, B, B]);
    goes_to(5, true, [B, B, B, B, B, Under, B, Under]);
}

#[test]
fn then_the_one_where_the_fewest_boosted_ones_queue() {
    let q = Boost;
    goes_to(4, false, [q(2), q(1), q(1), q(2), q(0), q(1), q(1), q(1)]);
    // Of several the nearest, itself first.
    goes_to(2, false, [q(2), q(2), q(1), q(1), q(1), q(1), q(1), q(1)]);
    goes_to(0, false, [q(1), q(1), q(1), q(1), q(1), q(1), q(1), q(1)]);
}

#[test]
fn nobody_moves_who_may_preempt_at_once() {
    let (home, tickled) = target([Under, B, Idle, B, B, B, B, B]);
    assert_eq!(home, P0);
    assert!(tickled.contains(P0), "preempted as usual");
    let (home, tickled) = target([Idle; 8]);
    assert_eq!((home, tickled), (P0, set(&[0])));
}

#[test]
fn only_pcpus_in_its_affinity_count() {
    let mut rig = balanced([B, Idle, Under, B, Idle, Under, B, B]);
    let vcpu = rig.guest_on(P0);
    rig.set_hard(vcpu, &[0, 3, 5, 6]);
    rig.wake(vcpu);
    assert_eq!(rig.home(vcpu), PcpuId(5));
    let pinned = rig.guest_on(P0);
    rig.set_hard(pinned, &[0]);
    rig.wake(pinned);
    assert_eq!(rig.home(pinned), P0);
}

/// Somebody boosted at the head of a queue runs in a moment: the second of two wake-ups at one
/// instant goes to another pcpu.
#[test]
fn wake_ups_of_one_instant_do_not_meet() {
    let mut rig = balanced([B, Under, Under, B, Idle, Idle, B, B]);
    let homes: Vec<u16> = (0..6)
        .map(|_| {
            let vcpu = rig.guest_on(P0);
            rig.wake(vcpu);
            rig.home(vcpu).0
        })
        .collect();
    assert_eq!(homes, [4, 5, 1, 2, 0, 3]);
}

#[test]
fn who_has_no_boost_or_is_still_in_a_switch_stays() {
    let mut rig = balanced([B, Idle, B, B, B, B, B, B]);
    let over = rig.guest_on(P0);
    rig.force(over, OVER);
    rig.wake(over);
    assert_eq!(rig.home(over), P0);
    let held = rig.guest_on(P0);
    rig.tables.vcpus[held.index()].on_pcpu = true;
    rig.wake(held);
    assert_eq!(rig.home(held), P0);
}

#[test]
fn a_search_looks_once_at_each_pcpu_at_most_and_says_so() {
    for pcpus in [1, 2, 4, 8, 16, 64, 256] {
        let topology = Topology::flat(pcpus).unwrap();
        let mut rig = Rig::with("3.4", topology, &[("boost_balance", 1)]);
        for p in 0..pcpus {
            rig.running_on(PcpuId(p), BOOST);
        }
        let vcpu = rig.guest_on(P0);
        rig.notes.clear();
        rig.tables.work.take(Work::Balance);
        rig.wake(vcpu);
        assert_eq!(rig.tables.work.count(Work::Balance), u32::from(pcpus));
        // Domain, vcpu, from and to, looks.
        let [note] = &rig.notes_of(BALANCED)[..] else {
            panic!("one search");
        };
        assert_eq!(note[2..], [0, u32::from(pcpus)]);
    }
}

#[test]
fn accounting_leaves_every_queue_in_order() {
    for (balance, ordered) in [(0, false), (1, true)] {
        let mut rig = Rig::with(
            "3.4",
            Topology::flat(1).unwrap(),
            &[("boost_balance", balance)],
        );
        rig.running_on(P0, UNDER);
        let poor = rig.queued_on(P0, UNDER);
        let rich = rig.queued_on(P0, OVER);
        let boosted = rig.queued_on(P0, UNDER);
        for (vcpu, credit) in [(poor, -1_000), (rich, 0)] {
            rig.call(|c, _| c.activate(vcpu));
            rig.set_credit(vcpu, credit);
        }
        rig.force(boosted, BOOST);
        rig.account();
        assert_eq!(rig.credit.priority(poor), OVER);
        assert_eq!(rig.credit.priority(rich), UNDER);
        let sorted = rig.queue(P0) == [boosted, rich, poor];
        assert_eq!(sorted, ordered, "{:?}", rig.queue(P0));
    }
}

// ---- the dispatching vector -----------------------------------------------------------------

/// A host of so many pcpus with the vector, whose pcpu 0 a driver domain's vcpu has.
fn driven(pcpus: u16, params: &[(&str, i64)]) -> (Rig, VcpuId) {
    let mut all = alloc::vec![("dispatch_vector", 1)];
    all.extend_from_slice(params);
    let mut rig = Rig::with("3.4", Topology::flat(pcpus).unwrap(), &all);
    let driver = rig.running_on(P0, UNDER);
    (rig, driver)
}

fn tell(rig: &mut Rig, vcpu: VcpuId, packets: u32) {
    rig.call(|c, cx| c.dispatching(cx, vcpu, packets));
}

#[test]
fn a_driver_domain_goes_on_until_its_packets_are_gone() {
    let (mut rig, driver) = driven(1, &[]);
    let guest = rig.guest_on(P0);
    tell(&mut rig, driver, 2);
    rig.wake(guest);
    assert_eq!(rig.tickled(), set(&[0]), "the pass comes");
    assert_eq!(rig.pass(P0).next, Some(driver), "and changes nothing");
    rig.skip(us(300));
    tell(&mut rig, driver, 1);
    assert!(rig.tickled().is_empty());
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(driver));
    tell(&mut rig, driver, 0);
    assert_eq!(rig.tickled(), set(&[0]), "the pass is made up for");
    rig.settle();
    assert_eq!(rig.current(P0), Some(guest));
    // Domain, vcpu, then packets; the driver domain; time held, passes, bound; time waited.
    assert_eq!(rig.notes_of(PUT_OFF), [[0, 0, 2], [0, 0, 1]]);
    assert_eq!(rig.notes_of(WAITS_FOR_DRIVER), [[1, 0, 0], [1, 0, 0]]);
    assert_eq!(rig.notes_of(DISPATCHED), [[0, 0, 300_000, 0, 2, 0]]);
    assert_eq!(rig.notes_of(WAITED), [[1, 0, 300_000, 0]]);
}

#[test]
fn the_bound_ends_a_hold_and_the_next_has_its_own() {
    let (mut rig, driver) = driven(1, &[("dispatch_hold_us", 500)]);
    let guest = rig.guest_on(P0);
    tell(&mut rig, driver, 9);
    // Nobody waits for the first 2 ms, which do not count.
    rig.skip(ms(2));
    rig.wake(guest);
    let pick = rig.pass(P0);
    assert_eq!((pick.next, pick.time_slice), (Some(driver), Some(us(500))));
    rig.skip(us(200));
    let pick = rig.pass(P0);
    assert_eq!((pick.next, pick.time_slice), (Some(driver), Some(us(300))));
    rig.skip(us(300));
    assert_eq!(rig.pass(P0).next, Some(guest), "the bound is over");
    assert_eq!(rig.notes_of(DISPATCHED), [[0, 0, 500_000, 0, 2, 1]]);
    // The guest is not held, though the driver domain has packets.
    rig.skip(us(50));
    rig.block(guest);
    rig.settle();
    assert_eq!(rig.current(P0), Some(driver));
    rig.wake(guest);
    let pick = rig.pass(P0);
    assert_eq!((pick.next, pick.time_slice), (Some(driver), Some(us(500))));
}

#[test]
fn nobody_else_goes_on_for_the_packets_of_a_driver_domain() {
    let (mut rig, driver) = driven(1, &[]);
    tell(&mut rig, driver, 5);
    rig.block(driver);
    let other = rig.guest_on(P0);
    rig.wake(other);
    rig.settle();
    assert_eq!(rig.current(P0), Some(other));
    rig.force(other, UNDER);
    rig.wake(driver);
    rig.settle();
    assert_eq!(rig.current(P0), Some(driver), "it preempts as ever");
}

#[test]
fn without_the_vector_nobody_listens() {
    let mut rig = Rig::new("3.4", 1);
    let driver = rig.running_on(P0, UNDER);
    let guest = rig.guest_on(P0);
    tell(&mut rig, driver, 2);
    rig.wake(guest);
    rig.settle();
    assert_eq!(rig.current(P0), Some(guest));
    for (word, how) in [(0, "off"), (1, "bit"), (2, "counter")] {
        let params = [("dispatch_vector", word)];
        let rig = Rig::with("3.4", Topology::flat(1).unwrap(), &params);
        let told = rig.credit.needs().dispatching;
        assert_eq!(
            <domio_contract::Dispatching as domio_core::params::ByWord>::WORDS[told as usize],
            how
        );
    }
}

/// The slice of a driver domain with packets ends, and its tick finds a better pcpu.
#[test]
fn neither_slice_nor_tick_takes_the_pcpu_away() {
    let (mut rig, driver) = driven(2, &[]);
    tell(&mut rig, driver, 2);
    let other = rig.queued_on(P0, UNDER);
    rig.set_hard(other, &[0]);
    rig.call(|c, _| c.activate(driver));
    rig.run_to(at_ms(95));
    assert_eq!(rig.current(P0), Some(driver));
    tell(&mut rig, driver, 0);
    rig.settle();
    assert_eq!(rig.current(P0), Some(other), "it has waited for its turn");
}

/// Zeng 2015, IV.C: who may not preempt the driver domain gets another pcpu.
#[test]
fn with_balancing_the_guest_runs_elsewhere() {
    for (balance, home) in [(0, P0), (1, P1)] {
        let (mut rig, driver) = driven(2, &[("boost_balance", balance)]);
        let hog = rig.running_on(P1, UNDER);
        let guest = rig.guest_on(P0);
        tell(&mut rig, driver, 3);
        rig.wake(guest);
        assert_eq!(rig.home(guest), home);
        rig.settle();
        assert_eq!(rig.current(P0), Some(driver));
        let there = if balance == 1 { guest } else { hog };
        assert_eq!(rig.current(P1), Some(there));
        // And none that has packets is preempted for that.
        tell(&mut rig, there, 3);
        let third = rig.guest_on(P1);
        rig.wake(third);
        rig.settle();
        assert_eq!(rig.current(P1), Some(there));
    }
}
