//! Claims on many machines, in a report: the settings, left open by the paper, on which findings
//! depend.

use crate::data::{Chart, Picture, Quantity, Section, Stack, StackBar};
use crate::tables;
use crate::text::machines::told;
use domio_answer::{Cell, Table};
use domio_papers::paper::{ClaimOnMachines, MachineSearch, MachineShare};

/// Bars of one picture: a picture of more would leave some out.
const BARS: usize = 24;

/// The section about `search`.
pub fn section(search: &MachineSearch) -> Section {
    let bar = |claim: &ClaimOnMachines| {
        let on = &claim.survival;
        StackBar {
            name: claim.id.clone(),
            lengths: [on.holds, on.fails, on.undecided]
                .map(|share| share.0.machines as f64)
                .into(),
        }
    };
    let verdicts = |claims: &[ClaimOnMachines]| {
        let stack = Stack {
            value: Quantity::new("machines", ""),
            parts: ["holds", "fails", "undecided"].map(str::to_owned).into(),
            bars: claims.iter().map(bar).collect(),
        };
        Picture::new("On how many machines each claim holds", Chart::Stack(stack))
    };
    let words = ["claim", "holds", "fails", "undecided"];
    let mut shares = Table::new("", words.map(tables::text));
    for claim in &search.claims {
        let on = &claim.survival;
        let parts = [on.holds, on.fails, on.undecided].map(|share| share_to_text(&share.0));
        let words = [claim.id.clone()].into_iter().chain(parts);
        shares.row(words.map(Cell::from));
    }
    let columns = [
        tables::name("claim"),
        tables::text("unknown"),
        tables::text("holds rather with"),
        tables::text("there it holds on"),
        tables::text("fails rather with"),
        tables::text("there it holds on "),
        tables::number("score", ""),
        tables::number("score by chance", ""),
    ];
    let mut deciding = Table::new("", columns);
    for claim in &search.claims {
        for by in &claim.survival.depends_on {
            let words = [
                claim.id.clone(),
                by.unknown.clone(),
                by.holds_with.clone(),
                format!("{} of {}", by.holds_there, by.decided_there),
                by.fails_with.clone(),
                format!("{} of {}", by.holds_elsewhere, by.decided_elsewhere),
            ];
            let scores = [by.score, by.by_chance].map(Cell::Number);
            deciding.row(words.map(Cell::from).into_iter().chain(scores));
        }
    }
    let words = ["central machine", "range", "source"].map(tables::text);
    let columns = [tables::name("unknown")].into_iter().chain(words);
    let mut unknowns = Table::new("", columns.collect::<Vec<_>>());
    for unknown in &search.unknowns {
        let said = [
            &unknown.name,
            &unknown.central,
            &unknown.range,
            &unknown.source,
        ];
        unknowns.row(said.map(|text| text.clone().into()));
    }
    let figure = |caption: &str, table| Picture::new(caption, Chart::Table(table));
    let mut figures: Vec<Picture> = search.claims.chunks(BARS).map(verdicts).collect();
    figures.extend([
        figure(
            "Shares of machines, in percent, with 95 % intervals (Wilson)",
            shares,
        ),
        figure(
            "The two unknowns on which a claim depends most: the splits of machines that \
             best separate holds from fails",
            deciding,
        ),
        figure("What is unknown, and how far", unknowns),
    ]);
    let best = search.best.0.as_ref().map(told);
    let text = [Some(search.conclusion.clone()), best];
    Section {
        title: format!("What {} does not say", search.paper),
        text: text.into_iter().flatten().collect::<Vec<_>>().join("\n"),
        figures,
    }
}

/// "64 (52 to 75)".
fn share_to_text(share: &MachineShare) -> String {
    let [low, high] = share.ci95_pct;
    format!("{:.0} ({low:.0} to {high:.0})", share.share_pct)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;
    use domio_answer::{Inner, Maybe};
    use domio_papers::Verdict;
    use domio_papers::ledger::Checks;
    use domio_papers::paper::{BestMachine, Dependence, Survival, UnknownShown};

    fn made_up() -> MachineSearch {
        let claim = |id: &str, holds, depends_on| {
            let on = Checks {
                holds,
                fails: 20 - holds,
                undecided: 0,
            };
            ClaimOnMachines {
                id: id.to_owned(),
                central: Verdict::Fails,
                survival: Survival::of(on, depends_on),
            }
        };
        let by = |unknown: &str, score, there, elsewhere| Dependence {
            unknown: unknown.to_owned(),
            holds_with: "from 98304 on".to_owned(),
            fails_with: "up to 64075".to_owned(),
            holds_there: there,
            decided_there: 8,
            holds_elsewhere: elsewhere,
            decided_elsewhere: 12,
            score,
            by_chance: 0.5,
        };
        let by = vec![by("receive window", 0.875, 7, 1), by("line", 0.25, 5, 3)];
        let counts = |holds, fails| {
            Inner(Checks {
                holds,
                fails,
                undecided: 0,
            })
        };
        MachineSearch {
            paper: "made-up".to_owned(),
            machines: 20,
            conclusion: "Of 2 claims 1 depends.".to_owned(),
            claims: vec![claim("a.b", 8, by), claim("a.c", 0, Vec::new())],
            best: Maybe(Some(BestMachine {
                machine: 3,
                chosen_on: vec!["a.b".to_owned()],
                calibration: counts(1, 0),
                others: counts(0, 1),
                central_calibration: counts(0, 1),
                central_others: counts(0, 1),
            })),
            unknowns: vec![UnknownShown {
                name: "receive window".to_owned(),
                central: "196608".to_owned(),
                range: "64075; 98304; 196608".to_owned(),
                source: "by memory".to_owned(),
            }],
            drawn: Vec::new(),
        }
    }

    #[test]
    fn the_section_says_what_decides() {
        let section = section(&made_up());
        assert!(section.text.contains("number 3"), "{}", section.text);
        let tables = [1, 2].map(|at| match &section.figures[at].chart {
            Chart::Table(table) => table,
            other => panic!("{other:?}"),
        });
        assert_eq!(tables[0].rows()[0][1], Cell::text("40 (22 to 61)"));
        let deciding = tables[1].rows();
        assert_eq!(deciding.len(), 2);
        let words = [
            "receive window",
            "from 98304 on",
            "7 of 8",
            "up to 64075",
            "1 of 12",
        ];
        assert_eq!(deciding[0][1..6], words.map(Cell::text));
        assert_eq!(deciding[1][1], Cell::text("line"));
    }

    #[test]
    fn the_table_is_narrow_and_says_the_same() {
        let text = strip_str(&crate::text::machines::render(&made_up())).to_string();
        assert!(
            text.contains("receive window from 98304 on (0.88)") && text.contains("1 depends."),
            "{text}"
        );
        assert!(
            text.contains("1 of 1 of those hold (central: 0 of 1)"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }
}
