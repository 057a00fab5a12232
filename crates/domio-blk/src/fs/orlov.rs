//! Which group a new directory gets (`find_group_orlov` of ext3's `ialloc.c`, Linux 2.6.24).
//!
//! Directories of the root are spread, since they seldom have to do with each other. Others stay
//! with their parent, until its group has many directories or is fuller than the others. The
//! debt of a group, which the source counts, is not tested there.

use super::layout::{GROUP_BLOCKS, GROUP_INODES, GroupUse, Layout};

/// Groups from `start` on, each once, with those that have no free inode left out.
fn from(layout: &Layout, start: u32) -> impl Iterator<Item = (u32, GroupUse)> + '_ {
    let ahead = layout.fullness().enumerate().skip(start as usize);
    let before = layout.fullness().enumerate().take(start as usize);
    let groups = ahead.chain(before);
    groups
        .map(|(g, group)| (g as u32, group))
        .filter(|(_, group)| group.inodes > 0)
}

/// Free inodes and blocks of a group on average.
fn averages(layout: &Layout) -> (u64, u64) {
    let groups = u64::from(layout.groups());
    (layout.free_inodes() / groups, layout.free() / groups)
}

/// The group of a directory in the root: from a random group on, the first one of those with fewest
/// directories that is no fuller than the average. `draw` is any number.
pub fn in_root(layout: &Layout, draw: u64) -> u32 {
    let start = (draw % u64::from(layout.groups())) as u32;
    let (inodes, blocks) = averages(layout);
    let roomy = from(layout, start).filter(|(_, group)| {
        u64::from(group.inodes) >= inodes && u64::from(group.blocks) >= blocks
    });
    // The first one of the least.
    let best = roomy.min_by_key(|(_, group)| group.directories);
    best.map_or_else(|| fallback(layout, start), |(g, _)| g)
}

/// The group of a directory whose parent is in the group `parent`.
pub fn beside(layout: &Layout, parent: u32) -> u32 {
    let (inodes, blocks) = averages(layout);
    let directories: u32 = layout.fullness().map(|group| group.directories).sum();
    let most = directories / layout.groups() + GROUP_INODES / 16;
    let inodes = inodes.saturating_sub(u64::from(GROUP_INODES / 4));
    let blocks = blocks.saturating_sub(u64::from(GROUP_BLOCKS / 4));
    let mut groups = from(layout, parent);
    let fits = groups.find(|(_, group)| {
        group.directories < most
            && u64::from(group.inodes) >= inodes
            && u64::from(group.blocks) >= blocks
    });
    fits.map_or_else(|| fallback(layout, parent), |(g, _)| g)
}

/// The first group with as many free inodes as the average, else with any.
fn fallback(layout: &Layout, start: u32) -> u32 {
    let (inodes, _) = averages(layout);
    let average = from(layout, start).find(|(_, group)| u64::from(group.inodes) >= inodes);
    let any = average.or_else(|| from(layout, start).next());
    any.map_or(start, |(g, _)| g)
}
