//! What can be chosen: scenarios, policies, parameters.

use domio_core::{ParamKind, ParamSpec, ParamValues};
use domio_scenario::{Scenario, examples};
use domio_sched::policies;
use serde::Serialize;
use serde_json::{Map, Value};

/// Everything that does not depend on a scenario.
#[derive(Serialize)]
pub struct Choices {
    version: &'static str,
    /// What pictures hatch with, as HTML, once for all of them.
    hatches: String,
    scenarios: Vec<Shipped>,
    policies: Vec<PolicyChoice>,
}

/// A shipped scenario.
#[derive(Serialize)]
struct Shipped {
    name: &'static str,
    title: String,
}

/// A policy, with the parameters of a host.
#[derive(Serialize)]
struct PolicyChoice {
    name: &'static str,
    summary: &'static str,
    params: Vec<Spec>,
}

/// A declared parameter.
#[derive(Serialize)]
struct Spec {
    name: &'static str,
    unit: &'static str,
    /// `int`, `flag` or `choice`.
    kind: &'static str,
    min: i64,
    max: i64,
    or_zero: bool,
    words: &'static [&'static str],
    range: String,
    meaning: &'static str,
}

impl Spec {
    fn new(spec: &ParamSpec) -> Self {
        let (kind, min, max, or_zero, words) = match spec.kind {
            ParamKind::Int { min, max, or_zero } => ("int", min, max, or_zero, &[][..]),
            ParamKind::Flag => ("flag", 0, 1, false, &[][..]),
            ParamKind::Choice(words) => ("choice", 0, words.len() as i64 - 1, false, words),
        };
        Spec {
            name: spec.name,
            unit: spec.unit,
            kind,
            min,
            max,
            or_zero,
            words,
            range: spec.range().to_string(),
            meaning: spec.doc,
        }
    }
}

/// All scenarios that need no file beside them, and all policies.
pub fn all() -> Choices {
    let shipped = examples().iter().filter_map(|(name, text)| {
        let scenario = Scenario::parse(name, text.as_bytes(), policies()).ok()?;
        let plan = scenario.plan();
        let title = plan.title.clone().unwrap_or_default();
        plan.files()
            .next()
            .is_none()
            .then_some(Shipped { name, title })
    });
    let policies = policies().iter().map(|policy| PolicyChoice {
        name: policy.descriptor.name,
        summary: policy.descriptor.summary,
        params: policy.descriptor.params.iter().map(Spec::new).collect(),
    });
    Choices {
        version: env!("CARGO_PKG_VERSION"),
        hatches: domio_report::svg::hatch_definitions().into_string(),
        scenarios: shipped.collect(),
        policies: policies.collect(),
    }
}

/// What a scenario says under a policy.
#[derive(Serialize)]
pub struct Described {
    title: String,
    description: String,
    /// The policy.
    policy: &'static str,
    /// Values of its parameters.
    params: Map<String, Value>,
    seconds: f64,
    warmup_s: f64,
    pcpus: usize,
    /// Parameters that domains have, each once.
    domain_params: Vec<Spec>,
    domains: Vec<Domain>,
    notices: Vec<String>,
}

#[derive(Serialize)]
struct Domain {
    name: String,
    vcpus: usize,
    params: Map<String, Value>,
}

/// What the scenario `text` called `name` says, with `policy` in the place of its own.
///
/// # Errors
/// All mistakes in it.
pub fn describe(name: &str, text: &str, policy: Option<&str>) -> Result<Described, String> {
    let change = policy.map(|policy| ("scheduler.policy", policy));
    let scenario = Scenario::parse(name, text.as_bytes(), policies());
    let scenario = scenario.and_then(|scenario| match change {
        Some(change) => scenario.with(&[change]),
        None => Ok(scenario),
    });
    let scenario = scenario.map_err(|errors| errors.render(false))?;
    let plan = scenario.plan();
    if let Some(file) = plan.files().next() {
        return Err(format!(
            "the scenario reads the file {file}, and a page has no files beside it; run it with \
             `domio run`"
        ));
    }
    let domains = &plan.host.domains;
    let mut specs: Vec<&'static ParamSpec> = Vec::new();
    for spec in domains.iter().flat_map(|domain| domain.params.specs()) {
        if !specs.iter().any(|known| known.name == spec.name) {
            specs.push(spec);
        }
    }
    let domains = domains.iter().map(|domain| Domain {
        name: domain.name.clone(),
        vcpus: domain.vcpus.len(),
        params: values(&domain.params),
    });
    Ok(Described {
        title: plan.title.clone().unwrap_or_default(),
        description: plan.description.clone().unwrap_or_default(),
        policy: plan.policy.descriptor.name,
        params: values(&plan.params),
        seconds: plan.duration.as_nanos() as f64 / 1e9,
        warmup_s: plan.warmup.as_nanos() as f64 / 1e9,
        pcpus: plan.host.topology.pcpus(),
        domain_params: specs.into_iter().map(Spec::new).collect(),
        domains: domains.collect(),
        notices: scenario.notices().to_vec(),
    })
}

/// Values by name, as a scenario writes them.
fn values(values: &ParamValues) -> Map<String, Value> {
    let value = |(spec, value): (&ParamSpec, i64)| {
        let shown = match spec.kind {
            ParamKind::Int { .. } => value.into(),
            ParamKind::Flag => (value != 0).into(),
            ParamKind::Choice(_) => spec.show(value).to_string().into(),
        };
        (spec.name.to_owned(), shown)
    };
    values.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_of_the_list_can_be_described() {
        let all = all();
        assert!(all.scenarios.len() > 30);
        for shipped in &all.scenarios {
            let text = domio_scenario::example(shipped.name).unwrap();
            let described = describe(shipped.name, text, None);
            assert!(
                described.is_ok_and(|d| !d.domains.is_empty()),
                "{}",
                shipped.name
            );
        }
    }

    #[test]
    fn a_scenario_is_described_under_another_policy() {
        let text = domio_scenario::example("small-host").unwrap();
        let own = describe("small-host", text, None).unwrap();
        assert_eq!((own.policy, own.pcpus, own.seconds), ("credit", 2, 20.0));
        assert_eq!(own.domains[1].params["weight"], 256);
        let other = describe("small-host", text, Some("rtds")).unwrap();
        assert_eq!(other.domains[1].params["budget_us"], 4000);
        let refused = describe("small-host", &text.replace("cores", "cors"), None).err();
        assert!(
            refused
                .as_ref()
                .is_some_and(|told| told.contains("small-host:13")),
            "{refused:?}"
        );
    }
}
