//! Round robin: the shortest whole policy, and the one to copy from.
//!
//! One FIFO per pcpu. Whoever becomes runnable joins the tail; the head runs for one slice. A vcpu
//! stays on the pcpu that it was given at insertion (the one with the fewest vcpus) until it is
//! moved by affinity. No weights, no boost, no preemption on wake-up, no balancing.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_contract::state::About;
use domio_contract::{
    Conflict, Cx, Descriptor, Needs, Pick, Policy, Prev, Promises, Scheduler, StateRows, Wake,
};
use domio_core::params::{Params as _, int};
use domio_core::{DomainId, Duration, ParamValues, PcpuId, Topology, VcpuId};

params! {
    /// Parameters of the policy as a whole.
    struct Params {
        tslice_ms: u64 = int("ms", (1, 1000), 30).changeable(),
            "Time that the head of the queue runs before it goes to the tail.";
    }
}

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "round-robin",
    summary: "one FIFO per pcpu, fixed slice; the shortest example of a policy",
    source: "domio",
    params: Params::SPECS,
    changeable: Params::CHANGEABLE,
    needs: Needs {
        tickle: true,
        ..Needs::NOTHING
    },
    promises: Promises {
        work_conserving: true,
        starvation_free: true,
        ..Promises::NOTHING
    },
    ..Descriptor::PLAIN
};

/// What the registry knows of it.
pub static ENTRY: Policy = Policy::new(&DESCRIPTOR, |params, topology| {
    Box::new(RoundRobin::new(params, topology))
});

/// The slice that `params` ask for.
fn slice(params: &ParamValues) -> Duration {
    Duration::from_millis(Params::from(params).tslice_ms)
}

/// The policy's state.
pub struct RoundRobin {
    params: ParamValues,
    slice: Duration,
    /// By pcpu: runnable vcpus that do not run, next one first.
    queues: Vec<VecDeque<VcpuId>>,
    /// By pcpu: how many vcpus belong there.
    population: Vec<u32>,
    /// By vcpu: the pcpu that it is counted at.
    home: Vec<Option<PcpuId>>,
}

impl RoundRobin {
    /// A round-robin policy for a host of this shape.
    pub fn new(params: &ParamValues, topology: &Topology) -> Self {
        RoundRobin {
            params: *params,
            slice: slice(params),
            queues: (0..topology.pcpus()).map(|_| VecDeque::new()).collect(),
            population: alloc::vec![0; topology.pcpus()],
            home: Vec::new(),
        }
    }

    fn leave(&mut self, vcpu: VcpuId) {
        if let Some(pcpu) = self.home[vcpu.index()].take() {
            self.population[pcpu.index()] -= 1;
        }
    }
}

impl Scheduler for RoundRobin {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, _: PcpuId) {}

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, pcpu: PcpuId) {
        assert!(
            self.queues[pcpu.index()].is_empty(),
            "{pcpu} left with vcpus queued"
        );
    }

    fn set_domain(&mut self, _: &mut Cx<'_>, _: DomainId, _: &ParamValues) {}

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        // The vcpu that runs keeps the slice that it has.
        self.params = *params;
        self.slice = slice(params);
        Ok(())
    }

    fn insert(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        if self.home.len() <= vcpu.index() {
            self.home.resize(vcpu.index() + 1, None);
        }
    }

    fn remove(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        self.leave(vcpu);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        self.leave(vcpu);
        let pcpu = (cx.hard(vcpu) & cx.online())
            .iter()
            .min_by_key(|p| self.population[p.index()])
            .expect("the host keeps an allowed pcpu online");
        self.population[pcpu.index()] += 1;
        self.home[vcpu.index()] = Some(pcpu);
        pcpu
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        let pcpu = cx.vcpu(vcpu).pcpu;
        let queue = &mut self.queues[pcpu.index()];
        if cx.is_current(vcpu) || queue.contains(&vcpu) {
            return;
        }
        queue.push_back(vcpu);
        if cx.current(pcpu).is_none() {
            cx.tickle(pcpu);
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let pcpu = cx.vcpu(vcpu).pcpu;
        if cx.is_current(vcpu) {
            cx.tickle(pcpu);
        } else {
            self.queues[pcpu.index()].retain(|v| *v != vcpu);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let queue = &mut self.queues[pcpu.index()];
        if let Some(vcpu) = prev.vcpu
            && cx.vcpu(vcpu).runnable()
        {
            queue.push_back(vcpu);
        }
        match queue.pop_front() {
            Some(next) => Pick {
                next: Some(next),
                time_slice: Some(self.slice),
            },
            None => Pick::IDLE,
        }
    }

    fn state(&self, out: &mut StateRows) {
        for (pcpu, queue) in (0..).map(PcpuId).zip(&self.queues) {
            let waiting: Vec<VcpuId> = queue.iter().copied().collect();
            let row = out.row("", About::Pcpu(pcpu));
            row.say("p")
                .tell("pcpu", "", pcpu.0)
                .say(": ")
                .tell("waiting", "", waiting);
        }
    }
}
