//! One file a command. Each takes its parsed arguments and returns how it ended.

pub mod against;
pub mod calibrate;
pub mod choice;
pub mod claim;
mod clock;
pub mod compare;
pub mod completions;
pub mod conformance;
pub mod controller;
pub mod explain;
mod explain_trace;
mod from_trace;
pub mod machines;
pub mod man;
pub mod mon;
pub mod pictures;
pub mod policy;
pub mod registered;
pub mod reproduce;
pub mod results;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod tour;
pub mod trace;
pub mod validate;
pub mod variants;
