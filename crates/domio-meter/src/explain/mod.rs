//! Why did a guest wait? Time of vcpus in run queues, by who ran meanwhile, and time of packets on
//! their way, by what they waited for.
//!
//! The [`Explainer`] keeps, for each guest, how many packets are at each [`NetPlace`], and between
//! two records adds the time that passed, once a packet, to the [`Cause`] that holds at the time.
//! So the sums are exactly the time that the packets were under way, whichever packet it was, and
//! packets that never arrived anywhere count as well as the others.
//!
//! # Causes
//!
//! A packet waits for whoever has to take it further: the driver domain while it is in the card, in
//! the driver domain or in the ring from the guest, and the guest while it is in the guest or in
//! the ring to it. If that one is runnable, the packet waits in its **run queue**, behind the
//! domain that runs on its pcpu. If it runs, it works on the packet or is busy with something else.
//! If it is blocked, nobody has told it yet: the card moderates its interrupts, or the lack of
//! buffers holds the packet back. A ring whose other side has not been told is its writer's still.
//!
//! # The rate limit
//!
//! When a guest has used up its rate, netback leaves what is in the ring there and sets a timer for
//! when there is more. Until that time the packets in the ring, and those that find it full, wait
//! for the **rate limit**, whatever anybody does meanwhile. From then on they wait for the driver
//! domain again, whose timer may be late.
//!
//! # Work with an owner
//!
//! For whom driver domains worked meanwhile is summed up from [`Kind::DriverWork`], see
//! [`DriverWork`](crate::DriverWork).
//!
//! # The event-channel scan
//!
//! A guest's packets may wait in the ring although the driver domain runs often enough: a kernel
//! that looks for pending ports from the first one again, each time, may find another port each
//! time (xen-spec 5.4). From the moment at which the driver domain enters the handler of another
//! port while the guest's port is pending, until it enters the handler of the guest's port, the
//! packets wait for the **event-channel scan**, even while the driver domain is preempted: it has
//! had its turn and used it for others. Before that moment, they wait for it to run.

mod json;
mod paths;
mod result;
mod vcpus;

pub use json::{BehindJson, ExplanationJson, PacketsJson, WaitJson, WaitsJson};
pub use result::{Cause, DomainWaits, Explanation, PacketQueue, PacketWaits, Side};

use domio_core::{Instant, Kind, NetPlace, Record, Sink};

use crate::account::Window;
use crate::work::WorkBooks;
use paths::Paths;
use vcpus::Vcpus;

/// Explains the waits that a trace tells of: feed it every record, then call
/// [`Explainer::finish_at`].
///
/// It has to see a trace from its begin, or from when no packet was under way: what was there
/// before is not known. [`Explainer::window`] leaves the time of a warm-up out.
#[derive(Debug)]
pub struct Explainer {
    window: Window,
    now: u64,
    vcpus: Vcpus,
    paths: Paths,
    work: WorkBooks,
    lost_records: u64,
}

impl Default for Explainer {
    fn default() -> Self {
        Explainer::new()
    }
}

impl Explainer {
    /// For the whole trace.
    pub fn new() -> Self {
        Explainer {
            window: Window {
                from: 0,
                to: u64::MAX,
            },
            now: 0,
            vcpus: Vcpus::default(),
            paths: Paths::default(),
            work: WorkBooks::default(),
            lost_records: 0,
        }
    }

    /// For the time from `from` up to, not including, `to`. Records before it are needed all the
    /// same. A host with driver domains has to write down at `from` and at `to` for whom they
    /// worked until then ([`Kind::DriverWork`]), or the work of a run that reaches over `from`
    /// counts for too much, and over `to` not at all.
    ///
    /// # Panics
    /// When `to` is before `from`.
    #[track_caller]
    pub fn window(from: Instant, to: Instant) -> Self {
        assert!(from <= to, "a window from {from} to {to}");
        let mut explainer = Explainer::new();
        explainer.window = Window {
            from: from.as_nanos(),
            to: to.as_nanos(),
        };
        explainer
    }

    /// Time passes; nothing changes meanwhile. Records that are out of order count as now.
    fn advance(&mut self, to: u64) {
        if to <= self.now {
            return;
        }
        self.paths.remember(self.now, &self.vcpus);
        if let Some((from, to)) = self.window.cut(self.now, to) {
            self.vcpus.pass(to - from);
            self.paths.pass(from, to, &self.vcpus);
        }
        self.now = to;
    }

    /// The sums up to `end`, until when nothing changed since the last record.
    pub fn finish_at(mut self, end: Instant) -> Explanation {
        self.advance(end.as_nanos());
        let mut explanation = Explanation {
            start: Instant::from_nanos(self.window.from.min(self.now)),
            end: Instant::from_nanos(self.window.to.min(self.now)),
            lost_records: self.lost_records,
            domains: self.vcpus.waits(),
            driver_work: Vec::new(),
        };
        explanation.driver_work = self.work.finish(|id| explanation.running(id));
        self.paths.add_to(&mut explanation);
        explanation
    }

    fn moved(&mut self, record: &Record) {
        let Some((old, new)) = record.places() else {
            return;
        };
        let [_, driver, low, high] = record.data;
        let ago = u64::from(high) << 32 | u64::from(low);
        let mut guest = self.paths.guest(record.vcpu, driver);
        if (old, new) == (NetPlace::TxRing, NetPlace::TxRing) {
            return guest.limited(self.now.saturating_add(ago));
        }
        if new == NetPlace::Card && ago > 0 {
            let since = self.now.saturating_sub(ago);
            guest.arrived(since, self.now, self.window, &self.vcpus);
        }
        guest.moved(old, new, self.window.holds(self.now));
        if new == NetPlace::Card {
            let since = self.now.saturating_sub(ago);
            self.paths.forget(driver, since);
        }
    }
}

impl Sink for Explainer {
    fn record(&mut self, record: &Record) {
        self.advance(record.at.as_nanos());
        match record.kind {
            Kind::Switch | Kind::RunstateChange => {
                for (vcpu, old, new) in record.changes().into_iter().flatten() {
                    self.vcpus.change(vcpu, record.pcpu, old, new);
                }
            }
            Kind::NetMove => self.moved(record),
            Kind::EvtchnSend => self
                .paths
                .sent(record.vcpu.word(), record.data[0], record.data[1]),
            Kind::EvtchnServe => self.paths.served(record.vcpu.word(), record.data[0]),
            Kind::DriverWork => {
                // Whom there is no room for is among nobody's.
                let ran = self.vcpus.ran(record.vcpu.word());
                self.work.done(record, ran, self.window);
            }
            Kind::DomainRemove => self.paths.removed(record.vcpu.domain),
            Kind::Lost => self.lost_records += u64::from(record.data[0]),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
