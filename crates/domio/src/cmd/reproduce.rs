//! `domio reproduce`: the papers' claims.

use crate::args::{Global, Reproduce};
use crate::files::Files;
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::report::{self, ReportKey};
use crate::shared::against::{self, Against};
use crate::shared::machines;
use crate::shared::pictures;
use crate::shared::tour::Tour;
use anyhow::anyhow;
use domio_front::papers::{self, Chosen};
use domio_lab::Keeping;
use domio_papers::against::LedgerMoves;
use domio_papers::folders::PaperFolder;
use domio_papers::ledger::LedgerEntry;
use domio_papers::paper::{Length, Machine, MachineSearch};
use domio_papers::recorded::Record;
use domio_papers::reproduce::{Options, Reproduction, reproduce};
use domio_papers::{
    ClaimLedger, Claims, Effort, Registry, answer, claim_page, experiments, recorded,
};
use domio_report::data::{PaperTitle, ReportData, Section};
use domio_report::pictures as paper_pictures;
use domio_report::pictures::PaperPictures;
use domio_report::{html, samples, text};
use domio_run::measure::Measures;
use domio_scenario::Parts;

/// Decides the claims, prints the ledger and writes the report. Without a selection, the tour of a
/// small host comes first.
pub fn run(args: &Reproduce, global: &Global) -> anyhow::Result<Status> {
    let subject = Decided::of(args, &global.parts)?;
    let (chosen, registry) = (&subject.chosen, &subject.registry);
    let read = args.claims.iter().map(|path| ("the claims", path.clone()));
    let files = Files::reading(read.chain(chosen.files()));
    let mut files = files.forced(args.reporting.force);
    files.prints()?;
    let selected = subject.claims.select(&chosen.prefixes)?;
    let against = args.against.as_deref();
    let against = against.map(|path| Against::read(path, &args.keeping));
    let against = against.transpose()?;
    let named = args.reporting.report.as_ref().and_then(Option::as_deref);
    let output = report::begin(&mut files, named, args.reporting.force, &shown(args))?;
    let keeper = keeping::keeper(&args.keeping, &global.parts)?;
    let progress = progress(global);
    let tour = match args.words.is_empty() && args.claims.is_none() {
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
    let replicator = Keeping {
        keeper: &keeper,
        progress: &*progress,
    };
    let result = reproduce(&selected, registry, options, &replicator);
    let searches = match args.machines {
        Some(count) => {
            let on = (&chosen.papers[..], count);
            let setup = (length(args), options);
            machines::search(&selected, &result.ledger, on, setup, &replicator)?
        }
        None => Vec::new(),
    };
    keeping::tell(&keeper, &args.keeping);
    let moves = against.map(|against| against.moves(&selected, registry, options, &result));
    let moves = moves.transpose()?;
    // Fewer or shorter replications than the record was made with leave claims undecided.
    let whole = args.replications.is_none() && args.seconds.is_none();
    let changes = match args.check {
        true => {
            let full = args.effort == Effort::Full && whole;
            recorded::changes(&subject.record, &result.ledger, full)
        }
        false => Vec::new(),
    };
    show(args, &result.ledger, moves.as_ref(), &searches)?;
    let overview = tour.map_or_else(Vec::new, |tour| tour.sections());
    let measures = Measures::from(&global.parts);
    let mut report = report(args, &subject, &measures, result, overview);
    let sections = searches.iter().map(domio_report::machines::section);
    report.sections.splice(0..0, sections);
    pictures::write(args.figures.as_deref(), &report, files)?;
    output.write(report)?;
    for change in &changes {
        out::message(&change.to_string());
    }
    Ok(Status::of_check(changes.is_empty()))
}

/// How long cells are.
fn length(args: &Reproduce) -> Length {
    match args.seconds {
        Some(seconds) => Length::Seconds(seconds),
        None => Length::Effort(args.effort),
    }
}

/// What is decided, read before anything is run.
struct Decided {
    chosen: Chosen,
    claims: Claims,
    registry: Registry,
    /// The papers' own figures.
    figures: Vec<PaperPictures>,
    record: Record,
}

impl Decided {
    fn of(args: &Reproduce, parts: &Parts) -> anyhow::Result<Self> {
        let chosen = Chosen::of(&args.words, parts)?;
        let claims = match &args.claims {
            Some(path) => papers::claims_in(path)?,
            None => chosen.claims()?,
        };
        let registry = experiments::of(&chosen.papers, length(args), &Machine::central());
        let mut registry = registry.map_err(|e| anyhow!("the paper has mistakes:\n{e}"))?;
        if args.claims.is_some() {
            registry.claims(&claims).map_err(papers::mistakes)?;
        }
        Ok(Decided {
            figures: paper_pictures::of(&chosen.papers)?,
            record: chosen.record()?,
            chosen,
            claims,
            registry,
        })
    }
}

/// Prints the ledger, what moved, and what came out on other machines.
fn show(
    args: &Reproduce,
    ledger: &ClaimLedger,
    against: Option<&LedgerMoves>,
    searches: &[MachineSearch],
) -> anyhow::Result<()> {
    out::answer(
        args.json,
        || answer::answer(ledger, against.cloned(), searches.to_vec()),
        || {
            let mut text = text::ledger::render(ledger, args.all);
            for search in searches {
                text += &format!("\n{}", text::machines::render(search));
            }
            text + &against.map_or_else(String::new, against::render)
        },
    )
}

/// What the report shows.
fn shown(args: &Reproduce) -> ReportKey {
    let claims = args.claims.as_ref().map(|path| path.display().to_string());
    let mut subjects = args.words.clone();
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

fn report(
    args: &Reproduce,
    subject: &Decided,
    measures: &Measures,
    result: Reproduction,
    overview: Vec<Section>,
) -> ReportData {
    let replications = match args.replications {
        Some(n) => n.to_string(),
        None => format!("those of effort {}", args.effort),
    };
    let claims = match &args.claims {
        Some(path) => path.display().to_string(),
        None => subject.chosen.told(),
    };
    // The papers' own figures take the place of bars of the same samples.
    let mut sections = paper_pictures::sections(&subject.figures, &result.samples, &result.ledger);
    let others = result.samples.into_iter();
    let others = others
        .filter(|(name, _)| !paper_pictures::draws(&subject.figures, name))
        .collect();
    let mut others = samples::sections(measures, &others);
    for section in &mut others {
        let decided = decides(&section.title, &subject.registry, &result.ledger);
        section.figures.extend(paper_pictures::claims(decided));
    }
    sections.extend(others);
    let fact = |name: &str, fact: String| (name.to_owned(), fact);
    ReportData {
        name: "reproduce".to_owned(),
        title: html::claims_title(&result.ledger),
        lead: "What the papers on scheduling virtual machines state, decided by simulation."
            .to_owned(),
        papers: subject.chosen.papers.iter().map(paper_title).collect(),
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

fn paper_title(paper: &PaperFolder) -> PaperTitle {
    PaperTitle {
        id: claim_page::id(paper),
        title: claim_page::title(paper),
    }
}

/// The claims that the experiments of `family` decide.
fn decides(family: &str, registry: &Registry, ledger: &ClaimLedger) -> Vec<LedgerEntry> {
    let member = |name: &String| name == family || name.starts_with(&format!("{family}."));
    let decided = |entry: &&LedgerEntry| {
        let check = registry.check_of(&entry.claim.id);
        check.is_some_and(|check| check.reads().iter().any(member))
    };
    ledger.entries.iter().filter(decided).cloned().collect()
}
