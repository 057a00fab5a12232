//! Claims on many machines, as a table: one line a claim.

use crate::tables;
use crate::text::View;
use crate::text::folded::folded;
use crate::text::ledger::tone;
use crate::text::table::render as drawn;
use domio_answer::column::count;
use domio_answer::{Cell, Holds, Table};
use domio_papers::ledger::Checks;
use domio_papers::paper::{BestMachine, Dependence, MachineSearch, Survival};

/// On how many machines each claim holds and fails, the two unknowns on which it depends most, what
/// that comes to, and the best machine.
pub fn render(search: &MachineSearch) -> String {
    let claims = &search.claims;
    let columns = [tables::name("claim"), tables::text("central")];
    let mut table = Table::new("", columns);
    for claim in claims {
        table.set_tone(table.rows().len(), 1, tone(claim.central));
        let words = [claim.id.as_str(), claim.central.name()];
        table.row(words.map(|word| Cell::from(word.to_owned())));
    }
    let mut counted = |key, of: fn(&Survival) -> usize| {
        let cells = claims.iter().map(|claim| of(&claim.survival).into());
        table.derive(count(key).of(Holds::Whole), cells);
    };
    counted("holds", |survival| survival.holds.0.machines);
    counted("fails", |survival| survival.fails.0.machines);
    counted("open", |survival| survival.undecided.0.machines);
    let by = claims.iter().map(|claim| {
        let by = claim.survival.depends_on.iter().map(decided);
        by.collect::<Vec<_>>().join("; ").into()
    });
    table.derive(tables::text("holds rather with"), by);
    let n = search.machines;
    let mut text = format!(
        "{} on {n} machines that the paper allows: on how many each claim holds, fails, is open\n\
         \n",
        search.paper
    );
    text += &drawn(&table, &View::of_width(WIDTH));
    text += "\nThe number in brackets is how well the split separates machines, 1 at best. \
             Marked (?):\nno better than the best split of shuffled verdicts in one of twenty \
             cases.\n";
    text += &format!("\n{}", folded(&search.conclusion, WIDTH.into(), ""));
    if let Some(best) = &search.best.0 {
        text += &format!("\n{}\n", told(best));
    }
    text
}

/// Columns of the table.
const WIDTH: u16 = 100;

/// The side of an unknown on which a claim holds rather, with the score of the split.
fn decided(by: &Dependence) -> String {
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
