//! Claims on other machines, as recorded: lines for the terminal, and the page of the
//! documentation.

use crate::tables;
use crate::text::View;
use crate::text::table::render;
use domio_answer::{Cell, Holds, Table};
use domio_papers::ClaimLedger;
use domio_papers::ledger::LedgerEntry;
use domio_papers::paper::{Dependence, MachineShare, Standing, Survivals};
use domio_papers::survival_list::{PaperSurvival, SurvivalRow};
use std::fmt::Write as _;

/// Of the claims of `ledger` those that hold on one side of an unknown and fail on the other, by
/// record, in words; empty when there are none.
pub fn dependent(ledger: &ClaimLedger, survivals: &Survivals, view: &View) -> String {
    let told = |entry: &LedgerEntry| {
        let id = &entry.claim.id;
        let survival = survivals.get(id)?;
        let clear = survival.clear()?;
        let item = format!("{id} {}. Depends on {}.", survival.told(), clear.told());
        Some(view.item("  ", &item))
    };
    let items: String = ledger.entries.iter().filter_map(told).collect();
    match items.is_empty() {
        true => items,
        false => format!("Depends on what the paper leaves open, by record:\n{items}"),
    }
}

/// What is on record of `papers`, for the terminal.
pub fn render_list(papers: &[PaperSurvival], view: &View) -> String {
    let mut text = String::new();
    for paper in papers {
        text += &view.paragraph("", &heading(paper));
        if !paper.claims.is_empty() {
            text += &format!("\n{}", render(&table(&paper.claims), view));
        }
        if let Some(conclusion) = &paper.conclusion {
            text += &format!("\n{}", view.paragraph("", conclusion));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn heading(paper: &PaperSurvival) -> String {
    match &paper.effort {
        Some(effort) => format!(
            "{}: {} of {} claims on {} machines that the paper allows, at {effort} effort",
            paper.title,
            paper.claims.len(),
            paper.of,
            paper.machines
        ),
        None => format!("{}: nothing on record", paper.title),
    }
}

fn table(rows: &[SurvivalRow]) -> Table {
    let counts = ["holds", "fails", "undecided"];
    let counts = counts.map(|title| tables::number(title, "").of(Holds::Whole));
    let mut columns = vec![tables::name("claim")];
    columns.extend(counts);
    columns.extend(["standing", "depends on"].map(tables::text));
    let mut table = Table::new("", columns);
    for SurvivalRow { id, survival } in rows {
        let on = [survival.holds, survival.fails, survival.undecided];
        let on = on.map(|share| Cell::from(share.0.machines));
        let depends = survival.clear().map_or_else(String::new, Dependence::told);
        let mut row: Vec<Cell> = vec![id.clone().into()];
        row.extend(on);
        row.extend([survival.standing.name().to_owned(), depends].map(Cell::from));
        table.row(row);
    }
    table
}

/// The page of the documentation about `papers`.
pub fn page(papers: &[PaperSurvival]) -> String {
    let mut text = HEAD.to_owned();
    for paper in papers {
        let _ = write!(text, "\n## {}\n\n", paper.title);
        if paper.claims.is_empty() {
            let count = paper.of;
            let _ = writeln!(
                text,
                "No data yet: `cargo xtask survival {}` decides the {count} claims on 64 \
                 machines.",
                paper.name
            );
            continue;
        }
        let _ = writeln!(text, "{}\n", lines(&paper_to_text(paper)));
        text += "| claim | holds % | fails % | undecided % | standing |\n|---|---|---|---|---|\n";
        for SurvivalRow { id, survival } in &paper.claims {
            let on = [survival.holds, survival.fails, survival.undecided];
            let [holds, fails, undecided] = on.map(|share| share_to_text(&share.0));
            let standing = survival.standing.name();
            let _ = writeln!(
                text,
                "| `{id}` | {holds} | {fails} | {undecided} | {standing} |"
            );
        }
        let split: Vec<&SurvivalRow> = paper
            .claims
            .iter()
            .filter(|row| !row.survival.depends_on.is_empty())
            .collect();
        if !split.is_empty() {
            text += "\nThe two unknowns on which each claim depends most:\n\n\
                     | claim | unknown | holds rather with | holds there | fails rather with | \
                     holds there | score |\n\
                     |---|---|---|---|---|---|---|\n";
        }
        for row in split {
            row.survival
                .depends_on
                .iter()
                .for_each(|by| text += &split_to_text(&row.id, by));
        }
        text += &nowhere(paper);
    }
    text
}

const HEAD: &str = "\
# Claims on other machines

Which claims hold on every machine that their paper allows, and which depend on what the paper
leaves open?

This page is made from `papers/*/survival.toml`. `cargo xtask survival` makes files and page anew,
paper by paper; an interrupted run continues where it was. `domio claim survival` prints the same
data.

What a paper leaves open is declared in its `machine.toml`, with a range and a source
([how](../PAPERS.md)). Machines are drawn from these ranges by Latin hypercube. The claims are
decided on each machine. The verdict on record is that of the central machine; this page changes no
verdict.

| standing | the claim |
|---|---|
| robust | holds on nearly all machines: the 95 % interval (Wilson) of the share is over 80 % |
| depends | holds on most machines on one side of an unknown, and fails on most of the other side |
| mixed | holds on some machines, and no unknown says which |
| nowhere | holds on no machine |
| undecided | is undecided on more than half of the machines |

The *score* is how well a split of the machines separates those on which a claim holds from those
on which it fails, 1 at best. *(?)* marks a score that the best split of shuffled verdicts reaches
in one of twenty cases. Shares are in percent of all machines, with their 95 % intervals.
";

fn paper_to_text(paper: &PaperSurvival) -> String {
    let counted = match paper.claims.len() == paper.of {
        true => format!("{} claims", paper.of),
        false => format!("{} of {} claims", paper.claims.len(), paper.of),
    };
    let effort = paper.effort.as_deref().unwrap_or_default();
    let conclusion = paper.conclusion.as_deref().unwrap_or_default();
    format!(
        "{counted} on {} machines, at {effort} effort. {conclusion}",
        paper.machines
    )
}

/// "64 (52 to 75)".
fn share_to_text(share: &MachineShare) -> String {
    let [low, high] = share.ci95_pct;
    format!("{:.0} ({low:.0} to {high:.0})", share.share_pct)
}

fn split_to_text(id: &str, by: &Dependence) -> String {
    let doubt = match by.score > by.by_chance {
        true => "",
        false => " (?)",
    };
    format!(
        "| `{id}` | {} | {} | {} of {} | {} | {} of {} | {:.2}{doubt} |\n",
        by.unknown,
        by.holds_with,
        by.holds_there,
        by.decided_there,
        by.fails_with,
        by.holds_elsewhere,
        by.decided_elsewhere,
        by.score
    )
}

/// What would have to be true of the authors' host for the claims that hold on no machine.
fn nowhere(paper: &PaperSurvival) -> String {
    let is_nowhere = |row: &&SurvivalRow| row.survival.standing == Standing::Nowhere;
    let ids: Vec<String> = paper
        .claims
        .iter()
        .filter(is_nowhere)
        .map(|row| format!("`{}`", row.id))
        .collect();
    if ids.is_empty() {
        return String::new();
    }
    let (ids, unknowns) = (ids.join(", "), paper.unknowns.join(", "));
    let told = format!(
        "On no machine: {ids}. No value of what is declared open ({unknowns}) makes these claims \
         hold. For them to hold, the authors' host has to differ in something that the model takes \
         as known, or lie outside of one of these ranges."
    );
    format!("\n{}\n", lines(&told))
}

/// Columns of a line of the documentation.
const WIDTH: u16 = 120;

fn lines(text: &str) -> String {
    let folded = View::of_width(WIDTH).paragraph("", text);
    folded.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;
    use domio_papers::ledger::{Checks, ClaimResult};
    use domio_papers::paper::Survival;
    use domio_papers::{Claims, paper};

    const IDS: [&str; 3] = ["zeng.fig5.p3", "zeng.fig9.fairness", "zeng.fig4.lb-latency"];

    fn survivals() -> Survivals {
        let of = |holds, fails, depends_on| {
            let on = Checks {
                holds,
                fails,
                undecided: 64 - holds - fails,
            };
            Survival::of(on, depends_on)
        };
        let by = |unknown: &str, score, [there, elsewhere]: [usize; 2]| Dependence {
            unknown: unknown.to_owned(),
            holds_with: "tg3".to_owned(),
            fails_with: "not tg3".to_owned(),
            holds_there: there,
            decided_there: 32,
            holds_elsewhere: elsewhere,
            decided_elsewhere: 32,
            score,
            by_chance: 0.4,
        };
        let two = vec![by("card", 0.9, [31, 2]), by("line", 0.25, [20, 13])];
        let all = [of(33, 31, two), of(64, 0, vec![]), of(0, 64, vec![])];
        IDS.map(str::to_owned).into_iter().zip(all).collect()
    }

    fn zeng() -> PaperSurvival {
        let survivals = survivals();
        let rows = survivals.iter().map(|(id, survival)| SurvivalRow {
            id: id.clone(),
            survival: survival.clone(),
        });
        PaperSurvival {
            name: "zeng2015".to_owned(),
            paper: "zeng".to_owned(),
            title: "XCollOpts, 2015".to_owned(),
            of: 9,
            unknowns: vec!["card".to_owned(), "line".to_owned()],
            effort: Some("quick".to_owned()),
            machines: 64,
            conclusion: Some(paper::sentence(
                survivals.iter().map(|(id, s)| (id.as_str(), s)),
            )),
            claims: rows.collect(),
        }
    }

    fn empty() -> PaperSurvival {
        PaperSurvival {
            name: "other2031".to_owned(),
            effort: None,
            machines: 0,
            conclusion: None,
            claims: Vec::new(),
            ..zeng()
        }
    }

    #[test]
    fn claims_that_depend_are_named_with_counts() {
        let claims = Claims::shipped();
        let entries = IDS.map(|id| LedgerEntry {
            claim: claims.find(id).unwrap().clone(),
            finding: ClaimResult::unknown(""),
        });
        let ledger = ClaimLedger {
            entries: entries.into(),
        };
        let view = View::of_width(200);
        let told = dependent(&ledger, &survivals(), &view);
        let line = "  - zeng.fig5.p3 holds on 33 of 64 machines (52 %, 40 to 63 %), fails on 31, \
                    undecided on 0. Depends on card: holds on 31 of 32 machines with tg3, on 2 of \
                    32 with not tg3.\n";
        assert!(told.ends_with(line) && told.lines().count() == 2, "{told}");
        assert_eq!(dependent(&ledger, &Survivals::new(), &view), "");
    }

    #[test]
    fn the_page_has_what_is_on_record_and_how_to_make_the_rest() {
        let text = page(&[zeng(), empty()]);
        for part in [
            "3 of 9 claims on 64 machines, at quick effort. Of 3 claims 1 is robust",
            "| `zeng.fig5.p3` | 52 (40 to 63) | 48 (37 to 60) | 0 (0 to 6) | depends |",
            "| `zeng.fig5.p3` | card | tg3 | 31 of 32 | not tg3 | 2 of 32 | 0.90 |",
            "| `zeng.fig5.p3` | line | tg3 | 20 of 32 | not tg3 | 13 of 32 | 0.25 (?) |",
            "On no machine: `zeng.fig4.lb-latency`. No value of what is declared open (card, line)",
            "No data yet: `cargo xtask survival other2031` decides the 9 claims on 64 machines.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let long = text.lines().filter(|line| !line.starts_with('|'));
        assert!(
            long.clone().all(|line| line.chars().count() <= 120),
            "{text}"
        );
    }

    #[test]
    fn the_list_fits_lines() {
        for width in [80, 120, 200] {
            let text =
                strip_str(&render_list(&[zeng(), empty()], &View::of_width(width))).to_string();
            assert!(text.contains("nothing on record"), "{text}");
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(width.into()), "{text}");
        }
    }
}
