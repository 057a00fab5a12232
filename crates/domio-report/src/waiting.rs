//! Behind whom the vcpus of a trace waited, and why, as figures: the same for terminal and report.

use crate::data::{Chart, DataTable, Figure, Quantity, Section, Stack, StackBar};
use crate::figure;
use crate::waits::Shares;
use domio_core::{DomainId, Instant, VcpuName};
use domio_meter::{LongWait, VcpuWaits, WaitTells, Waiting, Why};
use std::collections::BTreeMap;

/// Most vcpus that are told apart as those behind whom others wait.
const BLAMED_MAX: usize = 7;

/// Most bars of one picture.
const BARS_MAX: usize = 24;

/// Most vcpus that get a sentence.
const VERDICTS_MAX: usize = 8;

/// What a trace tells of waits, with the names of the domains in it.
#[derive(Clone, Copy, Debug)]
pub struct Waited<'a> {
    /// The figures.
    pub waiting: &'a Waiting,
    /// Ids and names; a domain without a name is shown with its id.
    pub names: &'a [(DomainId, String)],
}

impl Waited<'_> {
    /// Name of a vcpu.
    pub fn name(&self, vcpu: VcpuName) -> String {
        let named = self.names.iter().find(|(d, _)| *d == vcpu.domain);
        let domain = named.map_or_else(|| vcpu.domain.to_string(), |(_, name)| name.clone());
        format!("{domain} v{}", vcpu.index)
    }

    /// Name of who ran; nobody where nobody did.
    pub fn whom(&self, vcpu: Option<VcpuName>) -> String {
        vcpu.map_or_else(|| "nobody".to_owned(), |vcpu| self.name(vcpu))
    }

    /// Seconds from the first record to `at`.
    pub fn seconds(&self, at: Instant) -> String {
        let ns = at.saturating_since(self.waiting.start).as_nanos();
        format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
    }

    /// Causes for which somebody waited.
    fn found(&self) -> Vec<Why> {
        let mut sums: BTreeMap<Why, u64> = BTreeMap::new();
        for ((_, why), time) in self.waiting.vcpus.iter().flat_map(|v| &v.times) {
            *sums.entry(*why).or_default() += time;
        }
        Why::ALL
            .into_iter()
            .filter(|why| sums.get(why).is_some_and(|t| *t > 0))
            .collect()
    }

    /// By vcpu the time that it was runnable, by cause, in percent of the time for which it was
    /// seen.
    pub fn causes(&self) -> Shares {
        let found = self.found();
        let row = |vcpu: &VcpuWaits| {
            let by_cause = vcpu.by_cause();
            let part = |why: &Why| percent(by_cause.get(why).copied().unwrap_or(0), vcpu.seen);
            (self.name(vcpu.name), found.iter().map(part).collect())
        };
        Shares {
            parts: found.iter().map(|why| why.name().to_owned()).collect(),
            rows: self.waiting.vcpus.iter().map(row).collect(),
        }
    }

    /// The causes that are columns, with what they mean.
    pub fn meanings(&self) -> Vec<(&'static str, &'static str)> {
        let found = self.found().into_iter();
        found.map(|why| (why.name(), why.meaning())).collect()
    }

    /// Causes for which nobody waited, and those of which the trace tells nothing.
    pub fn absent(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let found = self.found();
        let tells = self.waiting.tells;
        let named = |why: &Why| !matches!(why, Why::Woken | Why::Displaced | Why::Before);
        let absent = Why::ALL.into_iter().filter(|why| !found.contains(why));
        let (told, untold): (Vec<Why>, Vec<Why>) =
            absent.filter(named).partition(|why| tells.told(*why));
        let untold = untold.into_iter().filter(|why| possible(tells, *why));
        (
            told.into_iter().map(Why::name).collect(),
            untold.map(Why::name).collect(),
        )
    }

    /// By vcpu the time that it was runnable, by who ran meanwhile, in percent of the time for
    /// which it was seen.
    pub fn behind(&self) -> Shares {
        let mut sums: BTreeMap<VcpuName, u64> = BTreeMap::new();
        for ((whom, _), time) in self.waiting.vcpus.iter().flat_map(|v| &v.times) {
            if let Some(whom) = whom {
                *sums.entry(*whom).or_default() += time;
            }
        }
        let mut blamed: Vec<(VcpuName, u64)> = sums.into_iter().collect();
        blamed.sort_by_key(|(name, time)| (u64::MAX - time, *name));
        blamed.truncate(BLAMED_MAX);
        let mut blamed: Vec<VcpuName> = blamed.into_iter().map(|(name, _)| name).collect();
        blamed.sort();
        let row = |vcpu: &VcpuWaits| {
            let behind = vcpu.behind();
            let time = |whom: Option<VcpuName>| behind.get(&whom).copied().unwrap_or(0);
            let named: Vec<u64> = blamed.iter().map(|name| time(Some(*name))).collect();
            let others = vcpu.runnable() - named.iter().sum::<u64>() - time(None);
            let parts = named.into_iter().chain([others, time(None)]);
            let parts = parts.map(|time| percent(time, vcpu.seen)).collect();
            (self.name(vcpu.name), parts)
        };
        let names = blamed.iter().map(|name| self.name(*name));
        let rest = ["others", "nobody"].map(str::to_owned);
        Shares {
            parts: names.chain(rest).collect(),
            rows: self.waiting.vcpus.iter().map(row).collect(),
        }
    }

    /// What those waited for that waited most, one sentence each.
    pub fn verdicts(&self) -> Vec<String> {
        let share = |v: &VcpuWaits| percent(v.runnable(), v.seen);
        let waited = self.waiting.vcpus.iter().filter(|v| v.runnable() > 0);
        let mut waited: Vec<&VcpuWaits> = waited.collect();
        waited.sort_by(|a, b| share(b).total_cmp(&share(a)).then(a.name.cmp(&b.name)));
        waited.truncate(VERDICTS_MAX);
        let largest = |sums: Vec<(String, u64)>| {
            let first = sums
                .into_iter()
                .reduce(|a, b| if b.1 > a.1 { b } else { a });
            first.unwrap_or_default()
        };
        let verdict = |vcpu: &VcpuWaits| {
            let part = |time| figure::short(percent(time, vcpu.runnable()));
            let behind = vcpu.behind().into_iter();
            let (whom, behind) = largest(behind.map(|(w, t)| (self.whom(w), t)).collect());
            let causes = vcpu.by_cause().into_iter();
            let (why, cause) = largest(causes.map(|(w, t)| (w.name().to_owned(), t)).collect());
            format!(
                "{} waited {} % of its time: {} % of that behind {whom}, {} % for \"{why}\".",
                self.name(vcpu.name),
                figure::short(share(vcpu)),
                part(behind),
                part(cause)
            )
        };
        waited.into_iter().map(verdict).collect()
    }

    /// Time for which a vcpu was off its pcpu by a cap, of those that were.
    pub fn parked(&self) -> Vec<String> {
        let parked = self.waiting.vcpus.iter().filter(|v| v.parked > 0);
        let told = |v: &VcpuWaits| {
            format!(
                "{} was put to sleep while it ran, as by a cap, for {} % of its time. It was not \
                 runnable then; no wait holds that time.",
                self.name(v.name),
                figure::short(percent(v.parked, v.seen))
            )
        };
        parked.map(told).collect()
    }

    /// Who was runnable while another pcpu idled.
    pub fn idled(&self) -> Vec<String> {
        let idled = self.waiting.vcpus.iter().filter(|v| v.idle_elsewhere > 0);
        let told = |v: &VcpuWaits| {
            format!(
                "{} waited behind others for {} % of its time while another pcpu idled.",
                self.name(v.name),
                figure::short(percent(v.idle_elsewhere, v.seen))
            )
        };
        idled.map(told).collect()
    }

    /// One wait, as cells of a table: when, how long, whose, why, behind whom.
    pub fn cells(&self, wait: &LongWait) -> [String; 6] {
        let time = |ns: u64| figure::scaled(ns as f64, None, "ns");
        // Who had less than a thousandth is of no interest to people.
        let behind = wait
            .behind
            .iter()
            .filter(|(_, ns)| *ns >= wait.length / 1000);
        let behind = behind.map(|(whom, ns)| format!("{} {}", self.whom(*whom), time(*ns)));
        let others = (wait.others > 0).then(|| format!("others {}", time(wait.others)));
        let behind: Vec<String> = behind.chain(others).collect();
        [
            self.seconds(wait.begin),
            time(wait.length),
            self.name(wait.vcpu),
            wait.pcpu.to_string(),
            wait.why.name().to_owned(),
            behind.join(", "),
        ]
    }

    /// Waits that last when the trace ends and are not short beside the longest that ended.
    pub fn unfinished(&self) -> Vec<LongWait> {
        let longest = self
            .waiting
            .vcpus
            .iter()
            .map(|v| v.longest)
            .max()
            .unwrap_or(0);
        let unfinished = self.waiting.unfinished.iter();
        unfinished
            .filter(|w| w.length >= longest / 4)
            .cloned()
            .collect()
    }

    /// Headings of [`Waited::cells`].
    pub const WAIT_HEADS: [&'static str; 6] = [
        "begins [s]",
        "length",
        "vcpu",
        "on",
        "mostly",
        "who ran meanwhile",
    ];

    /// The report's sections.
    pub fn sections(&self) -> Vec<Section> {
        if self.waiting.vcpus.is_empty() {
            return Vec::new();
        }
        let mut sections = vec![Section {
            title: "Behind whom vcpus wait, and why".to_owned(),
            text: self.verdicts().join(" "),
            figures: vec![
                picture("Time that each vcpu waited, by cause", self.causes()),
                picture("The same time, by who ran meanwhile", self.behind()),
            ],
        }];
        let unfinished = self.unfinished();
        let lists = [
            (
                "The longest waits after a wake-up",
                &self.waiting.worst_woken,
            ),
            ("The longest waits of all", &self.waiting.worst),
            ("Waits that last when the trace ends", &unfinished),
        ];
        let tables = lists.into_iter().filter(|(_, waits)| !waits.is_empty());
        let tables = tables.map(|(caption, waits)| {
            let table = DataTable {
                head: Self::WAIT_HEADS.map(str::to_owned).into(),
                rows: waits.iter().map(|w| self.cells(w).into()).collect(),
            };
            Figure::new(caption, Chart::Table(table))
        });
        sections.push(Section {
            title: "The longest waits".to_owned(),
            text: "Times count from the first record.".to_owned(),
            figures: tables.collect(),
        });
        let untold = self.waiting.untold();
        if !untold.is_empty() {
            sections.push(Section {
                title: "What the trace does not tell".to_owned(),
                text: format!("{}.", untold.join(". ")),
                figures: Vec::new(),
            });
        }
        sections.retain(|s| !s.figures.is_empty() || !s.text.is_empty());
        sections
    }
}

/// Whether the policy of the trace has waits for `why` at all.
fn possible(tells: WaitTells, why: Why) -> bool {
    match why {
        Why::BoostAhead => tells.policy_name() != Some("credit2"),
        Why::Cap => tells.policy_name() != Some("credit"),
        _ => true,
    }
}

fn picture(caption: &str, shares: Shares) -> Figure {
    let left_out = shares.rows.len().saturating_sub(BARS_MAX);
    let caption = match left_out {
        0 => caption.to_owned(),
        n => format!("{caption}; the first {BARS_MAX} vcpus, {n} more are left out"),
    };
    let bars = shares.rows.into_iter().take(BARS_MAX);
    let stack = Stack {
        value: Quantity::new("time of the vcpu", "%"),
        parts: shares.parts,
        bars: bars
            .map(|(name, lengths)| StackBar { name, lengths })
            .collect(),
    };
    Figure::new(caption, Chart::Stack(stack))
}

/// `part` in percent of `whole`.
pub fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 * 100.0 / whole as f64,
    }
}
