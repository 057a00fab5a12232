//! The parts that a scenario can ask for by name.

use crate::devices::{DOMAIN_HEADER, DeviceConfig, KINDS as DEVICES, RECORDS};
use crate::workloads::{DEMANDS, OTHERS, WorkloadEntry, of};
use domio_blk::elevator::{ElevatorInfo, elevators};
use domio_contract::Policy;
use domio_contract::control::Entry;
use domio_core::Class;
use domio_core::XenVersion;
use domio_core::keys::{Key, KeySection, KeyVariant, TOP_LEVEL, Words};
use domio_vmm::bus::side::DeviceKind;
use domio_vmm::hardware::HARDWARE;
use domio_vmm::taken::TAKEN_TIME;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The parts that a scenario can ask for by name: policies, controllers, elevators,
/// workloads and devices, those that ship and those of other crates. A clone is the same lists.
///
/// Lists of policies alone become parts: every other part that ships goes with them.
#[derive(Clone)]
pub struct Parts(Arc<Lists>);

#[derive(Clone)]
struct Lists {
    policies: Vec<Policy>,
    controllers: Vec<&'static Entry>,
    elevators: Vec<&'static ElevatorInfo>,
    /// Those that are made of their keys alone, the ones that ship first.
    workloads: Vec<&'static WorkloadEntry>,
    /// Those that were added, after [`DEVICES`] on the bus.
    devices: Vec<&'static DeviceEntry>,
    /// What was added, in that order.
    added: Vec<AddedPart>,
}

/// Kinds of parts, and the words that name those of each.
const KINDS: [(&str, Words); 4] = [
    ("policy", Words::Policies),
    ("controller", Words::Controllers),
    ("elevator", Words::Elevators),
    ("workload", Words::Workloads),
];

/// A part that was added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddedPart {
    /// What it is: "policy", "controller", "elevator", "workload", "device".
    pub kind: &'static str,
    /// What scenarios call it.
    pub name: &'static str,
}

/// A device of another crate that scenarios can ask for.
pub struct DeviceEntry {
    /// Its name, which no other added device has.
    pub name: &'static str,
    /// What its records mean, if it writes any.
    pub records: Option<&'static Class>,
    /// Its tables, its workloads and what they make ([`DeviceConfig::own`]).
    pub kind: DeviceKind<DeviceConfig>,
}

/// A part of the same kind has the name already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameTaken(pub AddedPart);

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AddedPart { kind, name } = self.0;
        write!(
            f,
            "there are two parts of the kind {kind} called \"{name}\"; give the added one another \
             name"
        )
    }
}

impl std::error::Error for NameTaken {}

impl Parts {
    /// The policies, in the order in which lists show them.
    pub fn policies(&self) -> &[Policy] {
        &self.0.policies
    }

    /// The policy called `name`.
    pub fn policy(&self, name: &str) -> Option<&Policy> {
        domio_contract::find(self.policies(), name)
    }

    /// The controllers, in the order in which lists show them.
    pub fn controllers(&self) -> &[&'static Entry] {
        &self.0.controllers
    }

    /// The controller called `name`.
    pub fn controller(&self, name: &str) -> Option<&'static Entry> {
        let mut all = self.controllers().iter().copied();
        all.find(|entry| entry.descriptor.name == name)
    }

    /// The elevators, in the order in which lists show them.
    pub fn elevators(&self) -> &[&'static ElevatorInfo] {
        &self.0.elevators
    }

    /// The workload of the word `word`, if it is made of its keys alone.
    pub(crate) fn workload(&self, word: &str) -> Option<&'static WorkloadEntry> {
        let mut all = self.0.workloads.iter().copied();
        all.find(|entry| entry.variant.word == word)
    }

    /// The kinds of devices, in the order in which they come to the bus.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &'static DeviceKind<DeviceConfig>> + use<> {
        let added: Vec<_> = self.0.devices.iter().map(|entry| &entry.kind).collect();
        DEVICES.iter().chain(added)
    }

    /// Keys of `section` that are always allowed.
    pub(crate) fn keys(&self, section: &KeySection) -> impl Iterator<Item = &'static Key> + use<> {
        let of = |entry: &&'static DeviceEntry| match section.header {
            TOP_LEVEL => entry.kind.of_host,
            DOMAIN_HEADER => entry.kind.of_domain,
            _ => &[],
        };
        let added: Vec<&Key> = self.0.devices.iter().flat_map(of).collect();
        section.keys.iter().chain(added)
    }

    /// Whether there is a part of the kind `kind` (see [`AddedPart::kind`]) called `name`.
    pub fn has(&self, kind: &str, name: &str) -> bool {
        if kind == "device" {
            return self.0.devices.iter().any(|entry| entry.name == name);
        }
        let words = KINDS.iter().find(|(word, _)| *word == kind);
        words.is_some_and(|(_, words)| self.words(*words).iter().any(|v| v.word == name))
    }

    /// The parts that do not ship with domio, in the order in which they were added.
    pub fn added(&self) -> &[AddedPart] {
        &self.0.added
    }

    /// Adds a policy.
    ///
    /// # Errors
    /// There is one of that name. Nothing changes then.
    pub fn add_policy(&mut self, policy: &Policy) -> Result<(), NameTaken> {
        let name = policy.descriptor.name;
        self.add("policy", name, |lists| {
            lists.policies.push(*policy);
        })
    }

    /// Adds a controller.
    ///
    /// # Errors
    /// There is one of that name. Nothing changes then.
    pub fn add_controller(&mut self, controller: &'static Entry) -> Result<(), NameTaken> {
        let name = controller.descriptor.name;
        self.add("controller", name, |lists| {
            lists.controllers.push(controller);
        })
    }

    /// Adds an elevator.
    ///
    /// # Errors
    /// There is one of that name. Nothing changes then.
    pub fn add_elevator(&mut self, elevator: &'static ElevatorInfo) -> Result<(), NameTaken> {
        self.add("elevator", elevator.name, |lists| {
            lists.elevators.push(elevator);
        })
    }

    /// Adds a workload.
    ///
    /// # Errors
    /// There is one of that word. Nothing changes then.
    pub fn add_workload(&mut self, workload: &'static WorkloadEntry) -> Result<(), NameTaken> {
        self.add("workload", workload.variant.word, |lists| {
            lists.workloads.push(workload);
        })
    }

    /// Adds a device.
    ///
    /// # Errors
    /// One of that name was added before. Nothing changes then.
    pub fn add_device(&mut self, device: &'static DeviceEntry) -> Result<(), NameTaken> {
        self.add("device", device.name, |lists| lists.devices.push(device))
    }

    fn add(
        &mut self,
        kind: &'static str,
        name: &'static str,
        push: impl FnOnce(&mut Lists),
    ) -> Result<(), NameTaken> {
        let added = AddedPart { kind, name };
        if self.has(kind, name) {
            return Err(NameTaken(added));
        }
        let lists = Arc::make_mut(&mut self.0);
        push(lists);
        lists.added.push(added);
        Ok(())
    }

    /// Declarations of all records that hosts with these parts may write. Readers of traces say
    /// private records of real and simulated hosts by them. Policies of one kind share a class,
    /// which is there for each.
    pub fn classes(&self) -> Vec<&'static Class> {
        let policies = self.policies().iter().filter_map(|p| p.descriptor.class);
        let devices = RECORDS.iter().copied().flatten();
        let added = self.0.devices.iter().filter_map(|entry| entry.records);
        let host = [&TAKEN_TIME].into_iter();
        policies.chain(host).chain(devices).chain(added).collect()
    }

    /// The words that a key takes, in the order in which lists show them, with the keys that come
    /// with each.
    pub(crate) fn words(&self, words: Words) -> Vec<KeyVariant> {
        let bare = |name: &'static str, doc: &'static str| KeyVariant::new(name, doc, &[]);
        match words {
            Words::Policies => {
                let all = self.policies().iter().map(|p| p.descriptor);
                all.map(|d| bare(d.name, d.summary)).collect()
            }
            Words::Profiles => {
                let all = HARDWARE.iter().map(|machine| &machine.profile);
                all.map(|profile| bare(profile.name, "")).collect()
            }
            Words::Releases => XenVersion::NAMES
                .iter()
                .map(|name| bare(name, ""))
                .collect(),
            Words::Controllers => {
                let all = self.controllers().iter().map(|entry| entry.descriptor);
                all.map(|d| bare(d.name, d.summary)).collect()
            }
            Words::Elevators => {
                let all = self.elevators().iter();
                all.map(|e| KeyVariant::new(e.name, e.summary, e.keys))
                    .collect()
            }
            Words::Workloads => {
                let (shipped, added) = self.0.workloads.split_at(DEMANDS.len());
                let variant = |entry: &&WorkloadEntry| entry.variant;
                let others = of(&OTHERS).copied();
                let all = shipped.iter().map(variant).chain(others);
                let devices = self.0.devices.iter();
                let devices = devices.flat_map(|entry| of(entry.kind.workloads).copied());
                all.chain(added.iter().map(variant))
                    .chain(devices)
                    .collect()
            }
            Words::Of(list) => of(list).copied().collect(),
        }
    }

    /// The words of the key that decides about further keys of `section`.
    pub(crate) fn variants(&self, section: &KeySection) -> Vec<KeyVariant> {
        self.words(section.variants)
    }

    /// The variant of `section` that `word` chooses.
    pub(crate) fn variant(&self, section: &KeySection, word: &str) -> Option<KeyVariant> {
        self.variants(section).into_iter().find(|v| v.word == word)
    }

    /// The parts that `words` name, as their own crates declare them.
    pub(crate) fn any(&self, words: Words) -> Vec<&'static (dyn Any + Send + Sync)> {
        match words {
            Words::Elevators => self.elevators().iter().map(|e| *e as _).collect(),
            Words::Controllers => self.controllers().iter().map(|e| *e as _).collect(),
            Words::Policies
            | Words::Profiles
            | Words::Releases
            | Words::Workloads
            | Words::Of(_) => Vec::new(),
        }
    }
}

impl From<&[Policy]> for Parts {
    fn from(policies: &[Policy]) -> Self {
        Parts(Arc::new(Lists {
            policies: policies.to_vec(),
            controllers: domio_control::all().collect(),
            elevators: elevators().to_vec(),
            workloads: DEMANDS.iter().collect(),
            devices: Vec::new(),
            added: Vec::new(),
        }))
    }
}

impl From<&Parts> for Parts {
    fn from(parts: &Parts) -> Self {
        parts.clone()
    }
}

/// The same parts by name.
impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        let names = |parts: &Parts| {
            let all = KINDS.map(|(_, words)| parts.words(words));
            all.map(|words| words.iter().map(|v| v.word).collect::<Vec<_>>())
        };
        Arc::ptr_eq(&self.0, &other.0)
            || names(self) == names(other) && self.0.added == other.0.added
    }
}

impl Eq for Parts {}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("added", &self.0.added)
            .finish_non_exhaustive()
    }
}
