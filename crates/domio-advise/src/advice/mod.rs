//! Advice: which settings of a host help the guest that is worst off, and who pays for them.
//!
//! ```text
//! scenario ─▶ Host: levers and their values      explanation ─▶ Waits: causes, culprits
//!                   └──────────────┬────────────────────┘
//!                                moves ─▶ Runs: replications ─▶ Objective: figure, losses
//!                                  ▲            Search             │
//!                                  └───────────────────────────────┘
//! finalists ─▶ fresh replications ─▶ AdviceOutcome: settings, gains, commands
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `levers` | what can be set, its values and keys |
//! | `moves` | what to try next, by the causes of waits |
//! | `cost` | what a setting is judged by |
//! | `runs` | replications, counted and timed |
//! | `search` | which settings are tried, and which are worth more |
//! | `commands` | commands that apply and undo a setting |
//! | `answers` | what follows, in words and as an answer |
//!
//! Nothing is applied. The replications that are reported are none of those that the search has
//! seen: the best of many settings would look better than it is.

pub mod answers;
mod commands;
mod cost;
mod levers;
mod moves;
mod runs;
mod search;
#[cfg(test)]
mod tests;

pub use cost::WAITED;

use commands::commands;
use cost::{Judged, Judgement, Objective};
use domio_answer::rows;
use domio_meter::Why;
use domio_run::measure::Measures;
use domio_run::{Replicator, RunFault, Sample};
use domio_scenario::{ReplaySource, Scenario, ScenarioErrors};
use domio_stats::gains::{self, Gain, PART};
use domio_stats::{Difference, Estimate};
use levers::{Host, Settings};
use moves::Waits;
use runs::{Budget, Runs};
use search::{AS_GOOD, FULL, SIMPLER, Search, Tried, size};

/// What is asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct AdvicePlan {
    /// Names of the domains that settings are for; none for those that block.
    pub guests: Vec<String>,
    /// Key of the figure: [`WAITED`], or one that `run` has.
    pub figure: String,
    /// Largest part that another domain may lose, from 0 to 1.
    pub bound: f64,
    /// Replications of each setting that is reported, 2 at least.
    pub replications: u32,
    /// Replications in all, of all settings.
    pub evaluations: u64,
    /// Seconds after which no more is tried.
    pub time_limit_s: Option<f64>,
    /// Settings that are reported, at most.
    pub shown: usize,
}

impl Default for AdvicePlan {
    fn default() -> Self {
        AdvicePlan {
            guests: Vec::new(),
            figure: WAITED.to_owned(),
            bound: 0.2,
            replications: 8,
            evaluations: 300,
            time_limit_s: None,
            shown: 4,
        }
    }
}

/// Makes what has the demands of a scenario's replays.
pub type AdviceSource<'s> = dyn Fn(&Scenario) -> Box<dyn ReplaySource + 's> + Sync + 's;

/// What the search is told from outside, and tells.
pub struct AdviceEars<'e> {
    /// Seconds since the search began.
    pub elapsed: &'e dyn Fn() -> f64,
    /// Hears a sentence on each better setting.
    pub better: &'e dyn Fn(&str),
}

/// Why there is no advice.
#[derive(Debug, thiserror::Error)]
pub enum AdviceFault {
    /// The host is none that can be asked, or has no such guest or figure.
    #[error("{0}")]
    Host(String),
    /// The scenario cannot be built.
    #[error("{}", .0.render(false))]
    Scenario(ScenarioErrors),
    /// A run ended early.
    #[error(transparent)]
    Run(#[from] RunFault),
}

rows! {
    /// A key of the scenario that a setting changes.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct AdvisedChange {
        /// The key.
        pub key: String = key("key");
        /// Its value on the host.
        pub from: String = fact("from");
        /// Its value under the setting.
        pub to: String = fact("to");
    }

    /// A setting that was tried, by replications that the search has not seen.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AdvisedSetting {
        /// The setting in words.
        pub setting: String = key("setting");
        /// Whether it is advised: it helps, the help is proven and felt, and nobody loses more than
        /// the bound.
        pub advised: bool = fact("advised");
        /// The figure of the domain that is worst off.
        pub worst: Estimate = fact("worst");
        /// Name of that domain.
        pub worst_guest: String = fact("worst_guest").title("worst off");
        /// Difference from the host's own setting, paired by replication. The intervals of all
        /// settings hold together with 95 %.
        pub difference: Estimate = fact("difference");
        /// Whether the difference is beyond its interval.
        pub proven: bool = fact("proven");
        /// Whether the difference is large enough, and a domain in question feels some change for
        /// the better.
        pub felt: bool = fact("felt");
        /// The domain that loses most; null for none.
        pub payer: Option<String> = fact("payer").title("pays most");
        /// The part that this domain loses: of the time that it runs when it wants to, or of the
        /// figure, or of the 99 % quantile of its wake-ups.
        pub loss_pct: f64 = share("loss_pct").title("loses");
        /// What changes.
        pub changes: Vec<AdvisedChange> = parts("changes", []);
        /// Commands that apply the setting.
        pub apply: Vec<String> = parts("apply", [fact("command").doc("A command.")]);
        /// Commands that undo it.
        pub undo: Vec<String> = parts("undo", [fact("command").doc("A command.")]);
        /// Who gains and who pays, what matters most first.
        pub gains: Vec<Gain> = parts("gains", []);
    }

    /// What was asked, what was tried, and what came out.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AdviceOutcome {
        /// Name of the scenario or trace.
        pub scenario: String = fact("scenario");
        /// Name of the policy.
        pub policy: String = fact("policy");
        /// Seed of the random streams.
        pub seed: u64 = fact("seed");
        /// Key of the figure that settings are judged by.
        pub figure: String = fact("figure");
        /// The figure for people.
        pub title: String = fact("title");
        /// Its unit.
        pub unit: String = fact("unit");
        /// Whether a larger value is better.
        pub more_is_better: bool = fact("more_is_better");
        /// The domains in question.
        pub guests: Vec<String> = parts("guests", [fact("guest").doc("Name of a domain.")]);
        /// Largest part that another domain may lose.
        pub bound_pct: f64 = share("bound_pct");
        /// Replications of each setting that is reported.
        pub replications: u32 = fact("replications");
        /// Replications that were simulated in all.
        pub evaluations: u64 = count("evaluations");
        /// Settings that were tried, beside the host's own.
        pub tried: u64 = count("tried");
        /// Whether time ended the search, so that another machine may try more or less.
        pub out_of_time: bool = fact("out_of_time");
        /// Whether replications differ at all.
        pub varies: bool = fact("varies");
        /// The figure of the domain that is worst off under the host's own setting.
        pub worst: Estimate = fact("worst");
        /// Name of that domain.
        pub worst_guest: String = fact("worst_guest");
        /// What this domain waits for most; null where it does not wait.
        pub cause: Option<Why> = fact("cause");
        /// The domain behind which it waits most; null for none.
        pub behind: Option<String> = fact("behind");
        /// The settings, those that are advised first, the best first.
        pub settings: Vec<AdvisedSetting> = parts("settings", []);
    }
}

/// Searches settings of the host of `scenario` and simulates the best of them anew. `source` makes
/// what has the demands of its replays.
///
/// For a given number of evaluations the outcome is the same each time, unless the time limit is
/// reached.
///
/// # Errors
/// When the host has pools, or no such guest or figure; when the scenario makes no host, or a run
/// ends early.
pub fn run(
    scenario: &Scenario,
    plan: &AdvicePlan,
    measures: &Measures,
    source: &AdviceSource<'_>,
    replicator: &impl Replicator,
    ears: &AdviceEars<'_>,
) -> Result<AdviceOutcome, AdviceFault> {
    let host = Host::of(scenario)?;
    let runs = Runs {
        scenario,
        host: &host,
        source,
        replicator,
    };
    let mut budget = Budget {
        most: plan.evaluations,
        done: 0,
        limit: plan.time_limit_s,
        elapsed: ears.elapsed,
        out_of_time: false,
    };
    let own = Settings::new();
    let explained = runs.explained(&own, &mut budget)?;
    let waits = Waits::of(&host, &explained);
    let objective = objective(&host, plan, measures, &waits)?;
    let first = runs.samples(&[(&own, 0..FULL)], &mut budget, 0)?;
    let first = first.into_iter().flatten().next().unwrap_or_default();
    if first.is_empty() {
        let least = FULL + 2;
        return Err(AdviceFault::Host(format!(
            "{} evaluations are too few: {least} are needed to know the host as it is",
            plan.evaluations
        )));
    }
    let told = told(&host, &waits, &objective, &first);
    let better = |tried: &Tried, done: u64| {
        let label = host.label(&tried.settings);
        let mean = tried.judgement.mean().unwrap_or_default();
        let figure = answers::value(mean, objective.judged.unit());
        let (title, who) = (objective.judged.title(), whose(&host, &tried.judgement));
        (ears.better)(&format!(
            "after {done} evaluations: {label}: {title} {figure} ({who})"
        ));
    };
    let fresh = u64::from(plan.replications.max(2));
    // A small budget is shared between the search and what is reported.
    // A small budget is shared between the search and what is reported.
    let reserve = ((plan.shown as u64 + 1) * fresh).min(plan.evaluations / 2);
    let simpler = SIMPLER.min(plan.evaluations / 8);
    let mut search = Search::new(
        &runs,
        &objective,
        (budget, reserve + simpler),
        first,
        &better,
    );
    search.run(waits)?;
    search.reserve = reserve;
    let finalists = search.finalists(plan.shown)?;
    let reported = Reported {
        host: &host,
        objective: &objective,
        measures,
        xen: scenario.plan().host.version,
    };
    let (base, settings) = reported.fresh(&runs, &finalists, plan, &mut search.budget)?;
    Ok(AdviceOutcome {
        scenario: scenario.name().to_owned(),
        policy: host.policy.name.to_owned(),
        seed: scenario.plan().seed,
        figure: objective.judged.key().to_owned(),
        title: objective.judged.title().to_owned(),
        unit: objective.judged.unit().to_owned(),
        more_is_better: objective.judged.more_is_better(),
        guests: objective
            .of
            .iter()
            .map(|at| host.guests[*at].name.clone())
            .collect(),
        bound_pct: 100.0 * plan.bound,
        replications: plan.replications.max(2),
        evaluations: search.budget.done,
        tried: search.tried.len() as u64 - 1,
        out_of_time: search.budget.out_of_time,
        varies: search.full > 1,
        worst: estimate(&base.worst),
        worst_guest: whose(&host, &base),
        cause: told.0,
        behind: told.1,
        settings,
    })
}

/// What is wanted, of which domains.
fn objective(
    host: &Host,
    plan: &AdvicePlan,
    measures: &Measures,
    waits: &Waits,
) -> Result<Objective, AdviceFault> {
    let judged = Judged::named(&plan.figure, measures).ok_or_else(|| {
        let known: Vec<&str> = measures.figures().map(|figure| figure.key).collect();
        AdviceFault::Host(format!(
            "there is no figure `{}`; there are {WAITED}, {}",
            plan.figure,
            known.join(", ")
        ))
    })?;
    let mut of = Vec::new();
    for name in &plan.guests {
        let at = host.guests.iter().position(|guest| guest.name == *name);
        of.push(at.ok_or_else(|| {
            let known: Vec<&str> = host
                .guests
                .iter()
                .map(|guest| guest.name.as_str())
                .collect();
            AdviceFault::Host(format!(
                "there is no guest `{name}`; the host has {}",
                known.join(", ")
            ))
        })?);
    }
    of.sort_unstable();
    of.dedup();
    if of.is_empty() {
        // Who hardly loses time feels nothing of any setting.
        let floor = f64::from(domio_core::figure::floor::POINTS);
        let lost = |at: &usize| waits.lost_pct.get(at).copied().unwrap_or(0.0);
        let blocking = || waits.blocking.iter().copied();
        of = blocking().filter(|at| lost(at) >= floor).collect();
        if of.is_empty() {
            of = blocking().collect();
        }
    }
    if of.is_empty() {
        of = (0..host.guests.len()).collect();
    }
    Ok(Objective {
        judged,
        of,
        bound: plan.bound,
    })
}

/// What the domain that is worst off waits for, and behind whom.
fn told(
    host: &Host,
    waits: &Waits,
    objective: &Objective,
    own: &[Sample],
) -> (Option<Why>, Option<String>) {
    let order = objective.order(host, &Settings::new(), own);
    let Some(at) = order.first() else {
        return (None, None);
    };
    let cause = waits.lost.get(at).and_then(|lost| lost.first());
    let behind = waits.behind.get(at).into_iter().flatten();
    let behind = behind.max_by_key(|(whom, time)| (**time, usize::MAX - **whom));
    (
        cause.map(|(why, _)| *why),
        behind.map(|(whom, _)| host.guests[*whom].name.clone()),
    )
}

fn whose(host: &Host, judgement: &Judgement) -> String {
    judgement
        .whose
        .map_or_else(String::new, |at| host.guests[at].name.clone())
}

fn estimate(values: &[f64]) -> Estimate {
    Estimate::of(values).unwrap_or(Estimate {
        mean: 0.0,
        ci95: None,
        deviation: None,
        n: 0,
    })
}

/// What the reported settings are made with.
struct Reported<'r> {
    host: &'r Host,
    objective: &'r Objective,
    measures: &'r Measures,
    xen: domio_core::XenVersion,
}

impl Reported<'_> {
    /// Simulates the host as it is and `finalists` by replications that are new, and judges them.
    fn fresh(
        &self,
        runs: &Runs<'_, '_, impl Replicator>,
        finalists: &[Settings],
        plan: &AdvicePlan,
        budget: &mut Budget<'_>,
    ) -> Result<(Judgement, Vec<AdvisedSetting>), AdviceFault> {
        let own = Settings::new();
        let hosts = finalists.len() as u64 + 1;
        // What is reported has to be simulated, however long that takes: two replications each.
        let room = budget.room(0) / hosts;
        let count = room.clamp(2, u64::from(plan.replications.max(2))) as u32;
        budget.limit = None;
        budget.most = budget.most.max(budget.done + hosts * u64::from(count));
        let numbers = FULL..FULL + count;
        let wanted: Vec<_> = [&own]
            .into_iter()
            .chain(finalists)
            .map(|s| (s, numbers.clone()))
            .collect();
        let samples = runs.samples(&wanted, budget, 0)?;
        let samples: Vec<Vec<Sample>> =
            samples.into_iter().map(Option::unwrap_or_default).collect();
        let Some((before, others)) = samples.split_first() else {
            return Ok((Judgement::default(), Vec::new()));
        };
        let base = self.objective.judge(self.host, &own, before, before);
        let pairs = finalists
            .iter()
            .zip(others)
            .filter(|(_, samples)| !samples.is_empty());
        let mut all: Vec<(AdvisedSetting, f64)> = pairs
            .map(|(settings, samples)| {
                let setting = self.setting(settings, (before, &base), samples, finalists.len());
                (setting, size(self.host, settings))
            })
            .collect();
        let cost = |s: &AdvisedSetting| self.objective.cost(s.worst.mean);
        all.sort_by(|(a, _), (b, _)| {
            (!a.advised)
                .cmp(&!b.advised)
                .then(cost(a).total_cmp(&cost(b)))
        });
        // Of those that are as good as the best one, the one that changes least comes first.
        if let (Some(best), Some(own)) = (all.first().map(|(s, _)| cost(s)), base.mean()) {
            let gain = self.objective.cost(own) - best;
            let as_good =
                |s: &AdvisedSetting| s.advised && cost(s) <= best + AS_GOOD * gain.max(0.0);
            let good = all.iter().enumerate().filter(|(_, (s, _))| as_good(s));
            let simplest = good
                .min_by(|(_, a), (_, b)| a.1.total_cmp(&b.1))
                .map(|(at, _)| at);
            if let Some(at) = simplest {
                let first = all.remove(at);
                all.insert(0, first);
            }
        }
        Ok((base, all.into_iter().map(|(setting, _)| setting).collect()))
    }

    /// One setting, of `settings` that are reported.
    fn setting(
        &self,
        settings: &Settings,
        (before, base): (&[Sample], &Judgement),
        samples: &[Sample],
        together: usize,
    ) -> AdvisedSetting {
        let host = self.host;
        let judgement = self.objective.judge(host, settings, samples, before);
        let worst = estimate(&judgement.worst);
        let paired = Difference::paired(&judgement.worst, &base.worst);
        // The settings hold together with 95 %: each may miss with its part of the rest.
        let interval = paired.map(|paired| paired.interval(0.05 / together.max(1) as f64));
        let from = base.mean().unwrap_or_default();
        let difference = Estimate {
            mean: paired.map_or(worst.mean - from, |paired| paired.mean),
            ci95: interval,
            deviation: None,
            n: judgement.worst.len(),
        };
        let helps = self.objective.cost(difference.mean) < 0.0;
        let proven = interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
        let size = difference.mean.abs();
        let is_large = size >= self.objective.judged.floor()
            && size >= PART * from.abs().max(worst.mean.abs());
        let names: Vec<String> = host.guests.iter().map(|guest| guest.name.clone()).collect();
        let label = host.label(settings);
        let variants = [
            ("as it is".to_owned(), before.to_vec()),
            (label.clone(), samples.to_vec()),
        ];
        let gains = gains::changes(self.measures, &names, &variants);
        // A part of next to no time may be large, and nobody feels the difference.
        let ours = |name: &String| self.objective.of.iter().any(|at| names[*at] == *name);
        let felt = is_large && gains.iter().any(|g| g.gains && g.felt && ours(&g.domain));
        let changes = settings.iter().map(|(lever, to)| AdvisedChange {
            key: host.key(*lever),
            from: host
                .own(*lever)
                .map_or_else(String::new, |from| host.toml(*lever, &from)),
            to: host.toml(*lever, to),
        });
        AdvisedSetting {
            setting: label,
            advised: helps && proven && felt && self.objective.is_borne(&judgement),
            worst,
            worst_guest: whose(host, &judgement),
            difference,
            proven,
            felt,
            payer: judgement.pays.map(|(at, _)| host.guests[at].name.clone()),
            loss_pct: judgement.pays.map_or(0.0, |(_, loss)| 100.0 * loss),
            changes: changes.collect(),
            apply: commands(host, self.xen, settings, false),
            undo: commands(host, self.xen, settings, true),
            gains,
        }
    }
}
