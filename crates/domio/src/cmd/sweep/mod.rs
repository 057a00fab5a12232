//! `domio sweep`: many settings of one scenario, their rows in a file, and what they show together.
//!
//! | file | holds |
//! |---|---|
//! | `tracked` | what is remembered of cells: front, best, points of pictures |
//! | `told` | what is answered |
//! | `drawn` | what is drawn |

mod drawn;
mod told;
mod tracked;

use crate::args::{Global, PlotOf, Sweep};
use crate::files::{FileKind, Files, Output, Target, is_stdout};
use crate::input;
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::report::{self, ReportFile, ReportKey};
use crate::shared::{from_trace, host, pictures};
use crate::suggest;
use anyhow::{anyhow, bail};
use domio_answer::file::{TableFormat, TableWriter};
use domio_answer::{AnswerSpec, Maybe};
use domio_front::cells::{self, CellSource, CheckedCells, setting};
use domio_front::drive::{CellAt, CellDrive};
use domio_front::scenarios;
use domio_lab::replicate::at_once;
use domio_report::data::ReportData;
use domio_run::Sample;
use domio_run::measure::Measures;
use domio_sweep::plan::SEARCHED;
use domio_sweep::rows::{columns, rows};
use domio_sweep::{Axis, CellSearch, Design, NamedFigure, NamedGoal, Score, SweepPlan};
use std::path::Path;
use told::{AxisRow, SweepFacts, Told, Written};
use tracked::{Asked, Tracker};

/// Runs all cells, writes their rows, and tells and draws what was asked.
pub fn run(args: &Sweep, global: &Global) -> anyhow::Result<Status> {
    refuse_idle(args)?;
    out::no_table()?;
    if let Some(jobs) = args.jobs {
        at_once(usize::from(jobs));
    }
    let source = source(args, global)?;
    let measures = Measures::from(&global.parts);
    let (plan, search) = planned(args, source.base().plan().seed)?;
    let notices = check_ends(&source, &measures, &plan, args)?;
    let targets = Targets::of(args, &measures, &source)?;
    let keeper = keeping::keeper(&args.keeping, &global.parts)?;
    let progress = progress(global);
    let drive = CellDrive {
        source: &source,
        plan: &plan,
        replications: args.replications,
        keeper: &keeper,
        progress: &*progress,
    };
    let asked = asked(args, &measures, &drive)?;
    let cells = search.as_ref().map_or(plan.cells(), CellSearch::cells);
    let grid = search.is_none() && matches!(args.design, None | Some(Design::Grid));
    let mut tracker = Tracker::new(&asked, &plan, grid, args.replications);
    let table = targets.table(args, &measures, &source, &plan)?;
    progress.begin(cells.saturating_mul(args.replications.into()));
    let written = all_cells(&drive, &measures, search, &mut tracker, table);
    progress.end();
    keeping::tell(&keeper, &args.keeping);
    let written = finish(args, &tracker, written?)?;
    let mut told = Told {
        facts: SweepFacts {
            scenario: source.base().name().to_owned(),
            program: keeping::program(&global.parts),
            seed: source.base().plan().seed,
            design: design_name(args),
            replications: args.replications,
            axes: plan.axes().iter().map(AxisRow::of).collect(),
            cells: tracker.cells,
            notices,
            output: Maybe(written),
        },
        axes: plan.axes(),
        goal: args
            .find
            .as_ref()
            .map(NamedGoal::text)
            .zip(asked.goal.clone()),
        trade: tracker.trade.as_ref(),
        found: tracker.found.as_ref(),
    };
    for figure in tracker.unmeasured() {
        let notice = format!("no cell has {figure}");
        out::notice(&notice);
        told.facts.notices.push(notice);
    }
    if !prints_rows(args) {
        out::answer(args.json, || told.answer(), || told.text())?;
    }
    let met = told.is_met();
    draw(args, &source, &plan, &tracker, targets)?;
    Ok(Status::of_check(met))
}

/// What the command answers.
pub fn spec() -> AnswerSpec {
    Told::default().answer().spec
}

/// Refuses a sweep of which nothing would be left, and options that do not go together.
fn refuse_idle(args: &Sweep) -> anyhow::Result<()> {
    let tells = args.output.is_some() || args.trade.is_some() || args.find.is_some();
    if !tells && args.plot.is_empty() {
        bail!(
            "nothing would be left of the cells; name a file for their rows with --output, or ask \
             for a picture with --plot, a trade-off with --trade, or the best cell with --find"
        );
    }
    let draws = !args.plot.is_empty() || args.trade.is_some();
    if !draws && (args.reporting.report.is_some() || args.figures.is_some()) {
        bail!("a report shows pictures; ask for them with --plot MEASURE:AXIS or --trade A,B");
    }
    if matches!(args.design, Some(Design::Search(_))) && args.find.is_none() {
        bail!("a search looks for something; say what with --find, or use --design grid");
    }
    if prints_rows(args) && args.json {
        bail!("--output - and --json both print to standard output; leave one out");
    }
    Ok(())
}

fn prints_rows(args: &Sweep) -> bool {
    args.output.as_deref().is_some_and(is_stdout)
}

/// The axes with their design, and the search if it is one.
fn planned(args: &Sweep, seed: u64) -> anyhow::Result<(SweepPlan, Option<CellSearch>)> {
    let axes = args.set.clone();
    match design(args) {
        Design::Search(cells) => {
            let space = SweepPlan::space(axes)?;
            let search = CellSearch::new(space.clone(), cells.unwrap_or(SEARCHED), seed);
            Ok((space, Some(search)))
        }
        design => Ok((SweepPlan::new(axes, design, seed)?, None)),
    }
}

fn design(args: &Sweep) -> Design {
    let default = match args.find {
        Some(_) => Design::Search(None),
        None => Design::Grid,
    };
    args.design.unwrap_or(default)
}

fn design_name(args: &Sweep) -> String {
    design(args).to_string()
}

/// The scenario that `args` name, with their seed; or one of the trace that they name.
fn source(args: &Sweep, global: &Global) -> anyhow::Result<CellSource> {
    let path = Path::new(&args.scenario);
    let base = match !input::is_stdin(path) && input::is_trace(path) {
        true => from_trace::of(path, args.cpu_hz, global)?,
        false if args.cpu_hz.is_some() => {
            let name = input::name(path);
            bail!("--cpu-hz is of a xentrace file, and {name} is a scenario; leave it out");
        }
        false => scenarios::load(&args.scenario, &global.parts)?,
    };
    let seed = args.seed.map(|seed| seed.to_string());
    let changes: Vec<(&str, &str)> = seed.iter().map(|seed| ("seed", &**seed)).collect();
    let base = base.with(&changes).map_err(scenarios::mistakes)?;
    Ok(CellSource::new(base))
}

/// Builds the first and the last cell, so that what is wrong is told before anything is run, and
/// looks whether all that is named is there. Returns what the cells have to say.
fn check_ends(
    source: &CellSource,
    measures: &Measures,
    plan: &SweepPlan,
    args: &Sweep,
) -> anyhow::Result<Vec<String>> {
    for plot in &args.plot {
        along(plan, plot)?;
    }
    let CheckedCells {
        notices,
        mut domains,
    } = source.check(plan)?;
    notices.iter().for_each(|notice| out::notice(notice));
    let named = args.trade.iter().flat_map(|trade| &trade.0);
    let named = named.chain(args.find.iter().flat_map(NamedGoal::figures));
    let named = named.chain(args.plot.iter().map(|plot| &plot.figure));
    for figure in named {
        let candidates = figure.candidates(measures);
        candidates.map_err(|error| anyhow!("{figure}: {error}"))?;
        let Some(domain) = figure.domain() else {
            continue;
        };
        if !domains.iter().any(|name| name == domain) {
            domains.sort();
            domains.dedup();
            let near = suggest::near(domain, domains.iter().map(String::as_str));
            bail!(
                "no cell has a domain called \"{domain}\"{near}; there are {}",
                domains.join(", ")
            );
        }
    }
    Ok(notices)
}

/// Decides which measures are meant. Where names leave that open, the first replication of the
/// first cell is run, which says what the host has.
fn asked(args: &Sweep, measures: &Measures, drive: &CellDrive<'_>) -> anyhow::Result<Asked> {
    let trade = args.trade.iter().flat_map(|trade| &trade.0);
    let goal = args.find.iter().flat_map(NamedGoal::figures);
    let plots = args.plot.iter().map(|plot| &plot.figure);
    let mut named = trade.chain(goal).chain(plots);
    let is_plain = |f: &NamedFigure| f.candidates(measures).is_ok_and(|all| all.len() == 1);
    let probe = match named.all(is_plain) {
        true => None,
        false => Some(probe(drive)?),
    };
    let probe = probe.as_ref();
    let chosen = |figure: &NamedFigure| {
        let chosen = figure.chosen(measures, probe);
        chosen.map_err(|error| anyhow!("{figure}: {error}"))
    };
    let mut asked = Asked::default();
    if let Some(trade) = &args.trade {
        let [a, b] = &trade.0;
        asked.trade = Some([chosen(a)?, chosen(b)?]);
    }
    if let Some(goal) = &args.find {
        let chosen = goal.chosen(measures, probe);
        asked.goal = Some(chosen.map_err(|error| anyhow!("--find: {error}"))?);
    }
    for plot in &args.plot {
        let along = along(drive.plan, plot)?;
        asked.plots.push((chosen(&plot.figure)?, along));
    }
    Ok(asked)
}

/// The place of the axis that `plot` is drawn along.
fn along(plan: &SweepPlan, plot: &PlotOf) -> anyhow::Result<usize> {
    if let Some(along) = plan.axis(&plot.along) {
        return Ok(along);
    }
    let keys: Vec<&str> = plan.axes().iter().map(Axis::key).collect();
    let near = suggest::near(&plot.along, keys.iter().copied());
    let there = match keys.is_empty() {
        true => ", and there is none".to_owned(),
        false => format!(", here {}", keys.join(", ")),
    };
    bail!(
        "--plot {}:{}: no axis is called \"{}\"{near}; --set makes axes{there}",
        plot.figure,
        plot.along,
        plot.along,
    );
}

fn probe(drive: &CellDrive<'_>) -> anyhow::Result<Sample> {
    let first = CellAt::at(drive.plan, 0, vec![0; drive.plan.axes().len()]);
    let alone = CellDrive {
        replications: 1,
        progress: &domio_lab::Silent,
        ..*drive
    };
    let mut probe = Sample::new();
    alone.run(std::iter::once(first), &mut |_, _, sample| {
        probe = sample;
        Ok(())
    })?;
    Ok(probe)
}

type Table = TableWriter<Output>;

/// Runs the cells of the plan, or those that the search asks for. Returns the table, and its rows.
fn all_cells(
    drive: &CellDrive<'_>,
    measures: &Measures,
    search: Option<CellSearch>,
    tracker: &mut Tracker,
    mut table: Option<Table>,
) -> anyhow::Result<(Option<Table>, u64)> {
    let (plan, mut count) = (drive.plan, 0);
    let mut each = |cell: &CellAt, n: u32, sample: Sample| {
        if let Some(table) = &mut table {
            for row in rows(
                (plan.axes(), measures.figures()),
                cell.number,
                &cell.values,
                n,
                &sample,
            ) {
                table.row(&row)?;
                count += 1;
            }
        }
        Ok::<_, anyhow::Error>(tracker.add(cell, n, &sample))
    };
    let Some(mut search) = search else {
        let cells = (0..plan.cells()).map(|number| CellAt::of(plan, number));
        drive.run(cells, &mut |cell, n, sample| {
            each(cell, n, sample).map(|_| ())
        })?;
        return Ok((table, count));
    };
    let mut number = 0;
    loop {
        let batch = search.ask();
        if batch.is_empty() {
            return Ok((table, count));
        }
        let cells: Vec<CellAt> = (number..)
            .zip(batch)
            .map(|(number, places)| CellAt::at(plan, number, places))
            .collect();
        number += cells.len() as u64;
        let mut scores: Vec<(Vec<u64>, Score)> = Vec::new();
        drive.run(cells.into_iter(), &mut |cell, n, sample| {
            let score = each(cell, n, sample)?;
            scores.extend(score.map(|score| (cell.places.clone(), score)));
            Ok(())
        })?;
        for (places, score) in scores {
            search.tell(&places, score.as_number());
        }
    }
}

/// Gives the table its name.
fn finish(
    args: &Sweep,
    tracker: &Tracker,
    (table, rows): (Option<Table>, u64),
) -> anyhow::Result<Option<Written>> {
    let (Some(table), Some(path)) = (table, &args.output) else {
        return Ok(None);
    };
    table.finish()?.finish()?;
    Output::told(path, &format!(": {rows} rows of {} cells", tracker.cells));
    Ok(Some(Written {
        file: path.display().to_string(),
        rows,
    }))
}

/// Where the command writes.
struct Targets {
    table: Option<(Target, TableFormat)>,
    report: Option<ReportFile>,
}

impl Targets {
    fn of(args: &Sweep, measures: &Measures, source: &CellSource) -> anyhow::Result<Self> {
        let mut files = host::files(source.base()).forced(args.reporting.force);
        if !prints_rows(args) {
            files.prints()?;
        }
        let table = args.output.as_deref();
        let table = table.map(|path| table_at(&mut files, path, measures, &args.set));
        Ok(Targets {
            table: table.transpose()?,
            report: report_of(args, &mut files)?,
        })
    }

    /// Begins the table.
    fn table(
        &self,
        args: &Sweep,
        measures: &Measures,
        source: &CellSource,
        plan: &SweepPlan,
    ) -> anyhow::Result<Option<Table>> {
        let Some((target, format)) = &self.table else {
            return Ok(None);
        };
        let about = cells::about(
            source.base(),
            plan,
            design(args),
            args.replications,
            &keeping::program(source.base().parts()),
        );
        let columns = columns(plan.axes(), measures.figures());
        Ok(Some(TableWriter::new(
            *format,
            target.create()?,
            columns,
            about,
        )?))
    }
}

fn table_at(
    files: &mut Files,
    path: &Path,
    measures: &Measures,
    axes: &[Axis],
) -> anyhow::Result<(Target, TableFormat)> {
    let name = path.to_string_lossy();
    let format = match is_stdout(path) {
        true => Some(TableFormat::Csv),
        false => TableFormat::of_name(&name),
    };
    let Some(format) = format else {
        bail!(
            "--output {name}: the ending decides the format; \
             call the file {name}.parquet or {name}.csv"
        );
    };
    let kind = match format {
        TableFormat::Parquet => FileKind::Parquet,
        TableFormat::Csv => {
            let head = TableWriter::new(
                format,
                Vec::new(),
                columns(axes, measures.figures()),
                Vec::new(),
            )?;
            let head = String::from_utf8(head.finish()?)?;
            FileKind::Csv(head.trim_end().to_owned())
        }
    };
    Ok((files.writes("--output", path, kind)?, format))
}

/// Begins the report. Pictures that nobody gave a place come into one that is named after the
/// scenario.
fn report_of(args: &Sweep, files: &mut Files) -> anyhow::Result<Option<ReportFile>> {
    let mut shown = ReportKey::new("sweep", std::slice::from_ref(&args.scenario));
    for axis in &args.set {
        shown = shown.with("--set", axis);
    }
    for plot in &args.plot {
        shown = shown.with("--plot", format!("{}:{}", plot.figure, plot.along));
    }
    if let Some(trade) = &args.trade {
        let [a, b] = &trade.0;
        shown = shown.with("--trade", format!("{a},{b}"));
    }
    shown = shown.with("--design", design_name(args));
    if let Some(seed) = args.seed {
        shown = shown.with("--seed", seed);
    }
    if args.replications > 1 {
        shown = shown.with("--replications", args.replications);
    }
    let placed = args.reporting.report.is_some() || args.figures.is_some();
    if placed || args.plot.is_empty() {
        return report::wanted(files, &args.reporting, &shown);
    }
    report::begin(files, None, args.reporting.force, &shown).map(Some)
}

/// Draws what was asked, into the report and the folder of figures.
fn draw(
    args: &Sweep,
    source: &CellSource,
    plan: &SweepPlan,
    tracker: &Tracker,
    targets: Targets,
) -> anyhow::Result<()> {
    if targets.report.is_none() && args.figures.is_none() {
        return Ok(());
    }
    let base = source.base();
    let first = plan.values(&vec![0; plan.axes().len()]);
    let ready = source.cell(plan.axes(), &first)?;
    let built = source.build(&ready, plan.axes(), &first)?;
    let policies = host::policy_names(&built);
    let mut provenance = host::provenance(base, &built, &policies, args.replications);
    let axes: Vec<String> = args.set.iter().map(Axis::to_string).collect();
    provenance.push(("axes".to_owned(), axes.join(" ")));
    provenance.push(("design".to_owned(), design_name(args)));
    provenance.push(("cells".to_owned(), tracker.cells.to_string()));
    if !axes.is_empty() {
        provenance.push(("first cell".to_owned(), setting(plan.axes(), &first)));
    }
    let report = ReportData {
        name: format!("{} sweep", base.name()),
        title: format!("{}: {} cells", host::title(base), tracker.cells),
        lead: base.plan().description.clone().unwrap_or_default(),
        provenance,
        sections: drawn::sections(plan.axes(), &tracker.plots, tracker.trade.as_ref()),
        ..ReportData::default()
    };
    let files = host::files(base).forced(args.reporting.force);
    pictures::write(args.figures.as_deref(), &report, files)?;
    match targets.report {
        Some(to) => to.write(report),
        None => Ok(()),
    }
}
