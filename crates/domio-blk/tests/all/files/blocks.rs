//! The blocks of files.

use domio_blk::fs::files::Ext3File;
use domio_blk::fs::layout::{GROUP_BLOCKS, Layout};

#[test]
fn a_file_that_grows_is_contiguous_but_for_its_indirect_blocks() {
    let mut layout = Layout::new(4 * GROUP_BLOCKS, 1024);
    let mut file = Ext3File::new(0, 0, 0);
    let start = layout.first_goal(2, 3);
    for page in 0..1100 {
        file.extend(&mut layout, page, start);
    }
    let runs: Vec<_> = file.runs().collect();
    // The indirect block is behind the 12th page; the double indirect one and the second
    // indirect one are behind page 12 + 1024.
    let behind = (start + 12 + 1 + 1024 + 2, 1100 - 1036);
    assert_eq!(runs, [(start, 12), (start + 13, 1024), behind]);
    assert_eq!(file.path(11).count(), 0);
    assert_eq!(file.path(12).collect::<Vec<_>>(), [start + 12]);
    assert_eq!(
        file.path(1036).collect::<Vec<_>>(),
        [start + 1037, start + 1038]
    );
    assert_eq!(file.block(1035), Some((start + 13 + 1023, 1)));
    assert_eq!(file.block(1100), None);
    assert_eq!(file.metadata().count(), 3);
}

#[test]
fn a_hole_has_no_block() {
    let mut layout = Layout::new(4 * GROUP_BLOCKS, 1024);
    let mut file = Ext3File::new(0, 0, 0);
    let goal = layout.first_goal(2, 0);
    file.extend(&mut layout, 5, goal);
    assert_eq!(file.block(4), None);
    assert!(file.block(5).is_some());
    file.extend(&mut layout, 2, goal);
    assert!(file.block(2).is_some() && file.block(3).is_none());
}
