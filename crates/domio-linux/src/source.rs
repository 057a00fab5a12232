//! What a reader of one format does.

use crate::LinuxEvent;
use crate::error::LinuxError;
use crate::known::Known;

/// A reader of one format.
pub(crate) trait Source: Send {
    /// The next event. Events that come too late for their time are put right by
    /// [`LinuxReader`](crate::LinuxReader).
    fn next(&mut self, known: &mut Known) -> Result<Option<LinuxEvent>, LinuxError>;

    /// What the file holds when there is no event of the scheduler: "34 samples of cycles".
    fn contents(&self) -> String;
}
