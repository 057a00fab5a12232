//! The scheduler pass and the context switch (xen-spec 0.5).

use super::{Cause, Host, MAX_PASSES_AT_ONE_INSTANT, MAX_PASSES_OF_A_VCPU, Phase, Queue};
use crate::bus::device::Device;
use alloc::boxed::Box;
use alloc::format;
use domio_core::{
    Duration, Instant, Kind, PcpuId, Record, Runstate, Sink, VcpuId, VcpuName, XenVersion,
};
use domio_sched::{Cx, Pause, Pick, Prev, Stop};

impl<S: Sink, D: Device> Host<S, D> {
    /// The scheduler softirq on `pcpu`: asks the policy and begins to carry its answer out.
    #[inline(never)]
    pub(super) fn pass(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        self.passes += 1;
        let current = self.tables.pcpus[pcpu].current;
        let p = &mut self.pcpus[pcpu];
        p.phase = Phase::Switching;
        p.stage_at = now;
        if p.last_pass == now {
            p.passes_at_instant += 1;
            if p.passes_at_instant > max_passes(self.vcpus.len()) {
                return self.complain_of_passes(pcpu);
            }
        } else {
            p.last_pass = now;
            p.passes_at_instant = 1;
        }
        let prev = match current {
            None => Prev {
                vcpu: None,
                ran: Duration::ZERO,
                why: p.why,
            },
            Some(vcpu) => Prev {
                vcpu: current,
                ran: now.saturating_since(p.entered),
                why: if self.tables.vcpus[vcpu.index()].runnable() {
                    p.why
                } else {
                    Stop::NotRunnable
                },
            },
        };
        if !self.bus.wires.packets.is_empty() {
            self.tell_packets(now);
        }
        // Its parts, not the whole: they come by way of memory, where a copy of the whole would
        // have to wait for the stores of the parts.
        let Pick { next, time_slice } = {
            let records = self.records();
            let mut cx = Cx::new(now, &mut self.tables, &mut self.effects, records);
            self.scheduler.schedule(&mut cx, pcpu, prev)
        };
        // Taken before the effects, whose work it is not.
        let worked = self.take_work();
        if !self.effects.is_empty() {
            self.apply_effects(queue, pcpu, now, Cause::Wake);
        }
        let p = &mut self.pcpus[pcpu];
        match time_slice {
            Some(Duration::ZERO) => return self.refuse(pcpu, current, next, time_slice),
            Some(slice) => queue.arm(p.slice_timer, now + slice),
            None => queue.disarm(p.slice_timer),
        }
        p.slice = time_slice.unwrap_or(Duration::MAX);
        if next == current {
            self.keep(queue, pcpu, now, worked, prev.ran, next);
        } else {
            self.switch(queue, pcpu, now, worked, current, next);
        }
        self.program_slice(queue, pcpu, now);
    }

    /// Tells the policy of the packets that backends have counted since the last pass, as a
    /// hypervisor reads the counts in their pages.
    #[cold]
    fn tell_packets(&mut self, now: Instant) {
        let mut packets = core::mem::take(&mut self.bus.wires.packets);
        let records = self.records();
        for moved in packets.drain(..) {
            let mut cx = Cx::new(now, &mut self.tables, &mut self.effects, records);
            self.scheduler.packets(&mut cx, moved);
        }
        self.bus.wires.packets = packets;
    }

    /// A slice timer that becomes the first of the timers of `pcpu` raises their softirq, which
    /// follows the pass and programs the hardware no earlier than the slop after its own end
    /// (xen-spec 0.3, 4.x).
    #[inline]
    fn program_slice(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        if self.free {
            return;
        }
        let p = &self.pcpus[pcpu];
        let softirq = &self.profile.softirq;
        let end_of_softirq = p.stage_at + softirq.after_pass;
        let floor = end_of_softirq + softirq.exit + self.profile.timer_slop;
        let late = self.version >= XenVersion::V4_0;
        if !late || p.slice >= floor.saturating_since(now) {
            return;
        }
        let end = now + p.slice;
        let sooner = |timer| queue.deadline(timer).is_some_and(|at| at < end);
        let guests = self.tables.vcpus.iter().zip(&self.vcpus);
        let mut guests = guests.filter(|(view, _)| view.pcpu == pcpu);
        if !p.policy.iter().any(|t| sooner(*t)) && !guests.any(|(_, v)| sooner(v.timer)) {
            let p = &mut self.pcpus[pcpu];
            p.timer_batch = end_of_softirq;
            p.softirq_end = end_of_softirq;
            p.timer_floor = floor;
        }
    }

    /// The time for the work that the policy has reported since this was asked last.
    #[inline]
    pub(super) fn take_work(&mut self) -> Duration {
        if !self.prices_work {
            return Duration::ZERO;
        }
        let report = core::mem::take(&mut self.tables.work);
        self.profile.policy.price(&report)
    }

    #[cold]
    fn complain_of_passes(&mut self, pcpu: PcpuId) {
        if self.fault.is_none() {
            let passes = max_passes(self.vcpus.len());
            let what = format!(
                "{pcpu} made {passes} scheduler passes without time going on: \
                 the policy keeps tickling it, or its vcpus do nothing but wake and block"
            );
            self.fault = Some(Box::new(domio_sim::StopCause::Stalled { what }));
        }
    }

    /// Notes what is wrong with the policy's pick.
    #[cold]
    #[inline(never)]
    fn refuse(
        &mut self,
        pcpu: PcpuId,
        current: Option<VcpuId>,
        next: Option<VcpuId>,
        time_slice: Option<Duration>,
    ) {
        let (Some(vcpu), false) = (next, time_slice == Some(Duration::ZERO)) else {
            self.policy_fault(format!("the policy gave a slice of zero on {pcpu}"));
            return;
        };
        let Some(view) = self.tables.vcpus.get(vcpu.index()) else {
            self.policy_fault(format!(
                "the policy picked {vcpu:?} on {pcpu}, which never existed"
            ));
            return;
        };
        let wrong = if !view.runnable() {
            "is not runnable"
        } else if view.on_pcpu && current != Some(vcpu) {
            "is still held by another pcpu"
        } else if !self.tables.affinity[vcpu.index()].hard.contains(pcpu) {
            "may not run there by its hard affinity"
        } else {
            "would run on a pcpu that is offline"
        };
        let name = view.name;
        self.policy_fault(format!(
            "the policy picked {name} on {pcpu}, but it {wrong}"
        ));
    }

    #[inline(never)]
    fn keep(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        worked: Duration,
        ran: Duration,
        next: Option<VcpuId>,
    ) {
        if let Some(vcpu) = next
            && !(self.tables.vcpus[vcpu.index()].runnable() && self.tables.may_run_on(vcpu, pcpu))
        {
            return self.refuse(pcpu, next, next, None);
        }
        if self.records()
            && let Some(vcpu) = next
        {
            let mut record = Record::new(now, pcpu, Kind::Continue, self.vcpus[vcpu.index()].name);
            record.data = [ns_word(ran), ns_word(self.pcpus[pcpu].slice), 0, 0];
            self.trace(record);
        }
        let keep = self.profile.keep + worked;
        let p = &mut self.pcpus[pcpu];
        p.prev = next;
        if keep.is_zero() {
            self.back_to_guest(queue, pcpu, now, next, Duration::ZERO);
        } else {
            p.stage_at = now + keep;
            queue.arm(p.stage, p.stage_at);
        }
    }

    #[inline(always)]
    fn switch(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        worked: Duration,
        prev: Option<VcpuId>,
        next: Option<VcpuId>,
    ) {
        if let Some(vcpu) = next {
            let Some(view) = self.tables.vcpus.get(vcpu.index()) else {
                return self.refuse(pcpu, prev, next, None);
            };
            if !view.runnable() || view.on_pcpu || !self.tables.may_run_on(vcpu, pcpu) {
                return self.refuse(pcpu, prev, next, None);
            }
            let view = &mut self.tables.vcpus[vcpu.index()];
            view.on_pcpu = true;
            view.pcpu = pcpu;
        }
        self.tables.pcpus[pcpu].current = next;
        let cost = self.switch_cost(pcpu, prev, next) + worked;
        if cost.is_zero() {
            self.switched(queue, pcpu, now, prev, next);
        } else {
            let p = &mut self.pcpus[pcpu];
            p.prev = prev;
            p.stage_at = now + cost;
            queue.arm(p.stage, p.stage_at);
        }
    }

    /// What a switch from `prev` to `next` takes on `pcpu`. The context of the vcpu that ran last
    /// stays loaded while the pcpu idles.
    #[inline]
    fn switch_cost(&self, pcpu: PcpuId, prev: Option<VcpuId>, next: Option<VcpuId>) -> Duration {
        let lazy = match (prev, next) {
            (_, None) => true,
            (None, Some(vcpu)) => {
                let here = self.vcpus[vcpu.index()].ran_on == Some(pcpu);
                here && self.pcpus[pcpu].last_vcpu == next
            }
            _ => false,
        };
        match lazy {
            true => self.profile.idle_switch,
            false => self.profile.switch,
        }
    }

    /// The phase `Switching` has lasted its time.
    #[inline(never)]
    pub(super) fn switch_over(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let next = self.tables.pcpus[pcpu].current;
        let prev = self.pcpus[pcpu].prev;
        if prev == next {
            self.back_to_guest(queue, pcpu, now, next, Duration::ZERO);
        } else {
            self.switched(queue, pcpu, now, prev, next);
        }
    }

    /// The context is switched: `next`, another vcpu than `prev`, runs.
    #[inline(always)]
    fn switched(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        prev: Option<VcpuId>,
        next: Option<VcpuId>,
    ) {
        if !self.busy.is_empty() && prev.is_none() != next.is_none() {
            self.busy[pcpu.index()].turn(next.is_some(), now);
        }
        if D::PRESENT
            && self.bus.wires.owners
            && let Some(vcpu) = prev
        {
            self.tell_served(pcpu, vcpu, now);
        }
        let p = &mut self.pcpus[pcpu];
        // Times that the policy sees count from pass to pass, as in Xen.
        let entered = core::mem::replace(&mut p.entered, p.last_pass);
        if self.records() {
            self.trace_switch(pcpu, now, prev, next, entered);
        }
        let mut moves = false;
        if let Some(vcpu) = prev {
            let view = &mut self.tables.vcpus[vcpu.index()];
            view.on_pcpu = false;
            moves = view.pause.has(Pause::MIGRATING);
            let v = &mut self.vcpus[vcpu.index()];
            v.account(state_after_run(view.pause), now);
            v.stop_tick(queue);
        }
        let mut refill = Duration::ZERO;
        if let Some(vcpu) = next {
            let v = &mut self.vcpus[vcpu.index()];
            v.account(Runstate::Running, now);
            if v.ticks {
                self.start_tick(queue, pcpu, vcpu, now);
            }
            refill = self.refill(pcpu, vcpu);
        }
        if let Some(vcpu) = prev {
            if self.tells_saved {
                self.ask(queue, pcpu, now, Cause::Wake, |s, cx| {
                    s.context_saved(cx, vcpu)
                });
                moves = self.tables.vcpus[vcpu.index()].pause.has(Pause::MIGRATING);
            }
            if moves {
                self.migrate(queue, vcpu, pcpu, now);
            }
        }
        if next.is_none() {
            self.finish_leaving(queue, pcpu, now);
        }
        self.back_to_guest(queue, pcpu, now, next, refill);
    }

    /// Returns to the guest on `pcpu`, or makes another pass when one was asked for meanwhile.
    #[inline(always)]
    fn back_to_guest(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        next: Option<VcpuId>,
        refill: Duration,
    ) {
        let p = &mut self.pcpus[pcpu];
        p.phase = Phase::Guest;
        if p.again {
            p.again = false;
            self.raise(queue, pcpu, now, Cause::Ipi);
        } else if let Some(vcpu) = next {
            let resume = self.profile.resume + refill;
            self.go_on(queue, pcpu, vcpu, now + resume);
        }
    }

    /// Time that `vcpu` needs before it makes progress on `pcpu` again.
    #[inline]
    fn refill(&mut self, pcpu: PcpuId, vcpu: VcpuId) -> Duration {
        if !self.has_caches {
            return Duration::ZERO;
        }
        self.refill_caches(pcpu, vcpu)
    }

    #[inline(never)]
    fn refill_caches(&mut self, pcpu: PcpuId, vcpu: VcpuId) -> Duration {
        let profile = &self.profile;
        let p = &mut self.pcpus[pcpu];
        let undisturbed = p.last_vcpu == Some(vcpu);
        p.last_vcpu = Some(vcpu);
        let before = self.vcpus[vcpu.index()].ran_on.replace(pcpu);
        match before {
            Some(old) if old != pcpu => {
                let topology = &self.tables.topology;
                let within = profile.cache_refill + profile.migration_refill;
                match topology.socket_of(old) == topology.socket_of(pcpu) {
                    true => within,
                    false => within + profile.socket_refill,
                }
            }
            _ if undisturbed => Duration::ZERO,
            _ => profile.cache_refill,
        }
    }

    #[inline(never)]
    fn trace_switch(
        &mut self,
        pcpu: PcpuId,
        now: Instant,
        prev: Option<VcpuId>,
        next: Option<VcpuId>,
        entered: Instant,
    ) {
        let ran = self.pcpus[pcpu].last_pass.saturating_since(entered);
        let state = prev.map_or(Runstate::Runnable, |v| {
            state_after_run(self.tables.vcpus[v.index()].pause)
        });
        let slice = self.pcpus[pcpu].slice;
        let name = |v: Option<VcpuId>| match v {
            Some(v) => self.vcpus[v.index()].name,
            None => VcpuName::idle(pcpu),
        };
        let waited = match next {
            Some(v) if self.vcpus[v.index()].state == Runstate::Runnable => {
                now.since(self.vcpus[v.index()].since)
            }
            _ => Duration::ZERO,
        };
        let mut record = Record::new(now, pcpu, Kind::Switch, name(prev));
        record.detail = state as u8;
        record.data = [
            name(next).word(),
            ns_word(ran),
            ns_word(waited),
            ns_word(slice),
        ];
        self.trace(record);
    }
}

/// Passes that a pcpu may make at one instant on a host of so many vcpus.
#[inline]
fn max_passes(vcpus: usize) -> u32 {
    MAX_PASSES_AT_ONE_INSTANT + MAX_PASSES_OF_A_VCPU.saturating_mul(vcpus as u32)
}

/// Runstate of a vcpu that is switched out (xen-spec 0.5).
#[inline]
fn state_after_run(pause: Pause) -> Runstate {
    if pause.has(Pause::BLOCKED) {
        Runstate::Blocked
    } else if pause == Pause::NONE {
        Runstate::Runnable
    } else {
        Runstate::Offline
    }
}

/// A length of time as a trace word; Xen writes -1 for no slice, and so does this for the longest.
fn ns_word(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}
