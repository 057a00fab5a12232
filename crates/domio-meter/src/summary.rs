//! What a meter found.

use domio_answer::rows;
use domio_core::{DomainId, FigureTable, Instant, PcpuId, VcpuName};

use crate::boosts::balance_factor;
use crate::{DiskSummary, DomainTally, DriverWork, Quantiles, Residence};

/// The figures of a trace. Times are nanoseconds unless named otherwise.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Summary {
    /// First record, or start of the measured window when that is later.
    pub start: Instant,
    /// Last record, or the end given.
    pub end: Instant,
    /// Whether the trace reports runstates, or has no record at all. Without runstates there are no
    /// figures of vcpus and pcpus.
    pub runstates: bool,
    /// Records seen, of all kinds.
    pub records: u64,
    /// Records that Xen dropped, as the trace says.
    pub lost_records: u64,
    /// Runstate records left out, see [`VCPUS_MAX`](domio_trace::VCPUS_MAX); 0 in any real trace.
    pub ignored_records: u64,
    /// Records that no class declares: what they are called
    /// ([`record_name`](domio_trace::record_name)), and how many there are.
    pub undeclared: Vec<(String, u64)>,
    /// By domain id; the idle domain is one of them.
    pub domains: Vec<DomainSummary>,
    /// The figures that the common class and the classes of all tallies declare, by number of the
    /// class.
    pub tables: Vec<&'static FigureTable>,
    /// For whom driver domains worked, by id; of those that worked for others.
    pub driver_work: Vec<DriverWork>,
    /// By number.
    pub pcpus: Vec<PcpuSummary>,
    /// The host's own disks of which requests are recorded, by number.
    pub disks: Vec<DiskSummary>,
    /// The domains that are guests, by id, where the trace says so of any
    /// ([`Says::OfGuest`](domio_core::Says::OfGuest)): the others are of the host itself. Without
    /// any, all are guests but the control domain.
    pub guests: Vec<DomainId>,
}

/// Figures of one vcpu or of all vcpus of a domain together.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Account {
    /// On a pcpu ("gotten" in XenMon).
    pub running: u64,
    /// Runnable without a pcpu, and not held back by its own budget; the sum of the three parts
    /// below. ("waited" in XenMon, which knows no budgets.)
    pub runnable: u64,
    /// Blocked.
    pub blocked: u64,
    /// Part of it: it could not be interrupted
    /// ([`Says::Uninterruptible`](domio_core::Says::Uninterruptible)).
    pub uninterruptible: u64,
    /// Paused, parked or not brought up.
    pub offline: u64,
    /// Part of it: put to sleep while it ran or was runnable, by its cap or by a pause, or held
    /// back by its own budget, which was used up.
    pub parked: u64,
    /// Neither is known: records were lost or contradict each other.
    pub unknown: u64,
    /// Runnable since a wake-up.
    pub waited_after_wake: u64,
    /// Runnable since another vcpu took the pcpu.
    pub waited_after_preempt: u64,
    /// Runnable since an unpause, or since the trace began.
    pub waited_other: u64,
    /// Times that it was put on a pcpu.
    pub executions: u64,
    /// Times that it went from blocked to runnable.
    pub wakeups: u64,
    /// Lengths of completed runs.
    pub runs: Quantiles,
    /// From wake-up to running, for each wake-up that led there.
    pub wake_to_run: Quantiles,
}

/// Figures of one domain.
#[derive(Clone, PartialEq, Debug)]
pub struct DomainSummary {
    /// The domain.
    pub id: DomainId,
    /// Sums over its vcpus, and quantiles of their samples pooled.
    pub total: Account,
    /// By index.
    pub vcpus: Vec<VcpuSummary>,
    /// What records of devices and guests add to, as their declarations say; by name.
    pub tallies: Vec<DomainTally>,
}

/// Figures of one vcpu.
#[derive(Clone, PartialEq, Debug)]
pub struct VcpuSummary {
    /// The vcpu.
    pub name: VcpuName,
    /// Its figures.
    pub account: Account,
    /// Where it ran.
    pub residence: Residence,
}

rows! {
    /// Figures of one pcpu. What is left of the elapsed time is unknown (records lost, or of vcpus
    /// that were not heard of).
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct PcpuSummary {
        /// Number.
        pub id: PcpuId = key("id").title("pcpu");
        /// A vcpu of a domain ran.
        pub busy: u64 = sum("busy_ns", "ns").for_programs();
        /// The idle vcpu ran.
        pub idle: u64 = sum("idle_ns", "ns").for_programs();
        /// Context switches to another vcpu, idle or not.
        pub switches: u64 = count("switches").for_programs();
        /// Boosts of vcpus in its run queue; nothing where records report none on any.
        pub boosts: Option<u64> = count("boosts").for_programs();
    }
}

impl Account {
    /// Adds times and counts of `other`, not its quantiles; times stop at `u64::MAX`, which only a
    /// damaged trace reaches.
    pub(crate) fn add_sums(&mut self, other: &Account) {
        for (sum, part) in [
            (&mut self.running, other.running),
            (&mut self.runnable, other.runnable),
            (&mut self.blocked, other.blocked),
            (&mut self.uninterruptible, other.uninterruptible),
            (&mut self.offline, other.offline),
            (&mut self.parked, other.parked),
            (&mut self.unknown, other.unknown),
            (&mut self.waited_after_wake, other.waited_after_wake),
            (&mut self.waited_after_preempt, other.waited_after_preempt),
            (&mut self.waited_other, other.waited_other),
            (&mut self.executions, other.executions),
            (&mut self.wakeups, other.wakeups),
        ] {
            *sum = sum.saturating_add(part);
        }
    }
}

impl Summary {
    /// Measured time in nanoseconds.
    pub fn elapsed(&self) -> u64 {
        self.end.saturating_since(self.start).as_nanos()
    }

    /// Measured time in seconds.
    pub fn seconds(&self) -> f64 {
        self.elapsed() as f64 / 1e9
    }

    /// The figures of domain `id`.
    pub fn domain(&self, id: DomainId) -> Option<&DomainSummary> {
        self.domains.iter().find(|d| d.id == id)
    }

    /// How evenly boosts are spread over the pcpus ([`balance_factor`]); `None` where there are
    /// none.
    pub fn boost_balance(&self) -> Option<f64> {
        balance_factor(self.pcpus.iter().filter_map(|pcpu| pcpu.boosts))
    }

    /// `ns` in percent of one pcpu over the measured time; 0 when that is empty.
    pub fn percent(&self, ns: u64) -> f64 {
        ratio(ns as f64 * 100.0, self.elapsed() as f64)
    }

    /// `count` per second of the measured time; 0 when that is empty.
    pub fn per_second(&self, count: u64) -> f64 {
        self.over_time(count, 1_000_000_000)
    }

    /// `count`, each of which is `times` in one nanosecond, over the measured time; 0 when that is
    /// empty.
    pub(crate) fn over_time(&self, count: u64, times: u64) -> f64 {
        ratio(count as f64 * times as f64, self.elapsed() as f64)
    }

    /// Whether the domain is a guest.
    fn is_guest(&self, id: DomainId) -> bool {
        match self.guests.is_empty() {
            false => self.guests.contains(&id),
            true => ![DomainId(0), DomainId::IDLE].contains(&id),
        }
    }

    /// The guests that compete for processors: those of which a vcpu ran, waited or was held by the
    /// policy for at least nine tenths of the measured time. A guest that sleeps more gets what it
    /// asks for, and the control domain works for the others: their shares say nothing of
    /// fairness.
    pub fn competing(&self) -> Vec<DomainId> {
        let wants = |a: &Account| {
            let wanted = u128::from(a.running) + u128::from(a.runnable);
            let elapsed = u128::from(self.elapsed());
            wanted > 0 && 10 * (wanted + u128::from(a.offline)) >= 9 * elapsed
        };
        let domains = self.domains.iter();
        let guests = domains.filter(|d| self.is_guest(d.id));
        let competing = guests.filter(|d| d.vcpus.iter().any(|v| wants(&v.account)));
        competing.map(|d| d.id).collect()
    }

    /// Jain's index of the running times of the domains `ids` (1 when all are equal, 1/n when one
    /// has it all); a domain that is not in the trace counts as 0.
    pub fn jain(&self, ids: &[DomainId]) -> Option<f64> {
        jain_index(
            ids.iter()
                .map(|id| self.domain(*id).map_or(0.0, |d| d.total.running as f64)),
        )
    }

    /// Context switches of all pcpus.
    pub fn switches(&self) -> u64 {
        self.pcpus.iter().map(|p| p.switches).sum()
    }
}

impl DomainSummary {
    /// The tally called `name`, if any record has added to it.
    pub fn tally(&self, name: &str) -> Option<&DomainTally> {
        self.tallies.iter().find(|tally| tally.name == name)
    }

    /// Vcpus that waited for a pcpu, and never got one.
    pub fn starved(&self) -> impl Iterator<Item = &VcpuSummary> {
        let starved = |a: &Account| a.running == 0 && a.executions == 0 && a.runnable > 0;
        self.vcpus.iter().filter(move |v| starved(&v.account))
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// Jain's fairness index, (sum x)^2 / (n sum x^2): 1 when all shares are equal, 1/n when one has it
/// all. Divide shares by weights first where weights differ. `None` for no share or all zero.
pub fn jain_index(shares: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for x in shares {
        n += 1.0;
        sum += x;
        squares += x * x;
    }
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_runs_from_one_hog_to_all_equal() {
        assert_eq!(jain_index([5.0, 5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain_index([8.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index([0.0, 0.0]), None);
        assert_eq!(jain_index([]), None);
    }
}
