//! `domio reproduce --against`: what moved since an earlier reproduction.

use crate::args::Keeping;
use crate::keeping;
use crate::out;
use crate::shared::kept::{KeptSide, is_database};
use anyhow::{Context, anyhow};
use domio_answer::Table;
use domio_papers::against::{BaselineLedger, LedgerMoves};
use domio_papers::ledger::{Checks, ClaimFound};
use domio_papers::reproduce::{Options, Reproduction, decide_again};
use domio_papers::{Claim, Registry};
use domio_report::text::table::render as render_table;
use domio_report::{tables, written};
use domio_run::Sample;
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
        let (before, after) = (&claim.before.0, &claim.after.0);
        let verdict = match before.verdict == after.verdict {
            true => "as before".to_owned(),
            false => format!("{} to {}", before.verdict.name(), after.verdict.name()),
        };
        table.row([
            claim.id.clone().into(),
            verdict.into(),
            differs(before, after).into(),
            differs(after, before).into(),
        ]);
    }
    if !table.is_empty() {
        text += &format!("\n{}", render_table(&table, out::view()));
    }
    text
}

/// What `found` has that `other` has not, in addition to the verdict: what was measured, or else
/// the rest.
fn differs(found: &ClaimFound, other: &ClaimFound) -> String {
    if (&found.measured, &found.in_words) != (&other.measured, &other.in_words) {
        let numbers = || numbers(&found.measured);
        return found.in_words.clone().unwrap_or_else(numbers);
    }
    let Checks {
        holds,
        fails,
        undecided,
    } = found.checks.0;
    let ci95 = found.ci95.as_ref();
    let rest = [
        (
            found.checks != other.checks,
            format!("checks {holds} hold, {fails} fail, {undecided} undecided"),
        ),
        (
            found.ci95 != other.ci95,
            format!("ci95 {}", numbers(ci95.map_or(&[], |ends| &ends[..]))),
        ),
        (
            found.replications != other.replications,
            format!("replications {}", found.replications),
        ),
        (found.unit != other.unit, format!("unit {}", found.unit)),
    ];
    let rest = rest.into_iter().filter(|(differs, _)| *differs);
    rest.map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}

fn numbers(numbers: &[f64]) -> String {
    match numbers {
        [] => "none".to_owned(),
        all => all
            .iter()
            .map(|n| written::number(*n))
            .collect::<Vec<_>>()
            .join(", "),
    }
}
