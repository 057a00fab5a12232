//! What a controller lets through an interface, and until when.

use domio_core::{Duration, Instant};
use domio_vmm::bus::{Guard, Traffic};

/// The gate of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gate {
    rule: Rule,
    /// When it opens by itself; [`Instant::MAX`] for never.
    until: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Open,
    /// What the guest sends waits in its ring.
    Hold,
    /// What the guest sends is dropped.
    Drop,
    /// So many packets from the guest, and to it.
    Ration {
        tx: Ration,
        rx: Ration,
    },
}

/// So many packets in each interval; what is left at its end is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ration {
    packets: u32,
    per: Duration,
    left: u32,
    since: Instant,
}

/// What becomes of the next packet from the guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outgoing {
    Passes,
    Dropped,
    /// It waits until then, or until somebody opens the gate.
    Waits(Instant),
}

impl Ration {
    fn new(packets: u32, per: Duration, now: Instant) -> Self {
        let (left, since) = (packets, now);
        Ration {
            packets,
            per,
            left,
            since,
        }
    }

    /// The same with another number of packets, from the next interval on.
    fn with(self, packets: u32, per: Duration) -> Self {
        let left = self.left.min(packets);
        Ration {
            packets,
            per,
            left,
            ..self
        }
    }

    /// What is left at `now`.
    fn refill(&mut self, now: Instant) -> u32 {
        let passed = now.saturating_since(self.since).as_nanos() / self.per.as_nanos();
        if passed > 0 {
            self.since += self.per * passed;
            self.left = self.packets;
        }
        self.left
    }
}

impl Gate {
    /// A gate that lets everything through.
    pub const fn open() -> Self {
        Gate {
            rule: Rule::Open,
            until: Instant::MAX,
        }
    }

    /// What `traffic`, set at `now`, makes of this gate.
    pub fn set(self, traffic: Traffic, now: Instant) -> Self {
        match traffic {
            Traffic::Free | Traffic::Limited { .. } => Gate::open(),
            Traffic::Stopped => Gate {
                rule: Rule::Hold,
                until: Instant::MAX,
            },
            Traffic::Guarded { guard, lasts } => {
                let rule = match (guard, self.rule) {
                    (Guard::Drop, _) => Rule::Drop,
                    (Guard::Hold, _) => Rule::Hold,
                    // Whoever is rationed anew does not get the interval's packets twice.
                    (Guard::Ration { packets, per }, Rule::Ration { tx, rx }) => Rule::Ration {
                        tx: tx.with(packets, per),
                        rx: rx.with(packets, per),
                    },
                    (Guard::Ration { packets, per }, _) => {
                        let new = Ration::new(packets, per, now);
                        Rule::Ration { tx: new, rx: new }
                    }
                };
                let until = now.saturating_add(lasts);
                Gate { rule, until }
            }
        }
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.rule == Rule::Open
    }

    /// Whether it has to open by itself at `now`.
    pub fn is_over(&self, now: Instant) -> bool {
        !self.is_open() && self.until <= now
    }

    /// Takes note that it is `now`: a new interval has a new ration.
    pub fn refill(&mut self, now: Instant) {
        if let Rule::Ration { tx, rx } = &mut self.rule {
            tx.refill(now);
            rx.refill(now);
        }
    }

    /// When something changes by itself: it opens, or a guest whose packets wait has a ration
    /// again.
    pub fn next(&self, waits: bool) -> Option<Instant> {
        let ration = match self.rule {
            Rule::Ration { tx, .. } if waits && tx.left == 0 => tx.since + tx.per,
            _ => Instant::MAX,
        };
        let next = self.until.min(ration);
        (next < Instant::MAX).then_some(next)
    }

    /// What becomes of a packet from the guest at `now`.
    pub(super) fn outgoing(&mut self, now: Instant) -> Outgoing {
        match &mut self.rule {
            Rule::Open => Outgoing::Passes,
            Rule::Drop => Outgoing::Dropped,
            Rule::Hold => Outgoing::Waits(self.until),
            Rule::Ration { tx, .. } => match tx.refill(now) {
                0 => Outgoing::Waits(tx.since + tx.per),
                _ => Outgoing::Passes,
            },
        }
    }

    /// A packet from the guest has passed.
    pub(super) fn pass_out(&mut self) {
        if let Rule::Ration { tx, .. } = &mut self.rule {
            tx.left = tx.left.saturating_sub(1);
        }
    }

    /// Whether a packet for the guest passes at `now`.
    pub fn pass_in(&mut self, now: Instant) -> bool {
        match &mut self.rule {
            Rule::Open => true,
            Rule::Drop | Rule::Hold => false,
            Rule::Ration { rx, .. } => {
                let passes = rx.refill(now) > 0;
                rx.left = rx.left.saturating_sub(1);
                passes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + MS * ms
    }

    fn guarded(guard: Guard, lasts: u64) -> Traffic {
        let lasts = MS * lasts;
        Traffic::Guarded { guard, lasts }
    }

    fn ration(packets: u32) -> Traffic {
        guarded(
            Guard::Ration {
                packets,
                per: MS * 10,
            },
            100,
        )
    }

    #[test]
    fn a_gate_opens_by_itself() {
        let gate = Gate::open().set(guarded(Guard::Drop, 50), at(10));
        assert!(!gate.is_over(at(59)) && gate.is_over(at(60)));
        assert_eq!(gate.next(true), Some(at(60)));
        let renewed = gate.set(guarded(Guard::Drop, 50), at(50));
        assert_eq!(renewed.next(true), Some(at(100)));
        let stopped = gate.set(Traffic::Stopped, at(20));
        assert!(!stopped.is_over(Instant::MAX - MS) && stopped.next(true).is_none());
        assert!(Gate::open().next(true).is_none() && !Gate::open().is_over(Instant::MAX));
        assert!(gate.set(Traffic::Free, at(20)).is_open());
    }

    #[test]
    fn what_a_guest_sends_is_dropped_or_waits() {
        let mut gate = Gate::open();
        assert_eq!(gate.outgoing(at(0)), Outgoing::Passes);
        gate = gate.set(guarded(Guard::Drop, 50), at(0));
        assert_eq!(gate.outgoing(at(1)), Outgoing::Dropped);
        assert!(!gate.pass_in(at(1)));
        gate = gate.set(guarded(Guard::Hold, 50), at(0));
        assert_eq!(gate.outgoing(at(1)), Outgoing::Waits(at(50)));
        assert!(!gate.pass_in(at(1)));
    }

    #[test]
    fn a_ration_is_for_each_direction_and_does_not_pile_up() {
        let mut gate = Gate::open().set(ration(2), at(0));
        let out = |gate: &mut Gate, ms| match gate.outgoing(at(ms)) {
            Outgoing::Passes => {
                gate.pass_out();
                None
            }
            Outgoing::Waits(until) => Some(until),
            Outgoing::Dropped => panic!("dropped"),
        };
        assert_eq!([out(&mut gate, 1), out(&mut gate, 2)], [None, None]);
        assert_eq!(out(&mut gate, 3), Some(at(10)));
        assert_eq!(gate.next(true), Some(at(10)));
        assert_eq!(gate.next(false), Some(at(100)));
        let come = [4, 5, 6].map(|ms| gate.pass_in(at(ms)));
        assert_eq!(come, [true, true, false]);
        // Three intervals later there are two packets, not six.
        assert_eq!([out(&mut gate, 35), out(&mut gate, 36)], [None, None]);
        assert_eq!(out(&mut gate, 37), Some(at(40)));
    }

    #[test]
    fn a_ration_that_is_renewed_does_not_begin_anew() {
        let mut gate = Gate::open().set(ration(2), at(0));
        gate.pass_out();
        gate = gate.set(ration(5), at(5));
        assert_eq!(gate.outgoing(at(6)), Outgoing::Passes);
        gate.pass_out();
        assert_eq!(gate.outgoing(at(7)), Outgoing::Waits(at(10)));
        assert_eq!(gate.outgoing(at(10)), Outgoing::Passes);
        assert_eq!(gate.next(true), Some(at(105)));
    }
}
