//! Where the processes of a guest with several vcpus execute under Linux 2.6.18 (`kernel/sched.c`,
//! `SD_CPU_INIT` of `include/linux/topology.h`).
//!
//! Each vcpu has processes of its own to choose from. A process goes to another vcpu on two
//! occasions:
//!
//! - **It is woken** on another vcpu than it last executed on (`try_to_wake_up`, `SD_WAKE_AFFINE`).
//!   The process moves to the vcpu of the waker if that has so much less to do, and stays
//!   otherwise. Interrupts of devices come to one vcpu, so that one attracts processes while idle.
//! - **A vcpu looks for more to do** (`load_balance`): when nothing is left to execute
//!   (`SD_BALANCE_NEWIDLE`), at each tick while idle, and at a tick now and then while busy. It
//!   pulls processes from the vcpu with the most of them, if that has two more at least, but none
//!   that executes or has executed of late.
//!
//! An idle vcpu under Xen has no ticks. What makes it look is the watchdog thread, which every vcpu
//! has and which wakes once a second (`kernel/softlockup.c`).
//!
//! Left out: loads are numbers of processes of this moment, not weights by nice value averaged over
//! ticks; groups of vcpus (threads of a core, nodes), since a guest of Xen sees none; pushing
//! (`active_load_balance`); what the watchdog's thread executes.

use domio_core::Duration;

/// A process that has executed so lately is not pulled: its cache is hot (`cache_hot_time`).
pub const CACHE_HOT: Duration = Duration::from_micros(2_500);
/// How long a busy vcpu does not look again: the shortest interval of a balanced domain, 1 ms,
/// times `busy_factor`.
pub const BUSY_INTERVAL: Duration = Duration::from_millis(64);
/// How long the watchdog's thread sleeps.
pub const WATCHDOG: Duration = Duration::from_secs(1);
/// Half of what `imbalance_pct` has beyond 100, and 100.
const WAKE_IMBALANCE_PERCENT: u32 = 112;

/// Whether a process that last executed on a vcpu with `there` processes which want to execute
/// wakes on the vcpu of its waker, another one with `here` such processes.
pub fn wakes_here(here: u32, there: u32) -> bool {
    let light = here <= there && here + there <= 1;
    light || 100 * (here + 1) <= WAKE_IMBALANCE_PERCENT * there
}

/// What a vcpu takes from another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pull {
    /// Index of the other vcpu.
    pub from: usize,
    /// How many processes.
    pub processes: u32,
}

/// What vcpu `to` pulls, where `loads` are the numbers of processes that want to execute.
pub fn pull(loads: &[u32], to: usize) -> Option<Pull> {
    let here = loads[to];
    let others = (0..loads.len()).filter(|v| *v != to);
    // The first of equals.
    let from = others.rev().max_by_key(|v| loads[*v])?;
    let most = loads[from];
    if most < here + 2 {
        return None;
    }
    let vcpus = loads.len() as u32;
    let sum: u32 = loads.iter().sum();
    // As many as bring the other one down to the average, or this one up to it.
    let down = (most * vcpus).saturating_sub(sum) / vcpus;
    let up = sum.saturating_sub(here * vcpus) / vcpus;
    let processes = down.min(up).max(1);
    Some(Pull { from, processes })
}
