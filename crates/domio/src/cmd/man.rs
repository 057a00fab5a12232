//! `domio man`: manual pages.

use crate::args::Man;
use crate::out::{self, Status};
use anyhow::Context;
use clap::Command;
use std::io::Write;

/// Prints the main page, or writes one page a command.
pub fn run(args: &Man) -> anyhow::Result<Status> {
    let Some(folder) = &args.output_dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command()).render(&mut page)?;
        std::io::stdout().lock().write_all(&page)?;
        return Ok(Status::Success);
    };
    let shown = folder.display();
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command(), folder))
        .with_context(|| {
            format!("cannot write manual pages into {shown}; choose another folder")
        })?;
    out::message(&format!("wrote the manual pages into {shown}"));
    Ok(Status::Success)
}

/// The flag table without `help`, which has no page of its own to be referred to: the pages are the
/// help.
fn command() -> Command {
    crate::args::command().disable_help_subcommand(true)
}
