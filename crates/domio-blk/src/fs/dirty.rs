//! What is dirty, and what a pass over dirty pages came to.

use alloc::collections::VecDeque;
use domio_core::Instant;

/// What is dirty.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    /// Pages that differ from the disk and may be written.
    pub pages: u32,
    /// Pages that are being written.
    pub written: u32,
    /// Files with dirty pages and when they became dirty, oldest first (`s_dirty`).
    pub queue: VecDeque<(u32, Instant)>,
    /// Files that passes are going through (`s_io`).
    pub under_way: VecDeque<(u32, Instant)>,
    /// Files of which a look for old pages left some, for the next one (`s_more_io`).
    pub more: VecDeque<(u32, Instant)>,
}

/// What a pass came to.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Pass {
    /// Pages that were to be written and were not.
    pub left: u32,
    /// The queue was congested.
    pub congested: bool,
}
