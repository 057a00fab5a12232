//! Decaying averages of think times and seek distances.

use domio_blk::elevator::history::Average;

#[test]
fn the_third_sample_makes_a_history_valid() {
    let mut average = Average::default();
    let mut weights = [0; 3];
    for weight in &mut weights {
        average.think(4);
        *weight = average.samples;
    }
    assert_eq!(weights, [32, 60, 84]);
    assert!(average.is_valid());
    // (336 + 128) / 84: the kernel rounds by half of the full weight, too much at first.
    assert_eq!(average.mean, 5);
}

#[test]
fn a_far_seek_counts_less_once_there_is_a_history() {
    let mut average = Average::default();
    for _ in 0..3 {
        average.seek(0);
    }
    average.seek(1 << 30);
    let bound = 2 * 1024 * 64 * 32 / average.samples;
    assert!(average.mean <= bound + 1, "{}", average.mean);
}
