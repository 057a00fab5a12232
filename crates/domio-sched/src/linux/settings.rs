//! What operators set: groups of domains, threads of vcpus (linux-spec 1.5, 1.9, 3.11, 8.1).

use super::entity::how;
use super::event::Owner;
use super::given::{GroupSetting, Inside, ThreadSetting};
use super::params::{Class, Level};
use super::state::{Domain, Entity, Group, NIL, Queue};
use super::task::Crowd;
use super::weights::NICE_0;
use super::{Linux, ROOT, TREE};
use alloc::vec::Vec;
use domio_contract::{Cx, GroupId};
use domio_core::{DomainId, VcpuId};

impl Linux {
    /// The queue of `group` on `cpu`.
    #[inline]
    pub(super) fn queue_on(&self, group: u32, cpu: u16) -> u32 {
        group * self.cpus.len() as u32 + u32::from(cpu)
    }

    /// The group of `domain`, which is made if there is none.
    pub(super) fn group_of(&mut self, domain: DomainId) -> u32 {
        if self.domains.len() <= domain.index() {
            self.domains.resize(domain.index() + 1, None);
        }
        if let Some(known) = &self.domains[domain.index()] {
            return known.group;
        }
        let group = self.add_group(Owner::Domain(domain), ROOT);
        self.domains[domain.index()] = Some(Domain {
            group,
            inherited: ThreadSetting::unknown(),
            inside: Inside::unknown(),
        });
        group
    }

    /// What is known of `domain`, which has a group.
    #[inline]
    pub(super) fn domain(&self, domain: DomainId) -> &Domain {
        self.domains[domain.index()]
            .as_ref()
            .expect("it has a group")
    }

    /// The group that is called `name`, in `parent` if it is new.
    pub(super) fn named(&mut self, name: GroupId, parent: Option<GroupId>) -> u32 {
        if self.named.len() <= name.index() {
            self.named.resize(name.index() + 1, NIL);
        }
        if self.named[name.index()] == NIL {
            let parent = parent.map_or(ROOT, |p| self.named[p.index()]);
            self.named[name.index()] = self.add_group(Owner::Group(name), parent);
        }
        self.named[name.index()]
    }

    /// A new group in `parent`, with a queue and an entity on each pcpu.
    pub(super) fn add_group(&mut self, owner: Owner, parent: u32) -> u32 {
        let group = self.groups.len() as u32;
        let depth = self.groups[parent as usize].depth;
        for cpu in 0..self.cpus.len() as u16 {
            let queue = self.queue_on(parent, cpu);
            let entity = Entity {
                queue,
                parent: self.queues[queue as usize].entity,
                own: self.queue_on(group, cpu),
                depth,
                relative: false,
                slice: self.tunables.base_slice,
                ..Entity::new(None, group)
            };
            let e = self.entities.len() as u32;
            self.entities.push(entity);
            self.queues.push(Queue {
                // A group that is made where there is no time has none.
                throttles: self.queues[queue as usize].throttles,
                ..Queue::new(cpu, group, e)
            });
        }
        self.groups.push(Group::new(owner, parent, depth + 1));
        self.groups[group as usize].bandwidth.expires = self.phase(group);
        self.groups[parent as usize].children.push(group);
        self.make_room(parent);
        group
    }

    /// The queues of `group` have room for all that is in it.
    pub(super) fn make_room(&mut self, group: u32) {
        let g = &self.groups[group as usize];
        let all = g.children.len() + g.members.len();
        for cpu in 0..self.cpus.len() as u16 {
            let q = self.queue_on(group, cpu);
            let waiting = &mut self.queues[q as usize].waiting;
            waiting.reserve(all.saturating_sub(waiting.len()));
            if self.rules.release.is_flat() {
                let tree = self.queue_on(TREE, cpu);
                let waiting = &mut self.queues[tree as usize].waiting;
                waiting.reserve(self.threads.len().saturating_sub(waiting.len()));
            }
        }
    }

    /// Puts `setting` into force for `group`.
    pub(super) fn set_group_to(&mut self, cx: &mut Cx<'_>, group: u32, setting: &GroupSetting) {
        let g = &mut self.groups[group as usize];
        if core::mem::replace(&mut g.idle, setting.idle) != setting.idle {
            for cpu in 0..self.cpus.len() as u16 {
                let e = self.queues[self.queue_on(group, cpu) as usize].entity;
                self.set_idle(e, setting.idle);
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
        if core::mem::replace(&mut g.shares, shares) == shares || !g.settled {
            return;
        }
        self.share_anew(cx, group);
    }

    /// `group`, which is empty, is where it is to be, with the weight that it is to have, and so
    /// are those around it: from now on these know of it, as of one that Linux has just made.
    pub(super) fn settle(&mut self, cx: &mut Cx<'_>, group: u32) {
        if core::mem::replace(&mut self.groups[group as usize].settled, true) {
            return;
        }
        self.settle(cx, self.groups[group as usize].parent);
        for cpu in 0..self.cpus.len() as u16 {
            self.read_clock(cx, cpu);
            let q = self.queue_on(group, cpu);
            self.attach_group(q);
            self.inherit_throttles(q);
        }
        if self.groups[group as usize].shares != NICE_0 {
            self.share_anew(cx, group);
        }
    }

    /// `q`, whose group has come to where it is, is throttled as often as what is around.
    fn inherit_throttles(&mut self, q: u32) {
        let e = self.queues[q as usize].entity;
        let around = self.queues[self.queue_of(e) as usize].throttles;
        let queue = &mut self.queues[q as usize];
        queue.throttles = around + u32::from(queue.throttled);
        match queue.throttles {
            0 => self.resume_pelt(q),
            _ if !self.rules.release.throttles_threads() || queue.count == 0 => self.stop_pelt(q),
            _ => {}
        }
    }

    /// The weights of `group` and of all around it are computed anew.
    fn share_anew(&mut self, cx: &mut Cx<'_>, group: u32) {
        for cpu in 0..self.cpus.len() as u16 {
            self.read_clock(cx, cpu);
            let mut x = self.queues[self.queue_on(group, cpu) as usize].entity;
            while x != NIL {
                self.update_load(self.queue_of(x), x);
                self.update_group_weight(cx, x);
                x = self.above(x);
            }
        }
    }

    /// The group of `e` is one for idle times, or is not any more.
    fn set_idle(&mut self, e: u32, idle: bool) {
        let own = &self.queues[self.entities[e as usize].own as usize];
        let more = (own.threads - own.idlers) as i32;
        let more = if idle { more } else { -more };
        self.entities[e as usize].idle = idle;
        let mut x = e;
        while x != NIL && self.entities[x as usize].on_queue {
            let queue = &mut self.queues[self.entities[x as usize].queue as usize];
            queue.idlers = queue.idlers.wrapping_add_signed(more);
            x = self.above(x);
            if x != NIL && self.entities[x as usize].idle {
                // All in it counts as such further up anyway.
                return;
            }
        }
    }

    /// `group`, a domain's, is in `parent` from now on: its threads leave the queues, and come back
    /// where the group is new.
    pub(super) fn regroup(&mut self, cx: &mut Cx<'_>, group: u32, parent: u32) {
        let settled = self.groups[group as usize].settled;
        let members = self.threads_in(group);
        let mut queued = Vec::with_capacity(members.len());
        for &vcpu in &members {
            let e = self.entity_of(vcpu);
            if let Some(runs) = self.pull_out(cx, e) {
                queued.push((e, runs));
            }
        }
        let old = core::mem::replace(&mut self.groups[group as usize].parent, parent);
        self.groups[old as usize].children.retain(|g| *g != group);
        self.groups[parent as usize].children.push(group);
        self.make_room(parent);
        let depth = self.groups[parent as usize].depth;
        self.groups[group as usize].depth = depth + 1;
        let all = self.groups_in(group);
        for &g in &all[1..] {
            let above = self.groups[g as usize].parent;
            self.groups[g as usize].depth = self.groups[above as usize].depth + 1;
        }
        for cpu in 0..self.cpus.len() as u16 {
            self.read_clock(cx, cpu);
            // Whatever is inside leaves before what is around it.
            for &g in all.iter().rev() {
                let e = self.queues[self.queue_on(g, cpu) as usize].entity;
                if self.entities[e as usize].on_queue {
                    // It slept there.
                    self.dequeue_from(cx, e, how::SLEEP | how::DELAYED, Crowd::default());
                }
                if settled {
                    self.detach_load(e);
                }
            }
            for &g in &all {
                self.renew_entity(g, cpu);
                if settled {
                    let q = self.queue_on(g, cpu);
                    self.attach_group(q);
                    self.inherit_throttles(q);
                }
            }
        }
        for &vcpu in &members {
            let e = self.entity_of(vcpu);
            let own = self.entities[e as usize].group;
            self.entities[e as usize].depth = self.groups[own as usize].depth;
        }
        for (e, runs) in queued {
            self.put_in(cx, e, runs);
            if runs {
                let cpu = self.queues[self.queue_of(e) as usize].cpu;
                self.resched(cx, cpu);
            }
        }
        for cpu in 0..self.cpus.len() as u16 {
            let q = self.queue_on(group, cpu);
            self.release(cx, q, 0);
            self.resched_if_idle(cx, cpu);
        }
    }

    /// The entity of `group` on `cpu`, which is on no queue, is a new one.
    fn renew_entity(&mut self, group: u32, cpu: u16) {
        let parent = self.groups[group as usize].parent;
        let (q, above) = (self.queue_on(group, cpu), self.queue_on(parent, cpu));
        let e = self.queues[q as usize].entity;
        self.entities[e as usize] = Entity {
            queue: above,
            parent: self.queues[above as usize].entity,
            own: q,
            depth: self.groups[parent as usize].depth,
            idle: self.entities[e as usize].idle,
            load: self.entities[e as usize].load,
            effective: self.entities[e as usize].effective,
            relative: false,
            slice: self.tunables.base_slice,
            ..Entity::new(None, group)
        };
    }

    /// Takes the thread `e` off its queue for a change. Returns, if it was there and awake, whether
    /// it is the one that runs.
    pub(super) fn pull_out(&mut self, cx: &mut Cx<'_>, e: u32) -> Option<bool> {
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        self.read_clock(cx, cpu);
        if self.entities[e as usize].delayed {
            self.dequeue_thread(cx, e, how::SLEEP | how::DELAYED);
        }
        if !self.entities[e as usize].on_queue {
            return None;
        }
        let runs = self.cpus[usize::from(cpu)].current == e;
        self.dequeue_thread(cx, e, 0);
        if runs {
            self.put_all(cx, cpu);
        }
        Some(runs)
    }

    /// Undoes [`Linux::pull_out`].
    pub(super) fn put_in(&mut self, cx: &mut Cx<'_>, e: u32, runs: bool) {
        self.enqueue_thread(cx, e, 0);
        if runs {
            self.set_all(cx, self.queues[self.queue_of(e) as usize].cpu, e, false);
        }
        self.park_with_group(cx, e);
    }

    /// The thread `e`, which has come to its queue, is held back where a group around it has no
    /// time: all of its queue is, in releases that throttle queues.
    pub(super) fn park_with_group(&mut self, cx: &mut Cx<'_>, e: u32) {
        let throttled = self.queues[self.queue_of(e) as usize].throttles > 0;
        if throttled && !self.is_high(e) && !self.rules.release.throttles_threads() {
            self.park(cx, e);
        }
    }

    /// Puts `setting` into force for `vcpu`: it leaves its queue and comes back.
    pub(super) fn set_thread_to(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, setting: ThreadSetting) {
        let thread = &mut self.threads[vcpu.index()];
        let before = core::mem::replace(&mut thread.setting, setting);
        if before == setting {
            return;
        }
        let e = thread.entity;
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        let fair = |s: &ThreadSetting| s.class.level() == Level::Fair;
        if !fair(&before) || !fair(&setting) {
            return self.change_class(cx, e, &before, &setting);
        }
        let only_slice = (before.class, before.nice) == (setting.class, setting.nice);
        if only_slice && !self.rules.eevdf {
            return;
        }
        self.read_clock(cx, cpu);
        // A slice that the thread has already changes nothing.
        if only_slice && setting.slice == self.entities[e as usize].slice {
            return;
        }
        let entity = &self.entities[e as usize];
        let (queued, delayed) = (entity.on_queue, entity.delayed);
        let runs = self.cpus[usize::from(cpu)].current == e;
        if queued {
            // `sched_setattr` with another class and priority is a move to Linux, a nice value
            // alone is none.
            let moves = setting.class != before.class && setting.nice != before.nice;
            self.dequeue_thread(cx, e, if moves { 0 } else { how::SAVE });
            if runs {
                self.put_all(cx, cpu);
            }
        }
        self.give(cx, e, &setting);
        match (queued, delayed) {
            (false, _) => return,
            (true, false) => self.put_in(cx, e, runs),
            // Who sleeps on the queue goes on to do so.
            (true, true) => self.enqueue_thread(cx, e, 0),
        }
        // A class or a slice alone preempts nobody, and nor does who has the pcpu to itself.
        if setting.nice == before.nice || self.competitors(cpu) == 1 {
            return;
        }
        match runs {
            true if setting.nice > before.nice => self.resched(cx, cpu),
            true => {}
            false => self.preempt(cx, e, false),
        }
    }

    /// The thread `e`, which had `before`, is of the class of `setting` from now on; one of the two
    /// is above fair.
    fn change_class(
        &mut self,
        cx: &mut Cx<'_>,
        e: u32,
        before: &ThreadSetting,
        setting: &ThreadSetting,
    ) {
        let (old, new) = (before.class.level(), setting.class.level());
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        self.read_clock(cx, cpu);
        if self.entities[e as usize].delayed {
            self.dequeue_thread(cx, e, how::SLEEP | how::DELAYED);
        }
        // What held it back was of the old class.
        let queued = self.unhold(cx, e);
        let runs = self.cpus[usize::from(cpu)].current == e;
        if self.entities[e as usize].on_queue {
            self.dequeue_thread(cx, e, 0);
        }
        if runs {
            self.put_all(cx, cpu);
        }
        if old == Level::Fair {
            self.leave_fair(e);
        }
        self.give(cx, e, setting);
        if queued {
            // Whoever loses priority goes before its new equals.
            let real_time = (old, new) == (Level::RealTime, Level::RealTime);
            let flags = match real_time && setting.priority < before.priority {
                true => how::HEAD,
                false => 0,
            };
            self.enqueue_thread(cx, e, flags);
            self.park_with_group(cx, e);
        }
        if runs {
            self.set_all(cx, cpu, e, false);
            self.resched(cx, cpu);
        } else if self.entities[e as usize].on_queue {
            self.preempt(cx, e, false);
            if new > Level::Fair {
                self.push(cx, cpu);
            }
        }
        if old > new {
            self.pull_high(cx, cpu);
        }
    }

    /// The thread `e`, which is on no queue, leaves the fair class.
    pub(super) fn leave_fair(&mut self, e: u32) {
        self.detach_load(e);
        let q = self.queue_of(e);
        if !self.rules.eevdf && !self.entities[e as usize].relative {
            // It sleeps: its virtual time is as of a wake-up now.
            self.place_cfs(q, e, 0);
            let min_v = self.queues[q as usize].min_v;
            let entity = &mut self.entities[e as usize];
            entity.v = entity.v.wrapping_sub(min_v);
            entity.relative = true;
        }
    }

    /// Gives the thread `e`, which is on no queue, what `setting` says.
    pub(super) fn give(&mut self, cx: &mut Cx<'_>, e: u32, setting: &ThreadSetting) {
        // Even where the weight stays, for then the averages are computed anew.
        let load = self.rules.load(setting.load);
        self.reweight(cx, e, load);
        self.custom_slices |= setting.slice > 0;
        let base = self.tunables.base_slice;
        if self.is_high(e) || setting.class.level() != Level::Fair {
            self.set_level(cx, e, setting);
        }
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
