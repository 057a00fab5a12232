//! Tables for the terminal.

pub mod block;
pub mod compare;
pub mod domains;
pub mod driver_work;
pub mod explained;
pub mod gains;
pub mod ledger;
pub mod machines;
pub mod residence;
pub mod sched_map;
pub mod summary;
pub mod table;
pub mod view;

pub use table::{Cell, Column, Table, Tone};
pub use view::{Sort, View};
