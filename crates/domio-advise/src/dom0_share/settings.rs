//! How a value of an axis is told to a policy: as keys of the scenario.
//!
//! A policy is known by the parameters that it has, not by its name, so that a new policy with
//! parameters of known names needs nothing here.

use super::{Dom0Fault, Dom0Plan};
use crate::alert::allocation::{self, AlertMode, Terms, way};
use domio_answer::{rows, texts};
use domio_contract::{Descriptor, ShareBy};
use domio_core::{DomainId, Duration, ParamKind, Topology};
use domio_scenario::Scenario;

/// What is varied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dom0Axis {
    /// Dom0's weight, in multiples of a guest's.
    Weight,
    /// Dom0's cap (% of one pcpu).
    Cap,
    /// Slices or periods (ms).
    Slice,
    /// Dom0's vcpus.
    Vcpus,
    /// A pcpu of dom0's own, which is no number.
    Pin,
}

impl Dom0Axis {
    /// All, in the order in which they are tried.
    pub const ALL: [Dom0Axis; 5] = [
        Dom0Axis::Weight,
        Dom0Axis::Cap,
        Dom0Axis::Slice,
        Dom0Axis::Vcpus,
        Dom0Axis::Pin,
    ];

    const fn name(self) -> &'static str {
        match self {
            Dom0Axis::Weight => "weight",
            Dom0Axis::Cap => "cap",
            Dom0Axis::Slice => "slice",
            Dom0Axis::Vcpus => "vcpus",
            Dom0Axis::Pin => "pin",
        }
    }
}

texts! {
    Dom0Axis: |axis| axis.name().into(),
        |text, _| Dom0Axis::ALL.into_iter().find(|axis| axis.name() == text);
}

rows! {
    /// One value of an axis.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Dom0Setting {
        /// What is varied.
        pub axis: Dom0Axis = key("axis");
        /// The value: a multiple of a guest's weight, % of one pcpu, ms, a number; null for `pin`.
        pub value: Option<f64> = fact("value");
    }
}

/// Period of reservations where neither the scenario nor the policy has one for dom0: that of
/// Xen's dom0 under SEDF until 4.1 (xen-spec 2).
const PERIOD: Duration = Duration::from_millis(20);
/// What a domain gets of its period there: 15 ms in 20 ms.
const SLICE_PERCENT: u64 = 75;
/// What reservations leave of a pcpu, as Xen does where slices follow from weights (xen-spec 2).
const RESERVED_PERCENT: f64 = 95.0;

/// What settings need to know of a host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub dom0: String,
    guests: Vec<String>,
    pcpus: usize,
    /// A pcpu is a core, and there is one socket.
    flat: bool,
    cores: usize,
    sockets: usize,
    dom0_vcpus: usize,
    /// Of the guests, the most.
    guest_vcpus: usize,
    /// The largest weight of a guest, in the policy's own unit, where it has one.
    guest_weight: Option<i64>,
    /// Dom0's period and slice (us), where the policy has them.
    reserved: Option<(i64, i64)>,
}

impl Host {
    /// The host of `scenario`, whose domain in question is `dom0`, or the driver domain.
    pub fn of(scenario: &Scenario, dom0: Option<&str>) -> Result<Self, Dom0Fault> {
        let plan = scenario.plan();
        let driver = plan.networks().map(|n| n.driver).next();
        let named = |d: &&domio_vmm::config::DomainConfig| match dom0 {
            Some(name) => d.name == name,
            None => d.id == driver.unwrap_or(DomainId(0)),
        };
        let domains = &plan.host.domains;
        let own = domains.iter().find(named).ok_or_else(|| {
            Dom0Fault::Mix(match dom0 {
                Some(name) => format!("the scenario has no domain \"{name}\""),
                None => "the scenario has no driver domain and none with id 0; name one with \
                         --dom0"
                    .to_owned(),
            })
        })?;
        let guests = domains.iter().filter(|d| d.id != own.id);
        let guests: Vec<String> = guests.map(|d| d.name.clone()).collect();
        if guests.is_empty() {
            let text = format!("the scenario has nobody but {}", own.name);
            return Err(Dom0Fault::Mix(text));
        }
        let topology: &Topology = &plan.host.topology;
        let vcpus = domains.iter().filter(|d| d.id != own.id);
        let vcpus = vcpus.map(|d| d.vcpus.len()).max();
        Ok(Host {
            dom0: own.name.clone(),
            guests,
            pcpus: topology.pcpus(),
            flat: topology.sockets() == 1 && topology.threads_per_core() == 1,
            cores: topology.cores_per_socket(),
            sockets: topology.sockets(),
            dom0_vcpus: own.vcpus.len(),
            guest_vcpus: vcpus.unwrap_or(1),
            guest_weight: None,
            reserved: None,
        })
    }

    /// The same host with what `scenario`, under some policy, says of its parameters.
    pub fn of_policy(&self, scenario: &Scenario) -> Host {
        let domains = &scenario.plan().host.domains;
        let guests = domains.iter().filter(|d| d.name != self.dom0);
        let weight = guests.filter_map(|d| d.params.by_name("weight")).max();
        let own = domains.iter().find(|d| d.name == self.dom0);
        let period = own.and_then(|d| d.params.by_name("period_us"));
        let slice = own.and_then(|d| d.params.by_name("slice_us"));
        Host {
            guest_weight: weight,
            reserved: period.zip(slice).filter(|(period, _)| *period > 0),
            ..self.clone()
        }
    }

    fn dom0_key(&self, key: &str) -> String {
        format!("domain.{}.{key}", self.dom0)
    }

    /// What dom0 could use at most where nobody competes (% of one pcpu).
    pub fn most_pct(&self) -> f64 {
        self.dom0_vcpus as f64 * 100.0
    }

    /// A pcpu more for each vcpu of dom0, which are dom0's alone; the guests have all that the host
    /// has.
    pub fn unconstrained(&self) -> Vec<(String, String)> {
        let more = self.dom0_vcpus;
        let mut changes = match self.flat {
            true => vec![("host.cores".to_owned(), (self.cores + more).to_string())],
            false => {
                let more = more.div_ceil((self.pcpus / self.sockets).max(1));
                vec![("host.sockets".to_owned(), (self.sockets + more).to_string())]
            }
        };
        let first = self.pcpus;
        let own = match more {
            1 => first.to_string(),
            _ => format!("{first}-{}", first + more - 1),
        };
        changes.push((self.dom0_key("pin"), own));
        changes.extend(self.pinned_guests(0));
        changes
    }

    /// All guests have the pcpus from `first` on.
    fn pinned_guests(&self, first: usize) -> impl Iterator<Item = (String, String)> {
        let last = self.pcpus - 1;
        let pcpus = match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let guests = self.guests.iter();
        guests.map(move |guest| (format!("domain.{guest}.pin"), pcpus.clone()))
    }

    /// Shares by reservations: `slice` in every period, and extra time.
    fn reservations(&self, slice: &str, ratio: f64) -> Vec<(String, String)> {
        let period = self.period_us();
        let all = ratio + self.guests.len() as f64;
        let of = |part: f64, vcpus: usize| {
            let share = part / all * self.pcpus as f64 / vcpus.max(1) as f64;
            let us = share.min(1.0) * RESERVED_PERCENT / 100.0 * period as f64;
            (us as u64).max(10)
        };
        let keys = |name: &str, us: u64| {
            let key = |key: &str| format!("domain.{name}.{key}");
            vec![
                (key("period_us"), period.to_string()),
                (key(slice), us.to_string()),
                (key("extratime"), "true".to_owned()),
            ]
        };
        let mut changes = keys(&self.dom0, of(ratio, self.dom0_vcpus));
        for guest in &self.guests {
            changes.extend(keys(guest, of(1.0, self.guest_vcpus)));
        }
        changes
    }

    fn period_us(&self) -> u64 {
        self.reserved
            .map_or(PERIOD.as_nanos() / 1_000, |(p, _)| p as u64)
    }
}

/// The values of each axis that `plan` has.
pub(super) fn axes(plan: &Dom0Plan) -> Vec<Vec<Dom0Setting>> {
    let values = |axis| -> Vec<Option<f64>> {
        match axis {
            Dom0Axis::Weight => plan.weights.iter().copied().map(Some).collect(),
            Dom0Axis::Cap => plan.caps.iter().map(|n| Some(f64::from(*n))).collect(),
            Dom0Axis::Slice => plan.slices_ms.iter().map(|ms| Some(*ms as f64)).collect(),
            Dom0Axis::Vcpus => plan.vcpus.iter().map(|n| Some(f64::from(*n))).collect(),
            Dom0Axis::Pin => plan.pin.then_some(None).into_iter().collect(),
        }
    };
    let of_axis = |axis| {
        let values = values(axis).into_iter();
        values.map(|value| Dom0Setting { axis, value }).collect()
    };
    Dom0Axis::ALL.into_iter().map(of_axis).collect()
}

impl Dom0Setting {
    fn number(&self) -> f64 {
        self.value.unwrap_or_default()
    }

    /// For people.
    pub fn name(&self) -> String {
        match (self.axis, self.number()) {
            (Dom0Axis::Weight, ratio) => format!("weight x {ratio}"),
            (Dom0Axis::Cap, percent) => format!("cap {percent} %"),
            (Dom0Axis::Slice, ms) => format!("slice {ms} ms"),
            (Dom0Axis::Vcpus, 1.0) => "1 vcpu".to_owned(),
            (Dom0Axis::Vcpus, n) => format!("{n} vcpus"),
            (Dom0Axis::Pin, _) => "own pcpu".to_owned(),
        }
    }

    /// The keys that tell it to `policy` on `host`, and their values; or why it cannot be told.
    pub(super) fn changes(
        self,
        host: &Host,
        policy: &Descriptor,
    ) -> Result<Vec<(String, String)>, String> {
        let number = self.number();
        match self.axis {
            Dom0Axis::Weight => weight(number, host, policy),
            Dom0Axis::Cap => cap(number as u32, host, policy),
            Dom0Axis::Slice => slice(number as u64, host, policy),
            Dom0Axis::Vcpus => Ok(vec![(host.dom0_key("vcpus"), number.to_string())]),
            Dom0Axis::Pin if host.pcpus < 2 => {
                Err("the host has one pcpu, which dom0 cannot have to itself".to_owned())
            }
            Dom0Axis::Pin => {
                let own = (host.dom0_key("pin"), "0".to_owned());
                Ok([own].into_iter().chain(host.pinned_guests(1)).collect())
            }
        }
    }
}

fn has(policy: &Descriptor, name: &str) -> bool {
    policy.domain_params.iter().any(|p| p.name == name)
}

fn weight(ratio: f64, host: &Host, policy: &Descriptor) -> Result<Vec<(String, String)>, String> {
    if has(policy, "slice_us") {
        return Ok(host.reservations("slice_us", ratio));
    }
    match way(policy, AlertMode::WorkConserving).map_err(|no| no.to_string())? {
        ShareBy::Weight(name) => {
            let guest = host.guest_weight.unwrap_or(256).max(1);
            let weight = (ratio * guest as f64).round().max(1.0) as i64;
            Ok(vec![(host.dom0_key(name), weight.to_string())])
        }
        ShareBy::Inverse(name) => {
            // A guest's advance that all the usual ratios divide.
            const GUEST: f64 = 240.0;
            let own = (GUEST / ratio).round().max(1.0) as i64;
            let mut changes = vec![(host.dom0_key(name), own.to_string())];
            let guests = host.guests.iter();
            let guest = (GUEST as i64).to_string();
            changes.extend(guests.map(|g| (format!("domain.{g}.{name}"), guest.clone())));
            Ok(changes)
        }
        ShareBy::InPeriod { time, .. } => Ok(host.reservations(time, ratio)),
        ShareBy::Percent(_) | ShareBy::InFrame { .. } => Err("it has no weights".to_owned()),
    }
}

fn cap(percent: u32, host: &Host, policy: &Descriptor) -> Result<Vec<(String, String)>, String> {
    let way = way(policy, AlertMode::Capped).map_err(|_| "it has no caps".to_owned())?;
    if matches!(way, ShareBy::InFrame { .. }) {
        return Err("it has a table for all domains, and no caps".to_owned());
    }
    let terms = Terms {
        mode: AlertMode::Capped,
        period: Duration::from_nanos(host.period_us() * 1_000),
        vcpus: host.dom0_vcpus as u32,
    };
    let settings = allocation::settings(way, policy, terms, percent).into_iter();
    Ok(settings
        .map(|(key, value)| (host.dom0_key(key), value))
        .collect())
}

fn slice(ms: u64, host: &Host, policy: &Descriptor) -> Result<Vec<(String, String)>, String> {
    let param = |name: &str| policy.params.iter().find(|p| p.name == name);
    if param("tslice_ms").is_some() {
        return Ok(vec![("scheduler.tslice_ms".to_owned(), ms.to_string())]);
    }
    if let Some(spec) = param("ctx_allow_us") {
        let us = ms * 1_000;
        return match spec.kind {
            ParamKind::Int { max, .. } if us as i64 > max => {
                Err(format!("its {} is {max} us at most", spec.name))
            }
            _ => Ok(vec![("scheduler.ctx_allow_us".to_owned(), us.to_string())]),
        };
    }
    if has(policy, "slice_us") {
        let period = ms * 1_000;
        // What dom0 has of its period stays the same.
        let own = match host.reserved {
            Some((period, slice)) => slice as u64 * 1_000 / period as u64,
            None => SLICE_PERCENT * 10,
        };
        return Ok(vec![
            (host.dom0_key("period_us"), period.to_string()),
            (
                host.dom0_key("slice_us"),
                (period * own / 1_000).to_string(),
            ),
        ]);
    }
    Err("it has no time slice to set".to_owned())
}
