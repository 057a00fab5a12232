//! Private records, and the state for people.

use super::*;

/// The records of a run, as "event vcpu second third".
fn records(rig: &Rig) -> Vec<(u8, u32, u32, u32)> {
    let word = |n: &[u32], i: usize| n.get(i).copied().unwrap_or(0);
    let notes = rig.notes.iter();
    notes
        .map(|(e, n)| (*e, word(n, 0), word(n, 1), word(n, 2)))
        .collect()
}

#[test]
fn deadlines_slices_and_turns_are_recorded() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&[("period_us", 5_000_000), ("slice_us", 600)]);
    rig.notes.clear();
    let name = 1 << 16;
    rig.wake(v);
    // Its first period begins at 600 us; the deadline is over 2^32 ns away.
    assert_eq!(records(&rig), [(6, name, u32::MAX, 0)]);
    rig.notes.clear();
    rig.run_to(at_us(600));
    let expected = [
        (3, name, 1, 0),
        (4, name, 1 | 256, (5_000_000_u64 * 1024 / 600) as u32),
        (9, 100_000, 0, 0),
        (2, name, 600_000, u32::MAX),
    ];
    assert_eq!(records(&rig), expected);
    rig.notes.clear();
    rig.run_to(at_us(700));
    rig.block_now(v);
    rig.run_to(at_us(900));
    rig.wake_now(v);
    let score = (5_000_000_u64 * 1024 / 500) as u32;
    let expected = [(6, name, u32::MAX, 500_000), (3, name, 0, score)];
    assert_eq!(records(&rig), expected);
    rig.notes.clear();
    rig.run_to(at_us(1_400));
    assert_eq!(records(&rig)[0], (4, name, 0, score));
    rig.notes.clear();
    // The slice of the next period is used up: the deadline is absolute, in two words.
    rig.run_to(at_us(5_001_200));
    let deadline: u64 = 15_000_600_000;
    let words = (deadline as u32, (deadline >> 32) as u32);
    let deadlines: Vec<_> = records(&rig).into_iter().filter(|r| r.0 == 1).collect();
    assert_eq!(deadlines, [(1, name, words.0, words.1)]);
}

#[test]
fn a_wake_up_in_extra_time_and_a_change_are_recorded() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&[]);
    rig.wake_now(v);
    let long_block = (7, 1 << 16, 100_000_000, 0);
    assert_eq!(records(&rig)[0], long_block);
    rig.block_now(v);
    rig.notes.clear();
    rig.wake(v);
    assert_eq!(
        records(&rig),
        [(5, 1 << 16, 200_000_000, 0)],
        "the deadline stays"
    );
    rig.notes.clear();
    rig.adjust(DomainId(1), &reserves(30_000, 10_000));
    assert_eq!(records(&rig), [(10, 1 << 16, 30_000_000, 10_000_000)]);
}

/// Who may not run before its next period is on record, and so is the end of that; who shares extra
/// time may run at any time.
#[test]
fn slices_that_are_used_up_are_recorded() {
    let told = |params: &[(&str, i64)]| {
        let mut rig = Rig::new("3.1", 1);
        let v = rig.guest(params);
        rig.notes.clear();
        rig.wake(v);
        let woke = rig.notes[0].1.clone();
        rig.run_to(at_ms(31));
        let all = records(&rig).into_iter();
        let told: Vec<_> = all
            .filter(|(number, ..)| [14, 15].contains(number))
            .collect();
        (woke[3], told)
    };
    let (may_run_for, held) = told(&capped(20_000, 5_000));
    assert_eq!(may_run_for, 0, "the wake-up says so in its own record");
    let name = 1 << 16;
    // The first whole period begins at 5 ms, see the tests of the communication-aware variant.
    let used_up = (14, name, 0, 15_000_000);
    let filled = (15, name, 5_000_000, 20_000_000);
    assert_eq!(held, [filled, used_up, filled, used_up]);
    let (_, sharing) = told(&reserves(20_000, 5_000));
    assert_eq!(sharing, []);
}

#[test]
fn without_a_trace_nothing_is_recorded() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&[]);
    rig.tables.vcpus[v.index()].pause = Pause::NONE;
    let mut effects = Vec::new();
    let mut cx = Cx::new(rig.now, &mut rig.tables, &mut effects, false);
    rig.policy.wake(&mut cx, v, Wake::Event);
    assert_eq!(effects, [Effect::Tickle(P0)]);
}

#[test]
fn the_dump_shows_queues_and_reservations() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(20_000, 5_000));
    let w = rig.guest(&[("weight", 3), ("extratime", 0)]);
    rig.wake(v);
    rig.run_to(at_ms(7));
    rig.block_now(v);
    rig.run_to(at_ms(8));
    rig.wake_now(v);
    let text = alloc::format!("{}", domio_contract::StateRows::of(&rig.policy));
    let expected = "\
sedf 3.1, unblock ExtraSupport
p0: slice ends 0.008500000 s
  Wait: 0
  Penalty: 0
  Utilisation: 0
vcpu 0 of d1 on p0: 5 ms in 20 ms, used 0 ns, deadline 0.045000000 s, scores 6826 4096, extra 0, \
extra time, owed a turn, in a turn of extra time
vcpu 1 of d2 on p0: 70 ms in 100 ms, used 0 ns, deadline never, scores 0 0, extra 1, weight 3
";
    assert_eq!(text, expected);
    assert!(!rig.state(w).linked());
}
