//! A guest's file system: page cache, ext3 with its ordered journal, and the threads that write back.
//!
//! The file system is free of the simulator: it is told the time, says what to submit to the request
//! layer, and who sleeps until what. [`contract`] tells how its owner drives it.

pub mod contract;
