//! What claims depend on: they are decided on many machines that the paper's words allow.
//!
//! Machines are drawn from the ranges of the unknowns ([`draw`]). On each, claims are decided with
//! the same seed, so that machines differ in nothing else. Two things come out of it.
//!
//! - **Which unknown decides a claim.** For each unknown the machines are split in two, by value,
//!   such that those on which the claim holds and those on which it fails lie on different sides as
//!   far as possible. The score is the difference of the two fractions on one side: 1 when the
//!   split tells holds from fails, 0 when it says nothing (Youden's J). The best of many splits is
//!   never 0, so the score that the best split of shuffled verdicts reaches in one of twenty
//!   shuffles stands beside it.
//! - **One best machine**, on which most of the claims hold that the paper's files name in advance,
//!   and how the other claims do on that machine.

use super::machines::{DrawnMachine, Unknown, UnknownRange, draw};
use super::{Length, Paper};
use crate::claim::Claim;
use crate::experiments;
use crate::folders::PaperFolder;
use crate::ledger::{Checks, ClaimLedger, Verdict};
use crate::reproduce::{Options, reproduce};
use domio_answer::{Inner, Maybe, rows};
use domio_run::Replicator;
use domio_sim::random::RandomStream;
use toml::Value;

/// Shuffles behind the score that chance reaches.
const SHUFFLES: usize = 200;
/// One of so many shuffles reaches that score.
const RARE: usize = 20;
/// Least number of machines on which a claim holds, and on which it fails, for a split.
const LEAST: usize = 2;

rows! {
    /// Claims of a paper on many machines.
    #[derive(Clone, PartialEq, Debug)]
    pub struct MachineSearch {
        /// Name of the paper's folder.
        pub paper: String = fact("paper");
        /// Number of machines, the central one not among them.
        pub machines: usize = count("machines");
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
        /// On how many of the others it holds, fails or is undecided.
        pub on: Inner<Checks> = fact("on");
        /// The unknown that decides it best; null where it does not hold on some and fail on
        /// others.
        pub decided_by: Maybe<Deciding> = fact("decided_by");
    }

    /// The split that tells machines on which a claim holds from those on which it fails.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Deciding {
        /// Name of the unknown.
        pub unknown: String = fact("unknown");
        /// Where the claim holds rather: "up to 98304", "bic".
        pub holds_with: String = fact("holds_with");
        /// How well the split distinguishes them, 0 to 1.
        pub score: f64 = fact("score");
        /// What the best split reaches by chance in one of twenty cases.
        pub by_chance: f64 = fact("by_chance");
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
        /// By unknown.
        pub values: Vec<String> = fact("values");
        /// By claim.
        pub verdicts: Vec<Verdict> = fact("verdicts");
    }
}

/// Decides `claims` on `count` machines of the paper in `folder`; `central` is what they are on the
/// central one.
///
/// # Errors
/// When the paper's files have mistakes.
pub fn search(
    folder: &PaperFolder,
    (claims, central): (&[&Claim], &ClaimLedger),
    count: u32,
    (length, options): (Length, Options),
    replicator: &impl Replicator,
) -> Result<MachineSearch, String> {
    let paper = &Paper::read(folder)?;
    let machines = draw(&paper.unknowns, count, options.seed);
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
        &machines,
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
    machines: &[DrawnMachine],
    verdicts: &[Vec<Verdict>],
    seed: u64,
) -> MachineSearch {
    let unknowns = &paper.unknowns;
    let claim = |(c, id): (usize, &&str)| {
        let column: Vec<Verdict> = verdicts.iter().map(|row| row[c]).collect();
        ClaimOnMachines {
            id: (*id).to_owned(),
            central: central[c],
            on: Inner(counts(column.iter().copied())),
            decided_by: Maybe(deciding(unknowns, machines, &column, id, seed)),
        }
    };
    let shown = |unknown: &Unknown| UnknownShown {
        name: unknown.name.clone(),
        central: unknown.shown(&unknown.central),
        range: unknown.range_shown(),
        source: unknown.source.clone(),
    };
    let machine = |(drawn, verdicts): (&DrawnMachine, &Vec<Verdict>)| {
        let values = unknowns.iter().zip(&drawn.values);
        MachineShown {
            values: values
                .map(|(unknown, value)| unknown.shown(value))
                .collect(),
            verdicts: verdicts.clone(),
        }
    };
    MachineSearch {
        paper: paper.name.clone(),
        machines: machines.len(),
        claims: ids.iter().enumerate().map(claim).collect(),
        best: Maybe(best(&paper.calibration, ids, central, verdicts)),
        unknowns: unknowns.iter().map(shown).collect(),
        drawn: machines.iter().zip(verdicts).map(machine).collect(),
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
    verdicts: &[Vec<Verdict>],
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
    let all = std::iter::once(central).chain(verdicts.iter().map(Vec::as_slice));
    let numbered: Vec<(usize, &[Verdict])> = all.enumerate().collect();
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

/// A way to cut the machines in two: what one side is called, and which machines are on that side.
struct Split {
    unknown: usize,
    one: String,
    other: String,
    side: Vec<bool>,
}

fn deciding(
    unknowns: &[Unknown],
    machines: &[DrawnMachine],
    verdicts: &[Verdict],
    id: &str,
    seed: u64,
) -> Option<Deciding> {
    let decided: Vec<usize> = (0..verdicts.len())
        .filter(|m| matches!(verdicts[*m], Verdict::Holds | Verdict::Fails))
        .collect();
    let mut holds: Vec<bool> = decided
        .iter()
        .map(|m| verdicts[*m] == Verdict::Holds)
        .collect();
    let held = holds.iter().filter(|h| **h).count();
    if held < LEAST || holds.len() - held < LEAST {
        return None;
    }
    let splits: Vec<Split> = (0..unknowns.len())
        .flat_map(|u| {
            let values: Vec<&Value> = decided.iter().map(|m| &machines[*m].values[u]).collect();
            splits(u, &unknowns[u], &values)
        })
        .collect();
    let scored = |holds: &[bool]| {
        let scores = splits
            .iter()
            .map(|split| (score(&split.side, holds), split));
        // The first of several.
        scores.fold(
            None,
            |best: Option<(f64, &Split)>, (score, split)| match best {
                Some((most, _)) if most.abs() >= score.abs() => best,
                _ => Some((score, split)),
            },
        )
    };
    let (score, split) = scored(&holds)?;
    let mut random = RandomStream::new(seed, 0, &format!("laboratory/shuffles/{id}"));
    let mut by_chance: Vec<f64> = (0..SHUFFLES)
        .map(|_| {
            for last in (1..holds.len()).rev() {
                holds.swap(last, random.below(last as u64 + 1) as usize);
            }
            scored(&holds).map_or(0.0, |(score, _)| score.abs())
        })
        .collect();
    by_chance.sort_by(|a, b| b.total_cmp(a));
    Some(Deciding {
        unknown: unknowns[split.unknown].name.clone(),
        holds_with: match score > 0.0 {
            true => split.one.clone(),
            false => split.other.clone(),
        },
        score: score.abs(),
        by_chance: by_chance[SHUFFLES / RARE],
    })
}

/// Every split of machines with these values of an unknown.
fn splits(u: usize, unknown: &Unknown, values: &[&Value]) -> Vec<Split> {
    let number = |value: &Value| match value {
        Value::Integer(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    };
    let numbers: Option<Vec<f64>> = values.iter().map(|value| number(value)).collect();
    if let Some(numbers) = numbers {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
        let pairs = order
            .windows(2)
            .filter(|pair| numbers[pair[0]] < numbers[pair[1]]);
        return pairs
            .map(|pair| Split {
                unknown: u,
                one: format!("up to {}", unknown.shown(values[pair[0]])),
                other: format!("from {} on", unknown.shown(values[pair[1]])),
                side: numbers.iter().map(|n| *n <= numbers[pair[0]]).collect(),
            })
            .collect();
    }
    let UnknownRange::Choices(choices) = &unknown.range else {
        return Vec::new();
    };
    let choice = |choice: &Value| Split {
        unknown: u,
        one: unknown.shown(choice),
        other: format!("not {}", unknown.shown(choice)),
        side: values.iter().map(|value| *value == choice).collect(),
    };
    choices.iter().map(choice).collect()
}

/// The fraction of machines that hold which are on the one side, less that of those that fail.
fn score(side: &[bool], holds: &[bool]) -> f64 {
    let fraction = |wanted: bool| {
        let own: Vec<bool> = holds
            .iter()
            .zip(side)
            .filter(|(h, _)| **h == wanted)
            .map(|(_, side)| *side)
            .collect();
        own.iter().filter(|side| **side).count() as f64 / own.len().max(1) as f64
    };
    fraction(true) - fraction(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::effort::Effort;
    use crate::folders;
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
        let search = summarise(&paper, &ids, &central, &machines, &rows, 1);
        let decided = |c: usize| search.claims[c].decided_by.0.clone().unwrap();
        assert_eq!(decided(0).unknown, "receive window");
        assert_eq!(
            (decided(0).score, decided(0).holds_with.as_str()),
            (1.0, "from 196608 on")
        );
        assert!(decided(0).by_chance < 0.9, "{:?}", decided(0));
        assert_eq!(decided(1).unknown, "line");
        assert!(
            decided(1).holds_with.starts_with("up to ") && decided(1).holds_with.ends_with(" us")
        );
        assert_eq!(search.claims[2].decided_by.0, None, "it holds on all");
        assert_eq!(search.claims[2].on.0.holds, 40);
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
        assert_eq!(
            deciding(&paper.unknowns, &machines, &verdicts, "a", 1),
            None
        );
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
        let run = || {
            let claims = (&selected[..], &central);
            search(&folder, claims, 3, (length, options), &OneByOne).unwrap()
        };
        let found = run();
        assert_eq!(found, run());
        assert_eq!((found.machines, found.drawn.len()), (3, 3));
        let verdict = found.claims[0].central;
        assert!(
            found.drawn.iter().all(|m| m.verdicts == [verdict]),
            "figure 2 has no unknown"
        );
        assert_eq!(found.best.0, None, "no row of the calibration was decided");
    }
}
