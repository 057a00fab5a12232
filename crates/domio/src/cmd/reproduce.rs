//! `domio reproduce`: the papers' claims.

use crate::args::{Global, Reproduce};
use crate::cmd::cell;
use crate::cmd::tour::Tour;
use crate::files::Files;
use crate::input;
use crate::out::{self, Status};
use crate::progress::progress;
use anyhow::{Context, anyhow};
use domio_core::Duration;
use domio_lab::experiments::ongaro::Settings as Cells;
use domio_lab::ledger::Entry;
use domio_lab::reproduce::{Options, Reproduction, reproduce};
use domio_lab::{Claims, Ledger, Registry, Verdict, experiments, recorded};
use domio_report::data::{ReportData, Section};
use domio_report::{html, ongaro, samples, text};
use std::path::Path;

/// Decides the claims, prints the ledger and writes the report. Without a selection, the tour of a
/// small host comes first.
pub fn run(args: &Reproduce, global: &Global) -> anyhow::Result<Status> {
    if let (Some(name), Some(file)) = (&args.cell, &args.perfetto) {
        return cell::run(args, name, file);
    }
    let claims = match &args.claims {
        Some(path) => load(path)?,
        None => Claims::shipped(),
    };
    let read = args.claims.iter().map(|path| ("the claims", path.clone()));
    let mut files = Files::reading(read);
    files.prints()?;
    let target = files.writes("--report", &args.report)?;
    let selected = claims.select(&args.prefixes)?;
    let output = target.create()?;
    let progress = progress(global);
    let tour = match args.prefixes.is_empty() && args.claims.is_none() {
        true => Some(Tour::take(args.seed, args.replications, &*progress)?),
        false => None,
    };
    if let (Some(tour), false) = (&tour, args.json) {
        out::text(&tour.text())?;
    }
    let options = Options {
        seed: args.seed,
        effort: args.effort,
        replications: args.replications,
    };
    let cells = match args.seconds {
        Some(seconds) => Cells::default().with_cells_for(Duration::from_secs(seconds)),
        None => args.effort.cells(),
    };
    let registry = experiments::with_cells(cells);
    let result = reproduce(&selected, &registry, options, &*progress);
    let changes = match args.check {
        true => recorded::changes(&result.ledger, args.effort),
        false => Vec::new(),
    };
    match args.json {
        true => {
            out::json_as("reproduce", &result.ledger)?;
            tell_unmeasured(&result.ledger);
        }
        false => out::text(&text::ledger::render(&result.ledger, args.all))?,
    }
    let overview = tour.map_or_else(Vec::new, |tour| tour.sections());
    let report = report(args, &registry, result, overview);
    output.write_whole(html::page(&report).as_bytes())?;
    out::message(&format!("wrote {}", args.report.display()));
    for change in &changes {
        out::message(&change.to_string());
    }
    Ok(Status::of_check(changes.is_empty()))
}

/// Why claims were not measured, which the JSON has no room for.
fn tell_unmeasured(ledger: &Ledger) {
    let unmeasured =
        |e: &&Entry| e.finding.verdict == Verdict::Undecided && e.finding.checks.is_empty();
    for entry in ledger.entries.iter().filter(unmeasured) {
        out::message(&format!("{}: {}", entry.claim.id, entry.finding.note));
    }
}

fn load(path: &Path) -> anyhow::Result<Claims> {
    let name = input::name(path);
    let text = input::text(path).with_context(|| {
        format!("cannot read {name}; give a TOML file of claims, or leave --claims out")
    })?;
    Claims::parse(&name, &text).map_err(|e| anyhow!("the claims have mistakes:\n{e}"))
}

fn report(
    args: &Reproduce,
    registry: &Registry,
    result: Reproduction,
    overview: Vec<Section>,
) -> ReportData {
    let replications = match args.replications {
        Some(n) => n.to_string(),
        None => format!("those of effort {}", args.effort),
    };
    let claims = match &args.claims {
        Some(path) => path.display().to_string(),
        None => "shipped".to_owned(),
    };
    let mut command = "domio reproduce".to_owned();
    for prefix in &args.prefixes {
        command += &format!(" {prefix}");
    }
    command += &format!(" --seed {}", args.seed);
    command += &format!(" --effort {}", args.effort);
    if let Some(n) = args.replications {
        command += &format!(" --replications {n}");
    }
    if let Some(n) = args.seconds {
        command += &format!(" --seconds {n}");
    }
    // The paper's own figures take the place of bars of the same samples.
    let mut sections = ongaro::sections(&result.samples, &result.ledger);
    let others = result.samples.into_iter();
    let others = others.filter(|(name, _)| !ongaro::draws(name)).collect();
    let mut others = samples::sections(&others);
    for section in &mut others {
        section.text = decides(&section.title, registry, &result.ledger);
    }
    sections.extend(others);
    let fact = |name: &str, fact: String| (name.to_owned(), fact);
    ReportData {
        title: "Published claims, reproduced".to_owned(),
        lead: "What the papers on scheduling virtual machines state, decided by simulation."
            .to_owned(),
        provenance: vec![
            fact("version", format!("domio {}", env!("CARGO_PKG_VERSION"))),
            fact("command", command),
            fact("claims", claims),
            fact("seed", args.seed.to_string()),
            fact("replications", replications),
        ],
        overview,
        sections,
        ledger: Some(result.ledger),
    }
}

/// Which claims the experiments of `family` decide.
fn decides(family: &str, registry: &Registry, ledger: &Ledger) -> String {
    let member = |name: &String| name == family || name.starts_with(&format!("{family}."));
    let claims = ledger.entries.iter().map(|e| &e.claim).filter(|claim| {
        let check = registry.check_of(&claim.id);
        check.is_some_and(|check| check.reads().iter().any(member))
    });
    let parts = claims.map(|c| format!("Decides `{}` ({}): {}.", c.id, c.place, c.expect));
    parts.collect::<Vec<_>>().join(" ")
}
