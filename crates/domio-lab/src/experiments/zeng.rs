//! Zeng, Wang and others, "XCollOpts: a novel improvement of network virtualization in Xen", 2015.
//!
//! See `docs/papers/zeng2015.md`.

use super::{change, divided, host, id, members, random_starts, told};
use crate::claims::Claim;
use crate::ledger::Finding;
use crate::proof::Proof;
use crate::registry::{LabContext, Registry};
use crate::sample::Sample;
use crate::simulate::simulate;
use domio_core::{DomainId, Duration, Kind, Record, Sink};
use std::collections::BTreeMap;

const PRIME: &str = "zeng.table4.credit";
/// Columns of the table: times the vcpus of the first one.
const TIMES: std::ops::RangeInclusive<u32> = 1..=8;
/// Guests of the first column: four vcpus on four cores.
const GUESTS: u32 = 2;
/// First column, before the improvement: seconds.
const ALONE_S: f64 = 361.823;

pub(super) fn register(registry: &mut Registry, divisor: u32) {
    let prime = registry.experiment(PRIME, 10, move |cx, n| prime(cx, n, divisor));
    prime.kept(&divided(divisor), &[]);
    registry.check("zeng.table4.cpu-bound", &[PRIME], linear);
}

fn prime(cx: &LabContext, replication: u32, divisor: u32) -> Result<Sample, String> {
    let divisor = u64::from(divisor);
    let mut sample = Sample::new();
    let mut alone = 0.0;
    let mut off: f64 = 0.0;
    for times in TIMES {
        let count = GUESTS * times;
        let guests = members("guest", count);
        let mut changes = vec![
            change("domain.guest.count", count),
            change(
                "domain.guest.task.prime.work_ns",
                (ALONE_S * 1e9) as u64 / divisor,
            ),
        ];
        let latest = Duration::from_secs(1) / divisor;
        changes.extend(random_starts(&guests, latest, cx, replication));
        let mut built = host("zeng-prime", include_str!("zeng-prime.toml"), &changes, cx)?;
        built.duration = built.duration / divisor;
        let result = simulate(&built, replication, Turnarounds::default()).map_err(told)?;
        let mut sum = 0.0;
        for guest in &guests {
            let done = result.sink.of(id(&built, guest)?, 2).ok_or_else(|| {
                format!("{guest} of {count} was not done after {}", built.duration)
            })?;
            sum += done.as_nanos() as f64 / 1e9;
        }
        let turnaround = sum / f64::from(count);
        if times == 1 {
            alone = turnaround;
        }
        let linear = alone * f64::from(times);
        off = off.max((turnaround / linear - 1.0).abs() * 100.0);
        sample.set(&format!("x{times}.turnaround_s"), turnaround);
    }
    sample.set("off_linear_pct", off);
    Ok(sample)
}

/// By domain: how many of its tasks are done, and the longest time that one took.
#[derive(Default)]
struct Turnarounds(BTreeMap<DomainId, (u32, Duration)>);

impl Turnarounds {
    /// When the last of `tasks` of `domain` was done, counted from its start; `None` when one is
    /// not.
    fn of(&self, domain: DomainId, tasks: u32) -> Option<Duration> {
        let (done, last) = self.0.get(&domain)?;
        (*done == tasks).then_some(*last)
    }
}

impl Sink for Turnarounds {
    const OWNERS: bool = false;

    fn record(&mut self, record: &Record) {
        if record.kind != Kind::JobDone {
            return;
        }
        let [low, high, ..] = record.data;
        let took = Duration::from_nanos(u64::from(high) << 32 | u64::from(low));
        let (done, last) = self.0.entry(record.vcpu.domain).or_default();
        *done += 1;
        *last = took.max(*last);
    }
}
