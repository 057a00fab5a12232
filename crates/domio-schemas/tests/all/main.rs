//! The schemas and the program agree.

#[path = "../../../domio/tests/all/common/mod.rs"]
mod common;
#[path = "../../../domio-scenario/tests/all/mutated.rs"]
mod mutated;
mod outputs;
mod scenarios;
