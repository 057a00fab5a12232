//! Traces of block devices: what was asked of a disk, what requests waited for, and how alike two
//! traces are.
//!
//! [`BlockMeter`] and [`BlockExplainer`] take [`BlockEvent`](domio_trace::block::BlockEvent)s, of a
//! recording or of a replay, and keep memory that does not grow with the trace.

mod books;
mod compare;
mod pairs;
mod summary;
#[cfg(test)]
mod tests;
mod values;
mod waits;

pub use compare::{BlockComparison, ComparedJson, demerit};
pub use summary::{BlockMeter, BlockSummaryJson, DepthJson, FoundJson, SpeakerJson, StageJson};
pub use values::{SpreadJson, Values};
pub use waits::{BesideJson, BlockExplainer, BlockWaitJson, BlockWaitsJson, PartsJson, WaiterJson};
