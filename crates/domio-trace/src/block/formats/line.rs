//! What a reader of lines is.

use crate::block::event::BlockEvent;
use crate::block::fields::Field;
use crate::block::names::BlockNames;

/// What reads the lines of a format. Times of its events are those of the file.
pub trait LineFormat {
    /// The event of a line; `None` for headings, comments, and what is no event of a block device.
    ///
    /// # Errors
    /// What was expected, where the line is damaged.
    fn line(&mut self, line: &[u8], names: &mut BlockNames) -> Field<Option<BlockEvent>>;
}
