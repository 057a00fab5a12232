//! Which process runs next.

use domio_core::{Duration, Instant};
use domio_vmm::process::order::{ChosenProcess, LinuxOrder};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn at(ms: u64) -> Instant {
    Instant::ZERO + MS(ms)
}

/// Two processes of nice 0, and the thread.
fn two() -> LinuxOrder {
    LinuxOrder::new([0, 0].into_iter(), Instant::ZERO)
}

#[test]
fn slices_are_those_of_the_table() {
    let slice = |nice| {
        let mut order = LinuxOrder::new([nice, nice].into_iter(), Instant::ZERO);
        assert_eq!(
            order.choose(at(0), |i| i < 2),
            Some(ChosenProcess::Process(0))
        );
        order.turn()
    };
    let slices = [-20, -1, 0, 10, 19].map(slice);
    assert_eq!(slices, [MS(800), MS(420), MS(100), MS(50), MS(5)]);
}

/// Whether a process of nice `sleeper` that has slept so many ms, again and again, preempts one of
/// nice `fresh` that has never slept.
fn preempts(sleeper: i64, sleeps: &[u64], fresh: i64) -> bool {
    let mut order = LinuxOrder::new([sleeper, fresh].into_iter(), Instant::ZERO);
    let mut now = 0;
    for sleep in sleeps {
        order.choose(at(now), |_| false);
        now += sleep;
        if now == sleeps.iter().sum::<u64>() {
            break;
        }
        order.choose(at(now), |i| i == 0);
    }
    // The other one has not slept at all: it has come from another vcpu.
    let other = LinuxOrder::new([0, fresh].into_iter(), at(now)).give(1);
    order.take(1, other);
    let mut first = order.clone();
    assert_eq!(
        first.choose(at(now), |i| i == 1),
        Some(ChosenProcess::Process(1))
    );
    first.choose(at(now), |i| i < 2) == Some(ChosenProcess::Process(0))
}

/// Without any sleep a priority is five below the nice value, with all of it five above: ten steps
/// of nice values are as much as a second of sleep, and one is a tenth.
#[test]
fn priorities_are_those_of_the_table() {
    for (sleeps, steps) in [
        (&[700, 700][..], 10),
        (&[500, 500], 10),
        (&[500, 499], 9),
        (&[100], 1),
        (&[99], 0),
    ] {
        let worse = -5 + steps;
        assert!(preempts(worse - 1, sleeps, -5), "{sleeps:?}");
        // Who has the same priority does not.
        assert!(!preempts(worse, sleeps, -5), "{sleeps:?}");
    }
}

/// Whether a process of `nice` that has slept so many ms in two sleeps goes on when it has used up
/// its slice, though another one waits.
fn is_interactive(nice: i64, sleeps: [u64; 2]) -> bool {
    let mut order = LinuxOrder::new([nice, 19].into_iter(), Instant::ZERO);
    order.choose(at(0), |_| false);
    order.choose(at(sleeps[0]), |i| i == 0);
    order.choose(at(sleeps[0]), |_| false);
    let now = sleeps[0] + sleeps[1];
    let other = LinuxOrder::new([0, 19].into_iter(), at(now)).give(1);
    order.take(1, other);
    assert_eq!(
        order.choose(at(now), |i| i < 2),
        Some(ChosenProcess::Process(0))
    );
    let slice = order.turn();
    order.ran(slice);
    let then = at(now) + slice;
    order.choose(then, |i| i < 2) == Some(ChosenProcess::Process(0))
}

/// What executing takes from the sleep is the time over the steps: a slice of 100 ms takes a
/// seventh at seven steps.
#[test]
fn who_is_interactive_goes_on_after_a_slice() {
    // From two above on at nice 0: seven steps.
    assert!(is_interactive(0, [400, 315]));
    assert!(!is_interactive(0, [400, 314]));
    // At 19 never.
    assert!(!is_interactive(19, [700, 700]));
    // At -20 from three below on: two steps, which a slice of 800 ms leaves of four.
    assert!(is_interactive(-20, [200, 200]));
    assert!(!is_interactive(-20, [200, 199]));
}

#[test]
fn who_computes_takes_turns_of_a_slice() {
    let mut order = two();
    let both = |i: usize| i < 2;
    assert_eq!(order.choose(at(0), both), Some(ChosenProcess::Process(0)));
    assert_eq!(order.turn(), MS(100));
    order.ran(MS(60));
    assert_eq!(order.choose(at(60), both), Some(ChosenProcess::Process(0)));
    assert_eq!(order.turn(), MS(40), "an interrupt does not end the turn");
    order.ran(MS(40));
    assert_eq!(order.choose(at(100), both), Some(ChosenProcess::Process(1)));
    order.ran(MS(100));
    assert_eq!(order.choose(at(200), both), Some(ChosenProcess::Process(0)));
    assert_eq!(
        order.choose(at(200), |i| i == 0),
        Some(ChosenProcess::Process(0))
    );
    assert_eq!(order.turn(), Duration::MAX, "alone");
}

#[test]
fn who_sleeps_preempts_who_computes() {
    let mut order = two();
    assert_eq!(
        order.choose(at(0), |i| i == 0),
        Some(ChosenProcess::Process(0))
    );
    order.ran(MS(50));
    // It has slept for 50 ms, half a step: no better than the other, who came first.
    let both = |i: usize| i < 2;
    assert_eq!(order.choose(at(50), both), Some(ChosenProcess::Process(0)));
    order.ran(MS(50));
    assert_eq!(order.choose(at(100), both), Some(ChosenProcess::Process(1)));
    order.ran(MS(1));
    assert_eq!(
        order.choose(at(101), |i| i == 0),
        Some(ChosenProcess::Process(0))
    );
    // After 400 ms more it is four steps above.
    order.ran(MS(99));
    assert_eq!(order.choose(at(501), both), Some(ChosenProcess::Process(1)));
}

#[test]
fn one_long_sleep_makes_interactive_and_no_more() {
    // 8 of 10 steps, less a nanosecond: 7 steps.
    const HOUR: u64 = 3_600_000;
    for sleeps in [&[HOUR][..], &[HOUR, HOUR]] {
        assert!(preempts(1, sleeps, -5), "{sleeps:?}");
        assert!(!preempts(2, sleeps, -5), "{sleeps:?}");
    }
    assert!(preempts(0, &[HOUR], -6) && !preempts(0, &[HOUR], -7));
    assert!(is_interactive(0, [HOUR, HOUR]));
}

#[test]
fn the_thread_of_the_softirqs_waits_for_a_turn() {
    let mut order = two();
    let thread = 2;
    let all = |i: usize| i == 0 || i == thread;
    assert_eq!(order.choose(at(0), all), Some(ChosenProcess::Process(0)));
    order.ran(MS(100));
    // The one that computes has used up its slice.
    assert_eq!(order.choose(at(100), all), Some(ChosenProcess::Thread));
    order.ran(MS(5));
    assert_eq!(order.choose(at(105), all), Some(ChosenProcess::Process(0)));
}
