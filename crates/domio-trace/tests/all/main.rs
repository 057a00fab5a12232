//! Readers and writers of traces, from outside.

mod block;
#[path = "../common/classes.rs"]
mod classes;
#[path = "../common/mod.rs"]
mod common;
mod damage;
mod kept;
#[path = "../common/named.rs"]
mod named;
#[path = "../common/program.rs"]
mod program;
mod real_files;
mod round_trip;
mod xenalyze;
