//! What a trace shows of the host that a scenario needs.

use domio_core::{Kind, Record, Sink, VcpuName};
use domio_scenario::MAX_VCPUS;
use std::collections::BTreeMap;

/// Different lengths of slices that are counted.
const LENGTHS_MAX: usize = 64;

/// Credit's records of the rate limit.
const CREDIT: u16 = 0;
const RATE_LIMIT: u8 = 10;

/// Largest domid of a domain; above are Xen's own.
const DOMID_MAX: u16 = 32_751;

/// Gathers what a trace shows: feed it every record.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    span: Option<(u64, u64)>,
    pcpus: u16,
    /// Those with a record of their runstate, as [`demands`](crate::demand::demands) finds them.
    vcpus: BTreeMap<VcpuName, ()>,
    /// Records of policies, by Xen's id.
    policies: BTreeMap<u16, u64>,
    /// How often each slice in ns was given.
    slices: BTreeMap<u64, u64>,
    /// How often each rate limit in ns was left.
    limits: BTreeMap<u64, u64>,
    /// By pcpu: how long who runs there has run when the rate limit let it go on.
    limited: BTreeMap<u16, u32>,
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

    /// The policy that most private records are of.
    pub fn policy(&self) -> Option<&'static str> {
        let most = self
            .policies
            .iter()
            .max_by_key(|(id, n)| (**n, u16::MAX - **id));
        Some(match most?.0 {
            0 => "credit",
            1 => "credit2",
            2 => "bvt",
            3 => "arinc653",
            4 => "rtds",
            5 => "null",
            7 => "sedf",
            _ => return None,
        })
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
    fn record(&mut self, record: &Record) {
        let at = record.at.as_nanos();
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        self.pcpus = self.pcpus.max(record.pcpu.0.saturating_add(1));
        for (vcpu, ..) in record.changes().into_iter().flatten() {
            self.vcpu(vcpu);
        }
        match record.kind {
            Kind::Switch => self.slice(record.data[3]),
            Kind::InfNext => self.slice(record.data[1]),
            Kind::Policy => {
                *self.policies.entry(record.vcpu.domain.0).or_default() += 1;
                if record.vcpu.domain.0 == CREDIT
                    && let Some((RATE_LIMIT, &[_, ran])) = record.policy_event()
                {
                    self.limited.insert(record.pcpu.0, ran);
                }
            }
            Kind::Continue => {
                self.vcpu(record.vcpu);
                if let Some(ran) = self.limited.remove(&record.pcpu.0) {
                    count(&mut self.limits, u64::from(ran) + u64::from(record.data[1]));
                }
            }
            _ => {
                self.limited.remove(&record.pcpu.0);
            }
        }
    }
}
