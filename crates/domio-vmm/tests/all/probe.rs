//! A policy for tests: one queue a pcpu, first in first out, that writes down each call and can be
//! told to make mistakes.

use crate::common::{Trace, micros};
use domio_contract::{Cx, Descriptor, Needs, Pick, Prev, Scheduler, Stop, Wake, Work};
use domio_core::{
    Class, Declared, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId,
};
use domio_sim::Outcome;
use domio_vmm::{HostConfig, Simulation};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

static RECORDS: Class = Class::new("probe", &[Declared::new(1, "woke", &[])]);

static DESCRIPTOR: Descriptor = Descriptor {
    name: "probe",
    summary: "for tests",
    source: "domio",
    class: Some(&RECORDS),
    needs: Needs {
        tickle: true,
        timers: true,
        context_saved: true,
        ..Needs::NOTHING
    },
    ..Descriptor::PLAIN
};

/// What a [`Probe`] does beyond its queues.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    pub slice: Option<Duration>,
    /// Timers that it sets when their pcpu comes up: pcpu, slot, when.
    pub timers: Vec<(PcpuId, u8, Instant)>,
    /// Whom such a timer tickles.
    pub timer_tickles: Option<PcpuId>,
    /// The current vcpu goes on until its slice ends.
    pub sticky: bool,
    /// Searches that each pass reports.
    pub work: u32,
    /// Pcpus that each wake-up reports to have looked at.
    pub looks: u32,
    pub mistake: Option<Mistake>,
}

/// A breach of the contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// Always picks the first vcpu, on this pcpu.
    PicksFirst(PcpuId),
    /// Always picks a vcpu that does not exist.
    PicksNobody,
    ZeroSlice,
    /// Each pass asks for another one.
    TicklesItself,
    /// Places vcpus there whatever their affinity.
    Places(PcpuId),
}

/// A log that a [`Probe`] shares with whoever made it.
pub type Log = Arc<Mutex<Vec<String>>>;

pub struct Probe {
    log: Log,
    habits: Habits,
    queues: Vec<VecDeque<VcpuId>>,
}

impl Probe {
    pub fn new(topology: &Topology, habits: Habits) -> Self {
        Probe {
            log: Arc::default(),
            habits,
            queues: vec![VecDeque::new(); topology.pcpus()],
        }
    }

    /// The log that it writes: each call of the policy, time in microseconds, what.
    pub fn log(&self) -> Log {
        self.log.clone()
    }

    fn note(&mut self, cx: &Cx<'_>, what: String) {
        let at = micros(cx.now().as_nanos());
        self.log.lock().unwrap().push(format!("{at} {what}"));
    }

    fn queued(&self, vcpu: VcpuId) -> bool {
        self.queues.iter().any(|q| q.contains(&vcpu))
    }
}

impl Scheduler for Probe {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.note(cx, format!("online {pcpu}"));
        for &(on, slot, at) in &self.habits.timers {
            if on == pcpu && at > cx.now() {
                cx.set_timer(pcpu, slot, at);
            }
        }
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        assert!(self.queues[pcpu.index()].is_empty() && cx.current(pcpu).is_none());
        self.note(cx, format!("offline {pcpu}"));
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, _: &ParamValues) {
        self.note(cx, format!("set {domain}"));
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.note(cx, format!("insert {}", cx.vcpu(vcpu).name));
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let view = cx.vcpu(vcpu);
        assert!(!view.runnable() && !view.on_pcpu && !self.queued(vcpu));
        self.note(cx, format!("remove {}", view.name));
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let home = cx.vcpu(vcpu).pcpu;
        let to = match self.habits.mistake {
            Some(Mistake::Places(pcpu)) => pcpu,
            _ => cx.hard(vcpu).test_or_cycle(home).unwrap(),
        };
        self.note(cx, format!("pick {} {to}", cx.vcpu(vcpu).name));
        to
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, why: Wake) {
        let view = *cx.vcpu(vcpu);
        self.note(cx, format!("wake {} {why:?}", view.name));
        cx.note(view.pcpu, 1, Some(vcpu), &[]);
        if !cx.is_current(vcpu) && !self.queued(vcpu) {
            self.queues[view.pcpu.index()].push_back(vcpu);
            cx.did(Work::Balance, self.habits.looks);
            cx.tickle(view.pcpu);
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let view = *cx.vcpu(vcpu);
        self.note(cx, format!("sleep {}", view.name));
        for queue in &mut self.queues {
            queue.retain(|v| *v != vcpu);
        }
        if cx.is_current(vcpu) {
            cx.tickle(view.pcpu);
        }
    }

    fn yielded(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.note(cx, format!("yielded {}", cx.vcpu(vcpu).name));
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let who = prev
            .vcpu
            .map_or("idle".into(), |v| cx.vcpu(v).name.to_string());
        let ran = micros(prev.ran.as_nanos());
        self.note(cx, format!("pass {pcpu} {who} {:?} {ran}", prev.why));
        cx.did(Work::Search, self.habits.work);
        let mut time_slice = self.habits.slice;
        let mut wrong = None;
        match self.habits.mistake {
            Some(Mistake::PicksFirst(here)) if here == pcpu => wrong = Some(VcpuId(0)),
            Some(Mistake::PicksNobody) => wrong = Some(VcpuId(99)),
            Some(Mistake::ZeroSlice) => time_slice = Some(Duration::ZERO),
            Some(Mistake::TicklesItself) => cx.tickle(pcpu),
            _ => {}
        }
        if wrong.is_some() {
            return Pick {
                next: wrong,
                time_slice,
            };
        }
        if let Some(vcpu) = prev.vcpu.filter(|v| cx.vcpu(*v).runnable()) {
            let over = matches!(prev.why, Stop::Slice | Stop::Yielded);
            match self.habits.sticky && !over {
                true => self.queues[pcpu.index()].push_front(vcpu),
                false => self.queues[pcpu.index()].push_back(vcpu),
            }
        }
        match self.queues[pcpu.index()].pop_front() {
            None => Pick::IDLE,
            next => Pick { next, time_slice },
        }
    }

    fn context_saved(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.note(cx, format!("saved {}", cx.vcpu(vcpu).name));
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        self.note(cx, format!("timer {pcpu} {slot}"));
        if let Some(to) = self.habits.timer_tickles {
            cx.tickle(to);
        }
        None
    }
}

/// What came of a host under a [`Probe`].
pub struct Told {
    pub outcome: Outcome,
    /// Calls of the policy: time in microseconds, what.
    pub calls: Vec<String>,
    pub records: Trace,
    pub simulation: Simulation<Trace>,
}

impl Told {
    /// Calls that begin with one of `words`.
    pub fn calls(&self, words: &[&str]) -> Vec<&str> {
        let wanted = |call: &&str| {
            let what = call.split(' ').nth(1);
            what.is_some_and(|w| words.contains(&w))
        };
        self.calls
            .iter()
            .map(String::as_str)
            .filter(wanted)
            .collect()
    }
}

/// Runs `host` under a probe for `time`.
pub fn run(host: &HostConfig, habits: Habits, time: Duration) -> Told {
    let probe = Box::new(Probe::new(&host.topology, habits));
    let log = probe.log();
    let mut simulation = Simulation::new(host, probe, Trace::default(), 1, 0);
    let outcome = simulation.run(Instant::ZERO + time);
    let calls = log.lock().unwrap().clone();
    let records = simulation.host_mut().sink_mut().clone();
    Told {
        outcome,
        calls,
        records,
        simulation,
    }
}
