//! The interrupts of devices on a host with KVM that are under way or due, by pcpu.

use alloc::vec::Vec;
use domio_core::{CpuSet, Duration, Instant, PcpuId, VcpuId};

/// The threads that softirqs are left to, and the interrupts under way.
#[derive(Default)]
pub(crate) struct Interrupts {
    pub(super) all: Vec<Interrupt>,
    /// Pcpus that idled, were interrupted, and are awake until their next pass.
    awake: CpuSet,
}

/// The interrupts of one pcpu.
pub(super) struct Interrupt {
    /// The thread, which has their kernel.
    pub(super) thread: VcpuId,
    /// One has come that could not begin yet.
    pub(super) due: bool,
    /// Where handlers or softirqs run at the moment.
    pub(super) on: Option<PcpuId>,
    /// Since when the part runs that was not counted yet, and whether that is a softirq.
    pub(super) since: Instant,
    pub(super) softirq: bool,
    /// What was counted of handlers and of softirqs, and not recorded.
    pub(super) taken: [Duration; 2],
    /// What the kernel has executed when the stage of the pcpu ends.
    pub(super) leg: Duration,
    /// What hypervisor code on the pcpu has taken meanwhile.
    pub(super) owed: Duration,
    /// What was left of the way back into the guest that was interrupted.
    pub(super) rest: Duration,
    /// The vcpu that was interrupted polled.
    pub(super) polled: bool,
}

impl Interrupts {
    /// Whether the host has any.
    #[inline(always)]
    pub fn any(&self) -> bool {
        !self.all.is_empty()
    }

    /// Softirqs are left to `thread`.
    pub fn add(&mut self, thread: VcpuId) {
        self.all.push(Interrupt {
            thread,
            due: false,
            on: None,
            since: Instant::ZERO,
            softirq: false,
            taken: [Duration::ZERO; 2],
            leg: Duration::ZERO,
            owed: Duration::ZERO,
            rest: Duration::ZERO,
            polled: false,
        });
    }

    /// `pcpu` goes from an interrupt to a pass; `idled` is whether the interrupt has woken the
    /// processor.
    pub(super) fn set_awake(&mut self, pcpu: PcpuId, idled: bool) {
        if idled {
            self.awake.insert(pcpu);
        }
    }

    /// Whether `pcpu`, which idles as its pass comes, was woken by an interrupt. The next pass is
    /// another one's.
    #[inline]
    pub fn take_awake(&mut self, pcpu: PcpuId) -> bool {
        if !self.any() {
            return false;
        }
        let was = self.awake.contains(pcpu);
        self.awake.remove(pcpu);
        was
    }

    /// Whether softirqs are left to `thread`.
    #[inline]
    pub fn has(&self, thread: VcpuId) -> bool {
        self.all.iter().any(|own| own.thread == thread)
    }

    pub(super) fn of(&mut self, thread: VcpuId) -> Option<&mut Interrupt> {
        self.all.iter_mut().find(|own| own.thread == thread)
    }

    /// The interrupt under way on `pcpu`.
    pub(super) fn on(&mut self, pcpu: PcpuId) -> &mut Interrupt {
        let own = self.all.iter_mut().find(|own| own.on == Some(pcpu));
        own.expect("a pcpu in an interrupt has one")
    }

    /// Where the kernel of `thread` executes, if it is in an interrupt.
    #[inline]
    pub fn place_of(&self, thread: VcpuId) -> Option<PcpuId> {
        let own = self.all.iter().find(|own| own.thread == thread);
        own.and_then(|own| own.on)
    }

    /// The thread whose kernel executes on `pcpu`, which is in an interrupt.
    pub fn thread_on(&mut self, pcpu: PcpuId) -> VcpuId {
        self.on(pcpu).thread
    }

    /// The hypervisor of `pcpu`, which is in an interrupt, takes `cost`.
    pub fn owe(&mut self, pcpu: PcpuId, cost: Duration) {
        self.on(pcpu).owed += cost;
    }

    /// The vcpu that was interrupted on `pcpu` has something to do: it does not poll any more.
    pub fn ends_poll(&mut self, pcpu: PcpuId) {
        self.on(pcpu).polled = false;
    }

    /// What the hypervisor has taken since this was asked last.
    pub fn take_owed(&mut self, pcpu: PcpuId) -> Duration {
        core::mem::take(&mut self.on(pcpu).owed)
    }

    /// The kernel on `pcpu` executes for `leg`, in a softirq or in a handler.
    pub fn begin_leg(&mut self, pcpu: PcpuId, leg: Duration, softirq: bool) {
        let own = self.on(pcpu);
        (own.leg, own.softirq) = (leg, softirq);
    }

    /// The kernel on `pcpu` has executed until `now`: for how long by its own clock.
    pub fn end_leg(&mut self, pcpu: PcpuId, now: Instant) -> Duration {
        let own = self.on(pcpu);
        own.count(now);
        core::mem::take(&mut own.leg)
    }
}

impl Interrupt {
    pub(super) fn count(&mut self, now: Instant) {
        self.taken[usize::from(self.softirq)] += now.saturating_since(self.since);
        self.since = now;
    }
}
