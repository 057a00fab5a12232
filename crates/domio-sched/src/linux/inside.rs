//! Groups inside the group of a domain, as libvirt makes them (linux-spec 9.6): one around all, and
//! in it one for each vcpu, one for each I/O thread, and one for all other threads.

use super::event::{Owner, Part};
use super::params::{Layout, Seat};
use super::{Linux, ROOT};
use alloc::vec::Vec;
use domio_contract::{Cx, WorksFor};
use domio_core::params::ByWord;
use domio_core::{DomainId, ParamValues, VcpuId};

impl Linux {
    /// `group` and all groups in it, each before what is in it.
    pub(super) fn groups_in(&self, group: u32) -> Vec<u32> {
        let mut all = Vec::from([group]);
        let mut i = 0;
        while i < all.len() {
            all.extend_from_slice(&self.groups[all[i] as usize].children);
            i += 1;
        }
        all
    }

    /// All threads in `group` and in groups in it.
    pub(super) fn threads_in(&self, group: u32) -> Vec<VcpuId> {
        let groups = self.groups_in(group);
        let members = groups.iter().map(|g| &self.groups[*g as usize].members);
        members.flatten().copied().collect()
    }

    /// The part of the group `around` that is called `part`, if it exists.
    fn part_in(&self, around: u32, domain: DomainId, part: Part) -> Option<u32> {
        let owner = Owner::Part(domain, part);
        let mut below = self.groups[around as usize].children.iter().copied();
        below.find(|g| self.groups[*g as usize].owner == owner)
    }

    /// The group in which the thread `vcpu` belongs, which is made if there is none.
    pub(super) fn seat(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> u32 {
        let works = self.placed.get(vcpu.index()).copied().flatten();
        let name = cx.vcpu(vcpu).name;
        let (domain, part) = match works {
            Some(WorksFor::Kernel) => return ROOT,
            Some(WorksFor::Emulator(of)) => (of, Part::Emulator),
            Some(WorksFor::Iothread(of, n)) => (of, Part::Iothread(n)),
            None => {
                let part = match self.threads[vcpu.index()].seat {
                    Seat::Vcpu => Part::Vcpu(name.index),
                    Seat::Emulator => Part::Emulator,
                    Seat::Iothread => Part::of_seated(name.index),
                };
                (name.domain, part)
            }
        };
        let group = self.group_of(domain);
        let inside = self.domain(domain).inside;
        if inside.layout == Layout::Flat {
            self.settle(cx, group);
            return group;
        }
        let known = self.groups.len();
        let mut around = group;
        for part in [Part::Libvirt, part] {
            around = self
                .part_in(around, domain, part)
                .unwrap_or_else(|| self.add_group(Owner::Part(domain, part), around));
        }
        self.greet_groups(cx, known);
        self.set_group_to(cx, around, inside.of(part));
        self.settle(cx, around);
        around
    }

    /// The groups inside that of `domain` are those that it was told last.
    pub(super) fn arrange(&mut self, cx: &mut Cx<'_>, domain: DomainId) {
        let known = *self.domain(domain);
        let is_flat = known.inside.layout == Layout::Flat;
        if is_flat && self.groups[known.group as usize].children.is_empty() {
            return;
        }
        if !is_flat {
            for group in self.groups_in(known.group) {
                if let Owner::Part(_, part) = self.groups[group as usize].owner {
                    self.set_group_to(cx, group, known.inside.of(part));
                }
            }
        }
        for vcpu in self.threads_in(known.group) {
            let to = self.seat(cx, vcpu);
            self.change_group(cx, vcpu, to);
        }
    }

    /// `vcpu` sits in this group inside that of its domain.
    pub(super) fn set_seat(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, params: &ParamValues) {
        let number = params.by_name("seat").unwrap_or(0);
        let seat = Seat::ALL.get(number as usize).copied();
        let seat = seat.unwrap_or(Seat::Vcpu);
        let thread = &mut self.threads[vcpu.index()];
        if core::mem::replace(&mut thread.seat, seat) != seat {
            let to = self.seat(cx, vcpu);
            self.change_group(cx, vcpu, to);
        }
    }

    /// The thread `vcpu` is in `group` from now on (`cgroup.threads`): it leaves its queue, and
    /// comes back where the group has one.
    fn change_group(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, group: u32) {
        let e = self.entity_of(vcpu);
        let old = self.entities[e as usize].group;
        if old == group {
            return;
        }
        let queued = self.pull_out(cx, e);
        if !self.is_high(e) {
            self.leave_fair(e);
        }
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        let q = self.queue_on(group, cpu);
        let entity = &mut self.entities[e as usize];
        entity.group = group;
        entity.queue = q;
        entity.parent = self.queues[q as usize].entity;
        entity.depth = self.groups[group as usize].depth;
        self.groups[old as usize].members.retain(|v| *v != vcpu);
        self.groups[group as usize].members.push(vcpu);
        self.make_room(group);
        if let Some(runs) = queued {
            self.put_in(cx, e, runs);
            if runs {
                self.resched(cx, cpu);
            }
        }
        // Whom the old group held back may run where this one has time.
        self.release(cx, q, 0);
        self.resched_if_idle(cx, cpu);
        self.left(cx, old);
    }

    /// Whether no thread is in `group` or in a group in it.
    fn is_deserted(&self, group: u32) -> bool {
        let group = &self.groups[group as usize];
        group.members.is_empty() && group.children.iter().all(|g| self.is_deserted(*g))
    }

    /// A thread has left `group` for good: limits of groups without threads go with them.
    pub(super) fn left(&mut self, cx: &mut Cx<'_>, group: u32) {
        let mut group = group;
        while self.is_deserted(group) {
            self.forget_quota(cx, group);
            match self.groups[group as usize].owner {
                Owner::Part(..) => group = self.groups[group as usize].parent,
                Owner::Root | Owner::Domain(_) | Owner::Group(_) => return,
            }
        }
    }
}
