//! `domio reproduce`: the papers' claims.
//!
//! Without a selection the claims are the headlines of each paper, after what is on record of all.

use crate::args::{Global, Reproduce};
use crate::files::Files;
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::report::{self, ReportKey};
use crate::shared::against::{self, Against};
use crate::shared::known;
use crate::shared::machines;
use crate::shared::pictures;
use anyhow::anyhow;
use domio_front::papers::{self, Chosen};
use domio_lab::Keeping;
use domio_papers::folders::PaperFolder;
use domio_papers::ledger::LedgerEntry;
use domio_papers::paper::{Length, Machine, MachinePart, Survivals};
use domio_papers::recorded::Record;
use domio_papers::reproduce::{Options, Reproduction, estimate_s, reproduce};
use domio_papers::{
    Claim, ClaimLedger, Claims, Effort, Registry, answer, claim_page, experiments, recorded,
};
use domio_report::data::{PaperTitle, ReportData};
use domio_report::pictures as paper_pictures;
use domio_report::pictures::PaperPictures;
use domio_report::text::ledger::LedgerRows;
use domio_report::{html, samples, survival, text};
use domio_run::measure::Measures;
use domio_scenario::Parts;
use std::num::NonZero;

/// Decides the claims, prints what is on record and the ledger, and writes the report.
pub fn run(args: &Reproduce, global: &Global) -> anyhow::Result<Status> {
    let subject = Decided::of(args, &global.parts)?;
    if !args.json && args.machines.is_none() && args.against.is_none() {
        out::knows(&known::of_reproduce())?;
    }
    let (chosen, registry) = (&subject.chosen, &subject.registry);
    let read = args.claims.iter().map(|path| ("the claims", path.clone()));
    let files = Files::reading(read.chain(chosen.files()));
    let mut files = files.forced(args.reporting.force);
    files.prints()?;
    let selected = match of_headlines(args) {
        true => subject.claims.headlines(),
        false => subject.claims.select(&chosen.prefixes)?,
    };
    let against = args.against.as_deref();
    let against = against.map(|path| Against::read(path, &args.keeping));
    let against = against.transpose()?;
    let named = args.reporting.report.as_ref().and_then(Option::as_deref);
    let output = report::begin(&mut files, named, args.reporting.force, &shown(args))?;
    let keeper = keeping::keeper(&args.keeping, &global.parts)?;
    let progress = progress(global);
    let options = options(args);
    if of_all_papers(args) && !args.json {
        out::text(&format!("{}\n", subject.on_record()))?;
        let estimate = estimate_s(&selected, registry, options);
        out::remark(&deciding(selected.len(), of_headlines(args), estimate));
    }
    let replicator = Keeping {
        keeper: &keeper,
        progress: &*progress,
    };
    let result = reproduce(&selected, registry, options, &replicator);
    let searches = match args.machines {
        Some(count) => {
            let on = (count, args.part.unwrap_or(MachinePart::ALL));
            let (papers, setup) = (&chosen.papers, (length(args), options));
            machines::search(&selected, &result.ledger, papers, on, setup, &replicator)?
        }
        None => Vec::new(),
    };
    keeping::tell(&keeper, &args.keeping);
    let moves = against.map(|against| against.moves(&selected, registry, options, &result));
    let moves = moves.transpose()?;
    // Fewer or shorter replications than the record was made with leave claims undecided.
    let whole = args.replications.is_none() && args.seconds.is_none();
    let full = options.effort == Effort::Full && whole;
    let changes = match args.check {
        true => recorded::changes(&subject.record, &result.ledger, full),
        false => Vec::new(),
    };
    out::answer(
        args.json,
        || {
            let of = (&subject.claims, &subject.record, &subject.survivals);
            answer::answer(&result.ledger, of, moves.clone(), searches.clone())
        },
        || {
            let mut text = subject.verdicts(args, &result.ledger);
            let dependent = survival::dependent(&result.ledger, &subject.survivals, out::view());
            if !dependent.is_empty() {
                text += &format!("\n{dependent}");
            }
            for search in &searches {
                text += &format!("\n{}", text::machines::render(search));
            }
            text + &moves.as_ref().map_or_else(String::new, against::render)
        },
    )?;
    let measures = Measures::from(&global.parts);
    let mut report = report(args, &subject, &measures, result);
    let sections = searches.iter().map(domio_report::machines::section);
    report.sections.splice(0..0, sections);
    pictures::write(args.figures.as_deref(), &report, files)?;
    output.write(report)?;
    for change in &changes {
        out::message(&change.to_string());
    }
    Ok(Status::of_check(changes.is_empty()))
}

/// Whether the claims are not chosen.
fn of_all_papers(args: &Reproduce) -> bool {
    args.words.is_empty() && args.claims.is_none()
}

/// Whether the headlines are decided.
fn of_headlines(args: &Reproduce) -> bool {
    of_all_papers(args) && !args.all
}

fn effort(args: &Reproduce) -> Effort {
    args.effort.unwrap_or_default()
}

fn options(args: &Reproduce) -> Options {
    match of_headlines(args) && args.effort.is_none() && args.replications.is_none() {
        true => Options::headlines(args.seed),
        false => Options {
            seed: args.seed,
            effort: effort(args),
            replications: args.replications,
            looks: None,
        },
    }
}

/// What is done now, and how long it takes as far as that is on record.
fn deciding(claims: usize, headlines: bool, estimate_s: Option<f64>) -> String {
    let kind = match headlines {
        true => "headline claims",
        false => "claims",
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let time = estimate_s.map(|s| format!(": {} on {cores} cores", about(s / cores as f64)));
    format!("deciding {claims} {kind}{}", time.unwrap_or_default())
}

/// `seconds` in words: "about 40 s", "about 4 min".
fn about(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("about {:.0} s", s.max(1.0)),
        s if s < 6_000.0 => format!("about {:.0} min", s / 60.0),
        s => format!("about {:.0} h", s / 3_600.0),
    }
}

/// How long cells are.
fn length(args: &Reproduce) -> Length {
    match args.seconds {
        Some(seconds) => Length::Seconds(seconds),
        None => Length::Effort(effort(args)),
    }
}

/// So many claims have rows without being asked for.
const FEW: usize = 50;

/// What is decided, read before anything is run.
struct Decided {
    chosen: Chosen,
    claims: Claims,
    registry: Registry,
    /// The papers' own figures.
    figures: Vec<PaperPictures>,
    record: Record,
    /// Claims on other machines, as recorded.
    survivals: Survivals,
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
            survivals: chosen.survivals()?,
            chosen,
            claims,
            registry,
        })
    }

    fn titles(&self) -> Vec<PaperTitle> {
        self.chosen.papers.iter().map(paper_title).collect()
    }

    /// What is on record, for the terminal.
    fn on_record(&self) -> String {
        let papers = recorded::by_paper(self.claims.iter(), &self.record);
        text::ledger::record(&papers, &self.titles(), out::view())
    }

    /// The verdicts for the terminal: rows of few claims or of all that are asked for, how many
    /// there are, and how they compare with the record.
    fn verdicts(&self, args: &Reproduce, ledger: &ClaimLedger) -> String {
        let view = out::view();
        let rows = match args.list {
            true => Some(LedgerRows::All),
            false if of_headlines(args) => Some(LedgerRows::Headlines),
            false => (ledger.entries.len() <= FEW).then_some(LedgerRows::Measured),
        };
        let rows = rows.map(|rows| text::ledger::rows(ledger, rows, view) + "\n");
        let mut text = rows.unwrap_or_default();
        if !of_all_papers(args) {
            return text + &text::ledger::summary(ledger, view);
        }
        let failures = text::ledger::failures(ledger, view);
        if !failures.is_empty() {
            text += &format!("{failures}\n");
        }
        let now = recorded::compare(&self.record, ledger);
        let undecided = ledger.entries.len() - now.decided;
        text += &format!(
            "{} decided, {} as on record, {} against it",
            now.decided, now.agree, now.contradict
        );
        if undecided > 0 {
            text += &format!("; {undecided} undecided: --effort normal or full decides more");
        }
        text + &self.more(args)
    }

    /// How to see or decide more, which ends the line.
    fn more(&self, args: &Reproduce) -> String {
        if args.all {
            return match args.list {
                true => "\n".to_owned(),
                false => "; --list prints a row for each\n".to_owned(),
            };
        }
        let all: Vec<&Claim> = self.claims.iter().collect();
        let of_effort = Options {
            looks: None,
            ..options(args)
        };
        // The time is on record for all or for none.
        let time = estimate_s(&all, &self.registry, of_effort);
        let time = time.map(|s| format!(", {} on two cores", about(s / 2.0)));
        let count = all.len();
        format!(
            "; all {count}: domio reproduce --all{}\n",
            time.unwrap_or_default()
        )
    }
}

/// What the report shows.
fn shown(args: &Reproduce) -> ReportKey {
    let claims = args.claims.as_ref().map(|path| path.display().to_string());
    let mut subjects = args.words.clone();
    if subjects.is_empty() {
        subjects.extend(claims.clone());
    }
    if args.all {
        subjects.push("all".to_owned());
    }
    let mut shown = ReportKey::new("reproduce", &subjects);
    if let Some(claims) = claims {
        shown = shown.with("--claims", claims);
    }
    shown = shown
        .with("--seed", args.seed)
        .with("--effort", effort(args));
    if let Some(n) = args.replications {
        shown = shown.with("--replications", n);
    }
    if let Some(n) = args.machines {
        shown = shown.with("--machines", n);
    }
    if let Some(MachinePart { number, of }) = args.part {
        shown = shown.with("--part", format!("{number}/{of}"));
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
) -> ReportData {
    let replications = match args.replications {
        Some(n) => n.to_string(),
        None => format!("those of effort {}", effort(args)),
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
        papers: subject.titles(),
        provenance: vec![
            fact("version", format!("domio {}", env!("CARGO_PKG_VERSION"))),
            fact("claims", claims),
            fact("seed", args.seed.to_string()),
            fact("replications", replications),
        ],
        overview: Vec::new(),
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
