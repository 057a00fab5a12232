//! What a trace shows of the host that a scenario needs.

use crate::demand::wakers::WakerSearch;
use crate::named::NamedRecord;
use domio_core::{Kind, Names, Record, Says, Sink, VcpuName};
use domio_scenario::MAX_VCPUS;
use domio_trace::policy_of;
use std::collections::BTreeMap;

/// Different lengths of slices that are counted.
const LENGTHS_MAX: usize = 64;

/// Largest domid of a domain; above are Xen's own.
const DOMID_MAX: u16 = 32_751;

/// Gathers what a trace shows: feed it every record.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    span: Option<(u64, u64)>,
    pcpus: u16,
    /// Those with a record of their runstate, as [`demands`](crate::demand::demands) finds them.
    vcpus: BTreeMap<VcpuName, ()>,
    /// Records of policies, by name.
    policies: BTreeMap<&'static str, u64>,
    /// How often each slice in ns was given.
    slices: BTreeMap<u64, u64>,
    /// How often each rate limit in ns was left.
    limits: BTreeMap<u64, u64>,
    /// By pcpu: how long who runs there has run when the rate limit let it continue.
    limited: BTreeMap<u16, u32>,
    /// What each vcpu executed, and who wakes whom.
    work: WakerSearch,
}

impl Shown {
    /// Nothing yet.
    pub fn new() -> Self {
        Shown::default()
    }

    /// From the first to the last record, in nanoseconds.
    pub fn length(&self) -> Option<u64> {
        self.span.map(|(first, last)| last - first)
    }

    /// One more than the highest number of a pcpu.
    pub fn pcpus(&self) -> u16 {
        self.pcpus.max(1)
    }

    /// Vcpus with a record of their runstate.
    pub fn vcpus(&self) -> &BTreeMap<VcpuName, ()> {
        &self.vcpus
    }

    /// What each vcpu executed, and who wakes whom.
    pub fn work(&self) -> &WakerSearch {
        &self.work
    }

    /// The policy that most private records are of.
    pub fn policy(&self) -> Option<&'static str> {
        let policies = self.policies.iter().rev();
        policies.max_by_key(|(_, n)| **n).map(|(name, _)| *name)
    }

    /// Credit's slice: the one that is given most often.
    pub fn tslice_ms(&self) -> Option<i64> {
        let ns = most(&self.slices).filter(|_| self.policy() == Some("credit"))?;
        let is_whole = ns % 1_000_000 == 0 && (1..=1_000).contains(&(ns / 1_000_000));
        is_whole.then_some((ns / 1_000_000) as i64)
    }

    /// The rate limit: what a vcpu had run and what it was left together, most often.
    pub fn ratelimit_us(&self) -> Option<i64> {
        let ns = most(&self.limits)?;
        let is_whole = ns % 1_000 == 0 && (100..=500_000).contains(&(ns / 1_000));
        is_whole.then_some((ns / 1_000) as i64)
    }

    fn vcpu(&mut self, name: VcpuName) {
        let is_guest = !name.is_idle() && name.domain.0 <= DOMID_MAX;
        // One more than a scenario can have, so that too many are noticed.
        if is_guest && self.vcpus.len() <= MAX_VCPUS {
            self.vcpus.insert(name, ());
        }
    }

    fn slice(&mut self, ns: u32) {
        if ns != u32::MAX {
            count(&mut self.slices, u64::from(ns));
        }
    }
}

/// The value that was counted most often; of several the largest.
fn most(counts: &BTreeMap<u64, u64>) -> Option<u64> {
    let most = counts.iter().max_by_key(|(_, n)| **n)?;
    Some(*most.0)
}

fn count(counts: &mut BTreeMap<u64, u64>, value: u64) {
    if counts.len() < LENGTHS_MAX || counts.contains_key(&value) {
        *counts.entry(value).or_default() += 1;
    }
}

impl Sink for Shown {
    fn record(&mut self, names: &Names, record: &Record) {
        self.work.take(&NamedRecord::of(names, record));
        let at = record.at.as_nanos();
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        self.pcpus = self.pcpus.max(record.pcpu.0.saturating_add(1));
        let changing = record.changes().into_iter().flatten();
        for vcpu in changing.filter_map(|(actor, ..)| names.vcpu(actor)) {
            self.vcpu(vcpu);
        }
        if let Some(policy) = policy_of(names, record) {
            *self.policies.entry(policy).or_default() += 1;
            let declared = names.declared(record);
            if policy == "credit" && declared.is_some_and(|d| d.says == Says::RateLimited) {
                self.limited.insert(record.pcpu.0, record.words[0]);
            }
            return;
        }
        match record.kind() {
            Some(Kind::Switch) => self.slice(record.words[3]),
            Some(Kind::InfNext) => self.slice(record.words[1]),
            Some(Kind::Continue) => {
                if let Some(vcpu) = names.vcpu(record.actor) {
                    self.vcpu(vcpu);
                }
                if let Some(ran) = self.limited.remove(&record.pcpu.0) {
                    let limit = u64::from(ran) + u64::from(record.words[1]);
                    count(&mut self.limits, limit);
                }
            }
            _ => {
                self.limited.remove(&record.pcpu.0);
            }
        }
    }
}
