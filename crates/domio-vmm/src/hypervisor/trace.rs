//! What a host reports itself.
//!
//! The actors of a trace are the idle vcpus of all pcpus, and behind them the vcpus in the order of
//! their creation.

use crate::bus::lines::Softirq;
use crate::hypervisor::siblings::SIBLINGS;
use crate::hypervisor::taken::TAKEN_TIME;
use alloc::vec::Vec;
use domio_core::{
    ActorId, Class, ClassId, DomainId, Duration, Instant, Kind, Names, PcpuId, Record, Runstate,
    Sink, VcpuId, VcpuName,
};

/// The trace of a host: where records go, and the records of the hypervisor itself.
pub(crate) struct Trace<S: Sink> {
    sink: S,
    /// Whether records are made.
    wanted: bool,
    names: Names,
    /// The policy's class, if it has one, by pool.
    policies: Vec<Option<ClassId>>,
    /// The class of what threads of a core cost each other, where they do.
    siblings: Option<ClassId>,
    /// The class of what interrupts take, where devices have any.
    interrupts: Option<ClassId>,
    /// Number of the actor that the first vcpu is.
    vcpus: u32,
}

impl<S: Sink> Trace<S> {
    /// A trace into `sink`, which is taken from the start, of a host of so many pcpus. `names` has
    /// the classes of device models; `classes` are the other ones.
    pub fn new(sink: S, mut names: Names, pcpus: usize, classes: Classes) -> Self {
        for pcpu in 0..pcpus {
            names.add_actor(VcpuName::idle(PcpuId(pcpu as u16)));
        }
        Trace {
            sink,
            wanted: S::ENABLED,
            policies: {
                let all = classes.policies.into_iter();
                all.map(|class| class.map(|c| names.add_class(c))).collect()
            },
            siblings: classes.slows.then(|| names.add_class(&SIBLINGS)),
            interrupts: classes.interrupts.then(|| names.add_class(&TAKEN_TIME)),
            vcpus: names.actors().len() as u32,
            names,
        }
    }

    /// Announces the vcpus of `domain`, of which there are `count` and which are created next.
    /// Returns the first one's actor.
    pub fn announce(&mut self, domain: DomainId, count: usize) -> ActorId {
        let first = ActorId(self.names.actors().len() as u32);
        for index in 0..count {
            self.names.add_actor(VcpuName::new(domain, index as u16));
        }
        first
    }

    /// The actor that `vcpu` is.
    #[inline]
    pub fn actor(&self, vcpu: VcpuId) -> ActorId {
        ActorId(self.vcpus + vcpu.0)
    }

    /// The actor that `vcpu` is, or the idle vcpu of `pcpu`.
    #[inline]
    fn actor_on(&self, pcpu: PcpuId, vcpu: Option<VcpuId>) -> ActorId {
        vcpu.map_or(ActorId(u32::from(pcpu.0)), |vcpu| self.actor(vcpu))
    }

    /// What the numbers in records stand for.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Whether records are made; with a sink that takes none the compiler knows.
    #[inline(always)]
    pub fn on(&self) -> bool {
        S::ENABLED && self.wanted
    }

    /// Makes records from now on, or none. Whether any were made before.
    pub fn set(&mut self, on: bool) -> bool {
        core::mem::replace(&mut self.wanted, on && S::ENABLED)
    }

    pub fn flush(&mut self) {
        self.sink.flush(&self.names);
    }

    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    pub fn into_sink(self) -> S {
        self.sink
    }

    /// Writes `record`, if records are made.
    #[inline]
    pub fn write(&mut self, record: Record) {
        if self.on() {
            self.sink.record(&self.names, &record);
        }
    }

    /// `kind` happened to `vcpu`, by code on pcpu `on`. That is all there is to say.
    #[inline]
    pub fn happened(&mut self, now: Instant, on: PcpuId, kind: Kind, vcpu: VcpuId) {
        self.write(Record::new(now, on, kind, self.actor(vcpu)));
    }

    /// `vcpu` goes from one runstate to another.
    #[inline]
    pub fn runstate(
        &mut self,
        now: Instant,
        on: PcpuId,
        vcpu: VcpuId,
        old: Runstate,
        new: Runstate,
    ) {
        self.write(Record::runstate(now, on, self.actor(vcpu), old, new));
    }

    /// `vcpu`, which has run for `ran`, continues, with a slice of `slice`.
    pub fn goes_on(
        &mut self,
        now: Instant,
        pcpu: PcpuId,
        vcpu: VcpuId,
        ran: Duration,
        slice: Duration,
    ) {
        let words = [ns_word(ran), ns_word(slice), 0, 0];
        let actor = self.actor(vcpu);
        self.write(Record::with(now, pcpu, Kind::Continue, actor, words));
    }

    /// `pcpu` goes from one vcpu to another.
    pub fn switch(&mut self, now: Instant, pcpu: PcpuId, switch: Switch) {
        let [prev, next] = [switch.prev, switch.next].map(|vcpu| self.actor_on(pcpu, vcpu));
        let times = [switch.ran, switch.waited, switch.slice].map(ns_word);
        self.write(Record::switch(now, pcpu, (prev, switch.state), next, times));
    }

    /// The policy of `pool` has something to say, which goes to the buffer of `pcpu`.
    pub fn note(
        &mut self,
        now: Instant,
        pcpu: PcpuId,
        (pool, number): (u8, u8),
        about: Option<VcpuId>,
        words: [u32; 4],
    ) {
        // A policy that declares no class has nothing to say.
        let Some(policy) = self.policies[usize::from(pool)] else {
            return;
        };
        let actor = about.map_or(ActorId::NONE, |vcpu| self.actor(vcpu));
        let class = (policy, number);
        self.write(Record::of(now, pcpu, class, actor, words));
    }

    /// `task` of the guest on `vcpu` has finished a job.
    pub fn job_done(
        &mut self,
        now: Instant,
        pcpu: PcpuId,
        vcpu: VcpuId,
        task: u8,
        turnaround: Duration,
        work: Duration,
    ) {
        let times = [turnaround.as_nanos(), work.as_nanos()];
        let actor = self.actor(vcpu);
        self.write(Record::job_done(now, pcpu, actor, task, times));
    }

    /// `vcpu` has lost so much work to other threads of its core.
    pub fn slowed(&mut self, now: Instant, pcpu: PcpuId, vcpu: VcpuId, lost: Duration) {
        let Some(class) = self.siblings else { return };
        let (actor, ns) = (self.actor(vcpu), lost.as_nanos());
        let words = [ns as u32, (ns >> 32) as u32, 0, 0];
        self.write(Record::of(now, pcpu, (class, 0), actor, words));
    }

    /// `vcpu` has lost `time` to interrupts: record `number` of their class.
    pub fn taken(&mut self, now: Instant, pcpu: PcpuId, vcpu: VcpuId, number: u8, time: Duration) {
        let Some(class) = self.interrupts else { return };
        let (actor, ns) = (self.actor(vcpu), time.as_nanos());
        let vector = match number {
            0 => 0,
            _ => Softirq::NetRx as u32,
        };
        let words = [vector, ns as u32, (ns >> 32) as u32, 0];
        self.write(Record::of(now, pcpu, (class, number), actor, words));
    }

    /// `vcpu` has worked for `domain` for `time`, where the trace is to say.
    pub fn served(
        &mut self,
        now: Instant,
        pcpu: PcpuId,
        vcpu: VcpuId,
        domain: DomainId,
        time: Duration,
    ) {
        if self.sink.owners() {
            let (actor, ns) = (self.actor(vcpu), time.as_nanos());
            self.write(Record::driver_work(now, pcpu, actor, domain, ns));
        }
    }
}

/// The classes of a host's records that no device model declares.
pub(crate) struct Classes {
    /// Of what the policy notes, if it notes anything, by pool.
    pub policies: Vec<Option<&'static Class>>,
    /// Whether threads of a core slow each other.
    pub slows: bool,
    /// Whether interrupts take the time of threads.
    pub interrupts: bool,
}

/// A context switch, for the trace.
pub(crate) struct Switch {
    /// Who leaves and who comes; nobody while the pcpu idles.
    pub prev: Option<VcpuId>,
    pub next: Option<VcpuId>,
    /// The runstate of `prev` from now on.
    pub state: Runstate,
    /// How long `prev` ran, and how long `next` waited runnable.
    pub ran: Duration,
    pub waited: Duration,
    /// `next`'s slice, the longest time for none.
    pub slice: Duration,
}

/// A length of time as a trace word; Xen writes -1 for no slice, and so does this for the longest.
fn ns_word(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}
