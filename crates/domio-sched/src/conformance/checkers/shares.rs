//! Checkers of how much each domain gets: weights and caps.

use super::checker::Checker;
use crate::conformance::script::{DEFAULT_WEIGHT, Script};
use crate::conformance::world::World;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use domio_contract::Promises;
use domio_core::{Duration, Instant};

/// Start of the measurement of shares: the initial credits of a policy are spent by then.
const WARM_UP: Duration = Duration::from_secs(1);

/// Shortest measurement of shares.
const MEASURED_MIN: Duration = Duration::from_secs(5);

/// A share may miss by one part in so many of the pcpu. That is coarse because credit is: it
/// forgives debts of over a slice, and so misses by nearly a quarter (3.1) or an eighth (4.17) of
/// the pcpu when a heavy domain competes with several light ones.
const SHARE_TOLERANCE: u64 = 4;

/// What a lighter domain may be ahead of a heavier one: two slices of credit.
const SLACK: Duration = Duration::from_millis(60);

/// What a capped vcpu may be ahead of its cap: an accounting period, a slice and what it had saved
/// (30 ms each for credit), and as much again.
const AHEAD_MAX: Duration = Duration::from_millis(150);

pub(super) fn all(script: &Script, promises: &Promises) -> Vec<Box<dyn Checker>> {
    let mut all: Vec<Box<dyn Checker>> = Vec::new();
    if !script.only_burns() {
        return all;
    }
    if promises.weights && shares_are_weights(script) {
        all.push(Box::new(Weights::new(script)));
    }
    if promises.caps {
        all.push(Box::new(Caps::new(script)));
    }
    all
}

/// One pcpu, one vcpu a domain, no caps, and time enough.
fn shares_are_weights(script: &Script) -> bool {
    let long_enough = script.end >= Instant::ZERO + WARM_UP + MEASURED_MIN;
    let alone = script.vcpus.len() == script.domains.len()
        && script.vcpus.iter().all(|v| v.name.index == 0);
    let uncapped = script
        .domains
        .iter()
        .all(|d| script.param(d.id, "cap").is_none_or(|cap| cap == 0));
    script.topology.pcpus() == 1 && alone && uncapped && long_enough
}

/// Time that each vcpu of `world` runs in an interval goes to the account of its domain.
fn charge(script: &Script, world: &World, accounts: &mut [Duration], length: Duration) {
    for v in world.current.iter().flatten() {
        let domain = script.vcpus[v.index()].name.domain;
        if let Some(i) = script.domains.iter().position(|d| d.id == domain) {
            accounts[i] += length;
        }
    }
}

struct Weights {
    script: Script,
    /// By domain.
    got: Vec<Duration>,
    weights: Vec<u64>,
}

impl Weights {
    fn new(script: &Script) -> Self {
        Weights {
            script: script.clone(),
            got: alloc::vec![Duration::ZERO; script.domains.len()],
            weights: script
                .domains
                .iter()
                .map(|d| script.param(d.id, "weight").unwrap_or(DEFAULT_WEIGHT) as u64)
                .collect(),
        }
    }
}

impl Checker for Weights {
    fn name(&self) -> &'static str {
        "weights"
    }

    fn lasting(&mut self, world: &World, from: Instant, to: Instant) -> Option<String> {
        let counts_from = from.max(Instant::ZERO + WARM_UP);
        let length = to.saturating_since(counts_from);
        charge(&self.script, world, &mut self.got, length);
        None
    }

    fn end(&mut self, at: Instant) -> Option<String> {
        let elapsed = at.since(Instant::ZERO + WARM_UP);
        let total: u64 = self.weights.iter().sum();
        let name = |i: usize| self.script.domains[i].id;
        for (i, (&got, &weight)) in self.got.iter().zip(&self.weights).enumerate() {
            let due = elapsed.as_nanos() as u128 * u128::from(weight) / u128::from(total);
            if got.as_nanos().abs_diff(due as u64) > (elapsed / SHARE_TOLERANCE).as_nanos() {
                return Some(alloc::format!(
                    "{} has weight {weight} of {total} but got {got} of {elapsed}",
                    name(i)
                ));
            }
            let lighter = |j: &usize| self.weights[*j] < weight && self.got[*j] > got + SLACK;
            if let Some(j) = (0..self.got.len()).find(lighter) {
                return Some(alloc::format!(
                    "{} has weight {weight} and got {got}, {} has {} and got {}",
                    name(i),
                    name(j),
                    self.weights[j],
                    self.got[j]
                ));
            }
        }
        None
    }
}

struct Caps {
    script: Script,
    /// By domain: how far it is ahead of its cap, in hundredths of a nanosecond.
    ahead: Vec<u64>,
}

impl Caps {
    fn new(script: &Script) -> Self {
        Caps {
            script: script.clone(),
            ahead: alloc::vec![0; script.domains.len()],
        }
    }
}

impl Checker for Caps {
    fn name(&self) -> &'static str {
        "caps"
    }

    fn lasting(&mut self, world: &World, from: Instant, to: Instant) -> Option<String> {
        let length = to.since(from);
        let mut used = alloc::vec![Duration::ZERO; self.script.domains.len()];
        charge(&self.script, world, &mut used, length);
        for (i, domain) in self.script.domains.iter().enumerate() {
            let cap = self.script.param(domain.id, "cap").unwrap_or(0) as u64;
            if cap == 0 {
                continue;
            }
            let ahead = self.ahead[i] + used[i].as_nanos() * 100;
            self.ahead[i] = ahead.saturating_sub(length.as_nanos() * cap);
            let mine = |v: &&crate::conformance::ScriptVcpu| v.name.domain == domain.id;
            let vcpus = self.script.vcpus.iter().filter(mine).count() as u64;
            if self.ahead[i] > AHEAD_MAX.as_nanos() * 100 * vcpus {
                return Some(alloc::format!(
                    "{} with {vcpus} vcpus is {} ahead of its cap of {cap} %",
                    domain.id,
                    Duration::from_nanos(self.ahead[i] / 100)
                ));
            }
        }
        None
    }
}
