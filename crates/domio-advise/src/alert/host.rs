//! The host of one allocation, as a scenario: the text is part of every trace.

use super::allocation::{AlertMode, host_settings, settings, way};
use super::plan::{AlertDom0, AlertFault, AlertPlan, AlertSubject, WARMUP};
use domio_core::DomainId;
use domio_scenario::Scenario;

/// The control domain.
pub const DOM0: DomainId = DomainId(0);

/// The domain whose allocation is tested.
pub const GUEST: DomainId = DomainId(1);

/// What dom0 does when it does nothing in particular: its kernel and daemons, as in the recordings
/// of an idle dom0 in `testdata/xen-traces` (29 wake-ups a second of 43 us), and XenMon. That takes
/// 1 to 2 % of a pcpu (README of Xen 3.1) and reads all 100 ms (Gupta et al. 2006, section 3).
const LIGHT: &str = r#"
    [[domain.task]]
    name = "daemons"
    workload = "on-off"
    on = { distribution = "exponential", mean_us = 43 }
    off = { distribution = "exponential", mean_ms = 34 }

    [[domain.task]]
    name = "monitor"
    workload = "periodic"
    period_ms = 100
    burst = { distribution = "exponential", mean_us = 1500 }
"#;

/// A tight loop on each vcpu.
const BURN: &str = r#"
    [[domain.task]]
    workload = "burn"
    vcpu = "all"
"#;

/// The scenario in which dom1 is allocated `allocation` percent of one pcpu.
///
/// # Errors
/// When the policy cannot be told so, when all allocations together are more than there is, and
/// when the scenario does not take a setting.
pub fn scenario(
    plan: &AlertPlan,
    subject: &AlertSubject,
    allocation: u32,
) -> Result<Scenario, AlertFault> {
    let descriptor = subject.policy.descriptor;
    let way = way(descriptor, plan.mode)?;
    let mut text = head(plan, descriptor.name);
    let mut add = |name: &str, id: u16, percent: u32, work: &str| {
        let vcpus = plan.vcpus;
        text += &format!("\n[[domain]]\nname = \"{name}\"\nid = {id}\nvcpus = {vcpus}\n");
        for (key, value) in settings(way, descriptor, plan.terms(), percent) {
            text += &format!("{key} = {value}\n");
        }
        text += work;
    };
    let work = match plan.dom0_work {
        AlertDom0::Light => LIGHT,
        AlertDom0::Burn => BURN,
    };
    add("Domain-0", DOM0.0, plan.dom0, work);
    add("dom1", GUEST.0, allocation, BURN);
    let all = plan.pcpus * 100;
    let rest = all.saturating_sub(plan.dom0 + allocation);
    match plan.mode {
        AlertMode::Capped if plan.dom0 + allocation > all => {
            return Err(too_much(plan, allocation, "at most that is left"));
        }
        AlertMode::WorkConserving if rest == 0 => {
            return Err(too_much(plan, allocation, "less, for the second loop"));
        }
        AlertMode::Capped => {}
        AlertMode::WorkConserving => add("rest", GUEST.0 + 1, rest, BURN),
    }
    let parsed = Scenario::parse("alert", text.as_bytes(), &subject.parts);
    let parsed = parsed.map_err(AlertFault::Scenario)?;
    let mut changes = host_settings(way, plan.period);
    changes.extend(subject.changes.iter().cloned());
    changes.extend(plan.set.iter().cloned());
    let set = |key: &str| changes.iter().find(|(k, _)| k == key);
    // The host has the release of the policy, unless it is said to have another one.
    if let (Some((_, version)), None) = (set("scheduler.version"), set("host.xen")) {
        changes.push(("host.xen".to_owned(), version.clone()));
    }
    let changes: Vec<(&str, &str)> = changes
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    parsed.with(&changes).map_err(AlertFault::Scenario)
}

fn too_much(plan: &AlertPlan, allocation: u32, expected: &str) -> AlertFault {
    AlertFault::TooMuch(format!(
        "dom0's {} % and dom1's {allocation} % are too much for {} pcpu(s); allocate {expected}",
        plan.dom0, plan.pcpus
    ))
}

fn head(plan: &AlertPlan, policy: &str) -> String {
    format!(
        "title = \"ALERT\"\nseed = {}\n\n[run]\nwarmup_ms = {}\nduration_s = {}\n\n[host]\n\
         profile = \"ideal\"\ncores = {}\n\n[scheduler]\npolicy = \"{policy}\"\n",
        plan.seed,
        WARMUP.as_nanos() / 1_000_000,
        plan.seconds,
        plan.pcpus,
    )
}
