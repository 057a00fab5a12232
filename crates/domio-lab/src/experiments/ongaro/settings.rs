//! What the cells of an experiment have in common.

use domio_core::Duration;
use domio_net::host::{KernelCosts, NetCosts};
use domio_vmm::Profile;

/// Times and costs of all cells. The defaults are those of `domio reproduce`; a test of how robust
/// the verdicts are sets others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Time before the measured time. The flows begin in it, at
    /// [`FLOWS_BEGIN`](super::host::FLOWS_BEGIN) after their guest.
    pub warmup: Duration,
    /// Measured time of a cell with streams.
    pub with_streams: Duration,
    /// Measured time of a cell without. Round trips are long there, of tens of seconds in one
    /// configuration, and events are few.
    pub without_streams: Duration,
    /// What the hypervisor's work costs.
    pub profile: Profile,
    /// What the work on packets costs.
    pub network: NetCosts,
    /// What the other work of the kernels costs.
    pub kernel: KernelCosts,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            warmup: Duration::from_secs(2),
            with_streams: Duration::from_secs(10),
            without_streams: Duration::from_secs(120),
            profile: Profile::OPTERON_242,
            network: NetCosts::OPTERON_242,
            kernel: KernelCosts::OPTERON_242,
        }
    }
}

impl Settings {
    /// The default with the measured times divided by `divisor`, which is over zero.
    pub fn shortened(divisor: u32) -> Self {
        let whole = Settings::default();
        Settings {
            with_streams: whole.with_streams / u64::from(divisor),
            without_streams: whole.without_streams / u64::from(divisor),
            ..whole
        }
    }
}
