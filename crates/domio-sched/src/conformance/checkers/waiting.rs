//! Checkers of the vcpu that waits while pcpus idle, and for how long.

use super::checker::Checker;
use crate::conformance::script::Script;
use crate::conformance::world::World;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use domio_contract::Promises;
use domio_core::{CpuSet, Duration, Instant, PcpuId};

/// A reservation may keep a vcpu waiting beside an idle pcpu until its next period. The longest
/// default period is 100 ms (SEDF, xen-spec 2).
const LOST_AFTER: Duration = Duration::from_millis(500);

/// Three accounting periods of credit, roughly: a policy that balances only at its ticks or at
/// accounting is in time.
const UNBALANCED_AFTER: Duration = Duration::from_millis(100);

/// Sixteen vcpus on one pcpu with slices of 30 ms wait for 450 ms; a weight of an eighth of the
/// others' or a boost for them makes it a few times that.
const STARVED_AFTER: Duration = Duration::from_secs(3);

pub(super) fn all(script: &Script, promises: &Promises) -> Vec<Box<dyn Checker>> {
    let mut all: Vec<Box<dyn Checker>> = alloc::vec![Box::new(NoLostWakeUp)];
    if promises.work_conserving {
        all.push(Box::new(WorkConserving));
    }
    if promises.balances && script.is_unrestricted() {
        all.push(Box::new(Balances::default()));
    }
    if promises.starvation_free && script.weights_are_close() {
        all.push(Box::new(StarvationFree));
    }
    all
}

/// For policies that promise nothing, too: the vcpu that has a pcpu of his own to run on gets it.
struct NoLostWakeUp;

impl Checker for NoLostWakeUp {
    fn name(&self) -> &'static str {
        "no-lost-wake-up"
    }

    fn lasting(&mut self, world: &World, _: Instant, to: Instant) -> Option<String> {
        world.waiting().find_map(|(id, v)| {
            let idle = world.online.contains(v.pcpu) && world.current[v.pcpu.index()].is_none();
            let since = v.since.max(world.current_since[v.pcpu.index()]);
            let lost = v.has_run_here && idle && to.saturating_since(since) >= LOST_AFTER;
            lost.then(|| {
                alloc::format!(
                    "v{} is runnable since {} but does not run, although its {} idles since {}",
                    id.0,
                    v.since,
                    v.pcpu,
                    world.current_since[v.pcpu.index()]
                )
            })
        })
    }
}

struct WorkConserving;

impl Checker for WorkConserving {
    fn name(&self) -> &'static str {
        "work-conserving"
    }

    fn lasting(&mut self, world: &World, from: Instant, to: Instant) -> Option<String> {
        let pcpu = world
            .idle()
            .find(|p| world.waiting().any(|(_, v)| v.pcpu == *p))?;
        let (id, _) = world.waiting().find(|(_, v)| v.pcpu == pcpu)?;
        Some(alloc::format!(
            "{pcpu} idles from {from} to {to} while v{}, which belongs to it, waits",
            id.0
        ))
    }
}

/// Those who wait may take turns: what counts is that somebody does, all the time.
#[derive(Default)]
struct Balances {
    /// By pcpu: since when it idles while somebody waits.
    since: Vec<Option<Instant>>,
}

impl Checker for Balances {
    fn name(&self) -> &'static str {
        "balances"
    }

    fn lasting(&mut self, world: &World, from: Instant, to: Instant) -> Option<String> {
        let (waiter, at) = world.waiting().next().map(|(id, v)| (id, v.pcpu)).unzip();
        self.since.resize(world.current.len(), None);
        let idle: CpuSet = world.idle().collect();
        for (p, since) in self.since.iter_mut().enumerate() {
            *since = match idle.contains(PcpuId(p as u16)) && waiter.is_some() {
                true => Some(since.unwrap_or(from)),
                false => None,
            };
        }
        let late = |s: &Option<Instant>| s.is_some_and(|s| to.since(s) >= UNBALANCED_AFTER);
        let p = self.since.iter().position(late)?;
        Some(alloc::format!(
            "p{p} idles since {} while somebody waits, now v{} on {}",
            self.since[p]?,
            waiter?.0,
            at?
        ))
    }
}

struct StarvationFree;

impl Checker for StarvationFree {
    fn name(&self) -> &'static str {
        "starvation-free"
    }

    fn lasting(&mut self, world: &World, _: Instant, to: Instant) -> Option<String> {
        let starved = |since: Instant| to.saturating_since(since) >= STARVED_AFTER;
        let (id, v) = world.waiting().find(|(_, v)| starved(v.waits_since))?;
        Some(alloc::format!(
            "v{} waits since {}, now on {}",
            id.0,
            v.waits_since,
            v.pcpu
        ))
    }
}
