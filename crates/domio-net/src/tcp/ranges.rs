//! Sets of sequence numbers, as few ranges as there are gaps.

use alloc::vec::Vec;

/// Numbers in ranges: first number and the one behind the last, in order, apart from each other.
#[derive(Clone, Default, Debug)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number behind the last one.
    pub fn end(&self) -> Option<u64> {
        self.0.last().map(|&(_, end)| end)
    }

    /// Adds the numbers from `start` to before `end`, and joins them with what they touch.
    pub fn insert(&mut self, start: u64, end: u64) {
        let first = self.0.partition_point(|&(_, e)| e < start);
        let last = self.0.partition_point(|&(s, _)| s <= end);
        if first == last {
            self.0.insert(first, (start, end));
            return;
        }
        let joined = (self.0[first].0.min(start), self.0[last - 1].1.max(end));
        self.0[first] = joined;
        self.0.drain(first + 1..last);
    }

    /// Takes out everything before `number`, and the range that begins there or before. Returns
    /// where that one ends, or `number`.
    pub fn pass(&mut self, number: u64) -> u64 {
        let met = self.0.partition_point(|&(start, _)| start <= number);
        let end = self.0[..met].last().map_or(number, |&(_, end)| end);
        self.0.drain(..met);
        end.max(number)
    }

    /// Takes out everything before `number`.
    pub fn cut(&mut self, number: u64) {
        let gone = self.0.partition_point(|&(_, end)| end <= number);
        self.0.drain(..gone);
        if let Some((start, _)) = self.0.first_mut() {
            *start = number.max(*start);
        }
    }

    /// The gap at `number` or behind: where it begins and, unless it is the last one, ends.
    pub fn gap(&self, number: u64) -> (u64, Option<u64>) {
        let place = self.0.partition_point(|&(_, end)| end <= number);
        let start = |place: usize| self.0.get(place).map(|&(start, _)| start);
        match self.0.get(place) {
            Some(&(start_here, end)) if start_here <= number => (end, start(place + 1)),
            _ => (number, start(place)),
        }
    }

    /// How many of the numbers from `from` to before `to` are not here.
    pub fn missing(&self, from: u64, to: u64) -> u64 {
        let inside = |&(start, end): &(u64, u64)| end.min(to).saturating_sub(start.max(from));
        to.saturating_sub(from) - self.0.iter().map(inside).sum::<u64>()
    }

    /// The range with `number`.
    pub fn with(&self, number: u64) -> Option<(u64, u64)> {
        let place = self.0.partition_point(|&(_, end)| end <= number);
        self.0
            .get(place)
            .copied()
            .filter(|&(start, _)| start <= number)
    }

    /// All ranges, the last one first.
    pub fn backwards(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().rev().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(list: &[(u64, u64)]) -> Ranges {
        let mut ranges = Ranges::default();
        for &(start, end) in list {
            ranges.insert(start, end);
        }
        ranges
    }

    #[test]
    fn what_touches_is_joined() {
        assert_eq!(of(&[(1, 3), (5, 7), (3, 5)]).0, [(1, 7)]);
        assert_eq!(of(&[(5, 7), (1, 3), (4, 9)]).0, [(1, 3), (4, 9)]);
        assert_eq!(of(&[(5, 7), (1, 3), (0, 9)]).0, [(0, 9)]);
    }

    #[test]
    fn passing_ends_behind_what_it_meets() {
        let mut ranges = of(&[(3, 5), (8, 9)]);
        assert_eq!(ranges.pass(2), 2);
        assert_eq!(ranges.pass(3), 5);
        assert_eq!(ranges.0, [(8, 9)]);
        assert_eq!(ranges.pass(10), 10);
        assert!(ranges.is_empty());
    }

    #[test]
    fn gaps_are_found_and_measured() {
        let ranges = of(&[(3, 5), (8, 9)]);
        assert_eq!(ranges.gap(1), (1, Some(3)));
        assert_eq!(ranges.gap(3), (5, Some(8)));
        assert_eq!(ranges.gap(8), (9, None));
        assert_eq!((ranges.missing(1, 10), ranges.missing(4, 9)), (6, 3));
        assert_eq!((ranges.with(4), ranges.with(5)), (Some((3, 5)), None));
    }

    proptest! {
        /// Against one flag for each number.
        #[test]
        fn ranges_are_sets(
            list in prop::collection::vec((0_u64..60, 0_u64..8), 0..12),
            at in 0_u64..60,
            other in 0_u64..60,
        ) {
            let spans: Vec<_> = list.iter().map(|&(s, n)| (s, s + n + 1)).collect();
            let ranges = of(&spans);
            let is_in = |n: u64| spans.iter().any(|&(s, e)| (s..e).contains(&n));
            let kept = |r: &Ranges| (0..80).filter(|&n| r.with(n).is_some()).collect::<Vec<_>>();
            prop_assert_eq!(kept(&ranges), (0..80).filter(|&n| is_in(n)).collect::<Vec<_>>());
            let missing = (at..other).filter(|&n| !is_in(n)).count() as u64;
            prop_assert_eq!(ranges.missing(at, other), missing);
            prop_assert_eq!(ranges.gap(at).0, (at..).find(|&n| !is_in(n)).unwrap());
            let mut cut = ranges.clone();
            cut.cut(at);
            prop_assert_eq!(kept(&cut), (at..80).filter(|&n| is_in(n)).collect::<Vec<_>>());
            let mut passed = ranges.clone();
            prop_assert_eq!(passed.pass(at), (at..).find(|&n| !is_in(n)).unwrap());
        }
    }
}
