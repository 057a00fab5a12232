//! What operators set: groups of domains, threads of vcpus (linux-spec 1.5, 1.9, 3.11).

use super::Linux;
use super::entity::how;
use super::params::{Class, GroupSetting, ThreadSetting};
use super::state::{Entity, Group, Queue};
use super::weights::shares;
use domio_contract::Cx;
use domio_core::{DomainId, VcpuId};

impl Linux {
    /// The group of `domain`, which is made if there is none.
    pub(super) fn group_of(&mut self, domain: DomainId) -> u32 {
        if self.domains.len() <= domain.index() {
            self.domains.resize(domain.index() + 1, None);
        }
        if let Some((group, _)) = self.domains[domain.index()] {
            return group;
        }
        let group = self.groups.len() as u32;
        self.domains[domain.index()] = Some((group, ThreadSetting::unknown()));
        self.domains_of.push(Some(domain));
        let first = self.entities.len() as u32;
        for cpu in 0..self.cpus.len() as u32 {
            let own = group * self.cpus.len() as u32 + cpu;
            let entity = Entity {
                queue: cpu,
                own,
                relative: false,
                slice: self.tunables.base_slice,
                ..Entity::new(None, group)
            };
            self.entities.push(entity);
            self.queues.push(Queue::new(cpu as u16, group, first + cpu));
            self.queues[cpu as usize]
                .waiting
                .reserve(group as usize + 1);
        }
        self.groups.push(Group {
            first,
            // Until the domain's own weight comes: threads that work for it may come before.
            shares: shares(100),
            ..self.groups[0].clone()
        });
        group
    }

    /// The domain whose group `group` is.
    ///
    /// # Panics
    /// For the root, which has no quota and no parameters.
    pub(super) fn domain_of(&self, group: u32) -> DomainId {
        self.domains_of[group as usize].expect("a group below the root")
    }

    /// Puts `setting` into force for `group`.
    pub(super) fn set_group_to(&mut self, cx: &mut Cx<'_>, group: u32, setting: &GroupSetting) {
        let g = &mut self.groups[group as usize];
        let idle_changes = g.idle != setting.idle;
        (g.shares, g.idle) = (setting.shares, setting.idle);
        let first = g.first;
        for cpu in 0..self.cpus.len() as u32 {
            let e = first + cpu;
            self.read_clock(cx, cpu as u16);
            if idle_changes {
                self.entities[e as usize].idle = setting.idle;
                let own = &self.queues[self.entities[e as usize].own as usize];
                let seen = own.threads - own.idlers;
                if self.entities[e as usize].on_queue {
                    let root = &mut self.queues[cpu as usize];
                    root.idlers = match setting.idle {
                        true => root.idlers + seen,
                        false => root.idlers - seen,
                    };
                }
            }
            self.update_group_weight(cx, e);
        }
        self.set_quota(cx, group, setting);
    }

    /// Puts `setting` into force for `vcpu`: it leaves its queue and comes back.
    pub(super) fn set_thread_to(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, setting: ThreadSetting) {
        let before = core::mem::replace(&mut self.settings[vcpu.index()], setting);
        if before == setting {
            return;
        }
        let e = self.entity_of(vcpu);
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        self.read_clock(cx, cpu);
        if self.entities[e as usize].delayed {
            self.dequeue_thread(cx, e, how::SLEEP | how::DELAYED);
        }
        let queued = self.entities[e as usize].on_queue;
        let runs = self.cpus[usize::from(cpu)].current == e;
        if queued {
            self.dequeue_thread(cx, e, 0);
            if runs {
                self.put_all(cx, cpu);
            }
        }
        self.give(cx, e, &setting);
        if !queued {
            return;
        }
        self.enqueue_thread(cx, e, 0);
        let lighter = setting.load.weight < before.load.weight;
        if runs {
            self.set_all(cpu, e);
            if lighter {
                self.resched(cx, cpu);
            }
        } else if !self.cuts_off(self.queue_of(e)) {
            self.preempt(cx, e);
        }
    }

    /// Gives the thread `e`, which is on no queue, what `setting` says.
    pub(super) fn give(&mut self, cx: &mut Cx<'_>, e: u32, setting: &ThreadSetting) {
        if self.entities[e as usize].load != setting.load {
            self.reweight(cx, e, setting.load);
        }
        self.custom_slices |= setting.slice > 0;
        let base = self.tunables.base_slice;
        let entity = &mut self.entities[e as usize];
        entity.idle = setting.class == Class::Idle;
        entity.meek = setting.class != Class::Other;
        entity.custom_slice = setting.slice > 0;
        entity.slice = match setting.slice {
            0 => base,
            slice => slice,
        };
    }
}
