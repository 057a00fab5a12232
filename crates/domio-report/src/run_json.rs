//! What `domio run --json` prints: the figures of a scenario's replications.

use crate::overhead::OverheadJson;
use crate::text::domains::estimate;
use domio_core::DomainId;
use domio_meter::ResidenceJson;
use domio_run::overhead::NetMemory;
use domio_run::{Sample, measure, residence as places, simulate};
use domio_scenario::{Built, Scenario};
use domio_stats::drivers::{self, DriverFigures, DriverFiguresJson};
use domio_stats::overhead::{self, OverheadFigures};
use domio_stats::{Estimate, domains};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The output, without the key that names its schema. A host without driver domains has no work of
/// theirs.
#[derive(Serialize)]
pub struct RunJson {
    #[serde(flatten)]
    rest: Value,
    // Here and not among the rest, where names would be sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    driver_work: Vec<DriverFiguresJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overhead: Vec<OverheadJson>,
    residence: Vec<VcpuResidence>,
}

impl RunJson {
    /// Of `samples`, the replications of `scenario`, which is built as `built`.
    pub fn new(scenario: &Scenario, built: &Built, samples: &[Sample]) -> Self {
        let domains = simulate::domains(built);
        let measured_ms = built.duration.as_nanos() as f64 / 1e6;
        let drivers = drivers::figures(samples, &domains, measured_ms);
        let overhead = overhead(built, samples, &domains, &drivers).into_iter();
        let overhead = overhead.map(|(figures, memory)| OverheadJson::new(figures, &memory));
        RunJson {
            rest: rest(scenario, built, &domains, samples),
            driver_work: drivers.into_iter().map(Into::into).collect(),
            overhead: overhead.collect(),
            residence: residence(built, samples),
        }
    }
}

/// What those of `drivers`, which worked for others in `samples`, cost that serve interfaces of
/// guests; `domains` gives ids and names.
pub fn overhead(
    built: &Built,
    samples: &[Sample],
    domains: &[(DomainId, String)],
    drivers: &[DriverFigures],
) -> Vec<(OverheadFigures, NetMemory)> {
    let figures = overhead::figures(samples, domains, drivers).into_iter();
    let with_memory = figures.map(|figures| {
        let memory = built.network_memory(figures.id);
        (figures, memory)
    });
    with_memory.collect()
}

/// Where a vcpu ran, over all replications.
#[derive(Serialize)]
pub struct VcpuResidence {
    /// Name of its domain.
    pub domain: String,
    /// Its index there.
    pub vcpu: u16,
    /// Its pcpus and nodes.
    #[serde(flatten)]
    pub residence: ResidenceJson,
}

/// Where each vcpu of `built` ran in `samples`.
pub fn residence(built: &Built, samples: &[Sample]) -> Vec<VcpuResidence> {
    let of_host = places::places(built);
    let all = places::of(samples).into_iter();
    let named = all.filter_map(|(name, residence)| {
        let mut domains = built.host.domains.iter();
        Some(VcpuResidence {
            domain: domains.find(|d| d.id == name.domain)?.name.clone(),
            vcpu: name.index,
            residence: ResidenceJson::new(name, &residence, Some(&of_host)),
        })
    });
    named.collect()
}

/// What to say of domains that never ran in `samples`.
pub fn starvation(built: &Built, samples: &[Sample]) -> Option<String> {
    let vcpus = built.host.domains.iter();
    let vcpus: Vec<(String, usize)> = vcpus.map(|d| (d.name.clone(), d.vcpus.len())).collect();
    domains::starvation(samples, &vcpus, built.policy.descriptor.name)
}

/// What is worth knowing of a run: notices of the scenario, of the files that it names, and of
/// domains that never ran in `samples`.
pub fn notices(scenario: &Scenario, built: &Built, samples: &[Sample]) -> Vec<String> {
    let notices = scenario.notices().iter().chain(&built.notices).cloned();
    notices.chain(starvation(built, samples)).collect()
}

/// Names of the pools of a host with several, each with its policy.
pub fn pools(built: &Built) -> impl Iterator<Item = (&str, &'static str)> {
    let pools = built.host.pools.iter().zip(&built.pools);
    pools.map(|(pool, (policy, _))| (pool.name.as_str(), policy.descriptor.name))
}

/// The keys that come in the order of their names.
fn rest(
    scenario: &Scenario,
    built: &Built,
    domains: &[(DomainId, String)],
    samples: &[Sample],
) -> Value {
    let names: Vec<String> = domains.iter().map(|(_, name)| name.clone()).collect();
    let dropped =
        |(place, packets): (String, Estimate)| json!({ "place": place, "packets": packets });
    let dropped = domains::drops(samples).into_iter().map(dropped);
    let jain = domains::jain(samples, &names);
    let of_disks = domains::jain_of_disks(samples, &names);
    let pools = pools(built);
    let pools = pools.map(|(name, policy)| json!({ "name": name, "policy": policy }));
    let of_domain = |(id, name): &(DomainId, String)| of_domain(*id, name, samples);
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
        "domains": domains.iter().map(of_domain).collect::<Vec<_>>(),
        "dropped": dropped.collect::<Vec<_>>(),
    });
    // Only a host with several virtual disks has it.
    if let Some(jain) = of_disks {
        out["jain_of_disks"] = json!(jain.index);
        out["jain_of_disks_over"] = json!(jain.over);
    }
    out
}

/// The figures of one domain.
fn of_domain(id: DomainId, name: &str, samples: &[Sample]) -> Value {
    let mut entry = Map::new();
    entry.insert("id".to_owned(), json!(id.0));
    entry.insert("name".to_owned(), json!(name));
    for table in measure::tables() {
        for figure in table.figures.iter().filter(|figure| !figure.detail) {
            let estimate = estimate(samples, name, figure);
            // A domain without jobs or a network has nothing of them; other keys are always there.
            if table.is_accounted() || estimate.is_some() {
                entry.insert(figure.key.to_owned(), json!(estimate));
            }
        }
    }
    Value::Object(entry)
}
