//! What the domains of a scenario wait for, over several replications.

use crate::hosts::{failed, of_replication};
use crate::suggest::near;
use anyhow::Context;
use domio_answer::Answered;
use domio_core::{DomainId, VcpuName};
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

/// Restricts what is said to the vcpus and domains with these names, as tables show them (`web.0`,
/// `web`); to all without any.
///
/// # Errors
/// When there is no such vcpu or domain.
pub fn restrict(
    explanation: &mut Explanation,
    names: &[(DomainId, String)],
    threads: &[(VcpuName, String)],
    [vcpus, domains]: [&[String]; 2],
) -> anyhow::Result<()> {
    if vcpus.is_empty() && domains.is_empty() {
        return Ok(());
    }
    let explained = Explained::new(explanation, names).with_threads(threads);
    let all: Vec<VcpuName> = explanation.vcpus.iter().map(|vcpu| vcpu.name).collect();
    let of_vcpus = all.iter().map(|vcpu| (explained.vcpu(*vcpu), *vcpu));
    let of_vcpus: Vec<(String, VcpuName)> = of_vcpus.collect();
    let of_domains = explanation.domains().into_iter();
    let of_domains: Vec<(String, DomainId)> =
        of_domains.map(|d| (explained.domain(d.id), d.id)).collect();
    let vcpus = found("--vcpu", "vcpu", vcpus, &of_vcpus)?;
    let domains = found("--domain", "domain", domains, &of_domains)?;
    explanation.keep(|domain, index| {
        let is_this = |vcpu: &VcpuName| {
            vcpu.domain == domain && index.is_none_or(|index| index == vcpu.index)
        };
        domains.contains(&domain) || vcpus.iter().any(is_this)
    });
    Ok(())
}

/// What the names in `asked` stand for.
fn found<T: Copy>(
    option: &str,
    what: &str,
    asked: &[String],
    all: &[(String, T)],
) -> anyhow::Result<Vec<T>> {
    let find = |name: &String| {
        let known = all.iter().find(|(known, _)| known == name);
        known.map(|(_, id)| *id).with_context(|| {
            let names = all.iter().map(|(known, _)| known.as_str());
            match all.len() {
                0 => format!("{option} {name}: nothing is known of any {what}"),
                _ => format!(
                    "{option} {name}: there is no such {what}{}",
                    near(name, names)
                ),
            }
        })
    };
    asked.iter().map(find).collect()
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
