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
use domio_core::{Class, Declared, Duration, Field, PcpuId, Topology, Unit, VcpuId};

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
pub(super) fn speed(busy: u64, percent: u8) -> u64 {
    let added = 2 * u64::from(percent) - 100;
    match busy {
        0 | 1 => FULL,
        _ => (100 + (busy - 1) * added) * (FULL / 100) / busy,
    }
}

/// A thread of a core.
#[derive(Clone, Copy)]
pub(super) struct Thread {
    pub busy: bool,
    /// In millionths of the full speed.
    pub speed: u64,
    /// Work that makes no whole nanosecond yet, in millionths of one.
    rest: u64,
}

/// The threads of all pcpus, where they slow each other.
pub(crate) struct Siblings {
    pub(super) percent: u8,
    /// By pcpu; empty where no thread slows another.
    pub(super) threads: Vec<Thread>,
    /// By vcpu: work lost since that was told last.
    lost: Vec<Duration>,
}

impl Siblings {
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
    pub(super) fn take_lost(&mut self, vcpu: VcpuId) -> Duration {
        let lost = self.lost.get_mut(vcpu.index());
        lost.map_or(Duration::ZERO, core::mem::take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V: VcpuId = VcpuId(0);

    fn ns(nanos: u64) -> Duration {
        Duration::from_nanos(nanos)
    }

    fn two_threads(percent: u8) -> Siblings {
        let profile = Profile {
            sibling_percent: percent,
            ..Profile::IDEAL
        };
        Siblings::new(&profile, &Topology::new(1, 1, 2).unwrap())
    }

    #[test]
    fn threads_that_join_add_what_the_second_adds() {
        assert_eq!([0, 1, 2].map(|busy| speed(busy, 65)), [FULL, FULL, 650_000]);
        // 130 % with two, 160 with three, 190 with four.
        assert_eq!([3, 4].map(|busy| speed(busy, 65)), [533_333, 475_000]);
        assert_eq!([2, 4].map(|busy| speed(busy, 50)), [500_000, 250_000]);
        assert_eq!(speed(2, 100), FULL);
    }

    #[test]
    fn machines_without_threads_or_without_a_figure_know_no_siblings() {
        assert!(!two_threads(100).any() && two_threads(65).any());
        let single = Siblings::new(
            &Profile {
                sibling_percent: 65,
                ..Profile::IDEAL
            },
            &Topology::flat(2).unwrap(),
        );
        assert!(!single.any());
        assert_eq!(single.time_for(PcpuId(1), ns(7)), ns(7));
    }

    /// However time is cut into pieces, work is the integral of speed, and what was lost is the
    /// rest.
    #[test]
    fn work_is_the_integral_of_speed() {
        let mut s = two_threads(65);
        let (mut state, mut exact, mut worked, mut passed) = (1u64, 0u128, 0u64, 0u64);
        for _ in 0..10_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (piece, slow) = ((state >> 33) % 5_000, state >> 63 == 1);
            s.threads[0].speed = speed(1 + u64::from(slow), 65);
            exact += u128::from(piece) * if slow { 65 } else { 100 };
            worked += s.work(PcpuId(0), V, ns(piece)).as_nanos();
            passed += piece;
            assert_eq!(u128::from(worked), exact / 100);
        }
        let lost = s.take_lost(V).as_nanos();
        assert_eq!(lost, passed - worked);
        assert_eq!(s.take_lost(V), Duration::ZERO);
    }

    /// After the time that work takes it is done, and neither less nor more.
    #[test]
    fn work_is_done_when_its_time_is_over() {
        let mut s = two_threads(65);
        s.threads[0].speed = speed(2, 65);
        for work in 1..2_000 {
            let time = s.time_for(PcpuId(0), ns(work));
            assert_eq!(s.work(PcpuId(0), V, time), ns(work));
        }
    }
}
