//! Replications on all cores, and results that are kept.
//!
//! [`AllCores`] makes many replications in parallel, with results that do not depend on how many
//! cores there are. [`Keeping`] does so, too, and finds samples in a [`store`](mod@store) instead
//! of making them again. What is made, and what it is for, this crate does not know: whoever wants
//! replications asks for a [`Replicator`](domio_run::Replicator).

pub mod replicate;
pub mod store;

pub use replicate::{AllCores, ProgressListener, Silent};
pub use store::{Keeper, Keeping};
