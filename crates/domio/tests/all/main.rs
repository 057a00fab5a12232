//! The command line, as a person or a script uses it: one module a subject.

mod alert;
mod claims;
mod cli;
mod common;
mod controllers;
mod cut_traces;
mod determinism;
mod dom0_share;
mod driver_work;
mod explain;
mod explain_trace;
mod figures;
mod files;
mod frequency;
mod mon;
mod newcomers;
mod papers;
mod poor_traces;
mod recorded;
mod refusals;
mod reproduce;
mod results;
mod schemas;
mod validate;
mod variants;
mod xentrace;
