//! Section 3.3: a guest that blocks before each tick is never debited.

use super::super::{change, divided, host, id, random_starts, told};
use crate::claims::Claim;
use crate::ledger::Finding;
use crate::proof::Proof;
use crate::registry::{LabContext, Registry};
use crate::sample::Sample;
use crate::simulate::simulate;
use domio_core::{DomainId, Duration, Kind, Record, Sink};
use domio_sim::random::RandomStream;

const REPLICATIONS: u32 = 20;

/// Part of each tick that the dodging guest uses, in milliseconds.
const USES: [u64; 3] = [1, 5, 9];
/// Ongaro's tick: the period of sampling.
const TICK: Duration = Duration::from_millis(10);
const CAUGHT: &str = "ongaro.debit.9ms-caught";
const EXACT: &str = "ongaro.debit.9ms-caught-exact-debit";

/// Adds the experiments.
pub fn register(registry: &mut Registry, divisor: u32) {
    let mut add = |name: String, xen: &'static str, use_ms, caught| {
        let run = move |cx: &LabContext, n| dodge(cx, n, divisor, xen, use_ms, caught);
        let experiment = registry.experiment(name, REPLICATIONS, run);
        experiment.kept(&divided(divisor), &[]);
    };
    for use_ms in USES {
        add(never_caught(use_ms), "3.1", use_ms, false);
    }
    add(CAUGHT.to_owned(), "3.1", 9, true);
    add(EXACT.to_owned(), "4.0", 9, true);
    let names = USES.map(never_caught);
    let [a, b, c] = &names;
    registry.check(
        "ongaro.debit.sampling",
        &[a, b, c, CAUGHT, EXACT],
        never_debited,
    );
}

fn never_caught(use_ms: u64) -> String {
    format!("ongaro.debit.{use_ms}ms")
}

/// A guest that uses `use_ms` between ticks, beside one that burns. With `caught`, a second task
/// of its own is found running by a tick five times a second.
///
/// The burning guest is there first: each is boosted when it is created, and one that is created
/// later would keep the other waiting once, over a tick. The dodging guest does nothing until the
/// warm-up is over, so that nothing that happens to it goes unseen.
fn dodge(
    cx: &LabContext,
    replication: u32,
    divisor: u32,
    version: &str,
    use_ms: u64,
    caught: bool,
) -> Result<Sample, String> {
    let busy = Duration::from_millis(use_ms);
    let margin = Duration::from_micros(100);
    let phase = RandomStream::new(cx.seed, replication, "laboratory/dodger/phase")
        .duration_uniform(margin, TICK - busy - margin);
    let warmup = TICK * 10;
    let mut changes = random_starts(&["honest".to_owned()], warmup / 2, cx, replication);
    changes.extend([
        change("run.warmup_ns", warmup.as_nanos()),
        change("host.xen", version),
        change("scheduler.version", version),
        change("domain.dodger.task.dodge.burst_ns", busy.as_nanos()),
        change(
            "domain.dodger.task.dodge.phase_ns",
            (warmup + phase).as_nanos(),
        ),
    ]);
    if !caught {
        changes.push(change("domain.dodger.task.housekeeping.workload", "idle"));
    }
    let text = domio_scenario::example("tick-dodger").unwrap_or_default();
    let mut built = host("tick-dodger", text, &changes, cx)?;
    built.duration = built.duration / u64::from(divisor);
    let dodger = id(&built, "dodger")?;
    let result = simulate(&built, replication, Watch::new(dodger)).map_err(told)?;
    let seen = result.sink;
    let dodger = result.summary.domain(dodger).map(|d| d.total);
    let dodger = dodger.unwrap_or_default();
    let percent = |ns| result.summary.percent(ns);
    Ok(Sample::new()
        .with("dodger.share_pct", percent(dodger.running))
        .with("dodger.waiting_pct", percent(dodger.runnable))
        .with("begins_after_tick_ms", phase.as_nanos() as f64 / 1e6)
        .with("wake_ups", seen.wakeups as f64)
        .with("boost_ends", seen.boost_ends as f64)
        .with("earning_starts", seen.account_starts as f64))
}

/// Counts what credit's own records tell about one domain of one vcpu.
///
/// A tick that finds a vcpu running ends its boost, charges it and puts it among those that earn
/// credit (xen-spec 3.1). One that is never charged is in neither record.
struct Watch {
    domain: DomainId,
    wakeups: u64,
    account_starts: u64,
    boost_ends: u64,
}

impl Watch {
    /// Numbers of credit's records.
    const ACCOUNT_START: u8 = 2;
    const BOOST_END: u8 = 8;

    fn new(domain: DomainId) -> Self {
        Watch {
            domain,
            wakeups: 0,
            account_starts: 0,
            boost_ends: 0,
        }
    }
}

impl Sink for Watch {
    const OWNERS: bool = false;

    fn record(&mut self, record: &Record) {
        if record.kind == Kind::Wake && record.vcpu.domain == self.domain {
            self.wakeups += 1;
        }
        // The first word of these records is the domain.
        let domain = u32::from(self.domain.0);
        match record.policy_event() {
            Some((Self::ACCOUNT_START, [d, ..])) if *d == domain => self.account_starts += 1,
            Some((Self::BOOST_END, [d, ..])) if *d == domain => self.boost_ends += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_ticks_catch_is_seen() {
        let cx = LabContext { seed: 1 };
        let caught = dodge(&cx, 0, 20, "3.1", 9, true).unwrap();
        let never = dodge(&cx, 0, 20, "3.1", 9, false).unwrap();
        let exact = dodge(&cx, 0, 20, "4.0", 9, true).unwrap();
        assert_eq!(never.get("boost_ends"), Some(0.0));
        assert_eq!(caught.get("boost_ends"), Some(5.0), "five times a second");
        assert!(exact.get("dodger.share_pct") < Some(60.0));
    }
}
