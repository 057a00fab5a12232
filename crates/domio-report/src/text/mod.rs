//! Tables for the terminal. Without the feature `terminal` only what is said in words is here.

#[cfg(feature = "terminal")]
pub mod block;
#[cfg(feature = "terminal")]
pub mod check;
#[cfg(feature = "terminal")]
pub mod compare;
#[cfg(feature = "terminal")]
pub mod domains;
#[cfg(feature = "terminal")]
pub mod explained;
#[cfg(feature = "terminal")]
mod folded;
pub mod gains;
#[cfg(feature = "terminal")]
pub mod ledger;
#[cfg(feature = "terminal")]
pub mod machines;
#[cfg(feature = "terminal")]
pub mod page;
#[cfg(feature = "terminal")]
pub mod sched_map;
#[cfg(feature = "terminal")]
pub mod summary;
#[cfg(feature = "terminal")]
pub mod table;
#[cfg(feature = "terminal")]
pub mod view;

#[cfg(feature = "terminal")]
pub use view::{Sort, View};
