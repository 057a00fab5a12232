//! Credit: what a trace shows of its state, and what it does not.
//!
//! Credits are in no trace, and where ticks fall is chance. Who earns credit, when the first ticks
//! and the first accounting come, and in part the priority classes, can be read off the records.

mod draw;
pub mod seen;

pub use seen::{FirstWake, ShownVcpu};

use self::seen::tick_period;
use crate::policy::PolicyState;
use crate::recording::Recording;
use crate::simulated::SimulatedHost;
use crate::start::Start;
use domio_contract::state::About;
use domio_contract::{Descriptor, StateRows};
use domio_core::{Duration, Instant, ParamValues, PcpuId, Topology};
use domio_sched::credit::{DESCRIPTOR, Priority};
use domio_vmm::Profile;

/// What a trace shows of credit's state at its first record. All times are those of the trace.
#[derive(Clone, Debug)]
pub struct CreditState {
    /// Credit's time slice.
    pub tslice: Duration,
    /// By pcpu: when its tick expires for the first time; `None` when the trace shows no tick.
    pub ticks: Vec<Option<Instant>>,
    /// By vcpu of [`Start::vcpus`].
    pub vcpus: Vec<ShownVcpu>,
    /// When accounting expires for the first time, if the trace shows any accounting.
    pub accounting: Option<Instant>,
    /// What has to be added to the trace's times so that multiples of the tick are those of
    /// Xen's own clock.
    pub clock_offset: Duration,
}

/// What a trace does not show of credit's state, by vcpu of [`Start::vcpus`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hidden {
    /// Credits and priority classes.
    pub vcpus: Vec<HiddenVcpu>,
    /// Indices into `vcpus`, each once, in the order in which those that wait are queued.
    pub queue: Vec<usize>,
    /// Indices into `vcpus`, each once, in the order in which accounting visits those that earn. It
    /// decides who gets what domains at their cap cannot use.
    pub earners: Vec<usize>,
    /// When accounting expires first, after the take-over.
    pub accounting_in: Duration,
    /// How much later than the trace shows the ticks come.
    pub tick_shift: Duration,
}

impl Hidden {
    /// Place of vcpu `index` among those that may earn.
    fn place(&self, index: usize) -> u32 {
        let place = self.earners.iter().position(|i| *i == index);
        place.map_or(u32::MAX, |place| place as u32)
    }
}

/// See [`Hidden`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HiddenVcpu {
    /// Credit.
    pub credit: i64,
    /// What was burned beyond whole credits, in millionths of a credit.
    pub residual: u32,
    /// How far `start_time` is ahead of now or of when it runs next, in nanoseconds.
    pub ahead: i64,
    /// Priority class.
    pub priority: Priority,
}

impl PolicyState for CreditState {
    type Hidden = Hidden;

    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn observe(
        recording: &Recording,
        params: &ParamValues,
        _: &Topology,
        profile: &Profile,
        start: &Start,
    ) -> CreditState {
        let tslice = Duration::from_millis(params.by_name("tslice_ms").unwrap_or(30) as u64);
        let tick = tick_period(tslice);
        let records = &recording.records;
        let pcpus = (0..start.pcpus.len() as u16).map(PcpuId);
        let shown = seen::vcpus(records);
        let of = |v: &crate::start::StartVcpu| shown.get(&v.name).copied().unwrap_or_default();
        CreditState {
            tslice,
            ticks: pcpus
                .map(|p| seen::first_tick(records, p, profile, tick, start.at))
                .collect(),
            vcpus: start.vcpus.iter().map(of).collect(),
            accounting: seen::first_accounting(records, profile, tslice, start.at),
            clock_offset: seen::clock_offset(records, profile, tick),
        }
    }

    fn longest_slice(&self) -> Duration {
        self.tslice
    }

    fn clock(&self) -> (Duration, Duration) {
        (self.clock_offset, tick_period(self.tslice))
    }

    fn draw(host: &SimulatedHost<CreditState>, number: u32) -> Hidden {
        draw::draw(host, number)
    }

    fn state(host: &SimulatedHost<CreditState>, hidden: &Hidden) -> StateRows {
        let (shown, origin) = (host.policy(), host.origin());
        let mut state = StateRows::default();
        let accounting = origin + hidden.accounting_in;
        state
            .row("", About::Policy)
            .hold("accounting", "", accounting);
        for (p, at) in (0u16..).zip(&shown.ticks) {
            if let Some(at) = at {
                let row = state.row("", About::Pcpu(PcpuId(p)));
                row.hold("tick", "", host.tick(*at, hidden));
            }
        }
        for i in &hidden.queue {
            let (v, h) = (&host.start().vcpus[*i], &hidden.vcpus[*i]);
            // While it runs, the time from which it has not been debited.
            let from = match host.current_on(v.name) {
                Some(_) => origin.as_nanos() as i64,
                None => 0,
            };
            let row = state.row("", About::Vcpu(host.id_of(v.name)));
            row.hold("credit", "", h.credit)
                .hold("residual", "", h.residual)
                .hold("start", "", from + h.ahead)
                .hold("priority", "", h.priority.word())
                .flag("parked", "", v.parked);
            if shown.vcpus[*i].active == Some(true) {
                row.hold("earns", "", hidden.place(*i));
            }
        }
        state
    }
}

/// A simulation of a host under credit.
pub type CreditHost = SimulatedHost<CreditState>;

impl CreditHost {
    /// Credit's time slice.
    pub fn tslice(&self) -> Duration {
        self.policy().tslice
    }

    /// Whether a domain has a cap: only then does the order of [`Hidden::earners`] matter.
    pub fn has_cap(&self) -> bool {
        let mut domains = self.start().vcpus.iter().map(|v| v.name.domain);
        domains.any(|d| self.domain_param(d, "cap").is_some_and(|cap| cap > 0))
    }

    /// When the tick that the trace shows at `recorded` comes first.
    fn tick(&self, recorded: Instant, hidden: &Hidden) -> Instant {
        let period = tick_period(self.tslice()).as_nanos();
        let after = recorded.since(self.start().at).as_nanos() + hidden.tick_shift.as_nanos();
        self.origin() + Duration::from_nanos(after % period)
    }
}
