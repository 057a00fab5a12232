//! The search: best first, from the scenario's own setting, each step by the causes of waits.
//!
//! One replication shows which moves are worth more, further ones which of them are best. Settings
//! are compared by replications of the same numbers, which draw the same random numbers. The order
//! of all that is done depends on samples alone, and never on time, which only ends the search.

use super::cost::{Judgement, Objective};
use super::levers::{Host, Lever, Settings, Value};
use super::moves::{Start, Waits};
use super::plan::AdviceFault;
use super::runs::{Budget, Runs};
use domio_core::accounted::SHARE;
use domio_run::{Replicator, Sample};
use std::collections::{BTreeMap, BTreeSet};

/// Replications that decide between moves.
pub(super) const FULL: u32 = 4;
/// Moves that get so many, of all that one replication was simulated of.
const KEPT: usize = 8;
/// Moves one after the other from the scenario's own setting, at most.
const DEPTH: u32 = 4;
/// Settings that gain so much less than the best one count as equally good; the one that changes
/// least comes first.
pub(super) const AS_GOOD: f64 = 0.03;

/// Evaluations that are kept for finding out what of a setting is not needed.
pub(super) const SIMPLER: u64 = 48;

/// A setting that was simulated.
pub(super) struct Tried {
    pub settings: Settings,
    /// Moves from the scenario's own setting to this one.
    depth: u32,
    samples: Vec<Sample>,
    pub judgement: Judgement,
    /// Whether moves from here were tried.
    expanded: bool,
}

/// The search under way.
pub(super) struct Search<'s, 'a, 'c, R: Replicator> {
    pub host: &'s Host,
    pub objective: &'s Objective,
    pub runs: &'s Runs<'s, 'a, R>,
    pub budget: Budget<'c>,
    /// Evaluations that are kept for what comes after the search.
    pub reserve: u64,
    /// Replications 0 to [`FULL`] - 1 of the scenario's own setting.
    own: Vec<Sample>,
    /// Replications that decide: 1 where all are the same.
    pub full: u32,
    pub tried: Vec<Tried>,
    known: BTreeSet<Settings>,
    /// Hears of each better setting.
    heard: &'s dyn Fn(&Tried, u64),
}

impl<'s, 'a, 'c, R: Replicator> Search<'s, 'a, 'c, R> {
    /// A search that begins at the scenario's own setting, whose first replications are `own`.
    pub fn new(
        runs: &'s Runs<'s, 'a, R>,
        objective: &'s Objective,
        (budget, reserve): (Budget<'c>, u64),
        own: Vec<Sample>,
        heard: &'s dyn Fn(&Tried, u64),
    ) -> Self {
        let same = own.windows(2).all(|two| two[0] == two[1]);
        let settings = Settings::new();
        let first = Tried {
            judgement: objective.judge(runs.host, &settings, &own, &own),
            settings: settings.clone(),
            depth: 0,
            samples: own.clone(),
            expanded: false,
        };
        Search {
            host: runs.host,
            objective,
            runs,
            budget,
            reserve,
            own,
            full: if same { 1 } else { FULL },
            tried: vec![first],
            known: BTreeSet::from([settings]),
            heard,
        }
    }

    /// Goes on until the budget is used up, or nothing is left to try. `waits` are those under the
    /// scenario's own setting.
    ///
    /// # Errors
    /// A run that ended early.
    pub fn run(&mut self, waits: Waits) -> Result<(), AdviceFault> {
        let mut waits = Some(waits);
        while let Some(at) = self.next() {
            self.tried[at].expanded = true;
            let settings = self.tried[at].settings.clone();
            let waits = match waits.take() {
                Some(first) => first,
                None if self.budget.room(self.reserve) == 0 => break,
                None => {
                    let explained = self.runs.explained(&settings, &mut self.budget)?;
                    Waits::of(self.host, &explained)
                }
            };
            self.expand(at, &waits)?;
            if self.budget.room(self.reserve) == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The best setting from which no moves were tried yet.
    fn next(&self) -> Option<usize> {
        let open = self.tried.iter().enumerate().filter(|(_, tried)| {
            let is_full = tried.samples.len() >= self.full as usize;
            let borne = self.objective.is_borne(&tried.judgement);
            !tried.expanded && tried.depth < DEPTH && is_full && borne
        });
        let cost = |tried: &Tried| self.cost(&tried.judgement);
        let best = open.min_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)));
        best.map(|(at, _)| at)
    }

    /// The cost of a setting; nothing is worse than one without figures.
    pub fn cost(&self, judgement: &Judgement) -> f64 {
        let mean = judgement.mean();
        mean.map_or(f64::INFINITY, |mean| self.objective.cost(mean))
    }

    /// Tries the moves from one setting.
    fn expand(&mut self, at: usize, waits: &Waits) -> Result<(), AdviceFault> {
        let from = &self.tried[at];
        let victims = self
            .objective
            .order(self.host, &from.settings, &from.samples);
        let shares = self.shares(&from.samples);
        let start = Start {
            host: self.host,
            settings: &from.settings,
            victims: &victims,
            waits,
            shares: &shares,
        };
        let depth = from.depth + 1;
        let moves = start.moves().into_iter();
        let moves: Vec<Settings> = moves.filter(|m| !self.known.contains(m)).collect();
        let wanted: Vec<_> = moves.iter().map(|settings| (settings, 0..1)).collect();
        let samples = self.runs.samples(&wanted, &mut self.budget, self.reserve)?;
        let mut new: Vec<usize> = Vec::new();
        for (settings, samples) in moves.into_iter().zip(samples) {
            self.known.insert(settings.clone());
            let Some(samples) = samples else {
                continue;
            };
            new.push(self.tried.len());
            self.tried.push(Tried {
                judgement: self
                    .objective
                    .judge(self.host, &settings, &samples, &self.own),
                settings,
                depth,
                samples,
                expanded: false,
            });
            if self.full == 1 {
                self.hear(self.tried.len() - 1);
            }
        }
        // Those that nobody pays too much for first, and some of the others, to name what they
        // would give.
        let borne = |at: &usize| self.objective.is_borne(&self.tried[*at].judgement);
        let cost = |at: &usize| self.cost(&self.tried[*at].judgement);
        new.sort_by(|a, b| {
            (!borne(a))
                .cmp(&!borne(b))
                .then(cost(a).total_cmp(&cost(b)))
        });
        let dear = new.iter().position(|at| !borne(at)).unwrap_or(new.len());
        let mut kept: Vec<usize> = new[..dear].iter().copied().take(KEPT).collect();
        kept.extend(new[dear..].iter().take(1));
        self.complete(&kept)
    }

    /// Simulates the missing replications of some settings.
    fn complete(&mut self, of: &[usize]) -> Result<(), AdviceFault> {
        if self.full == 1 {
            return Ok(());
        }
        let settings: Vec<Settings> = of
            .iter()
            .map(|at| self.tried[*at].settings.clone())
            .collect();
        let wanted: Vec<_> = settings
            .iter()
            .map(|settings| (settings, 1..self.full))
            .collect();
        let samples = self.runs.samples(&wanted, &mut self.budget, self.reserve)?;
        for (at, samples) in of.iter().zip(samples) {
            let tried = &mut self.tried[*at];
            tried.samples.extend(samples.into_iter().flatten());
            tried.judgement =
                self.objective
                    .judge(self.host, &tried.settings, &tried.samples, &self.own);
            self.hear(*at);
        }
        Ok(())
    }

    /// Reports the setting if it is better than all others so far, and nobody pays too much for it.
    fn hear(&self, at: usize) {
        let tried = &self.tried[at];
        let full = self.full as usize;
        let counts = |t: &&Tried| t.samples.len() >= full && self.objective.is_borne(&t.judgement);
        let others = self.tried.iter().enumerate();
        let others = others
            .filter(|(other, t)| *other != at && counts(t))
            .map(|(_, t)| t);
        let before = others
            .map(|t| self.cost(&t.judgement))
            .fold(f64::INFINITY, f64::min);
        if counts(&tried) && self.cost(&tried.judgement) < before {
            (self.heard)(tried, self.budget.done);
        }
    }

    /// Share of each domain (% of one pcpu).
    fn shares(&self, samples: &[Sample]) -> Vec<f64> {
        let share = |name: &str| {
            let key = format!("{name}.{SHARE}");
            let all: Vec<f64> = samples.iter().filter_map(|s| s.get(&key)).collect();
            domio_stats::mean(&all).unwrap_or(0.0)
        };
        self.host
            .guests
            .iter()
            .map(|guest| share(&guest.name))
            .collect()
    }

    /// What is worth to be simulated anew, without what is not needed: the best setting, the best
    /// ones of other kinds, and the best one of those that somebody pays too much for. So many at
    /// most.
    ///
    /// # Errors
    /// A run that ended early.
    pub fn finalists(&mut self, most: usize) -> Result<Vec<Settings>, AdviceFault> {
        let own = self.cost(&self.tried[0].judgement);
        let order = |search: &Self, borne: bool| {
            let all = search
                .tried
                .iter()
                .enumerate()
                .skip(1)
                .filter(|(_, tried)| {
                    let better = search.cost(&tried.judgement) < own;
                    search.is_full(tried) && better && search.is_borne(tried) == borne
                });
            let mut all: Vec<(usize, f64)> = all
                .map(|(at, tried)| (at, search.cost(&tried.judgement)))
                .collect();
            all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            all
        };
        let borne = order(self, true);
        let best = borne.first().map_or(own, |(_, cost)| *cost);
        let enough = best + AS_GOOD * (own - best);
        let size = |at: usize| size(self.host, &self.tried[at].settings);
        let good = borne.iter().filter(|(_, cost)| *cost <= enough);
        let simplest = good
            .min_by(|a, b| size(a.0).total_cmp(&size(b.0)))
            .map(|(at, _)| *at);
        let others = borne.iter().map(|(at, _)| *at);
        let candidates: Vec<usize> = simplest.into_iter().chain(others).collect();
        let mut chosen: Vec<Settings> = Vec::new();
        let mut kinds: BTreeSet<Vec<&str>> = BTreeSet::new();
        for at in candidates {
            let is_new = kinds.insert(kind(&self.tried[at].settings));
            if !is_new || chosen.len() + 1 >= most {
                continue;
            }
            let at = self.simplified(at, own)?;
            let settings = &self.tried[at].settings;
            kinds.insert(kind(settings));
            // What contains another one that is chosen adds nothing that is needed.
            let contains = |other: &Settings| other.iter().all(|(l, v)| settings.get(l) == Some(v));
            if !chosen.iter().any(contains) {
                chosen.push(settings.clone());
            }
        }
        let dearest = order(self, false).first().copied();
        let dearest = dearest.filter(|(_, cost)| *cost < best);
        chosen.extend(dearest.map(|(at, _)| self.tried[at].settings.clone()));
        Ok(chosen)
    }

    fn is_full(&self, tried: &Tried) -> bool {
        tried.samples.len() >= self.full as usize
    }

    fn is_borne(&self, tried: &Tried) -> bool {
        self.objective.is_borne(&tried.judgement)
    }

    /// The setting without what gains next to nothing, against the cost of the scenario's own. What
    /// belongs together is left out together: levers of one kind that are moved the same way.
    fn simplified(&mut self, mut at: usize, own: f64) -> Result<usize, AdviceFault> {
        loop {
            let from = &self.tried[at];
            let (cost, depth) = (self.cost(&from.judgement), from.depth);
            let units = units(self.host, &from.settings);
            if units.len() < 2 {
                return Ok(at);
            }
            let without = |unit: &Vec<Lever>| {
                let mut settings = from.settings.clone();
                settings.retain(|lever, _| !unit.contains(lever));
                settings
            };
            let smaller: Vec<Settings> = units.iter().map(without).collect();
            let tried = |search: &Self, settings: &Settings| {
                search
                    .tried
                    .iter()
                    .position(|tried| tried.settings == *settings)
            };
            let missing = |settings: &&Settings| match tried(self, settings) {
                Some(at) => !self.is_full(&self.tried[at]),
                None => true,
            };
            let missing: Vec<&Settings> = smaller.iter().filter(missing).collect();
            let wanted: Vec<_> = missing
                .iter()
                .map(|settings| (*settings, 0..self.full))
                .collect();
            let samples = self.runs.samples(&wanted, &mut self.budget, self.reserve)?;
            for (settings, samples) in missing.into_iter().zip(samples) {
                let Some(samples) = samples else {
                    continue;
                };
                let new = Tried {
                    judgement: self
                        .objective
                        .judge(self.host, settings, &samples, &self.own),
                    settings: settings.clone(),
                    depth,
                    samples,
                    expanded: true,
                };
                match tried(self, settings) {
                    Some(at) => self.tried[at] = new,
                    None => self.tried.push(new),
                }
            }
            let enough = cost + AS_GOOD * (own - cost).max(0.0);
            let good = smaller.iter().filter_map(|settings| tried(self, settings));
            let good = good.filter(|at| {
                let tried = &self.tried[*at];
                let is_enough = self.cost(&tried.judgement) <= enough;
                self.is_full(tried) && self.is_borne(tried) && is_enough
            });
            let cost_of = |at: &usize| self.cost(&self.tried[*at].judgement);
            match good.min_by(|a, b| cost_of(a).total_cmp(&cost_of(b))) {
                Some(simpler) => at = simpler,
                None => return Ok(at),
            }
        }
    }
}

/// Levers that belong together: of one kind, and moved the same way.
fn units(host: &Host, settings: &Settings) -> Vec<Vec<Lever>> {
    let mut units: BTreeMap<(&str, bool), Vec<Lever>> = BTreeMap::new();
    for (lever, value) in settings {
        // A quota and its period are one limit, pins of all domains one arrangement.
        let what = match Host::what(*lever) {
            "quota_us" | "period_us" | "burst_us" | "vcpu_quota_us" | "emulator_quota_us"
            | "iothread_quota_us" => "limit",
            "budget_us" | "slice_us" => "reservation",
            what => what,
        };
        let more = host.own(*lever).is_some_and(|own| own < *value);
        let is_number = value.number().is_some() && !["limit", "reservation"].contains(&what);
        units
            .entry((what, is_number && more))
            .or_default()
            .push(*lever);
    }
    units.into_values().collect()
}

/// How much `settings` change: kinds of levers first, then levers, then how far each is moved.
pub(super) fn size(host: &Host, settings: &Settings) -> f64 {
    let far = |(lever, value): (&Lever, &Value)| {
        let from = host.own(*lever).and_then(|value| value.number());
        match (from, value.number()) {
            (Some(from), Some(to)) if from > 0 && to > 0 => (to as f64 / from as f64).ln().abs(),
            _ => 1.0,
        }
    };
    let moved: f64 = settings.iter().map(far).sum();
    100.0 * kind(settings).len() as f64 + settings.len() as f64 + moved / 100.0
}

/// The kinds of levers that settings move.
fn kind(settings: &Settings) -> Vec<&'static str> {
    let all: BTreeSet<&'static str> = settings.keys().map(|lever| Host::what(*lever)).collect();
    all.into_iter().collect()
}
