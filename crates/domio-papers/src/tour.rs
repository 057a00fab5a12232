//! The host that `domio reproduce` shows first: one scenario under three schedulers.

use domio_scenario::{Scenario, ScenarioErrors};

/// Name of the shipped scenario.
pub const SCENARIO: &str = "small-host";

/// Replications behind each figure.
pub const REPLICATIONS: u32 = 10;

/// The schedulers: what they are called, and the changes to the scenario.
///
/// The release of the host goes with that of the policy.
const SCHEDULERS: [(&str, &[(&str, &str)]); 3] = [
    ("round-robin", &[("scheduler.policy", "round-robin")]),
    (
        "credit 3.1",
        &[("host.xen", "3.1"), ("scheduler.version", "3.1")],
    ),
    (
        "credit 4.17",
        &[("host.xen", "4.17"), ("scheduler.version", "4.17")],
    ),
];

/// The scenario under each scheduler, with the scheduler's name, for the given seed.
///
/// # Errors
/// When the scenario that ships with this program has mistakes.
pub fn hosts(seed: u64) -> Result<Vec<(String, Scenario)>, ScenarioErrors> {
    let text = domio_scenario::example(SCENARIO).unwrap_or_default();
    let scenario = Scenario::parse(SCENARIO, text.as_bytes(), domio_sched::policies())?;
    let seed = seed.to_string();
    SCHEDULERS
        .iter()
        .map(|(name, changes)| {
            let changes = [*changes, &[("seed", &seed)]].concat();
            Ok(((*name).to_owned(), scenario.with(&changes)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::NullSink;
    use domio_run::measure;
    use domio_run::simulate::{domains, simulate};
    use domio_scenario::NoReplay;

    #[test]
    fn the_schedulers_treat_the_web_server_differently() {
        let wait = |scenario: &Scenario| {
            let built = scenario.build(&NoReplay).unwrap();
            assert_eq!(built.seed, 5);
            let result = simulate(&built, 0, NullSink).unwrap();
            let sample = measure::sample(&result.summary, &domains(&built));
            sample.get("web.wake_p95_us").unwrap()
        };
        let hosts = hosts(5).unwrap();
        let waits: Vec<f64> = hosts.iter().map(|(_, scenario)| wait(scenario)).collect();
        assert!(waits[0] > 20_000.0, "no boost in turns: {waits:?}");
        assert!(waits[1] < waits[2] && waits[2] < 5_000.0, "{waits:?}");
    }
}
