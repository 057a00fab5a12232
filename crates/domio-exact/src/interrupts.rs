//! What a trace shows of interrupts without a record.

use crate::hold::{before_wakes, holds};
use crate::job_timer::job_timers;
use crate::kernel_tick::kernel_ticks;
use crate::late::late_timers;
use domio_core::{Duration, Instant, Kind, VcpuName};
use domio_replay::NamedRecord;
use domio_replay::arrival::tick_wake::woken_by_ticks;
use domio_replay::demand::unseen::{Expiries, Unseen};
use domio_sched::credit::ACCOUNTING;
use domio_validate::policy::credit::seen::{TICK_TO_RECORD, accounting_records};
use domio_validate::simulated::Interrupts;
use domio_vmm::Profile;
use std::collections::{BTreeMap, BTreeSet};

/// What follows from `records`, of a host of `profile` under credit with slices of `tslice`.
pub fn interrupts(records: &[NamedRecord], profile: &Profile, tslice: Duration) -> Interrupts {
    let accountings = Expiries::of(accounting_records(records).map(|r| r.at), tslice);
    let late = late_timers(records, profile, tslice, &accountings);
    let kernel_ticks = kernel_ticks(&late, profile, expiries(records));
    let blocks = records.iter().filter(|r| r.is(Kind::Block));
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

/// For each vcpu that its kernel's ticks wake: when the timer of one expired. A wake-up is recorded
/// about as long after the expiry as credit's tick is.
fn expiries(records: &[NamedRecord]) -> BTreeMap<VcpuName, Instant> {
    let wakes = woken_by_ticks(records).into_iter();
    wakes
        .map(|(vcpu, at)| (vcpu, at.saturating_sub(TICK_TO_RECORD)))
        .collect()
}
