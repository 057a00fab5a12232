//! Claims on many machines, as a table: one line a claim.

use crate::tables;
use crate::text::View;
use crate::text::ledger::tone;
use crate::text::table::render as drawn;
use domio_answer::column::count;
use domio_answer::{Holds, Table};
use domio_papers::ledger::Checks;
use domio_papers::paper::{BestMachine, Deciding, MachineSearch};

/// On how many machines each claim holds and fails, which unknown decides, and the best machine.
pub fn render(search: &MachineSearch) -> String {
    let claims = &search.claims;
    let mut table = Table::of("", claims);
    let central = table.columns().iter().position(|c| c.key == "central");
    for (row, claim) in claims.iter().enumerate() {
        table.set_tone(row, central.unwrap_or(0), tone(claim.central));
    }
    let mut counted = |key, of: fn(&Checks) -> usize| {
        let cells = claims.iter().map(|claim| of(&claim.on.0).into());
        table.derive(count(key).of(Holds::Whole), cells);
    };
    counted("holds", |on| on.holds);
    counted("fails", |on| on.fails);
    counted("open", |on| on.undecided);
    let by = claims.iter().map(|claim| claim.decided_by.0.as_ref());
    let by = by.map(|by| by.map_or_else(String::new, decided).into());
    table.derive(tables::text("holds rather with"), by);
    let n = search.machines;
    let mut text = format!(
        "{} on {n} machines that the paper allows: on how many each claim holds, fails, is open\n\
         \n",
        search.paper
    );
    text += &drawn(&table, &View::of_width(100));
    text += "\nThe number in brackets is how well the split separates machines, 1 at best. \
             Marked (?):\nno better than the best split of shuffled verdicts in one of twenty \
             cases.\n";
    if let Some(best) = &search.best.0 {
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
        of(&best.calibration.0),
        of(&best.central_calibration.0),
        of(&best.others.0),
        of(&best.central_others.0),
    )
}
