//! Where things are on the disk, and what is free.

use domio_blk::fs::layout::{GROUP_BLOCKS, GROUP_INODES, Layout};

#[test]
fn blocks_in_a_row_are_those_that_single_calls_would_take() {
    // The first block of a group of data, the number of the block that is taken already, the goal,
    // and the most that is asked for: around ends of words of 64 bits, and of the group.
    let start = 2 * GROUP_BLOCKS + 1024;
    let end = GROUP_BLOCKS - 1024;
    for (taken, from, most) in [
        (Some(200), 0, 500),
        (Some(200), 0, 100),
        (Some(63), 1, 62),
        (Some(64), 1, 63),
        (Some(64), 1, 64),
        (Some(65), 0, 300),
        (Some(1), 0, 10),
        (Some(255), 250, 300),
        (Some(100), 64, 36),
        (None, 0, 500),
        (None, end - 5, 300),
        (None, end - 1, 1),
    ] {
        let mut row = Layout::new(4 * GROUP_BLOCKS, 1024);
        if let Some(taken) = taken {
            assert_eq!(row.take_block(start + taken), start + taken);
        }
        let before = row.free();
        let (first, count) = row.take_run(start + from, most);
        let expected = taken.unwrap_or(end).saturating_sub(from).min(most);
        assert_eq!(
            (first, count),
            (start + from, expected),
            "{taken:?} {from} {most}"
        );
        assert_eq!(row.free(), before - u64::from(count));
        let mut single = Layout::new(4 * GROUP_BLOCKS, 1024);
        if let Some(taken) = taken {
            single.take_block(start + taken);
        }
        for block in first..first + count {
            assert_eq!(single.take_block(start + from), block);
        }
        // What is free in both from here on is the same.
        assert_eq!(row.free(), single.free());
        for goal in [start, start + from, 2 * GROUP_BLOCKS, 3 * GROUP_BLOCKS - 1] {
            for _ in 0..300 {
                assert_eq!(row.take_block(goal), single.take_block(goal));
            }
        }
    }
}

#[test]
fn a_goal_that_is_taken_leads_to_the_next_free_block() {
    let mut layout = Layout::new(4 * GROUP_BLOCKS, 1024);
    let start = 2 * GROUP_BLOCKS + 1024;
    assert_eq!(layout.take_run(start, 64), (start, 64));
    assert_eq!(layout.take_run(start, 10), (start + 64, 10));
}

#[test]
fn blocks_are_taken_from_the_goal_on_and_around() {
    let mut layout = Layout::new(4 * GROUP_BLOCKS, 1024);
    let goal = layout.first_goal(2, 5);
    assert_eq!(goal, 2 * GROUP_BLOCKS + 5 * 2048);
    assert_eq!(layout.take_block(goal), goal);
    assert_eq!(layout.take_block(goal), goal + 1);
    layout.give_block(goal);
    assert_eq!(layout.take_block(goal), goal, "a hole is used again");
    let last = 3 * GROUP_BLOCKS - 1;
    assert_eq!(layout.take_block(last), last);
    assert_eq!(
        layout.take_block(last),
        2 * GROUP_BLOCKS + 515,
        "the group's first"
    );
}

#[test]
fn a_full_group_sends_files_to_the_next() {
    let mut layout = Layout::new(4 * GROUP_BLOCKS, 1024);
    let room = GROUP_BLOCKS - 515;
    for _ in 0..room {
        assert_eq!(layout.take_block(2 * GROUP_BLOCKS) / GROUP_BLOCKS, 2);
    }
    assert_eq!(layout.take_block(2 * GROUP_BLOCKS), 3 * GROUP_BLOCKS + 515);
    for _ in 0..GROUP_INODES {
        assert_eq!(layout.take_inode(2) / GROUP_INODES, 2);
    }
    assert_eq!(layout.take_inode(2), 3 * GROUP_INODES);
}

#[test]
fn every_block_of_the_head_of_a_group_has_one_use() {
    let layout = Layout::new(300 * GROUP_BLOCKS, 32_768);
    assert_eq!(layout.journal_start(), GROUP_BLOCKS);
    assert_eq!(layout.table(GROUP_INODES * 2 - 1), GROUP_BLOCKS + 3 + 511);
    assert_eq!(layout.descriptor(0), 515);
    assert_eq!(layout.descriptor(299), 517);
    // What is free of group 0 begins behind its head, and has no hole.
    let mut group0 = Layout::new(300 * GROUP_BLOCKS, 32_768);
    assert_eq!(group0.take_run(0, GROUP_BLOCKS), (518, GROUP_BLOCKS - 518));
    for (groups, journal) in [(300, 32_768), (3, 1024), (960, 102_400)] {
        let layout = Layout::new(groups * GROUP_BLOCKS, journal);
        let room = Layout::room(groups * GROUP_BLOCKS, journal);
        assert_eq!(room, Some((layout.free(), layout.free_inodes())));
    }
    assert_eq!(Layout::room(2 * GROUP_BLOCKS, 1024), None);
}
