//! `domio completions`: a script for a shell.

use crate::args::{Cli, Completions};
use crate::out::Status;
use clap::CommandFactory;
use std::io::Write;

/// Prints the script.
pub fn run(args: &Completions) -> anyhow::Result<Status> {
    // Into memory first: the generator panics when the output is gone.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "domio", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(Status::Success)
}
