//! What operators set: groups of domains, threads of vcpus (linux-spec 1.5, 1.9, 3.11).

use super::Linux;
use super::entity::how;
use super::params::{Class, GroupSetting, ThreadSetting};
use super::state::{Bandwidth, Entity, Group, Queue};
use super::weights::NICE_0;
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
        self.domains_of.push(domain.0);
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
        let expires = self.phase_of(domain);
        self.groups.push(Group {
            first,
            bandwidth: Bandwidth {
                expires,
                ..Bandwidth::default()
            },
            ..self.groups[0].clone()
        });
        group
    }

    /// Puts `setting` into force for `group`.
    pub(super) fn set_group_to(&mut self, cx: &mut Cx<'_>, group: u32, setting: &GroupSetting) {
        let g = &mut self.groups[group as usize];
        if core::mem::replace(&mut g.idle, setting.idle) != setting.idle {
            let first = g.first;
            for cpu in 0..self.cpus.len() as u32 {
                let e = first + cpu;
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
            if !setting.idle {
                // A group that is not idle any more has the usual weight until another is set.
                self.set_shares(cx, group, NICE_0);
            }
        }
        self.set_shares(cx, group, setting.shares);
        self.set_quota(cx, group, setting);
    }

    /// `group` has these shares from now on.
    fn set_shares(&mut self, cx: &mut Cx<'_>, group: u32, shares: u64) {
        let g = &mut self.groups[group as usize];
        if core::mem::replace(&mut g.shares, shares) == shares {
            return;
        }
        let first = g.first;
        for cpu in 0..self.cpus.len() as u32 {
            self.read_clock(cx, cpu as u16);
            self.update_load(cpu, first + cpu);
            self.update_group_weight(cx, first + cpu);
        }
    }

    /// Puts `setting` into force for `vcpu`: it leaves its queue and comes back.
    pub(super) fn set_thread_to(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, setting: ThreadSetting) {
        let before = core::mem::replace(&mut self.settings[vcpu.index()], setting);
        if before == setting {
            return;
        }
        let e = self.entity_of(vcpu);
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        let only_slice = (before.class, before.nice) == (setting.class, setting.nice);
        if only_slice && !self.rules.eevdf {
            return;
        }
        self.read_clock(cx, cpu);
        // A slice that the thread has already changes nothing.
        if only_slice && setting.slice == self.entities[e as usize].slice {
            return;
        }
        // Who sleeps on the queue goes on to do so.
        let delayed = self.entities[e as usize].delayed;
        let queued = self.entities[e as usize].on_queue;
        let runs = self.cpus[usize::from(cpu)].current == e;
        if queued {
            // `sched_setattr` with another class and priority is a move to Linux, a nice value
            // alone is none.
            if delayed {
                self.count_delayed(e, -1);
            }
            let moves = setting.class != before.class && setting.nice != before.nice;
            self.dequeue_thread(cx, e, if moves { 0 } else { how::SAVE });
            if runs {
                self.put_all(cx, cpu);
            }
        }
        self.give(cx, e, &setting);
        if !queued {
            return;
        }
        self.enqueue_thread(cx, e, 0);
        if delayed {
            self.count_delayed(e, 1);
        }
        if runs {
            self.set_all(cpu, e);
        }
        // A class or a slice alone preempts nobody, and nor does whoever has the pcpu to itself.
        if setting.nice == before.nice || self.queues[usize::from(cpu)].count == 1 {
            return;
        }
        match runs {
            true if setting.nice > before.nice => self.resched(cx, cpu),
            true => {}
            false => self.preempt(cx, e),
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
