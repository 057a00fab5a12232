//! The figures of a run for programs: what `domio run --json` prints.

use crate::hosts::{self, measured_ms, pools, vcpus};
use domio_core::DomainId;
use domio_meter::ResidenceJson;
use domio_run::measure::{MEASURES, Measure, MeasureGroup};
use domio_run::{Sample, residence, simulate};
use domio_scenario::{Built, Scenario};
use domio_stats::Estimate;
use domio_stats::drivers::{self, DriverFiguresJson};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A run of a scenario as JSON. A host without driver domains has no work of theirs.
#[derive(Serialize)]
pub struct RunJson {
    #[serde(flatten)]
    rest: Value,
    // Here and not among the rest, where names would be sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    driver_work: Vec<DriverFiguresJson>,
    residence: Vec<VcpuResidence>,
}

impl RunJson {
    /// The figures of `samples`, one a replication, of `scenario`, which is built as `built`.
    pub fn new(scenario: &Scenario, built: &Built, samples: &[Sample]) -> Self {
        let domains = simulate::domains(built);
        let drivers = drivers::figures(samples, &domains, measured_ms(built));
        RunJson {
            rest: rest(scenario, built, &domains, samples),
            driver_work: drivers.into_iter().map(Into::into).collect(),
            residence: residence(built, samples),
        }
    }
}

/// Where a vcpu ran, over all replications.
#[derive(Serialize)]
pub struct VcpuResidence {
    /// Name of its domain.
    pub domain: String,
    /// Its number there.
    pub vcpu: u16,
    /// The times.
    #[serde(flatten)]
    pub residence: ResidenceJson,
}

/// Where the vcpus of `built` ran.
pub fn residence(built: &Built, samples: &[Sample]) -> Vec<VcpuResidence> {
    let places = residence::places(built);
    let all = residence::of(samples).into_iter();
    let named = all.filter_map(|(name, residence)| {
        let mut domains = built.host.domains.iter();
        Some(VcpuResidence {
            domain: domains.find(|d| d.id == name.domain)?.name.clone(),
            vcpu: name.index,
            residence: ResidenceJson::new(name, &residence, Some(&places)),
        })
    });
    named.collect()
}

/// What to say of domains of `built` that never ran in `samples`.
pub fn starvation(built: &Built, samples: &[Sample]) -> Option<String> {
    domio_stats::domains::starvation(samples, &vcpus(built), built.policy.descriptor.name)
}

/// Names alone.
pub fn names(domains: &[(DomainId, String)]) -> Vec<String> {
    domains.iter().map(|(_, name)| name.clone()).collect()
}

/// What is worth knowing of a run: notices of the scenario, of the files that it read, and of
/// domains that never ran.
pub fn notices(scenario: &Scenario, built: &Built, samples: &[Sample]) -> Vec<String> {
    let notices = hosts::notices(scenario, built).cloned();
    notices.chain(starvation(built, samples)).collect()
}

fn rest(
    scenario: &Scenario,
    built: &Built,
    domains: &[(DomainId, String)],
    samples: &[Sample],
) -> Value {
    let domain = |(id, name): &(DomainId, String)| {
        let mut entry = Map::new();
        entry.insert("id".to_owned(), json!(id.0));
        entry.insert("name".to_owned(), json!(name));
        for measure in &MEASURES {
            let estimate: Option<Estimate> = estimate(samples, name, measure);
            // A domain without jobs or a network has nothing of them; other keys are always there.
            if measure.group != MeasureGroup::Processor && estimate.is_none() {
                continue;
            }
            entry.insert(measure.key.to_owned(), json!(estimate));
        }
        Value::Object(entry)
    };
    let dropped =
        |(place, packets): (String, Estimate)| json!({ "place": place, "packets": packets });
    let dropped = domio_stats::domains::drops(samples)
        .into_iter()
        .map(dropped);
    let jain = domio_stats::domains::jain(samples, &names(domains));
    let of_disks = domio_stats::domains::jain_of_disks(samples, &names(domains));
    let pools = pools(built);
    let pools = pools.map(|(name, policy)| json!({ "name": name, "policy": policy }));
    let mut out = json!({
        "scenario": scenario.name(),
        "overrides": scenario.overrides().collect::<Vec<_>>(),
        "policy": built.policy.descriptor.name,
        "pools": pools.collect::<Vec<_>>(),
        "seed": built.seed,
        "replications": samples.len(),
        "warmup_s": built.warmup.as_nanos() as f64 / 1e9,
        "duration_s": built.duration.as_nanos() as f64 / 1e9,
        "jain": jain.as_ref().map(|jain| jain.index),
        "jain_over": jain.map_or_else(Vec::new, |jain| jain.over),
        "notices": notices(scenario, built, samples),
        "domains": domains.iter().map(domain).collect::<Vec<_>>(),
        "dropped": dropped.collect::<Vec<_>>(),
    });
    // Only a host with several virtual disks has it.
    if let Some(jain) = of_disks {
        out["jain_of_disks"] = json!(jain.index);
        out["jain_of_disks_over"] = json!(jain.over);
    }
    out
}

/// The estimate of one measure of `domain`; `None` when no replication has it.
fn estimate(samples: &[Sample], domain: &str, measure: &Measure) -> Option<Estimate> {
    let name = measure.name(domain);
    let values: Vec<f64> = samples.iter().filter_map(|s| s.get(&name)).collect();
    Estimate::of(&values)
}
