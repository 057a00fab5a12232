//! What the command line and the Python package share: what they read, and what they run.
//!
//! | file | holds |
//! |---|---|
//! | `input` | files and standard input: what they are, unpacked |
//! | `scenarios` | scenarios by path or name, and what is said of their mistakes |
//! | `traces`, `trace_file`, `clock` | traces that scenarios replay, and traces that are read |
//! | `recordings`, `papers` | recordings of real hosts, papers and their claims |
//! | `validated` | how simulations agree with recordings, for programs and in words |
//! | `hosts` | hosts of scenarios, built and simulated |
//! | `cells`, `drive` | cells of a sweep, run on all cores |
//! | `comparison`, `explained` | variants side by side, waits explained |
//! | `conformance` | what the conformance suite says of a policy |
//! | `program` | the name of the program in files of results |
//! | `suggest` | names that somebody may have meant |
//!
//! Nothing is printed here. What is good to know is told to a [`Tell`], and errors are returned.

pub mod cells;
pub mod clock;
pub mod comparison;
pub mod conformance;
pub mod drive;
pub mod explained;
pub mod hosts;
pub mod input;
pub mod papers;
pub mod program;
pub mod recordings;
pub mod scenarios;
pub mod suggest;
pub mod trace_file;
pub mod traces;
pub mod validated;

/// Hears one sentence that is good to know, which begins with "note: " or "warning: ".
pub type Tell<'t> = &'t dyn Fn(&str);
