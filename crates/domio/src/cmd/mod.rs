//! One file a command. Each takes its parsed arguments and returns how it ended.

pub mod advise;
pub mod alert;
pub mod calibrate;
pub mod claim;
pub mod compare;
pub mod completions;
pub mod controller;
pub mod demo;
pub mod dom0_share;
pub mod elevator;
pub mod explain;
pub mod man;
pub mod mon;
pub mod new;
pub mod policy;
pub mod record;
pub mod reproduce;
pub mod results;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod sweep;
pub mod trace;
pub mod validate;
