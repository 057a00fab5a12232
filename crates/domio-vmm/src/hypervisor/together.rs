//! Passes that the threads of a core make together (core scheduling; `sched_wait_rendezvous_in()`
//! and `sched_context_switched()` of Xen's `sched/core.c`).
//!
//! The thread on which such a pass begins interrupts the others and waits. A thread that comes
//! stays in the hypervisor, its vcpu still current, until the last one is there. Then the policy
//! decides for all, and all of them go back to their guests when the slowest switch is done.

use super::Hypervisor;
use super::pass::{Back, Decided};
use crate::event::Queue;
use crate::hypervisor::pcpu::{Cause, Phase};
use alloc::vec::Vec;
use domio_core::{CpuSet, Duration, Instant, PcpuId, Sink};

/// Pcpus that wait for others.
#[derive(Default)]
pub(crate) struct Meetings {
    /// Those that are there.
    waiting: CpuSet,
    /// Who makes a pass together, with the one on which it began.
    under_way: Vec<(PcpuId, CpuSet)>,
}

impl<S: Sink> Hypervisor<S> {
    /// The scheduler softirq on `pcpu` under a policy that has pcpus make passes together.
    #[inline(never)]
    pub(super) fn come_together(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) -> Back {
        let mut known = self.meetings.under_way.iter().map(|(_, all)| *all);
        let known = known.find(|all| all.contains(pcpu));
        let all = match known {
            Some(all) => all,
            None => {
                let all = self.ask(queue, pcpu, now, Cause::Wake, |s, cx| s.together(cx, pcpu));
                if all.len() == 1 {
                    return self.pass_alone(queue, pcpu, now);
                }
                self.meetings.under_way.push((pcpu, all));
                for other in all.iter().filter(|other| *other != pcpu) {
                    self.tickle(queue, pcpu, other, now, Cause::Ipi);
                }
                all
            }
        };
        self.wait(queue, pcpu, now);
        self.meetings.waiting.insert(pcpu);
        if all.is_subset(&self.meetings.waiting) {
            self.pass_together(queue, &all, now);
        }
        Back::NOT_YET
    }

    /// `pcpu` stays in the hypervisor until others let it continue.
    fn wait(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let p = &mut self.pcpus[pcpu];
        p.phase = Phase::Switching;
        p.stage_at = now;
        p.slice = Duration::MAX;
        queue.disarm(p.slice_timer);
    }

    /// Everybody of `all` is there.
    fn pass_together(&mut self, queue: &mut Queue, all: &CpuSet, now: Instant) {
        let meetings = &mut self.meetings;
        let under_way = meetings.under_way.iter();
        let at = under_way.map(|(_, of)| of).position(|of| of == all);
        let at = at.expect("a vcpu that waits is in a meeting");
        let (first, _) = meetings.under_way.swap_remove(at);
        meetings.waiting &= !*all;
        let others = all.iter().filter(|other| *other != first);
        let mut decided: Vec<(PcpuId, Decided)> = Vec::with_capacity(all.len());
        for pcpu in core::iter::once(first).chain(others) {
            let p = &mut self.pcpus[pcpu];
            // What was asked for while they came is served by this pass.
            p.again = false;
            queue.disarm(p.ipi);
            match self.decide(queue, pcpu, now) {
                Some(answer) => decided.push((pcpu, answer)),
                None => return,
            }
        }
        let mut slowest = Duration::ZERO;
        let mut worked = Duration::ZERO;
        for (pcpu, answer) in &decided {
            worked += answer.worked;
            slowest = slowest.max(match answer.next == answer.current {
                true => self.release.profile.keep,
                false => self.switch_cost(*pcpu, answer.current, answer.next),
            });
        }
        for (pcpu, answer) in decided {
            let good = match answer.next == answer.current {
                true => self.stays(pcpu, now, &answer),
                false => self.takes(pcpu, answer.current, answer.next),
            };
            if !good {
                return;
            }
            let p = &mut self.pcpus[pcpu];
            p.prev = answer.current;
            p.stage_at = now + slowest + worked;
            queue.arm(p.stage, p.stage_at);
        }
    }
}
