//! What switches change: ratios of the same replication with and without, and their intervals.

use super::Measure;
use super::rows::Row;
use anyhow::{Result, bail};
use std::collections::BTreeMap;

/// Gains of one host: logarithms, over zero for the better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    pub mean: f64,
    /// Half of the 95 % interval; infinite with one replication.
    pub half: f64,
}

impl Effect {
    /// The mean of `gains`, one a replication.
    fn of(gains: &[f64]) -> Effect {
        let n = gains.len() as f64;
        let mean = gains.iter().sum::<f64>() / n;
        let squares: f64 = gains.iter().map(|g| (g - mean).powi(2)).sum();
        let half = match gains.len() {
            0 | 1 => f64::INFINITY,
            count => student(count - 1) * (squares / (n - 1.0) / n).sqrt(),
        };
        Effect { mean, half }
    }

    /// Whether the interval is on one side of nothing, and the gain is one percent at least:
    /// replications that are all alike prove any trifle.
    pub fn is_proven(self) -> bool {
        self.mean.abs() > self.half && self.percent().abs() >= 1.0
    }

    /// In percent: `+100` is twice as much, or half as long; `-50` is half as much, or twice as
    /// long.
    pub fn percent(self) -> f64 {
        (self.mean.exp() - 1.0) * 100.0
    }

    /// The mean and the interval in percent, for a cell of a table.
    pub fn words(self) -> String {
        let percent = |log: f64| (log.exp() - 1.0) * 100.0;
        let (low, high) = (
            percent(self.mean - self.half),
            percent(self.mean + self.half),
        );
        format!("{:+.0} % ({low:+.0} to {high:+.0})", self.percent())
    }
}

/// 97.5 % of Student's distribution are below.
fn student(freedom: usize) -> f64 {
    const BELOW: [f64; 10] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    ];
    // More replications than that have a little less.
    BELOW[freedom.clamp(1, BELOW.len()) - 1]
}

/// Is added to rates, as `domio compare` does: a guest that gets a thousandth of nothing is not
/// worth a change (Mb/s).
const FLOOR: f64 = 1.0;

/// Guests and cores.
type HostSize = (u32, u32);

/// By host and replication: the logarithm of a figure with each combination.
type Logs = BTreeMap<(HostSize, u32), BTreeMap<usize, f64>>;

/// Figures of a load under a policy.
pub struct Results {
    /// By measure.
    logs: Vec<Logs>,
}

impl Results {
    pub fn new(measures: usize) -> Results {
        Results {
            logs: vec![Logs::new(); measures],
        }
    }

    /// Adds the rows of hosts with so many `cores`.
    pub fn add(&mut self, cores: u32, rows: &[Row], measures: &[Measure]) -> Result<()> {
        for (measure, logs) in measures.iter().zip(&mut self.logs) {
            let mut sums: BTreeMap<_, (f64, u32)> = BTreeMap::new();
            for row in rows {
                let figure = row.figure(measure.column).unwrap_or(measure.without);
                let host = (row.guests, cores);
                let sum = sums.entry((host, row.replication, row.combination));
                let (total, guests) = sum.or_insert((0.0, 0));
                *total += figure;
                *guests += 1;
            }
            for ((host, replication, combination), (total, guests)) in sums {
                let figure = match measure.more {
                    true => total + FLOOR,
                    false => total / f64::from(guests),
                };
                if figure <= 0.0 {
                    bail!("{host:?}: no {} with {combination}", measure.column);
                }
                // A gain is a larger figure, or a smaller one.
                let sign = if measure.more { 1.0 } else { -1.0 };
                let log = sign * figure.ln();
                let cell = logs.entry((host, replication)).or_default();
                cell.insert(combination, log);
            }
        }
        Ok(())
    }

    /// What `gain` makes of each replication of `host`; none where one has no answer.
    fn effect(
        &self,
        measure: usize,
        host: HostSize,
        gain: impl Fn(&BTreeMap<usize, f64>) -> Option<f64>,
    ) -> Option<Effect> {
        let cells = self.logs[measure].iter().filter(|((h, _), _)| *h == host);
        let gains: Option<Vec<f64>> = cells.map(|(_, cell)| gain(cell)).collect();
        let gains = gains.filter(|gains| !gains.is_empty())?;
        Some(Effect::of(&gains))
    }

    /// What switch number `bit` changes, over all combinations of the others alike.
    pub fn of_switch(&self, measure: usize, host: HostSize, bit: usize) -> Option<Effect> {
        self.effect(measure, host, |cell| {
            let on = cell.iter().filter(|(c, _)| *c & (1 << bit) != 0);
            let gains = on.map(|(c, with)| Some(with - cell.get(&(c ^ (1 << bit)))?));
            let gains: Option<Vec<f64>> = gains.collect();
            let gains = gains.filter(|gains| !gains.is_empty())?;
            Some(gains.iter().sum::<f64>() / gains.len() as f64)
        })
    }

    /// What a combination changes against no switch.
    pub fn of_combination(&self, measure: usize, host: HostSize, c: usize) -> Option<Effect> {
        self.effect(measure, host, |cell| Some(cell.get(&c)? - cell.get(&0)?))
    }

    /// What all switches change that the host has.
    pub fn of_all(&self, measure: usize, host: HostSize) -> Option<Effect> {
        let all = *self.combinations(measure, host).last()?;
        self.of_combination(measure, host, all)
    }

    /// The combinations that a host was run with.
    pub fn combinations(&self, measure: usize, host: HostSize) -> Vec<usize> {
        let found = self.logs[measure].iter().find(|((h, _), _)| *h == host);
        found.map_or_else(Vec::new, |(_, cell)| cell.keys().copied().collect())
    }

    /// The fewest switches that gain as much as any: of the combinations whose gains are proven,
    /// and of which none is proven to gain more, the one with the fewest switches, and of several
    /// the one with the largest gain.
    pub fn best(&self, measure: usize, host: HostSize) -> Option<(usize, Effect)> {
        let all = self.combinations(measure, host).into_iter();
        let gains = all.filter_map(|c| Some((c, self.of_combination(measure, host, c)?)));
        let gains: Vec<_> = gains
            .filter(|(_, gain)| gain.mean > 0.0 && gain.is_proven())
            .collect();
        let most = gains.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?.0;
        let as_good = gains.into_iter().filter(|(c, _)| {
            let less = |cell: &BTreeMap<usize, f64>| Some(cell.get(&most)? - cell.get(c)?);
            let less = self.effect(measure, host, less);
            *c == most || less.is_some_and(|less| !less.is_proven())
        });
        as_good.min_by(|(a, gain), (b, other)| {
            let switches = a.count_ones().cmp(&b.count_ones());
            switches.then(other.mean.total_cmp(&gain.mean))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RATE, rows, trip};
    use super::*;

    /// A host of two guests with 4 cores and two switches, of which MTP doubles and SDP adds a
    /// quarter, of rates so large that the floor is nothing.
    fn results() -> Results {
        let mut text = String::from(
            "replication,domain.guest.count,network.netback_threads,network.small_packets,domain,\
             net_mbps,ping_p99_ms\n",
        );
        for (replication, base) in [(0, 1e6), (1, 1.2e6)] {
            for (threads, more) in [("1", 1.0), ("4", 2.0)] {
                for (small, also) in [("grants", 1.0), ("pool", 1.25)] {
                    let all = base * more * also;
                    for guest in ["guest1", "guest2"] {
                        let half = all / 2.0;
                        text +=
                            &format!("{replication},2,{threads},{small},{guest},{half},{all}\n");
                    }
                }
            }
        }
        let mut results = Results::new(2);
        let rows = rows::parse(&text).unwrap();
        results.add(4, &rows, &[RATE, trip(400.0)]).unwrap();
        results
    }

    #[test]
    fn effects_are_ratios_of_the_same_replication() {
        let results = results();
        let host = (2, 4);
        let mtp = results.of_switch(0, host, 2).unwrap();
        assert!(
            (mtp.percent() - 100.0).abs() < 1e-3 && mtp.half < 1e-6,
            "{mtp:?}"
        );
        let sdp = results.of_switch(0, host, 3).unwrap();
        assert!((sdp.percent() - 25.0).abs() < 1e-3, "{sdp:?}");
        assert_eq!(results.of_switch(0, host, 0), None);
        let all = results.of_all(0, host).unwrap();
        assert!((all.percent() - 150.0).abs() < 2.0, "{all:?}");
        // Round trips that are longer are losses.
        let mtp = results.of_switch(1, host, 2).unwrap();
        assert!((mtp.percent() + 50.0).abs() < 1e-9, "{mtp:?}");
    }

    #[test]
    fn the_best_is_proven_and_has_no_switch_in_vain() {
        let results = results();
        assert_eq!(results.best(0, (2, 4)).unwrap().0, 0b1100);
        assert_eq!(results.best(1, (2, 4)), None);
        assert_eq!(results.best(0, (3, 4)), None);
    }

    #[test]
    fn intervals_are_students() {
        let effect = Effect::of(&[0.0, 0.2]);
        assert!((effect.mean - 0.1).abs() < 1e-12);
        assert!((effect.half - 1.2706).abs() < 1e-4, "{effect:?}");
        assert!(!effect.is_proven());
        assert!(!Effect::of(&[1.0]).is_proven());
    }
}
