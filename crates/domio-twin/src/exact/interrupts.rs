//! What a trace shows of interrupts without a record.

use crate::exact::hold::{before_wakes, holds};
use crate::exact::job_timer::{JobTimer, job_timers};
use crate::exact::kernel_tick::kernel_ticks;
use crate::exact::late::late_timers;
use crate::exact::tick_wake::expiries;
use crate::policy::credit::seen::accounting_records;
use domio_core::{Duration, Kind, Record, VcpuName};
use domio_replay::demand::unseen::{Expiries, Unseen};
use domio_sched::credit::ACCOUNTING;
use domio_vmm::Profile;
use domio_vmm::host::Hold;
use std::collections::{BTreeMap, BTreeSet};

/// Interrupts that a recording does not show, but that follow from the times of others.
#[derive(Clone, Debug, Default)]
pub struct Interrupts {
    /// Those that take time from the guest that executes.
    pub unseen: Unseen,
    /// The timer of the jobs of guests that never sleep.
    pub jobs: BTreeMap<VcpuName, JobTimer>,
    /// When something that left no record, and is none of the above, kept timers from running.
    pub holds: Vec<Hold>,
}

impl Interrupts {
    /// What follows from `records`, of a host of `profile` with slices of `tslice`.
    pub fn of(records: &[Record], profile: &Profile, tslice: Duration) -> Interrupts {
        let accountings = Expiries::of(accounting_records(records).map(|r| r.at), tslice);
        let late = late_timers(records, profile, tslice, &accountings);
        let kernel_ticks = kernel_ticks(&late, profile, expiries(records));
        let blocks = records.iter().filter(|r| r.kind == Kind::Block);
        let sleepers: BTreeSet<VcpuName> = blocks.map(|r| r.vcpu).collect();
        let jobs = job_timers(&late, &kernel_ticks, &sleepers, profile);
        let mut holds = holds(&late, &kernel_ticks, &jobs, profile);
        holds.extend(before_wakes(records, profile));
        Interrupts {
            unseen: Unseen {
                kernel_ticks,
                timer: accountings,
                slot: ACCOUNTING,
            },
            jobs,
            holds,
        }
    }
}
