//! The groups of directories.

use domio_blk::fs::layout::{GROUP_BLOCKS, GROUP_INODES, Layout};
use domio_blk::fs::orlov::{beside, in_root};

/// 12 groups, of which the first has the journal behind it.
fn layout() -> Layout {
    Layout::new(12 * GROUP_BLOCKS, 4096)
}

#[test]
fn directories_of_the_root_are_spread_from_a_random_group_on() {
    let mut layout = layout();
    let mut groups = Vec::new();
    for draw in [5, 5, 5, 11] {
        let group = in_root(&layout, draw);
        layout.count_directory(group);
        groups.push(group);
    }
    assert_eq!(groups, [5, 6, 7, 11]);
    assert_eq!(in_root(&layout, 11), 0);
    layout.count_directory(0);
    // Group 1 is full of the journal.
    assert_eq!(in_root(&layout, 11), 2);
}

#[test]
fn other_directories_stay_with_their_parent_until_its_group_is_full() {
    let mut layout = layout();
    assert_eq!(beside(&layout, 5), 5);
    // A quarter of a group fuller than the others are.
    layout.take_run(5 * GROUP_BLOCKS + 1000, GROUP_BLOCKS / 4);
    assert_eq!(beside(&layout, 5), 5);
    layout.take_run(5 * GROUP_BLOCKS + 1000 + GROUP_BLOCKS / 4, GROUP_BLOCKS / 8);
    assert_eq!(beside(&layout, 5), 6);
}

#[test]
fn a_group_takes_a_sixteenth_of_its_inodes_as_directories() {
    let mut layout = layout();
    for _ in 0..GROUP_INODES / 16 + 93 {
        layout.count_directory(5);
    }
    // 1117 directories are 93 a group.
    assert_eq!(beside(&layout, 5), 6);
}
