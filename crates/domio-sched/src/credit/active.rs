//! Who earns credit: the list of active domains and, for each, that of its active vcpus.

use super::Credit;
use super::state::{Domain, NIL, flag};
use domio_core::VcpuId;

impl Credit {
    /// The domain of `vcpu`.
    pub(super) fn domain_of(&self, vcpu: VcpuId) -> &Domain {
        &self.domains[self.vcpus[vcpu.index()].domain as usize]
    }

    /// Share of `domain` in [`Credit::weight`] while it has `count` active vcpus.
    pub(super) fn weight_in_sum(&self, domain: usize, count: u32) -> i64 {
        self.domains[domain].weight_in_sum(self.rules.weight_per_vcpu, count)
    }

    /// Puts `vcpu` at the head of its domain's active list and, if it is the first there, the
    /// domain at the head of the list of active domains.
    pub(super) fn activate(&mut self, vcpu: VcpuId) {
        self.grants.expire();
        let domain = self.vcpus[vcpu.index()].domain;
        let d = &mut self.domains[domain as usize];
        let next = core::mem::replace(&mut d.active_head, vcpu.0);
        d.active_count += 1;
        let count = d.active_count;
        let v = &mut self.vcpus[vcpu.index()];
        v.set(flag::ACTIVE);
        v.active_prev = NIL;
        v.active_next = next;
        if next != NIL {
            self.vcpus[next as usize].active_prev = vcpu.0;
        }
        self.weight += self.weight_in_sum(domain as usize, count)
            - self.weight_in_sum(domain as usize, count - 1);
        if count == 1 {
            self.link_domain(domain);
        }
    }

    /// Undoes [`Credit::activate`].
    pub(super) fn deactivate(&mut self, vcpu: VcpuId) {
        self.grants.expire();
        let v = &mut self.vcpus[vcpu.index()];
        v.clear(flag::ACTIVE);
        let (domain, prev, next) = (v.domain, v.active_prev, v.active_next);
        match prev {
            NIL => self.domains[domain as usize].active_head = next,
            p => self.vcpus[p as usize].active_next = next,
        }
        if next != NIL {
            self.vcpus[next as usize].active_prev = prev;
        }
        let d = &mut self.domains[domain as usize];
        d.active_count -= 1;
        let count = d.active_count;
        self.weight += self.weight_in_sum(domain as usize, count)
            - self.weight_in_sum(domain as usize, count + 1);
        if count == 0 {
            self.unlink_domain(domain);
        }
    }

    pub(super) fn link_domain(&mut self, domain: u16) {
        let next = core::mem::replace(&mut self.active_domains, u32::from(domain));
        let d = &mut self.domains[domain as usize];
        d.prev = NIL;
        d.next = next;
        if next != NIL {
            self.domains[next as usize].prev = u32::from(domain);
        }
    }

    pub(super) fn unlink_domain(&mut self, domain: u16) {
        let d = &self.domains[domain as usize];
        let (prev, next) = (d.prev, d.next);
        match prev {
            NIL => self.active_domains = next,
            p => self.domains[p as usize].next = next,
        }
        if next != NIL {
            self.domains[next as usize].prev = prev;
        }
    }
}
