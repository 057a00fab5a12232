//! Hosts of scenarios: built with the recordings beside their files, and simulated.

use crate::scenarios::mistakes;
use crate::traces;
use domio_run::simulate::{self, RunFault};
use domio_scenario::{Built, Scenario};
use std::borrow::Cow;
use std::fmt;

/// What the simulator takes.
///
/// # Errors
/// When a recording that the scenario replays cannot be used.
pub fn build(scenario: &Scenario) -> anyhow::Result<Built> {
    let source = traces::recorded(scenario);
    scenario.build(&source).map_err(mistakes)
}

/// What is to be known of a scenario, and of the files that it names.
pub fn notices<'n>(scenario: &'n Scenario, built: &'n Built) -> impl Iterator<Item = &'n String> {
    scenario.notices().iter().chain(&built.notices)
}

/// What the simulator takes for replication `replication` of `scenario`, which is built as `built`.
///
/// # Errors
/// When what was drawn for it makes no host.
pub fn of_replication<'b>(
    scenario: &Scenario,
    built: &'b Built,
    replication: u32,
) -> Result<Cow<'b, Built>, RunFault> {
    simulate::of_replication(scenario, built, &traces::recorded(scenario), replication)
}

/// A run that did not get to its end, told with the state of the host.
#[derive(Clone, Debug)]
pub struct HostFailed(pub RunFault);

impl fmt::Display for HostFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fault, dump) = (&self.0, self.0.dump.trim_end());
        write!(
            f,
            "{fault}\n{dump}\nif the policy is your own, correct it; \
             if it ships with domio, report this with the scenario and the seed"
        )
    }
}

impl std::error::Error for HostFailed {}

/// The error that says what happened under which policy, and in which state.
pub fn failed(fault: &RunFault) -> anyhow::Error {
    anyhow::Error::new(HostFailed(fault.clone()))
}

/// Length of the measured time in milliseconds.
pub fn measured_ms(built: &Built) -> f64 {
    built.duration.as_nanos() as f64 / 1e6
}
