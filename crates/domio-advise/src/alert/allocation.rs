//! How an allocation is told to a policy: by the parameters that its descriptor names for that
//! ([`ShareBy`]).

use domio_answer::texts;
use domio_contract::{Descriptor, ShareBy};
use domio_core::{Duration, ParamKind};

/// Whether domains are held to their allocations when nobody else wants the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlertMode {
    /// They are: the paper's non-work-conserving mode.
    Capped,
    /// They are not: an allocation is a share of what all compete for.
    WorkConserving,
}

impl AlertMode {
    const ALL: [AlertMode; 2] = [AlertMode::Capped, AlertMode::WorkConserving];

    const fn name(self) -> &'static str {
        match self {
            AlertMode::Capped => "capped",
            AlertMode::WorkConserving => "work-conserving",
        }
    }
}

texts! {
    AlertMode: |mode| mode.name().into(),
        |text, _| AlertMode::ALL.into_iter().find(|mode| mode.name() == text);
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

/// A policy cannot be told allocations in a mode.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{policy} {why}")]
pub struct NoAllocation {
    /// Name of the policy.
    pub policy: &'static str,
    /// Why, and what to do.
    pub why: String,
}

/// How `policy` is told an allocation in `mode`.
///
/// # Errors
/// When it is not, with what to do.
pub fn way(policy: &Descriptor, mode: AlertMode) -> Result<ShareBy, NoAllocation> {
    let no = |why: &str| NoAllocation {
        policy: policy.name,
        why: why.to_owned(),
    };
    if policy.domain_params.is_empty() {
        let why = "keeps no allocations: nothing can be set for a domain; choose another policy";
        return Err(no(why));
    }
    let (this, other) = match mode {
        AlertMode::Capped => (policy.held_by, policy.shared_by),
        AlertMode::WorkConserving => (policy.shared_by, policy.held_by),
    };
    this.ok_or_else(|| {
        no(match (mode, other) {
            (AlertMode::Capped, Some(_)) => {
                "has no cap: time that others leave is shared among all; test it with --mode \
                 work-conserving"
            }
            (AlertMode::WorkConserving, Some(_)) => {
                "shares nothing that is left over; test it with --mode capped"
            }
            (_, None) => {
                "has no parameter that sets an allocation (`held_by` and `shared_by` of its \
                 descriptor); choose another policy"
            }
        })
    })
}

/// What a domain is told in `mode`, for people.
pub fn told(way: ShareBy, mode: AlertMode) -> String {
    match (way, mode) {
        (ShareBy::Percent(name), _) => format!("{name}: percent of one pcpu"),
        (ShareBy::InPeriod { time, period, .. }, AlertMode::Capped) => {
            format!("{time} in each {period}, without extra time")
        }
        (ShareBy::InPeriod { time, period, .. }, AlertMode::WorkConserving) => {
            format!("{time} in each {period}, with extra time, of which all budgets leave none")
        }
        (ShareBy::InFrame { time, .. }, _) => format!("{time}: time in each frame of a table"),
        (ShareBy::Weight(name), _) => {
            format!("{name}: ten for each percent; a second loop has the rest")
        }
        (ShareBy::Inverse(name), _) => {
            format!("{name}: inverse to the share; a second loop has the rest")
        }
    }
}

/// The keys of a domain that is allocated `percent` of one pcpu, and their values.
pub fn settings(
    way: ShareBy,
    policy: &Descriptor,
    terms: Terms,
    percent: u32,
) -> Vec<(&'static str, String)> {
    let period_us = terms.period.as_nanos() / 1_000;
    // Each vcpu has its own, and they make up the domain's.
    let each = u64::from(percent) * period_us / 100 / u64::from(terms.vcpus.max(1));
    match way {
        ShareBy::Percent(name) => vec![(name, percent.to_string())],
        ShareBy::InPeriod {
            time,
            period,
            extra,
        } => vec![
            (time, each.to_string()),
            (period, period_us.to_string()),
            (extra, (terms.mode == AlertMode::WorkConserving).to_string()),
        ],
        ShareBy::InFrame { time, .. } => vec![(time, each.to_string())],
        ShareBy::Weight(name) => vec![(name, (percent * 10).to_string())],
        ShareBy::Inverse(name) => {
            let mut specs = policy.domain_params.iter();
            let spec = specs.find(|p| p.name == name);
            let (min, max) = match spec.map(|p| p.kind) {
                Some(ParamKind::Int { min, max, .. }) => (min.max(1), max.min(1_000_000)),
                _ => (1, 10_000),
            };
            let number = max / i64::from(percent.max(1));
            vec![(name, number.max(min).to_string())]
        }
    }
}

/// The keys of the scenario that the policy as a whole needs, and their values.
pub fn host_settings(way: ShareBy, period: Duration) -> Vec<(String, String)> {
    match way {
        ShareBy::InFrame { frame, .. } => {
            let period_us = period.as_nanos() / 1_000;
            vec![(format!("scheduler.{frame}"), period_us.to_string())]
        }
        _ => Vec::new(),
    }
}
