//! Behind whom vcpus waited, and why.

use super::Explained;
use super::shares::{Behind, Shares, percent};
use crate::written;
use domio_meter::{VcpuWaits, Why};
use std::collections::BTreeMap;

/// Most vcpus that get a sentence.
const VERDICTS_MAX: usize = 8;

impl Explained<'_> {
    /// Causes for which somebody waited.
    fn found(&self) -> Vec<Why> {
        let mut sums: BTreeMap<Why, u64> = BTreeMap::new();
        for ((_, why), time) in self.explanation.vcpus.iter().flat_map(|v| &v.times) {
            *sums.entry(*why).or_default() += time;
        }
        Why::ALL
            .into_iter()
            .filter(|why| sums.get(why).is_some_and(|t| *t > 0))
            .collect()
    }

    /// By vcpu the time that it was runnable, by cause, in percent of the measured time.
    pub fn causes(&self) -> Shares {
        let found = self.found();
        let whole = self.explanation.elapsed;
        let row = |vcpu: &VcpuWaits| {
            let by_cause = vcpu.by_cause();
            let part = |why: &Why| percent(by_cause.get(why).copied().unwrap_or(0), whole);
            (self.vcpu(vcpu.name), found.iter().map(part).collect())
        };
        Shares {
            parts: found.iter().map(|why| why.name().to_owned()).collect(),
            rows: self.explanation.vcpus.iter().map(row).collect(),
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
        let tells = self.explanation.tells;
        let named = |why: &Why| !matches!(why, Why::Woken | Why::Displaced | Why::Before);
        let absent = Why::ALL.into_iter().filter(|why| !found.contains(why));
        let (told, untold): (Vec<Why>, Vec<Why>) =
            absent.filter(named).partition(|why| tells.told(*why));
        let untold = untold.into_iter().filter(|why| tells.possible(*why));
        (
            told.into_iter().map(Why::name).collect(),
            untold.map(Why::name).collect(),
        )
    }

    /// The same, a sentence each.
    pub fn absences(&self) -> Vec<String> {
        let (none, untold) = self.absent();
        let lists = [("For nobody", none), ("Not told", untold)];
        let filled = lists.into_iter().filter(|(_, causes)| !causes.is_empty());
        filled
            .map(|(title, causes)| format!("{title}: {}.", causes.join(", ")))
            .collect()
    }

    /// By vcpu the time that it was runnable, by who ran meanwhile, in percent of the
    /// measured time.
    pub fn behind(&self) -> Shares {
        let whole = self.explanation.elapsed;
        let row = |vcpu: &VcpuWaits| Behind {
            name: self.vcpu(vcpu.name),
            times: vcpu.behind(),
            whole,
        };
        let rows = self.explanation.vcpus.iter().map(row).collect();
        Shares::behind(rows, |whom| self.vcpu(whom))
    }

    /// What those waited for that waited most, one sentence each.
    pub fn verdicts(&self) -> Vec<String> {
        let whole = self.explanation.elapsed;
        let share = |v: &VcpuWaits| percent(v.runnable(), whole);
        let waited = self.explanation.vcpus.iter().filter(|v| v.runnable() > 0);
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
            let part = |time| written::short(percent(time, vcpu.runnable()));
            let behind = vcpu.behind().into_iter();
            let (whom, behind) = largest(behind.map(|(w, t)| (self.whom(w), t)).collect());
            let causes = vcpu.by_cause().into_iter();
            let (why, cause) = largest(causes.map(|(w, t)| (w.name().to_owned(), t)).collect());
            format!(
                "{} waited {} % of the time: {} % of that behind {whom}, {} % for \"{why}\".",
                self.vcpu(vcpu.name),
                written::short(share(vcpu)),
                part(behind),
                part(cause)
            )
        };
        waited.into_iter().map(verdict).collect()
    }

    /// Time for which a vcpu was off its pcpu by a cap, of those that were.
    pub fn parked(&self) -> Vec<String> {
        let parked = self.explanation.vcpus.iter().filter(|v| v.parked > 0);
        let whole = self.explanation.elapsed;
        let told = |v: &VcpuWaits| {
            format!(
                "{} was put to sleep while it ran, as by a cap, for {} % of the time. It was not \
                 runnable then; no wait holds that time.",
                self.vcpu(v.name),
                written::short(percent(v.parked, whole))
            )
        };
        parked.map(told).collect()
    }

    /// Who was runnable while another pcpu idled.
    pub fn idled(&self) -> Vec<String> {
        let idled = self
            .explanation
            .vcpus
            .iter()
            .filter(|v| v.idle_elsewhere > 0);
        let whole = self.explanation.elapsed;
        let told = |v: &VcpuWaits| {
            format!(
                "{} waited behind others for {} % of the time while another pcpu idled.",
                self.vcpu(v.name),
                written::short(percent(v.idle_elsewhere, whole))
            )
        };
        idled.map(told).collect()
    }
}
