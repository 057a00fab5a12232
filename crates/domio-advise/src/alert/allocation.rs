//! How an allocation is told to each policy: the one place that knows.
//!
//! What a policy can be told is seen by the parameters that it has for domains, so that a policy
//! with parameters of known names needs nothing here, and neither does one without any: it keeps no
//! allocations. A policy with parameters of other names gets a [`Way`], or a test fails.

use domio_contract::Descriptor;
use domio_core::{Duration, ParamKind};
use serde::Serialize;

/// Whether domains are held to their allocations when nobody else wants the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlertMode {
    /// They are: the paper's non-work-conserving mode.
    Capped,
    /// They are not: an allocation is a share of what all compete for.
    WorkConserving,
}

/// What an allocation is to mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// Whether the domain is held to it.
    pub mode: AlertMode,
    /// Period of policies that are told a slice in a period.
    pub period: Duration,
    /// Vcpus of the domain.
    pub vcpus: u32,
}

/// By which of its parameters a policy is told an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// `cap`: percent of one pcpu, all vcpus together.
    Cap,
    /// `slice_us` in every `period_us`, for each vcpu.
    Slice,
    /// `budget_us` in every `period_us`, for each vcpu.
    Budget,
    /// `runtime_us`: entries of a table that repeats.
    Table,
    /// `weight`: in proportion to the allocation.
    Weight,
    /// `mcu_advance`: inverse to the allocation.
    Advance,
}

/// A policy cannot be told allocations in a mode.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{policy} {why}")]
pub struct NoAllocation {
    /// Name of the policy.
    pub policy: &'static str,
    /// Why, and what to do.
    pub why: String,
}

impl Way {
    /// How the policy is told an allocation in `mode`.
    ///
    /// # Errors
    /// When it is not, with what to do.
    pub fn of(policy: &Descriptor, mode: AlertMode) -> Result<Way, NoAllocation> {
        let no = |why: String| NoAllocation {
            policy: policy.name,
            why,
        };
        if policy.domain_params.is_empty() {
            let why = "keeps no allocations: nothing can be set for a domain";
            return Err(no(format!("{why}; choose another policy")));
        }
        let has = |names: &[&str]| {
            let declared = |name: &&str| policy.domain_params.iter().any(|p| p.name == *name);
            names.iter().all(declared)
        };
        let held: &[(&[&str], Way)] = &[
            (&["cap"], Way::Cap),
            (&["slice_us", "period_us", "extratime"], Way::Slice),
            (&["budget_us", "period_us", "extratime"], Way::Budget),
            (&["runtime_us"], Way::Table),
        ];
        let shared: &[(&[&str], Way)] = &[
            (&["weight"], Way::Weight),
            (&["mcu_advance"], Way::Advance),
            (&["budget_us", "period_us", "extratime"], Way::Budget),
        ];
        let ways = match mode {
            AlertMode::Capped => held,
            AlertMode::WorkConserving => shared,
        };
        let way = ways.iter().find(|(names, _)| has(names));
        way.map(|(_, way)| *way).ok_or_else(|| {
            let other = match mode {
                AlertMode::Capped => shared,
                AlertMode::WorkConserving => held,
            };
            let told = other.iter().any(|(names, _)| has(names));
            no(match (mode, told) {
                (AlertMode::Capped, true) => {
                    "has no cap: whatever the others leave goes to whoever wants it; test it with \
                     --mode work-conserving"
                        .to_owned()
                }
                (AlertMode::WorkConserving, true) => {
                    "shares nothing that is left over; test it with --mode capped".to_owned()
                }
                (_, false) => "has no parameter that this test knows to tell an allocation by; \
                               choose another policy"
                    .to_owned(),
            })
        })
    }

    /// What a domain is told in `mode`, for people.
    pub fn told(self, mode: AlertMode) -> &'static str {
        match (self, mode) {
            (Way::Cap, _) => "cap: percent of one pcpu",
            (Way::Slice, _) => "slice_us in each period_us, without extra time",
            (Way::Budget, AlertMode::Capped) => "budget_us in each period_us, without extra time",
            (Way::Budget, AlertMode::WorkConserving) => {
                "budget_us in each period_us, with extra time, of which all budgets leave none"
            }
            (Way::Table, _) => "runtime_us: time in each frame of a table",
            (Way::Weight, _) => "weight: ten for each percent; a second loop has the rest",
            (Way::Advance, _) => "mcu_advance: inverse to the share; a second loop has the rest",
        }
    }

    /// The keys of a domain that is allocated `percent` of one pcpu, and their values.
    pub fn settings(
        self,
        policy: &Descriptor,
        terms: Terms,
        percent: u32,
    ) -> Vec<(&'static str, String)> {
        let period_us = terms.period.as_nanos() / 1_000;
        // Each vcpu has its own, and they make up the domain's.
        let each = u64::from(percent) * period_us / 100 / u64::from(terms.vcpus.max(1));
        let extra = terms.mode == AlertMode::WorkConserving;
        let in_period = |name| {
            vec![
                (name, each.to_string()),
                ("period_us", period_us.to_string()),
                ("extratime", extra.to_string()),
            ]
        };
        match self {
            Way::Cap => vec![("cap", percent.to_string())],
            Way::Slice => in_period("slice_us"),
            Way::Budget => in_period("budget_us"),
            Way::Table => vec![("runtime_us", each.to_string())],
            Way::Weight => vec![("weight", (percent * 10).to_string())],
            Way::Advance => {
                let mut specs = policy.domain_params.iter();
                let spec = specs.find(|p| p.name == "mcu_advance");
                let (min, max) = match spec.map(|p| p.kind) {
                    Some(ParamKind::Int { min, max, .. }) => (min.max(1), max.min(1_000_000)),
                    _ => (1, 10_000),
                };
                let advance = max / i64::from(percent.max(1));
                vec![("mcu_advance", advance.max(min).to_string())]
            }
        }
    }

    /// The keys of the scenario that the policy as a whole needs, and their values.
    pub fn host_settings(self, policy: &Descriptor, period: Duration) -> Vec<(String, String)> {
        let period_us = period.as_nanos() / 1_000;
        let frame = policy.params.iter().find(|p| p.name == "major_frame_us");
        match (self, frame) {
            (Way::Table, Some(frame)) => {
                vec![(format!("scheduler.{}", frame.name), period_us.to_string())]
            }
            _ => Vec::new(),
        }
    }
}
