//! Traces of Linux hosts, whatever program recorded them, as one stream of [`Event`]s.

mod event;
pub mod groups;
mod tasks;

pub use event::{Event, Left, Tid, What};
pub use tasks::{Task, Tasks};
