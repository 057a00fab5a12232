//! What can be set on a host: levers, their present values, and keys of a scenario for them.

use super::AdviceFault;
use domio_contract::Descriptor;
use domio_core::{CpuSet, PcpuId};
use domio_core::{ParamKind, ParamSpec, ParamValues};
use domio_scenario::Scenario;
use std::collections::BTreeMap;

/// One thing that an operator can set. Domains go by their place in the scenario's host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Lever {
    /// A parameter of the scheduler.
    Scheduler(&'static str),
    /// A parameter of a domain.
    Domain(usize, &'static str),
    /// The pcpus that the vcpus of a domain may use.
    Pin(usize),
    /// How many vcpus a domain has.
    Vcpus(usize),
}

/// The value of a lever.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Value {
    /// Of a parameter, or a number of vcpus.
    Number(i64),
    /// Pcpus of each vcpu, ascending.
    Pcpus(Vec<Vec<u16>>),
}

impl Value {
    /// The number; `None` for sets of pcpus.
    pub fn number(&self) -> Option<i64> {
        match self {
            Value::Number(n) => Some(*n),
            Value::Pcpus(_) => None,
        }
    }
}

/// Levers that differ from the scenario's own setting. The empty one is the scenario itself.
pub(super) type Settings = BTreeMap<Lever, Value>;

/// A domain of the host in question.
#[derive(Clone, Debug)]
pub(super) struct Guest {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: u16,
    /// Its parameters.
    pub params: ParamValues,
    /// The pcpus that each of its vcpus may use.
    pub pins: Vec<Vec<u16>>,
}

impl Guest {
    /// Its number of vcpus, at least one.
    pub fn vcpus(&self) -> usize {
        self.pins.len().max(1)
    }

    /// Whether `other` is the same but for the number in its name.
    pub fn is_like(&self, other: &Guest) -> bool {
        let word = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (own, theirs) = (word(&self.name), word(&other.name));
        let numbered = own < self.name.len() && theirs < other.name.len();
        let same = numbered && self.name[..own] == other.name[..theirs];
        same && self.params == other.params && self.pins == other.pins
    }
}

/// The host in question.
pub(super) struct Host {
    /// Its policy.
    pub policy: &'static Descriptor,
    /// Values of the policy's parameters.
    pub params: ParamValues,
    /// Its number of pcpus.
    pub pcpus: u16,
    /// Its domains.
    pub guests: Vec<Guest>,
}

impl Host {
    /// That of `scenario`.
    ///
    /// # Errors
    /// When the host has pools, or no domain.
    pub fn of(scenario: &Scenario) -> Result<Host, AdviceFault> {
        let plan = scenario.plan();
        if !plan.pools.is_empty() {
            return Err(AdviceFault::Host(
                "the host has pools of pcpus, each with a scheduler of its own; make a scenario of \
                 the pool in question, and ask for that"
                    .to_owned(),
            ));
        }
        let pcpus = u16::try_from(plan.host.topology.pcpus()).unwrap_or(u16::MAX);
        let set = |cpus: &CpuSet| -> Vec<u16> {
            (0..pcpus).filter(|n| cpus.contains(PcpuId(*n))).collect()
        };
        let guests = plan.host.domains.iter().map(|domain| Guest {
            name: domain.name.clone(),
            id: domain.id.0,
            params: domain.params,
            pins: domain.vcpus.iter().map(|vcpu| set(&vcpu.hard)).collect(),
        });
        let guests: Vec<Guest> = guests.collect();
        if guests.is_empty() {
            return Err(AdviceFault::Host("the host has no guest".to_owned()));
        }
        Ok(Host {
            policy: plan.policy.descriptor,
            params: plan.params,
            pcpus,
            guests,
        })
    }

    /// Whether the host is one of Linux.
    pub fn is_linux(&self) -> bool {
        ["cfs", "eevdf"].contains(&self.policy.name)
    }

    /// The declaration of a parameter that the policy has.
    pub fn spec(&self, lever: Lever) -> Option<&'static ParamSpec> {
        let named = |specs: &'static [ParamSpec], name| specs.iter().find(|s| s.name == name);
        match lever {
            Lever::Scheduler(name) => named(self.policy.params, name),
            Lever::Domain(_, name) => named(self.policy.domain_params, name),
            Lever::Pin(_) | Lever::Vcpus(_) => None,
        }
    }

    /// The value that the scenario itself has.
    pub fn own(&self, lever: Lever) -> Option<Value> {
        match lever {
            Lever::Scheduler(name) => self.params.by_name(name).map(Value::Number),
            Lever::Domain(at, name) => self.guests[at].params.by_name(name).map(Value::Number),
            Lever::Pin(at) => Some(Value::Pcpus(self.guests[at].pins.clone())),
            Lever::Vcpus(at) => Some(Value::Number(self.guests[at].vcpus() as i64)),
        }
    }

    /// The value under `settings`.
    pub fn now(&self, settings: &Settings, lever: Lever) -> Option<Value> {
        settings.get(&lever).cloned().or_else(|| self.own(lever))
    }

    /// The number under `settings`.
    pub fn number(&self, settings: &Settings, lever: Lever) -> Option<i64> {
        self.now(settings, lever)?.number()
    }

    /// The number of vcpus of a domain under `settings`.
    pub fn vcpus(&self, settings: &Settings, at: usize) -> usize {
        let set = settings.get(&Lever::Vcpus(at)).and_then(Value::number);
        set.map_or_else(|| self.guests[at].vcpus(), |n| n.max(1) as usize)
    }

    /// `settings` with `lever` at `value`; without it where the scenario has that value itself.
    pub fn with(&self, settings: &mut Settings, lever: Lever, value: Value) {
        match self.own(lever).as_ref() == Some(&value) {
            true => settings.remove(&lever),
            false => settings.insert(lever, value),
        };
    }

    /// The key of a scenario that sets `lever`.
    pub fn key(&self, lever: Lever) -> String {
        let of = |at: usize, key: &str| format!("domain.{}.{key}", bare(&self.guests[at].name));
        match lever {
            Lever::Scheduler(name) => format!("scheduler.{name}"),
            Lever::Domain(at, name) => of(at, name),
            Lever::Pin(at) => of(at, "pin"),
            Lever::Vcpus(at) => of(at, "vcpus"),
        }
    }

    /// `value` of `lever` as a scenario has it.
    pub fn toml(&self, lever: Lever, value: &Value) -> String {
        match value {
            Value::Number(n) => match self.spec(lever) {
                Some(spec) if matches!(spec.kind, ParamKind::Choice(_)) => {
                    format!("\"{}\"", spec.show(*n))
                }
                Some(spec) => spec.show(*n).to_string(),
                None => n.to_string(),
            },
            Value::Pcpus(sets) => {
                let quoted = |set: &Vec<u16>| format!("\"{}\"", pcpus(set, self.pcpus));
                match &sets[..] {
                    [] => "\"all\"".to_owned(),
                    [first, rest @ ..] if rest.iter().all(|set| set == first) => quoted(first),
                    _ => format!(
                        "[{}]",
                        sets.iter().map(quoted).collect::<Vec<_>>().join(", ")
                    ),
                }
            }
        }
    }

    /// `value` of `lever` for people.
    pub fn shown(&self, lever: Lever, value: &Value) -> String {
        self.toml(lever, value).replace('"', "")
    }

    /// The changes of a scenario that make it `settings`.
    pub fn changes(&self, settings: &Settings) -> Vec<(String, String)> {
        let pairs = settings.iter();
        pairs
            .map(|(lever, value)| (self.key(*lever), self.toml(*lever, value)))
            .collect()
    }

    /// The parameter, or what else is set, for people.
    pub fn what(lever: Lever) -> &'static str {
        match lever {
            Lever::Scheduler(name) | Lever::Domain(_, name) => name,
            Lever::Pin(_) => "pin",
            Lever::Vcpus(_) => "vcpus",
        }
    }

    /// `settings` in words: domains with the same change share a phrase.
    pub fn label(&self, settings: &Settings) -> String {
        if settings.is_empty() {
            return "as it is".to_owned();
        }
        let mut phrases: Vec<(String, Vec<&str>)> = Vec::new();
        for (lever, value) in settings {
            let from = self.own(*lever);
            let from = from.map_or_else(String::new, |from| self.shown(*lever, &from));
            let to = self.shown(*lever, value);
            let change = format!("{} {from} -> {to}", Self::what(*lever));
            let name = match *lever {
                Lever::Scheduler(_) => "",
                Lever::Domain(at, _) | Lever::Pin(at) | Lever::Vcpus(at) => &self.guests[at].name,
            };
            match phrases.iter_mut().find(|(phrase, _)| *phrase == change) {
                Some((_, names)) => names.push(name),
                None => phrases.push((change, vec![name])),
            }
        }
        let phrase = |(change, names): &(String, Vec<&str>)| match &names[..] {
            [""] => change.clone(),
            names => format!(
                "{}: {change}",
                domio_report::written::NumberedName::all(names)
            ),
        };
        phrases.iter().map(phrase).collect::<Vec<_>>().join("; ")
    }
}

/// `name` as a part of a dotted key.
fn bare(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => format!("\"{name}\""),
    }
}

/// A set of pcpus as hosts write one, on a host of `all`: "0-3,6", "all".
pub(super) fn pcpus(set: &[u16], all: u16) -> String {
    match set.is_empty() || set.len() >= usize::from(all) {
        true => "all".to_owned(),
        false => stretches(set),
    }
}

/// A set of pcpus as a list, without a word for all: "0-3,6".
pub(super) fn stretches(set: &[u16]) -> String {
    let parts = set.chunk_by(|before, next| before + 1 == *next);
    let words = parts.map(|part| match part {
        [only] => only.to_string(),
        _ => format!("{}-{}", part[0], part[part.len() - 1]),
    });
    words.collect::<Vec<_>>().join(",")
}
