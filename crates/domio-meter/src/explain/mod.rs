//! Why did a guest wait? Time of vcpus in run queues, by who ran meanwhile and why, and time of
//! items (packets, requests) on their way, by what they waited for.
//!
//! What vcpus waited for is told in [`waits`]. Of items, the [`Explainer`] keeps, for each guest
//! and class, how many are at each [`Place`](domio_core::Place) that the class declares, and
//! between two records adds the time that passed, once an item, to the [`Cause`] that holds at the
//! time. So the sums are exactly the time that the items were under way, whichever item it was, and
//! those that never arrived anywhere count as well as the others.
//!
//! # Causes
//!
//! An item waits for whoever has to take it further, which its [`Place`](domio_core::Place) says:
//! the driver domain while it is in the device, in the driver domain or in the ring from the
//! guest, and the guest while it is in the guest or in the ring to it. If that one is runnable,
//! the item waits in its **run queue**, behind the domain that runs on its pcpu. If it runs, it
//! works on the item or is busy with something else. If it is blocked, nobody has told it yet: the
//! device moderates its interrupts, or the lack of buffers holds the item back. A ring whose other
//! side has not been told is its writer's still.
//!
//! # The rate limit
//!
//! When a guest has used up its rate, the driver domain leaves what is in the ring there and sets a
//! timer for when there is more. Until that time the items in the ring, and those that find it
//! full, wait for the **rate limit**, whatever anybody does meanwhile. From then on they wait for
//! the driver domain again, whose timer may be late.
//!
//! # Work with an owner
//!
//! For whom driver domains worked meanwhile is summed up from [`Kind::DriverWork`], see
//! [`DriverWork`](crate::DriverWork).
//!
//! # The event-channel scan
//!
//! A guest's items may wait in the ring although the driver domain runs often enough: a kernel that
//! looks for pending ports from the first one again, each time, may find another port each time
//! (xen-spec 5.4). From the moment at which the driver domain enters the handler of another port
//! while the guest's port is pending, until it enters the handler of the guest's port, the items
//! wait for the **event-channel scan**, even while the driver domain is preempted: it has had its
//! turn and used it for others. Before that moment, they wait for it to run.

mod answer;
mod cause;
mod parts;
mod paths;
mod result;
mod tells;
mod waits;

pub use cause::{Cause, ItemQueue, ItemWaits, Side};
pub use result::{BEHIND_MAX, DomainWaits, Explanation, LongWait, VcpuWaits, WORST_MAX};
pub use tells::{WaitTells, capitalised};
pub use waits::map::{MAP_ROWS, Map, MapChange, MapRow, MapWindow};
pub use waits::why::Why;

use domio_core::{ActorId, Instant, Kind, Names, Record, Sink};

use crate::account::Window;
use crate::told::Told;
use crate::work::WorkBooks;
use paths::Paths;
use waits::WaitBooks;

/// Explains the waits that a trace tells of: feed it every record in the order of time, then call
/// [`Explainer::finish`] or [`Explainer::finish_at`]. Memory does not grow with the length of the
/// trace.
///
/// What items wait for needs a trace from its begin, or from when no item was under way: what was
/// there before is not known. [`Explainer::window`] leaves the time of a warm-up out.
#[derive(Debug)]
pub struct Explainer {
    window: Window,
    begun: bool,
    start: u64,
    now: u64,
    records: u64,
    told: Told,
    waits: WaitBooks,
    paths: Paths,
    work: WorkBooks,
}

impl Explainer {
    /// For the whole trace; the map will show `map`.
    pub fn new(map: MapWindow) -> Self {
        Explainer::of(
            Window {
                from: 0,
                to: u64::MAX,
            },
            map,
        )
    }

    /// For the time from `from` up to, not including, `to`. Records before it are needed all the
    /// same. States and waits that reach over an edge count with the part inside, and waits count
    /// as such when they end inside. A host with driver domains has to write down at `from` and at
    /// `to` for whom they worked until then ([`Kind::DriverWork`]), or the work of a run that
    /// reaches over `from` counts for too much, and over `to` not at all.
    ///
    /// # Panics
    /// When `to` is before `from`.
    #[track_caller]
    pub fn window(from: Instant, to: Instant) -> Self {
        assert!(from <= to, "a window from {from} to {to}");
        let (from, to) = (from.as_nanos(), to.as_nanos());
        Explainer::of(Window { from, to }, MapWindow::Worst)
    }

    fn of(window: Window, map: MapWindow) -> Self {
        Explainer {
            window,
            begun: false,
            start: 0,
            now: 0,
            records: 0,
            told: Told::default(),
            waits: WaitBooks::new(window, map),
            paths: Paths::default(),
            work: WorkBooks::default(),
        }
    }

    /// Time passes; nothing changes meanwhile. Records that are out of order count as now.
    fn advance(&mut self, to: u64) {
        if to <= self.now {
            return;
        }
        if !self.paths.is_empty() {
            self.paths.remember(self.now, &self.waits);
            if let Some((from, to)) = self.window.cut(self.now, to) {
                self.paths.pass(from, to, &self.waits);
            }
        }
        self.now = to;
    }

    /// Takes a record that is not of the common class.
    #[inline]
    fn class(&mut self, names: &Names, record: &Record) {
        let declared = names.declared(record);
        self.waits.class(names, record, declared);
        if let Some(declared) = declared {
            let time = (self.now, self.window);
            self.paths
                .class(names, (record, declared), time, &self.waits);
        }
    }

    /// What was found up to the last record, until when every vcpu and every item stays where it
    /// is.
    pub fn finish(mut self) -> Explanation {
        self.waits.stay(self.now);
        let start = self.start.max(self.window.from);
        let end = self.now.min(self.window.to);
        self.explained(start, end)
    }

    /// What was found up to `end`, until when nothing changed since the last record: every vcpu and
    /// every item stays where it is. For simulated hosts, which know when the run was over.
    pub fn finish_at(mut self, end: Instant) -> Explanation {
        self.advance(end.as_nanos());
        self.waits.stay(self.now);
        let (from, to) = (self.window.from, self.window.to);
        let (start, end) = (from.min(self.now), to.min(self.now));
        self.explained(start, end)
    }

    fn explained(self, start: u64, end: u64) -> Explanation {
        let mut explanation = Explanation {
            start: Instant::from_nanos(start),
            elapsed: end.saturating_sub(start),
            runs: 1,
            records: self.records,
            runstates: self.told.all(),
            items: self.paths.finish(),
            ..Explanation::default()
        };
        self.waits.add_to(&mut explanation);
        if explanation.runstates {
            explanation.driver_work = self.work.finish(|id| explanation.running(id));
        } else {
            explanation.vcpus.clear();
        }
        explanation
    }
}

impl Sink for Explainer {
    fn record(&mut self, names: &Names, record: &Record) {
        let at = record.at.as_nanos();
        if !self.begun {
            self.begun = true;
            self.start = at;
            self.waits.begin(at);
        }
        self.records += 1;
        self.told.see(record);
        self.waits.see(record);
        self.advance(at);
        let Some(kind) = record.kind() else {
            return self.class(names, record);
        };
        self.waits.common(names, record, kind);
        match kind {
            Kind::EvtchnSend => {
                let [port, sender, ..] = record.words;
                self.paths.sent(names, record.actor, port, ActorId(sender));
            }
            Kind::EvtchnServe => self.paths.served(record.actor, record.words[0]),
            Kind::DriverWork => {
                // Whom there is no room for is among nobody's.
                let ran = self.waits.executes(record.actor, self.now);
                self.work.done(names, record, ran, self.window);
            }
            Kind::DomainRemove => {
                if let Some(vcpu) = names.vcpu(record.actor) {
                    self.paths.removed(vcpu.domain);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod cause_tests;
#[cfg(test)]
mod tests;
