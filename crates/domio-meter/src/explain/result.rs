//! What a [`WaitExplainer`](super::WaitExplainer) found.

use std::collections::BTreeMap;

use domio_core::{Instant, PcpuId, VcpuName};

use super::map::Map;
use super::why::Why;

/// Longest waits that are kept of a kind.
pub const WORST_MAX: usize = 20;

/// Vcpus that are named as having run during one wait; the others are one sum.
pub const BEHIND_MAX: usize = 4;

/// Who waited for whom, and why. Times are nanoseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Waiting {
    /// Time of the first record.
    pub start: Instant,
    /// Time of the last record.
    pub end: Instant,
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
    /// What the trace tells besides runstates.
    pub tells: WaitTells,
    /// By name; idle vcpus left out.
    pub vcpus: Vec<VcpuWaits>,
    /// The longest waits, the longest first.
    pub worst: Vec<LongWait>,
    /// The longest waits that began with a wake-up.
    pub worst_woken: Vec<LongWait>,
    /// Waits that last when the trace ends, the longest first; no sum holds them.
    pub unfinished: Vec<LongWait>,
    /// Who ran where in a part of the trace.
    pub map: Option<Map>,
}

/// Which records a trace has, so that a figure of 0 can be told from one that is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WaitTells {
    /// The policy whose private records there are, by Xen's id.
    pub policy: Option<u16>,
    /// Which pcpus were tickled.
    pub tickles: bool,
    /// Who was boosted.
    pub boosts: bool,
    /// What the rate limit did: records of passes of a release that writes these.
    pub limits: bool,
    /// Slices.
    pub slices: bool,
    /// Credits.
    pub credits: bool,
}

/// Xen's scheduler id of credit in traces.
const CREDIT: u16 = 0;
/// Xen's scheduler id of credit2.
const CREDIT2: u16 = 1;

impl WaitTells {
    /// Name of the policy whose records there are.
    pub fn policy_name(self) -> Option<&'static str> {
        Some(match self.policy? {
            CREDIT => "credit",
            CREDIT2 => "credit2",
            2 => "bvt",
            3 => "arinc653",
            4 => "rtds",
            5 => "null",
            7 => "sedf",
            _ => "a policy that is not known",
        })
    }

    /// Whether a wait could be told to be for `why`, if it was.
    pub fn told(self, why: Why) -> bool {
        match why {
            Why::Pass | Why::NotTickled | Why::PassedOver => self.tickles,
            Why::RateLimit => self.limits,
            Why::OverCredit => self.credits || self.policy == Some(CREDIT) && self.boosts,
            Why::BoostAhead => self.boosts,
            Why::Cap => self.policy == Some(CREDIT2) && self.credits,
            Why::Preempted | Why::SliceOver => self.slices,
            Why::Woken | Why::Displaced | Why::Yielded | Why::Released | Why::Before => true,
        }
    }
}

/// Waits of one vcpu.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VcpuWaits {
    /// Which.
    pub name: VcpuName,
    /// Time from its first to its last runstate record.
    pub seen: u64,
    /// Time that it ran.
    pub running: u64,
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

impl LongWait {
    /// A wait whose time is `parts`.
    pub(super) fn of(
        vcpu: VcpuName,
        pcpu: PcpuId,
        begin: u64,
        woken: bool,
        parts: &BTreeMap<(Option<VcpuName>, Why), u64>,
        undecided: Why,
    ) -> Self {
        let mut causes: BTreeMap<Why, u64> = BTreeMap::new();
        let mut behind: BTreeMap<Option<VcpuName>, u64> = BTreeMap::new();
        for ((whom, why), time) in parts {
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
            vcpu,
            pcpu,
            begin: Instant::from_nanos(begin),
            length,
            woken,
            why: why.map_or(undecided, |(why, _)| why),
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

impl Waiting {
    /// Whether the private records are those of credit or credit2, which are understood.
    pub fn understands_policy(&self) -> bool {
        matches!(self.tells.policy, Some(CREDIT | CREDIT2))
    }

    /// What the trace does not tell, or not for sure, a sentence each.
    pub fn untold(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.lost_records > 0 {
            let unknown = self.vcpus.iter().map(|v| v.unknown).max().unwrap_or(0);
            said.push(format!(
                "{} records were lost. Stays over which records are missing count nowhere: up to \
                 {:.3} s of a vcpu",
                self.lost_records,
                unknown as f64 / 1e9
            ));
        }
        if !self.runstates {
            said.push(
                "The trace carries no records of runstates, so nothing is known of waits; record \
                 with `xentrace -e 0x0002f000`"
                    .to_owned(),
            );
            return said;
        }
        if self.left_out > 0 {
            said.push(format!(
                "{} records are of more vcpus than any host has, and were left out",
                self.left_out
            ));
        }
        said.extend(self.of_policy());
        if !self.tells.slices {
            said.push(
                "The trace carries no records of slices, so that a vcpu which was preempted is \
                 not told from one whose slice was over"
                    .to_owned(),
            );
        }
        if self.pcpus.len() > 1 {
            said.push(
                "A vcpu is taken to wait on the pcpu where it ran last. The trace does not tell \
                 which others it may use"
                    .to_owned(),
            );
        }
        said
    }

    /// What the records of the policy do not tell.
    fn of_policy(&self) -> Vec<String> {
        let sentence = |text: &str| text.to_owned();
        match self.tells.policy {
            None => vec![sentence(
                "The trace carries no records of the policy's own, so nothing is told of tickles, \
                 boosts, credit, caps and the rate limit; record with `xentrace -e 0x0002f000`",
            )],
            Some(CREDIT) => {
                let mut said = vec![sentence(
                    "Credit records no balance. A vcpu is said to be over its credit where another \
                     one without boost, queued later, ran before it, and where it was woken \
                     without a boost; there may be more such time",
                )];
                if !self.tells.boosts {
                    said.push(sentence(
                        "The trace carries no records of boosts, so that nothing is told of boosts \
                         or credit",
                    ));
                }
                if !self.tells.tickles {
                    said.push(sentence(
                        "The trace carries no records of tickles, so that waits after a wake-up \
                         are not split",
                    ));
                }
                if !self.tells.limits {
                    said.push(sentence(
                        "The trace carries no records of passes, as of a Xen before 4.9, so that \
                         nothing is told of the rate limit",
                    ));
                }
                said
            }
            Some(CREDIT2) if !self.tells.credits => vec![sentence(
                "The trace carries no records of credits, so that nothing is told of credit and \
                 caps",
            )],
            Some(CREDIT2) => Vec::new(),
            Some(_) => vec![format!(
                "The private records are of {}, which tell nothing that is used here: nothing is \
                 told of tickles, credit, caps and the rate limit",
                self.tells.policy_name().unwrap_or_default()
            )],
        }
    }
}
