//! `domio reproduce`: the papers' claims.

use crate::args::{Global, Reproduce};
use crate::cmd::against::{self, Against};
use crate::cmd::machines;
use crate::cmd::pictures;
use crate::cmd::tour::Tour;
use crate::files::Files;
use crate::input;
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::report::{self, ReportKey};
use anyhow::{Context, anyhow};
use domio_lab::against::LedgerMoves;
use domio_lab::ledger::LedgerEntry;
use domio_lab::paper::{Length, MachineSearch};
use domio_lab::reproduce::{Options, Reproduction, reproduce};
use domio_lab::{ClaimLedger, Claims, Effort, Registry, Verdict, experiments, recorded};
use domio_report::data::{ReportData, Section};
use domio_report::{figures, samples, text};
use serde::Serialize;
use std::path::Path;

/// Decides the claims, prints the ledger and writes the report. Without a selection, the tour of a
/// small host comes first.
pub fn run(args: &Reproduce, global: &Global) -> anyhow::Result<Status> {
    let claims = match &args.claims {
        Some(path) => load(path)?,
        None => Claims::shipped(),
    };
    let read = args.claims.iter().map(|path| ("the claims", path.clone()));
    let mut files = Files::reading(read);
    files.prints()?;
    let selected = claims.select(&args.prefixes)?;
    let against = args.against.as_deref();
    let against = against.map(|path| Against::read(path, &args.keeping));
    let against = against.transpose()?;
    let named = args.reporting.report.as_ref().and_then(Option::as_deref);
    let output = report::begin(&mut files, named, args.reporting.force, &shown(args))?;
    let keeper = keeping::keeper(&args.keeping)?;
    let progress = progress(global);
    let tour = match args.prefixes.is_empty() && args.claims.is_none() {
        true => Some(Tour::take(
            args.seed,
            args.replications,
            &keeper,
            &*progress,
        )?),
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
    let length = match args.seconds {
        Some(seconds) => Length::Seconds(seconds),
        None => Length::Effort(args.effort),
    };
    let mut registry = experiments::of_length(length);
    if args.claims.is_some() {
        let added = registry.claims(&claims);
        added.map_err(|e| anyhow!("the claims have mistakes:\n{e}"))?;
    }
    let result = reproduce(&selected, &registry, options, &keeper, &*progress);
    let searches = match args.machines {
        Some(count) => {
            let setup = (length, options, &keeper);
            machines::search(&selected, &result.ledger, count, setup, global)?
        }
        None => Vec::new(),
    };
    keeping::tell(&keeper, &args.keeping);
    let moves = against.map(|against| against.moves(&selected, &registry, options, &result));
    let moves = moves.transpose()?;
    // Fewer or shorter replications than the record was made with leave claims undecided.
    let whole = args.replications.is_none() && args.seconds.is_none();
    let changes = match args.check {
        true => recorded::changes(&result.ledger, args.effort == Effort::Full && whole),
        false => Vec::new(),
    };
    match args.json {
        true => {
            out::json_as(
                "reproduce",
                &LedgerJson {
                    ledger: &result.ledger,
                    against: moves,
                    machines: searches.iter().collect(),
                },
            )?;
            tell_unmeasured(&result.ledger);
        }
        false => {
            out::text(&text::ledger::render(&result.ledger, args.all))?;
            for search in &searches {
                out::text(&format!("\n{}", text::machines::render(search)))?;
            }
            if let Some(moves) = &moves {
                out::text(&against::render(moves))?;
            }
        }
    }
    let overview = tour.map_or_else(Vec::new, |tour| tour.sections());
    let mut report = report(args, &registry, result, overview);
    let sections = searches.iter().map(domio_report::machines::section);
    report.sections.splice(0..0, sections);
    pictures::write(args.figures.as_deref(), &report, files)?;
    output.write(report)?;
    for change in &changes {
        out::message(&change.to_string());
    }
    Ok(Status::of_check(changes.is_empty()))
}

/// What `--json` prints.
#[derive(Serialize)]
struct LedgerJson<'l> {
    #[serde(flatten)]
    ledger: &'l ClaimLedger,
    /// What moved, with `--against`.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<LedgerMoves>,
    /// What came out on other machines, with `--machines`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    machines: Vec<&'l MachineSearch>,
}

/// What the report shows.
fn shown(args: &Reproduce) -> ReportKey {
    let claims = args.claims.as_ref().map(|path| path.display().to_string());
    let mut subjects = args.prefixes.clone();
    if subjects.is_empty() {
        subjects.extend(claims.clone());
    }
    let mut shown = ReportKey::new("reproduce", &subjects);
    if let Some(claims) = claims {
        shown = shown.with("--claims", claims);
    }
    shown = shown
        .with("--seed", args.seed)
        .with("--effort", args.effort);
    if let Some(n) = args.replications {
        shown = shown.with("--replications", n);
    }
    if let Some(n) = args.machines {
        shown = shown.with("--machines", n);
    }
    match args.seconds {
        Some(n) => shown.with("--seconds", n),
        None => shown,
    }
}

/// Why claims were not measured, which the JSON has no room for.
fn tell_unmeasured(ledger: &ClaimLedger) {
    let unmeasured =
        |e: &&LedgerEntry| e.finding.verdict == Verdict::Undecided && e.finding.checks.is_empty();
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
    // The papers' own figures take the place of bars of the same samples.
    let papers = figures::shipped();
    let mut sections = figures::sections(&papers, &result.samples, &result.ledger);
    let others = result.samples.into_iter();
    let others = others
        .filter(|(name, _)| !figures::draws(&papers, name))
        .collect();
    let mut others = samples::sections(&others);
    for section in &mut others {
        section.text = decides(&section.title, registry, &result.ledger);
    }
    sections.extend(others);
    let fact = |name: &str, fact: String| (name.to_owned(), fact);
    ReportData {
        name: "reproduce".to_owned(),
        title: "Published claims, reproduced".to_owned(),
        lead: "What the papers on scheduling virtual machines state, decided by simulation."
            .to_owned(),
        provenance: vec![
            fact("version", format!("domio {}", env!("CARGO_PKG_VERSION"))),
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
fn decides(family: &str, registry: &Registry, ledger: &ClaimLedger) -> String {
    let member = |name: &String| name == family || name.starts_with(&format!("{family}."));
    let claims = ledger.entries.iter().map(|e| &e.claim).filter(|claim| {
        let check = registry.check_of(&claim.id);
        check.is_some_and(|check| check.reads().iter().any(member))
    });
    let parts = claims.map(|c| format!("Decides `{}` ({}): {}.", c.id, c.place, c.expect));
    parts.collect::<Vec<_>>().join(" ")
}
