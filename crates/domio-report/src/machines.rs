//! Claims on many machines, in a report: the settings, left open by the paper, on which findings
//! depend.

use crate::data::{Chart, Picture, Quantity, Section, Stack, StackBar};
use crate::tables;
use crate::text::machines::{decided, told};
use domio_answer::{Cell, Table};
use domio_papers::paper::MachineSearch;

/// The section about `search`.
pub fn section(search: &MachineSearch) -> Section {
    let bar = |claim: &domio_papers::paper::ClaimOnMachines| StackBar {
        name: claim.id.clone(),
        lengths: [claim.on.0.holds, claim.on.0.fails, claim.on.0.undecided]
            .map(|count| count as f64)
            .into(),
    };
    let verdicts = Stack {
        value: Quantity::new("machines", ""),
        parts: ["holds", "fails", "undecided"].map(str::to_owned).into(),
        bars: search.claims.iter().map(bar).collect(),
    };
    let columns = [
        tables::name("claim"),
        tables::text("holds rather with"),
        tables::number("score", ""),
        tables::number("score by chance", ""),
    ];
    let mut deciding = Table::new("", columns);
    for claim in &search.claims {
        if let Some(by) = &claim.decided_by.0 {
            let scores = [by.score, by.by_chance].map(Cell::Number);
            let words = [claim.id.clone(), decided(by)].map(Cell::from);
            deciding.row(words.into_iter().chain(scores));
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
    let figure = |caption: &str, chart| Picture::new(caption, chart);
    Section {
        title: format!("What {} does not say", search.paper),
        text: search.best.0.as_ref().map(told).unwrap_or_default(),
        figures: vec![
            figure(
                "On how many machines each claim holds",
                Chart::Stack(verdicts),
            ),
            figure(
                "Which unknown decides: the split of machines that best separates holds from fails",
                Chart::Table(deciding),
            ),
            figure("What is unknown, and how far", Chart::Table(unknowns)),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;
    use domio_answer::{Inner, Maybe};
    use domio_papers::Verdict;
    use domio_papers::ledger::Checks;
    use domio_papers::paper::{BestMachine, ClaimOnMachines, Deciding, UnknownShown};

    fn made_up() -> MachineSearch {
        let claim = |id: &str, holds, decided_by| ClaimOnMachines {
            id: id.to_owned(),
            central: Verdict::Fails,
            on: Inner(Checks {
                holds,
                fails: 20 - holds,
                undecided: 0,
            }),
            decided_by: Maybe(decided_by),
        };
        let by = Deciding {
            unknown: "receive window".to_owned(),
            holds_with: "from 98304 on".to_owned(),
            score: 0.875,
            by_chance: 0.5,
        };
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
            claims: vec![claim("a.b", 8, Some(by)), claim("a.c", 0, None)],
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
        let Chart::Table(deciding) = &section.figures[1].chart else {
            panic!("{section:?}");
        };
        assert_eq!(deciding.rows().len(), 1);
        let by = Cell::text("receive window from 98304 on (0.88)");
        assert_eq!(deciding.rows()[0][1], by);
    }

    #[test]
    fn the_table_is_narrow_and_says_the_same() {
        let text = strip_str(&crate::text::machines::render(&made_up())).to_string();
        assert!(
            text.contains("receive window from 98304 on (0.88)"),
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
