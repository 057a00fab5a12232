//! What an explanation says.

use std::collections::{BTreeMap, BTreeSet};

use domio_core::{DomainId, Instant, PcpuId, VcpuName};

use super::cause::ItemWaits;
use super::parts::Parts;
use super::tells::WaitTells;
use super::waits::map::Map;
use super::waits::why::Why;
use crate::{DriverWork, residence};

/// Longest waits that are kept of a kind.
pub const WORST_MAX: usize = 20;

/// Vcpus that are named as having run during one wait; the others are one sum.
pub const BEHIND_MAX: usize = 4;

/// Who waited for whom, and why, as [`Explainer`](crate::Explainer) found. Times are nanoseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explanation {
    /// First instant that counts.
    pub start: Instant,
    /// End, not included.
    pub end: Instant,
    /// Runs whose figures are added up in this; 1 for that of one trace.
    pub runs: u32,
    /// Records of all kinds.
    pub records: u64,
    /// Records that are missing.
    pub lost_records: u64,
    /// Records of runstates that were left out, of vcpus beyond the first 4096; 0 in any real
    /// trace.
    pub left_out: u64,
    /// Whether the trace tells of runstates, without which nothing is known of waits.
    pub runstates: bool,
    /// Pcpus that records came from.
    pub pcpus: Vec<PcpuId>,
    /// The host where it is known: a trace does not tell.
    pub places: Option<residence::HostPlaces>,
    /// What the trace tells besides runstates.
    pub tells: WaitTells,
    /// By name; idle vcpus left out.
    pub vcpus: Vec<VcpuWaits>,
    /// The longest waits, the longest first.
    pub worst: Vec<LongWait>,
    /// The longest waits that began with a wake-up.
    pub worst_woken: Vec<LongWait>,
    /// Waits that last at the end, the longest first. Sums hold them, too.
    pub unfinished: Vec<LongWait>,
    /// Who ran where in a part of the trace.
    pub map: Option<Map>,
    /// Items on their way (packets, requests), by domain and name of the class.
    pub items: Vec<ItemWaits>,
    /// For whom driver domains worked, by id; of those that worked for others.
    pub driver_work: Vec<DriverWork>,
}

/// Waits of one domain: sums over its vcpus.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DomainWaits {
    /// The domain.
    pub id: DomainId,
    /// Time that its vcpus ran.
    pub running: u64,
    /// Time that they were blocked, paused or parked.
    pub at_rest: u64,
    /// Time that they were runnable and did not run, by the domain that ran on their pcpu, which
    /// may be themselves; `None` where nothing ran there.
    pub run_queue: BTreeMap<Option<DomainId>, u64>,
}

impl DomainWaits {
    /// Time that the domain's vcpus were runnable, behind whomever.
    pub fn runnable(&self) -> u64 {
        self.run_queue.values().sum()
    }
}

/// Waits of one vcpu.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VcpuWaits {
    /// Which.
    pub name: VcpuName,
    /// Time that the sums are of: all of the measured time, but for what was before a vcpu came
    /// that was not there.
    pub seen: u64,
    /// Time that it ran.
    pub running: u64,
    /// Where it ran.
    pub residence: residence::Residence,
    /// Time that it was blocked.
    pub blocked: u64,
    /// Time that it was offline after it had been put to sleep while it ran, which credit does to
    /// a vcpu over its cap.
    pub parked: u64,
    /// Other time that it was paused.
    pub paused: u64,
    /// Time of which records are missing or contradict each other.
    pub unknown: u64,
    /// Time that it was runnable, by who ran on its pcpu, and why. `None` where nobody ran there:
    /// the pcpu idled, was switching, or had not told who runs.
    pub times: BTreeMap<(Option<VcpuName>, Why), u64>,
    /// Time that it was runnable behind a vcpu while another pcpu idled.
    pub idle_elsewhere: u64,
    /// Waits that began and ended within the trace.
    pub waits: u64,
    /// The longest of them.
    pub longest: u64,
}

impl VcpuWaits {
    /// Adds those of another run.
    fn add(&mut self, other: &VcpuWaits) {
        for (sum, part) in [
            (&mut self.seen, other.seen),
            (&mut self.running, other.running),
            (&mut self.blocked, other.blocked),
            (&mut self.parked, other.parked),
            (&mut self.paused, other.paused),
            (&mut self.unknown, other.unknown),
            (&mut self.idle_elsewhere, other.idle_elsewhere),
            (&mut self.waits, other.waits),
        ] {
            *sum += part;
        }
        for (part, time) in &other.times {
            *self.times.entry(*part).or_default() += time;
        }
        self.longest = self.longest.max(other.longest);
        self.residence.add(&other.residence);
    }

    /// Time that it was runnable.
    pub fn runnable(&self) -> u64 {
        self.times.values().sum()
    }

    /// Time that it was runnable, by cause.
    pub fn by_cause(&self) -> BTreeMap<Why, u64> {
        let mut by_cause = BTreeMap::new();
        for ((_, why), time) in &self.times {
            *by_cause.entry(*why).or_default() += time;
        }
        by_cause
    }

    /// Time that it was runnable, by who ran.
    pub fn behind(&self) -> BTreeMap<Option<VcpuName>, u64> {
        let mut behind = BTreeMap::new();
        for ((whom, _), time) in &self.times {
            *behind.entry(*whom).or_default() += time;
        }
        behind
    }
}

/// One wait of a vcpu.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LongWait {
    /// In which of several runs, from 0.
    pub run: u32,
    /// Whose.
    pub vcpu: VcpuName,
    /// Where it waited.
    pub pcpu: PcpuId,
    /// When it became runnable.
    pub begin: Instant,
    /// How long it was.
    pub length: u64,
    /// Whether it began with a wake-up.
    pub woken: bool,
    /// The cause that most of it had.
    pub why: Why,
    /// Who ran meanwhile, the longest first, [`BEHIND_MAX`] of them.
    pub behind: Vec<(Option<VcpuName>, u64)>,
    /// Time of the others who ran meanwhile.
    pub others: u64,
}

/// What is told of a wait besides who waited where.
pub(super) struct Ended<'a> {
    /// Whether it began with a wake-up.
    pub woken: bool,
    /// Its time.
    pub parts: &'a Parts,
    /// Its cause if it took no time.
    pub undecided: Why,
}

impl LongWait {
    /// A wait of `vcpu` on `pcpu` since `begin`.
    pub(super) fn of(vcpu: VcpuName, pcpu: PcpuId, begin: u64, ended: &Ended<'_>) -> Self {
        let mut causes: BTreeMap<Why, u64> = BTreeMap::new();
        let mut behind: BTreeMap<Option<VcpuName>, u64> = BTreeMap::new();
        for ((whom, why), time) in ended.parts.iter() {
            *causes.entry(*why).or_default() += time;
            *behind.entry(*whom).or_default() += time;
        }
        let why = causes.into_iter().max_by_key(|(_, time)| *time);
        let mut behind: Vec<(Option<VcpuName>, u64)> = behind.into_iter().collect();
        behind.sort_by_key(|(whom, time)| (u64::MAX - time, *whom));
        let length = behind.iter().map(|(_, time)| time).sum();
        let others = behind.iter().skip(BEHIND_MAX).map(|(_, time)| time).sum();
        behind.truncate(BEHIND_MAX);
        LongWait {
            run: 0,
            vcpu,
            pcpu,
            begin: Instant::from_nanos(begin),
            length,
            woken: ended.woken,
            why: why.map_or(ended.undecided, |(why, _)| why),
            behind,
            others,
        }
    }
}

/// The longest waits of a kind.
#[derive(Debug, Default)]
pub(super) struct Worst(Vec<LongWait>);

impl Worst {
    /// Whether a wait of `length` would be among them.
    pub fn takes(&self, length: u64) -> bool {
        self.0.len() < WORST_MAX || self.0.last().is_some_and(|last| last.length < length)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a wait of `length` would be the first.
    pub fn is_longest(&self, length: u64) -> bool {
        self.0.first().is_none_or(|first| first.length < length)
    }

    /// Adds a wait; those of one length stay in the order of their ends.
    pub fn add(&mut self, wait: LongWait) {
        let at = self.0.partition_point(|other| other.length >= wait.length);
        self.0.insert(at, wait);
        self.0.truncate(WORST_MAX);
    }

    /// Adds a list, and another one of a later run, to one.
    fn merged(first: &[LongWait], later: &[LongWait], run: u32) -> Vec<LongWait> {
        let later = later.iter().map(|wait| LongWait {
            run: wait.run + run,
            ..wait.clone()
        });
        let mut worst = Worst::default();
        let waits = first.iter().cloned().chain(later);
        waits.for_each(|wait| worst.add(wait));
        worst.into_list()
    }

    pub fn into_list(self) -> Vec<LongWait> {
        self.0
    }
}

impl Explanation {
    /// Length of the time that counts.
    pub fn elapsed(&self) -> u64 {
        self.end.saturating_since(self.start).as_nanos()
    }

    /// The sums over the vcpus of each domain, by id; a domain of which only items are known has
    /// none.
    pub fn domains(&self) -> Vec<DomainWaits> {
        let mut all: BTreeMap<DomainId, DomainWaits> = BTreeMap::new();
        let mut domain = |id: DomainId, vcpu: Option<&VcpuWaits>| {
            let sums = all.entry(id).or_default();
            sums.id = id;
            let Some(vcpu) = vcpu else {
                return;
            };
            sums.running += vcpu.running;
            sums.at_rest += vcpu.blocked + vcpu.parked + vcpu.paused;
            for ((whom, _), time) in &vcpu.times {
                let whom = whom.map(|whom| whom.domain);
                *sums.run_queue.entry(whom).or_default() += time;
            }
        };
        for vcpu in &self.vcpus {
            domain(vcpu.name.domain, Some(vcpu));
        }
        for items in &self.items {
            domain(items.domain, None);
        }
        all.into_values().collect()
    }

    /// The items of a domain, by class and device.
    pub fn items(&self, domain: DomainId) -> impl Iterator<Item = &ItemWaits> {
        self.items
            .iter()
            .filter(move |items| items.domain == domain)
    }

    /// Time that the vcpus of a domain ran.
    pub(super) fn running(&self, id: DomainId) -> u64 {
        let vcpus = self.vcpus.iter().filter(|v| v.name.domain == id);
        vcpus.map(|v| v.running).sum()
    }

    /// Adds the figures of another run. Its time comes on top: [`Explanation::elapsed`] is that of
    /// both.
    pub fn add(&mut self, other: &Explanation) {
        let run = self.runs;
        if run == 0 {
            *self = other.clone();
            return;
        }
        self.add_work(other);
        self.runs += other.runs;
        self.end += other.end.saturating_since(other.start);
        self.records += other.records;
        self.lost_records += other.lost_records;
        self.left_out += other.left_out;
        self.runstates &= other.runstates;
        self.tells = self.tells.or(other.tells);
        let pcpus: BTreeSet<PcpuId> = self.pcpus.iter().chain(&other.pcpus).copied().collect();
        self.pcpus = pcpus.into_iter().collect();
        self.add_waits(other, run);
        for items in &other.items {
            match self
                .items
                .binary_search_by_key(&items.key(), ItemWaits::key)
            {
                Ok(at) => self.items[at].add(items),
                Err(at) => self.items.insert(at, items.clone()),
            }
        }
    }

    /// Adds the waits of another run, which is the one with number `run`.
    fn add_waits(&mut self, other: &Explanation, run: u32) {
        for vcpu in &other.vcpus {
            match self.vcpus.binary_search_by_key(&vcpu.name, |v| v.name) {
                Ok(at) => self.vcpus[at].add(vcpu),
                Err(at) => self.vcpus.insert(at, vcpu.clone()),
            }
        }
        if other.longest() > self.longest() {
            self.map = other.map.clone();
        }
        self.worst = Worst::merged(&self.worst, &other.worst, run);
        self.worst_woken = Worst::merged(&self.worst_woken, &other.worst_woken, run);
        self.unfinished = Worst::merged(&self.unfinished, &other.unfinished, run);
    }

    /// The longest wait of those that a map shows: after a wake-up, or else any.
    fn longest(&self) -> (u64, u64) {
        let first = |waits: &[LongWait]| waits.first().map_or(0, |wait| wait.length);
        (first(&self.worst_woken), first(&self.worst))
    }

    /// Adds the work of the driver domains of another run.
    fn add_work(&mut self, other: &Explanation) {
        let drivers = self.driver_work.iter().chain(&other.driver_work);
        let drivers: BTreeSet<DomainId> = drivers.map(|w| w.driver).collect();
        let sum = |driver| {
            let mut sum = DriverWork {
                driver,
                ..DriverWork::default()
            };
            for part in [&*self, other] {
                match part.driver_work.iter().find(|w| w.driver == driver) {
                    Some(work) => sum.add(work),
                    // It worked for nobody.
                    None => sum.busy += part.running(driver),
                }
            }
            sum
        };
        self.driver_work = drivers.into_iter().map(sum).collect();
    }
}
