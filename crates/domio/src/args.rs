//! The flag table: every command, argument and flag, each once.
//!
//! Help (`--help`), man pages (`domio man`) and completions (`domio completions`) are made from it.
//! Parsing only validates what can be judged without reading files.

mod advise;
mod alert;
mod block;
mod claims;
mod dom0_share;
mod drawn;
mod elevator;
mod explain;
mod first_page;
mod from_lists;
mod from_trace;
mod help;
mod how;
mod import;
mod keeping;
mod mon;
mod named;
mod new;
mod record;
mod registered;
mod scenario;
mod sweep;
mod trace;
mod values;

pub use advise::Advise;
pub use alert::{Alert, Dom0 as AlertDom0, Mode as AlertMode};
pub use block::{BlockFormatArg, BlockRig, TraceCompare, TraceReplay};
pub use claims::{ClaimCommand, ClaimList, ClaimShow, ClaimSurvival};
pub use dom0_share::{Dom0Share, Numbers as Dom0Numbers};
pub use drawn::Drawn;
pub use elevator::{Elevator, ElevatorReplay};
pub use explain::Explain;
use first_page::FIRST_PAGE;
pub use from_lists::ScenarioFromLists;
pub use from_trace::ScenarioFromTrace;
pub use help::command;
pub use how::How;
pub use import::ScenarioImport;
pub use keeping::{
    Keeping, Reporting, Results, ResultsDiff, ResultsList, ResultsMerge, ResultsPrune, ResultsShow,
};
pub use mon::Mon;
pub use named::Named;
pub use new::{New, PartKind};
pub use record::Record;
pub use registered::{Controller, ListArgs, Policy, PolicyCheck, ShowArgs};
pub use scenario::{Scenario, ScenarioCheck, ScenarioList, ScenarioShow};
pub use sweep::{PlotOf, Sweep};
pub use trace::{
    LinuxInput, Trace, TraceCheck, TraceConvert, TraceFormat, TraceInput, TraceSummary,
};
use values::machine_part;
pub use values::{frequency, key_and_value, seed};

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use domio_papers::Effort;
use domio_papers::paper::MachinePart;
use domio_report::text::Sort;
use domio_scenario::Parts;
use explain::EXPLAIN_EXAMPLES;
use how::replications;
use scenario::SCENARIO_EXAMPLES;
use std::path::PathBuf;
use trace::TRACE_EXAMPLES;

/// A laboratory for scheduling virtual machines.
#[derive(Debug, Parser)]
#[command(
    name = "domio",
    version,
    long_version = LONG_VERSION,
    subcommand_required = true,
    max_term_width = 100,
    after_help = EXIT_STATUS,
    after_long_help = DOMIO_EXAMPLES
)]
pub struct Cli {
    /// Flags of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The version and what was built, the same for all builds of one commit.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nprogram: ",
    env!("DOMIO_PROGRAM"),
    "\ncommit:  ",
    env!("DOMIO_COMMIT"),
    "\nprofile: ",
    env!("DOMIO_PROFILE"),
    "\ntarget:  ",
    env!("DOMIO_TARGET"),
);

const EXIT_STATUS: &str = "\
Exit status: 0 success, 1 a check failed, 2 could not run.";

const DOMIO_EXAMPLES: &str = "\
Exit status:
    0  success
    1  a check failed: a claim, a trace, a scenario
    2  could not run: wrong usage, a file that cannot be read
  130  interrupted by Ctrl-C: files that were not whole yet are gone
  143  interrupted by SIGTERM (kill); 129 by a closed terminal

Examples:
  domio run boost-rescues-ping
  domio compare noisy-neighbour --policy credit --policy round-robin
  domio reproduce ongaro";

const GLOBAL_OPTIONS: &str = "Options of every command";

/// Flags of every command.
#[derive(Debug, Args)]
pub struct Global {
    /// Colours in the output; auto honours NO_COLOR and whether the output is a terminal
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = GLOBAL_OPTIONS
    )]
    pub color: When,
    /// Show no progress bars; they appear only on a terminal anyway
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS)]
    pub no_progress: bool,
    /// Suppress notices and messages about kept results; warnings and errors are still printed
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS)]
    pub quiet: bool,
    /// Columns of tables to show, by words of their titles or by their names in JSON and CSV:
    /// "share,wake p95", "share_pct"; tables without any of them are left out
    #[arg(
        long,
        global = true,
        value_name = "TITLE",
        value_delimiter = ',',
        help_heading = GLOBAL_OPTIONS
    )]
    pub columns: Vec<String>,
    /// Sort rows of tables by a column, named as for --columns, the largest first; TITLE:asc for
    /// the smallest
    #[arg(long, global = true, value_name = "TITLE", help_heading = GLOBAL_OPTIONS)]
    pub sort: Option<Sort>,
    /// What can be asked for by name.
    #[arg(skip = Parts::from(domio_sched::policies()))]
    pub parts: Parts,
}

impl Cli {
    /// What the command line asks for; ends the program with a page of help or an error, and
    /// without any word with the first page.
    pub fn from_command_line() -> Self {
        if std::env::args_os().len() == 1 {
            let _ = std::io::Write::write_all(&mut anstream::stdout(), FIRST_PAGE.as_bytes());
            std::process::exit(0);
        }
        let matches = command().get_matches();
        Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// When to do something that suits people more than programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start here: what domio does, on one screen and in ten seconds
    #[command(after_long_help = DEMO_EXAMPLES)]
    Demo(Demo),
    /// Decide the papers' claims by simulation
    #[command(after_long_help = REPRODUCE_EXAMPLES)]
    Reproduce(Reproduce),
    /// The papers' claims: what decides each, and what is on record
    #[command(subcommand, after_long_help = claims::CLAIM_EXAMPLES)]
    Claim(ClaimCommand),
    /// Simulate a scenario
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(Run),
    /// Change one thing of a scenario, and see who gains and who pays
    #[command(after_long_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Run a scenario with many settings: rows in a file, trade-offs, the best cell
    #[command(after_long_help = sweep::SWEEP_EXAMPLES)]
    Sweep(Box<Sweep>),
    /// Show what the guests of a scenario, or of a recorded host, wait for, and behind whom
    #[command(after_long_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Show who gets the processors, who waits and behind whom, while it happens
    #[command(after_long_help = mon::MON_EXAMPLES)]
    Mon(Mon),
    /// Record what the scheduler of this machine does, for explain and other commands
    #[command(after_long_help = record::RECORD_EXAMPLES)]
    Record(Record),
    /// Measure what packets cost a driver domain: whether size matters, and sending over receiving
    #[command(after_long_help = CALIBRATE_EXAMPLES)]
    Calibrate(Calibrate),
    /// Test how far what a domain gets is from what it was allocated (ALERT)
    #[command(after_long_help = alert::ALERT_EXAMPLES)]
    Alert(Alert),
    /// Search settings that help the guest that is worst off, and print commands for them
    #[command(after_long_help = advise::ADVISE_EXAMPLES)]
    Advise(Box<Advise>),
    /// Report how much of the processor dom0 should get for a mix, and what a setting changes
    #[command(after_long_help = dom0_share::DOM0_SHARE_EXAMPLES)]
    Dom0Share(Dom0Share),
    /// Results that were kept: list, show, compare and remove them
    #[command(subcommand, after_long_help = keeping::RESULTS_EXAMPLES)]
    Results(Results),
    /// Summarise, convert, check, replay or compare traces, simulated or recorded
    #[command(subcommand, after_long_help = TRACE_EXAMPLES)]
    Trace(Trace),
    /// Compare the model with recorded traces of real hosts, Xen and Linux
    #[command(after_long_help = VALIDATE_EXAMPLES)]
    Validate(Validate),
    /// Scheduling policies
    #[command(subcommand, after_long_help = registered::POLICY_EXAMPLES)]
    Policy(Policy),
    /// Controllers, which change settings while a host runs
    #[command(subcommand, after_long_help = registered::CONTROLLER_EXAMPLES)]
    Controller(Controller),
    /// Elevators, which order the requests of a disk
    #[command(subcommand, after_long_help = elevator::ELEVATOR_EXAMPLES)]
    Elevator(Elevator),
    /// Start a new policy, controller, elevator, workload or device, in a separate crate
    #[command(after_long_help = new::NEW_EXAMPLES)]
    New(New),
    /// Scenario files
    #[command(subcommand, after_long_help = SCENARIO_EXAMPLES)]
    Scenario(Scenario),
    /// Print the JSON Schema of what --json prints, or list the schemas
    #[command(after_long_help = SCHEMA_EXAMPLES)]
    Schema(Schema),
    /// Print a completion script for a shell
    #[command(after_long_help = COMPLETIONS_EXAMPLES)]
    Completions(Completions),
    /// Print the manual page, or write all of them
    #[command(after_long_help = MAN_EXAMPLES)]
    Man(Man),
}

const DEMO_EXAMPLES: &str = "\
Examples:
  domio demo
  domio demo --report out/for-a-colleague.html

Each step shows the command that makes it.

Next: domio explain TRACE of your host; domio help lists all commands.";

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Where the report goes.
    #[command(flatten)]
    pub reporting: Reporting,
    /// Where results are kept.
    #[command(flatten)]
    pub keeping: Keeping,
}

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  domio reproduce
  domio reproduce --all --list
  domio reproduce ongaro.test3 --effort full

The report is called out/reproduce-PREFIX.html. Finished replications are kept: an interrupted
command continues when it is repeated, and a repetition takes seconds. Without a PREFIX or --claims,
the verdicts on record of all papers come first, and the headline claims are decided: the results
that each paper is known for, as far as few replications decide them. An effort fixes how many
replications of what length are simulated, from quick, for a first look, to full, which takes hours.
A claim is undecided when they prove neither the claim nor its contrary. A claim that fails is a
finding about the paper or the model. `domio claim show ID` shows what decides a claim. With --check
the status is 1 when a verdict contradicts the recorded one.";

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
pub struct Reproduce {
    /// Claims to decide: ids or their first words, e.g. ongaro or ongaro.test1. After the folder of
    /// a paper, prefixes refer to that paper [default: the headline claims of each shipped paper]
    #[arg(value_name = "FOLDER|PREFIX", add = Named::Claim)]
    pub words: Vec<String>,
    /// Decide all claims of all papers
    #[arg(long, conflicts_with_all = ["words", "claims"])]
    pub all: bool,
    /// Print a row for each claim, however many there are, including claims without a check
    #[arg(long)]
    pub list: bool,
    /// Print the ledger as JSON
    #[arg(long)]
    pub json: bool,
    /// Seed of all random streams; replications differ by their number
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = seed,
        allow_negative_numbers = true)]
    pub seed: u64,
    /// How far to go before a claim is left undecided [default: quick; of headline claims, quick
    /// with up to four times the replications]
    #[arg(long, value_name = "EFFORT", value_parser = effort())]
    pub effort: Option<Effort>,
    /// Fail when a verdict contradicts the recorded one. `undecided` contradicts nothing, except at
    /// full effort with default replications and lengths, the settings of the record
    #[arg(long, conflicts_with = "claims")]
    pub check: bool,
    /// Replications of each experiment, instead of the numbers of the effort
    #[arg(long, value_name = "NUMBER", value_parser = replications())]
    pub replications: Option<u32>,
    /// Simulated seconds per cell, for cells whose length depends on --effort
    #[arg(long, value_name = "NUMBER", value_parser = seconds())]
    pub seconds: Option<u64>,
    /// Also decide the claims on N hardware variants consistent with what the papers leave open,
    /// and report which open parameter each verdict depends on
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub machines: Option<u32>,
    /// Decide the claims on the K-th of P parts of the machines only, 1/8 to 8/8: parts may run
    /// anywhere at the same time, and the command without --part takes their kept results
    #[arg(long, value_name = "K/P", value_parser = machine_part, requires = "machines")]
    pub part: Option<MachinePart>,
    /// Claims to decide, instead of those that ship with domio; - is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub claims: Option<PathBuf>,
    /// List the verdicts and figures that differ from BASELINE: a file that an earlier `domio
    /// reproduce --json` printed, a file of results, or the name of a program in --results
    #[arg(long, value_name = "BASELINE", value_hint = ValueHint::FilePath)]
    pub against: Option<PathBuf>,
    /// Where the report goes.
    #[command(flatten)]
    pub reporting: Reporting,
    /// Write each figure of the report as an SVG and a CSV file into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub figures: Option<PathBuf>,
    /// Where results are kept.
    #[command(flatten)]
    pub keeping: Keeping,
}

fn effort() -> impl TypedValueParser<Value = Effort> {
    PossibleValuesParser::new(Effort::ALL.map(Effort::name)).map(|name| {
        let named = |effort: &Effort| effort.name() == name;
        Effort::ALL.into_iter().find(named).unwrap_or_default()
    })
}

/// The longest round trips take half a minute.
fn seconds() -> RangedU64ValueParser<u64> {
    const MOST: u64 = 3_600;
    clap::value_parser!(u64).range(1..=MOST)
}

const RUN_EXAMPLES: &str = "\
Examples:
  domio run host.toml --policy credit --set scheduler.tslice_ms=5 --report out/host.html
  domio run burn7 --replications 10 --json
  domio run papers/ongaro2008/test3-orig --set scheduler.boost=false

SCENARIO is a file, the name of a shipped scenario (`domio scenario list`) or of a cell of a paper
(`domio scenario list --papers`), shipped or given as a folder, or - for standard input.";

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Scenario file or name of a shipped scenario
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath, add = Named::Scenario)]
    pub scenario: String,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the figures of the domains as CSV, one row a domain
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// What to change in the scenario and how often to run it.
    #[command(flatten)]
    pub how: How,
    /// Policy to run under, instead of the scenario's; with parameters, e.g. credit:tslice_ms=5
    #[arg(long, value_name = "NAME", add = Named::Policy)]
    pub policy: Option<String>,
    /// Write the first replication's trace, in domio's own format
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// Write the first replication's trace for ui.perfetto.dev
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub perfetto: Option<PathBuf>,
    /// Where a report goes.
    #[command(flatten)]
    pub reporting: Reporting,
    /// What to draw.
    #[command(flatten)]
    pub drawn: Drawn,
    /// Where results are kept.
    #[command(flatten)]
    pub keeping: Keeping,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  domio compare noisy-neighbour --policy credit --policy credit:ratelimit_us=0,tslice_ms=5
  domio compare host.toml --set domain.web.weight=256 --set domain.web.weight=512 --json
  domio compare before.toml after.toml trace.bin --label before --label after --label recorded

A variant is a scenario under a policy with a setting: every scenario is run under every
--policy and with every setting. A key of --set that is given once holds for all variants. Keys
that are given several times go in step: their first values make one setting, their second
values the next one. A file that is a trace is measured as it is.

The others are compared with the first variant. All variants use the same random streams, so that
differences are paired by replication.

The figures that matter most come first: shares of competing domains, the tail of waits, jobs,
streams, replies and round trips. A change is listed if it is noticeable and at least 5 %. --columns
chooses figures by their titles or names in JSON and variants by their names; --sort sorts the
domains by a figure of the first variant, or by a variant.";

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Scenario files, names of shipped scenarios, or traces
    #[arg(
        value_name = "SCENARIO",
        required = true,
        value_hint = ValueHint::FilePath,
        add = Named::Scenario
    )]
    pub scenarios: Vec<String>,
    /// Policy to run under, instead of the scenario's, with parameters, e.g. credit:tslice_ms=5;
    /// several make variants
    #[arg(long = "policy", value_name = "NAME", add = Named::Policy)]
    pub policies: Vec<String>,
    /// What to call a variant; once for each, in their order
    #[arg(long = "label", value_name = "TEXT")]
    pub labels: Vec<String>,
    /// Frequency of the time stamp counter in xentrace files, e.g. 2400000000 or 2.4GHz
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    pub cpu_hz: Option<u64>,
    /// Print the tables as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the tables as CSV, one row a variant, domain and figure
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// What to change in the scenario and how often to run it.
    #[command(flatten)]
    pub how: How,
    /// Where a report goes.
    #[command(flatten)]
    pub reporting: Reporting,
    /// What to draw.
    #[command(flatten)]
    pub drawn: Drawn,
    /// Where results are kept.
    #[command(flatten)]
    pub keeping: Keeping,
}

const CALIBRATE_EXAMPLES: &str = "\
Examples:
  domio calibrate
  domio calibrate --set network.nic=tg3 --set run.duration_s=20 --replications 10
  domio calibrate host.toml --json

The two benchmarks of Gupta et al. 2006 with datagrams, in both directions: 10,000 packets a second
of 100 to 1200 bytes, and packets of 256 bytes at 1,000 to 18,000 a second. The scenario must have
exactly one vif among its guests; the guest with the vif does nothing else meanwhile. Each
measurement takes the scenario's time, after its warm-up.";

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub struct Calibrate {
    /// Scenario file or name of a shipped scenario, with one guest that has a vif
    #[arg(
        value_name = "SCENARIO",
        default_value = "calibrate",
        value_hint = ValueHint::FilePath,
        add = Named::Scenario
    )]
    pub scenario: String,
    /// Print the measurements as JSON
    #[arg(long)]
    pub json: bool,
    /// What to change in the scenario and how often to measure.
    #[command(flatten)]
    pub how: How,
    /// Where finished measurements are kept.
    #[command(flatten)]
    pub keeping: Keeping,
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  domio validate
  domio validate c1-burn7 --json
  domio validate c1-cap30 --exact

The model agrees with a recording when every recorded figure lies within the range of forty
simulations of the host, each begun in another start state, as nearly as two recordings of one host
agree. Figures whose limits are too wide to mean anything, or that have no limits, are not judged.
--exact searches for the start state from which a simulation makes the recorded decisions for
longest; the point where that simulation departs from the recording shows what is wrong with the
model. The search takes minutes.

The status is 1 when a recording differs from its simulation, and 2 when one cannot be used; the
other recordings are compared in any case.";

/// Arguments of `validate`.
#[derive(Debug, Args)]
pub struct Validate {
    /// Shipped recordings, folders of a recording (trace.bin, packed or not, and scenario.json) or
    /// of several, or traces next to a scenario.json [default: all shipped recordings]
    #[arg(value_name = "RECORDING", value_hint = ValueHint::AnyPath)]
    pub recordings: Vec<PathBuf>,
    /// Look for the start state that explains the recorded decisions one by one
    #[arg(long)]
    pub exact: bool,
    /// Print the agreement as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the judged figures as CSV, one row a recording, domain and figure
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

const SCHEMA_EXAMPLES: &str = "\
Examples:
  domio schema
  domio schema run

An output carries the id of its schema in the key `schema`. Keys may
be added to an output in the same version; removing or changing a key makes a new version.";

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// Name of the schema, e.g. run or trace-summary [default: list the schemas]
    #[arg(value_name = "NAME", add = Named::Schema)]
    pub name: Option<String>,
    /// Print the list as JSON; a schema is JSON in any case
    #[arg(long)]
    pub json: bool,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  domio completions bash > ~/.local/share/bash-completion/completions/domio
  domio completions fish > ~/.config/fish/completions/domio.fish";

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// Shell that reads the script
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

const MAN_EXAMPLES: &str = "\
Examples:
  domio man | man --local-file -
  domio man --output-dir ~/.local/share/man/man1";

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Write one page a command into this folder, instead of printing the main one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output_dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests;
