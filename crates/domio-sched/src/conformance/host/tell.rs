//! What the policy is notified of parameters: those of its own, of domains, of vcpus and of groups.

use super::{Host, PolicyCall};
use crate::conformance::log::{ParamChange, Reserved};
use domio_contract::{Cx, GroupId, Scheduler};
use domio_core::{DomainId, ParamSpec, ParamValues, VcpuId};

/// Values of `specs`: those of a script where the policy has them, in this range, and the defaults
/// elsewhere.
fn values(specs: &'static [ParamSpec], told: &[(&'static str, i64)]) -> ParamValues {
    let mut values = ParamValues::defaults(specs);
    for (name, value) in told {
        let _ = values.set(name, *value);
    }
    values
}

impl Host<'_> {
    pub(super) fn set_policy(&mut self, name: &'static str, value: i64) {
        let changeable = self.policy.descriptor().changeable;
        let Some(&before) = self.policy.params() else {
            return;
        };
        let mut wanted = before;
        let known = changeable.iter().any(|spec| spec.name == name);
        if !known || wanted.set(name, value).is_err() {
            return;
        }
        let change = |s: &mut dyn Scheduler, cx: &mut Cx<'_>| {
            let taken = s.set_params(cx, &wanted).is_ok();
            let expected = if taken { wanted } else { before };
            ParamChange {
                name,
                value,
                taken,
                as_told: s.params() == Some(&expected),
                tslice_ms: expected.by_name("tslice_ms"),
            }
        };
        self.call(change, |change| PolicyCall::SetParams(*change));
    }

    /// Groups are known before anybody joins them.
    pub(super) fn tell_groups(&mut self) {
        let specs = self.policy.descriptor().group_params;
        if specs.is_empty() {
            return;
        }
        let told = self.script.groups.iter().map(|g| values(specs, &g.params));
        self.groups = told.collect();
        for i in 0..self.groups.len() {
            self.set_group(GroupId(i as u16));
        }
    }

    fn set_group(&mut self, group: GroupId) {
        let params = self.groups[group.index()];
        let parent = self.script.groups[group.index()].parent;
        self.call(
            |s, cx| s.set_group(cx, group, parent, &params),
            |()| PolicyCall::SetGroup(group),
        );
    }

    pub(super) fn change_group(&mut self, group: GroupId, name: &'static str, value: i64) {
        if let Some(params) = self.groups.get_mut(group.index())
            && params.set(name, value).is_ok()
        {
            self.set_group(group);
        }
    }

    pub(super) fn join(&mut self, domain: DomainId, group: Option<GroupId>) {
        let known = self.domains.iter().any(|(d, _)| *d == domain);
        if known && !self.policy.descriptor().group_params.is_empty() {
            self.call(
                |s, cx| s.join(cx, domain, group),
                |()| PolicyCall::Join(domain, group),
            );
        }
    }

    /// What `v` works for, if it is a thread of the host.
    pub(super) fn tell_work(&mut self, v: VcpuId) {
        let has_groups = !self.policy.descriptor().group_params.is_empty();
        if let Some(works) = self.script.vcpus[v.index()].works.filter(|_| has_groups) {
            self.call(
                |s, cx| s.host_thread(cx, v, works),
                |()| PolicyCall::HostThread(v, works),
            );
        }
    }

    /// What is known of `domain` before its first vcpu.
    pub(super) fn first_words(&mut self, domain: DomainId) {
        let declared = self.script.domains.iter().find(|d| d.id == domain);
        let declared = declared.expect("a checked script declares its domains");
        let specs = self.policy.descriptor().domain_params;
        self.domains.push((domain, values(specs, &declared.params)));
        self.set_domain(domain);
        if declared.group.is_some() {
            self.join(domain, declared.group);
        }
    }

    /// What is known of `v` alone.
    pub(super) fn first_words_of(&mut self, v: VcpuId) {
        self.own[v.index()] = None;
        for (name, value) in &self.script.vcpus[v.index()].params {
            self.set_own(v, name, *value);
        }
        self.set_vcpu(v);
    }

    pub(super) fn change_vcpu(&mut self, v: VcpuId, name: &'static str, value: i64) {
        if self.vcpus[v.index()].exists && self.set_own(v, name, value) {
            self.set_vcpu(v);
        }
    }

    /// Takes down that `v` has a value of its own. Returns whether it can have that.
    fn set_own(&mut self, v: VcpuId, name: &str, value: i64) -> bool {
        let domain = self.tables.vcpus[v.index()].name.domain;
        let of_domain = self.domains.iter().find(|(d, _)| *d == domain);
        let (_, of_domain) = of_domain.expect("a domain is known before its vcpus");
        let descriptor = self.policy.descriptor();
        let mut own = self.own[v.index()].unwrap_or_else(|| descriptor.vcpu_values(of_domain));
        let can = own.set(name, value).is_ok();
        if can {
            self.own[v.index()] = Some(own);
        }
        can
    }

    fn set_vcpu(&mut self, v: VcpuId) {
        if let Some(own) = self.own[v.index()] {
            self.call(
                |s, cx| s.set_vcpu(cx, v, &own),
                |()| PolicyCall::SetVcpu(v, Reserved::of(&own)),
            );
        }
    }

    pub(super) fn change_domain(&mut self, domain: DomainId, name: &'static str, value: i64) {
        if let Some((_, params)) = self.domains.iter_mut().find(|(d, _)| *d == domain)
            && params.set(name, value).is_ok()
        {
            self.set_domain(domain);
        }
    }

    fn set_domain(&mut self, domain: DomainId) {
        let found = self.domains.iter().find(|(d, _)| *d == domain);
        let params = found
            .expect("a domain is listed before its parameters are set")
            .1;
        let descriptor = self.policy.descriptor();
        for (v, own) in self.own.iter_mut().enumerate() {
            if let Some(own) = own
                && self.tables.vcpus[v].name.domain == domain
            {
                descriptor.inherit(own, &params);
            }
        }
        self.call(
            |s, cx| s.set_domain(cx, domain, &params),
            |()| PolicyCall::SetDomain(domain, Reserved::of(&params)),
        );
    }
}
