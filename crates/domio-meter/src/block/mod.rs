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

pub use compare::{BlockComparison, ComparedFigure, demerit};
pub use summary::{BlockDepth, BlockFigure, BlockMeter, BlockStage, BlockSummary, Speaker};
pub use values::{Spread, Values};
pub use waits::{Beside, BlockExplainer, BlockWait, BlockWaiter, BlockWaits, DeviceParts};
