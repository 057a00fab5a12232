//! The scheduler pass and the context switch (xen-spec 0.5).

use super::{Cause, Host, MAX_PASSES_AT_ONE_INSTANT, Phase, Queue, keeps};
use alloc::format;
use domio_core::{Duration, Instant, Kind, PcpuId, Record, Runstate, Sink, VcpuId, VcpuName};
use domio_sched::{Pause, Pick, Prev, Stop};

impl<S: Sink> Host<S> {
    /// The scheduler softirq on `pcpu`: asks the policy and begins to carry its answer out.
    pub(super) fn pass(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        self.passes += 1;
        if !self.count_pass(pcpu, now) {
            return;
        }
        let current = self.tables.pcpus[pcpu.index()].current;
        let p = self.pcpu(pcpu);
        p.phase = Phase::Switching;
        p.stage_at = now;
        let (timer, why, entered) = (p.slice_timer, p.why, p.entered);
        let prev = match current {
            None => Prev {
                vcpu: None,
                ran: Duration::ZERO,
                why,
            },
            Some(vcpu) => Prev {
                vcpu: current,
                ran: now.saturating_since(entered),
                why: if self.tables.vcpus[vcpu.index()].runnable() {
                    why
                } else {
                    Stop::NotRunnable
                },
            },
        };
        let pick = self.ask(queue, pcpu, now, Cause::Wake, |s, cx| {
            s.schedule(cx, pcpu, prev)
        });
        if !self.check(pcpu, current, &pick) {
            return;
        }
        match pick.time_slice {
            Some(slice) => queue.arm(timer, now + slice),
            None => queue.disarm(timer),
        }
        if keeps(&pick, current) {
            self.keep(queue, pcpu, now, prev.ran, pick);
        } else {
            self.switch(queue, pcpu, now, current, pick);
        }
    }

    /// Counts the passes of one instant. False when there are too many and the run has to end.
    #[inline]
    fn count_pass(&mut self, pcpu: PcpuId, now: Instant) -> bool {
        let p = self.pcpu(pcpu);
        if p.last_pass != now {
            p.last_pass = now;
            p.passes_at_instant = 0;
        }
        p.passes_at_instant += 1;
        if p.passes_at_instant <= MAX_PASSES_AT_ONE_INSTANT {
            return true;
        }
        if self.fault.is_none() {
            self.fault = Some(domio_sim::Stop::Stalled {
                what: format!(
                    "{pcpu} made {MAX_PASSES_AT_ONE_INSTANT} scheduler passes without time going \
                     on: the policy keeps tickling it, or its vcpus do nothing but wake and block"
                ),
            });
        }
        false
    }

    /// Whether `pick` is valid; a policy fault is noted when not.
    #[inline]
    fn check(&mut self, pcpu: PcpuId, current: Option<VcpuId>, pick: &Pick) -> bool {
        if pick.time_slice == Some(Duration::ZERO) {
            self.policy_fault(format!("the policy gave a slice of zero on {pcpu}"));
            return false;
        }
        let Some(vcpu) = pick.next else { return true };
        let Some(view) = self.tables.vcpus.get(vcpu.index()) else {
            self.policy_fault(format!(
                "the policy picked {vcpu:?} on {pcpu}, which never existed"
            ));
            return false;
        };
        let wrong = if !view.runnable() {
            "is not runnable"
        } else if view.on_pcpu && current != Some(vcpu) {
            "is still held by another pcpu"
        } else if !self.tables.affinity[vcpu.index()].hard.contains(pcpu) {
            "may not run there by its hard affinity"
        } else if !self.tables.online.contains(pcpu) {
            "would run on a pcpu that is offline"
        } else {
            return true;
        };
        let name = view.name;
        self.policy_fault(format!(
            "the policy picked {name} on {pcpu}, but it {wrong}"
        ));
        false
    }

    fn keep(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, ran: Duration, pick: Pick) {
        if self.recording
            && let Some(vcpu) = pick.next
        {
            let mut record = Record::new(now, pcpu, Kind::Continue, self.vcpus[vcpu.index()].name);
            record.data = [ns_word(ran), slice_word(pick.time_slice), 0, 0];
            self.trace(record);
        }
        let keep = self.profile.keep;
        let p = self.pcpu(pcpu);
        p.prev = pick.next;
        p.slice = pick.time_slice;
        if keep.is_zero() {
            self.back_to_guest(queue, pcpu, now, Duration::ZERO);
        } else {
            p.stage_at = now + keep;
            let (stage, at) = (p.stage, p.stage_at);
            queue.arm(stage, at);
        }
    }

    #[inline]
    fn switch(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        prev: Option<VcpuId>,
        pick: Pick,
    ) {
        self.tables.pcpus[pcpu.index()].current = pick.next;
        if let Some(next) = pick.next {
            let view = &mut self.tables.vcpus[next.index()];
            view.on_pcpu = true;
            view.pcpu = pcpu;
        }
        let cost = self.profile.switch;
        let p = self.pcpu(pcpu);
        p.prev = prev;
        p.slice = pick.time_slice;
        if cost.is_zero() {
            self.switched(queue, pcpu, now);
        } else {
            p.stage_at = now + cost;
            let (stage, at) = (p.stage, p.stage_at);
            queue.arm(stage, at);
        }
    }

    /// The phase `Switching` is over: the next vcpu runs.
    #[inline]
    pub(super) fn switched(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let next = self.tables.pcpus[pcpu.index()].current;
        let p = self.pcpu(pcpu);
        let prev = p.prev;
        if prev == next {
            self.back_to_guest(queue, pcpu, now, Duration::ZERO);
            return;
        }
        // Times that the policy sees count from pass to pass, as in Xen.
        let (ran, slice, decided) = (
            p.last_pass.saturating_since(p.entered),
            p.slice,
            p.last_pass,
        );
        p.entered = decided;
        let state = prev.map(|v| self.state_after_run(v));
        if self.recording {
            self.trace_switch(pcpu, now, prev, next, state, ran, slice);
        }
        if let (Some(vcpu), Some(state)) = (prev, state) {
            self.account(vcpu, state, now);
            self.stop_tick(queue, vcpu);
        }
        let mut refill = Duration::ZERO;
        if let Some(vcpu) = next {
            self.account(vcpu, Runstate::Running, now);
            refill = self.refill(pcpu, vcpu);
            self.start_tick(queue, pcpu, vcpu, now);
        }
        if let Some(vcpu) = prev {
            self.tables.vcpus[vcpu.index()].on_pcpu = false;
            self.ask(queue, pcpu, now, Cause::Wake, |s, cx| {
                s.context_saved(cx, vcpu)
            });
            if self.tables.vcpus[vcpu.index()].pause.has(Pause::MIGRATING) {
                self.migrate(queue, vcpu, pcpu, now);
            }
        }
        if next.is_none() {
            self.finish_leaving(queue, pcpu, now);
        }
        self.back_to_guest(queue, pcpu, now, refill);
    }

    /// Returns to the guest on `pcpu`, or makes another pass when one was asked for meanwhile.
    #[inline]
    fn back_to_guest(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, refill: Duration) {
        let resume = self.profile.resume + refill;
        let p = self.pcpu(pcpu);
        p.phase = Phase::Guest;
        if p.again {
            p.again = false;
            self.raise(queue, pcpu, now, Cause::Ipi);
        } else if self.tables.pcpus[pcpu.index()].current.is_some() {
            self.go(queue, pcpu, now + resume);
        }
    }

    /// Runstate of a vcpu that is switched out (xen-spec 0.5).
    #[inline]
    fn state_after_run(&self, vcpu: VcpuId) -> Runstate {
        let pause = self.tables.vcpus[vcpu.index()].pause;
        if pause.has(Pause::BLOCKED) {
            Runstate::Blocked
        } else if pause == Pause::NONE {
            Runstate::Runnable
        } else {
            Runstate::Offline
        }
    }

    /// Time that `vcpu` needs before it makes progress on `pcpu` again.
    #[inline]
    fn refill(&mut self, pcpu: PcpuId, vcpu: VcpuId) -> Duration {
        let profile = self.profile;
        let p = self.pcpu(pcpu);
        let undisturbed = p.last_vcpu == Some(vcpu);
        p.last_vcpu = Some(vcpu);
        let moved = self.vcpus[vcpu.index()]
            .ran_on
            .replace(pcpu)
            .is_some_and(|old| old != pcpu);
        if moved {
            profile.cache_refill + profile.migration_refill
        } else if undisturbed {
            Duration::ZERO
        } else {
            profile.cache_refill
        }
    }

    #[allow(clippy::too_many_arguments)] // one record, all of whose fields are needed at once
    fn trace_switch(
        &mut self,
        pcpu: PcpuId,
        now: Instant,
        prev: Option<VcpuId>,
        next: Option<VcpuId>,
        state: Option<Runstate>,
        ran: Duration,
        slice: Option<Duration>,
    ) {
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
        record.detail = state.unwrap_or(Runstate::Runnable) as u8;
        record.data = [
            name(next).word(),
            ns_word(ran),
            ns_word(waited),
            slice_word(slice),
        ];
        self.trace(record);
    }
}

/// A length of time as a trace word.
fn ns_word(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}

/// A slice as a trace word: Xen writes -1 for none.
fn slice_word(slice: Option<Duration>) -> u32 {
    slice.map_or(u32::MAX, ns_word)
}
