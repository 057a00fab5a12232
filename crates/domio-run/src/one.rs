//! The short way: the text of a scenario in, its figures out.

use crate::driver_work::OwnersOnly;
use crate::replicator::Heard;
use crate::sample::Sample;
use crate::simulate::{RunFault, measured, of_replication};
use domio_scenario::{NoReplay, ReplaySource, Scenario, ScenarioErrors};

/// Why a text has no figures.
#[derive(Debug, thiserror::Error)]
pub enum RunOneError {
    /// It is no scenario, or one that replays a recording, which takes a file.
    #[error("{}", .0.render(false))]
    Scenario(ScenarioErrors),
    /// The simulation did not get to its end.
    #[error(transparent)]
    Run(#[from] RunFault),
}

/// Simulates replication `number` of the scenario that `text` is (TOML), with other values at the
/// keys of `overrides`, as `("run.duration_s", "3")`. With `seed` every random stream begins
/// elsewhere than the scenario says.
///
/// The figures are those of `domio run`: the measures of each domain ([`crate::measure`]), drops
/// by place, the work of driver domains by owner. The same arguments give the same figures, to the
/// bit and on any machine.
///
/// # Errors
/// All mistakes of the text together; or what ended the simulation early.
pub fn run_one(
    text: &str,
    overrides: &[(&str, &str)],
    seed: Option<u64>,
    number: u32,
) -> Result<Sample, RunOneError> {
    let parsed = Scenario::parse("scenario", text.as_bytes(), domio_sched::policies());
    let seed = seed.map(|seed| seed.to_string());
    let mut changes = overrides.to_vec();
    changes.extend(seed.as_deref().map(|seed| ("seed", seed)));
    let scenario = parsed.and_then(|scenario| scenario.with(&changes));
    let scenario = scenario.map_err(RunOneError::Scenario)?;
    run_scenario(&scenario, &NoReplay, number, &|_| {})
}

/// As [`run_one`], of a scenario that was read before, whose recordings `source` has. `heard` is
/// told at steps how much is over.
///
/// # Errors
/// As [`run_one`].
pub fn run_scenario(
    scenario: &Scenario,
    source: &dyn ReplaySource,
    number: u32,
    heard: Heard<'_>,
) -> Result<Sample, RunOneError> {
    let built = scenario.build(source).map_err(RunOneError::Scenario)?;
    let built = of_replication(scenario, &built, source, number)?;
    let (sample, _) = measured(&built, number, OwnersOnly, heard)?;
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        run.duration_ms = 800
        scheduler.policy = "credit"
        [[domain]]
        name = "a"
        workload = "burn"
        [[domain]]
        name = "b"
        workload = "on-off"
        on = { distribution = "exponential", mean_ms = 3 }
        off = { distribution = "exponential", mean_ms = 5 }
    "#;

    fn is_send<T: Send>(value: T) -> T {
        value
    }

    #[test]
    fn the_same_arguments_give_the_same_figures_and_others_do_not() {
        let one = |overrides: &[_], seed, number| {
            is_send(run_one(TEXT, overrides, seed, number)).unwrap()
        };
        let plain = one(&[], None, 0);
        assert!(plain.get("a.share_pct").unwrap() > 40.0);
        assert_eq!(plain, one(&[], None, 0));
        for other in [
            one(&[("run.duration_ms", "700")], None, 0),
            one(&[], Some(99), 0),
            one(&[], None, 1),
        ] {
            assert_ne!(plain, other);
        }
    }

    #[test]
    fn a_text_that_is_no_scenario_is_told_with_its_lines() {
        let error = run_one(
            "scheduler.policy = \"null\"\nrun.duration_s = true",
            &[],
            None,
            0,
        );
        let told = error.unwrap_err().to_string();
        assert!(
            told.contains("run.duration_s") && told.contains("scenario:2"),
            "{told}"
        );
        let replay = "replay = \"a.trace\"\nworkload = \"replay\"";
        let text = TEXT.replace("workload = \"burn\"", replay);
        let told = run_one(&text, &[], None, 0).unwrap_err().to_string();
        assert!(!told.is_empty());
    }
}
