//! What the domains of a scenario wait for, over several replications.

use crate::hosts::{failed, of_replication};
use anyhow::Context;
use domio_answer::Answered;
use domio_core::DomainId;
use domio_lab::store;
use domio_lab::{Keeper, ProgressListener};
use domio_meter::{Explanation, HostPlaces};
use domio_report::explained::Explained;
use domio_run::SampleKey;
use domio_run::explain::{explain, kept, of_kept, subject as subject_of};
use domio_run::simulate::RunFault;
use domio_scenario::{Built, Scenario};

/// The explanations of all replications of `scenario`, which is built as `built`, added up. What
/// was kept is not simulated again.
///
/// # Errors
/// When a run ends early, or a kept explanation cannot be used.
pub fn sum(
    scenario: &Scenario,
    built: &Built,
    replications: u32,
    keeper: &Keeper,
    progress: &dyn ProgressListener,
) -> anyhow::Result<Explanation> {
    let subject = store::subject(scenario).ok();
    let subject = subject.map(|of| subject_of(&of));
    let numbers: Vec<u32> = (0..replications).collect();
    let results = keeper.on_all_cores(
        &numbers,
        |n| {
            Some(SampleKey {
                subject: subject.as_ref()?,
                seed: built.seed,
                replication: *n,
            })
        },
        |_| "replications",
        progress,
        |n, heard| {
            let built = of_replication(scenario, built, *n)?;
            heard(0);
            let explanation = explain(&built, *n)?;
            Ok((kept(&explanation), explanation))
        },
    );
    let mut sum = Explanation::default();
    for result in results {
        let (sample, made) = result.map_err(|fault: RunFault| failed(&fault))?;
        let one = made.or_else(|| of_kept(&sample, scenario.parts()));
        sum.add(&one.context(
            "a kept explanation lacks a part; --no-results makes the command explain anew",
        )?);
    }
    Ok(sum)
}

/// The explanation for programs. `names` are those of domains whose name is known, `places` the
/// host where that is known, `truncated` says that the trace ends too early.
pub fn answer(
    explanation: &Explanation,
    names: &[(DomainId, String)],
    places: Option<&HostPlaces>,
    truncated: bool,
) -> Answered {
    let explained = Explained::new(explanation, names).on(places);
    explained.answer(truncated)
}
