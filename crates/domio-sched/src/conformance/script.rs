//! [`Script`]: what happens on the mini host, written down beforehand.
//!
//! A script holds no decision of a scheduler: a vcpu computes as much as its steps say, whenever
//! it is given a pcpu. Two policies under one script therefore face the same demand.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use domio_contract::{GroupId, PacketsMoved, WorksFor};
use domio_core::{CpuSet, DomainId, Duration, Instant, PcpuId, Topology, VcpuId, VcpuName};

/// The weight that Xen gives a domain that says nothing.
pub const DEFAULT_WEIGHT: i64 = 256;

/// One step of what a vcpu does, over and over from the first to the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScriptStep {
    /// Computes for this long (counted while it has a pcpu).
    Run(Duration),
    /// Computes for ever.
    Burn,
    /// Blocks, and is woken after this long unless a kick comes first.
    Block(Duration),
    /// Blocks until it is kicked.
    Wait,
    /// Yields its pcpu.
    Yield,
    /// Sends an event to another vcpu: wakes it if it is blocked; else its next block returns at
    /// once (xen-spec 0.7).
    Kick(VcpuId),
    /// Has so many packets at hand from now on ([`domio_contract::Scheduler::dispatching`]). Left
    /// out for a policy that does not need to know.
    Dispatch(u32),
}

/// A vcpu of a script. Its id is its place in [`Script::vcpus`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptVcpu {
    /// Domain and index.
    pub name: VcpuName,
    /// When it is created.
    pub starts: Instant,
    /// When it is destroyed.
    pub stops: Option<Instant>,
    /// Hard affinity.
    pub hard: CpuSet,
    /// Soft affinity.
    pub soft: CpuSet,
    /// Parameters of its own by name, as [`ScriptDomain::params`].
    pub params: Vec<(&'static str, i64)>,
    /// What it works for, if it is a thread of the host; for policies that have groups.
    pub works: Option<WorksFor>,
    /// What it does.
    pub steps: Vec<ScriptStep>,
}

/// A domain of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptDomain {
    /// Its id.
    pub id: DomainId,
    /// Parameters by name. Those that the policy does not declare, or not in this range, keep
    /// the policy's default: one script serves every policy.
    pub params: Vec<(&'static str, i64)>,
    /// The group that it is in, one of [`Script::groups`]; for policies that have groups.
    pub group: Option<GroupId>,
}

/// A group of domains of a script. Its id is its place in [`Script::groups`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptGroup {
    /// The group that it is in, an earlier one.
    pub parent: Option<GroupId>,
    /// Parameters by name, as [`ScriptDomain::params`].
    pub params: Vec<(&'static str, i64)>,
}

/// What an operator does in mid-run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intervention {
    /// Pauses a vcpu.
    Pause(VcpuId),
    /// Ends the pause.
    Unpause(VcpuId),
    /// Changes hard and soft affinity. Refused when no pcpu of `hard` is online.
    Affinity {
        /// Whose.
        vcpu: VcpuId,
        /// Where it may run.
        hard: CpuSet,
        /// Where it prefers to run.
        soft: CpuSet,
    },
    /// Takes a pcpu out of service. Vcpus that would have nowhere to run may run anywhere from
    /// then on, as in Xen. Refused for the last one.
    Offline(PcpuId),
    /// Brings it back.
    Online(PcpuId),
    /// Changes one parameter of a domain.
    Set(DomainId, &'static str, i64),
    /// Changes one parameter of a vcpu. Left out for a policy that does not declare it, or not in
    /// this range.
    SetVcpu(VcpuId, &'static str, i64),
    /// Changes one parameter of a group of domains, likewise.
    SetGroup(GroupId, &'static str, i64),
    /// A domain goes into another group, or to the top; for policies that have groups.
    Join(DomainId, Option<GroupId>),
    /// Changes one parameter of the policy as a whole. Left out for a policy that does not declare
    /// it changeable, or not in this range.
    SetPolicy(&'static str, i64),
    /// An event from outside, as [`ScriptStep::Kick`].
    Kick(VcpuId),
    /// Others have worked for a domain for so long ([`domio_contract::Scheduler::charge`]).
    Charge(DomainId, Duration),
    /// A driver domain has moved packets ([`domio_contract::Scheduler::packets`]). Left out for a
    /// policy that does not need to know.
    Packets(PacketsMoved),
}

/// A whole run, but for the policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// For people.
    pub name: String,
    /// The host.
    pub topology: Topology,
    /// The domains.
    pub domains: Vec<ScriptDomain>,
    /// Groups of domains; each comes after the one that it is in.
    pub groups: Vec<ScriptGroup>,
    /// The vcpus; those that start at the same time are created in this order.
    pub vcpus: Vec<ScriptVcpu>,
    /// What the operator does; simultaneous actions happen in this order.
    pub actions: Vec<(Instant, Intervention)>,
    /// When the run ends.
    pub end: Instant,
}

/// Why a script cannot be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScriptError {
    /// Domain that a vcpu or an action names is not in [`Script::domains`].
    UnknownDomain(DomainId),
    /// Group that a domain, a group or an action names is not in [`Script::groups`], or not before
    /// the group that is to be in it.
    UnknownGroup(GroupId),
    /// Vcpu that a step or an action names is not in [`Script::vcpus`].
    UnknownVcpu(VcpuId),
    /// Pcpu that an action names is not in the topology.
    UnknownPcpu(PcpuId),
    /// The steps of this vcpu take no time: at least one must be `Burn` or a `Run` above zero.
    NoDemand(VcpuName),
    /// The hard affinity of this vcpu, as created, holds no pcpu of the topology.
    Nowhere(VcpuName),
}

impl Script {
    /// A script without vcpus on a host of this shape.
    pub fn new(name: &str, topology: Topology, end: Instant) -> Self {
        Script {
            name: name.into(),
            topology,
            domains: Vec::new(),
            groups: Vec::new(),
            vcpus: Vec::new(),
            actions: Vec::new(),
            end,
        }
    }

    /// Adds a domain with these parameters; ids count from 0.
    pub fn domain(&mut self, params: &[(&'static str, i64)]) -> DomainId {
        let id = DomainId(self.domains.len() as u16);
        self.domains.push(ScriptDomain {
            id,
            params: params.to_vec(),
            group: None,
        });
        id
    }

    /// Adds a group in `parent` with these parameters, and the usual weight if they have none; ids
    /// count from 0.
    pub fn group(&mut self, parent: Option<GroupId>, params: &[(&'static str, i64)]) -> GroupId {
        let id = GroupId(self.groups.len() as u16);
        let usual = ("weight", DEFAULT_WEIGHT);
        let weighs = params.iter().any(|(name, _)| *name == usual.0);
        let usual = (!weighs).then_some(usual);
        self.groups.push(ScriptGroup {
            parent,
            params: params.iter().copied().chain(usual).collect(),
        });
        id
    }

    /// Adds a domain to `group` with one vcpu that burns.
    pub fn burner_of(&mut self, group: Option<GroupId>) -> DomainId {
        let domain = self.domain(&[("weight", DEFAULT_WEIGHT)]);
        self.domains[domain.index()].group = group;
        self.vcpu(domain, &[ScriptStep::Burn]);
        domain
    }

    /// Adds a vcpu that exists from the start to the end and may run anywhere.
    pub fn vcpu(&mut self, domain: DomainId, steps: &[ScriptStep]) -> VcpuId {
        let id = VcpuId(self.vcpus.len() as u32);
        let index = self
            .vcpus
            .iter()
            .filter(|v| v.name.domain == domain)
            .count();
        self.vcpus.push(ScriptVcpu {
            name: VcpuName::new(domain, index as u16),
            starts: Instant::ZERO,
            stops: None,
            hard: CpuSet::ALL,
            soft: CpuSet::ALL,
            params: Vec::new(),
            works: None,
            steps: steps.to_vec(),
        });
        id
    }

    /// Adds an action at `at`.
    pub fn at(&mut self, at: Duration, action: Intervention) {
        self.actions.push((Instant::ZERO + at, action));
    }

    /// The declared value of a domain's parameter, if the script gives one.
    pub fn param(&self, domain: DomainId, name: &str) -> Option<i64> {
        let domain = self.domains.iter().find(|d| d.id == domain)?;
        let param = domain.params.iter().find(|(n, _)| *n == name)?;
        Some(param.1)
    }

    /// The same with a driver domain, if its first domain does not only burn: whenever it computes,
    /// it begins with packets at hand, for `longest` at most, and for half of that time with two.
    pub fn with_driver_domain(&self, longest: Duration) -> Script {
        let mut script = self.clone();
        let Some(first) = self.domains.first().map(|d| d.id) else {
            return script;
        };
        script.name = alloc::format!("{}, with a driver domain", self.name);
        let drives = |v: &&mut ScriptVcpu| v.name.domain == first;
        for v in script.vcpus.iter_mut().filter(drives) {
            let old = core::mem::take(&mut v.steps);
            for step in old {
                match step {
                    ScriptStep::Run(time) if !time.is_zero() => {
                        let held = time.min(longest);
                        let half = Duration::from_nanos(held.as_nanos() / 2);
                        v.steps.extend([
                            ScriptStep::Dispatch(2),
                            ScriptStep::Run(half),
                            ScriptStep::Dispatch(1),
                            ScriptStep::Run(held - half),
                            ScriptStep::Dispatch(0),
                            ScriptStep::Run(time - held),
                        ]);
                    }
                    other => v.steps.push(other),
                }
            }
        }
        script
    }

    /// Whether no domain ever weighs over eight times as much as another. Whoever is lighter than
    /// that gets so little of a busy host that waiting for seconds is what its weight means.
    pub fn weights_are_close(&self) -> bool {
        let mut lightest = i64::MAX;
        let mut heaviest = 0;
        let mut weigh = |weight: i64| {
            lightest = lightest.min(weight);
            heaviest = heaviest.max(weight);
        };
        for domain in &self.domains {
            weigh(self.param(domain.id, "weight").unwrap_or(DEFAULT_WEIGHT));
        }
        for (_, action) in &self.actions {
            if let Intervention::Set(_, "weight", weight) = action {
                weigh(*weight);
            }
        }
        heaviest <= lightest.saturating_mul(8)
    }

    /// Whether demand never changes: every vcpu burns from start to end, and no operator acts.
    pub fn only_burns(&self) -> bool {
        let changes_nothing =
            |(_, a): &(Instant, Intervention)| matches!(a, Intervention::Packets(_));
        self.actions.iter().all(changes_nothing)
            && self.vcpus.iter().all(|v| {
                v.starts == Instant::ZERO && v.stops.is_none() && v.steps == [ScriptStep::Burn]
            })
    }

    /// Whether every vcpu may run anywhere all the time.
    pub fn is_unrestricted(&self) -> bool {
        let all = self.topology.all();
        let restricts = |a: &Intervention| match a {
            Intervention::Affinity { hard, .. } => !all.is_subset(hard),
            _ => false,
        };
        self.vcpus.iter().all(|v| all.is_subset(&v.hard))
            && !self.actions.iter().any(|(_, a)| restricts(a))
    }

    /// Whether the script can be run.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), ScriptError> {
        let vcpu = |v: VcpuId| match self.vcpus.get(v.index()) {
            Some(_) => Ok(()),
            None => Err(ScriptError::UnknownVcpu(v)),
        };
        let domain = |d: DomainId| match self.domains.iter().any(|known| known.id == d) {
            true => Ok(()),
            false => Err(ScriptError::UnknownDomain(d)),
        };
        let pcpu = |p: PcpuId| match p.index() < self.topology.pcpus() {
            true => Ok(()),
            false => Err(ScriptError::UnknownPcpu(p)),
        };
        let group = |g: GroupId, among: usize| match g.index() < among {
            true => Ok(()),
            false => Err(ScriptError::UnknownGroup(g)),
        };
        for (i, own) in self.groups.iter().enumerate() {
            own.parent.map_or(Ok(()), |parent| group(parent, i))?;
        }
        let groups = self.groups.len();
        for d in &self.domains {
            d.group.map_or(Ok(()), |g| group(g, groups))?;
        }
        for v in &self.vcpus {
            domain(v.name.domain)?;
            let takes_time = |s: &ScriptStep| match s {
                ScriptStep::Run(d) => !d.is_zero(),
                step => *step == ScriptStep::Burn,
            };
            if !v.steps.iter().any(takes_time) {
                return Err(ScriptError::NoDemand(v.name));
            }
            if !v.hard.intersects(&self.topology.all()) {
                return Err(ScriptError::Nowhere(v.name));
            }
            for step in &v.steps {
                if let ScriptStep::Kick(whom) = *step {
                    vcpu(whom)?;
                }
            }
        }
        for (_, action) in &self.actions {
            match *action {
                Intervention::Pause(v) | Intervention::Unpause(v) | Intervention::Kick(v) => {
                    vcpu(v)?
                }
                Intervention::Affinity { vcpu: v, .. } | Intervention::SetVcpu(v, ..) => vcpu(v)?,
                Intervention::SetGroup(g, ..) => group(g, groups)?,
                Intervention::Join(d, g) => {
                    domain(d)?;
                    g.map_or(Ok(()), |g| group(g, groups))?;
                }
                Intervention::Offline(p) | Intervention::Online(p) => pcpu(p)?,
                Intervention::Set(d, ..) | Intervention::Charge(d, _) => domain(d)?,
                Intervention::Packets(moved) => {
                    domain(moved.guest)?;
                    domain(moved.driver)?;
                }
                Intervention::SetPolicy(..) => {}
            }
        }
        Ok(())
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptError::UnknownDomain(d) => {
                write!(f, "{d} is not declared: add it with Script::domain first")
            }
            ScriptError::UnknownGroup(g) => {
                write!(f, "{g} is not declared: add it with Script::group first")
            }
            ScriptError::UnknownVcpu(v) => {
                write!(f, "vcpu {} is not declared: add it with Script::vcpu", v.0)
            }
            ScriptError::UnknownPcpu(p) => write!(f, "{p} is not in the script's topology"),
            ScriptError::NoDemand(v) => {
                write!(
                    f,
                    "the steps of {v} take no time: add Burn or a positive Run"
                )
            }
            ScriptError::Nowhere(v) => {
                write!(
                    f,
                    "{v} may run nowhere: its hard affinity holds no pcpu of the topology"
                )
            }
        }
    }
}

impl core::error::Error for ScriptError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn script() -> (Script, DomainId) {
        let topology = Topology::flat(2).unwrap();
        let mut script = Script::new("test", topology, Instant::from_nanos(1));
        let domain = script.domain(&[("weight", 512)]);
        (script, domain)
    }

    #[test]
    fn a_script_that_cannot_run_says_what_to_do() {
        let (mut s, d) = script();
        s.vcpu(d, &[ScriptStep::Yield, ScriptStep::Run(Duration::ZERO)]);
        let refused = s.check().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the steps of d0v0 take no time: add Burn or a positive Run"
        );
        s.vcpus[0].steps = [ScriptStep::Burn, ScriptStep::Kick(VcpuId(1))].to_vec();
        assert_eq!(s.check(), Err(ScriptError::UnknownVcpu(VcpuId(1))));
        s.vcpus[0].steps.pop();
        assert_eq!(s.check(), Ok(()));
        s.vcpus[0].hard = CpuSet::of(PcpuId(2));
        assert_eq!(s.check(), Err(ScriptError::Nowhere(s.vcpus[0].name)));
        s.vcpus[0].hard = CpuSet::ALL;
        s.at(Duration::ZERO, Intervention::Offline(PcpuId(2)));
        assert_eq!(s.check(), Err(ScriptError::UnknownPcpu(PcpuId(2))));
        s.actions.clear();
        s.domains[0].group = Some(GroupId(0));
        assert_eq!(s.check(), Err(ScriptError::UnknownGroup(GroupId(0))));
        s.group(None, &[]);
        assert_eq!(s.check(), Ok(()));
        s.at(Duration::ZERO, Intervention::Set(DomainId(1), "cap", 10));
        assert_eq!(s.check(), Err(ScriptError::UnknownDomain(DomainId(1))));
    }

    #[test]
    fn what_a_script_contains_decides_which_checks_make_sense() {
        let (mut s, d) = script();
        s.vcpu(d, &[ScriptStep::Burn]);
        assert!(s.only_burns() && s.is_unrestricted());
        assert_eq!(s.param(d, "weight"), Some(512));
        assert_eq!(s.param(d, "cap"), None);
        s.vcpus[0].hard = CpuSet::of(PcpuId(1));
        assert!(!s.is_unrestricted());
        assert!(s.weights_are_close());
        s.domain(&[("weight", 64)]);
        assert!(s.weights_are_close());
        s.domain(&[("weight", 63)]);
        assert!(!s.weights_are_close());
        s.at(Duration::ZERO, Intervention::Pause(VcpuId(0)));
        assert!(!s.only_burns());
    }
}
