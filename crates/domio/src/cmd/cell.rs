//! `domio reproduce ongaro --cell`: one replication of one cell, as a timeline.

use crate::args::Reproduce;
use crate::files::Files;
use crate::out::{self, Status};
use anyhow::{Context, anyhow, bail};
use domio_core::Duration;
use domio_lab::experiments::ongaro::{self, Cell, Settings};
use domio_lab::{LabContext, Sample};
use domio_trace::PerfettoWriter;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The first replication, as a check of the claims would see it.
const REPLICATION: u32 = 0;

/// Measured time of a cell with streams when nothing else is asked for, less than a check looks at:
/// a timeline of seven streams takes a quarter of a gigabyte for it.
pub const WITH_STREAMS: Duration = Duration::from_secs(10);

/// Simulates the cell called `name`, writes its trace to `file` and prints its figures.
pub fn run(args: &Reproduce, name: &str, file: &Path) -> anyhow::Result<Status> {
    if args.prefixes.iter().any(|prefix| prefix != "ongaro") {
        bail!("--cell goes with ongaro alone, whose experiment has cells");
    }
    let cell: Cell = name.parse()?;
    let settings = match args.seconds {
        Some(seconds) => Settings::default().with_cells_for(Duration::from_secs(seconds)),
        None => Settings::default().with_streams_for(WITH_STREAMS),
    };
    let cx = LabContext { seed: args.seed };
    let failed = |why: String| anyhow!("{}", why.trim_end().to_owned());
    let header = ongaro::trace_header(cell, &settings, &cx, REPLICATION).map_err(failed)?;
    let mut files = Files::reading([]);
    files.prints()?;
    let target = files.writes("--perfetto", file)?;
    let writer = PerfettoWriter::new(target.create()?, Some(&header));
    let (sample, writer) =
        ongaro::run(cell, &settings, &cx, REPLICATION, writer).map_err(failed)?;
    let path = file.display();
    writer
        .finish()
        .with_context(|| format!("cannot write {path}"))?
        .finish()?;
    match args.json {
        true => out::json_as("cell", &to_json(cell, args.seed, &sample))?,
        false => out::text(&to_text(&sample))?,
    }
    out::message(&format!("wrote {path}; open it at ui.perfetto.dev"));
    Ok(Status::Success)
}

fn to_text(sample: &Sample) -> String {
    let values = sample.values();
    let lines = values.map(|(name, value)| {
        let value = domio_report::figure::number(value);
        format!("{name:24} {value}\n")
    });
    lines.collect()
}

fn to_json(cell: Cell, seed: u64, sample: &Sample) -> Value {
    let values = sample.values();
    let figures: Map<String, Value> = values
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    json!({
        "cell": cell.to_string(),
        "seed": seed,
        "replication": REPLICATION,
        "figures": figures,
    })
}
