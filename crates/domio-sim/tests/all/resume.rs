//! A run that is interrupted and resumed is the run that was never interrupted; and the ways in
//! which a run ends.

use domio_core::{Duration, Instant};
use domio_sim::{
    EventQueue, Flow, Limit, Limits, Model, Outcome, RandomStream, StopCause, TimerId, run,
};
use proptest::prelude::*;

/// Entities that arm timers, at themselves and at each other, and post events, at random; and the
/// log of everything that was delivered.
struct Crowd {
    random: RandomStream,
    timers: Vec<TimerId>,
    log: Vec<(Instant, u32)>,
}

/// Events from here on are posts.
const POSTED: u32 = 1_000;

impl Crowd {
    fn new(seed: u64) -> (Self, EventQueue<u32>) {
        let mut queue = EventQueue::new();
        let timers: Vec<TimerId> = (0..7).map(|event| queue.timer(event)).collect();
        for &timer in &timers {
            queue.arm(timer, Instant::from_nanos(3));
        }
        let crowd = Crowd {
            random: RandomStream::new(seed, 0, "crowd"),
            timers,
            log: Vec::new(),
        };
        (crowd, queue)
    }
}

impl Model for Crowd {
    type Event = u32;

    fn handle(&mut self, queue: &mut EventQueue<u32>, event: u32) -> Flow {
        let now = queue.now();
        self.log.push((now, event));
        for _ in 0..self.random.below(3) {
            let timer = self.timers[self.random.below(7) as usize];
            queue.arm(timer, now + Duration::from_nanos(self.random.below(40)));
        }
        if event < POSTED {
            queue.arm(self.timers[event as usize], now + Duration::from_nanos(10));
            let delay = self.random.duration_exponential(Duration::from_nanos(25));
            queue.post(now + delay, POSTED + event);
        }
        Flow::Continue
    }
}

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

proptest! {
    #[test]
    fn resumed_runs_equal_one_long_run(
        seed in any::<u64>(),
        mut times in prop::collection::vec(0..2_000u64, 0..12),
        counts in prop::collection::vec(0..60u64, 0..12),
    ) {
        let (mut whole, mut queue) = Crowd::new(seed);
        let end = Limits::until(at(2_000));
        prop_assert_eq!(run(&mut whole, &mut queue, &end), Outcome::Completed { at: at(2_000) });
        prop_assert!(whole.log.len() > 200);

        let (mut parts, mut queue) = Crowd::new(seed);
        times.sort_unstable();
        for (time, count) in times.iter().zip(counts.iter().chain(std::iter::repeat(&u64::MAX))) {
            let limits = Limits { max_events: Some(*count), ..Limits::until(at(*time)) };
            let before = queue.popped();
            let outcome = run(&mut parts, &mut queue, &limits);
            prop_assert!(outcome.is_resumable());
            if let Outcome::LimitReached { limit, .. } = outcome {
                prop_assert_eq!(limit, Limit::Events(*count));
                prop_assert_eq!(queue.popped() - before, *count);
            }
        }
        prop_assert_eq!(run(&mut parts, &mut queue, &end), Outcome::Completed { at: at(2_000) });
        prop_assert_eq!(&parts.log, &whole.log);
    }
}

/// Posts the same event again after each delay in turn, then stops if told to.
struct Script {
    delays: Vec<u64>,
    stop: Option<StopCause>,
    handled: u64,
}

impl Script {
    fn new(delays: &[u64], stop: Option<StopCause>) -> (Self, EventQueue<()>) {
        let mut queue = EventQueue::new();
        queue.post(Instant::ZERO, ());
        let delays = delays.iter().rev().copied().collect();
        (
            Script {
                delays,
                stop,
                handled: 0,
            },
            queue,
        )
    }
}

impl Model for Script {
    type Event = ();

    fn handle(&mut self, queue: &mut EventQueue<()>, (): ()) -> Flow {
        self.handled += 1;
        match self.delays.pop() {
            Some(delay) => queue.post(queue.now() + Duration::from_nanos(delay), ()),
            None => match self.stop.clone() {
                Some(stop) => return Flow::Stop(Box::new(stop)),
                None => queue.post(queue.now(), ()),
            },
        }
        Flow::Continue
    }
}

#[test]
fn a_model_that_lets_no_time_pass_is_stalled_and_not_hung_on() {
    let (mut script, mut queue) = Script::new(&[5, 5], None);
    let outcome = run(&mut script, &mut queue, &Limits::until(at(100)));
    let limit = u64::from(Limits::DEFAULT_MAX_ROUNDS);
    assert_eq!(script.handled, 2 + limit);
    assert_eq!(
        outcome.to_string(),
        "stalled at 0.000000010 s: more than 100000 events at one instant, time does not pass"
    );
    assert!(!outcome.is_resumable());
}

#[test]
fn an_interrupted_instant_still_counts_as_one() {
    let limits = Limits {
        max_events: Some(4),
        max_rounds_at_one_instant: 10,
        ..Limits::until(at(100))
    };
    let (mut script, mut queue) = Script::new(&[], None);
    for _ in 0..2 {
        assert!(matches!(
            run(&mut script, &mut queue, &limits),
            Outcome::LimitReached {
                limit: Limit::Events(4),
                ..
            }
        ));
    }
    let outcome = run(&mut script, &mut queue, &limits);
    assert!(matches!(outcome, Outcome::Stalled { .. }), "{outcome}");
    assert_eq!(script.handled, 10);
}

#[test]
fn as_many_events_as_allowed_at_one_instant_are_not_a_stall() {
    let halt = StopCause::Halted {
        reason: "enough".to_string(),
    };
    let limits = Limits {
        max_rounds_at_one_instant: 3,
        ..Limits::until(at(100))
    };
    let (mut script, mut queue) = Script::new(&[0, 0, 1, 0, 0], Some(halt));
    let outcome = run(&mut script, &mut queue, &limits);
    assert_eq!(outcome.to_string(), "halted at 0.000000001 s: enough");
}

#[test]
fn a_model_stops_for_its_own_reasons() {
    let fault = "picked a blocked vcpu".to_string();
    let (mut script, mut queue) = Script::new(
        &[7],
        Some(StopCause::PolicyFault {
            fault: fault.clone(),
        }),
    );
    let outcome = run(&mut script, &mut queue, &Limits::until(at(100)));
    assert_eq!(outcome, Outcome::PolicyFault { at: at(7), fault });
    assert_eq!(outcome.at(), at(7));
    assert!(!outcome.is_resumable());

    let what = "nobody runs".to_string();
    let (mut script, mut queue) = Script::new(&[], Some(StopCause::Stalled { what: what.clone() }));
    let outcome = run(&mut script, &mut queue, &Limits::until(at(100)));
    assert_eq!(outcome, Outcome::Stalled { at: at(0), what });
}

#[test]
fn a_run_completes_at_its_time_limit_or_without_one_at_its_last_event() {
    struct Idle;
    impl Model for Idle {
        type Event = ();
        fn handle(&mut self, _: &mut EventQueue<()>, (): ()) -> Flow {
            Flow::Continue
        }
    }
    let mut queue = EventQueue::new();
    queue.post(at(3), ());
    queue.post(at(8), ());
    let outcome = run(&mut Idle, &mut queue, &Limits::until(at(5)));
    assert_eq!(outcome, Outcome::Completed { at: at(5) });
    assert_eq!((queue.now(), queue.len()), (at(3), 1));
    let outcome = run(&mut Idle, &mut queue, &Limits::until(Instant::MAX));
    assert_eq!(outcome, Outcome::Completed { at: at(8) });
    assert_eq!(outcome.to_string(), "completed at 0.000000008 s");

    // A limit on events that is reached with nothing left to do is no interruption.
    queue.post(at(9), ());
    let limits = Limits {
        max_events: Some(1),
        ..Limits::until(at(20))
    };
    let outcome = run(&mut Idle, &mut queue, &limits);
    assert_eq!(outcome, Outcome::Completed { at: at(20) });
}
