//! The domio command line.
//!
//! `args` is the flag table, from which help, man pages and completions come. `cmd` has one file
//! a command. Data goes to standard output and messages to standard error. The exit status is 0 for
//! success, 1 for a failed check, 2 for what could not be run and 130 for what was interrupted.

mod args;
mod cmd;
mod complete;
mod files;
mod interrupt;
mod keeping;
mod out;
mod progress;
mod report;
mod schema;

use args::{Cli, Command};
use domio_front::{input, suggest, traces};
use out::Status;
use std::process::ExitCode;

fn main() -> ExitCode {
    complete::answer();
    let cli = Cli::from_command_line();
    interrupt::listen();
    out::set_colour(cli.global.color);
    out::set_view(&cli.global);
    out::set_quiet(cli.global.quiet);
    out::exit_code(run(&cli).and_then(out::seen))
}

fn run(cli: &Cli) -> anyhow::Result<Status> {
    let global = &cli.global;
    match &cli.command {
        Command::Reproduce(args) => cmd::reproduce::run(args, global),
        Command::Claim(command) => cmd::claim::run(command),
        Command::Run(args) => cmd::run::run(args, global),
        Command::Compare(args) => cmd::compare::run(args, global),
        Command::Sweep(args) => cmd::sweep::run(args, global),
        Command::Explain(args) => cmd::explain::run(args, global),
        Command::Mon(args) => cmd::mon::run(args, global),
        Command::Calibrate(args) => cmd::calibrate::run(args, global),
        Command::Alert(args) => cmd::alert::run(args, global),
        Command::Dom0Share(args) => cmd::dom0_share::run(args, global),
        Command::Results(command) => cmd::results::run(command),
        Command::Trace(command) => cmd::trace::run(command, global),
        Command::Validate(args) => cmd::validate::run(args, global),
        Command::Policy(command) => cmd::policy::run(command),
        Command::Controller(command) => cmd::controller::run(command),
        Command::Elevator(command) => cmd::elevator::run(command),
        Command::Scenario(command) => cmd::scenario::run(command, global),
        Command::Schema(args) => cmd::schema::run(args),
        Command::Completions(args) => cmd::completions::run(args),
        Command::Man(args) => cmd::man::run(args),
    }
}
