//! Behind whom vcpus waited, and why.

use super::Explained;
use super::shares::{Behind, Shares, percent};
use domio_meter::{VcpuWaits, Why};

impl Explained<'_> {
    /// Causes for which vcpus lost time, the largest first.
    fn found(&self) -> Vec<Why> {
        let lost = self.explanation.lost().into_iter();
        lost.map(|(why, _)| why).collect()
    }

    /// By vcpu the time that it waited or was parked, by cause, the largest cause first, in percent
    /// of the measured time. Causes with hardly any of the time are one part.
    pub fn causes(&self) -> Shares {
        let found = self.found();
        let whole = self.explanation.elapsed;
        let row = |vcpu: &VcpuWaits| {
            let lost = vcpu.lost();
            let time = |why: &Why| lost.iter().find(|(other, _)| other == why);
            let part = |why: &Why| percent(time(why).map_or(0, |(_, time)| *time), whole);
            (self.vcpu(vcpu.name), found.iter().map(part).collect())
        };
        let shares = Shares {
            parts: found.iter().map(|why| why.name().to_owned()).collect(),
            rows: self.explanation.vcpus.iter().map(row).collect(),
        };
        shares.folded()
    }

    /// The causes for which vcpus lost time, with what each means and what to try.
    pub fn meanings(&self) -> Vec<(&'static str, &'static str, Option<&'static str>)> {
        let policy = self.explanation.tells.policy;
        let found = self.found().into_iter();
        found
            .map(|why| (why.name(), why.meaning(policy), why.cure(policy)))
            .collect()
    }

    /// Causes for which nobody waited, and those of which the trace tells nothing.
    pub fn absent(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let found = self.found();
        let tells = self.explanation.tells;
        let named =
            |why: &Why| !matches!(why, Why::Woken | Why::Displaced | Why::Before | Why::Parked);
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
        let lists = [("Not observed", none), ("Not recorded", untold)];
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
}
