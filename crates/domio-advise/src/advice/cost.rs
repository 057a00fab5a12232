//! What a setting is judged by: the figure of the guest that is worst off, and what others lose.

use super::levers::{Host, Settings};
use domio_core::accounted::{PARKED, SHARE, WAITING, WAKE_P99};
use domio_core::{Better, Figure};
use domio_run::Sample;
use domio_run::measure::Measures;

/// Key of the figure by which settings are judged where nobody names one.
pub const WAITED: &str = "waited_pct";

/// Time that a domain wanted to run (% of the time of its vcpus) below which it has no figure.
const WANTED_LEAST: f64 = 0.001;

/// A wake-up that comes later by less than this (us) is not felt.
const WAKE_FLOOR_US: f64 = domio_core::figure::floor::WAIT_US as f64;

/// The figure by which settings are judged.
#[derive(Clone, Copy, Debug)]
pub(super) enum Judged {
    /// Part of the time that a domain wanted to run in which it waited or was parked (%).
    Waited,
    /// A figure that `run` and `compare` have.
    Figure(&'static Figure),
}

impl Judged {
    /// The figure called `key`.
    pub fn named(key: &str, measures: &Measures) -> Option<Judged> {
        match key == WAITED {
            true => Some(Judged::Waited),
            false => measures.figure(key).map(Judged::Figure),
        }
    }

    /// Its name for people.
    pub fn title(&self) -> &'static str {
        match self {
            Judged::Waited => "waited",
            Judged::Figure(figure) => figure.title,
        }
    }

    /// Its name for programs.
    pub fn key(&self) -> &'static str {
        match self {
            Judged::Waited => WAITED,
            Judged::Figure(figure) => figure.key,
        }
    }

    /// Its unit.
    pub fn unit(&self) -> &'static str {
        match self {
            Judged::Waited => "% of wanted time",
            Judged::Figure(figure) => figure.unit,
        }
    }

    /// Whether a larger value is better. A share is something to gain.
    pub fn more_is_better(&self) -> bool {
        match self {
            Judged::Waited => false,
            Judged::Figure(figure) => figure.better != Better::Lower,
        }
    }

    /// The least difference that is felt.
    pub fn floor(&self) -> f64 {
        match self {
            Judged::Waited => f64::from(domio_core::figure::floor::POINTS),
            Judged::Figure(figure) => figure.felt.floor().map_or(0.0, f64::from),
        }
    }

    /// The value of a domain of so many vcpus in one replication.
    fn value(&self, sample: &Sample, name: &str, vcpus: usize) -> Option<f64> {
        match self {
            Judged::Waited => served(sample, name, vcpus).map(|served| 100.0 * (1.0 - served)),
            Judged::Figure(figure) => {
                let counted = figure.better == Better::Higher;
                let there = sample.get(&format!("{name}.{SHARE}")).is_some();
                let nothing = (counted && there).then_some(0.0);
                sample.get(&figure.name(name)).or(nothing)
            }
        }
    }
}

/// The part of the time that a domain of so many vcpus wanted to run in which it ran.
pub(super) fn served(sample: &Sample, name: &str, vcpus: usize) -> Option<f64> {
    let get = |key: &str| sample.get(&format!("{name}.{key}"));
    let ran = get(SHARE)? / vcpus as f64;
    let lost = get(WAITING).unwrap_or(0.0) + get(PARKED).unwrap_or(0.0);
    let wanted = ran + lost;
    (wanted > WANTED_LEAST).then(|| ran / wanted)
}

/// What is wanted of a setting.
pub(super) struct Objective {
    /// The figure.
    pub judged: Judged,
    /// The domains that it is judged by, by their places.
    pub of: Vec<usize>,
    /// Largest part that another domain may lose.
    pub bound: f64,
}

/// What one setting gave, by replication, and what it costs others.
#[derive(Clone, Debug, Default)]
pub(super) struct Judgement {
    /// The figure of the domain that is worst off, in each replication.
    pub worst: Vec<f64>,
    /// The domain that is worst off on average.
    pub whose: Option<usize>,
    /// The other domain that loses most, and the part that it loses.
    pub pays: Option<(usize, f64)>,
}

impl Objective {
    /// Costs: smaller is better.
    pub fn cost(&self, value: f64) -> f64 {
        match self.judged.more_is_better() {
            true => -value,
            false => value,
        }
    }

    /// The domains in question, the worst off first.
    pub fn order(&self, host: &Host, settings: &Settings, samples: &[Sample]) -> Vec<usize> {
        let cost = |at: usize| {
            let (name, vcpus) = (&host.guests[at].name, host.vcpus(settings, at));
            let all: Vec<f64> = samples
                .iter()
                .filter_map(|s| self.judged.value(s, name, vcpus))
                .collect();
            domio_stats::mean(&all).map_or(f64::NEG_INFINITY, |mean| self.cost(mean))
        };
        let mut order: Vec<(usize, f64)> = self.of.iter().map(|at| (*at, cost(*at))).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order.into_iter().map(|(at, _)| at).collect()
    }

    /// Judges the samples of `settings`, with those of the scenario itself with the same numbers.
    pub fn judge(
        &self,
        host: &Host,
        settings: &Settings,
        samples: &[Sample],
        own: &[Sample],
    ) -> Judgement {
        let plain = Settings::new();
        let pairs = || samples.iter().zip(own);
        let value = |at: usize, settings: &Settings, sample: &Sample| {
            let name = &host.guests[at].name;
            self.judged.value(sample, name, host.vcpus(settings, at))
        };
        // Of domains that have the figure.
        let mut sums: Vec<Option<f64>> = vec![None; self.of.len()];
        let mut worst = Vec::new();
        for (sample, before) in pairs() {
            let mut of_all: Option<f64> = None;
            for (place, at) in self.of.iter().enumerate() {
                let now = value(*at, settings, sample);
                let gone = value(*at, &plain, before).and_then(|before| self.gone(before));
                let Some(now) = now.or(gone) else {
                    continue;
                };
                *sums[place].get_or_insert(0.0) += self.cost(now);
                let is_worse = |other: f64| self.cost(now) > self.cost(other);
                if of_all.is_none_or(is_worse) {
                    of_all = Some(now);
                }
            }
            worst.extend(of_all);
        }
        let places = sums.iter().enumerate();
        let places = places.filter_map(|(place, sum)| Some((place, (*sum)?)));
        let places = places.max_by(|a, b| a.1.total_cmp(&b.1));
        Judgement {
            worst,
            whose: places.map(|(place, _)| self.of[place]),
            pays: self.pays(host, settings, samples, own),
        }
    }

    /// The value of a figure that a domain had, and has no more, as no job ended and no wake-up
    /// ran: nothing, or much longer times than `before`. A domain that does not want to run any
    /// more does not wait.
    fn gone(&self, before: f64) -> Option<f64> {
        const LONGER: f64 = 1_000.0;
        match self.judged {
            Judged::Waited => None,
            Judged::Figure(_) if self.judged.more_is_better() => Some(0.0),
            Judged::Figure(_) => Some(LONGER * before.max(self.judged.floor()).max(1.0)),
        }
    }

    /// The domain that loses most, of those that the setting is not for. With several domains in
    /// question each of them is another one's neighbour, and may not lose more than the bound.
    fn pays(
        &self,
        host: &Host,
        settings: &Settings,
        samples: &[Sample],
        own: &[Sample],
    ) -> Option<(usize, f64)> {
        let all = 0..host.guests.len();
        let others = all.filter(|at| self.of[..] != [*at]);
        let losses = others.filter_map(|at| {
            let loss = self.loss(host, at, settings, samples, own);
            (loss > 0.0).then_some((at, loss))
        });
        losses.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The part that a domain loses: of the time that it runs when it wants to, or of the figure
    /// in question, or of the 99 % quantile of its wake-ups, where that is felt. 0 for nothing.
    fn loss(
        &self,
        host: &Host,
        at: usize,
        settings: &Settings,
        samples: &[Sample],
        own: &[Sample],
    ) -> f64 {
        let name = &host.guests[at].name;
        let plain = Settings::new();
        let mean = |samples: &[Sample], of: &dyn Fn(&Sample) -> Option<f64>| {
            let all: Vec<f64> = samples.iter().filter_map(of).collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        };
        let both = |of: &dyn Fn(&Sample, usize) -> Option<f64>| {
            let before = mean(own, &|s| of(s, host.vcpus(&plain, at)))?;
            let after = mean(samples, &|s| of(s, host.vcpus(settings, at)));
            Some((before, after))
        };
        let served = both(&|s, vcpus| served(s, name, vcpus));
        let less = served.map_or(0.0, |(before, after)| 1.0 - after.unwrap_or(0.0) / before);
        let late = both(&|s, _| s.get(&format!("{name}.{WAKE_P99}")));
        let late = late.map_or(0.0, |(before, after)| match after {
            // Nothing woke: what that means for the domain is in the time that it got.
            None => 0.0,
            Some(after) if after - before < WAKE_FLOOR_US => 0.0,
            Some(after) => 1.0 - before / after,
        });
        let figure = match self.judged {
            Judged::Waited => None,
            Judged::Figure(_) => both(&|s, vcpus| self.judged.value(s, name, vcpus)),
        };
        let figure = figure.map_or(0.0, |(before, after)| {
            let more = self.judged.more_is_better();
            let after = after.unwrap_or(before);
            let (large, small) = if more {
                (before, after)
            } else {
                (after, before)
            };
            match large - small >= self.judged.floor() && large > 0.0 {
                true => 1.0 - small / large,
                false => 0.0,
            }
        });
        less.max(late).max(figure)
    }

    /// Whether nobody loses more than the bound.
    pub fn is_borne(&self, judgement: &Judgement) -> bool {
        judgement.pays.is_none_or(|(_, loss)| loss <= self.bound)
    }
}

impl Judgement {
    /// Mean of the figure of the domain that is worst off; `None` without any.
    pub fn mean(&self) -> Option<f64> {
        domio_stats::mean(&self.worst)
    }
}
