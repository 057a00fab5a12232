//! `domio completions`: a script for a shell.

use crate::args::{Completions, Global};
use crate::complete::VARIABLE;
use crate::out::Status;
use anyhow::anyhow;
use clap_complete::env::Shells;
use domio_scenario::{Parts, examples};
use std::io::Write;

/// Prints the script, which asks the program itself what can come next.
pub fn run(args: &Completions, global: &Global) -> anyhow::Result<Status> {
    let shell = args.shell.to_string();
    let shells = Shells::builtins();
    let completer = shells.completer(&shell);
    let completer = completer.ok_or_else(|| anyhow!("there is no script for {shell}"))?;
    // Into memory first, so that half a script is none.
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, "domio", "domio", "domio", &mut script)?;
    for line in offers(&global.parts) {
        writeln!(script, "# {line}")?;
    }
    std::io::stdout().lock().write_all(&script)?;
    Ok(Status::Success)
}

/// What the script offers today, for whoever reads it: the program answers with what it has when it
/// is asked.
fn offers(parts: &Parts) -> [String; 3] {
    let cli = crate::args::command();
    let commands: Vec<&str> = cli.get_subcommands().map(|c| c.get_name()).collect();
    let scenarios: Vec<&str> = examples().iter().map(|(name, _)| *name).collect();
    let policies = parts.policies().iter();
    let policies: Vec<&str> = policies.map(|p| p.descriptor.name).collect();
    [
        format!("commands: {}", commands.join(" ")),
        format!("scenarios: {}", scenarios.join(" ")),
        format!("policies: {}; and claims by their ids", policies.join(" ")),
    ]
}
