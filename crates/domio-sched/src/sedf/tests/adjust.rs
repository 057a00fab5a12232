//! Changes by an operator, and weights that become slices.

use super::*;

/// Period, slice, and both as given, in microseconds.
fn reservation(rig: &Rig, v: VcpuId) -> [i64; 4] {
    let v = rig.state(v);
    [v.period, v.slice, v.period_orig, v.slice_orig].map(|t| t / US)
}

#[test]
fn what_a_domain_is_created_with_depends_on_the_release() {
    for (version, dom0, extraweight) in [
        ("3.0", [20_000, 15_000], 0),
        ("3.1", [20_000, 15_000], 1),
        ("4.1", [20_000, 15_000], 1),
        ("4.2", [100_000, 0], 1),
    ] {
        let mut rig = Rig::new(version, 1);
        let [control, guest] = [rig.dom0(), rig.guest(&[])];
        assert_eq!(reservation(&rig, control)[..2], dom0, "{version}");
        assert_eq!(rig.state(control).extraweight, extraweight, "{version}");
        assert_eq!(reservation(&rig, guest)[..2], [100_000, 0]);
        assert_eq!(rig.state(guest).extraweight, 1);
        assert!(
            [control, guest]
                .iter()
                .all(|v| rig.state(*v).has(flag::AWARE))
        );
    }
}

#[test]
fn a_reservation_ends_the_extra_weight() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(50_000, 10_000));
    assert_eq!(reservation(&rig, v), [50_000, 10_000, 50_000, 10_000]);
    assert_eq!((rig.state(v).weight, rig.state(v).extraweight), (0, 0));
}

#[test]
fn a_weight_alone_is_one_of_extra_time() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&[("weight", 7)]);
    assert_eq!(reservation(&rig, v)[..2], [100_000, 0]);
    assert_eq!((rig.state(v).weight, rig.state(v).extraweight), (0, 7));
}

/// Xen does not touch the original reservation then: weights are shared out as if it were there.
#[test]
fn an_old_reservation_stays_in_the_books_of_a_best_effort_domain() {
    let mut rig = Rig::new("3.1", 1);
    let dom0 = rig.dom0();
    rig.adjust(DomainId(0), &[("weight", 1)]);
    assert_eq!(reservation(&rig, dom0), [100_000, 0, 20_000, 15_000]);
    let v = rig.guest(&[("weight", 1), ("extratime", 0)]);
    assert_eq!(rig.state(v).slice, 20 * MS, "95 ms without 75 ms");
}

#[test]
fn weights_share_what_reservations_on_their_pcpu_leave() {
    let mut rig = Rig::new("3.1", 2);
    let weighted = [("weight", 1), ("period_us", 50_000)];
    let on = |rig: &mut Rig, params: &[(&str, i64)], pcpu| {
        let domain = rig.domain(params);
        rig.vcpu_within(domain, CpuSet::of(pcpu))
    };
    let a = on(&mut rig, &weighted, P0);
    assert_eq!(reservation(&rig, a), [100_000, 95_000, 100_000, 95_000]);
    on(&mut rig, &reserves(30_000, 10_000), P0);
    assert_eq!(rig.state(a).slice, 95 * MS - 33_333_333);
    let b = on(&mut rig, &[("weight", 2), ("period_us", 50_000)], P1);
    assert_eq!(
        rig.state(b).slice,
        95 * MS,
        "the other pcpu does not matter"
    );
    let c = on(&mut rig, &weighted, P1);
    assert_eq!([b, c].map(|v| rig.state(v).slice), [63_333_333, 31_666_666]);
    assert_eq!(rig.state(a).slice, 95 * MS - 33_333_333);
}

#[test]
fn nothing_is_left_for_weights_when_more_is_reserved() {
    let mut rig = Rig::new("3.1", 1);
    let a = rig.guest(&[("weight", 1), ("extratime", 0)]);
    rig.guest(&reserves(100_000, 96_000));
    assert_eq!(rig.state(a).slice, -MS, "95 ms without 96 ms");
    rig.wake(a);
    rig.run_to(at_ms(1000));
    assert_eq!(rig.ran(a), Duration::ZERO);
}

/// The original slice stays in the books of who goes back to best effort, here with its sign.
#[test]
fn a_negative_slice_in_the_books_gives_the_others_more() {
    let mut rig = Rig::new("3.1", 1);
    rig.guest(&[("weight", 1), ("extratime", 0)]);
    let reserved = rig.guest(&reserves(100_000, 96_000));
    rig.adjust(DomainId(1), &[("weight", 1)]);
    rig.adjust(DomainId(2), &reserves(100_000, 40_000));
    let other = rig.guest(&[("weight", 1), ("extratime", 0)]);
    assert_eq!(rig.state(reserved).slice, 40 * MS);
    assert_eq!(rig.state(other).slice, 56 * MS, "95 ms without 40 and -1");
}

/// A vcpu that comes to the head of the run queue with a negative slice runs for 500 us.
#[test]
fn a_negative_time_becomes_500_us() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&[("weight", 1), ("extratime", 0)]);
    rig.guest(&reserves(100_000, 96_000));
    rig.wake(v);
    // As if no pass had come for more than a period.
    rig.skip(Duration::from_millis(250));
    let pick = rig.pass(P0);
    assert_eq!(pick.next, Some(v));
    assert_eq!(pick.time_slice, Some(Duration::from_micros(500)));
}

#[test]
fn slices_follow_a_change_and_not_a_departure() {
    let mut rig = Rig::new("3.1", 1);
    let weighted = [("weight", 1), ("extratime", 0)];
    let [a, b] = [0; 2].map(|_| rig.guest(&weighted));
    assert_eq!([a, b].map(|v| rig.state(v).slice), [47_500_000; 2]);
    rig.tables.vcpus[b.index()].pause.set(Pause::DOWN);
    rig.call(|s, cx| s.remove(cx, b));
    assert_eq!(rig.state(a).slice, 47_500_000);
    // Nor does a domain that nobody adjusts change anything when it comes.
    let c = rig.guest(&[]);
    assert_eq!(rig.state(a).slice, 47_500_000);
    rig.adjust(rig.tables.vcpus[c.index()].name.domain, &[]);
    assert_eq!(rig.state(a).slice, 95_000_000);
}

#[test]
fn what_xen_refuses_changes_nothing() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(50_000, 10_000));
    let domain = DomainId(1);
    for refused in [
        &[("slice_us", 100_001)][..],
        &reserves(10_000, 10_001),
        &[("period_us", 50_000)],
        &[("extratime", 0)],
        &[("latency_us", 1_000)],
    ] {
        rig.adjust(domain, refused);
        assert_eq!(
            reservation(&rig, v),
            [50_000, 10_000, 50_000, 10_000],
            "{refused:?}"
        );
        assert!(rig.state(v).has(flag::AWARE));
    }
    // A new domain stays as it was created.
    let w = rig.guest(&reserves(10_000, 10_001));
    assert_eq!(reservation(&rig, w)[..2], [100_000, 0]);
    assert_eq!(rig.state(w).extraweight, 1);
}

#[test]
fn a_slice_alone_is_one_of_the_period_that_it_was_created_with() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&[("slice_us", 30_000)]);
    assert_eq!(reservation(&rig, v)[..2], [100_000, 30_000]);
    let dom0 = rig.dom0();
    rig.adjust(DomainId(0), &[("slice_us", 5_000)]);
    assert_eq!(reservation(&rig, dom0)[..2], [20_000, 5_000]);
    rig.adjust(DomainId(0), &[("period_us", 60_000)]);
    assert_eq!(reservation(&rig, dom0)[..2], [60_000, 15_000]);
    rig.adjust(DomainId(0), &[("extratime", 0)]);
    assert_eq!(reservation(&rig, dom0)[..2], [20_000, 15_000]);
    assert!(!rig.state(dom0).has(flag::AWARE));
    assert_eq!(rig.state(dom0).extraweight, 0);
}

#[test]
fn nothing_said_brings_back_what_it_was_created_with() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(50_000, 10_000));
    rig.adjust(DomainId(1), &[]);
    assert_eq!(reservation(&rig, v), [100_000, 0, 100_000, 0]);
    assert!(rig.state(v).has(flag::AWARE));
    assert_eq!(rig.state(v).extraweight, 1);
}

#[test]
fn extra_time_can_be_taken_and_given_while_a_vcpu_waits() {
    let mut rig = Rig::new("3.1", 1);
    let hog = rig.guest(&capped(20_000, 15_000));
    let v = rig.guest(&reserves(40_000, 5_000));
    rig.wake(hog);
    rig.wake(v);
    rig.run_to(at_ms(17));
    assert_eq!(rig.queue(Queue::Utilisation), [v]);
    rig.adjust(DomainId(2), &capped(40_000, 5_000));
    assert_eq!(rig.queue(Queue::Utilisation), []);
    rig.adjust(DomainId(2), &reserves(40_000, 5_000));
    assert_eq!(rig.queue(Queue::Utilisation), [v]);
    // One that sleeps joins when it wakes.
    let asleep = rig.guest(&reserves(40_000, 5_000));
    rig.adjust(DomainId(3), &reserves(40_000, 6_000));
    assert!(!rig.state(asleep).is_in(Queue::Utilisation));
}

#[test]
fn a_turn_that_has_begun_goes_on_without_extra_time() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(40_000, 5_000));
    rig.wake_now(v);
    assert!(rig.state(v).has(flag::RUN_UTILISATION));
    rig.adjust(DomainId(1), &capped(40_000, 5_000));
    assert_eq!(rig.queue(Queue::Utilisation), [v]);
    rig.run_to(at_us(500));
    assert_eq!(rig.current(P0), None);
    assert_eq!(rig.queue(Queue::Utilisation), []);
}

#[test]
fn a_change_tickles_nobody_and_moves_no_deadline() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(100_000, 5_000));
    rig.wake_now(v);
    rig.tickled();
    rig.adjust(DomainId(1), &capped(10_000, 2_000));
    assert_eq!(rig.tickled(), CpuSet::EMPTY);
    assert_eq!(
        (rig.state(v).deadline, rig.state(v).begin()),
        (105 * MS, 95 * MS)
    );
}

/// A domain that goes from a long reservation to best effort in the middle of its slice has a
/// period that is shorter than the original one, and "doubles back" to all of that.
#[test]
fn leaving_a_slice_can_bring_an_old_reservation_back() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(200_000, 50_000));
    rig.wake(v);
    rig.run_to(at_ms(60));
    assert!(rig.current(P0) == Some(v) && rig.state(v).extra_turn().is_none());
    rig.adjust(DomainId(1), &[("weight", 1)]);
    assert_eq!(reservation(&rig, v), [100_000, 0, 200_000, 50_000]);
    rig.run_to(at_ms(100));
    assert_eq!(reservation(&rig, v), [200_000, 0, 200_000, 50_000]);
}
