//! Arguments of `domio sweep`.

use super::named::Named;
use super::values::frequency;
use super::{Keeping, Reporting, key_and_value, replications, seed};
use clap::builder::ValueParser;
use clap::{Args, ValueHint};
use domio_sweep::{Axis, Design, NamedFigure, NamedGoal};
use std::path::PathBuf;

pub(super) const SWEEP_EXAMPLES: &str = "\
Examples:
  domio sweep noisy-neighbour --set scheduler.tslice_ms=1..30:4 --output out/slices.parquet
  domio sweep host.toml --set domain.web.weight=64..1024:5 --plot wake_p99(web):domain.web.weight
  domio sweep noisy-neighbour --set scheduler.tslice_ms=1..30 --find 'min wake_p99(web)'

An axis is a key of the scenario with its values: KEY=A,B,C gives these values, KEY=LO..HI:N gives N
values from LO to HI at equal distances, KEY=LO..HI gives all whole numbers from LO to HI. A cell is
a combination of one value of each axis. A grid has all cells; a Latin hypercube has N cells, spread
evenly; a search, for --find, chooses each cell by the results of the previous ones.

The output has a row for each cell, replication and domain. The names of its columns end in units. A
measure is a column, whose unit may be left out, with the domain in brackets: wake_p99(web). Without
a domain, shares and rates are added over all guests; other measures are those of the guest that
fares worst.

--find takes a goal and conditions: 'min wake_p99 where share(web) >= 30 and waiting(db) < 5'. The
status is 1 when no cell meets the conditions.";

/// Arguments of `sweep`.
#[derive(Debug, Args)]
pub struct Sweep {
    /// Scenario file, name of a shipped scenario or of a cell of a paper, or trace of a host, from
    /// which a scenario is made first; - is a scenario on standard input
    #[arg(
        value_name = "SCENARIO|TRACE",
        value_hint = ValueHint::FilePath,
        add = Named::Scenario
    )]
    pub scenario: String,
    /// An axis: a key of the scenario, and its values as A,B,C or LO..HI:N
    #[arg(long, value_name = "KEY=VALUES", value_parser = axis)]
    pub set: Vec<Axis>,
    /// Which cells: grid, latin-hypercube:N or search:N [default: grid; with --find, a search of
    /// 100 cells]
    #[arg(long, value_name = "DESIGN", value_parser = Design::parse)]
    pub design: Option<Design>,
    /// Replications of each cell
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = replications())]
    pub replications: u32,
    /// Seed of all random streams, and of the choice of cells, instead of the scenario's
    #[arg(long, value_name = "NUMBER", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Frequency of a xentrace file's time stamp counter, e.g. 2400000000 or 2.4GHz [default: the
    /// frequency that the trace records]
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    pub cpu_hz: Option<u64>,
    /// File for the rows, Parquet or CSV by its ending; - is CSV on standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Draw a measure along an axis in the report, e.g. wake_p99(web):scheduler.tslice_ms
    #[arg(long, value_name = "MEASURE:AXIS", value_parser = plot())]
    pub plot: Vec<PlotOf>,
    /// List the cells that no other cell beats in two measures, e.g. throughput,p99(web)
    #[arg(long, value_name = "A,B", value_parser = trade())]
    pub trade: Option<Trade>,
    /// Find the best cell, e.g. 'min wake_p99 where share(web) >= 30'
    #[arg(long, value_name = "GOAL", value_parser = goal())]
    pub find: Option<NamedGoal>,
    /// Simulations that run in parallel [default: the number of processors]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Print what was run, the list of --trade and the cell of --find as JSON
    #[arg(long)]
    pub json: bool,
    /// Where a report goes.
    #[command(flatten)]
    pub reporting: Reporting,
    /// Write each figure of the report as an SVG and a CSV file into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub figures: Option<PathBuf>,
    /// Where results are kept.
    #[command(flatten)]
    pub keeping: Keeping,
}

/// One `MEASURE:AXIS` of `--plot`.
#[derive(Clone, Debug)]
pub struct PlotOf {
    /// What is drawn.
    pub figure: NamedFigure,
    /// Key of the axis.
    pub along: String,
}

/// The two measures of `--trade`.
#[derive(Clone, Debug)]
pub struct Trade(pub [NamedFigure; 2]);

fn axis(text: &str) -> Result<Axis, String> {
    let (key, values) = key_and_value(text).map_err(|_| {
        "expected KEY=VALUES, e.g. scheduler.tslice_ms=1,5,30 or scheduler.tslice_ms=1..30:4"
            .to_owned()
    })?;
    Axis::parse(&key, &values).map_err(|e| e.why)
}

fn figure(text: &str) -> Result<NamedFigure, String> {
    NamedFigure::parse(text).map_err(|e| e.to_string())
}

fn plot() -> ValueParser {
    ValueParser::from(|text: &str| match text.rsplit_once(':') {
        Some((named, along)) if !along.trim().is_empty() => Ok(PlotOf {
            figure: figure(named)?,
            along: along.trim().to_owned(),
        }),
        _ => Err("expected MEASURE:AXIS, e.g. wake_p99(web):scheduler.tslice_ms".to_owned()),
    })
}

fn trade() -> ValueParser {
    ValueParser::from(|text: &str| match text.split_once(',') {
        Some((a, b)) => Ok(Trade([figure(a)?, figure(b)?])),
        None => Err("expected two measures, e.g. throughput,p99(web)".to_owned()),
    })
}

fn goal() -> ValueParser {
    ValueParser::from(|text: &str| NamedGoal::parse(text).map_err(|e| e.to_string()))
}
