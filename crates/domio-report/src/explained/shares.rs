//! Parts of wholes, a row for each vcpu or domain: what tables and stacked bars of waits hold.

use crate::data::{Chart, Picture, Quantity, Stack, StackBar};
use std::collections::BTreeMap;

/// Most of those that are told apart as who ran meanwhile; a picture has no more colours and a
/// terminal not much more room.
pub(super) const BLAMED_MAX: usize = 7;

/// Parts of a whole, in percent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shares {
    /// Names of the parts.
    pub parts: Vec<String>,
    /// Names of vcpus or domains, with their parts in the same order.
    pub rows: Vec<(String, Vec<f64>)>,
}

/// One row before it is divided: a name, times by who ran, and the whole.
pub(super) struct Behind<T> {
    pub name: String,
    pub times: BTreeMap<Option<T>, u64>,
    pub whole: u64,
}

impl Shares {
    /// By who ran meanwhile, the [`BLAMED_MAX`] with the largest sums, the largest first, then the
    /// others
    /// together, then nobody. The last two are parts only where there is such time.
    pub(super) fn behind<T: Ord + Copy>(
        rows: Vec<Behind<T>>,
        name: impl Fn(T) -> String,
    ) -> Shares {
        let mut sums: BTreeMap<T, u64> = BTreeMap::new();
        for (whom, time) in rows.iter().flat_map(|row| &row.times) {
            if let Some(whom) = whom {
                *sums.entry(*whom).or_default() += time;
            }
        }
        let mut blamed: Vec<(T, u64)> = sums.into_iter().collect();
        blamed.sort_by_key(|(whom, time)| (u64::MAX - time, *whom));
        blamed.truncate(BLAMED_MAX);
        let parts = |row: &Behind<T>| -> Vec<u64> {
            let time = |whom: Option<T>| row.times.get(&whom).copied().unwrap_or(0);
            let named: Vec<u64> = blamed.iter().map(|(whom, _)| time(Some(*whom))).collect();
            let all: u64 = row.times.values().sum();
            let others = all - named.iter().sum::<u64>() - time(None);
            named.into_iter().chain([others, time(None)]).collect()
        };
        let times: Vec<Vec<u64>> = rows.iter().map(parts).collect();
        let names = blamed.iter().map(|(whom, _)| name(*whom));
        let names = names.chain(["others", "nobody"].map(str::to_owned));
        let is_part = |at: usize| at < blamed.len() || times.iter().any(|row| row[at] > 0);
        let shown: Vec<(usize, String)> =
            names.enumerate().filter(|(at, _)| is_part(*at)).collect();
        let row = |(row, times): (Behind<T>, &Vec<u64>)| {
            let part = |(at, _): &(usize, String)| percent(times[*at], row.whole);
            let parts = shown.iter().map(part).collect();
            (row.name, parts)
        };
        Shares {
            rows: rows.into_iter().zip(&times).map(row).collect(),
            parts: shown.into_iter().map(|(_, name)| name).collect(),
        }
    }

    /// The same, with small parts as one behind the others, if there are two of them or more: those
    /// that have less than a hundredth of all, and are the largest part of no row.
    pub(super) fn folded(mut self) -> Shares {
        let sum = |at: usize| -> f64 { self.rows.iter().map(|(_, parts)| parts[at]).sum() };
        let sums: Vec<f64> = (0..self.parts.len()).map(sum).collect();
        let all: f64 = sums.iter().sum();
        let mut small: Vec<bool> = sums.iter().map(|sum| *sum < all / 100.0).collect();
        for (_, parts) in &self.rows {
            let largest = (0..parts.len()).max_by(|a, b| parts[*a].total_cmp(&parts[*b]));
            if let Some(at) = largest.filter(|at| parts[*at] > 0.0) {
                small[at] = false;
            }
        }
        if small.iter().filter(|small| **small).count() < 2 {
            return self;
        }
        let keep = |at: &usize| !small[*at];
        let kept: Vec<usize> = (0..self.parts.len()).filter(keep).collect();
        for (_, parts) in &mut self.rows {
            let other: f64 = (0..parts.len())
                .filter(|at| small[*at])
                .map(|at| parts[at])
                .sum();
            *parts = kept.iter().map(|at| parts[*at]).chain([other]).collect();
        }
        let names = kept.iter().map(|at| self.parts[*at].clone());
        self.parts = names.chain(["other".to_owned()]).collect();
        self
    }

    /// A bar for each row.
    pub(super) fn picture(self, caption: &str, whole: &str) -> Picture {
        let stack = Stack {
            value: Quantity::new(whole, "%"),
            parts: self.parts,
            bars: self
                .rows
                .into_iter()
                .map(|(name, lengths)| StackBar { name, lengths })
                .collect(),
        };
        Picture::new(caption, Chart::Stack(stack))
    }
}

/// `part` in percent of `whole`.
pub fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 * 100.0 / whole as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_beyond_the_colours_are_one_part() {
        let times = (2..11).map(|id| (Some(id), 5)).chain([(None, 1)]).collect();
        let row = Behind {
            name: "web".to_owned(),
            times,
            whole: 100,
        };
        let shares = Shares::behind(vec![row], |id: u16| format!("d{id}"));
        assert_eq!(shares.parts.len(), BLAMED_MAX + 2);
        let (name, parts) = &shares.rows[0];
        assert_eq!(name, "web");
        assert_eq!(parts.iter().sum::<f64>(), 46.0);
        assert_eq!(parts[BLAMED_MAX..], [10.0, 1.0], "two others, and nobody");
    }
}
