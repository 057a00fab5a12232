//! Vcpus: their runstates, their guests, and the timers that these set.

use crate::bus::device::Device;
use crate::event::Queue;
use crate::guest::Guest;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};
use domio_core::{DomainId, Duration, Instant, PcpuId, Runstate, VcpuId, VcpuName};
use domio_sim::TimerId;

/// A vcpu. What every switch looks at comes first, so that it shares a cache line; the next one is
/// what the guest looks at whenever it executes.
#[repr(C, align(64))]
pub(crate) struct Vcpu {
    pub times: [Duration; 4],
    /// Since when it is in `state`.
    pub since: Instant,
    /// Up to when `times` count.
    pub accounted: Instant,
    /// Time to which `timer` is set; `MAX` for not set.
    pub timer_at: Instant,
    pub timer: TimerId,
    pub state: Runstate,
    pub alive: bool,
    /// Whether it has a `tick`.
    pub ticks: bool,

    pub guest: Guest,
    /// Period and timer of the tick that Xen gives it, with the time of the last one.
    pub tick: Option<Tick>,
    /// When it was created.
    pub created: Instant,
    pub name: VcpuName,
    pub ran_on: Option<PcpuId>,
}

const _: () = assert!(size_of::<Vcpu>() == 256);

impl Vcpu {
    /// Puts it into `state`, in which it is since `since`, as if that were its beginning.
    pub fn start_in(&mut self, state: Runstate, since: Instant) {
        self.state = state;
        self.since = since;
        self.accounted = since;
        self.created = since;
    }

    /// Brings the runstate sums up to `now` and puts it into `state`.
    #[inline]
    pub fn account(&mut self, state: Runstate, now: Instant) {
        self.times[self.state as usize] += now.since(self.accounted);
        self.accounted = now;
        if state != self.state {
            self.since = now;
            self.state = state;
        }
    }

    /// Makes the timer that the guest has set at the hypervisor agree with what it wants.
    #[inline(always)]
    pub fn set_timer<D: Device>(&mut self, queue: &mut Queue, now: Instant) {
        let wanted = if D::present() {
            self.guest.next_wake_of_any()
        } else {
            self.guest.next_wake()
        };
        if wanted != self.timer_at {
            self.timer_at = wanted;
            match wanted {
                Instant::MAX => queue.disarm(self.timer),
                at => queue.arm(self.timer, at.max(now)),
            }
        }
    }

    #[inline]
    pub fn stop_tick(&self, queue: &mut Queue) {
        if self.ticks
            && let Some(tick) = &self.tick
        {
            queue.disarm(tick.timer);
        }
    }
}

/// The periodic tick that Xen gives a vcpu.
pub(crate) struct Tick {
    pub period: Duration,
    pub last: Instant,
    pub timer: TimerId,
    /// Value of the pcpu's `host_ticks` that it has seen (Xen up to 3.0).
    pub seen: u32,
}

/// Time that a vcpu spent in each runstate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunstateTimes {
    /// Executing on a pcpu.
    pub running: Duration,
    /// Waiting for a pcpu.
    pub runnable: Duration,
    /// Waiting for an event.
    pub blocked: Duration,
    /// Paused, parked or not brought up.
    pub offline: Duration,
}

/// All vcpus that were created so far, in the order of their creation.
#[derive(Default)]
pub(crate) struct Vcpus {
    pub(super) all: Vec<Vcpu>,
    /// First vcpu of each domain, by domain id.
    first: Vec<Option<VcpuId>>,
    /// Some processes go from one vcpu of their domain to another.
    pub roams: bool,
}

impl Vcpus {
    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Each with its number.
    pub fn iter(&self) -> impl Iterator<Item = (VcpuId, &Vcpu)> {
        (0..).map(VcpuId).zip(&self.all)
    }

    /// The number of each.
    pub fn ids(&self) -> impl Iterator<Item = VcpuId> + use<> {
        (0..self.all.len() as u32).map(VcpuId)
    }

    /// Those that were not destroyed.
    pub fn alive(&self) -> impl Iterator<Item = (VcpuId, &Vcpu)> {
        self.iter().filter(|(_, v)| v.alive)
    }

    /// The next vcpu to be added is the first of `domain`.
    pub fn next_is_first_of(&mut self, domain: DomainId) {
        if self.first.len() <= domain.index() {
            self.first.resize(domain.index() + 1, None);
        }
        self.first[domain.index()] = Some(VcpuId(self.all.len() as u32));
    }

    /// Adds a vcpu.
    pub fn add(&mut self, vcpu: Vcpu) {
        self.roams |= vcpu.guest.roams();
        self.all.push(vcpu);
    }

    /// The first vcpu of `domain`, if the domain was created.
    #[inline]
    pub fn first_of(&self, domain: DomainId) -> Option<VcpuId> {
        self.first.get(domain.index()).copied().flatten()
    }

    /// The vcpu called `name`, of a domain with devices.
    #[inline]
    pub fn called(&self, name: VcpuName) -> VcpuId {
        let first = self.first_of(name.domain);
        let first = first.expect("only domains that were created have ports");
        VcpuId(first.0 + u32::from(name.index))
    }

    /// The vcpu called `name`, if there is one.
    pub fn find(&self, name: VcpuName) -> Option<VcpuId> {
        self.alive().find(|(_, v)| v.name == name).map(|(id, _)| id)
    }

    /// Brings the runstate sums up to `now`.
    pub fn mark(&mut self, now: Instant) {
        for v in self.all.iter_mut().filter(|v| v.alive) {
            v.account(v.state, now);
        }
    }
}

impl Index<VcpuId> for Vcpus {
    type Output = Vcpu;

    #[inline(always)]
    fn index(&self, vcpu: VcpuId) -> &Vcpu {
        &self.all[vcpu.index()]
    }
}

impl IndexMut<VcpuId> for Vcpus {
    #[inline(always)]
    fn index_mut(&mut self, vcpu: VcpuId) -> &mut Vcpu {
        &mut self.all[vcpu.index()]
    }
}
