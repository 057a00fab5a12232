//! What an explanation says.

use std::collections::BTreeMap;

use domio_answer::{Maybe, RowType, rows};
use domio_core::{DomainId, Instant, PcpuId, VcpuName};

use super::cause::ItemWaits;
use super::parts::Parts;
use super::tells::WaitTells;
use super::waits::map::Map;
use super::waits::why::Why;
use crate::{DriverWork, Residence};

/// Longest waits that are kept of a kind.
pub const WORST_MAX: usize = 20;

/// Vcpus that are named as having run during one wait; the others are one sum.
pub const BEHIND_MAX: usize = 4;

rows! {
    /// Who waited for whom, and why, as [`Explainer`](crate::Explainer) found. Times are
    /// nanoseconds.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct Explanation {
        /// First instant that counts, by the trace's own clock.
        pub start: Instant = moment("start_ns");
        /// Length of the time that counts, over all runs.
        pub elapsed: u64 = sum("elapsed_ns", "ns");
        /// Runs whose figures are added up in this; 1 for that of one trace.
        pub runs: u32 = count("runs");
        /// Records of all kinds.
        pub records: u64 = count("records");
        /// Records that are missing.
        pub lost_records: u64 = count("lost_records");
        /// Records of runstates that were left out, of vcpus beyond the first 4096; 0 in any real
        /// trace.
        pub left_out: u64 = count("left_out_records");
        /// Whether there are records of runstates, without which nothing is known of waits.
        pub runstates: bool = all("runstates");
        /// Pcpus that records came from.
        pub pcpus: Vec<PcpuId> = parts("pcpus", [key("pcpu")]);
        /// What the trace tells besides runstates, so that 0 can be told from what is not known.
        pub tells: WaitTells = fact("tells");
        /// Waits of each vcpu, by name; idle vcpus left out.
        pub vcpus: Vec<VcpuWaits> = parts("vcpus", []);
        /// The longest waits, the longest first.
        pub worst: Vec<LongWait> = largest("worst_waits", "ns", WORST_MAX);
        /// The longest waits that began with a wake-up.
        pub worst_woken: Vec<LongWait> = largest("worst_wakeups", "ns", WORST_MAX);
        /// Waits that last at the end, the longest first. Sums hold them, too.
        pub unfinished: Vec<LongWait> = largest("unfinished", "ns", WORST_MAX);
        /// Who ran where in a part of the trace; null when nothing changed there.
        pub map: Maybe<Map> = fact("map");
        /// Items on their way (packets, requests), by domain, name of the class and device.
        pub items: Vec<ItemWaits> = parts("items", []);
        /// For whom driver domains worked, by id; of those that worked for others.
        pub driver_work: Vec<DriverWork> = parts("driver_work", []);
    }

    /// Waits of one domain: sums over its vcpus.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct DomainWaits {
        /// Xen's domid.
        pub id: DomainId = key("id");
        /// Time that its vcpus ran.
        pub running: u64 = sum("running_ns", "ns");
        /// Time that they were blocked, paused or parked.
        pub at_rest: u64 = sum("at_rest_ns", "ns");
        /// Time that they were runnable and did not run, by the domain that ran on their pcpu,
        /// which may be themselves; null where nothing ran there.
        pub run_queue: BTreeMap<Option<DomainId>, u64> =
            parts("run_queue", [key("domain"), sum("ns", "ns")]);
    }

    /// Waits of one vcpu.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct VcpuWaits {
        /// Which.
        pub name: VcpuName = key("");
        /// Time that the sums are of: all of the measured time, but for what was before a vcpu came
        /// that was not there.
        pub seen: u64 = sum("seen_ns", "ns");
        /// Time that it ran.
        pub running: u64 = sum("running_ns", "ns");
        /// Where it ran.
        pub residence: Residence = fact("residence");
        /// Time that it was blocked.
        pub blocked: u64 = sum("blocked_ns", "ns");
        /// Part of it: it could not be interrupted (state D of Linux: it waited for a disk, a lock
        /// of the kernel or memory); 0 on other hosts.
        pub uninterruptible: u64 = sum("uninterruptible_ns", "ns");
        /// Part of it: it ended when a request of a disk was done that the thread or its group had
        /// made; 0 where requests are not recorded.
        pub disk: u64 = sum("disk_wait_ns", "ns");
        /// Time that it was offline after it had been put to sleep while it ran or was runnable,
        /// which credit and credit2 do to a vcpu whose cap is used up, and a toolstack that pauses
        /// its domain: Xen records no difference. And time that its own budget held it back.
        pub parked: u64 = sum("parked_ns", "ns");
        /// Part of it: runnable, and its own budget was used up.
        pub out_of_budget: u64 = sum("out_of_budget_ns", "ns");
        /// Part of it: the limit of a group inside its domain's held it back (`vcpuN`, `iothreadN`
        /// or `emulator` of libvirt).
        pub held_inside: u64 = sum("held_inside_ns", "ns");
        /// Other time that it was paused.
        pub paused: u64 = sum("paused_ns", "ns");
        /// Time of which records are missing or contradict each other.
        pub unknown: u64 = sum("unknown_ns", "ns");
        /// Time that it was runnable, by who ran on its pcpu, and why. Null where nobody ran there:
        /// the pcpu idled, was switching, or had not told who runs.
        pub times: BTreeMap<(Option<VcpuName>, Why), u64> =
            parts("behind", [key("behind"), key("cause"), sum("ns", "ns")]);
        /// Time that it was runnable behind a vcpu while another pcpu idled.
        pub idle_elsewhere: u64 = sum("idle_elsewhere_ns", "ns");
        /// Waits that began and ended within the trace.
        pub waits: u64 = count("waits");
        /// Part of them: those that began with a wake-up.
        pub woken: u64 = count("woken_waits");
        /// The longest of all.
        pub longest: u64 = max("longest_ns", "ns");
    }

    /// One wait of a vcpu.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct LongWait {
        /// In which of several runs, from 0.
        pub run: u32 = fact("run");
        /// Whose.
        pub vcpu: VcpuName = fact("");
        /// The pcpu where it waited.
        pub pcpu: PcpuId = fact("pcpu");
        /// When it became runnable.
        pub begin: Instant = moment("at_ns");
        /// How long it was.
        pub length: u64 = sum("ns", "ns");
        /// Whether it began with a wake-up.
        pub woken: bool = fact("woken");
        /// The cause that most of it had.
        pub why: Why = fact("cause");
        /// Who ran meanwhile, the longest first, four of them; null for nobody.
        pub behind: Vec<(Option<VcpuName>, u64)> = parts("behind", [key(""), sum("ns", "ns")]);
        /// Time of the others who ran meanwhile.
        pub others: u64 = sum("others_ns", "ns");
    }
}

impl DomainWaits {
    /// Time that the domain's vcpus were runnable, behind whomever.
    pub fn runnable(&self) -> u64 {
        self.run_queue.values().sum()
    }
}

impl VcpuWaits {
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

    /// Time that it lost: what it was runnable for, by cause, parked time, and waits for disks. The
    /// largest first.
    pub fn lost(&self) -> Vec<(Why, u64)> {
        let mut lost: Vec<(Why, u64)> = self.by_cause().into_iter().collect();
        let rest = self.parked - self.out_of_budget - self.held_inside;
        lost.push((Why::Parked, rest));
        lost.push((Why::OwnGroup, self.held_inside));
        lost.push((Why::Budget, self.out_of_budget));
        lost.push((Why::Disk, self.disk));
        lost.retain(|(_, time)| *time > 0);
        lost.sort_by_key(|(why, time)| (u64::MAX - time, *why));
        lost
    }

    /// Whether it always computes: it wanted to run, or was parked, for at least nine tenths of
    /// the time, and most of its waits began while it ran. Others block and are woken, and somebody
    /// feels how long they wait then; so with a vcpu that waits for all of the time because it
    /// hardly gets to run when it is woken.
    pub fn always_computes(&self) -> bool {
        let wanted = self.running + self.runnable() + self.parked;
        let is_woken = self.woken > 1 && 2 * self.woken >= self.waits;
        !is_woken && 10 * u128::from(wanted) >= 9 * u128::from(self.seen)
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

    pub fn into_list(self) -> Vec<LongWait> {
        self.0
    }
}

impl Explanation {
    /// Keeps what is said of the vcpus and domains that `shown` names, and leaves the others out;
    /// a domain without an index is asked for its items and the work of its driver. Others are
    /// still named as those behind whom somebody waits.
    pub fn keep(&mut self, shown: impl Fn(DomainId, Option<u16>) -> bool) {
        let is_shown = |vcpu: VcpuName| shown(vcpu.domain, Some(vcpu.index));
        self.vcpus.retain(|vcpu| is_shown(vcpu.name));
        for waits in [&mut self.worst, &mut self.worst_woken, &mut self.unfinished] {
            waits.retain(|wait| is_shown(wait.vcpu));
        }
        self.items.retain(|items| shown(items.domain, None));
        self.driver_work.retain(|work| shown(work.driver, None));
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
        if self.runs == 0 {
            *self = other.clone();
            return;
        }
        let mut other = other.clone();
        let lists = [
            &mut other.worst,
            &mut other.worst_woken,
            &mut other.unfinished,
        ];
        for wait in lists.into_iter().flatten() {
            wait.run += self.runs;
        }
        if other.longest() > self.longest() {
            self.map = other.map.clone();
        }
        for work in &mut self.driver_work {
            // Where it worked for nobody, the other run has no work of it.
            if other.driver_work.iter().all(|w| w.driver != work.driver) {
                work.busy += other.running(work.driver);
            }
        }
        for work in &mut other.driver_work {
            if self.driver_work.iter().all(|w| w.driver != work.driver) {
                work.busy += self.running(work.driver);
            }
        }
        let tells = self.tells.or(other.tells);
        self.merge(&other);
        self.tells = tells;
    }

    /// The longest wait of those that a map shows: after a wake-up, or else any.
    fn longest(&self) -> (u64, u64) {
        let first = |waits: &[LongWait]| waits.first().map_or(0, |wait| wait.length);
        (first(&self.worst_woken), first(&self.worst))
    }
}
