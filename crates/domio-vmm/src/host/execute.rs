//! Guests executing, blocking and being interrupted.

use super::softirq::Expiry;
use super::{Cause, Event, Host, Phase, Queue, Tick};
use crate::bus::Device;
use crate::guest::Step;
use crate::process::run::Next;
use domio_core::{Duration, Instant, Kind, PcpuId, Record, Sink, VcpuId, VcpuName, XenVersion};
use domio_sched::Pause;

/// Period of the guest tick that Xen up to 3.0 sends to whoever runs (xen-spec 0.9).
pub(super) const HOST_TICK: Duration = Duration::from_millis(10);

impl<S: Sink, D: Device> Host<S, D> {
    /// The current vcpu of `pcpu` executes guest code from `from` (now or a little later) on.
    #[inline(always)]
    pub(super) fn go(&mut self, queue: &mut Queue, pcpu: PcpuId, from: Instant) {
        if let Some(vcpu) = self.tables.pcpus[pcpu].current {
            self.go_on(queue, pcpu, vcpu, from);
        }
    }

    /// As [`Host::go`] for `vcpu`, which is current.
    #[inline(always)]
    pub(super) fn go_on(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, from: Instant) {
        let p = &mut self.pcpus[pcpu];
        p.exec_from = from;
        if from > queue.now() {
            // What it does is decided when it gets there: an interrupt may come first.
            queue.arm(p.done, from);
        } else if !self.vcpus[vcpu.index()].guest.is_steady() {
            self.next_step(queue, pcpu, vcpu, from);
        }
    }

    /// Finds out what `vcpu` executes next: its kernel goes before its processes.
    #[inline(always)]
    fn next_step(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        if D::PRESENT && !self.kernel_is_quiet(vcpu) && self.step_kernel(queue, pcpu, vcpu, now) {
            return;
        }
        self.step_processes(queue, pcpu, vcpu, now);
    }

    /// Goes on with the processes of `vcpu`, whose kernel has nothing to do.
    #[inline(never)]
    fn step_processes(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        // A program whose step asked nothing of the kernel goes on at once.
        let mut kernel_first = false;
        loop {
            if D::PRESENT && kernel_first && self.step_kernel(queue, pcpu, vcpu, now) {
                return;
            }
            kernel_first = true;
            let v = &mut self.vcpus[vcpu.index()];
            let step = v.guest.step(now, &mut self.jobs);
            if step != Step::Program {
                v.set_timer::<D>(queue, now);
            }
            if !self.jobs.is_empty() {
                self.report_jobs(pcpu, vcpu, now);
            }
            match step {
                Step::Run(Duration::MAX) => {}
                Step::Run(time) => {
                    let done = self.pcpus[pcpu].done;
                    queue.arm(done, now + time);
                }
                Step::Block => {
                    if D::PRESENT && self.is_called(vcpu) {
                        // An upcall is due: the hypercall returns at once (xen-spec 0.7).
                        continue;
                    }
                    let left = self.vcpus[vcpu.index()].guest.enter_idle();
                    if !left.is_zero() {
                        queue.arm(self.pcpus[pcpu].done, now + left);
                        return;
                    }
                    self.block(queue, pcpu, vcpu, now);
                }
                Step::Yield => self.yields(queue, pcpu, vcpu, now),
                Step::Thread => {
                    self.vcpus[vcpu.index()].guest.run_thread();
                    continue;
                }
                Step::Program => match self.step_program(queue, pcpu, vcpu, now) {
                    Next::Run(time) => {
                        self.vcpus[vcpu.index()].set_timer::<D>(queue, now);
                        if time != Duration::MAX {
                            queue.arm(self.pcpus[pcpu].done, now + time);
                        }
                    }
                    Next::GoOn | Next::Report(_) => {
                        let guest = &self.vcpus[vcpu.index()].guest;
                        kernel_first = self.bus.wires.has_sent() || guest.kernel_goes_first();
                        continue;
                    }
                    Next::Yield => {
                        self.vcpus[vcpu.index()].set_timer::<D>(queue, now);
                        self.yields(queue, pcpu, vcpu, now);
                    }
                    Next::Hypercall(call) => {
                        self.hypercall(queue, pcpu, vcpu, call, now);
                        let p = &self.pcpus[pcpu];
                        if p.phase == Phase::Guest && p.exec_from == now {
                            continue;
                        }
                        // What it set reaches its own vcpu: an interrupt or a pass comes first.
                        self.vcpus[vcpu.index()].set_timer::<D>(queue, now);
                    }
                    // The run ends.
                    Next::Stuck => {}
                },
            }
            return;
        }
    }

    /// The yield hypercall.
    #[inline]
    fn yields(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        let name = self.vcpus[vcpu.index()].name;
        self.trace(Record::new(now, pcpu, Kind::Yield, name));
        self.ask(queue, pcpu, now, Cause::Yield, |s, cx| s.yielded(cx, vcpu));
        self.raise(queue, pcpu, now, Cause::Yield);
    }

    pub(super) fn guest_done(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let Some(vcpu) = self.tables.pcpus[pcpu].current else {
            return;
        };
        let p = &mut self.pcpus[pcpu];
        let time = now.since(p.exec_from);
        p.exec_from = now;
        if !time.is_zero() {
            self.vcpus[vcpu.index()].guest.executed(time);
        }
        if !self.vcpus[vcpu.index()].guest.is_steady() {
            self.next_step(queue, pcpu, vcpu, now);
        }
    }

    /// The hypervisor takes over on `pcpu`: the guest has executed up to `now`.
    #[inline(always)]
    pub(super) fn halt(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let p = &mut self.pcpus[pcpu];
        if p.exec_from == Instant::MAX {
            return;
        }
        let time = now.saturating_since(p.exec_from);
        p.exec_from = Instant::MAX;
        queue.disarm(p.done);
        if let Some(vcpu) = self.tables.pcpus[pcpu].current
            && !time.is_zero()
        {
            self.vcpus[vcpu.index()].guest.executed(time);
        }
    }

    /// Tells the guests that execute that they have done so until `now`, where it is to be known
    /// for whom they work: what they did before belongs to the time before.
    pub(super) fn execute_until(&mut self, now: Instant) {
        if !D::PRESENT || !self.bus.wires.owners {
            return;
        }
        for pcpu in self.pcpus.ids() {
            let p = &mut self.pcpus[pcpu];
            if p.phase != Phase::Guest || p.exec_from >= now {
                continue;
            }
            if let Some(vcpu) = self.tables.pcpus[pcpu].current {
                let time = now.since(p.exec_from);
                p.exec_from = now;
                self.vcpus[vcpu.index()].guest.executed(time);
            }
        }
    }

    /// The block hypercall (xen-spec 0.7).
    #[inline]
    fn block(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        self.tables.vcpus[vcpu.index()].pause.set(Pause::BLOCKED);
        self.trace(Record::new(
            now,
            pcpu,
            Kind::Block,
            self.vcpus[vcpu.index()].name,
        ));
        self.raise(queue, pcpu, now, Cause::Block);
    }

    #[inline(never)]
    fn report_jobs(&mut self, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        if !self.records() {
            self.jobs.clear();
            return;
        }
        let mut jobs = core::mem::take(&mut self.jobs);
        for job in jobs.drain(..) {
            let (turnaround, work) = (
                job.finished.turnaround.as_nanos(),
                job.finished.work.as_nanos(),
            );
            let mut record = Record::new(now, pcpu, Kind::JobDone, self.vcpus[vcpu.index()].name);
            record.detail = job.task;
            record.data = [
                turnaround as u32,
                (turnaround >> 32) as u32,
                work as u32,
                (work >> 32) as u32,
            ];
            self.trace(record);
        }
        self.jobs = jobs;
    }

    pub(super) fn guest_timer(&mut self, queue: &mut Queue, vcpu: VcpuId, now: Instant) {
        let pcpu = self.tables.vcpus[vcpu.index()].pcpu;
        if let Expiry::Later(at) = self.guest_expiry(vcpu, pcpu, now) {
            queue.arm(self.vcpus[vcpu.index()].timer, at);
            return;
        }
        self.vcpus[vcpu.index()].timer_at = Instant::MAX;
        self.interrupt(queue, vcpu, pcpu, now);
    }

    /// What becomes of the timer of `vcpu`, which expires now.
    #[inline(never)]
    fn guest_expiry(&mut self, vcpu: VcpuId, pcpu: PcpuId, now: Instant) -> Expiry {
        let asleep = self.tables.vcpus[vcpu.index()].pause.has(Pause::BLOCKED);
        let work = if asleep {
            self.profile.wake_to_pass
        } else {
            self.profile.softirq.of_guest()
        };
        if asleep && self.vcpus[vcpu.index()].guest.wakes_by_delivery() {
            self.arrive(pcpu, now, work)
        } else {
            self.expire(pcpu, now, work)
        }
    }

    /// As [`Host::expire`] for a wake-up that is delivered at its time: nothing but a switch under
    /// way holds it back. The softirq that it comes from holds other timers back as always.
    fn arrive(&mut self, pcpu: PcpuId, now: Instant, work: Duration) -> Expiry {
        if self.version < XenVersion::V4_0 {
            return self.expire(pcpu, now, work);
        }
        let slop = self.profile.softirq.exit + self.profile.timer_slop;
        let p = &mut self.pcpus[pcpu];
        if p.phase == Phase::Switching && p.stage_at > now {
            return Expiry::Later(p.stage_at);
        }
        let until = now + self.profile.softirq.after_wake;
        p.timer_batch = now;
        p.softirq_end = until;
        p.timer_floor = until + slop;
        Expiry::Runs { until }
    }

    /// Sends an interrupt to `vcpu` from hypervisor code on `on`: wakes it when it is blocked,
    /// interrupts it when it executes, and is noticed when it runs again otherwise.
    #[inline(always)]
    fn interrupt(&mut self, queue: &mut Queue, vcpu: VcpuId, on: PcpuId, now: Instant) {
        let cost = self.profile.interrupt;
        if self.give_tick(vcpu) {
            self.kick(queue, vcpu, on, now, cost);
        }
    }

    /// Makes `vcpu` look at its interrupts, from hypervisor code on `on` that takes `cost`.
    #[inline(always)]
    pub(super) fn kick(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        on: PcpuId,
        now: Instant,
        cost: Duration,
    ) {
        if self.tables.vcpus[vcpu.index()].pause.has(Pause::BLOCKED) {
            self.wake(queue, vcpu, on, now, domio_sched::Wake::Event);
            let least = self
                .profile
                .wake_to_pass
                .saturating_sub(self.profile.tickle);
            self.put_off(queue, on, now, least);
        } else {
            let pcpu = self.tables.vcpus[vcpu.index()].pcpu;
            let executes = self.tables.pcpus[pcpu].current == Some(vcpu)
                && self.pcpus[pcpu].phase == Phase::Guest;
            if executes {
                let delay = if pcpu == on {
                    cost
                } else {
                    cost + self.profile.ipi
                };
                self.halt(queue, pcpu, now);
                if D::PRESENT {
                    // By way of the queue even when nothing takes time: who sends is in the middle
                    // of its step, and what it sent is not delivered in full yet.
                    let p = &mut self.pcpus[pcpu];
                    p.exec_from = now + delay;
                    queue.arm(p.done, now + delay);
                } else {
                    self.go(queue, pcpu, now + delay);
                }
                if pcpu == on {
                    return;
                }
            }
        }
        // A pass that the wake-up asked for has this work in its lead.
        if self.pcpus[on].phase == Phase::Guest {
            self.steal(queue, on, now, cost);
        }
    }

    /// Gives `vcpu`, which is switched in on `pcpu`, the periodic tick that it missed, and arms
    /// the next one (xen-spec 0.9).
    #[inline]
    pub(super) fn start_tick(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        vcpu: VcpuId,
        now: Instant,
    ) {
        let legacy = self.version <= XenVersion::V3_0;
        let ticks = self.pcpus[pcpu].host_ticks;
        let v = &mut self.vcpus[vcpu.index()];
        let Some(tick) = &mut v.tick else { return };
        if legacy {
            if tick.seen != ticks {
                tick.seen = ticks;
                self.give_tick(vcpu);
            }
            return;
        }
        let missed = now > tick.last + tick.period;
        if missed {
            tick.last = now;
        }
        queue.arm(tick.timer, tick.last + tick.period);
        if missed {
            self.give_tick(vcpu);
        }
    }

    /// Gives `vcpu` a timer interrupt, which it finds when it executes next; whether that is news
    /// to it.
    #[inline(always)]
    fn give_tick(&mut self, vcpu: VcpuId) -> bool {
        if D::PRESENT
            && let Some(news) = self.raise_timer(vcpu)
        {
            return news;
        }
        self.vcpus[vcpu.index()].guest.interrupt();
        true
    }

    pub(super) fn guest_tick(&mut self, queue: &mut Queue, vcpu: VcpuId, now: Instant) {
        let pcpu = self.tables.vcpus[vcpu.index()].pcpu;
        let expiry = self.expire(pcpu, now, self.profile.softirq.of_guest());
        let Some(tick) = &mut self.vcpus[vcpu.index()].tick else {
            return;
        };
        if let Expiry::Later(at) = expiry {
            queue.arm(tick.timer, at);
            return;
        }
        tick.last = now;
        queue.arm(tick.timer, now + tick.period);
        self.interrupt(queue, vcpu, pcpu, now);
    }

    pub(super) fn host_tick(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        queue.post(now + HOST_TICK, Event::HostTick(pcpu));
        let ticks = self.pcpus[pcpu].host_ticks.wrapping_add(1);
        self.pcpus[pcpu].host_ticks = ticks;
        if let Some(vcpu) = self.tables.pcpus[pcpu].current
            && let Some(tick) = &mut self.vcpus[vcpu.index()].tick
        {
            tick.seen = ticks;
            self.interrupt(queue, vcpu, pcpu, now);
        }
    }

    /// A tick of `period` for the guest of a new vcpu.
    pub(super) fn new_tick(
        queue: &mut Queue,
        vcpu: VcpuId,
        period: Option<Duration>,
        now: Instant,
    ) -> Option<Tick> {
        period.map(|period| Tick {
            period,
            last: now,
            timer: queue.timer(Event::GuestTick(vcpu)),
            seen: 0,
        })
    }

    /// Name of the vcpu that is current on `pcpu`, or of its idle vcpu.
    pub fn current_name(&self, pcpu: PcpuId) -> VcpuName {
        match self.tables.pcpus[pcpu].current {
            Some(vcpu) => self.vcpus[vcpu.index()].name,
            None => VcpuName::idle(pcpu),
        }
    }
}
