//! What a sweep answers: what was run, the cells of the front, the cell that does best.

use super::tracked::{CellFigures, Found, TradeOff};
use crate::out;
use domio_answer::column::{fact, parts};
use domio_answer::{Answered, Cell, Holds, Maybe, Sentence, Table, rows};
use domio_front::cells::setting;
use domio_report::text::gains::BY_CHANCE;
use domio_report::text::table::render as draw;
use domio_report::{tables, written};
use domio_stats::Estimate;
use domio_sweep::{Axis, Goal, Score, SweepFigure};
use std::borrow::Cow;

/// What the schema says of it.
const DOC: &str = "What `domio sweep --json` prints: what was run, the cells of --trade and the \
                   cell of --find.";

rows! {
    /// An axis.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct AxisRow {
        /// Key of the scenario.
        pub key: String = key("key");
        /// Its values, as A,B,C or LO..HI:N.
        pub values: String = fact("values");
    }

    /// The file with the rows.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Written {
        /// Its path.
        pub file: String = fact("file");
        /// Its rows: one a cell, replication and domain.
        pub rows: u64 = count("rows");
    }

    /// A figure of cells.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct FigureRow {
        /// Column and domain, as wake_p99_us(web).
        pub name: String = key("name");
        /// What people call it.
        pub title: String = fact("title");
        /// Unit of its means; empty for a count.
        pub unit: Cow<'static, str> = fact("unit");
    }

    /// A sweep that was run.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct SweepFacts {
        /// File or name of the scenario, or the trace that it was made of.
        pub scenario: String = fact("scenario");
        /// Version of the program, and a digest of all that decides a figure.
        pub program: String = fact("program");
        /// Seed of all random streams, and of the choice of cells.
        pub seed: u64 = fact("seed");
        /// How cells were chosen: grid, latin-hypercube or search, with the number of cells if one
        /// was given.
        pub design: String = fact("design");
        /// Replications of each cell.
        pub replications: u32 = fact("replications");
        /// The axes, in the order in which they were given.
        pub axes: Vec<AxisRow> = parts("axes", []);
        /// Cells that were run.
        pub cells: u64 = count("cells");
        /// What to know of the scenario and of its figures.
        pub notices: Vec<String> = parts("notices", [fact("notice").doc("A sentence.")]);
        /// The file with the rows; null where none was asked for.
        pub output: Maybe<Written> = parts("output", []);
    }
}

impl AxisRow {
    /// The row of `axis`.
    pub fn of(axis: &Axis) -> Self {
        AxisRow {
            key: axis.key().to_owned(),
            values: axis.to_string()[axis.key().len() + 1..].to_owned(),
        }
    }
}

/// A sweep that was run, and what was asked of its cells.
#[derive(Default)]
pub struct Told<'t> {
    /// What was run.
    pub facts: SweepFacts,
    /// The axes.
    pub axes: &'t [Axis],
    /// The goal as it was written, and what it is.
    pub goal: Option<(String, Goal)>,
    /// The trade-off that was asked for.
    pub trade: Option<&'t TradeOff>,
    /// The best cell.
    pub found: Option<&'t Found>,
}

impl Told<'_> {
    /// Whether a cell meets the conditions, if that was asked.
    pub fn is_met(&self) -> bool {
        let met = |found: &Found| matches!(found.score, Score::Meets(_));
        self.goal.is_none() || self.found.is_some_and(met)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.first_line());
        if let Some(trade) = self.trade {
            let table = cells(self.axes, &trade.figures, trade.cells());
            let table = draw(&table, out::view());
            text += &format!("\n{}:\n\n{table}", self.front(trade));
        }
        if let Some((written, goal)) = &self.goal {
            text += &format!("\n{}", self.best(written, goal));
        }
        text
    }

    fn first_line(&self) -> String {
        let cells = match self.facts.cells {
            1 => "1 cell".to_owned(),
            n => format!("{n} cells"),
        };
        let replications = match self.facts.replications {
            1 => "1 replication".to_owned(),
            n => format!("{n} replications"),
        };
        format!(
            "{cells} of {}, {replications} each, {}, seed {}",
            self.facts.scenario, self.facts.design, self.facts.seed
        )
    }

    /// How many cells no other beats.
    fn front(&self, trade: &TradeOff) -> String {
        let [a, b] = &trade.figures;
        let these = match trade.cells().count() {
            1 => "this one".to_owned(),
            n => format!("these {n}"),
        };
        let (all, a, b) = (self.facts.cells, a.title(), b.title());
        format!(
            "No cell beats {these} of {all} in both {a} and {b}{}",
            self.chance()
        )
    }

    /// What one replication of each cell is worth; empty where there are more.
    fn chance(&self) -> &'static str {
        match self.facts.replications {
            1 => BY_CHANCE,
            _ => "",
        }
    }

    fn best(&self, written: &str, goal: &Goal) -> String {
        let Some(found) = self.found else {
            return format!("{written}: no cell was run\n");
        };
        let chance = self.chance();
        let lead = match found.score {
            Score::Meets(_) => format!("{written}{chance}:"),
            Score::Breaks(_) => {
                format!("{written}{chance}: no cell meets the conditions; this one comes nearest:")
            }
            Score::Unmeasured => format!("{written}: no cell has all of these figures"),
        };
        let mut text = format!("{lead}\n");
        if found.score == Score::Unmeasured {
            return text;
        }
        let cell = &found.best.cell;
        text += &format!(
            "  cell {}: {}\n",
            cell.number,
            setting(self.axes, &cell.values)
        );
        for (figure, mean) in goal.figures().iter().zip(&found.best.means) {
            text += &format!("  {}: {}\n", heading(figure), shown(mean.as_ref(), figure));
        }
        text
    }

    /// For programs.
    pub fn answer(&self) -> Answered {
        let mut answer = Answered::of("sweep", 2, DOC, &self.facts);
        let doc = "Cells that no other beats, the best in the first figure first, each with its \
                   value on every axis, as it was set, and the means of the figures.";
        let traded = self.trade.map_or(&[][..], |trade| &trade.figures);
        let front = self.trade.into_iter().flat_map(TradeOff::cells);
        let (column, front) = cells(self.axes, traded, front).nested("cells", doc);
        let (figures, shown) = figures(traded).nested("figures", "The two figures.");
        let row = vec![shown, front];
        let doc = "What two figures cost each other; null where that was not asked.";
        let trade = parts("trade", [figures, column.open()]);
        answer.derive(
            trade.of(Holds::RowType).optional().doc(doc),
            Cell::Rows(self.trade.map(|_| row).into_iter().collect()),
        );

        let wanted = self
            .goal
            .as_ref()
            .map_or_else(Vec::new, |(_, goal)| goal.figures());
        let measured = self.found.filter(|found| found.score != Score::Unmeasured);
        let best = measured.map(|found| &found.best);
        let doc = "The best cell, or the one that comes nearest to the conditions, as those of \
                   `trade`; null when no cell has all figures.";
        let (column, best) = cells(self.axes, &wanted, best.into_iter()).nested("best", doc);
        let doc = "The goal's figure, and those of the conditions.";
        let (figures, shown) = self::figures(&wanted).nested("figures", doc);
        let goal = fact("goal").of(Holds::Text).doc("What was to be found.");
        let met = fact("met")
            .of(Holds::Flag)
            .doc("Whether the cell meets all conditions.");
        let columns = [
            goal,
            met,
            figures,
            column.of(Holds::RowType).optional().open(),
        ];
        let found = self.goal.as_ref().map(|(written, _)| {
            let first = [written.clone().into(), self.is_met().into()];
            first.into_iter().chain([shown, best]).collect()
        });
        let doc = "The cell that does best; null where that was not asked.";
        let find = parts("find", columns)
            .of(Holds::RowType)
            .optional()
            .doc(doc);
        answer.derive(find, Cell::Rows(found.into_iter().collect()));

        let front = self.trade.map(|trade| format!("{}.", self.front(trade)));
        let best = self.goal.as_ref().map(|(written, goal)| {
            let lines = self.best(written, goal);
            let lines: Vec<&str> = lines.lines().map(str::trim).collect();
            lines.join("; ").replace(":;", ":")
        });
        answer.findings = front.into_iter().chain(best).map(Sentence::new).collect();
        answer
    }
}

/// Cells with their values on the axes, and the means of their `figures`.
pub fn cells<'c>(
    axes: &[Axis],
    figures: &[SweepFigure],
    cells: impl Iterator<Item = &'c CellFigures>,
) -> Table {
    let cell = tables::name("cell").of(Holds::Whole);
    let cell = cell.doc("Number of the cell, as in the rows.");
    let values = axes.iter().map(|axis| {
        let key = axis.key().to_owned();
        tables::text(key.clone()).title(key)
    });
    let means = figures.iter().map(|figure| {
        let column = tables::mean(figure.to_string(), figure.declared.unit);
        column.title(figure.title())
    });
    let columns = [cell].into_iter().chain(values).chain(means);
    let mut table = Table::new("", columns.collect::<Vec<_>>());
    for CellFigures { cell, means } in cells {
        let values = cell.values.iter().map(|value| value.clone().into());
        let means = means.iter().map(|mean| (*mean).into());
        table.row([cell.number.into()].into_iter().chain(values).chain(means));
    }
    table
}

/// Figures, a row each.
fn figures(figures: &[SweepFigure]) -> Table {
    let row = |figure: &SweepFigure| FigureRow {
        name: figure.to_string(),
        title: figure.title(),
        unit: figure.declared.unit.into(),
    };
    Table::of("", &figures.iter().map(row).collect::<Vec<_>>())
}

/// "wake to run, p99, of web", with the unit where cells do not have it.
fn heading(figure: &SweepFigure) -> String {
    written::title(&figure.title(), figure.declared.unit)
}

fn shown(mean: Option<&Estimate>, of: &SweepFigure) -> String {
    mean.map_or_else(
        || "-".to_owned(),
        |mean| written::cell(mean, of.declared.unit),
    )
}
