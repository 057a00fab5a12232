//! What is tested: the allocations, the policies, and how far what a domain got is off.

use super::allocation::{AlertMode, NoAllocation, Terms};
use domio_answer::{rows, texts};
use domio_contract::Policy;
use domio_core::Duration;
use domio_run::RunFault;
use domio_scenario::{Parts, ScenarioErrors};

/// Lengths of the windows of the paper's slides, and 1 and 60 s (seconds).
pub const WINDOWS: [u64; 4] = [1, 10, 60, 180];

/// Time that is simulated before measuring begins.
pub const WARMUP: Duration = Duration::from_millis(5_000);

/// From this error on the longest windows are worth an explanation (% of the allocation). Below,
/// the shortest windows are explained.
pub(super) const NOTABLE: f64 = 1.0;

/// What dom0 does meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlertDom0 {
    /// Kernel, daemons and a monitor: 1 to 2 % of a pcpu, as on a host that only measures.
    Light,
    /// A tight loop on each vcpu.
    Burn,
}

impl AlertDom0 {
    const ALL: [AlertDom0; 2] = [AlertDom0::Light, AlertDom0::Burn];

    const fn name(self) -> &'static str {
        match self {
            AlertDom0::Light => "light",
            AlertDom0::Burn => "burn",
        }
    }
}

texts! {
    AlertDom0: |work| work.name().into(),
        |text, _| AlertDom0::ALL.into_iter().find(|work| work.name() == text);
}

/// All that holds for every allocation and every policy.
#[derive(Clone, PartialEq, Debug)]
pub struct AlertPlan {
    /// Whether domains are held to their allocations when nobody else wants the time.
    pub mode: AlertMode,
    /// dom1's allocations (% of one pcpu), ascending.
    pub allocations: Vec<u32>,
    /// dom0's allocation (% of one pcpu).
    pub dom0: u32,
    /// What dom0 does.
    pub dom0_work: AlertDom0,
    /// Pcpus of the host.
    pub pcpus: u32,
    /// Vcpus of each domain, each with a loop of its own where the domain computes.
    pub vcpus: u32,
    /// Lengths of the windows (seconds), ascending, none longer than `seconds`.
    pub windows: Vec<u64>,
    /// Measured time (seconds).
    pub seconds: u64,
    /// Period of policies that are told a slice in a period.
    pub period: Duration,
    /// Seed of every random stream.
    pub seed: u64,
    /// Further keys of the scenario, with their values.
    pub set: Vec<(String, String)>,
}

impl AlertPlan {
    /// What allocations mean in it.
    pub(super) fn terms(&self) -> Terms {
        Terms {
            mode: self.mode,
            period: self.period,
            vcpus: self.vcpus,
        }
    }
}

/// A policy to test.
#[derive(Clone)]
pub struct AlertSubject {
    /// What it is called in tables.
    pub label: String,
    /// The policy.
    pub policy: Policy,
    /// What hosts with it can ask for by name.
    pub parts: Parts,
    /// Keys of the scenario that set its parameters, with their values.
    pub changes: Vec<(String, String)>,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum AlertFault {
    /// The policy cannot be told an allocation.
    #[error(transparent)]
    None(#[from] NoAllocation),
    /// A setting that the scenario does not take.
    #[error("{}", .0.render(false))]
    Scenario(ScenarioErrors),
    /// A simulation that did not get to its end.
    #[error(transparent)]
    Run(#[from] RunFault),
    /// Allocations that are more than there is.
    #[error("{0}")]
    TooMuch(String),
}

rows! {
    /// What a domain was allocated and what it got over the whole measured time (% of one pcpu).
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct AlertShare {
        /// What it was allocated (of one pcpu).
        pub allocated_percent: f64 = column("allocated_percent", "%", ColumnKind::Fact)
            .title("allocated");
        /// What it got over the whole measured time (of one pcpu).
        pub measured_percent: f64 = share("measured_percent").title("measured");
        /// The difference, in percentage points.
        pub error_points: f64 = column("error_points", "points", ColumnKind::Share);
        /// The difference, in percent of the allocation.
        pub error_percent: f64 = share("error_percent").title("error");
    }
}

impl AlertShare {
    pub(super) fn of(allocated: f64, measured: f64) -> Self {
        AlertShare {
            allocated_percent: allocated,
            measured_percent: measured,
            error_points: measured - allocated,
            error_percent: (measured - allocated) / allocated * 100.0,
        }
    }
}
