//! Pcpus: what each of them does, its timers, and the passes that are due.

use crate::event::{Event, Queue};
use crate::hypervisor::domain_timer::{DomainTimers, OF_DOMAINS};
use crate::hypervisor::hold::Holds;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};
use domio_contract::{Cx, Stop};
use domio_core::{DomainId, Duration, Instant, PcpuId, PcpuTable, VcpuId};
use domio_sim::TimerId;

/// What a pcpu does at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The current vcpu executes, or the pcpu idles.
    Guest,
    /// The hypervisor works towards a scheduler pass.
    Entering,
    /// The pass decided; the switch (or the return to the same vcpu) is under way.
    Switching,
    /// Handlers of interrupts and softirqs of the host's kernel execute, in the time of the current
    /// vcpu (KVM).
    Interrupt,
}

/// Why a scheduler pass comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    Slice,
    Wake,
    Block,
    Yield,
    Ipi,
    PolicyTimer,
    Operator,
}

/// What every pass looks at comes first, so that it shares a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
pub(crate) struct Pcpu {
    /// When guest code of the current vcpu began or will begin to execute; `MAX` when none does.
    pub exec_from: Instant,
    /// Time of the pass that switched the current vcpu in.
    pub entered: Instant,
    pub last_pass: Instant,
    /// End of the phase `Entering` or `Switching`, or of a part of `Interrupt`.
    pub stage_at: Instant,
    /// Slice of the pick being carried out, `MAX` for none.
    pub slice: Duration,
    pub passes_at_instant: u32,
    pub stage: TimerId,
    pub slice_timer: TimerId,
    pub done: TimerId,
    pub phase: Phase,
    /// The scheduler softirq is pending although a pass or an interrupt is under way: another pass
    /// follows.
    pub again: bool,
    pub why: Stop,
    /// Policy timers that have expired and whose handlers are about to run, as bits: one for each
    /// slot, and [`OF_DOMAINS`] for those of domains.
    pub handling: u8,
    /// The pcpu was taken offline and has to notify the policy once it idles.
    pub leaving: bool,
    /// The current vcpu halts, and its thread polls (KVM).
    pub polling: bool,

    pub policy: [TimerId; Cx::TIMER_SLOTS as usize],
    pub ipi: TimerId,
    /// Ticks of [`Event::HostTick`] so far, counted modulo its range.
    pub host_ticks: u32,
    /// Who is being switched out; valid in `Switching`.
    pub prev: Option<VcpuId>,
    pub last_vcpu: Option<VcpuId>,
    /// Timers that expire before this time run with the last one that fired.
    pub timer_batch: Instant,
    /// When the handlers of those timers are done.
    pub softirq_end: Instant,
    /// No hardware timer before this time (xen-spec 0.3, 4.x).
    pub timer_floor: Instant,
}

impl Pcpu {
    /// `pcpu` idling, with timers in `queue`.
    pub fn new(pcpu: PcpuId, queue: &mut Queue) -> Self {
        let policy = core::array::from_fn(|slot| queue.timer(Event::Policy(pcpu, slot as u8)));
        Pcpu {
            phase: Phase::Guest,
            again: false,
            why: Stop::Tickled,
            exec_from: Instant::MAX,
            entered: Instant::ZERO,
            stage_at: Instant::ZERO,
            prev: None,
            slice: Duration::MAX,
            timer_batch: Instant::ZERO,
            softirq_end: Instant::ZERO,
            handling: 0,
            timer_floor: Instant::ZERO,
            last_pass: Instant::ZERO,
            passes_at_instant: 0,
            last_vcpu: None,
            host_ticks: 0,
            leaving: false,
            polling: false,
            stage: queue.timer(Event::Stage(pcpu)),
            slice_timer: queue.timer(Event::Slice(pcpu)),
            done: queue.timer(Event::Done(pcpu)),
            ipi: queue.timer(Event::Ipi(pcpu)),
            policy,
        }
    }
}

const _: () = assert!(size_of::<Pcpu>() == 128);

/// How long a pcpu has been busy.
#[derive(Clone, Copy, Default)]
pub(crate) struct Busy {
    time: Duration,
    /// Since when it has been, if it is.
    since: Instant,
}

/// All pcpus of a host.
pub(crate) struct Pcpus {
    all: PcpuTable<Pcpu>,
    /// Pcpus whose pass is due at this very instant, in order, and how many of them have made it.
    pub due: Vec<PcpuId>,
    pub due_done: usize,
    /// The policy's timers of domains.
    pub domain_timers: DomainTimers,
    /// Times at which timers do not come.
    pub holds: Holds,
    /// How long each has been busy, where anybody wants to know.
    busy: Vec<Busy>,
}

impl Pcpus {
    /// So many pcpus, of which the first is there. `busy` is whether it is to be known how long
    /// each of them is.
    pub fn new(count: usize, busy: bool, queue: &mut Queue) -> Self {
        Pcpus {
            all: PcpuTable::new(count, Pcpu::new(PcpuId(0), queue)),
            due: Vec::with_capacity(count),
            due_done: 0,
            domain_timers: DomainTimers::default(),
            holds: Holds::default(),
            busy: match busy {
                true => vec![Busy::default(); count],
                false => Vec::new(),
            },
        }
    }

    /// Every pcpu, online or not.
    pub fn ids(&self) -> impl Iterator<Item = PcpuId> + use<> {
        self.all.ids()
    }

    /// The next pass that is due at this instant.
    #[inline(always)]
    pub fn next_due(&self) -> Option<PcpuId> {
        self.due.get(self.due_done).copied()
    }

    /// Every pass that was due has been made.
    #[inline(always)]
    pub fn none_is_due(&mut self) {
        self.due.clear();
        self.due_done = 0;
    }

    /// The current vcpu of `pcpu` executes from `from` on, which has not come: what it does is
    /// decided when it gets there, for an interrupt may come first.
    #[inline(always)]
    pub fn execute_later(&mut self, queue: &mut Queue, pcpu: PcpuId, from: Instant) {
        let p = &mut self.all[pcpu];
        p.exec_from = from;
        queue.arm(p.done, from);
    }

    /// The next hold begins.
    pub fn hold(&mut self, queue: &mut Queue) {
        if let Some(hold) = self.holds.next(queue) {
            let p = &mut self.all[hold.pcpu];
            p.timer_floor = p.timer_floor.max(hold.until);
        }
    }

    /// Sets the policy's timer of `domain`, or stops it.
    pub fn set_domain_timer(&mut self, queue: &mut Queue, domain: DomainId, at: Option<Instant>) {
        if let Some(pcpu) = self.domain_timers.set(queue, domain, at) {
            self.no_longer_handled(pcpu);
        }
    }

    /// The handler of a domain's timer on `pcpu` has run or will not.
    pub fn no_longer_handled(&mut self, pcpu: PcpuId) {
        if !self.domain_timers.any_handled(pcpu) {
            self.all[pcpu].handling &= !OF_DOMAINS;
        }
    }

    /// `pcpu` begins to be busy, or ceases.
    #[inline]
    pub fn turn(&mut self, pcpu: PcpuId, busy: bool, now: Instant) {
        let Some(of_pcpu) = self.busy.get_mut(pcpu.index()) else {
            return;
        };
        if busy {
            of_pcpu.since = now;
        } else {
            of_pcpu.time += now.since(of_pcpu.since);
        }
    }

    /// How long `pcpu`, which is `busy` or idles, did not idle until `now`.
    pub fn busy_until(&self, pcpu: PcpuId, busy: bool, now: Instant) -> Duration {
        let of_pcpu = self.busy.get(pcpu.index()).copied().unwrap_or_default();
        match busy {
            true => of_pcpu.time + now.saturating_since(of_pcpu.since),
            false => of_pcpu.time,
        }
    }
}

impl Index<PcpuId> for Pcpus {
    type Output = Pcpu;

    #[inline(always)]
    fn index(&self, pcpu: PcpuId) -> &Pcpu {
        &self.all[pcpu]
    }
}

impl IndexMut<PcpuId> for Pcpus {
    #[inline(always)]
    fn index_mut(&mut self, pcpu: PcpuId) -> &mut Pcpu {
        &mut self.all[pcpu]
    }
}
