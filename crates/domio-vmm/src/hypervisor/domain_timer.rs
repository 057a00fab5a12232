//! The policy's timers of domains, which expire on the lowest pcpu that is online.

use crate::event::{Event, Queue};
use alloc::vec::Vec;
use domio_core::{DomainId, Instant, PcpuId};
use domio_sim::TimerId;

/// The bit of a pcpu's `handling` that stands for the timers of domains.
pub(crate) const OF_DOMAINS: u8 = 1 << 7;
/// The slot of a pcpu whose price they have.
pub(crate) const PRICE: u8 = 0;

/// The policy's timer of a domain.
struct DomainTimer {
    timer: TimerId,
    /// Where it has expired and its handler is about to run.
    handling: Option<PcpuId>,
}

/// The policy's timers of domains, by domain id.
#[derive(Default)]
pub(crate) struct DomainTimers(Vec<Option<DomainTimer>>);

impl DomainTimers {
    /// Sets the timer of `domain`, or stops it. Returns where its handler was about to run.
    pub fn set(
        &mut self,
        queue: &mut Queue,
        domain: DomainId,
        at: Option<Instant>,
    ) -> Option<PcpuId> {
        if self.0.len() <= domain.index() {
            self.0.resize_with(domain.index() + 1, || None);
        }
        let t = self.0[domain.index()].get_or_insert_with(|| DomainTimer {
            timer: queue.timer(Event::DomainTimer(domain)),
            handling: None,
        });
        match at {
            Some(at) => queue.arm(t.timer, at),
            None => queue.disarm(t.timer),
        }
        t.handling.take()
    }

    /// The timer of `domain`, which has expired, and where its handler was about to run.
    pub fn expired(&mut self, domain: DomainId) -> Option<(TimerId, Option<PcpuId>)> {
        let t = self.0[domain.index()].as_mut()?;
        Some((t.timer, t.handling.take()))
    }

    /// The handler of the timer of `domain` is about to run on `pcpu`.
    pub fn is_handled(&mut self, domain: DomainId, pcpu: PcpuId) {
        if let Some(t) = &mut self.0[domain.index()] {
            t.handling = Some(pcpu);
        }
    }

    /// Those whose handlers are about to run on `pcpu`.
    fn handled(&self, pcpu: PcpuId) -> impl Iterator<Item = &DomainTimer> {
        let timers = self.0.iter().flatten();
        timers.filter(move |t| t.handling == Some(pcpu))
    }

    /// Whether any handler is about to run on `pcpu`.
    pub fn any_handled(&self, pcpu: PcpuId) -> bool {
        self.handled(pcpu).next().is_some()
    }

    /// When the last of the handlers runs that are about to run on `pcpu`.
    pub fn last_handler(&self, queue: &Queue, pcpu: PcpuId) -> Option<Instant> {
        let times = self.handled(pcpu).filter_map(|t| queue.deadline(t.timer));
        times.max()
    }
}
