//! What was seen of late, to step back into.

use crate::feed::IntervalEnd;
use domio_core::{DomainId, PcpuId};
use domio_meter::{IntervalSample, Totals};
use std::collections::{BTreeMap, VecDeque};

/// Most moments that are kept: ten minutes of samples of 100 ms.
const MOMENTS_MAX: usize = 6000;

/// Most figures of a vcpu on a pcpu that are kept, 48 MB of them.
const PARTS_MAX: usize = 500_000;

/// A second, and ten, in nanoseconds: the two windows.
const SHORT: u64 = 1_000_000_000;
const LONG: u64 = 10 * SHORT;

/// The latest moments, numbered from the first that ever was.
#[derive(Debug, Default)]
pub(crate) struct History {
    moments: VecDeque<IntervalEnd>,
    /// Number of the first that is kept.
    first: u64,
    parts: usize,
}

impl History {
    /// Adds the next moment, and drops old ones where there are too many.
    pub fn push(&mut self, moment: IntervalEnd) {
        self.parts += moment.short.parts.len();
        self.moments.push_back(moment);
        let too_many = |h: &History| h.moments.len() > MOMENTS_MAX || h.parts > PARTS_MAX;
        while self.moments.len() > 1 && too_many(self) {
            if let Some(old) = self.moments.pop_front() {
                self.parts -= old.short.parts.len();
                self.first += 1;
            }
        }
    }

    /// Numbers of the first and the last moment that are kept.
    pub fn ends(&self) -> Option<(u64, u64)> {
        let count = self.moments.len() as u64;
        (count > 0).then(|| (self.first, self.first + count - 1))
    }

    fn until(&self, number: u64) -> impl Iterator<Item = &IntervalEnd> {
        let count = (number + 1).saturating_sub(self.first) as usize;
        self.moments.iter().take(count).rev()
    }

    /// The last second and the last ten up to the end of a moment.
    pub fn windows(&self, number: u64) -> (IntervalSample, IntervalSample) {
        match self.until(number).next() {
            Some(IntervalEnd {
                short,
                long: Some(long),
            }) => (short.clone(), long.clone()),
            _ => (self.window(number, SHORT), self.window(number, LONG)),
        }
    }

    /// The sums of the moments that lie in the `length` up to the end of one; of that one at least.
    fn window(&self, number: u64, length: u64) -> IntervalSample {
        let mut inside: Vec<&IntervalSample> = Vec::new();
        for moment in self.until(number) {
            let end = inside.first().map_or(moment.short.end, |s| s.end);
            let reaches = end.saturating_since(moment.short.start).as_nanos();
            if !inside.is_empty() && reaches > length {
                break;
            }
            inside.push(&moment.short);
        }
        inside.reverse();
        Totals::of(inside)
    }

    /// What part of a pcpu each domain got in each of the last `cells` seconds up to a moment, in
    /// percent, oldest first; on `pcpu` alone if it is given. Seconds before the first moment that
    /// is kept are none.
    pub fn shares(
        &self,
        number: u64,
        pcpu: Option<PcpuId>,
        cells: usize,
    ) -> BTreeMap<DomainId, Vec<f64>> {
        let mut got: BTreeMap<DomainId, Vec<u64>> = BTreeMap::new();
        let mut passed = vec![0; cells];
        let mut newest = None;
        for moment in self.until(number) {
            let sample = &moment.short;
            let newest = *newest.get_or_insert(sample.end);
            // The middle of the sample decides.
            let middle = sample.start.as_nanos() + sample.length() / 2;
            let age = newest.as_nanos().saturating_sub(middle) / SHORT;
            let Some(cell) = cells.checked_sub(age as usize + 1) else {
                break;
            };
            passed[cell] += sample.length();
            for part in &sample.parts {
                if pcpu.is_none_or(|pcpu| pcpu == part.pcpu) {
                    let cells = got
                        .entry(part.vcpu.domain)
                        .or_insert_with(|| vec![0; cells]);
                    cells[cell] += part.figures.gotten;
                }
            }
        }
        let percent = |(got, passed): (&u64, &u64)| match passed {
            0 => 0.0,
            passed => *got as f64 * 100.0 / *passed as f64,
        };
        let shares = got.into_iter();
        let shares = shares.map(|(id, got)| (id, got.iter().zip(&passed).map(percent).collect()));
        shares.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Instant, VcpuName};
    use domio_meter::{Figures, Part};

    /// Moments of 100 ms, in which domain 1 gets as many ms as the moment's number, at most 100.
    fn history(moments: u64) -> History {
        let mut history = History::default();
        for n in 0..moments {
            let ms = |n: u64| Instant::from_nanos(n * 1_000_000);
            let part = Part {
                vcpu: VcpuName::new(DomainId(1), 0),
                pcpu: PcpuId(0),
                figures: Figures {
                    gotten: n.min(100) * 1_000_000,
                    ..Figures::default()
                },
            };
            let short = IntervalSample {
                start: ms(n * 100),
                end: ms(n * 100 + 100),
                parts: vec![part],
                ..IntervalSample::default()
            };
            history.push(IntervalEnd { short, long: None });
        }
        history
    }

    #[test]
    fn windows_reach_back_from_any_moment() {
        let history = history(200);
        let (short, long) = history.windows(59);
        assert_eq!((short.length(), long.length()), (SHORT, 60 * SHORT / 10));
        let got = |s: &IntervalSample| s.domain(DomainId(1)).gotten / 1_000_000;
        assert_eq!((got(&short), got(&long)), ((50..60).sum(), (0..60).sum()));
        assert_eq!(history.windows(150).1.length(), LONG);
    }

    #[test]
    fn old_moments_are_dropped_and_numbers_stay() {
        let history = history(6_010);
        assert_eq!(history.ends(), Some((10, 6_009)));
        assert_eq!(history.windows(6_009).0.domain(DomainId(1)).gotten, SHORT);
        // One that is not there any more is nothing.
        assert_eq!(history.windows(3).0.length(), 0);
    }

    #[test]
    fn shares_are_by_the_second() {
        let history = history(25);
        let shares = history.shares(24, None, 4);
        // 15 to 24 in the last second, 5 to 14 before, 0 to 4 before that; each of 10 ms a percent.
        assert_eq!(shares[&DomainId(1)], [0.0, 2.0, 9.5, 19.5]);
        assert!(history.shares(24, Some(PcpuId(3)), 4).is_empty());
    }
}
