//! What the journal keeps: transactions, and how full the log is.

use super::cache::NONE;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::Instant;

/// Credits of a handle that writes a page (`ext3_writepage_trans_blocks`).
pub(super) const PAGE_CREDITS: u32 = 12;

/// A transaction that runs or is being committed.
#[derive(Debug)]
pub(super) struct Transaction {
    pub id: u32,
    /// When it is committed at the latest.
    pub expires: Instant,
    /// Takes no handles any more.
    pub locked: bool,
    /// Open handles.
    pub handles: u32,
    /// Credits of open handles.
    pub reserved: u32,
    /// Blocks of data, in the order in which they became dirty.
    pub data: Vec<u32>,
    /// Blocks of metadata.
    pub meta: Vec<u32>,
    /// Blocks that are free once the transaction is committed.
    pub freed: Vec<u32>,
    /// Metadata is being written to the log.
    pub logging: bool,
}

/// A committed transaction, some of whose metadata is not at home.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pub id: u32,
    /// Blocks of the log.
    pub log: u32,
    pub blocks: Vec<u32>,
    /// Those of the blocks that are not at home.
    pub live: u32,
}

/// The journal.
#[derive(Debug)]
pub(super) struct Journal {
    pub running: Option<Transaction>,
    pub committing: Option<Transaction>,
    /// Committed transactions that still need their log, oldest first.
    pub checkpoints: VecDeque<Checkpoint>,
    /// Transactions up to this one are to be committed.
    pub requested: u32,
    pub next: u32,
    /// Where the log continues: a block of the journal, from 1 on.
    pub head: u32,
    /// Free blocks of the log.
    pub free: u32,
    /// Most blocks of a transaction: a quarter of the log.
    pub most: u32,
    /// The task that frees space, [`NONE`] if none does.
    pub freeing: u32,
}

impl Journal {
    pub fn new(blocks: u32) -> Self {
        Journal {
            running: None,
            committing: None,
            checkpoints: VecDeque::new(),
            requested: 0,
            next: 1,
            head: 1,
            free: blocks - 1,
            most: blocks / 4,
            freeing: NONE,
        }
    }

    /// Whether the log has too little room for another transaction (`__log_space_left`,
    /// `jbd_space_needed`).
    pub fn is_short(&self) -> bool {
        let left = self.free.saturating_sub(32);
        let committing = self.committing.as_ref().map_or(0, |c| c.meta.len() as u32);
        left - left / 8 < self.most + committing
    }

    /// A block less is not at home of the committed transaction `id`.
    pub fn at_home(&mut self, id: u32) {
        let at = self.checkpoints.partition_point(|c| c.id < id);
        self.checkpoints[at].live -= 1;
    }

    /// The running transaction, which has an open handle.
    pub fn open(&mut self) -> &mut Transaction {
        self.running
            .as_mut()
            .expect("a handle keeps its transaction")
    }
}
