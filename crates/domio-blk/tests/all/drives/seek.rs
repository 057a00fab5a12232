//! Lee's curve of seek times.

use domio_blk::drive::disk::SeekTimes;
use domio_core::Duration;

fn times(next: u64, mean: u64, full: u64) -> SeekTimes {
    SeekTimes {
        next: Duration::from_micros(next),
        mean: Duration::from_micros(mean),
        full: Duration::from_micros(full),
    }
}

/// Picoseconds of the curve with the constants that the profiles' sources give: a in 10 ps a
/// root of a cylinder, b in 0.1 ps a cylinder.
fn expected(a: u64, b: u64, distance: u64) -> u64 {
    let root = (distance - 1) * 1_000_000_000_000;
    800_000_000 + a * 10_000 * root.isqrt() / 1_000_000 + b * (distance - 1) / 10
}

#[test]
fn curves_have_the_constants_of_both_profiles() {
    let hitachi = (times(800, 8200, 14_700).curve(106_410), 4241, 6265);
    let generic = (times(800, 8500, 18_000).curve(179_100), 2324, 411_300);
    for (curve, a, b) in [hitachi, generic] {
        for distance in [1, 2, 10, 100, 1000, 10_000, 50_000, 106_409] {
            let picoseconds = u64::from(curve[distance as usize]) * 1000;
            let lee = expected(a, b, distance);
            assert!(
                picoseconds.abs_diff(lee) * 2000 < lee,
                "{distance}: {picoseconds} {lee}"
            );
        }
    }
}

#[test]
fn the_curve_is_that_of_each_distance_alone() {
    let seek = times(800, 8500, 18_000);
    let (root, line) = seek.constants().unwrap();
    for cylinders in [1u64, 2, 3, 1000, 179_100] {
        let curve = seek.curve(cylinders);
        assert_eq!(curve.len() as u64, cylinders);
        for (distance, time) in (0u64..).zip(&curve) {
            let Some(beyond) = distance.checked_sub(1).map(u128::from) else {
                assert_eq!(*time, 0);
                continue;
            };
            let part = (beyond << 48) / u128::from(cylinders);
            let rooted = (u128::from(root) * u128::from((part as u64).isqrt())) >> 24;
            let lined = u128::from(line) * beyond / u128::from(cylinders);
            assert_eq!(
                u128::from(*time),
                800_000 + (rooted + lined) / 3,
                "{distance}"
            );
        }
    }
}

#[test]
fn a_longer_seek_never_takes_less_time() {
    let curve = times(800, 8500, 18_000).curve(179_100);
    assert_eq!(curve[0], 0);
    assert!(curve.windows(2).all(|pair| pair[0] <= pair[1]));
    let last = curve[179_099].abs_diff(18_000_000);
    assert!(last < 1000, "the whole disk takes {last} ns more or less");
}

#[test]
fn times_without_a_curve_are_refused() {
    assert_eq!(times(800, 5000, 18_000).constants(), None);
    assert_eq!(times(800, 12_000, 14_000).constants(), None);
}
