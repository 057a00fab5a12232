//! What advice is asked for, what it is given, and why there may be none.

use super::cost::WAITED;
use domio_run::RunFault;
use domio_scenario::{ReplaySource, Scenario, ScenarioErrors};

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
