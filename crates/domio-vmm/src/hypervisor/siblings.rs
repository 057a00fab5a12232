//! Threads of a core slow each other: while another thread of its core is busy, a vcpu makes less
//! progress than time passes.
//!
//! A thread is busy from when a vcpu runs on it until the pcpu idles. The speed of a thread is
//! constant between two such changes in its core; the work of its vcpu is the integral of the
//! speed, in whole nanoseconds, whose remainder is carried on. Runstates, slices, credit and the
//! costs of the hypervisor itself are time on the clock, as on a real Xen: nobody is charged less
//! for a slow pcpu. The difference is what records of this class say.

use crate::profile::Profile;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::accounted::LOST_TO_SIBLINGS;
use domio_core::{Class, CpuSet, Declared, Duration, Field, PcpuId, Topology, Unit, VcpuId};

/// What a host reports threads that slow each other: "slowed", about a vcpu that has executed, has
/// lost so many ns of work to other threads of its core since the last such record. Written when
/// the vcpu leaves its pcpu, and where a trace begins and ends.
pub static SIBLINGS: Class = Class::new(
    "siblings",
    &[
        Declared::new(0, "slowed", &[Field::long("lost", 0, Unit::Nanoseconds)])
            .tallies(&[LOST_TO_SIBLINGS]),
    ],
);

/// Full speed.
const FULL: u64 = 1_000_000;

/// The speed of each of `busy` threads of a core, in millionths of the full one, where one of two
/// has `percent`: each thread that joins adds as much to the core as the second one.
pub fn speed(busy: u64, percent: u8) -> u64 {
    let added = 2 * u64::from(percent) - 100;
    match busy {
        0 | 1 => FULL,
        _ => (100 + (busy - 1) * added) * (FULL / 100) / busy,
    }
}

/// A thread of a core.
#[derive(Clone, Copy)]
struct Thread {
    busy: bool,
    /// In millionths of the full speed.
    speed: u64,
    /// Work that makes no whole nanosecond yet, in millionths of one.
    rest: u64,
}

/// The threads of all pcpus, where they slow each other.
pub struct Siblings {
    percent: u8,
    /// By pcpu; empty where no thread slows another.
    threads: Vec<Thread>,
    /// By vcpu: work lost since that was told last.
    lost: Vec<Duration>,
}

impl Siblings {
    /// All threads of a host of this machine, idle.
    pub fn new(profile: &Profile, topology: &Topology) -> Self {
        let slow = profile.sibling_percent < 100 && topology.threads_per_core() > 1;
        let idle = Thread {
            busy: false,
            speed: FULL,
            rest: 0,
        };
        Siblings {
            percent: profile.sibling_percent.clamp(50, 100),
            threads: match slow {
                true => vec![idle; topology.pcpus()],
                false => Vec::new(),
            },
            lost: Vec::new(),
        }
    }

    /// Whether threads slow each other.
    #[inline(always)]
    pub fn any(&self) -> bool {
        !self.threads.is_empty()
    }

    /// `pcpu` begins to be busy or ceases. Returns the speed that all threads of its `core` have
    /// from now on, for [`Siblings::set_speed`] of each.
    pub fn turn(&mut self, pcpu: PcpuId, busy: bool, core: &CpuSet) -> u64 {
        self.threads[pcpu.index()].busy = busy;
        let threads = core.iter().map(|p| &self.threads[p.index()]);
        speed(
            threads.filter(|thread| thread.busy).count() as u64,
            self.percent,
        )
    }

    /// The speed of `pcpu` from now on, in millionths of the full one.
    pub fn set_speed(&mut self, pcpu: PcpuId, speed: u64) {
        self.threads[pcpu.index()].speed = speed;
    }

    /// What `vcpu` gets done on `pcpu` in `time`.
    #[inline(always)]
    pub fn work(&mut self, pcpu: PcpuId, vcpu: VcpuId, time: Duration) -> Duration {
        match self.any() {
            true => self.slowed(pcpu, vcpu, time),
            false => time,
        }
    }

    #[cold]
    fn slowed(&mut self, pcpu: PcpuId, vcpu: VcpuId, time: Duration) -> Duration {
        let thread = &mut self.threads[pcpu.index()];
        let done = u128::from(time.as_nanos()) * u128::from(thread.speed) + u128::from(thread.rest);
        thread.rest = (done % u128::from(FULL)) as u64;
        let work = Duration::from_nanos((done / u128::from(FULL)) as u64);
        let lost = time - work;
        if self.lost.len() <= vcpu.index() {
            self.lost.resize(vcpu.index() + 1, Duration::ZERO);
        }
        self.lost[vcpu.index()] += lost;
        work
    }

    /// How long `work` takes on `pcpu` at its present speed.
    #[inline(always)]
    pub fn time_for(&self, pcpu: PcpuId, work: Duration) -> Duration {
        match self.any() {
            true => self.slowed_time(pcpu, work),
            false => work,
        }
    }

    #[cold]
    fn slowed_time(&self, pcpu: PcpuId, work: Duration) -> Duration {
        let thread = &self.threads[pcpu.index()];
        let left = u128::from(work.as_nanos()) * u128::from(FULL);
        let left = left.saturating_sub(u128::from(thread.rest));
        Duration::from_nanos(left.div_ceil(u128::from(thread.speed)) as u64)
    }

    /// What `vcpu` has lost since this was asked last.
    pub fn take_lost(&mut self, vcpu: VcpuId) -> Duration {
        let lost = self.lost.get_mut(vcpu.index());
        lost.map_or(Duration::ZERO, core::mem::take)
    }
}
