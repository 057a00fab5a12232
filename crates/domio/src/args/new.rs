//! Arguments of `domio new`.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

pub(super) const NEW_EXAMPLES: &str = "\
Examples:
  domio new policy mine
  domio new elevator mine --path ../elevators/mine
  domio new workload mine --domio ../domio

The folder is a crate: one source file, a copy of the shortest shipped example; a test of the part's
contract; a scenario with the part; and a program, which is domio with the part in it. Every
command, scenario and report of that program knows the part by its name. The crate depends on this
version of domio in the registry, or, with --domio, on a checkout, whose versions of libraries it
takes over as well.";

/// Arguments of `new`.
#[derive(Debug, Args)]
pub struct New {
    /// What to begin
    #[arg(value_name = "KIND")]
    pub kind: PartKind,
    /// Name of the part, as scenarios have it, and of the crate: small letters, digits and dashes
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Folder to make [default: ./NAME]
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub path: Option<PathBuf>,
    /// Checkout of domio to build with, instead of the released crates
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub domio: Option<PathBuf>,
}

/// What can be added to domio in a separate crate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PartKind {
    /// Decides which vcpu runs next on which pcpu; starts as round robin
    Policy,
    /// Observes a host at intervals, and changes settings; starts as cap-follows-demand
    Controller,
    /// Orders the requests of a disk; starts as noop
    Elevator,
    /// What a task of a guest does; starts as a program that sleeps and computes
    Workload,
    /// What guests reach through the device bus; starts as a tape
    Device,
}
