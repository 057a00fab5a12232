//! What perf.data and trace.dat share: descriptions of events, as the kernel gives them in
//! `/sys/kernel/tracing/events`, raw events, and the block of descriptions in both files.

pub mod decode;
pub mod fields;
pub mod format;
pub mod head;
pub mod page;
pub mod states;

pub(crate) use decode::Decoder;
