//! Credit2: what a trace shows of its state, and what it does not.
//!
//! Credit2 writes credits into its records: at each debit, at each reset, and whenever it looks
//! for a pcpu or for whom to run next. So the credit with which a vcpu begins is known as soon as
//! one of these names it. Averages of load and what is left of a budget show in the same way. Not
//! shown are remainders of debits, what is left in the pool of a domain with a cap, and whatever
//! belongs to a vcpu that does nothing.

mod draw;
mod seen;

pub use seen::{ShownCredit, ShownRunq};

use crate::policy::PolicyState;
use crate::recording::Recording;
use crate::simulated::SimulatedHost;
use crate::start::Start;
use domio_contract::state::About;
use domio_contract::{Descriptor, StateRows};
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, Topology};
use domio_replay::Demand;
use domio_replay::arrival::attributed;
use domio_replay::demand::Recorded;
use domio_sched::credit2::{DESCRIPTOR, MAX_TIMER};
use domio_vmm::Profile;
use std::collections::BTreeMap;

/// What a trace shows of credit2's state at its first record. All times are those of the trace.
#[derive(Clone, Debug)]
pub struct Credit2State {
    /// By vcpu of [`Start::vcpus`].
    pub vcpus: Vec<ShownCredit>,
    /// The load of each run queue that the trace tells of.
    pub runqs: Vec<ShownRunq>,
    /// When the pools of domains are filled up first, of those where the trace shows it.
    pub refills: BTreeMap<DomainId, Instant>,
    /// The time between two fillings.
    pub period: Duration,
    /// Average load of a vcpu that always runs or waits.
    pub whole_load: i64,
}

/// A whole state of credit2, by vcpu of [`Start::vcpus`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Credit2Start {
    /// Credits and the like.
    pub vcpus: Vec<Credit2Vcpu>,
    /// Indices into `vcpus`, each once: the order of those that wait with equal credit.
    pub queue: Vec<usize>,
    /// Each domain with a cap: what is left in its pool, in nanoseconds, and when that is filled up
    /// first, after the take-over.
    pub pools: Vec<(DomainId, i64, Duration)>,
}

/// See [`Credit2Start`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credit2Vcpu {
    /// Credit, in nanoseconds.
    pub credit: i64,
    /// What was burned beyond whole credits, in parts of the weight.
    pub residual: u32,
    /// What it may run before its domain is asked, in nanoseconds, if it has a cap.
    pub budget: i64,
    /// Its average load.
    pub average: i64,
}

impl PolicyState for Credit2State {
    type Hidden = Credit2Start;

    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn observe(
        recording: &Recording,
        params: &ParamValues,
        topology: &Topology,
        _: &Profile,
        start: &Start,
    ) -> Credit2State {
        let period = params.by_name("cap_period_ms").unwrap_or(10) as u64;
        let period = Duration::from_millis(period);
        let precision = params.by_name("load_precision_shift").unwrap_or(18);
        Credit2State {
            vcpus: seen::vcpus(recording, topology, start),
            runqs: seen::runqs(&recording.records),
            refills: seen::refills(&recording.records, period, start.at),
            period,
            whole_load: 1 << precision,
        }
    }

    /// Pcpus share run queues as the trace shows it. A description that says how they do
    /// (`params.runqueue`) is taken at its word.
    fn topology(recording: &Recording, _: &ParamValues) -> Result<Topology, String> {
        let pcpus = recording.description.pcpus;
        let flat = || Topology::flat(pcpus).ok_or_else(|| "no pcpus".to_owned());
        let shown = seen::arrangement(&recording.records);
        let told = recording.description.params.contains_key("runqueue");
        if told || shown.len() < 2 {
            return flat();
        }
        // Run queues are numbered as their first pcpus come up.
        let of: Vec<u16> = (0..pcpus).filter_map(|p| shown.get(&p).copied()).collect();
        let groups: Vec<usize> = of.chunk_by(|a, b| a == b).map(<[u16]>::len).collect();
        let numbers: std::collections::BTreeSet<u16> = of.iter().copied().collect();
        let each = groups[0];
        let even = groups.iter().all(|g| *g == each);
        if of.len() != usize::from(pcpus) {
            // A pcpu that did nothing tells nothing of the others.
            return flat();
        }
        match even && numbers.len() == groups.len() {
            true => Topology::new(groups.len() as u16, each as u16, 1)
                .ok_or_else(|| "no pcpus".to_owned()),
            false => Err(
                "its pcpus share run queues in no way that a host of domio has: equally many \
                 neighbours in each; record with credit2_runqueue=all or cpu"
                    .to_owned(),
            ),
        }
    }

    fn longest_slice(&self) -> Duration {
        Duration::from_nanos(MAX_TIMER as u64)
    }

    fn clock(&self) -> (Duration, Duration) {
        // Nothing of credit2 happens at multiples of a time.
        (Duration::ZERO, Duration::from_nanos(1))
    }

    /// A vcpu that wakes is not boosted: it waits until the rate limit of who runs is over, and its
    /// simulation for another while. So the simulation has the timers of its guest instead of their
    /// times.
    fn demands(recorded: Recorded) -> Vec<Demand> {
        attributed(recorded)
    }

    fn draw(host: &SimulatedHost<Credit2State>, number: u32) -> Credit2Start {
        draw::draw(host, number)
    }

    fn state(host: &SimulatedHost<Credit2State>, hidden: &Credit2Start) -> StateRows {
        let start = host.start();
        let mut state = StateRows::default();
        for i in &hidden.queue {
            let (v, h) = (&start.vcpus[*i], &hidden.vcpus[*i]);
            let pcpu = start.pcpus.iter().find(|p| p.current == Some(v.name));
            let entered = host.earlier(pcpu.map_or(start.at, |p| p.entered));
            let row = state.row("", About::Vcpu(host.id_of(v.name)));
            row.hold("credit", "ns", h.credit)
                .hold("residual", "", h.residual)
                .hold("entered", "ns", entered.as_nanos())
                .hold("budget", "ns", h.budget)
                .hold("own_load", "", h.average)
                .flag("parked", "", v.parked);
        }
        for shown in &host.policy().runqs {
            // Run queues are told apart by their pcpus.
            let row = state.row("", About::Runq(0));
            row.hold("pcpus", "", CpuSet::of(shown.pcpu))
                .hold("whole_load", "", shown.average)
                .hold("balanced_load", "", shown.balanced);
        }
        for (domain, budget, refill) in &hidden.pools {
            let at = host.origin() + *refill;
            let row = state.row("", About::Domain(*domain));
            row.hold("budget", "ns", *budget)
                .hold("refill_at", "ns", at.as_nanos());
        }
        state
    }
}
