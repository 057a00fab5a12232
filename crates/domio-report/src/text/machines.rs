//! Claims on many machines, as a table: one line a claim.

use crate::text::{TextCell, TextColumn, TextTable, Tone, View};
use domio_papers::ledger::{Checks, Verdict};
use domio_papers::paper::{BestMachine, Deciding, MachineSearch};

/// On how many machines each claim holds and fails, which unknown decides, and the best machine.
pub fn render(search: &MachineSearch) -> String {
    let mut table = TextTable::new([
        TextColumn::words("claim").whole(),
        TextColumn::words("central").whole(),
        TextColumn::figures("holds"),
        TextColumn::figures("fails"),
        TextColumn::figures("open"),
        TextColumn::words("holds rather with"),
    ]);
    for claim in &search.claims {
        let Checks {
            holds,
            fails,
            undecided,
        } = claim.on;
        let central = TextCell::new(claim.central.name(), tone(claim.central));
        table.row([
            claim.id.as_str().into(),
            central,
            holds.to_string().into(),
            fails.to_string().into(),
            undecided.to_string().into(),
            claim
                .decided_by
                .as_ref()
                .map_or_else(String::new, decided)
                .into(),
        ]);
    }
    let n = search.machines;
    let mut text = format!(
        "{} on {n} machines that the paper allows: on how many each claim holds, fails, is open\n\
         \n",
        search.paper
    );
    text += &table.render(&View::of_width(super::ledger::WIDTH as u16));
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
