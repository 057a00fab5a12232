//! Two programs, or two files, figure by figure.
//!
//! Replications of one seed and one number begin alike in both, so that a program that computes
//! the same gives the same bits. A figure has *moved* when one of the common replications differs.

use super::{Held, Store, StoreError};
use domio_answer::{MeanCell, rows};
use domio_run::Sample;
use domio_stats::{Difference, Estimate};
use std::collections::{BTreeMap, BTreeSet};

rows! {
    /// A figure that is not what it was.
    #[derive(Clone, PartialEq, Debug)]
    pub struct FigureMoved {
        /// The experiment or scenario.
        pub name: String = key("name").title("experiment or scenario");
        /// What was set.
        pub settings: String = key("settings").for_programs();
        /// The seed.
        pub seed: u64 = key("seed").for_programs();
        /// Name of the figure.
        pub figure: String = key("figure");
        /// Over the common replications, before; null when there was no such figure.
        pub before: Option<MeanCell> = fact("before");
        /// The same after.
        pub after: Option<MeanCell> = fact("after");
        /// Whether the mean of the differences is not zero, beyond the 95 % interval.
        pub is_proven: bool = fact("is_proven").title("proven");
    }

    /// What two sides have in common, and what not.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct Moves {
        /// Figures that are the same to the last bit in all common replications.
        pub same: usize = count("same");
        /// Those that are not, by experiment and name.
        pub moved: Vec<FigureMoved> = parts("moved", []);
        /// Experiments that only the first side has.
        pub only_before: Vec<String> = fact("only_before");
        /// Experiments that only the second side has.
        pub only_after: Vec<String> = fact("only_after");
    }
}

type HeldKey<'h> = (&'h str, &'h str, u64);

fn by_key<'h>(side: &[&'h Held]) -> BTreeMap<HeldKey<'h>, Vec<&'h Held>> {
    let mut by_key: BTreeMap<HeldKey<'h>, Vec<&Held>> = BTreeMap::new();
    for held in side {
        let key = (
            held.subject.name.as_str(),
            held.subject.settings.as_str(),
            held.seed,
        );
        by_key.entry(key).or_default().push(held);
    }
    by_key
}

/// The pair with one fingerprint if there is one, or else the newest of each side: a file that was
/// edited goes by its name.
fn pair<'h>(before: &[&'h Held], after: &[&'h Held]) -> Option<(&'h Held, &'h Held)> {
    let same = |b: &&'h Held| -> Option<(&'h Held, &'h Held)> {
        let fingerprint = &b.subject.fingerprint;
        let mut after = after.iter();
        let same = after.find(|a| a.subject.fingerprint == *fingerprint)?;
        Some((*b, *same))
    };
    if let Some(pair) = before.iter().find_map(same) {
        return Some(pair);
    }
    let newest = |side: &[&'h Held]| side.iter().max_by_key(|h| h.made).copied();
    Some((newest(before)?, newest(after)?))
}

/// What is different between `before`, which `old` holds, and `after`, which `new` holds.
///
/// # Errors
/// When a file cannot be read.
pub fn moves(
    (old, before): (&Store, &[&Held]),
    (new, after): (&Store, &[&Held]),
) -> Result<Moves, StoreError> {
    let (before, after) = (by_key(before), by_key(after));
    let mut result = Moves::default();
    let named = |(name, settings, _): &HeldKey<'_>| match settings.is_empty() {
        true => (*name).to_owned(),
        false => format!("{name} ({settings})"),
    };
    for (key, first) in &before {
        let Some(second) = after.get(key) else {
            result.only_before.push(named(key));
            continue;
        };
        let Some((first, second)) = pair(first, second) else {
            continue;
        };
        compare(
            first,
            &old.samples(first)?,
            &new.samples(second)?,
            &mut result,
        );
    }
    let new = after.keys().filter(|key| !before.contains_key(*key));
    result.only_after = new.map(named).collect();
    Ok(result)
}

fn compare(held: &Held, before: &[(u32, Sample)], after: &[(u32, Sample)], result: &mut Moves) {
    let after: BTreeMap<u32, &Sample> = after.iter().map(|(n, s)| (*n, s)).collect();
    let common = before.iter().filter_map(|(n, s)| Some((s, *after.get(n)?)));
    let common: Vec<(&Sample, &Sample)> = common.collect();
    let names: BTreeSet<&str> = common
        .iter()
        .flat_map(|(a, b)| a.values().chain(b.values()))
        .map(|(name, _)| name)
        .collect();
    for figure in names {
        let bits = |s: &Sample| s.get(figure).map(f64::to_bits);
        if common.iter().all(|(a, b)| bits(a) == bits(b)) {
            result.same += 1;
            continue;
        }
        let before: Vec<f64> = common.iter().filter_map(|(a, _)| a.get(figure)).collect();
        let after: Vec<f64> = common.iter().filter_map(|(_, b)| b.get(figure)).collect();
        let difference = match before.len() == after.len() {
            true => Difference::paired(&after, &before),
            false => Difference::welch(&after, &before),
        };
        result.moved.push(FigureMoved {
            name: held.subject.name.clone(),
            settings: held.subject.settings.clone(),
            seed: held.seed,
            figure: figure.to_owned(),
            before: Estimate::of(&before).map(MeanCell::from),
            after: Estimate::of(&after).map(MeanCell::from),
            is_proven: difference.is_some_and(|d| d.is_greater() || d.is_less()),
        });
    }
}
