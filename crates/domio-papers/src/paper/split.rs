//! Which unknown separates machines on which a claim holds from those on which it fails.
//!
//! For each unknown the machines are split in two, by value, such that those on which the claim
//! holds and those on which it fails lie on different sides as far as possible. The score is the
//! difference of the two fractions on one side: 1 when the split separates holds from fails, 0 when
//! it says nothing (Youden's J). The best of many splits is never 0, so the score that the best
//! split of shuffled verdicts reaches in one of twenty shuffles stands beside it.

use super::machines::{DrawnMachine, Unknown, UnknownRange};
use super::survival::Dependence;
use crate::ledger::Verdict;
use domio_sim::random::RandomStream;
use toml::Value;

/// Shuffles behind the score that chance reaches.
const SHUFFLES: usize = 200;
/// One of so many shuffles reaches that score.
const RARE: usize = 20;
/// Least number of machines on which a claim holds, and on which it fails, for a split.
const LEAST: usize = 2;
/// Most unknowns that are named.
const MOST: usize = 2;

/// A way to cut the machines in two: what each side is called, and which machines are on the one.
struct Split {
    unknown: usize,
    one: String,
    other: String,
    side: Vec<bool>,
}

/// The two unknowns on which a claim depends most, of `verdicts` by machine, the first one more;
/// none where the claim does not hold on two machines and fail on two others.
pub(super) fn depends_on(
    unknowns: &[Unknown],
    machines: &[DrawnMachine],
    verdicts: &[Verdict],
    (id, seed): (&str, u64),
) -> Vec<Dependence> {
    let decided: Vec<usize> = (0..verdicts.len())
        .filter(|m| matches!(verdicts[*m], Verdict::Holds | Verdict::Fails))
        .collect();
    let holds: Vec<bool> = decided
        .iter()
        .map(|m| verdicts[*m] == Verdict::Holds)
        .collect();
    let held = holds.iter().filter(|h| **h).count();
    if held < LEAST || holds.len() - held < LEAST {
        return Vec::new();
    }
    let splits: Vec<Split> = (0..unknowns.len())
        .flat_map(|u| {
            let values: Vec<&Value> = decided.iter().map(|m| &machines[*m].values[u]).collect();
            splits(u, &unknowns[u], &values)
        })
        .collect();
    let by_chance = by_chance(&splits, &holds, (id, seed));
    let best = |u: usize| {
        let own = splits.iter().filter(|split| split.unknown == u);
        best(own, &holds)
    };
    let mut ranked: Vec<(f64, &Split)> = (0..unknowns.len()).filter_map(best).collect();
    // Of unknowns that are as good the first one declared comes first.
    ranked.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    ranked.truncate(MOST);
    let told = |(score, split): (f64, &Split)| {
        let there = score > 0.0;
        let count = |side: bool, only_held: bool| {
            let pairs = split.side.iter().zip(&holds);
            pairs
                .filter(|(on, held)| **on == side && (!only_held || **held))
                .count()
        };
        let (with, without) = match there {
            true => (&split.one, &split.other),
            false => (&split.other, &split.one),
        };
        Dependence {
            unknown: unknowns[split.unknown].name.clone(),
            holds_with: with.clone(),
            fails_with: without.clone(),
            holds_there: count(there, true),
            decided_there: count(there, false),
            holds_elsewhere: count(!there, true),
            decided_elsewhere: count(!there, false),
            score: score.abs(),
            by_chance,
        }
    };
    ranked.into_iter().map(told).collect()
}

/// The first of the splits with the highest score, either way.
fn best<'s>(splits: impl Iterator<Item = &'s Split>, holds: &[bool]) -> Option<(f64, &'s Split)> {
    let scores = splits.map(|split| (score(&split.side, holds), split));
    scores.fold(None, |best, (score, split)| match best {
        Some((most, _)) if f64::abs(most) >= score.abs() => best,
        _ => Some((score, split)),
    })
}

/// The score that the best split of shuffled verdicts reaches in one of twenty shuffles.
fn by_chance(splits: &[Split], holds: &[bool], (id, seed): (&str, u64)) -> f64 {
    let mut holds = holds.to_vec();
    let mut random = RandomStream::new(seed, 0, &format!("laboratory/shuffles/{id}"));
    let mut scores: Vec<f64> = (0..SHUFFLES)
        .map(|_| {
            for last in (1..holds.len()).rev() {
                holds.swap(last, random.below(last as u64 + 1) as usize);
            }
            best(splits.iter(), &holds).map_or(0.0, |(score, _)| score.abs())
        })
        .collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    scores[SHUFFLES / RARE]
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
