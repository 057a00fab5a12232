//! What the releases of a policy differ in, and on which hosts that shows.
//!
//! A policy of Xen declares its changes as data, so that a comparison of two releases can say that
//! they do the same on a host, and why.

use domio_core::{ParamValues, Topology, XenVersion};

/// The parameter that says whose rules apply.
const VERSION: &str = "version";

/// Parts of a host that a rule may need to decide anything.
#[derive(Clone, Debug)]
pub struct HostParts {
    /// Its pcpus.
    pub topology: Topology,
    /// The policy's parameters.
    pub params: ParamValues,
    /// Some domain has a cap, at the start or later.
    pub caps: bool,
    /// Some vcpu prefers pcpus, at the start or later.
    pub soft_affinity: bool,
    /// Some vcpu may not have every pcpu, at the start or later.
    pub hard_affinity: bool,
    /// Pcpus go offline in the run.
    pub hotplug: bool,
}

impl HostParts {
    /// Whether it has several pcpus.
    pub fn several_pcpus(&self) -> bool {
        self.topology.pcpus() > 1
    }

    /// Whether the policy's parameter `name` is anything but 0 or off.
    pub fn sets(&self, name: &str) -> bool {
        self.params.by_name(name).is_some_and(|value| value != 0)
    }
}

/// A rule that changed with a release.
#[derive(Clone, Copy, Debug)]
pub struct RuleChange {
    /// First release with the rule as it is from then on.
    pub since: XenVersion,
    /// The rule from then on, as half a sentence.
    pub rule: &'static str,
    /// Whether the change can decide anything on a host.
    pub matters: fn(&HostParts) -> bool,
}

/// A parameter that a policy has only from some release on.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    /// The parameter, of the policy, a domain or a vcpu.
    pub param: &'static str,
    /// First release that has it.
    pub since: XenVersion,
}

/// A parameter that begins with a release.
pub const fn began(param: &'static str, since: XenVersion) -> Began {
    Began { param, since }
}

/// A change that can decide something on hosts of which `matters` is true.
pub const fn change(
    since: XenVersion,
    rule: &'static str,
    matters: fn(&HostParts) -> bool,
) -> RuleChange {
    RuleChange {
        since,
        rule,
        matters,
    }
}

/// The releases of a policy that Xen has or had.
#[derive(Clone, Copy, Debug)]
pub struct Releases {
    /// First release of Xen that has the policy.
    pub first: XenVersion,
    /// Last one; `None` where Xen still has it.
    pub last: Option<XenVersion>,
    /// What changed, oldest first; `None` where that is not declared.
    pub changes: Option<&'static [RuleChange]>,
    /// Parameters that not all releases have. One that is given all the same does nothing.
    pub began: &'static [Began],
}

impl Releases {
    /// Whether Xen `version` has the policy.
    pub fn has(&self, version: XenVersion) -> bool {
        self.first <= version && self.last.is_none_or(|last| version <= last)
    }

    /// What changed between `one` release and the `other`, in either order, that can decide
    /// anything on `host`; `None` where changes are not declared.
    pub fn between<'a>(
        &self,
        one: XenVersion,
        other: XenVersion,
        host: &'a HostParts,
    ) -> Option<impl Iterator<Item = &'static RuleChange> + 'a> {
        let (from, to) = (one.min(other), one.max(other));
        let changes = self.changes?.iter();
        let between = changes.filter(move |c| from < c.since && c.since <= to);
        Some(between.filter(|c| (c.matters)(host)))
    }

    /// The first release that has the parameter `param`, if that is not the first one of all.
    pub fn began(&self, param: &str) -> Option<XenVersion> {
        let began = self.began.iter().find(|b| b.param == param);
        began.map(|b| b.since)
    }
}

/// The release whose rules `params` ask for; `None` of a policy that has one set of rules.
pub fn version(params: &ParamValues) -> Option<XenVersion> {
    XenVersion::from_name(params.word(VERSION)?)
}
