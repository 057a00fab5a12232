//! From a cause to the scheduler pass: raising the softirq, timers and their slop, IPIs, and the
//! requests of the policy.

use super::{Cause, Event, Host, Phase, Queue};
use alloc::format;
use domio_core::{Duration, Instant, PcpuId, Record, Runstate, Sink, VcpuId, XenVersion};
use domio_sched::{Effect, Stop};

impl<S: Sink> Host<S> {
    /// Time from `cause` to the pass.
    #[inline]
    fn lead(&self, cause: Cause) -> Duration {
        let profile = &self.profile;
        match cause {
            Cause::Slice => profile.timer_to_pass,
            Cause::Wake | Cause::Operator => profile.wake_to_pass,
            Cause::Block | Cause::Yield => profile.block_to_pass,
            Cause::Ipi => profile.ipi_to_pass,
            Cause::PolicyTimer => profile.handler,
        }
    }

    /// Raises the scheduler softirq on `pcpu`, from code that runs there.
    #[inline]
    pub(super) fn raise(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, cause: Cause) {
        let lead = self.lead(cause);
        let p = self.pcpu(pcpu);
        match p.phase {
            Phase::Guest => {
                p.phase = Phase::Entering;
                p.why = match cause {
                    Cause::Slice => Stop::Slice,
                    Cause::Block => Stop::NotRunnable,
                    Cause::Yield => Stop::Yielded,
                    _ => Stop::Tickled,
                };
                p.stage_at = now + lead;
                let (stage, at) = (p.stage, p.stage_at);
                self.halt(queue, pcpu, now);
                if lead.is_zero() {
                    self.due.push(pcpu);
                } else {
                    queue.arm(stage, at);
                }
            }
            Phase::Entering => {}
            Phase::Switching => p.again = true,
        }
    }

    /// Makes the passes that are due at `now`, unless other events of this instant come first:
    /// timers that are due run before the scheduler.
    #[inline]
    pub(super) fn run_due(&mut self, queue: &mut Queue, now: Instant) {
        while let Some(&pcpu) = self.due.first() {
            self.due.remove(0);
            if queue.peek_time() == Some(now) {
                let stage = self.pcpu(pcpu).stage;
                queue.arm(stage, now);
            } else {
                self.pass(queue, pcpu, now);
            }
        }
    }

    pub(super) fn stage_over(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        match self.pcpu(pcpu).phase {
            Phase::Entering => self.pass(queue, pcpu, now),
            Phase::Switching => self.switched(queue, pcpu, now),
            Phase::Guest => unreachable!("{pcpu} has no stage to end"),
        }
    }

    /// A timer that was to expire at `expiry` fires on `pcpu` at `now`. Returns the time at which
    /// it has to be tried again when the hardware could not deliver it yet.
    ///
    /// Xen 4.x programs the hardware no earlier than the slop after the end of the last timer
    /// softirq, which comes `work` after `now`; and no interrupt comes while a switch is under way.
    pub(super) fn timer_held_back(
        &mut self,
        pcpu: PcpuId,
        expiry: Instant,
        now: Instant,
        work: Duration,
    ) -> Option<Instant> {
        let late = self.version >= XenVersion::V4_0;
        let slop = self.profile.timer_slop;
        let p = self.pcpu(pcpu);
        if p.phase == Phase::Switching && p.stage_at > now {
            return Some(p.stage_at);
        }
        if late {
            if expiry < p.timer_floor {
                return Some(p.timer_floor);
            }
            p.timer_floor = now + work + slop;
        }
        None
    }

    pub(super) fn slice_expired(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let work = self.profile.timer_to_pass;
        if let Some(at) = self.timer_held_back(pcpu, now, now, work) {
            let timer = self.pcpu(pcpu).slice_timer;
            queue.arm(timer, at);
            return;
        }
        self.raise(queue, pcpu, now, Cause::Slice);
        self.fire_early(queue, pcpu, now);
    }

    pub(super) fn policy_timer(&mut self, queue: &mut Queue, pcpu: PcpuId, slot: u8, now: Instant) {
        let delay = self.profile.timer_to_handler[slot as usize];
        if let Some(at) = self.timer_held_back(pcpu, now - delay, now, Duration::ZERO) {
            let timer = self.pcpu(pcpu).policy[slot as usize];
            queue.arm(timer, (at + delay).max(now));
            return;
        }
        self.run_policy_timer(queue, pcpu, slot, now);
        self.fire_early(queue, pcpu, now);
    }

    fn run_policy_timer(&mut self, queue: &mut Queue, pcpu: PcpuId, slot: u8, now: Instant) {
        let cost = self.profile.timer_to_handler[slot as usize] + self.profile.handler;
        self.ask(queue, pcpu, now, Cause::PolicyTimer, |s, cx| {
            s.timer(cx, pcpu, slot)
        });
        self.steal(queue, pcpu, now, cost);
    }

    /// Xen 3.x runs every timer that is due within the slop when one fires (xen-spec 0.3): the
    /// slice timer and the policy's timers of `pcpu` fire up to the slop early.
    fn fire_early(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        if self.version >= XenVersion::V4_0 || self.profile.timer_slop.is_zero() {
            return;
        }
        let horizon = now + self.profile.timer_slop;
        for slot in 0..self.pcpu(pcpu).policy.len() {
            let timer = self.pcpu(pcpu).policy[slot];
            if queue.deadline(timer).is_some_and(|at| at < horizon) {
                queue.disarm(timer);
                self.run_policy_timer(queue, pcpu, slot as u8, now);
            }
        }
        let timer = self.pcpu(pcpu).slice_timer;
        if queue.deadline(timer).is_some_and(|at| at < horizon) {
            queue.disarm(timer);
            self.raise(queue, pcpu, now, Cause::Slice);
        }
    }

    /// The hypervisor of `pcpu` works for `cost` at `now`: the guest there, or the pass that is
    /// about to come, is that much later.
    pub(super) fn steal(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, cost: Duration) {
        if cost.is_zero() {
            return;
        }
        match self.pcpu(pcpu).phase {
            Phase::Guest => {
                if self.tables.pcpus[pcpu.index()].current.is_some() {
                    self.halt(queue, pcpu, now);
                    self.go(queue, pcpu, now + cost);
                }
            }
            Phase::Entering => {
                if self.pcpu(pcpu).stage_at > now {
                    self.delay_pass(queue, pcpu, cost);
                }
            }
            Phase::Switching => {}
        }
    }

    /// Puts the pass that `pcpu` is working towards off by `cost`.
    fn delay_pass(&mut self, queue: &mut Queue, pcpu: PcpuId, cost: Duration) {
        let p = self.pcpu(pcpu);
        if p.phase == Phase::Entering {
            p.stage_at += cost;
            let (stage, at) = (p.stage, p.stage_at);
            queue.arm(stage, at);
        }
    }

    /// Carries out what the policy asked for in a call on `on`.
    pub(super) fn apply_effects(
        &mut self,
        queue: &mut Queue,
        on: PcpuId,
        now: Instant,
        cause: Cause,
    ) {
        let mut effects = core::mem::take(&mut self.effects);
        let mut notes = 0;
        let worked = self.profile.step * u64::from(core::mem::take(&mut self.tables.work));
        for effect in effects.drain(..) {
            match effect {
                Effect::Tickle(pcpu) => self.tickle(queue, on, pcpu, now, cause),
                Effect::Timer { pcpu, slot, at } => {
                    let delay = self.profile.timer_to_handler[slot as usize];
                    let timer = self.pcpu(pcpu).policy[slot as usize];
                    match at {
                        Some(at) => queue.arm(timer, at.max(now) + delay + worked),
                        None => queue.disarm(timer),
                    }
                }
                Effect::Park(vcpu) => self.parked(vcpu, on, now),
                Effect::Unpark(vcpu) => self.unparked(vcpu, on, now),
                // The flag is in the tables; the switch carries it out.
                Effect::Migrate(_) => {}
                Effect::Note {
                    pcpu,
                    event,
                    len,
                    words,
                } => {
                    notes += 1;
                    let id = self.scheduler.descriptor().trace_id;
                    self.trace(Record::policy(now, pcpu, id, event, &words[..len as usize]));
                }
            }
        }
        if cause == Cause::Wake && notes > 1 && !self.profile.wake_note.is_zero() {
            self.delay_pass(queue, on, self.profile.wake_note * (notes - 1));
        }
        // Calls that came out of these effects have used a list of their own; keep the larger.
        if self.effects.capacity() < effects.capacity() {
            assert!(
                self.effects.is_empty(),
                "effects of a nested call were not carried out"
            );
            self.effects = effects;
        }
    }

    fn tickle(&mut self, queue: &mut Queue, on: PcpuId, pcpu: PcpuId, now: Instant, cause: Cause) {
        if !self.tables.online.contains(pcpu) {
            self.policy_fault(format!(
                "the policy tickled {pcpu}, which is not online; it may tickle {:?}",
                self.tables.online
            ));
        } else if pcpu == on {
            self.raise(queue, pcpu, now, cause);
        } else if self.profile.ipi.is_zero() {
            self.raise(queue, pcpu, now, Cause::Ipi);
        } else {
            let ipi = self.pcpu(pcpu).ipi;
            if queue.deadline(ipi).is_none() {
                queue.arm(ipi, now + self.profile.ipi);
            }
        }
    }

    fn parked(&mut self, vcpu: VcpuId, on: PcpuId, now: Instant) {
        if self.vcpus[vcpu.index()].state == Runstate::Runnable {
            self.change(vcpu, Runstate::Offline, on, now);
        }
        self.trace(Record::new(
            now,
            on,
            domio_core::Kind::Sleep,
            self.vcpus[vcpu.index()].name,
        ));
    }

    fn unparked(&mut self, vcpu: VcpuId, on: PcpuId, now: Instant) {
        self.trace(Record::new(
            now,
            on,
            domio_core::Kind::Wake,
            self.vcpus[vcpu.index()].name,
        ));
        if self.tables.vcpus[vcpu.index()].runnable()
            && self.vcpus[vcpu.index()].state >= Runstate::Blocked
        {
            self.change(vcpu, Runstate::Runnable, on, now);
        }
    }

    /// Sets up timers and phases of every pcpu and tells the policy about them.
    pub(super) fn power_on(&mut self, queue: &mut Queue) {
        for i in 0..self.tables.pcpus.len() {
            let pcpu = PcpuId(i as u16);
            let policy = core::array::from_fn(|slot| queue.timer(Event::Policy(pcpu, slot as u8)));
            self.pcpus.push(super::Pcpu {
                phase: Phase::Guest,
                again: false,
                why: Stop::Tickled,
                exec_from: Instant::MAX,
                entered: Instant::ZERO,
                stage_at: Instant::ZERO,
                prev: None,
                slice: None,
                timer_floor: Instant::ZERO,
                last_pass: Instant::ZERO,
                passes_at_instant: 0,
                last_vcpu: None,
                host_ticks: 0,
                leaving: false,
                stage: queue.timer(Event::Stage(pcpu)),
                slice_timer: queue.timer(Event::Slice(pcpu)),
                done: queue.timer(Event::Done(pcpu)),
                ipi: queue.timer(Event::Ipi(pcpu)),
                policy,
            });
            if self.version <= XenVersion::V3_0 {
                queue.post(
                    Instant::ZERO + super::execute::HOST_TICK,
                    Event::HostTick(pcpu),
                );
            }
        }
        for i in 0..self.tables.pcpus.len() {
            let pcpu = PcpuId(i as u16);
            self.tables.online.insert(pcpu);
            self.ask(queue, pcpu, Instant::ZERO, Cause::Operator, |s, cx| {
                s.pcpu_online(cx, pcpu)
            });
        }
    }
}
