//! The smallest host that can carry out what a policy of one queue a pcpu asks for: tests drive the
//! policy directly, and time moves only when a test says so.
//!
//! What else a policy's tests ask of their host is in an `impl` of their own.

use alloc::vec::Vec;
use domio_contract::{
    Affinity, Cx, Descriptor, Effect, Pause, Pick, Prev, Scheduler, Stop, Tables, VcpuView, Wake,
};
use domio_core::{
    Class, CpuSet, DomainId, Duration, Instant, ParamKind, ParamValues, PcpuId, Topology, VcpuId,
    VcpuName,
};

/// The words of a record as a file of Xen's has them: the vcpu that it is about, if any, and as
/// many others as `class` declares, beyond which there are none.
pub fn noted(class: &Class, number: u8, about: Option<VcpuName>, words: [u32; 4]) -> Vec<u32> {
    let declared = class.declared(number).expect("a declared record");
    let (own, beyond) = words.split_at(usize::from(declared.words));
    assert!(
        beyond.iter().all(|word| *word == 0),
        "more words than declared"
    );
    about
        .map(VcpuName::word)
        .into_iter()
        .chain(own.iter().copied())
        .collect()
}

/// Releases that the parameter `version` of a policy can name, oldest first.
pub fn versions(policy: &Descriptor) -> &'static [&'static str] {
    let version = policy.params.iter().find(|spec| spec.name == "version");
    match version.expect("a policy with releases").kind {
        ParamKind::Choice(words) => words,
        kind => panic!("{kind:?} names no releases"),
    }
}

const P0: PcpuId = PcpuId(0);

/// A host without costs.
pub(crate) struct Rig<S> {
    pub policy: S,
    pub tables: Tables,
    pub now: Instant,
    /// Time from what happens in [`Rig::run_to`] to the passes that are due by that.
    pub path: Duration,
    /// By pcpu: when the slice ends.
    pub slices: Vec<Option<Instant>>,
    /// By pcpu: the policy's timers.
    pub timers: Vec<[Option<Instant>; Cx::TIMER_SLOTS as usize]>,
    /// Timers of domains, in the order in which they were set.
    pub domain_timers: Vec<(DomainId, Instant)>,
    /// By pcpu: since when the current vcpu runs.
    since: Vec<Instant>,
    /// Pcpus that have a pass pending.
    pub pending: CpuSet,
    /// Pcpus tickled since [`Rig::tickled`] was last asked.
    tickled: CpuSet,
    /// Switches of the first pcpu: microseconds, and the vcpu that runs from then on.
    pub switches: Vec<(u64, Option<VcpuId>)>,
    /// Passes of the first pcpu, in microseconds.
    pub passes: Vec<u64>,
    /// By vcpu: time that it ran until it was last switched out.
    ran: Vec<Duration>,
    /// Private records: event and words.
    pub notes: Vec<(u8, Vec<u32>)>,
    /// The id of the next guest.
    guests: u16,
}

/// Adds a blocked vcpu of `domain`, its next one, to `tables`. Its pcpu has yet to be chosen.
pub(crate) fn blocked_vcpu(
    tables: &mut Tables,
    domain: DomainId,
    hard: CpuSet,
    soft: CpuSet,
) -> VcpuId {
    let known = tables.vcpus.iter();
    let index = known.filter(|v| v.name.domain == domain).count() as u16;
    let vcpu = VcpuId(tables.vcpus.len() as u32);
    let mut pause = Pause::NONE;
    pause.set(Pause::BLOCKED);
    tables.vcpus.push(VcpuView {
        name: VcpuName::new(domain, index),
        pcpu: P0,
        pause,
        on_pcpu: false,
    });
    tables.affinity.push(Affinity { hard, soft });
    vcpu
}

impl<S: Scheduler> Rig<S> {
    /// A host of this shape, all of whose pcpus are online. The first guest has the id `guests`.
    pub fn of(policy: S, topology: Topology, guests: u16) -> Rig<S> {
        let pcpus = topology.pcpus();
        let mut rig = Rig {
            policy,
            tables: Tables::new(topology),
            now: Instant::ZERO,
            path: Duration::ZERO,
            slices: alloc::vec![None; pcpus],
            timers: alloc::vec![[None; Cx::TIMER_SLOTS as usize]; pcpus],
            domain_timers: Vec::new(),
            since: alloc::vec![Instant::ZERO; pcpus],
            pending: CpuSet::EMPTY,
            tickled: CpuSet::EMPTY,
            switches: Vec::new(),
            passes: Vec::new(),
            ran: Vec::new(),
            notes: Vec::new(),
            guests,
        };
        for p in 0..pcpus {
            rig.plug(PcpuId(p as u16));
        }
        rig
    }

    pub fn plug(&mut self, pcpu: PcpuId) {
        self.tables.online.insert(pcpu);
        self.call(|s, cx| s.pcpu_online(cx, pcpu));
    }

    pub fn adjust(&mut self, domain: DomainId, params: &[(&str, i64)]) {
        let mut values = ParamValues::defaults(self.policy.descriptor().domain_params);
        for (name, value) in params {
            values.set(name, *value).unwrap();
        }
        self.call(|s, cx| s.set_domain(cx, domain, &values));
    }

    /// Another domain with these parameters.
    pub fn domain(&mut self, params: &[(&str, i64)]) -> DomainId {
        let domain = DomainId(self.guests);
        self.guests += 1;
        self.adjust(domain, params);
        domain
    }

    /// The blocked vcpu of another domain.
    pub fn guest(&mut self, params: &[(&str, i64)]) -> VcpuId {
        let domain = self.domain(params);
        self.vcpu(domain)
    }

    /// A blocked vcpu of `domain` where the policy wants it.
    pub fn vcpu(&mut self, domain: DomainId) -> VcpuId {
        self.vcpu_within(domain, CpuSet::ALL)
    }

    /// As [`Rig::vcpu`], with a hard affinity.
    pub fn vcpu_within(&mut self, domain: DomainId, hard: CpuSet) -> VcpuId {
        let vcpu = blocked_vcpu(&mut self.tables, domain, hard, CpuSet::ALL);
        self.ran.push(Duration::ZERO);
        self.call(|s, cx| s.insert(cx, vcpu));
        self.ask_for_pcpu(vcpu);
        vcpu
    }

    pub fn current(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.tables.pcpus[pcpu].current
    }

    pub fn home(&self, vcpu: VcpuId) -> PcpuId {
        self.tables.vcpus[vcpu.index()].pcpu
    }

    /// Whom the policy tickled since this was last asked.
    pub fn tickled(&mut self) -> CpuSet {
        core::mem::take(&mut self.tickled)
    }

    /// Words of the records of `event` so far.
    pub fn notes_of(&self, event: u8) -> Vec<Vec<u32>> {
        let of = |n: &&(u8, Vec<u32>)| n.0 == event;
        self.notes.iter().filter(of).map(|n| n.1.clone()).collect()
    }

    /// Time that `vcpu` ran so far.
    pub fn ran(&self, vcpu: VcpuId) -> Duration {
        let home = self.home(vcpu);
        let running = match self.current(home) == Some(vcpu) {
            true => self.now.since(self.since[home.index()]),
            false => Duration::ZERO,
        };
        self.ran[vcpu.index()] + running
    }

    /// Calls the policy and carries out what it asks for.
    pub fn call<T>(&mut self, body: impl FnOnce(&mut S, &mut Cx<'_>) -> T) -> T {
        let mut effects = Vec::new();
        let mut cx = Cx::new(self.now, &mut self.tables, &mut effects, true);
        let answer = body(&mut self.policy, &mut cx);
        let policy = self.policy.descriptor();
        for effect in effects {
            match effect {
                Effect::Tickle(p) => {
                    self.pending.insert(p);
                    self.tickled.insert(p);
                }
                Effect::Timer { pcpu, slot, at } if policy.needs.timers => {
                    assert!(at.is_none_or(|at| at >= self.now), "a timer in the past");
                    self.timers[pcpu.index()][slot as usize] = at;
                }
                Effect::DomainTimer { domain, at } if policy.needs.timers => {
                    self.domain_timers.retain(|(d, _)| *d != domain);
                    if let Some(at) = at {
                        assert!(at >= self.now, "a timer in the past");
                        self.domain_timers.push((domain, at));
                    }
                }
                // The tables show it already.
                Effect::Park(_) | Effect::Unpark(_) if policy.needs.park => {}
                Effect::Move(vcpu, pcpu) => {
                    let view = &self.tables.vcpus[vcpu.index()];
                    assert!(!view.on_pcpu && view.pcpu == pcpu, "{vcpu:?} is held");
                }
                Effect::Note {
                    number,
                    about,
                    words,
                    ..
                } => {
                    let name = about.map(|v| self.tables.vcpus[v.index()].name);
                    let class = policy.class.expect("who writes records declares them");
                    self.notes.push((number, noted(class, number, name, words)));
                }
                other => panic!("{} needs no {other:?}", policy.name),
            }
        }
        answer
    }

    /// The scheduler softirq on `pcpu`.
    pub fn pass(&mut self, pcpu: PcpuId) -> Pick {
        self.pending.remove(pcpu);
        let before = self.current(pcpu);
        let prev = Prev {
            vcpu: before,
            ran: match before {
                Some(_) => self.now.since(self.since[pcpu.index()]),
                None => Duration::ZERO,
            },
            why: Stop::Tickled,
        };
        let pick = self.call(|s, cx| s.schedule(cx, pcpu, prev));
        let slice = pick.time_slice;
        assert_ne!(slice, Some(Duration::ZERO), "a slice of nothing");
        let ends = self.policy.descriptor().needs.park || slice.is_some();
        assert!(ends, "every slice ends where nothing else does");
        self.slices[pcpu.index()] = slice.map(|slice| self.now + slice);
        if pcpu == P0 {
            self.passes.push(self.now.as_nanos() / 1_000);
        }
        if pick.next != before {
            self.switch(pcpu, before, pick.next);
        }
        pick
    }

    fn switch(&mut self, pcpu: PcpuId, before: Option<VcpuId>, next: Option<VcpuId>) {
        let ran = self.now.since(self.since[pcpu.index()]);
        self.tables.pcpus[pcpu].current = next;
        self.since[pcpu.index()] = self.now;
        if pcpu == P0 {
            self.switches.push((self.now.as_nanos() / 1_000, next));
        }
        if let Some(v) = next {
            let view = &mut self.tables.vcpus[v.index()];
            assert!(view.runnable(), "{v:?} was picked, but is not runnable");
            assert!(!view.on_pcpu, "{v:?} was picked, but runs elsewhere");
            assert_eq!(view.pcpu, pcpu, "{v:?} belongs elsewhere");
            view.on_pcpu = true;
            assert!(self.tables.affinity[v.index()].hard.contains(pcpu));
        }
        if let Some(v) = before {
            self.ran[v.index()] += ran;
            self.tables.vcpus[v.index()].on_pcpu = false;
            self.call(|s, cx| s.context_saved(cx, v));
            if self.tables.vcpus[v.index()].pause.has(Pause::MIGRATING) {
                self.migrate(v);
            }
        }
    }

    pub fn ask_for_pcpu(&mut self, vcpu: VcpuId) {
        let pcpu = self.call(|s, cx| s.pick_pcpu(cx, vcpu));
        assert!(self.tables.online.contains(pcpu), "{pcpu} is not online");
        self.tables.vcpus[vcpu.index()].pcpu = pcpu;
    }

    /// Carries out a migration: `vcpu` is neither queued nor current.
    pub fn migrate(&mut self, vcpu: VcpuId) {
        let pause = &mut self.tables.vcpus[vcpu.index()].pause;
        pause.clear(Pause::MIGRATING);
        self.ask_for_pcpu(vcpu);
        if self.tables.vcpus[vcpu.index()].runnable() {
            self.call(|s, cx| s.wake(cx, vcpu, Wake::Migrate));
        }
    }

    /// Stops `vcpu` for the reason `flag`.
    pub fn stop(&mut self, vcpu: VcpuId, flag: u8) {
        let was_runnable = self.tables.vcpus[vcpu.index()].runnable();
        self.tables.vcpus[vcpu.index()].pause.set(flag);
        if was_runnable {
            self.call(|s, cx| s.sleep(cx, vcpu));
        }
    }

    pub fn wake(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause.clear(Pause::BLOCKED);
        if self.tables.vcpus[vcpu.index()].runnable() {
            self.call(|s, cx| s.wake(cx, vcpu, Wake::Event));
        }
    }

    /// `vcpu`, which is current, waits for an event from now on.
    pub fn block(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause.set(Pause::BLOCKED);
        self.pending.insert(self.home(vcpu));
    }

    /// Blocks `vcpu` and has the pass that takes it off.
    pub fn block_now(&mut self, vcpu: VcpuId) {
        self.block(vcpu);
        self.settle();
    }

    /// Passes wherever one is pending, until none is.
    pub fn settle(&mut self) {
        for _ in 0..1_000 {
            match self.pending.first() {
                Some(p) => drop(self.pass(p)),
                None => return,
            }
        }
        panic!("passes without end");
    }

    /// When the next slice or timer ends.
    fn next_event(&self) -> Option<Instant> {
        let timers = self.timers.iter().flatten().flatten();
        let of_domains = self.domain_timers.iter().map(|(_, at)| at);
        let all = self.slices.iter().flatten().chain(timers).chain(of_domains);
        all.min().copied()
    }

    /// Lets time pass, with timers, slices and passes as they come.
    pub fn run_to(&mut self, end: Instant) {
        self.settle();
        while let Some(at) = self.next_event()
            && at <= end
        {
            self.now = at;
            for p in 0..self.timers.len() {
                let pcpu = PcpuId(p as u16);
                for slot in 0..Cx::TIMER_SLOTS {
                    self.fire(pcpu, slot);
                }
                if self.slices[p] == Some(at) {
                    self.slices[p] = None;
                    self.pending.insert(pcpu);
                }
            }
            while let Some(i) = self
                .domain_timers
                .iter()
                .position(|(_, at)| *at <= self.now)
            {
                let (domain, _) = self.domain_timers.remove(i);
                self.tables.here = P0;
                if let Some(at) = self.call(|s, cx| s.domain_timer(cx, domain)) {
                    self.domain_timers.push((domain, at));
                }
            }
            if !self.pending.is_empty() {
                self.now += self.path;
            }
            self.settle();
        }
        self.now = end;
    }

    /// Fires timer `slot` of `pcpu`, if it is due.
    fn fire(&mut self, pcpu: PcpuId, slot: u8) {
        if self.timers[pcpu.index()][slot as usize] == Some(self.now) {
            self.timers[pcpu.index()][slot as usize] = None;
            let next = self.call(|s, cx| s.timer(cx, pcpu, slot));
            if next.is_some() {
                self.timers[pcpu.index()][slot as usize] = next;
            }
        }
    }
}
