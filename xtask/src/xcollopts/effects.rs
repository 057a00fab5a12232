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

/// The column of pings that were answered.
const ANSWERED: &str = "ping_replies";

/// Guests and cores.
type HostSize = (u32, u32);

/// A measure of a host with one combination, in one replication.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The logarithm of the figure, over all guests. None where a guest has none.
    log: Option<f64>,
    silence: Silence,
}

/// Who got no answer, and how many answers there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Silence {
    /// Guests without a figure.
    pub guests: u32,
    /// Pings of all guests that were answered.
    pub answered: u64,
}

/// What is known of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// It has a figure, in which `all` combinations count or those with answers.
    By { effect: Effect, all: bool },
    /// Guests got no answer with or without it, so that there is nothing to compare.
    NoAnswers,
    /// The host has no such switch.
    Absent,
}

impl Change {
    /// Its figure, if it has one.
    pub fn effect(self) -> Option<Effect> {
        match self {
            Change::By { effect, .. } => Some(effect),
            Change::NoAnswers | Change::Absent => None,
        }
    }

    /// The mark of a figure in which not all combinations count.
    pub fn star(self) -> &'static str {
        match self {
            Change::By { all: false, .. } => STAR,
            _ => "",
        }
    }
}

/// Marks what is left where some combinations have no figure.
pub const STAR: &str = "\\*";

/// By host and replication: what was measured with each combination.
type Cells = BTreeMap<(HostSize, u32), BTreeMap<usize, Cell>>;

/// Figures of a load under a policy.
pub struct Results {
    /// By measure.
    cells: Vec<Cells>,
}

impl Results {
    pub fn new(measures: usize) -> Results {
        Results {
            cells: vec![Cells::new(); measures],
        }
    }

    /// Adds the rows of hosts with so many `cores`.
    pub fn add(&mut self, cores: u32, rows: &[Row], measures: &[Measure]) -> Result<()> {
        for (measure, cells) in measures.iter().zip(&mut self.cells) {
            let mut sums: BTreeMap<_, (f64, u32, Silence)> = BTreeMap::new();
            for row in rows {
                let host = (row.guests, cores);
                let sum = sums.entry((host, row.replication, row.combination));
                let (total, guests, silence) = sum.or_default();
                *guests += 1;
                match row.figure(measure.column).or(measure.without) {
                    Some(figure) => *total += figure,
                    None => silence.guests += 1,
                }
                silence.answered += row.figure(ANSWERED).unwrap_or(0.0) as u64;
            }
            for ((host, replication, combination), (total, guests, silence)) in sums {
                let figure = match measure.more {
                    true => total + FLOOR,
                    false => total / f64::from(guests),
                };
                // A mean of the guests with answers alone would reward that others have none.
                let log = match silence.guests {
                    0 if figure <= 0.0 => {
                        bail!("{host:?}: no {} with {combination}", measure.column)
                    }
                    // A gain is a larger figure, or a smaller one.
                    0 if measure.more => Some(figure.ln()),
                    0 => Some(-figure.ln()),
                    _ => None,
                };
                let cell = cells.entry((host, replication)).or_default();
                cell.insert(combination, Cell { log, silence });
            }
        }
        Ok(())
    }

    /// What each replication measured with combination `c`: nothing where one has no figure.
    fn logs(&self, measure: usize, host: HostSize, c: usize) -> Option<Vec<f64>> {
        let logs = self.of(measure, host).map(|cell| cell.get(&c)?.log);
        let logs: Option<Vec<f64>> = logs.collect();
        logs.filter(|logs| !logs.is_empty())
    }

    /// The replications of `host`.
    fn of(&self, measure: usize, host: HostSize) -> impl Iterator<Item = &BTreeMap<usize, Cell>> {
        let cells = self.cells[measure]
            .iter()
            .filter(move |((h, _), _)| *h == host);
        cells.map(|(_, cell)| cell)
    }

    /// What switch number `bit` changes, over all combinations of the others alike that have
    /// figures with it and without.
    pub fn of_switch(&self, measure: usize, host: HostSize, bit: usize) -> Change {
        let all = self.combinations(measure, host);
        let with = all.iter().filter(|c| *c & (1 << bit) != 0);
        let pairs: Vec<_> = with.map(|c| (c ^ (1 << bit), *c)).collect();
        let gains = pairs.iter().filter_map(|(without, with)| {
            let [without, with] = [without, with].map(|c| self.logs(measure, host, *c));
            Some(differences(&without?, &with?))
        });
        let gains: Vec<Vec<f64>> = gains.collect();
        let Some(first) = gains.first() else {
            return match pairs.is_empty() {
                true => Change::Absent,
                false => Change::NoAnswers,
            };
        };
        let mean = |replication: usize| {
            let sum: f64 = gains.iter().map(|gain| gain[replication]).sum();
            sum / gains.len() as f64
        };
        let means: Vec<f64> = (0..first.len()).map(mean).collect();
        Change::By {
            effect: Effect::of(&means),
            all: gains.len() == pairs.len(),
        }
    }

    /// What combination `to` changes against `from`.
    fn between(&self, measure: usize, host: HostSize, from: usize, to: usize) -> Change {
        let all = self.combinations(measure, host);
        if !all.contains(&from) || !all.contains(&to) {
            return Change::Absent;
        }
        match [from, to].map(|c| self.logs(measure, host, c)) {
            [Some(from), Some(to)] => Change::By {
                effect: Effect::of(&differences(&from, &to)),
                all: true,
            },
            _ => Change::NoAnswers,
        }
    }

    /// What all switches change that the host has.
    pub fn of_all(&self, measure: usize, host: HostSize) -> Change {
        match self.combinations(measure, host).last() {
            Some(all) => self.between(measure, host, 0, *all),
            None => Change::Absent,
        }
    }

    /// The combinations that a host was run with.
    pub fn combinations(&self, measure: usize, host: HostSize) -> Vec<usize> {
        let mut found = self.of(measure, host);
        found
            .next()
            .map_or_else(Vec::new, |cell| cell.keys().copied().collect())
    }

    /// Combinations with which guests got no answer in some replication, each with what is known
    /// of its replications.
    pub fn silent(&self, measure: usize, host: HostSize) -> Vec<(usize, Vec<Silence>)> {
        let all = self.combinations(measure, host).into_iter();
        let silent = all.filter(|c| self.logs(measure, host, *c).is_none());
        let told = |c| {
            let cells = self.of(measure, host).filter_map(|cell| cell.get(&c));
            (c, cells.map(|cell| cell.silence).collect())
        };
        silent.map(told).collect()
    }

    /// The fewest switches that gain as much as any: of the combinations whose gains are proven,
    /// and of which none is proven to gain more, the one with the fewest switches, and of several
    /// the one with the largest gain. Combinations without a figure do not take part.
    pub fn best(&self, measure: usize, host: HostSize) -> Option<(usize, Effect)> {
        let all = self.combinations(measure, host).into_iter();
        let gains = all.filter_map(|c| Some((c, self.between(measure, host, 0, c).effect()?)));
        let gains: Vec<_> = gains
            .filter(|(_, gain)| gain.mean > 0.0 && gain.is_proven())
            .collect();
        let most = gains.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?.0;
        let as_good = gains.into_iter().filter(|(c, _)| {
            let less = self.between(measure, host, *c, most).effect();
            *c == most || less.is_some_and(|less| !less.is_proven())
        });
        as_good.min_by(|(a, gain), (b, other)| {
            let switches = a.count_ones().cmp(&b.count_ones());
            switches.then(other.mean.total_cmp(&gain.mean))
        })
    }
}

/// What `to` has more than `from`, replication by replication.
fn differences(from: &[f64], to: &[f64]) -> Vec<f64> {
    from.iter().zip(to).map(|(from, to)| to - from).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{RATE, TRIP, rows};
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
        results.add(4, &rows, &[RATE, TRIP]).unwrap();
        results
    }

    #[test]
    fn effects_are_ratios_of_the_same_replication() {
        let results = results();
        let host = (2, 4);
        let mtp = results.of_switch(0, host, 2).effect().unwrap();
        assert!(
            (mtp.percent() - 100.0).abs() < 1e-3 && mtp.half < 1e-6,
            "{mtp:?}"
        );
        let sdp = results.of_switch(0, host, 3).effect().unwrap();
        assert!((sdp.percent() - 25.0).abs() < 1e-3, "{sdp:?}");
        assert_eq!(results.of_switch(0, host, 0), Change::Absent);
        let all = results.of_all(0, host).effect().unwrap();
        assert!((all.percent() - 150.0).abs() < 2.0, "{all:?}");
        // Round trips that are longer are losses.
        let mtp = results.of_switch(1, host, 2).effect().unwrap();
        assert!((mtp.percent() + 50.0).abs() < 1e-9, "{mtp:?}");
    }

    #[test]
    fn the_best_is_proven_and_has_no_switch_in_vain() {
        let results = results();
        assert_eq!(results.best(0, (2, 4)).unwrap().0, 0b1100);
        assert_eq!(results.best(1, (2, 4)), None);
        assert_eq!(results.best(0, (3, 4)), None);
    }

    /// A round trip of one replication with each of the four combinations, and the answers; guest
    /// 2 of the host has none where it says so.
    fn silent(at: &[(&str, &str)]) -> Results {
        let mut text = String::from(
            "replication,domain.guest.count,network.netback_threads,network.small_packets,domain,\
             ping_replies,ping_p99_ms\n",
        );
        for replication in 0..2 {
            for (threads, small, trip) in [
                ("1", "grants", 8.0),
                ("1", "pool", 4.0),
                ("4", "grants", 2.0),
                ("4", "pool", 1.0),
            ] {
                text += &format!("{replication},2,{threads},{small},guest1,70,{trip}\n");
                // One replication without an answer is enough.
                let second = match at.contains(&(threads, small)) && replication == 1 {
                    true => ",".to_owned(),
                    false => format!("30,{trip}"),
                };
                text += &format!("{replication},2,{threads},{small},guest2,{second}\n");
            }
        }
        let mut results = Results::new(1);
        let rows = rows::parse(&text).unwrap();
        results.add(4, &rows, &[TRIP]).unwrap();
        results
    }

    #[test]
    fn a_combination_without_answers_counts_nowhere() {
        let host = (2, 4);
        assert_eq!(silent(&[]).silent(0, host), []);
        // The best of all would be both switches, with which a guest has no answers.
        let results = silent(&[("4", "pool")]);
        let known = Silence {
            guests: 0,
            answered: 100,
        };
        let unknown = Silence {
            guests: 1,
            answered: 70,
        };
        assert_eq!(results.silent(0, host), [(0b1100, vec![known, unknown])]);
        let mtp = results.of_switch(0, host, 2);
        assert!(
            (mtp.effect().unwrap().percent() - 300.0).abs() < 1e-6,
            "{mtp:?}"
        );
        assert_eq!(mtp.star(), STAR);
        assert_eq!(results.of_all(0, host), Change::NoAnswers);
        let (best, gain) = results.best(0, host).unwrap();
        assert_eq!(best, 0b0100);
        assert!((gain.percent() - 300.0).abs() < 1e-6, "{gain:?}");
    }

    #[test]
    fn nothing_is_better_than_no_answers() {
        let host = (2, 4);
        let results = silent(&[("1", "grants")]);
        assert_eq!(results.best(0, host), None);
        assert_eq!(results.of_all(0, host), Change::NoAnswers);
        let mtp = results.of_switch(0, host, 2);
        assert_eq!(mtp.star(), STAR);
        let results = silent(&[("1", "grants"), ("4", "pool")]);
        assert_eq!(results.of_switch(0, host, 2), Change::NoAnswers);
        assert_eq!(results.of_switch(0, host, 0), Change::Absent);
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
