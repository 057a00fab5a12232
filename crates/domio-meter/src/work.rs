//! What a trace reports for whom driver domains work.

use std::collections::BTreeMap;

use domio_answer::column::sum;
use domio_answer::{Holds, Table, rows};
use domio_core::{ActorId, DomainId, Names, Record};
use domio_trace::VCPUS_MAX;

use crate::account::Window;

rows! {
    /// What a driver domain did for others, in nanoseconds.
    ///
    /// What it did for each and what it did for nobody sum to the time that it was busy, exactly.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct DriverWork {
        /// The driver domain.
        pub driver: DomainId = key("driver");
        /// Time that its vcpus executed.
        pub busy: u64 = sum("busy_ns", "ns");
        /// The part of it that was done on behalf of others, by domain; at most `busy_ns` in all.
        pub done_for: BTreeMap<DomainId, u64> = parts("for", [key("domain"), sum("ns", "ns")]);
    }
}

impl DriverWork {
    /// Rows of `works`, with what was done for nobody.
    pub fn table(works: &[DriverWork]) -> Table {
        let mut table = Table::of("", works);
        let nobody = sum("nobody_ns", "ns").of(Holds::Whole);
        let of_work = works.iter().map(|work| work.nobody().into());
        table.derive(nobody.doc("The rest of `busy_ns`."), of_work);
        table
    }

    /// The part of the busy time that was done for nobody: the domain's own processes, and what
    /// the hypervisor does in the time of its vcpus.
    pub fn nobody(&self) -> u64 {
        let others = self
            .done_for
            .values()
            .fold(0, |a: u64, b| a.saturating_add(*b));
        self.busy.saturating_sub(others)
    }
}

/// How much of the time of each driver's vcpu records of its work have taken.
///
/// A record reports the time since the one before, or since the host has last written down all such
/// work, which it does where a vcpu leaves its pcpu and where a trace or its measured part begins
/// and ends. So a record counts as a whole when it comes after the begin, and not at all at the
/// begin. It never counts for more than the vcpu is known to have executed within the time that
/// counts and no other record has taken: what is done before the first runstate record of a vcpu,
/// while records were lost, or by a damaged record does not count.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    by_vcpu: BTreeMap<ActorId, u64>,
}

impl Taken {
    /// Takes a `DriverWork` record of a vcpu that has executed for `ran` ns so far of the time that
    /// counts. Returns for whom how much of it counts, if any does.
    pub fn take(&mut self, record: &Record, ran: u64, window: Window) -> Option<(DomainId, u64)> {
        let (owner, ns) = record.done_for()?;
        if !window.ends_in(record.at.as_nanos()) {
            return None;
        }
        let taken = self.by_vcpu.get(&record.actor).copied().unwrap_or(0);
        let counts = ns.min(ran.saturating_sub(taken));
        if counts == 0 {
            return None;
        }
        self.by_vcpu.insert(record.actor, taken + counts);
        Some((owner, counts))
    }
}

/// Sums of all driver domains.
#[derive(Debug, Default)]
pub(crate) struct WorkBooks {
    taken: Taken,
    /// By driver domain and by whom it worked for.
    sums: BTreeMap<(DomainId, DomainId), u64>,
}

impl WorkBooks {
    /// Takes a `DriverWork` record as [`Taken::take`] does. Returns whether it found room: no host
    /// has so many domains.
    pub fn done(&mut self, names: &Names, record: &Record, ran: u64, window: Window) -> bool {
        let taken = self.taken.take(record, ran, window);
        let (Some((owner, counts)), Some(vcpu)) = (taken, names.vcpu(record.actor)) else {
            return true;
        };
        let key = (vcpu.domain, owner);
        if self.sums.len() >= VCPUS_MAX && !self.sums.contains_key(&key) {
            return false;
        }
        *self.sums.entry(key).or_default() += counts;
        true
    }

    /// The sums of each driver domain that worked for others, by id; `busy` gives the time that a
    /// domain executed.
    pub fn finish(&self, busy: impl Fn(DomainId) -> u64) -> Vec<DriverWork> {
        let mut all: Vec<DriverWork> = Vec::new();
        for (&(driver, owner), &ns) in &self.sums {
            if all.last().is_none_or(|w| w.driver != driver) {
                all.push(DriverWork {
                    driver,
                    busy: busy(driver),
                    done_for: BTreeMap::new(),
                });
            }
            if let Some(work) = all.last_mut() {
                work.done_for.insert(owner, ns);
            }
        }
        all
    }
}
