//! SEDF-DC: the paper's steps, with figures worked out by hand. A guest has 10 ms in 100 ms unless
//! a test says otherwise, and no extra time.

use super::*;
use domio_contract::Scheduler;

impl Rig {
    /// A rig of one pcpu under SEDF-DC.
    fn collecting(spread: bool) -> Rig {
        let mut rig = Rig::new("3.0", 1);
        let mut values = ParamValues::defaults(super::super::dc::DESCRIPTOR.params);
        values.set("spread_debt", i64::from(spread)).unwrap();
        rig.policy = Sedf::collecting(&values, &Topology::flat(1).unwrap());
        rig
    }

    fn charge(&mut self, vcpu: VcpuId, done: Duration) {
        let domain = self.tables.vcpus[vcpu.index()].name.domain;
        assert!(self.call(|s, cx| s.charge(cx, domain, done)));
    }

    /// What the domain of `vcpu` owes, in ms.
    fn owes(&self, vcpu: VcpuId) -> u64 {
        let domain = self.tables.vcpus[vcpu.index()].name.domain;
        let debt = self.policy.debt(domain).expect("it can be charged");
        debt.as_nanos() / 1_000_000
    }

    /// A guest that wakes at 0.
    fn ready(&mut self) -> VcpuId {
        let v = self.guest(&capped(100_000, 10_000));
        self.wake_now(v);
        v
    }
}

fn ms(ms: u64) -> Duration {
    us(ms * 1_000)
}

#[test]
fn the_first_deadline_is_a_period_from_the_first_wake_up() {
    let mut rig = Rig::collecting(false);
    rig.run_to(at_ms(30));
    let v = rig.ready();
    assert_eq!(rig.state(v).deadline, 130 * MS);
    rig.run_to(at_ms(131));
    let expected = [(30_000, Some(v)), (40_000, None), (130_000, Some(v))];
    assert_eq!(rig.switches, expected);
}

/// Ran 4 of 10: r = 6. A debt of 3 is paid at once: r = 3, which is there when it wakes.
#[test]
fn step_1_a_debt_within_what_is_left_is_paid_as_a_whole() {
    let mut rig = Rig::collecting(false);
    let v = rig.ready();
    rig.run_to(at_ms(3));
    rig.charge(v, ms(3));
    assert_eq!(
        (rig.owes(v), rig.state(v).remaining()),
        (3, 10 * MS),
        "not yet"
    );
    rig.run_to(at_ms(4));
    rig.block_now(v);
    assert_eq!((rig.owes(v), rig.state(v).remaining()), (0, 3 * MS));
    rig.run_to(at_ms(50));
    rig.wake_now(v);
    rig.run_to(at_ms(99));
    assert_eq!(rig.switches[2..], [(50_000, Some(v)), (53_000, None)]);
    rig.run_to(at_ms(120));
    assert_eq!(rig.switches[4..], [(100_000, Some(v)), (110_000, None)]);
}

/// Of a debt of 8 the 6 that are left pay 6. The period is over (step 2); the next one has 10 - 2.
#[test]
fn steps_1_and_2_a_larger_debt_ends_the_period() {
    let mut rig = Rig::collecting(false);
    let v = rig.ready();
    rig.run_to(at_ms(3));
    rig.charge(v, ms(8));
    rig.run_to(at_ms(4));
    rig.block_now(v);
    assert_eq!(rig.owes(v), 2);
    rig.run_to(at_ms(50));
    rig.wake_now(v);
    assert_eq!(rig.queue(Queue::Wait), [v]);
    rig.run_to(at_ms(150));
    assert_eq!(rig.switches[2..], [(100_000, Some(v)), (108_000, None)]);
    assert_eq!(rig.owes(v), 0);
}

/// A debt of 25: the periods from 100 and 200 pay 10 each, and that from 300 has 10 - 5.
#[test]
fn step_3_periods_without_a_rest_are_waited_over() {
    let mut rig = Rig::collecting(false);
    let v = rig.ready();
    rig.run_to(at_ms(20));
    rig.charge(v, ms(25));
    for (at, owed) in [(99, 25), (101, 15), (201, 5), (301, 0)] {
        rig.run_to(at_ms(at));
        assert_eq!(rig.owes(v), owed, "at {at} ms");
    }
    rig.run_to(at_ms(399));
    assert_eq!(rig.switches[2..], [(300_000, Some(v)), (305_000, None)]);
}

/// It blocks at 4 with r = 6 and d = 100, is charged 50, and wakes at 350. Two whole periods went
/// by: debt = 50 - 6 - 20 = 24. The period until 400 pays 10, that until 500 10, and the next has
/// 6.
#[test]
fn step_6_periods_asleep_pay() {
    let mut rig = Rig::collecting(false);
    let v = rig.ready();
    rig.run_to(at_ms(4));
    rig.block_now(v);
    rig.run_to(at_ms(10));
    rig.charge(v, ms(50));
    rig.run_to(at_ms(350));
    rig.wake_now(v);
    assert_eq!((rig.owes(v), rig.queue(Queue::Wait)), (14, [v].to_vec()));
    rig.run_to(at_ms(410));
    assert_eq!(rig.owes(v), 4);
    rig.run_to(at_ms(599));
    assert_eq!(rig.switches[2..], [(500_000, Some(v)), (506_000, None)]);
}

/// The same with a debt of 5: 5 - 6 - 20 would be -21, and r = 31. Nobody saves up by sleeping.
#[test]
fn step_6_a_debt_is_never_negative() {
    let mut rig = Rig::collecting(false);
    let v = rig.ready();
    rig.run_to(at_ms(4));
    rig.block_now(v);
    rig.charge(v, ms(5));
    rig.run_to(at_ms(350));
    rig.wake_now(v);
    rig.run_to(at_ms(499));
    let expected = [
        (350_000, Some(v)),
        (360_000, None),
        (400_000, Some(v)),
        (410_000, None),
    ];
    assert_eq!(rig.switches[2..], expected);
}

/// 25 periods of 20 ms in the feedback interval of 500 ms: 50 ms are 2 ms for each of them.
#[test]
fn a_debt_is_spread_over_the_periods_of_the_interval() {
    let mut rig = Rig::collecting(true);
    let v = rig.guest(&capped(20_000, 4_000));
    rig.wake_now(v);
    rig.run_to(at_ms(10));
    rig.charge(v, ms(50));
    rig.run_to(at_ms(19));
    assert_eq!(
        (rig.owes(v), rig.ran(v)),
        (50, ms(4)),
        "from the next period on"
    );
    for period in 1..=25 {
        rig.run_to(at_ms(20 * period + 10));
        assert_eq!(rig.owes(v), 50 - 2 * period);
        assert_eq!(rig.ran(v), ms(4 + 2 * period));
    }
    rig.run_to(at_ms(20 * 26 + 10));
    assert_eq!(rig.ran(v), ms(4 + 50 + 4));
}

/// A period as long as the interval pays at once: there is nothing to spread over.
#[test]
fn a_long_period_pays_all_that_it_can() {
    let mut rig = Rig::collecting(true);
    let v = rig.guest(&capped(400_000, 100_000));
    rig.wake_now(v);
    rig.run_to(at_ms(150));
    rig.charge(v, ms(130));
    rig.run_to(at_ms(450));
    assert_eq!(rig.owes(v), 30);
    rig.run_to(at_ms(850));
    assert_eq!((rig.owes(v), rig.current(P0)), (0, Some(v)));
    rig.run_to(at_ms(900));
    assert_eq!(rig.ran(v), ms(100 + 70));
}

/// What the division leaves waits for the next charge: 27 ns are 25 times 1 ns.
#[test]
fn the_rest_of_a_division_stays() {
    let mut rig = Rig::collecting(true);
    let v = rig.guest(&capped(20_000, 4_000));
    rig.wake_now(v);
    rig.run_to(at_ms(10));
    rig.charge(v, Duration::from_nanos(49));
    rig.run_to(at_ms(2_000));
    assert_eq!(
        rig.state(v).debt,
        0,
        "1 ns a period, also after the interval"
    );
    rig.charge(v, Duration::from_nanos(24));
    rig.run_to(at_ms(4_000));
    assert_eq!(rig.state(v).debt, 24);
}

#[test]
fn vcpus_of_a_domain_owe_equal_parts() {
    let mut rig = Rig::collecting(false);
    let domain = rig.domain(&capped(100_000, 10_000));
    let vcpus = [rig.vcpu(domain), rig.vcpu(domain)];
    rig.charge(vcpus[0], Duration::from_nanos(7));
    assert_eq!(vcpus.map(|v| rig.state(v).debt), [4, 3]);
}

#[test]
fn who_reserves_nothing_cannot_be_charged() {
    let mut rig = Rig::collecting(false);
    let domain = rig.domain(&[]);
    rig.vcpu(domain);
    assert_eq!(rig.policy.debt(domain), None);
    assert!(!rig.call(|s, cx| s.charge(cx, domain, ms(1))));
    assert!(
        !rig.call(|s, cx| s.charge(cx, DomainId(77), ms(1))),
        "no such"
    );
}

#[test]
fn plain_sedf_takes_no_charges() {
    let mut rig = Rig::new("3.1", 1);
    let domain = rig.domain(&capped(100_000, 10_000));
    rig.vcpu(domain);
    assert_eq!(rig.policy.debt(domain), None);
    assert!(!rig.call(|s, cx| s.charge(cx, domain, ms(1))));
}

/// A debt lies on the reservation alone. Turns of extra time go on, and cost what they cost.
#[test]
fn extra_time_pays_no_debt() {
    let mut rig = Rig::collecting(false);
    let v = rig.guest(&reserves(100_000, 10_000));
    rig.wake_now(v);
    rig.run_to(at_ms(20));
    rig.charge(v, ms(1_000));
    rig.run_to(at_ms(520));
    assert_eq!(rig.owes(v), 950);
    assert_eq!(rig.ran(v), ms(520));
}

/// Somebody else has the pcpu until after the deadline: the fresh slice of the next period pays.
#[test]
fn a_missed_deadline_does_not_cancel_a_debt() {
    let mut rig = Rig::collecting(false);
    let v = rig.ready();
    rig.run_to(at_ms(3));
    rig.charge(v, ms(17));
    rig.skip(ms(107));
    rig.pass(P0);
    // It ran for 110 of 10: the paper's r would be -100. What it ran too much SEDF carries over,
    // and forgets with the deadline that is missed by that.
    assert_eq!(rig.owes(v), 17);
    rig.run_to(at_ms(399));
    assert_eq!(rig.owes(v), 0);
}

#[test]
fn the_queues_stay_true_while_debts_come() {
    for seed in 0..60 {
        invariants::live_with_debts(seed);
    }
}

#[test]
fn the_state_names_debts() {
    let mut rig = Rig::collecting(true);
    let v = rig.ready();
    rig.charge(v, ms(5));
    let text = alloc::format!("{}", domio_contract::StateRows::of(&rig.policy));
    assert!(
        text.starts_with("sedf-dc 3.0, debts spread over 500 ms\n"),
        "{text}"
    );
    assert!(text.contains(", owes 5 ms"), "{text}");
    let charged = rig.notes_of(11);
    assert_eq!(charged.last().unwrap()[1..], [5_000_000, 5_000_000]);
    rig.run_to(at_ms(101));
    assert_eq!(
        rig.notes_of(12).last().unwrap()[1..],
        [1_000_000, 4_000_000]
    );
}
