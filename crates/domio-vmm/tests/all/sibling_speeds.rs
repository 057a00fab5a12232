//! The speeds of threads of a core, and the work that is done at them.

use domio_core::{Duration, PcpuId, Topology, VcpuId};
use domio_vmm::Profile;
use domio_vmm::siblings::{Siblings, speed};

/// Full speed.
const FULL: u64 = 1_000_000;

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
        s.set_speed(PcpuId(0), speed(1 + u64::from(slow), 65));
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
    s.set_speed(PcpuId(0), speed(2, 65));
    for work in 1..2_000 {
        let time = s.time_for(PcpuId(0), ns(work));
        assert_eq!(s.work(PcpuId(0), V, time), ns(work));
    }
}
