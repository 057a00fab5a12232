//! Vcpus that their own settings hold back: caps that park them, and budgets that are used up.

use super::*;

#[test]
fn who_could_run_and_is_put_to_sleep_is_parked() {
    let mut trace = Trace::new(3);
    trace.at(0).wakes(1).runs(1, Blocked);
    trace.at(100).put(Kind::Sleep, first(1), [0; 4]);
    trace.at(101).state(1, Running, Offline);
    trace.running.clear();
    trace.at(500).wakes(2).runs(2, Blocked);
    trace.at(600).state(1, Offline, Runnable);
    trace.at(700).runs(1, Runnable);
    trace.at(800).put(Kind::Sleep, first(2), [0; 4]);
    trace.state(2, Runnable, Offline);
    // It slept anyway.
    trace.state(3, Blocked, Offline);
    trace.at(1_000).state(2, Offline, Offline);
    let waiting = trace.waiting();
    let [first, second, third] = &waiting.vcpus[..] else {
        panic!("three vcpus: {waiting:?}");
    };
    // Credit parks whom it finds in a queue, too.
    assert_eq!((first.parked, first.paused), (499_000, 0));
    assert_eq!((second.parked, second.paused), (200_000, 0));
    assert_eq!((third.parked, third.paused), (0, 200_000));
    assert_eq!(first.lost()[0], (Why::Parked, 499_000));
    assert_eq!(waiting.lost()[0], (Why::Parked, 699_000));
    assert_eq!(trace.times(1), [(2, Why::Released, 100)]);
}

#[test]
fn who_has_used_up_a_budget_of_its_own_is_parked_until_that_is_filled_up() {
    let mut trace = Trace::new(1);
    trace.at(0).wakes(1).runs(1, Blocked);
    trace.at(400).tells(RTDS_ID, 3, 1, &[0, 0]);
    trace.state(1, Running, Runnable);
    trace.running.clear();
    trace.at(1_000).tells(RTDS_ID, 4, 1, &[]);
    trace.at(1_300).runs(1, Runnable);
    // Some is left: another took the pcpu.
    trace.at(1_400).tells(RTDS_ID, 3, 1, &[7, 0]);
    trace.state(1, Running, Runnable);
    trace.at(1_500).state(1, Runnable, Runnable);
    assert_eq!(trace.times(1), [(0, Why::Preempted, 400)]);
    // Runnable, and held back: no wait, as a vcpu that a cap has parked does not wait.
    let waiting = trace.waiting();
    let first = &waiting.vcpus[0];
    assert_eq!((first.parked, first.out_of_budget), (600_000, 600_000));
    assert_eq!(first.lost()[0], (Why::Budget, 600_000));
    let longest: Vec<(u64, u64)> = waiting
        .worst
        .iter()
        .map(|wait| (wait.begin.as_nanos(), wait.length))
        .collect();
    assert_eq!(longest[0], (1_000_000, 300_000), "since it was filled up");
    let tells = waiting.tells;
    assert!(tells.told(Why::Budget) && tells.possible(Why::Budget));
    let cure = Why::Budget.cure(tells.policy).unwrap();
    assert!(cure.contains("budget_us"), "{cure}");
    // Weights and slices do not exist there.
    let cure = Why::SliceOver.cure(tells.policy).unwrap();
    assert!(
        cure.contains("reservation") && !cure.contains("weight"),
        "{cure}"
    );
}
