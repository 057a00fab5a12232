//! Arguments of `domio new`.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

pub(super) const NEW_EXAMPLES: &str = "\
Examples:
  domio new policy mine
  domio new elevator mine --path ../elevators/mine
  domio new workload mine --domio ../domio

The folder is a crate: one source file that begins as the shortest example that ships, a test that
holds the part to its contract, a scenario with the part, and a program, which is domio with the
part in it. Every command, scenario and report of that program knows the part by its name.
Without --domio the crate asks the registry for this version of domio; with --domio, for a checkout,
whose versions of libraries it takes over as well.";

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
    /// A checkout of domio to build with, instead of the released crates
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub domio: Option<PathBuf>,
}

/// What can be added to domio in a crate of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PartKind {
    /// Decides who runs next on which pcpu; begins as round robin
    Policy,
    /// Looks at a host now and then, and changes settings; begins as cap-follows-demand
    Controller,
    /// Orders the requests of a disk; begins as noop
    Elevator,
    /// What a task of a guest does; begins as a program that sleeps and computes
    Workload,
    /// What guests reach through the device bus; begins as a tape
    Device,
}
