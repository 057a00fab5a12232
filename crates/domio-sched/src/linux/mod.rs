//! Linux: CFS of 6.1, and EEVDF of 6.12 to 7.3, as two policies of one engine.
//!
//! A domain is a task group, a vcpu a thread in it, or in a group of its own inside that. Each pcpu
//! has a queue of groups, and each group a queue of threads on each pcpu. CFS runs whoever has had
//! the least virtual time, EEVDF the earliest virtual deadline of those that are not ahead.
//! Decisions fall at ticks, at wake-ups and where threads stop; a pick has no slice.
//!
//! The pages follow linux-spec; names are the kernel's where an operator sees them.
//!
//! | page | holds |
//! |---|---|
//! | `params` | parameters, and the rules that follow from them |
//! | `release` | which rules a release has |
//! | `given` | what operators give, in the units of the kernel, and what is refused |
//! | `weights` | nice values, shares, times scaled by weight |
//! | `state` | private tables |
//! | `queue` | who waits in which order, charging, means, eligibility |
//! | `entity` | one entity on one queue: placing, coming, leaving |
//! | `reweight` | a weight that changes |
//! | `protect` | how long whoever runs keeps its pcpu |
//! | `task` | a thread on all levels, the tick |
//! | `waking` | preemption by wake-ups |
//! | `pick` | who runs next, and the switch |
//! | `flat` | the flat hierarchy of 7.3 |
//! | `hrtick` | the timer at the end of a request |
//! | `bandwidth` | quotas |
//! | `pelt`, `load` | decaying averages, and what follows from them |
//! | `select`, `balance` | the pcpu of a thread that wakes; balancing |
//! | `high`, `deadline`, `cbs` | threads of fifo, rr and deadline |
//! | `server` | what keeps those from starving the others |
//! | `spread` | on which pcpus those run |
//! | `settings` | what operators set, and groups |
//! | `inside` | groups inside that of a domain |
//! | `event`, `show` | private trace records; the state for people |

mod balance;
mod bandwidth;
mod cbs;
mod deadline;
mod entity;
mod event;
mod flat;
mod given;
mod high;
mod hrtick;
mod inside;
mod load;
mod params;
mod pelt;
mod pick;
mod protect;
mod queue;
mod release;
mod reweight;
mod select;
mod server;
mod settings;
mod show;
mod spread;
mod state;
mod task;
mod waking;
mod weights;

#[cfg(test)]
mod tests;

pub use given::{validate, validate_domain, validate_group, validate_vcpu, validate_vcpus};
pub use params::{CFS, EEVDF};

use crate::placement::allowed_from;
use alloc::vec::Vec;
use domio_contract::{
    Cx, Descriptor, GroupId, Pause, Pick, Prev, Scheduler, StateRows, Wake, WorksFor,
};
use domio_core::{DomainId, Instant, ParamValues, PcpuId, Topology, VcpuId, mixed};
use entity::how;
use event::Owner;
use given::{GroupSetting, Inside, ThreadSetting};
use params::{GroupMode, Rules, Tunables};
use state::{Cpu, Domain, Entity, Group, High, NIL, Queue, Thread};
use weights::Load;

/// Timer slot of the tick.
pub const TICK: u8 = 0;
/// Timer slot of the quotas of groups of domains, on the first pcpu.
pub const QUOTAS: u8 = 1;

/// Timer slot of the classes above fair.
pub const HIGH: u8 = 2;

/// Timer slot of the ends of requests.
pub const HRTICK: u8 = 3;

/// The group of all that is in no other.
const ROOT: u32 = 0;
/// In the flat hierarchy the queues of this group are the trees of the pcpus. It is in no other,
/// and no other is in it.
const TREE: u32 = 1;

/// The state of either policy.
pub struct Linux {
    descriptor: &'static Descriptor,
    rules: Rules,
    tunables: Tunables,
    /// The host has several pcpus.
    multi: bool,
    /// Loads and threads are averaged.
    averages: bool,
    /// Pcpus take threads from each other: always, but where one looks at what else there is.
    balances: bool,
    /// Some slice differs from the base slice.
    custom_slices: bool,
    /// Some pcpu had more than one thread when that was last looked at.
    overloaded: bool,
    /// When the operation that goes on takes place, whatever clocks of pcpus say.
    time: i64,
    /// State of the generator of [`Linux::draw`].
    seed: u64,
    entities: Vec<Entity>,
    /// Entities of vcpus that are gone.
    free: Vec<u32>,
    /// By group and pcpu: the root's come first.
    queues: Vec<Queue>,
    /// The root, those of domains, and groups of domains.
    groups: Vec<Group>,
    /// By id of a group of domains: the group; [`NIL`] for none.
    named: Vec<u32>,
    /// The pcpu whose timer is for the quotas of those.
    quotas_on: u16,
    /// By domain: its group, and what is given to what is in it.
    domains: Vec<Option<Domain>>,
    cpus: Vec<Cpu>,
    /// Threads of the classes above fair, runnable or not.
    highs: u32,
    /// By pcpu: what is above fair there.
    high: Vec<High>,
    /// When the period of fifo and rr ends; `None` while they do not run (6.1).
    rt_period_at: Option<i64>,
    /// By vcpu.
    threads: Vec<Thread>,
    /// By vcpu: what a thread of the host works for.
    placed: Vec<Option<WorksFor>>,
    /// By socket: some core may idle as a whole, and how many pcpus a wake-up looks at.
    idle_cores: Vec<bool>,
    scan: Vec<u32>,
}

impl Linux {
    /// CFS for a host of this shape.
    pub fn cfs(params: &ParamValues, topology: &Topology) -> Linux {
        Linux::new(&CFS, Rules::cfs(params), topology)
    }

    /// EEVDF for a host of this shape.
    pub fn eevdf(params: &ParamValues, topology: &Topology) -> Linux {
        Linux::new(&EEVDF, Rules::eevdf(params), topology)
    }

    fn new(descriptor: &'static Descriptor, rules: Rules, topology: &Topology) -> Linux {
        let pcpus = topology.pcpus();
        let flat = rules.release.is_flat();
        let roots = if flat { ROOT..TREE + 1 } else { ROOT..ROOT + 1 };
        let queues = roots.clone().flat_map(|group| {
            let cpus = 0..pcpus as u16;
            cpus.map(move |cpu| Queue::new(cpu, group, NIL))
        });
        Linux {
            descriptor,
            rules,
            tunables: rules.tunables(1),
            multi: pcpus > 1,
            averages: pcpus > 1 || rules.group_mode == GroupMode::Tasks,
            balances: true,
            custom_slices: false,
            overloaded: false,
            time: 0,
            seed: 0,
            entities: Vec::new(),
            free: Vec::new(),
            queues: queues.collect(),
            groups: roots.map(|_| Group::new(Owner::Root, ROOT, 0)).collect(),
            named: Vec::new(),
            quotas_on: 0,
            domains: Vec::new(),
            cpus: alloc::vec![Cpu::ABSENT; pcpus],
            highs: 0,
            high: alloc::vec![High::NOTHING; pcpus],
            rt_period_at: None,
            threads: Vec::new(),
            placed: Vec::new(),
            idle_cores: alloc::vec![false; topology.sockets()],
            scan: alloc::vec![0; topology.sockets()],
        }
    }

    #[inline]
    fn now(&self, cx: &Cx<'_>) -> i64 {
        cx.now().as_nanos() as i64
    }

    /// Another number that looks random.
    fn draw(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(1);
        mixed(self.seed)
    }

    /// The clock of `cpu` is read.
    #[inline]
    fn read_clock(&mut self, cx: &Cx<'_>, cpu: u16) {
        self.time = self.now(cx);
        self.follow(cpu, self.time);
    }

    /// The clock of `cpu` is at `now`, or later.
    #[inline]
    fn follow(&mut self, cpu: u16, now: i64) {
        let clock = &mut self.cpus[usize::from(cpu)].clock;
        *clock = now.max(*clock);
    }

    #[inline]
    fn entity_of(&self, vcpu: VcpuId) -> u32 {
        self.threads[vcpu.index()].entity
    }

    /// The number of pcpus that are online has changed.
    fn follow_pcpus(&mut self) {
        let online = self.cpus.iter().filter(|c| c.online).count();
        let tunables = self.rules.tunables(online);
        // Slices of before stay until they are over.
        self.custom_slices |= tunables != self.tunables && !self.threads.is_empty();
        self.tunables = tunables;
    }

    /// Every pcpu learns of a new group, if there are more than `known`.
    fn greet_groups(&mut self, cx: &Cx<'_>, known: usize) {
        if self.groups.len() > known {
            for cpu in 0..self.cpus.len() as u16 {
                self.read_clock(cx, cpu);
            }
        }
    }

    /// The next tick after `now`.
    fn next_tick(&self, now: i64) -> Instant {
        let tick = self.rules.tick;
        Instant::from_nanos(((now / tick + 1) * tick) as u64)
    }

    /// `cpu` goes on with `next` from now on.
    fn note_idle(&mut self, cx: &mut Cx<'_>, cpu: u16, next: u32) {
        let c = &mut self.cpus[usize::from(cpu)];
        (c.resched, c.lazy, c.skip_clock) = (false, false, false);
        let pcpu = PcpuId(cpu);
        match (next, c.ticks) {
            (NIL, true) => {
                c.ticks = false;
                c.idle_since = c.clock;
                cx.stop_timer(pcpu, TICK);
                self.stop_hrtick(cx, cpu);
                let core = *cx.topology().siblings(pcpu) & cx.online();
                if core.len() > 1 && core.iter().all(|s| self.is_idle(s.0)) {
                    self.idle_cores[cx.topology().socket_of(pcpu)] = true;
                }
            }
            (NIL, false) | (_, true) => {}
            (_, false) => {
                c.ticks = true;
                let at = self.next_tick(self.now(cx));
                cx.set_timer(pcpu, TICK, at);
            }
        }
    }
}

impl Scheduler for Linux {
    fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.cpus[pcpu.index()] = Cpu {
            online: true,
            clock: self.now(cx),
            ..Cpu::ABSENT
        };
        self.high[pcpu.index()].idle_from = self.now(cx);
        self.follow_pcpus();
        self.arm_all_high(cx);
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        assert_eq!(self.queues[pcpu.index()].count, 0, "{pcpu} left with vcpus");
        if core::mem::take(&mut self.cpus[pcpu.index()].ticks) {
            cx.stop_timer(pcpu, TICK);
        }
        self.stop_hrtick(cx, pcpu.0);
        if self.high[pcpu.index()].timer.is_some() {
            cx.stop_timer(pcpu, HIGH);
        }
        self.high[pcpu.index()] = High::NOTHING;
        self.cpus[pcpu.index()].online = false;
        self.follow_pcpus();
        self.arm_all_high(cx);
        if self.quotas_on == pcpu.0 {
            cx.stop_timer(pcpu, QUOTAS);
            self.arm_named(cx);
        }
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        let known = self.groups.len();
        let group = self.group_of(domain);
        self.greet_groups(cx, known);
        let inherited = ThreadSetting::inherited(params);
        self.domains[domain.index()] = Some(Domain {
            group,
            inherited,
            inside: Inside::new(params),
        });
        self.set_group_to(cx, group, &GroupSetting::new(params));
        self.arrange(cx, domain);
        for vcpu in self.threads_in(group) {
            if cx.vcpu(vcpu).name.domain == domain {
                self.set_thread_to(cx, vcpu, inherited);
            }
        }
    }

    fn host_thread(&mut self, _: &mut Cx<'_>, vcpu: VcpuId, works: WorksFor) {
        if self.placed.len() <= vcpu.index() {
            self.placed.resize(vcpu.index() + 1, None);
        }
        self.placed[vcpu.index()] = Some(works);
    }

    fn set_group(
        &mut self,
        cx: &mut Cx<'_>,
        group: GroupId,
        parent: Option<GroupId>,
        params: &ParamValues,
    ) {
        let known = self.groups.len();
        let group = self.named(group, parent);
        self.greet_groups(cx, known);
        self.settle(cx, group);
        self.set_group_to(cx, group, &GroupSetting::new(params));
    }

    fn join(&mut self, cx: &mut Cx<'_>, domain: DomainId, group: Option<GroupId>) {
        let own = self.group_of(domain);
        let parent = group.map_or(ROOT, |g| self.named[g.index()]);
        if self.groups[own as usize].parent != parent {
            self.regroup(cx, own, parent);
        }
    }

    fn set_vcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, params: &ParamValues) {
        self.set_seat(cx, vcpu, params);
        self.set_thread_to(cx, vcpu, ThreadSetting::new(params));
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.threads.len() <= vcpu.index() {
            self.threads.resize(vcpu.index() + 1, Thread::absent());
        }
        let domain = cx.vcpu(vcpu).name.domain;
        self.group_of(domain);
        let group = self.seat(cx, vcpu);
        let setting = self.domain(domain).inherited;
        let q = self.queue_on(group, 0);
        let entity = Entity {
            queue: q,
            parent: self.queues[q as usize].entity,
            depth: self.groups[group as usize].depth,
            slice: self.tunables.base_slice,
            load: self.rules.load(Load::nice(0)),
            ..Entity::new(Some(vcpu), group)
        };
        let e = match self.free.pop() {
            Some(e) => {
                self.entities[e as usize] = entity;
                e
            }
            None => {
                self.entities.push(entity);
                self.free.reserve(1);
                self.entities.len() as u32 - 1
            }
        };
        self.threads[vcpu.index()] = Thread::new(e, setting);
        self.give(cx, e, &setting);
        self.groups[group as usize].members.push(vcpu);
        self.make_room(group);
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let e = self.entity_of(vcpu);
        self.take_off(cx, e, how::SLEEP | how::AT_ONCE);
        self.detach_load(e);
        if self.is_high(e) {
            self.set_level(cx, e, &ThreadSetting::unknown());
        }
        self.threads[vcpu.index()] = Thread::absent();
        self.free.push(e);
        let group = self.entities[e as usize].group;
        let members = &mut self.groups[group as usize].members;
        members.retain(|other| *other != vcpu);
        self.left(cx, group);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let e = self.entity_of(vcpu);
        if self.entities[e as usize].on_queue {
            self.threads[vcpu.index()].moving = !self.entities[e as usize].delayed;
            self.take_off(cx, e, 0);
        }
        if core::mem::take(&mut self.threads[vcpu.index()].parked) {
            // Whoever has time where it goes need not wait for the quota here. The host wakes it.
            let _ = cx.unpark(vcpu);
        }
        let pcpu = allowed_from(cx, vcpu, Some(cx.vcpu(vcpu).pcpu));
        self.go_to(e, pcpu.0);
        if self.has_deadline(e) {
            self.arm_all_high(cx);
        }
        pcpu
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        let e = self.entity_of(vcpu);
        let home = self.queues[self.queue_of(e) as usize].cpu;
        let entity = &self.entities[e as usize];
        if entity.on_queue && !entity.delayed {
            return;
        }
        if entity.delayed {
            return self.come(cx, e, home, how::SLEEP);
        }
        let thread = &mut self.threads[vcpu.index()];
        let (moving, known) = (core::mem::take(&mut thread.moving), thread.known);
        let mut cpu = home;
        if self.multi && !moving && !cx.vcpu(vcpu).on_pcpu {
            cpu = match known {
                _ if self.is_high(e) => self.select_high(cx, vcpu, home),
                true => self.select(cx, vcpu, home),
                false => self.select_new(cx, vcpu, home),
            };
        }
        let mut flags = match (moving, known) {
            (_, false) => how::NEW,
            (true, true) => 0,
            (false, true) => how::SLEEP,
        };
        if cpu != home {
            self.go_to(e, cpu);
            cx.move_to(vcpu, PcpuId(cpu));
            if self.has_deadline(e) {
                self.arm_all_high(cx);
            }
            flags |= how::MOVED;
        }
        self.come(cx, e, cpu, flags);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) {
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
            return;
        }
        let e = self.entity_of(vcpu);
        let how = self.leaves(vcpu, cx.vcpu(vcpu).pause);
        // Whoever waits cannot put itself to sleep: the thread is stopped.
        let at_once = match how {
            0 => 0,
            how => how | how::AT_ONCE,
        };
        self.take_off(cx, e, at_once);
    }

    fn yielded(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let e = self.entity_of(vcpu);
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        if self.is_high(e) {
            return self.yield_high(cx, cpu, e);
        }
        if self.all_on(cpu) == 1 {
            return;
        }
        self.give_way(cx, e);
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let cpu = pcpu.0;
        self.time = self.now(cx);
        if !self.cpus[pcpu.index()].skip_clock {
            self.read_clock(cx, cpu);
        }
        // What asks for a pass from here on is answered by this one.
        self.cpus[pcpu.index()].resched = true;
        self.leave_at_return(cx, cpu);
        if let Some(vcpu) = prev.vcpu {
            let e = self.entity_of(vcpu);
            let pause = cx.vcpu(vcpu).pause;
            // Who is held back with the group stays on the group's queue.
            let held = pause.bits() == Pause::PARKED
                && (!self.rules.release.throttles_threads() || self.is_high(e));
            if pause != Pause::NONE && !held && self.entities[e as usize].on_queue {
                let how = self.leaves(vcpu, pause);
                self.dequeue_thread(cx, e, how);
            }
        }
        let next = self.pick_next(cx, cpu);
        self.note_idle(cx, cpu, next);
        Pick {
            next: match next {
                NIL => None,
                e => self.entities[e as usize].vcpu,
            },
            time_slice: None,
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        if slot == QUOTAS {
            return self.quotas_timer(cx);
        }
        if slot == HIGH {
            return self.high_timer(cx, pcpu.0);
        }
        if slot == HRTICK {
            self.hrtick(cx, pcpu.0);
            return None;
        }
        self.read_clock(cx, pcpu.0);
        let current = self.cpus[pcpu.index()].current;
        if current == NIL {
            self.cpus[pcpu.index()].ticks = false;
            return None;
        }
        match self.is_high(current) {
            true => self.tick_high(cx, pcpu.0, current),
            false => self.tick_of(cx, current),
        }
        self.balance_at_tick(cx, pcpu.0);
        Some(self.next_tick(self.now(cx)))
    }

    fn domain_timer(&mut self, cx: &mut Cx<'_>, domain: DomainId) -> Option<Instant> {
        let group = (*self.domains.get(domain.index())?)?.group;
        self.domain_quotas_timer(cx, group);
        self.timer_of_domain(group)
    }

    fn resume(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId], _: &StateRows) {
        for &vcpu in runnable {
            let e = self.entity_of(vcpu);
            let home = cx.vcpu(vcpu).pcpu.0;
            self.go_to(e, home);
            if cx.is_current(vcpu) {
                self.read_clock(cx, home);
                self.threads[vcpu.index()].known = true;
                self.enqueue_thread(cx, e, how::SLEEP);
                self.set_all(cx, home, e, true);
                self.note_idle(cx, home, e);
            } else {
                self.come(cx, e, home, how::NEW);
            }
        }
    }

    fn state(&self, out: &mut StateRows) {
        self.describe(out);
    }
}
