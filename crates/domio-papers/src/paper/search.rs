//! What claims depend on: they are decided on many machines that the paper's words allow.
//!
//! Machines are drawn from the ranges of the unknowns ([`draw`]). On each, claims are decided with
//! the same seed, so that machines differ in nothing else. Three things come out of it.
//!
//! - **On how many machines a claim holds**, with an interval ([`Survival`]).
//! - **Which unknowns decide a claim** (`split`).
//! - **One best machine**, on which most of the claims hold that the paper's files name in advance,
//!   and how the other claims do on that machine.
//!
//! Samples are those of the [`Replicator`], which may keep them: each by cell, machine and
//! replication. So an interrupted search continues where it was, and a search of all machines takes
//! from a store what searches of [parts](MachinePart) have left there.

use super::machines::{DrawnMachine, Unknown, draw};
use super::split::depends_on;
use super::survival::{Survival, sentence};
use super::{Length, Paper};
use crate::claim::Claim;
use crate::experiments;
use crate::folders::PaperFolder;
use crate::ledger::{Checks, ClaimLedger, Verdict};
use crate::reproduce::{Options, reproduce};
use domio_answer::{Inner, Maybe, rows};
use domio_run::Replicator;

/// Which machines of those that are drawn are decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachinePart {
    /// Number of the part, from 1.
    pub number: u32,
    /// Number of parts.
    pub of: u32,
}

impl MachinePart {
    /// All machines.
    pub const ALL: MachinePart = MachinePart { number: 1, of: 1 };

    /// Whether the machine of number `machine`, from 1, is in the part. Parts take turns, so that
    /// each is spread over the whole draw.
    pub fn has(self, machine: usize) -> bool {
        machine % self.of as usize == self.number as usize % self.of as usize
    }
}

rows! {
    /// Claims of a paper on many machines.
    #[derive(Clone, PartialEq, Debug)]
    pub struct MachineSearch {
        /// Name of the paper's folder.
        pub paper: String = fact("paper");
        /// Number of machines on which claims were decided, the central one not among them.
        pub machines: usize = count("machines");
        /// What is robust, what depends on what, and what holds nowhere, in a sentence.
        pub conclusion: String = fact("conclusion");
        /// By claim.
        pub claims: Vec<ClaimOnMachines> = parts("claims", []);
        /// The best machine; null when the paper names no claims to choose on.
        pub best: Maybe<BestMachine> = fact("best");
        /// What the paper does not say.
        pub unknowns: Vec<UnknownShown> = parts("unknowns", []);
        /// The machines, with the value of each unknown and the verdict on each claim.
        pub drawn: Vec<MachineShown> = parts("drawn", []);
    }

    /// A claim on many machines.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ClaimOnMachines {
        /// Id of the claim.
        pub id: String = key("id").title("claim");
        /// On the central machine.
        pub central: Verdict = fact("central");
        /// On the others.
        pub survival: Survival = fact("");
    }

    /// The machine on which most of the claims hold that were named in advance.
    #[derive(Clone, PartialEq, Debug)]
    pub struct BestMachine {
        /// Its number, from 1; 0 is the central one.
        pub machine: usize = fact("machine");
        /// Ids of the claims that it was chosen on, of those that were decided.
        pub chosen_on: Vec<String> = fact("chosen_on");
        /// Verdicts on them.
        pub calibration: Inner<Checks> = fact("calibration");
        /// Verdicts on the others.
        pub others: Inner<Checks> = fact("others");
        /// Verdicts of the central machine on those it was chosen on.
        pub central_calibration: Inner<Checks> = fact("central_calibration");
        /// Verdicts of the central machine on the others.
        pub central_others: Inner<Checks> = fact("central_others");
    }

    /// An unknown, for people.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct UnknownShown {
        /// Its name.
        pub name: String = key("name");
        /// The central machine's value.
        pub central: String = fact("central");
        /// What it may be.
        pub range: String = fact("range");
        /// Where that comes from.
        pub source: String = fact("source");
    }

    /// A machine, for people.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct MachineShown {
        /// Its number, from 1.
        pub machine: usize = key("machine");
        /// By unknown.
        pub values: Vec<String> = fact("values");
        /// By claim.
        pub verdicts: Vec<Verdict> = fact("verdicts");
    }
}

/// Decides `claims` on `count` machines of the paper in `folder`, or those of them that are in a
/// part; `central` is what they are on the central one.
///
/// # Errors
/// When the paper's files have mistakes.
pub fn search(
    folder: &PaperFolder,
    (claims, central): (&[&Claim], &ClaimLedger),
    (count, part): (u32, MachinePart),
    (length, options): (Length, Options),
    replicator: &impl Replicator,
) -> Result<MachineSearch, String> {
    let paper = &Paper::read(folder)?;
    let drawn = draw(&paper.unknowns, count, options.seed);
    let numbered = (1..).zip(drawn).filter(|(number, _)| part.has(*number));
    let (numbers, machines): (Vec<usize>, Vec<DrawnMachine>) = numbered.unzip();
    let decided = |drawn: &DrawnMachine| {
        let registry = experiments::of(std::slice::from_ref(folder), length, &drawn.machine)?;
        Ok(verdicts(
            &reproduce(claims, &registry, options, replicator).ledger,
        ))
    };
    let verdicts: Result<Vec<Vec<Verdict>>, String> = machines.iter().map(decided).collect();
    let verdicts = verdicts?;
    let ids: Vec<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
    Ok(summarise(
        paper,
        &ids,
        &self::verdicts(central),
        (&numbers, &machines),
        &verdicts,
        options.seed,
    ))
}

fn verdicts(ledger: &ClaimLedger) -> Vec<Verdict> {
    ledger
        .entries
        .iter()
        .map(|entry| entry.finding.verdict)
        .collect()
}

/// What comes out, from verdicts by machine and claim.
fn summarise(
    paper: &Paper,
    ids: &[&str],
    central: &[Verdict],
    (numbers, machines): (&[usize], &[DrawnMachine]),
    verdicts: &[Vec<Verdict>],
    seed: u64,
) -> MachineSearch {
    let unknowns = &paper.unknowns;
    let claim = |(c, id): (usize, &&str)| {
        let column: Vec<Verdict> = verdicts.iter().map(|row| row[c]).collect();
        ClaimOnMachines {
            id: (*id).to_owned(),
            central: central[c],
            survival: Survival::of(
                counts(column.iter().copied()),
                depends_on(unknowns, machines, &column, (id, seed)),
            ),
        }
    };
    let shown = |unknown: &Unknown| UnknownShown {
        name: unknown.name.clone(),
        central: unknown.shown(&unknown.central),
        range: unknown.range_shown(),
        source: unknown.source.clone(),
    };
    let machine = |(number, (drawn, verdicts)): (&usize, (&DrawnMachine, &Vec<Verdict>))| {
        let values = unknowns.iter().zip(&drawn.values);
        MachineShown {
            machine: *number,
            values: values
                .map(|(unknown, value)| unknown.shown(value))
                .collect(),
            verdicts: verdicts.clone(),
        }
    };
    let claims: Vec<ClaimOnMachines> = ids.iter().enumerate().map(claim).collect();
    let drawn = machines.iter().zip(verdicts);
    MachineSearch {
        paper: paper.name.clone(),
        machines: machines.len(),
        conclusion: sentence(
            claims
                .iter()
                .map(|claim| (claim.id.as_str(), &claim.survival)),
        ),
        best: Maybe(best(&paper.calibration, ids, central, (numbers, verdicts))),
        unknowns: unknowns.iter().map(shown).collect(),
        drawn: numbers.iter().zip(drawn).map(machine).collect(),
        claims,
    }
}

fn counts(verdicts: impl Iterator<Item = Verdict>) -> Checks {
    let mut counts = Checks::default();
    for verdict in verdicts {
        match verdict {
            Verdict::Holds => counts.holds += 1,
            Verdict::Fails => counts.fails += 1,
            Verdict::Undecided | Verdict::NotImplemented => counts.undecided += 1,
        }
    }
    counts
}

/// The machine on which most claims of `calibration` hold, and of those the one on which fewest
/// fail, and of those the first; the central one comes before all.
fn best(
    calibration: &[String],
    ids: &[&str],
    central: &[Verdict],
    (numbers, verdicts): (&[usize], &[Vec<Verdict>]),
) -> Option<BestMachine> {
    let named = |id: &&str| calibration.iter().any(|c| c == id);
    let chosen_on: Vec<String> = ids
        .iter()
        .filter(|id| named(id))
        .map(|id| (*id).to_owned())
        .collect();
    if chosen_on.is_empty() {
        return None;
    }
    let of = |row: &[Verdict], wanted: bool| {
        let pairs = ids.iter().zip(row);
        counts(
            pairs
                .filter(|(id, _)| named(id) == wanted)
                .map(|(_, verdict)| *verdict),
        )
    };
    let key = |row: &[Verdict]| {
        let counts = of(row, true);
        (counts.holds, usize::MAX - counts.fails)
    };
    let drawn = verdicts.iter().map(Vec::as_slice);
    let all = std::iter::once((0, central)).chain(numbers.iter().copied().zip(drawn));
    let numbered: Vec<(usize, &[Verdict])> = all.collect();
    // Of several that are as good the last one is taken, which is the first.
    let (machine, row) = *numbered.iter().rev().max_by_key(|(_, row)| key(row))?;
    Some(BestMachine {
        machine,
        chosen_on,
        calibration: Inner(of(row, true)),
        others: Inner(of(row, false)),
        central_calibration: Inner(of(central, true)),
        central_others: Inner(of(central, false)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::effort::Effort;
    use crate::folders;
    use crate::paper::survival::{Dependence, Standing};
    use domio_run::OneByOne;

    fn ongaro() -> Paper {
        Paper::read(&folders::find("ongaro2008").unwrap()).unwrap()
    }

    #[test]
    fn the_unknown_that_decides_is_found() {
        let paper = ongaro();
        let machines = draw(&paper.unknowns, 40, 1);
        let window = paper
            .unknowns
            .iter()
            .position(|u| u.name == "receive window")
            .unwrap();
        let line = paper
            .unknowns
            .iter()
            .position(|u| u.name == "line")
            .unwrap();
        let verdict = |holds| match holds {
            true => Verdict::Holds,
            false => Verdict::Fails,
        };
        let rows: Vec<Vec<Verdict>> = machines
            .iter()
            .map(|m| {
                let window = m.values[window].as_integer() > Some(98_304);
                let line = m.values[line].as_integer() <= Some(50);
                vec![
                    verdict(window),
                    verdict(line),
                    Verdict::Holds,
                    verdict(window),
                ]
            })
            .collect();
        let central = [
            Verdict::Fails,
            Verdict::Holds,
            Verdict::Holds,
            Verdict::Undecided,
        ];
        let ids = ["ongaro.fig4.boost", "b", "c", "d"];
        let numbers: Vec<usize> = (1..=40).collect();
        let search = summarise(&paper, &ids, &central, (&numbers, &machines), &rows, 1);
        let of = |c: usize| &search.claims[c].survival;
        let decided = |c: usize| of(c).depends_on[0].clone();
        assert_eq!(decided(0).unknown, "receive window");
        assert_eq!(
            (decided(0).score, decided(0).holds_with.as_str()),
            (1.0, "from 196608 on")
        );
        let Dependence {
            holds_there,
            decided_there,
            holds_elsewhere,
            decided_elsewhere,
            ..
        } = decided(0);
        assert_eq!((holds_there, holds_elsewhere), (decided_there, 0));
        assert_eq!(decided_there + decided_elsewhere, 40);
        assert!(decided(0).by_chance < 0.9, "{:?}", decided(0));
        let second = &of(0).depends_on[1];
        assert_ne!(second.unknown, "receive window");
        assert!(second.score < 1.0 && !second.is_clear(), "{second:?}");
        assert_eq!(decided(1).unknown, "line");
        assert!(
            decided(1).holds_with.starts_with("up to ") && decided(1).holds_with.ends_with(" us")
        );
        assert_eq!(of(2).depends_on, [], "it holds on all");
        assert_eq!(of(2).holds.0.machines, 40);
        let standings = [0, 1, 2].map(|c| of(c).standing);
        let expected = [Standing::Depends, Standing::Depends, Standing::Robust];
        assert_eq!(standings, expected);
        assert!(
            search
                .conclusion
                .contains("ongaro.fig4.boost on receive window"),
            "{}",
            search.conclusion
        );
        // The first machine on which the one claim of the calibration holds.
        let best = search.best.0.unwrap();
        let first = rows
            .iter()
            .position(|row| row[0] == Verdict::Holds)
            .unwrap();
        assert_eq!((best.machine, best.calibration.0.holds), (first + 1, 1));
        assert_eq!((best.others.0.total(), best.central_others.0.holds), (3, 2));
    }

    #[test]
    fn without_difference_nothing_decides() {
        let paper = ongaro();
        let machines = draw(&paper.unknowns, 12, 3);
        let mut verdicts = vec![Verdict::Holds; 12];
        verdicts[3] = Verdict::Fails;
        let found = depends_on(&paper.unknowns, &machines, &verdicts, ("a", 1));
        assert_eq!(found, []);
    }

    #[test]
    fn claims_are_decided_on_each_machine() {
        let claims = Claims::shipped();
        let selected = claims.select(&["ongaro.fig2"]).unwrap();
        let options = Options {
            seed: 1,
            effort: Effort::Quick,
            replications: Some(2),
            looks: None,
        };
        let length = Length::Shortened(60);
        let registry = experiments::shortened(60);
        let central = reproduce(&selected, &registry, options, &OneByOne).ledger;
        let folder = folders::find("ongaro2008").unwrap();
        let run = |part| {
            let claims = (&selected[..], &central);
            search(&folder, claims, (3, part), (length, options), &OneByOne).unwrap()
        };
        let found = run(MachinePart::ALL);
        assert_eq!(found, run(MachinePart::ALL));
        assert_eq!((found.machines, found.drawn.len()), (3, 3));
        // Parts have the same machines, each one once.
        let mut parts: Vec<MachineShown> = [1, 2]
            .into_iter()
            .flat_map(|number| run(MachinePart { number, of: 2 }).drawn)
            .collect();
        parts.sort_by_key(|shown| shown.machine);
        assert_eq!(parts, found.drawn);
        let verdict = found.claims[0].central;
        assert!(
            found.drawn.iter().all(|m| m.verdicts == [verdict]),
            "figure 2 has no unknown"
        );
        assert_eq!(found.best.0, None, "no row of the calibration was decided");
    }
}
