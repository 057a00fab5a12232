//! A queue on a clock of its own, without a host.
//!
//! At one time: timers, then ends of commands, then requests. After each of these, the work that
//! was asked for runs, then the submitters that were woken.

use super::timers::{QueueTimers, Ticks};
use super::{DiskQueue, QueueLimits, Submitted};
use crate::elevator::{
    ElevatorInfo, Jiffies, QueueAction, QueueWork, RequestId, Submitter, Tuning,
};
use alloc::collections::VecDeque;
use domio_core::Instant;

/// The kernel's tick at time zero.
const FIRST_TICK: Jiffies = 1_000_000;

/// A queue with its clock, and what the queue has asked for.
pub(crate) struct ClockedQueue {
    /// The queue.
    pub queue: DiskQueue,
    /// The time.
    pub now: Instant,
    ticks: Ticks,
    timers: QueueTimers,
    work: VecDeque<QueueWork>,
    woken: VecDeque<Submitter>,
}

impl ClockedQueue {
    /// An empty queue at time zero.
    pub fn new(limits: QueueLimits, elevator: &ElevatorInfo, tuning: &Tuning) -> Self {
        ClockedQueue {
            queue: DiskQueue::new(limits, (elevator.make)(tuning, FIRST_TICK)),
            now: Instant::ZERO,
            ticks: Ticks {
                hz: limits.hz,
                first: FIRST_TICK,
            },
            timers: QueueTimers::default(),
            work: VecDeque::new(),
            woken: VecDeque::new(),
        }
    }

    /// The kernel's tick now.
    pub fn jiffies(&self) -> Jiffies {
        self.ticks.at(self.now)
    }

    /// When the next timer fires.
    fn tick(&self) -> Option<Instant> {
        self.timers.next().map(|jiffy| self.ticks.begin(jiffy))
    }
}

/// Drive and submitters around a [`ClockedQueue`].
pub(crate) trait QueueRig {
    /// The queue.
    fn clocked(&mut self) -> &mut ClockedQueue;

    /// When something happens in the drive next, and when the next request comes.
    fn next_outside(&self) -> [Option<Instant>; 2];

    /// What happens in the drive now.
    fn advance(&mut self);

    /// The next request comes.
    fn submit(&mut self);

    /// The driver takes a request.
    fn start(&mut self, rq: RequestId);

    /// Completes a request that the drive has finished and [`QueueRig::advance`] has not
    /// completed; says whether there was one.
    fn complete(&mut self) -> bool {
        false
    }

    /// A submitter that slept was woken and continued.
    fn resumed(&mut self, submitter: Submitter, submitted: Submitted);

    /// When something happens next.
    fn next(&mut self) -> Option<Instant> {
        let [end, request] = self.next_outside();
        let times = [self.clocked().tick(), end, request];
        times.into_iter().flatten().min()
    }

    /// The next thing happens, with what follows at the same time. Says whether there was one.
    fn step(&mut self) -> bool {
        let Some(next) = self.next() else {
            return false;
        };
        let [end, _] = self.next_outside();
        let clocked = self.clocked();
        let now = next.max(clocked.now);
        clocked.now = now;
        clocked.queue.tell_ns(clocked.ticks.ns(now));
        if clocked.tick().is_some_and(|tick| tick <= now) {
            self.fire();
        } else if end.is_some_and(|end| end <= now) {
            self.advance();
        } else {
            self.submit();
        }
        self.settle();
        true
    }

    /// All timers of this tick fire, by expiry, then by arming.
    fn fire(&mut self) {
        let now = self.clocked().jiffies();
        while let Some(timer) = self.clocked().timers.take(now) {
            self.clocked().queue.timer(now, timer);
            self.carry_out();
        }
    }

    /// Runs what was asked for, until nothing is left.
    fn settle(&mut self) {
        loop {
            self.carry_out();
            let clocked = self.clocked();
            let now = clocked.jiffies();
            if let Some(work) = clocked.work.pop_front() {
                clocked.queue.work(now, work);
            } else if !self.complete() {
                let clocked = self.clocked();
                let Some(submitter) = clocked.woken.pop_front() else {
                    return;
                };
                let submitted = clocked.queue.resume(now, submitter);
                self.resumed(submitter, submitted);
            }
        }
    }

    /// Carries out what the queue asks for.
    fn carry_out(&mut self) {
        loop {
            let clocked = self.clocked();
            let next_tick = clocked.jiffies() + 1;
            match clocked.queue.take_action() {
                Some(QueueAction::Arm(timer, jiffy)) => {
                    clocked.timers.arm(timer, jiffy.max(next_tick));
                }
                Some(QueueAction::Cancel(timer)) => clocked.timers.cancel(timer),
                Some(QueueAction::Work(work)) => clocked.work.push_back(work),
                Some(QueueAction::Wake(submitter)) => clocked.woken.push_back(submitter),
                Some(QueueAction::Start(rq)) => self.start(rq),
                None => return,
            }
        }
    }
}
