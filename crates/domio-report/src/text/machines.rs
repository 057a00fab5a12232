//! Claims on many machines, as a table: one line a claim.

use crate::tables;
use crate::text::View;
use crate::text::table::render as draw;
use domio_answer::{Holds, Table, Tone};
use domio_papers::ledger::{Checks, Verdict};
use domio_papers::paper::{BestMachine, Deciding, MachineSearch};

/// On how many machines each claim holds and fails, which unknown decides, and the best machine.
pub fn render(search: &MachineSearch) -> String {
    let count = |title| tables::number(title, "").of(Holds::Whole);
    let columns = [
        tables::name("claim"),
        tables::name("central"),
        count("holds"),
        count("fails"),
        count("open"),
        tables::text("holds rather with"),
    ];
    let mut table = Table::new("", columns);
    for (row, claim) in search.claims.iter().enumerate() {
        let Checks {
            holds,
            fails,
            undecided,
        } = claim.on;
        table.set_tone(row, 1, tone(claim.central));
        table.row([
            claim.id.clone().into(),
            claim.central.name().into(),
            holds.into(),
            fails.into(),
            undecided.into(),
            claim
                .decided_by
                .as_ref()
                .map(decided)
                .unwrap_or_default()
                .into(),
        ]);
    }
    let n = search.machines;
    let mut text = format!(
        "{} on {n} machines that the paper allows: on how many each claim holds, fails, is open\n\
         \n",
        search.paper
    );
    text += &draw(&table, &View::of_width(super::ledger::WIDTH as u16));
    text += "\nThe number in brackets is how well the split tells machines apart, 1 at best. \
             Marked (?):\nno better than the best split of shuffled verdicts in one of twenty \
             cases.\n";
    if let Some(best) = &search.best {
        text += &format!("\n{}\n", told(best));
    }
    text
}

/// The unknown that decides, with its score.
pub fn decided(by: &Deciding) -> String {
    let doubt = match by.score > by.by_chance {
        true => "",
        false => " (?)",
    };
    format!("{} {} ({:.2}){doubt}", by.unknown, by.holds_with, by.score)
}

/// What the best machine is good for.
pub fn told(best: &BestMachine) -> String {
    let of = |counts: &Checks| format!("{} of {}", counts.holds, counts.total());
    let machine = match best.machine {
        0 => "the central one".to_owned(),
        number => format!("number {number}"),
    };
    format!(
        "The best machine, chosen on {} claims that were named in advance, is {machine}:\n\
         {} of those hold (central: {}), and {} of the others (central: {}).",
        best.chosen_on.len(),
        of(&best.calibration),
        of(&best.central_calibration),
        of(&best.others),
        of(&best.central_others),
    )
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Holds => Tone::Good,
        Verdict::Fails => Tone::Bad,
        Verdict::Undecided | Verdict::NotImplemented => Tone::Dim,
    }
}
