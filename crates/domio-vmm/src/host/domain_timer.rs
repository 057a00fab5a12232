//! The policy's timers of domains, which expire on the lowest pcpu that is online.

use super::{Cause, Event, Host, Phase, Queue};
use crate::bus::device::Device;
use domio_core::{DomainId, Instant, PcpuId, Sink};
use domio_sim::TimerId;

/// The bit of a pcpu's `handling` that stands for the timers of domains.
pub(super) const OF_DOMAINS: u8 = 1 << 7;
/// The slot of a pcpu whose price they have.
const PRICE: u8 = 0;

/// The policy's timer of a domain.
pub(super) struct DomainTimer {
    timer: TimerId,
    /// Where it has expired and its handler is about to run.
    handling: Option<PcpuId>,
}

impl<S: Sink, D: Device> Host<S, D> {
    /// Sets the timer of `domain`, or stops it.
    pub(super) fn set_domain_timer(
        &mut self,
        queue: &mut Queue,
        domain: DomainId,
        at: Option<Instant>,
    ) {
        if self.domain_timers.len() <= domain.index() {
            let none = || None;
            self.domain_timers.resize_with(domain.index() + 1, none);
        }
        let entry = &mut self.domain_timers[domain.index()];
        let t = entry.get_or_insert_with(|| DomainTimer {
            timer: queue.timer(Event::DomainTimer(domain)),
            handling: None,
        });
        let timer = t.timer;
        let handled = t.handling.take();
        match at {
            Some(at) => queue.arm(timer, at),
            None => queue.disarm(timer),
        }
        if let Some(pcpu) = handled {
            self.no_longer_handled(pcpu);
        }
    }

    /// The timer of `domain` expires.
    pub(super) fn domain_timer(&mut self, queue: &mut Queue, domain: DomainId, now: Instant) {
        let Some(t) = &mut self.domain_timers[domain.index()] else {
            return;
        };
        let (timer, handled) = (t.timer, t.handling.take());
        let pcpu = handled.unwrap_or_else(|| self.toolstack_pcpu());
        if handled.is_some() {
            self.no_longer_handled(pcpu);
        } else if !self.free
            && let Some(begun) = self.handler_waits(queue, pcpu, timer, PRICE, now)
        {
            if begun && let Some(t) = &mut self.domain_timers[domain.index()] {
                t.handling = Some(pcpu);
                self.pcpus[pcpu].handling |= OF_DOMAINS;
            }
            return;
        }
        let entering = self.pcpus[pcpu].phase == Phase::Entering;
        self.tables.here = pcpu;
        self.ask(queue, pcpu, now, Cause::PolicyTimer, |s, cx| {
            if let Some(at) = s.domain_timer(cx, domain) {
                cx.set_domain_timer(domain, at);
            }
        });
        if !self.free {
            let cost = self.profile.timer_to_handler[PRICE as usize] + self.profile.handler;
            let waited = handled.is_some();
            self.handler_done(queue, pcpu, now, cost, entering.then_some(waited));
        }
    }

    /// The handler of a domain's timer on `pcpu` has run or will not.
    fn no_longer_handled(&mut self, pcpu: PcpuId) {
        let mut timers = self.domain_timers.iter().flatten();
        if !timers.any(|t| t.handling == Some(pcpu)) {
            self.pcpus[pcpu].handling &= !OF_DOMAINS;
        }
    }

    /// When those handlers of domains' timers on `pcpu` run that have begun: the last of them.
    pub(super) fn last_domain_handler(&self, queue: &Queue, pcpu: PcpuId) -> Option<Instant> {
        if self.pcpus[pcpu].handling & OF_DOMAINS == 0 {
            return None;
        }
        let timers = self.domain_timers.iter().flatten();
        let begun = timers.filter(|t| t.handling == Some(pcpu));
        begun.filter_map(|t| queue.deadline(t.timer)).max()
    }
}
