//! `domio reproduce --against`: what moved since an earlier reproduction.

use crate::args::Keeping;
use crate::keeping;
use crate::out;
use crate::shared::kept::{KeptSide, is_database};
use anyhow::{Context, anyhow};
use domio_answer::Table;
use domio_papers::against::{BaselineLedger, BeforeAfter, ClaimMoved, LedgerMoves};
use domio_papers::reproduce::{Options, Reproduction, decide_again};
use domio_papers::{Claim, Registry};
use domio_report::text::table::render as draw;
use domio_report::{figure, tables};
use domio_run::Sample;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// An earlier reproduction.
pub enum Against {
    /// Its ledger.
    Ledger(BaselineLedger),
    /// Its samples, which today's checks decide.
    Samples(KeptSide),
}

impl Against {
    /// Reads the ledger or the file of results `path`, or finds the program of that name in the
    /// file that `keeping` says.
    ///
    /// # Errors
    /// When there is no such file and no such program, or it is something else.
    pub fn read(path: &Path, keeping: &Keeping) -> anyhow::Result<Self> {
        if path.exists() && !is_database(path) {
            let file = path.display();
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {file} of --against"))?;
            let ledger = BaselineLedger::parse(&text).map_err(|why| {
                anyhow!(
                    "{file} is no baseline: {why}; give what `domio reproduce --json` printed, a \
                     file of results, or the name of a program in one"
                )
            })?;
            return Ok(Against::Ledger(ledger));
        }
        let store = keeping::file(keeping).unwrap_or_default();
        Ok(Against::Samples(KeptSide::find(path, &store)?))
    }

    /// What moved from there to `result`.
    ///
    /// # Errors
    /// When the file of results cannot be read.
    pub fn moves(
        &self,
        claims: &[&Claim],
        registry: &Registry,
        options: Options,
        result: &Reproduction,
    ) -> anyhow::Result<LedgerMoves> {
        let side = match self {
            Against::Ledger(ledger) => return Ok(ledger.moves(&result.ledger)),
            Against::Samples(side) => side,
        };
        let mut samples: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
        for (name, now) in &result.samples {
            let Some(subject) = registry.find(name).and_then(|e| e.subject()) else {
                continue;
            };
            let kept = side.samples(subject, options.seed)?;
            // As many as now, without gaps.
            let kept = (0..).zip(kept).take_while(|(n, (number, _))| n == number);
            let kept: Vec<Sample> = kept
                .map(|(_, (_, sample))| sample)
                .take(now.len())
                .collect();
            if !kept.is_empty() {
                samples.insert(name.clone(), kept);
            }
        }
        let before = decide_again(claims, registry, options, &samples);
        Ok(BaselineLedger::of(&before).moves(&result.ledger))
    }
}

/// The moves for the terminal.
pub fn render(moves: &LedgerMoves) -> String {
    let count = |n: usize, what: &str| match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    };
    let mut text = format!(
        "\nAgainst the baseline: {} moved, {} with other figures alone, {} as before",
        count(moves.verdicts.len(), "verdict"),
        count(moves.figures.len(), "claim"),
        moves.same,
    );
    text += &match moves.missing.len() {
        0 => ".\n".to_owned(),
        n => format!(", {n} not in the baseline.\n"),
    };
    let words = ["verdict", "before", "after"].map(tables::text);
    let columns = [tables::name("claim")].into_iter().chain(words);
    let mut table = Table::new("", columns.collect::<Vec<_>>());
    for claim in moves.verdicts.iter().chain(&moves.figures) {
        let verdict = match claim.moved.get("verdict") {
            Some(pair) => format!("{} to {}", word(&pair.before), word(&pair.after)),
            None => "as before".to_owned(),
        };
        table.row([
            claim.id.clone().into(),
            verdict.into(),
            figures(claim, |pair| &pair.before).into(),
            figures(claim, |pair| &pair.after).into(),
        ]);
    }
    if !table.is_empty() {
        text += &format!("\n{}", draw(&table, out::view()));
    }
    text
}

/// What moved besides the verdict, on one side.
fn figures(claim: &ClaimMoved, side: fn(&BeforeAfter) -> &Value) -> String {
    let moved = |key: &str| claim.moved.get(key).map(|pair| word(side(pair)));
    if let Some(measured) = moved("measured") {
        return measured;
    }
    let rest = ["checks", "ci95", "replications", "unit"];
    let rest = rest
        .iter()
        .filter_map(|key| Some(format!("{key} {}", moved(key)?)));
    rest.collect::<Vec<_>>().join(", ")
}

/// A value of the ledger's JSON for people.
fn word(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(word).collect::<Vec<_>>().join(", "),
        Value::Object(all) => {
            let all = all
                .iter()
                .map(|(key, value)| format!("{key} {}", word(value)));
            all.collect::<Vec<_>>().join(", ")
        }
        Value::Number(number) => number.as_f64().map(figure::number).unwrap_or_default(),
        other => other.to_string(),
    }
}
