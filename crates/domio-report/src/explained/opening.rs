//! What an explanation says first: the worst waits in sentences, then a row for each vcpu, those
//! first that matter most.

use super::Explained;
use super::shares::percent;
use crate::written::NumberedName;
use crate::{tables, written};
use domio_answer::column::share;
use domio_answer::{Cell, Holds, RowType, Table};
use domio_core::{DomainId, VcpuName};
use domio_meter::{LongWait, VcpuWaits, Why, capitalised};

/// Most vcpus that get a sentence.
const SENTENCES: usize = 3;

/// Part of the time that is worth a sentence, in percent.
const FELT_PERCENT: f64 = 1.0;

/// Length of a wait that is worth a sentence where the vcpu blocks in between, in nanoseconds:
/// about what a person at a keyboard begins to notice.
const FELT_NS: u64 = 10_000_000;

/// How much the waits of a vcpu matter; the smallest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Concern {
    /// It blocks and is woken, so that somebody waits for it, and it waits for long.
    Latency,
    /// It always computes, and gets less than it asks for.
    Throughput,
    /// It hardly waits.
    None,
}

/// A vcpu in the table of all, or several that are alike.
#[derive(Clone, PartialEq, Debug)]
pub struct VcpuLine {
    /// Which, for people.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Their sums, and the longest of all of their waits.
    pub sums: VcpuWaits,
}

impl<'a> Explained<'a> {
    /// Whether a vcpu of the domain blocks and is woken, so that somebody feels how long it waits.
    pub(super) fn is_felt(&self, domain: DomainId) -> bool {
        let vcpus = self.explanation.vcpus.iter();
        let mut own = vcpus.filter(|vcpu| vcpu.name.domain == domain);
        own.any(|vcpu| !vcpu.always_computes())
    }

    fn concern(&self, vcpu: &VcpuWaits) -> Concern {
        let lost = self.lost_percent(vcpu) >= FELT_PERCENT;
        match vcpu.always_computes() {
            false if lost || vcpu.longest >= FELT_NS => Concern::Latency,
            true if lost => Concern::Throughput,
            _ => Concern::None,
        }
    }

    /// Time that the vcpu lost, in percent of the measured time.
    fn lost_percent(&self, vcpu: &VcpuWaits) -> f64 {
        percent(lost(vcpu), self.explanation.elapsed)
    }

    /// The vcpus, those first that matter most: those that block and are woken before those that
    /// always compute, those that hardly wait last; among them by the time that each lost.
    pub fn ranked(&self) -> Vec<&'a VcpuWaits> {
        let mut ranked: Vec<&VcpuWaits> = self.explanation.vcpus.iter().collect();
        ranked.sort_by_key(|v| (self.concern(v), u64::MAX - lost(v), v.name));
        ranked
    }

    /// The worst waits, a sentence or a few for each of up to three vcpus, and the causes that they
    /// explain. Vcpus that hardly wait are named only where nobody waits for longer.
    pub fn worst(&self) -> (Vec<String>, Vec<Why>) {
        let ranked = self.ranked();
        let lost = ranked.into_iter().filter(|vcpu| !vcpu.lost().is_empty());
        let lost: Vec<&VcpuWaits> = lost.take(SENTENCES).collect();
        let matters = |vcpu: &&VcpuWaits| self.concern(vcpu) != Concern::None;
        let some_matter = lost.iter().any(matters);
        let (mut said, mut explained) = (Vec::new(), Vec::new());
        for vcpu in lost {
            if some_matter && !matters(&vcpu) {
                break;
            }
            said.push(self.sentences(vcpu, &mut explained));
        }
        (said, explained)
    }

    /// What is to be said of one vcpu. Causes are explained, with their cures, where they are named
    /// first.
    fn sentences(&self, vcpu: &VcpuWaits, explained: &mut Vec<Why>) -> String {
        let whole = self.explanation.elapsed;
        let name = self.vcpu(vcpu.name);
        let of_all = |time| written::short(percent(time, whole));
        let (waited, parked) = (vcpu.runnable(), vcpu.parked);
        let lost = vcpu.lost();
        let is_disk = lost.first().is_some_and(|(why, _)| *why == Why::Disk);
        let mut said = match (waited > 0, parked > 0) {
            _ if is_disk => {
                let of_disk = of_all(vcpu.disk);
                let said = format!("{name} waited for a disk {of_disk} % of the time");
                match waited {
                    0 => said,
                    _ => said + &format!(", and for a CPU {} %", of_all(waited)),
                }
            }
            (true, true) => format!(
                "{name} was parked {} % of the time, and waited {} %",
                of_all(parked),
                of_all(waited)
            ),
            (false, _) => format!("{name} was parked {} % of the time", of_all(parked)),
            (true, false) => format!("{name} waited {} % of the time", of_all(waited)),
        };
        let length = |ns: u64| written::scaled(ns as f64, None, "ns");
        // Of waits beyond the longest of all it is not known when they were.
        let some = || match vcpu.longest {
            0 => String::new(),
            ns => format!(" (up to {})", length(ns)),
        };
        said += &self.longest_of(vcpu).map_or_else(some, |wait| {
            let length = length(wait.length);
            let how = if wait.woken { " after a wake-up" } else { "" };
            let run = match self.of_several() {
                true => format!(" of run {}", wait.run + 1),
                false => String::new(),
            };
            format!(" (up to {length}{how}, at {} s{run})", self.moment(wait))
        });
        let Some(&(why, time)) = lost.first() else {
            return said + ".";
        };
        // That a parked vcpu is parked has been said. Whatever holds it back, it is not a vcpu.
        let is_held = matches!(why, Why::Parked | Why::OwnGroup | Why::Budget | Why::Disk);
        if !matches!(why, Why::Parked | Why::Disk) {
            let part = percent(time, waited + parked);
            said += &format!(", {part:.0} % of it for \"{}\"", why.name());
        }
        if let Some((whom, time)) = self.mostly_behind(vcpu).filter(|_| !is_held) {
            said += &format!(
                ", mostly behind {} ({:.0} %)",
                self.vcpu(whom),
                percent(time, waited)
            );
        }
        said += ".";
        if !explained.contains(&why) {
            explained.push(why);
            said += &format!(
                " {}: {}.",
                capitalised(why.name()),
                why.meaning(self.explanation.tells.policy)
            );
            if let Some(cure) = why.cure(self.explanation.tells.policy) {
                // Commands of a Linux host name the guest.
                let guest = self.domain(vcpu.name.domain);
                let guest = guest.split(':').next().unwrap_or_default();
                said += &format!(" Try: {}.", cure.replace("GUEST", guest));
            }
        }
        let idled = percent(vcpu.idle_elsewhere, whole);
        if idled >= FELT_PERCENT {
            said += &format!(
                " For {} % of the time another pcpu idled meanwhile: look at pins and caps.",
                written::short(idled)
            );
        }
        said
    }

    /// The longest wait that is known of the vcpu: after a wake-up where it blocks, or else any.
    fn longest_of(&self, vcpu: &VcpuWaits) -> Option<&'a LongWait> {
        let of = |waits: &'a [LongWait]| {
            let own = |wait: &&LongWait| wait.vcpu == vcpu.name && wait.length > 0;
            waits.iter().find(own)
        };
        let woken = of(&self.explanation.worst_woken).filter(|_| !vcpu.always_computes());
        woken.or_else(|| of(&self.explanation.worst))
    }

    /// Seconds from the first instant that counts to the begin of a wait, to the millisecond.
    fn moment(&self, wait: &LongWait) -> String {
        let begin = wait.begin.saturating_since(self.explanation.start);
        format!("{:.3}", begin.as_nanos() as f64 / 1e9)
    }

    /// Who ran for most of the time for which the vcpu waited; `None` where that was nobody.
    fn mostly_behind(&self, vcpu: &VcpuWaits) -> Option<(VcpuName, u64)> {
        let behind = vcpu.behind().into_iter().filter(|(_, time)| *time > 0);
        let most = behind.max_by_key(|(whom, time)| (*time, std::cmp::Reverse(*whom)));
        most.and_then(|(whom, time)| Some((whom?, time)))
    }

    /// The vcpus in the order of [`Explained::ranked`], each in a line of its own where there are
    /// `rows` at most; else those are in one line that matter as much, and whose domains' names are
    /// alike ([`NumberedName`]). A line is where its first vcpu would be.
    pub fn lines(&self, rows: usize) -> Vec<VcpuLine> {
        let ranked = self.ranked();
        let mut groups: Vec<Vec<&VcpuWaits>> = Vec::new();
        let folds = ranked.len() > rows;
        for vcpu in ranked {
            let name = self.domain(vcpu.name.domain);
            let alike = |group: &&mut Vec<&VcpuWaits>| {
                let first = group[0];
                let of_first = self.domain(first.name.domain);
                NumberedName::of(&of_first).is_like(NumberedName::of(&name))
                    && self.concern(first) == self.concern(vcpu)
            };
            match groups.iter_mut().find(|group| folds && alike(group)) {
                Some(group) => group.push(vcpu),
                None => groups.push(vec![vcpu]),
            }
        }
        groups.iter().map(|group| self.line(group)).collect()
    }

    /// The line of `vcpus`, of which there is one at least.
    fn line(&self, vcpus: &[&VcpuWaits]) -> VcpuLine {
        let mut sums = vcpus[0].clone();
        vcpus[1..].iter().for_each(|vcpu| sums.merge(vcpu));
        if vcpus.len() == 1 {
            let name = self.vcpu(sums.name);
            return VcpuLine {
                name,
                count: 1,
                sums,
            };
        }
        let mut domains: Vec<DomainId> = vcpus.iter().map(|vcpu| vcpu.name.domain).collect();
        domains.sort_unstable();
        domains.dedup();
        let domains: Vec<String> = domains.iter().map(|id| self.domain(*id)).collect();
        let domains: Vec<&str> = domains.iter().map(String::as_str).collect();
        VcpuLine {
            name: NumberedName::all(&domains),
            count: vcpus.len() as u64,
            sums,
        }
    }

    /// What the vcpus of the first `rows` lines did ([`Explained::lines`]): how long each ran and
    /// waited, its largest cause, with `second` the next one, and behind whom it mostly waited.
    /// Lines of several vcpus have the mean of each, and the longest wait of all. Columns of what
    /// no vcpu has are left out.
    pub fn overview(&self, rows: usize, second: bool) -> Table {
        let whole = self.explanation.elapsed;
        let ranked = self.ranked();
        let lines = self.lines(rows);
        let shown = || lines.iter().take(rows);
        let mut columns = vec![tables::name("vcpu"), share("runs"), share("waits")];
        let any = |time: fn(&VcpuWaits) -> u64| ranked.iter().any(|vcpu| time(vcpu) > 0);
        // Sleep in state D, of which requests say what was for a disk.
        let asleep = |vcpu: &VcpuWaits| vcpu.uninterruptible.saturating_sub(vcpu.disk);
        let (any_parked, any_disk) = (any(|vcpu| vcpu.parked), any(|vcpu| vcpu.disk));
        let any_asleep = ranked.iter().any(|vcpu| asleep(vcpu) > 0);
        let any_unknown = any(|vcpu| vcpu.unknown);
        columns.extend(any_parked.then(|| share("parked")));
        columns.extend(any_disk.then(|| share("disk")));
        let others = if any_disk {
            "lock, other"
        } else {
            "disk, lock"
        };
        columns.extend(any_asleep.then(|| share(others)));
        columns.extend(any_unknown.then(|| share("unknown")));
        columns.push(tables::number("longest", "ns").of(Holds::Whole));
        columns.push(tables::name("largest cause"));
        columns.extend(second.then(|| tables::name("second cause")));
        columns.push(tables::name("mostly behind"));
        let mut table = Table::new("", columns);
        for VcpuLine {
            name,
            count,
            sums: vcpu,
        } in shown()
        {
            let part = |time: u64| Cell::Number(percent(time, whole.saturating_mul(*count)));
            let lost = vcpu.lost();
            let all: u64 = lost.iter().map(|(_, time)| time).sum();
            let cause = |nth: usize| {
                let cause = lost.get(nth);
                let said = |(why, time): &(Why, u64)| with_percent(why.name(), *time, all);
                Cell::text(cause.map_or_else(|| "-".to_owned(), said))
            };
            let behind = self.mostly_behind(vcpu);
            let behind = behind.map(|(whom, time)| {
                let whom = self.vcpu(whom);
                with_percent(&whom, time, vcpu.runnable())
            });
            let mut row = vec![
                name.clone().into(),
                part(vcpu.running),
                part(vcpu.runnable()),
            ];
            row.extend(any_parked.then(|| part(vcpu.parked)));
            row.extend(any_disk.then(|| part(vcpu.disk)));
            row.extend(any_asleep.then(|| part(asleep(vcpu))));
            row.extend(any_unknown.then(|| part(vcpu.unknown)));
            row.push((vcpu.waits > 0).then_some(vcpu.longest).into());
            row.push(cause(0));
            row.extend(second.then(|| cause(1)));
            row.push(Cell::text(behind.unwrap_or_else(|| "-".to_owned())));
            table.row(row);
        }
        table
    }

    /// The largest causes of the first `rows` vcpus of [`Explained::overview`], each once, by the
    /// time that all vcpus lost for them.
    pub fn overview_causes(&self, rows: usize, second: bool) -> Vec<Why> {
        let shown = self.lines(rows).into_iter().take(rows);
        let named: Vec<Why> = shown
            .flat_map(|line| line.sums.lost().into_iter().take(1 + usize::from(second)))
            .map(|(why, _)| why)
            .collect();
        let all = self.explanation.lost().into_iter().map(|(why, _)| why);
        all.filter(|why| named.contains(why)).collect()
    }
}

/// Time that the vcpu waited for a pcpu or a disk, or was parked.
fn lost(vcpu: &VcpuWaits) -> u64 {
    vcpu.runnable() + vcpu.parked + vcpu.disk
}

/// A name with the part of `all` that it has.
fn with_percent(name: &str, time: u64, all: u64) -> String {
    match percent(time, all) {
        part if part < 0.5 => format!("{name} <1 %"),
        part => format!("{name} {part:.0} %"),
    }
}
