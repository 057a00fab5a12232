//! The domio command line, as a library: another program is domio with further parts.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     domio::Laboratory::new().main()
//! }
//! ```
//!
//! `args` is the flag table, from which help, man pages and completions come. `cmd` has one file
//! a command, and `shared` what several of them have in common. Data goes to standard output and
//! messages to standard error. The exit status is 0 for
//! success, 1 for a failed check, 2 for what could not be run, and 128 and the number of the signal
//! for what a signal ended: 130 for Ctrl-C, 143 for SIGTERM.

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
mod shared;

use args::{Cli, Command};
use domio_blk::elevator::ElevatorInfo;
use domio_contract::Policy;
use domio_contract::control::Entry as Controller;
use domio_front::{input, suggest, traces};
use domio_scenario::{DeviceEntry, NameTaken, Parts, WorkloadEntry};
use out::Status;
use std::process::ExitCode;

/// The program: every command of domio, with the parts that ship and those that are added.
///
/// Scenarios and commands name an added part as any other. Two parts of one kind with the same name
/// end the program.
#[derive(Clone, Debug)]
pub struct Laboratory {
    parts: Parts,
    /// What could not be added.
    taken: Vec<NameTaken>,
}

impl Default for Laboratory {
    fn default() -> Self {
        Laboratory::new()
    }
}

impl Laboratory {
    /// The laboratory with the parts that ship.
    pub fn new() -> Self {
        Laboratory {
            parts: Parts::from(domio_sched::policies()),
            taken: Vec::new(),
        }
    }

    /// The same with a policy.
    #[must_use]
    pub fn policy(self, policy: &Policy) -> Self {
        self.with(|parts| parts.add_policy(policy))
    }

    /// The same with a controller.
    #[must_use]
    pub fn controller(self, controller: &'static Controller) -> Self {
        self.with(|parts| parts.add_controller(controller))
    }

    /// The same with an elevator.
    #[must_use]
    pub fn elevator(self, elevator: &'static ElevatorInfo) -> Self {
        self.with(|parts| parts.add_elevator(elevator))
    }

    /// The same with a workload.
    #[must_use]
    pub fn workload(self, workload: &'static WorkloadEntry) -> Self {
        self.with(|parts| parts.add_workload(workload))
    }

    /// The same with a device, which comes to the bus after those that ship.
    #[must_use]
    pub fn device(self, device: &'static DeviceEntry) -> Self {
        self.with(|parts| parts.add_device(device))
    }

    fn with(mut self, add: impl FnOnce(&mut Parts) -> Result<(), NameTaken>) -> Self {
        self.taken.extend(add(&mut self.parts).err());
        self
    }

    /// Does what the command line asks for.
    pub fn main(self) -> ExitCode {
        complete::answer(&self.parts);
        let mut cli = Cli::from_command_line();
        // Rights are given up a thread at a time, and so before there are others.
        if !cli.command.gives_up_rights() {
            interrupt::listen();
        }
        out::set_colour(cli.global.color);
        out::set_view(&cli.global);
        out::set_quiet(cli.global.quiet);
        let taken = self.taken.into_iter().next();
        cli.global.parts = self.parts;
        let done = match taken {
            Some(taken) => Err(taken.into()),
            None => run(&cli),
        };
        out::exit_code(done.and_then(out::seen))
    }
}

fn run(cli: &Cli) -> anyhow::Result<Status> {
    let global = &cli.global;
    match &cli.command {
        Command::Demo(args) => cmd::demo::run(args, global),
        Command::Reproduce(args) => cmd::reproduce::run(args, global),
        Command::Claim(command) => cmd::claim::run(command, global),
        Command::Run(args) => cmd::run::run(args, global),
        Command::Compare(args) => cmd::compare::run(args, global),
        Command::Sweep(args) => cmd::sweep::run(args, global),
        Command::Explain(args) => cmd::explain::run(args, global),
        Command::Mon(args) => cmd::mon::run(args, global),
        Command::Record(args) => cmd::record::run(args, global),
        Command::Calibrate(args) => cmd::calibrate::run(args, global),
        Command::Alert(args) => cmd::alert::run(args, global),
        Command::Advise(args) => cmd::advise::run(args, global),
        Command::Dom0Share(args) => cmd::dom0_share::run(args, global),
        Command::Results(command) => cmd::results::run(command, global),
        Command::Trace(command) => cmd::trace::run(command, global),
        Command::Validate(args) => cmd::validate::run(args, global),
        Command::Policy(command) => cmd::policy::run(command, global),
        Command::Controller(command) => cmd::controller::run(command, global),
        Command::Elevator(command) => cmd::elevator::run(command, global),
        Command::New(args) => cmd::new::run(args, global),
        Command::Scenario(command) => cmd::scenario::run(command, global),
        Command::Schema(args) => cmd::schema::run(args, global),
        Command::Completions(args) => cmd::completions::run(args, global),
        Command::Man(args) => cmd::man::run(args),
    }
}
