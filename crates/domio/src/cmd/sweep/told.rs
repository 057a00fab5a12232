//! What a sweep prints: what was run, the cells of the front, the cell that does best.

use super::tracked::{CellFigures, Found, TradeOff};
use crate::out;
use domio_front::cells::setting;
use domio_report::figure;
use domio_report::text::{TextCell, TextColumn, TextTable, Tone};
use domio_stats::Estimate;
use domio_sweep::{Axis, Goal, Score, SweepFigure};
use serde_json::{Map, Value, json};

/// A sweep that was run.
pub struct Told<'t> {
    /// Name of the scenario.
    pub scenario: &'t str,
    /// Name of the program.
    pub program: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Name of the design, as the command line has it.
    pub design: String,
    /// The axes.
    pub axes: &'t [Axis],
    /// Replications of each cell.
    pub replications: u32,
    /// Cells that were run.
    pub cells: u64,
    /// Rows and name of the output.
    pub written: Option<(u64, String)>,
    /// The goal as it was written, and what it is.
    pub goal: Option<(String, Goal)>,
    /// The trade-off that was asked for.
    pub trade: Option<&'t TradeOff>,
    /// The best cell.
    pub found: Option<&'t Found>,
    /// What else is to be known.
    pub notices: Vec<String>,
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
            text += &format!("\n{}", self.front(trade));
        }
        if let Some((written, goal)) = &self.goal {
            text += &format!("\n{}", self.best(written, goal));
        }
        text
    }

    fn first_line(&self) -> String {
        let cells = match self.cells {
            1 => "1 cell".to_owned(),
            n => format!("{n} cells"),
        };
        let replications = match self.replications {
            1 => "1 replication".to_owned(),
            n => format!("{n} replications"),
        };
        format!(
            "{cells} of {}, {replications} each, {}, seed {}",
            self.scenario, self.design, self.seed
        )
    }

    fn front(&self, trade: &TradeOff) -> String {
        let [a, b] = &trade.figures;
        let mut columns = vec![TextColumn::figures("cell")];
        let keys = self.axes.iter().map(|axis| TextColumn::words(axis.key()));
        columns.extend(keys.map(TextColumn::whole));
        columns.extend([a, b].map(|figure| TextColumn::figures(heading(figure))));
        let mut table = TextTable::new(columns);
        let mut count = 0;
        for CellFigures { cell, means } in trade.cells() {
            count += 1;
            let mut row = vec![TextCell::new(cell.number.to_string(), Tone::Strong)];
            row.extend(cell.values.iter().map(TextCell::from));
            let pairs = means.iter().zip(&trade.figures);
            row.extend(pairs.map(|(mean, figure)| shown(mean.as_ref(), figure).into()));
            table.row(row);
        }
        let lead = format!(
            "No cell beats {} of {} in both {} and {}:\n\n",
            match count {
                1 => "this one".to_owned(),
                n => format!("these {n}"),
            },
            self.cells,
            a.title(),
            b.title()
        );
        lead + &table.render(out::view())
    }

    fn best(&self, written: &str, goal: &Goal) -> String {
        let Some(found) = self.found else {
            return format!("{written}: no cell was run\n");
        };
        let lead = match found.score {
            Score::Meets(_) => format!("{written}:"),
            Score::Breaks(_) => {
                format!("{written}: no cell meets the conditions; this one comes nearest:")
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
    pub fn json(&self) -> Value {
        let axis = |axis: &Axis| {
            let values = &axis.to_string()[axis.key().len() + 1..];
            json!({ "key": axis.key(), "values": values })
        };
        let mut out = json!({
            "scenario": self.scenario,
            "program": self.program,
            "seed": self.seed,
            "design": self.design,
            "replications": self.replications,
            "axes": self.axes.iter().map(axis).collect::<Vec<_>>(),
            "cells": self.cells,
            "notices": self.notices,
        });
        if let Some((rows, file)) = &self.written {
            out["output"] = json!({ "file": file, "rows": rows });
        }
        if let Some(trade) = self.trade {
            let cells = trade.cells().map(|c| self.cell_json(c, &trade.figures));
            out["trade"] = json!({
                "figures": trade.figures.iter().map(figure_json).collect::<Vec<_>>(),
                "cells": cells.collect::<Vec<_>>(),
            });
        }
        if let Some((written, goal)) = &self.goal {
            let figures = goal.figures();
            let measured = self.found.filter(|found| found.score != Score::Unmeasured);
            let best = measured.map(|found| self.cell_json(&found.best, &figures));
            out["find"] = json!({
                "goal": written,
                "met": self.is_met(),
                "figures": figures.iter().map(figure_json).collect::<Vec<_>>(),
                "best": best,
            });
        }
        out
    }

    fn cell_json(&self, of: &CellFigures, figures: &[SweepFigure]) -> Value {
        let values = self.axes.iter().zip(&of.cell.values);
        let values = values.map(|(axis, value)| (axis.key().to_owned(), json!(value)));
        let means = figures.iter().zip(&of.means);
        let means = means.map(|(figure, mean)| (figure.to_string(), json!(mean)));
        json!({
            "cell": of.cell.number,
            "values": values.collect::<Map<_, _>>(),
            "figures": means.collect::<Map<_, _>>(),
        })
    }
}

fn figure_json(figure: &SweepFigure) -> Value {
    json!({
        "name": figure.to_string(),
        "title": figure.title(),
        "unit": figure.declared.unit,
    })
}

/// "wake to run, 99 %, of web", with the unit where cells do not have it.
pub fn heading(figure: &SweepFigure) -> String {
    figure::title(&figure.title(), figure.declared.unit)
}

fn shown(mean: Option<&Estimate>, of: &SweepFigure) -> String {
    mean.map_or_else(
        || "-".to_owned(),
        |mean| figure::cell(mean, of.declared.unit),
    )
}
