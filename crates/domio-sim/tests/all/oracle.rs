//! The queue against an obvious one: every observable result of every call must agree.

use domio_core::Instant;
use domio_sim::{EventQueue, TimerId};
use proptest::prelude::*;

/// The obvious queue: a list of all pending events, searched from end to end.
#[derive(Default)]
struct Obvious {
    now: u64,
    seq: u64,
    popped: u64,
    /// Time, sequence number, event, timer.
    pending: Vec<(u64, u64, u32, Option<usize>)>,
    timer_events: Vec<u32>,
}

impl Obvious {
    fn schedule(&mut self, at: u64, event: u32, timer: Option<usize>) {
        self.pending.push((at, self.seq, event, timer));
        self.seq += 1;
    }

    fn disarm(&mut self, timer: usize) {
        self.pending.retain(|entry| entry.3 != Some(timer));
    }

    fn deadline(&self, timer: usize) -> Option<u64> {
        let entry = self.pending.iter().find(|entry| entry.3 == Some(timer))?;
        Some(entry.0)
    }

    fn peek(&self) -> Option<u64> {
        self.pending.iter().map(|entry| entry.0).min()
    }

    fn pop(&mut self, until: u64) -> Option<(u64, u32)> {
        let (index, _) = (self.pending.iter().enumerate())
            .filter(|(_, entry)| entry.0 <= until)
            .min_by_key(|(_, entry)| (entry.0, entry.1))?;
        let (at, _, event, timer) = self.pending.remove(index);
        self.now = at;
        self.popped += 1;
        Some((at, timer.map_or(event, |timer| self.timer_events[timer])))
    }
}

#[derive(Clone, Debug)]
enum Op {
    Post {
        delay: u64,
    },
    /// Many posts at once, so that lists and buckets overflow.
    Burst {
        delay: u64,
        spread: u64,
        count: u16,
    },
    NewTimer,
    Arm {
        timer: usize,
        delay: u64,
    },
    /// One timer after the other for the same time, as the ticks of many processors are.
    ArmRow {
        first: usize,
        count: usize,
        delay: u64,
    },
    Rename {
        timer: usize,
    },
    Disarm {
        timer: usize,
    },
    Pop {
        wait: u64,
    },
    /// A delivery, and all those that follow it in a row.
    PopRow,
    PopMany {
        count: u16,
    },
    Drain,
}

/// Delays of every magnitude, with many equal ones among them.
fn delay() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => 0..4u64,
        3 => 0..200u64,
        3 => (0..8u64).prop_map(|n| n * 1_000),
        2 => 0..1_000_000u64,
        1 => (0..64u32, any::<u64>()).prop_map(|(bits, n)| n >> bits),
        1 => Just(u64::MAX),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => delay().prop_map(|delay| Op::Post { delay }),
        1 => (delay(), delay(), 1..200u16)
            .prop_map(|(delay, spread, count)| Op::Burst { delay, spread, count }),
        1 => Just(Op::NewTimer),
        6 => (any::<usize>(), delay()).prop_map(|(timer, delay)| Op::Arm { timer, delay }),
        3 => (any::<usize>(), 2..9usize, delay())
            .prop_map(|(first, count, delay)| Op::ArmRow { first, count, delay }),
        1 => any::<usize>().prop_map(|timer| Op::Rename { timer }),
        2 => any::<usize>().prop_map(|timer| Op::Disarm { timer }),
        6 => delay().prop_map(|wait| Op::Pop { wait }),
        3 => Just(Op::PopRow),
        2 => (1..150u16).prop_map(|count| Op::PopMany { count }),
        1 => Just(Op::Drain),
    ]
}

struct Pair {
    queue: EventQueue<u32>,
    obvious: Obvious,
    timers: Vec<TimerId>,
    next_event: u32,
}

impl Pair {
    fn new(timers: usize) -> Self {
        let mut pair = Pair {
            queue: EventQueue::new(),
            obvious: Obvious::default(),
            timers: Vec::new(),
            next_event: 0,
        };
        for _ in 0..timers {
            pair.new_timer();
        }
        pair
    }

    fn fresh(&mut self) -> u32 {
        self.next_event += 1;
        self.next_event
    }

    fn new_timer(&mut self) {
        let event = self.fresh();
        self.timers.push(self.queue.timer(event));
        self.obvious.timer_events.push(event);
    }

    fn post(&mut self, delay: u64) {
        let event = self.fresh();
        let at = self.obvious.now.saturating_add(delay);
        self.queue.post(Instant::from_nanos(at), event);
        self.obvious.schedule(at, event, None);
    }

    /// Arms a timer of those that there are, if any.
    fn arm(&mut self, timer: usize, delay: u64) {
        if !self.timers.is_empty() {
            let timer = timer % self.timers.len();
            let at = self.obvious.now.saturating_add(delay);
            self.queue.arm(self.timers[timer], Instant::from_nanos(at));
            self.obvious.disarm(timer);
            self.obvious.schedule(at, 0, Some(timer));
        }
    }

    fn pop(&mut self, until: u64) -> bool {
        let expected = self.obvious.pop(until);
        let delivered = self.queue.pop(Instant::from_nanos(until));
        assert_eq!(
            delivered.map(|(at, event)| (at.as_nanos(), event)),
            expected
        );
        expected.is_some()
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Post { delay } => self.post(delay),
            Op::Burst {
                delay,
                spread,
                count,
            } => {
                for i in 0..u64::from(count) {
                    // Scattered over the spread, and not in order.
                    let jitter = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % spread.max(1);
                    self.post(delay.saturating_add(jitter));
                }
            }
            Op::NewTimer => self.new_timer(),
            Op::Arm { timer, delay } => self.arm(timer, delay),
            Op::ArmRow {
                first,
                count,
                delay,
            } => {
                for timer in first % 1_000..first % 1_000 + count {
                    self.arm(timer, delay);
                }
            }
            Op::Rename { timer } if !self.timers.is_empty() => {
                let timer = timer % self.timers.len();
                let event = self.fresh();
                self.queue.set_timer_event(self.timers[timer], event);
                self.obvious.timer_events[timer] = event;
            }
            Op::Disarm { timer } if !self.timers.is_empty() => {
                let timer = timer % self.timers.len();
                self.queue.disarm(self.timers[timer]);
                self.obvious.disarm(timer);
            }
            Op::Rename { .. } | Op::Disarm { .. } => {}
            Op::Pop { wait } => {
                self.pop(self.obvious.now.saturating_add(wait));
            }
            Op::PopRow => {
                // What comes in a row is what would have come anyway, and counts once.
                self.pop(u64::MAX);
                while let Some(event) = self.queue.pop_in_row(|event| event % 7 != 0) {
                    let expected = self.obvious.pop(self.obvious.now);
                    assert_eq!(expected, Some((self.obvious.now, event)));
                    assert_ne!(event % 7, 0);
                    self.obvious.popped -= 1;
                }
            }
            Op::PopMany { count } => {
                for _ in 0..count {
                    self.pop(u64::MAX);
                }
            }
            Op::Drain => while self.pop(u64::MAX) {},
        }
    }

    fn compare(&mut self) {
        let (queue, obvious) = (&mut self.queue, &self.obvious);
        assert_eq!(queue.now().as_nanos(), obvious.now);
        assert_eq!(queue.popped(), obvious.popped);
        assert_eq!(queue.len(), obvious.pending.len());
        assert_eq!(queue.is_empty(), obvious.pending.is_empty());
        assert_eq!(queue.peek_time().map(Instant::as_nanos), obvious.peek());
        for (index, &timer) in self.timers.iter().enumerate() {
            let deadline = queue.deadline(timer).map(Instant::as_nanos);
            assert_eq!(deadline, obvious.deadline(index), "timer {index}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_queue_agrees_with_an_obvious_one(
        timers in prop_oneof![0..20usize, 60..80usize],
        ops in prop::collection::vec(op(), 1..120),
    ) {
        let mut pair = Pair::new(timers);
        for op in &ops {
            pair.apply(op);
            pair.compare();
        }
        pair.apply(&Op::Drain);
        pair.compare();
    }
}
