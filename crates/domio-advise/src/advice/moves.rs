//! Moves: what to try next, those first that answer the causes of waits.

use super::levers::{Host, Lever, Settings, Value};
use domio_core::{DomainId, ParamKind};
use domio_meter::{Explanation, VcpuWaits, Why};
use std::collections::{BTreeMap, BTreeSet};

/// Guests for which moves are made, the worst off first.
const VICTIMS: usize = 3;
/// Guests that others wait for, for which moves are made.
const CULPRITS: usize = 3;

/// Kinds of moves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Family {
    Weight,
    Limit,
    Slice,
    RateLimit,
    Pin,
    Reservation,
    Vcpus,
}

/// What helps against waits of a cause: the cures that `explain` names.
fn answers(why: Why) -> &'static [Family] {
    match why {
        Why::RateLimit => &[Family::RateLimit],
        Why::NotTickled | Why::PassedOver | Why::OverCredit => {
            &[Family::Weight, Family::Limit, Family::Pin]
        }
        Why::SliceOver => &[Family::Slice, Family::Weight, Family::Pin],
        Why::Queued => &[Family::Slice, Family::Weight, Family::Pin],
        Why::BoostAhead | Why::Preempted | Why::Displaced => {
            &[Family::Weight, Family::Pin, Family::RateLimit]
        }
        Why::Cap | Why::Parked | Why::OwnGroup | Why::Throttled => &[Family::Limit],
        Why::Budget => &[Family::Reservation],
        Why::Affinity | Why::IdleElsewhere => &[Family::Pin],
        Why::Dispatching => &[Family::Pin, Family::Weight, Family::Vcpus],
        Why::Pass
        | Why::Woken
        | Why::Yielded
        | Why::Released
        | Why::Before
        | Why::HigherClass
        | Why::Interrupts
        | Why::Disk => &[],
    }
}

/// What the explanation says of domains.
pub(super) struct Waits {
    /// Domains that block, by their places: some of their vcpus do not always compute.
    pub blocking: BTreeSet<usize>,
    /// Part of the time that a vcpu of each domain lost on average (%).
    pub lost_pct: BTreeMap<usize, f64>,
    /// Time that each domain lost, by cause, the largest first.
    pub lost: BTreeMap<usize, Vec<(Why, u64)>>,
    /// Time that each domain waited behind others.
    pub behind: BTreeMap<usize, BTreeMap<usize, u64>>,
}

impl Waits {
    /// Those of `explanation`.
    pub fn of(host: &Host, explanation: &Explanation) -> Waits {
        let place = |id: DomainId| host.guests.iter().position(|guest| guest.id == id.0);
        let mut waits = Waits {
            blocking: BTreeSet::new(),
            lost_pct: BTreeMap::new(),
            lost: BTreeMap::new(),
            behind: BTreeMap::new(),
        };
        let mut lost: BTreeMap<usize, BTreeMap<Why, u64>> = BTreeMap::new();
        for vcpu in &explanation.vcpus {
            let Some(at) = place(vcpu.name.domain) else {
                continue;
            };
            if works(vcpu) && !vcpu.always_computes() {
                waits.blocking.insert(at);
            }
            let vcpus = host.guests[at].vcpus() as f64;
            for (why, time) in vcpu.lost() {
                let part = 100.0 * time as f64 / (vcpu.seen.max(1) as f64 * vcpus);
                *waits.lost_pct.entry(at).or_default() += part;
                *lost.entry(at).or_default().entry(why).or_default() += time;
            }
            // Pins are the answer to waits while other pcpus idle, whatever the wait is called.
            let idled = lost
                .entry(at)
                .or_default()
                .entry(Why::IdleElsewhere)
                .or_default();
            *idled += vcpu.idle_elsewhere;
            for (whom, time) in vcpu.behind() {
                let whom = whom.and_then(|name| place(name.domain));
                if let Some(whom) = whom.filter(|whom| *whom != at) {
                    let behind = waits.behind.entry(at).or_default();
                    *behind.entry(whom).or_default() += time;
                }
            }
        }
        for (at, causes) in lost {
            let mut causes: Vec<(Why, u64)> = causes.into_iter().collect();
            causes.retain(|(_, time)| *time > 0);
            causes.sort_by_key(|(why, time)| (u64::MAX - time, *why));
            waits.lost.insert(at, causes);
        }
        waits
    }

    /// The domains that others wait for, those of `victims` themselves left out, the worst first.
    fn culprits(&self, victims: &[usize]) -> Vec<usize> {
        let mut sums: BTreeMap<usize, u64> = BTreeMap::new();
        for behind in victims.iter().filter_map(|at| self.behind.get(at)) {
            for (whom, time) in behind.iter().filter(|(whom, _)| !victims.contains(whom)) {
                *sums.entry(*whom).or_default() += time;
            }
        }
        let mut all: Vec<(usize, u64)> = sums.into_iter().collect();
        all.sort_by_key(|(at, time)| (u64::MAX - time, *at));
        all.into_iter().map(|(at, _)| at).collect()
    }

    /// Kinds of moves by the time that they answer, and the others behind them.
    fn families(&self, victims: &[usize]) -> Vec<Family> {
        let mut worth: BTreeMap<Family, u64> = BTreeMap::new();
        for (why, time) in victims.iter().filter_map(|at| self.lost.get(at)).flatten() {
            for family in answers(*why) {
                *worth.entry(*family).or_default() += time;
            }
        }
        let all = [
            Family::Weight,
            Family::Limit,
            Family::Slice,
            Family::RateLimit,
            Family::Pin,
            Family::Reservation,
            Family::Vcpus,
        ];
        let mut all = all.to_vec();
        all.sort_by_key(|family| u64::MAX - worth.get(family).copied().unwrap_or(0));
        all
    }
}

/// Whether a vcpu does anything, beyond what its kernel does by itself.
fn works(vcpu: &VcpuWaits) -> bool {
    let wanted = vcpu.running + vcpu.runnable() + vcpu.parked;
    1_000 * u128::from(wanted) >= u128::from(vcpu.seen)
}

/// A host under settings from which moves start.
pub(super) struct Start<'s> {
    pub host: &'s Host,
    /// Its settings.
    pub settings: &'s Settings,
    /// Domains in question by their figure, the worst first.
    pub victims: &'s [usize],
    /// Why they wait.
    pub waits: &'s Waits,
    /// Share of each domain (% of one pcpu).
    pub shares: &'s [f64],
}

impl Start<'_> {
    /// All moves from here: whole settings, the most promising first, each once.
    pub fn moves(&self) -> Vec<Settings> {
        let victims: Vec<usize> = self.victims.iter().copied().take(VICTIMS).collect();
        let culprits = self.waits.culprits(&victims);
        let culprits: Vec<usize> = culprits.into_iter().take(CULPRITS).collect();
        let mut ours = self.groups(&victims);
        ours.extend((self.victims.len() > 1).then(|| self.victims.to_vec()));
        let mut theirs = self.groups(&culprits);
        theirs.extend((culprits.len() > 1).then(|| culprits.clone()));
        let families = self.waits.families(&victims);
        let mut by_family: Vec<Vec<Settings>> = Vec::new();
        for family in families {
            by_family.push(match family {
                Family::Weight => self.weights(&ours, &theirs),
                Family::Limit => self.limits(&ours, &theirs),
                Family::Slice => self.slices(&ours),
                Family::RateLimit => self.rate_limits(),
                Family::Pin => self.pins(&ours, &theirs),
                Family::Reservation => self.reservations(&ours, &theirs),
                Family::Vcpus => self.vcpus(),
            });
        }
        let mut seen = BTreeSet::new();
        let all = by_family.into_iter().flatten();
        all.filter(|settings| settings != self.settings && seen.insert(settings.clone()))
            .collect()
    }

    /// Domains, each with those that are like it, and alone where others are.
    fn groups(&self, of: &[usize]) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for at in of {
            let guests = self.host.guests.iter().enumerate();
            let like = guests
                .filter(|(other, guest)| other == at || guest.is_like(&self.host.guests[*at]));
            let group: Vec<usize> = like.map(|(other, _)| other).collect();
            if group.len() > 1 && !groups.contains(&group) {
                groups.push(group);
            }
            if !groups.contains(&vec![*at]) {
                groups.push(vec![*at]);
            }
        }
        groups
    }

    /// The settings with these values; `None` where a lever does not exist or a value is not
    /// allowed.
    fn with(&self, values: impl IntoIterator<Item = (Lever, Value)>) -> Option<Settings> {
        let mut settings = self.settings.clone();
        for (lever, value) in values {
            if let (Some(n), Some(spec)) = (value.number(), self.host.spec(lever))
                && !spec.allows(n)
            {
                return None;
            }
            self.host.own(lever)?;
            self.host.with(&mut settings, lever, value);
        }
        Some(settings)
    }

    fn number(&self, lever: Lever) -> Option<i64> {
        self.host.number(self.settings, lever)
    }

    fn has(&self, param: &'static str) -> bool {
        self.host.spec(Lever::Domain(0, param)).is_some()
    }

    /// The parameter of all of `group`, with what `of` makes of its value; within its range.
    fn each(
        &self,
        group: &[usize],
        param: &'static str,
        of: impl Fn(i64) -> Option<i64>,
    ) -> Option<Settings> {
        let values = group.iter().map(|at| {
            let lever = Lever::Domain(*at, param);
            let spec = self.host.spec(lever)?;
            let n = of(self.number(lever)?)?;
            let n = match spec.kind {
                ParamKind::Int { min, max, or_zero } if !(or_zero && n == 0) => n.clamp(min, max),
                _ => n,
            };
            Some((lever, Value::Number(n)))
        });
        self.with(values.collect::<Option<Vec<_>>>()?)
    }

    /// More weight for those in question, less for those that they wait for.
    fn weights(&self, ours: &[Vec<usize>], theirs: &[Vec<usize>]) -> Vec<Settings> {
        if !self.has("weight") || self.host.policy.name == "sedf" {
            return Vec::new();
        }
        let mut moves = Vec::new();
        for times in [2, 4, 8, 16, 64] {
            for group in ours {
                moves.extend(self.each(group, "weight", |now| Some(now * times)));
            }
        }
        for part in [2, 4, 8] {
            for group in theirs {
                moves.extend(self.each(group, "weight", |now| Some((now / part).max(1))));
            }
        }
        moves
    }

    /// Larger limits for those in question, and limits for those that they wait for.
    fn limits(&self, ours: &[Vec<usize>], theirs: &[Vec<usize>]) -> Vec<Settings> {
        let mut moves = Vec::new();
        for group in ours {
            // Percent of what a limit is now; 0 for none.
            for percent in [125, 150, 200, 0] {
                for param in [
                    "cap",
                    "quota_us",
                    "vcpu_quota_us",
                    "emulator_quota_us",
                    "iothread_quota_us",
                ] {
                    let limited = |now: i64| (now > 0).then_some(now * percent / 100);
                    moves.extend(self.each(group, param, limited));
                }
            }
            moves.extend(self.periods(group));
        }
        let quotas = self.has("quota_us");
        if !quotas && !self.has("cap") {
            return moves;
        }
        for group in theirs {
            for percent in [75, 50, 25, 90] {
                let values = group.iter().map(|at| {
                    // In steps of five percent of a pcpu.
                    let share = self.shares[*at] * f64::from(percent) / 100.0;
                    let cap = ((share / 5.0).round() as i64 * 5).max(5);
                    // Linux has a cap or a quota, and not both.
                    let capped = self.number(Lever::Domain(*at, "cap"));
                    if !quotas || capped.is_some_and(|cap| cap > 0) {
                        return Some((Lever::Domain(*at, "cap"), Value::Number(cap)));
                    }
                    let period = self.number(Lever::Domain(*at, "period_us"))?;
                    let quota = (period * cap / 100).max(1_000);
                    Some((Lever::Domain(*at, "quota_us"), Value::Number(quota)))
                });
                let values: Option<Vec<(Lever, Value)>> = values.collect();
                moves.extend(values.and_then(|values| self.with(values)));
            }
        }
        moves
    }

    /// The same quota in shorter periods, and savings for bursts.
    fn periods(&self, group: &[usize]) -> Vec<Settings> {
        if !self.has("quota_us") {
            return Vec::new();
        }
        let both = |part: i64| {
            let values = group.iter().map(|at| {
                let quota = self.number(Lever::Domain(*at, "quota_us"))?;
                let period = self.number(Lever::Domain(*at, "period_us"))?;
                (quota > 0).then_some([
                    (Lever::Domain(*at, "quota_us"), Value::Number(quota / part)),
                    (
                        Lever::Domain(*at, "period_us"),
                        Value::Number(period / part),
                    ),
                ])
            });
            let values: Option<Vec<_>> = values.collect();
            values.and_then(|values| self.with(values.into_iter().flatten()))
        };
        let mut moves: Vec<Settings> = [2, 5, 10].into_iter().filter_map(both).collect();
        let bursts = group.iter().map(|at| {
            let quota = self.number(Lever::Domain(*at, "quota_us"))?;
            (quota > 0).then_some((Lever::Domain(*at, "burst_us"), Value::Number(quota)))
        });
        let bursts: Option<Vec<(Lever, Value)>> = bursts.collect();
        moves.extend(bursts.and_then(|values| self.with(values)));
        moves
    }

    /// One parameter of the scheduler at each of `values`.
    fn scheduler(&self, param: &'static str, values: &[i64]) -> Vec<Settings> {
        let value = |n: &i64| self.with([(Lever::Scheduler(param), Value::Number(*n))]);
        values.iter().filter_map(value).collect()
    }

    /// Slices and what decides how long one is.
    fn slices(&self, ours: &[Vec<usize>]) -> Vec<Settings> {
        const MS: i64 = 1_000_000;
        let mut moves = Vec::new();
        for us in [200, 500, 1_000, 100] {
            // Only EEVDF heeds it.
            if self.host.policy.name == "eevdf" {
                let groups = ours.iter();
                moves.extend(groups.filter_map(|group| self.each(group, "slice_us", |_| Some(us))));
            }
        }
        moves.extend(self.scheduler("tslice_ms", &[1, 2, 5, 10, 20, 30]));
        moves.extend(self.scheduler("base_slice_ns", &[MS / 2, MS, 2 * MS, 4 * MS, 8 * MS]));
        moves.extend(self.scheduler("wakeup_granularity_ns", &[MS / 2, MS, 2 * MS, 8 * MS]));
        moves.extend(self.scheduler("min_granularity_ns", &[MS / 2, MS, 2 * MS, 8 * MS]));
        moves.extend(self.scheduler("sched_latency_ns", &[3 * MS, 6 * MS, 12 * MS, 48 * MS]));
        moves.extend(self.scheduler("run_to_parity", &[0, 1]));
        moves.extend(self.scheduler("bandwidth_slice_us", &[1_000, 2_000, 10_000]));
        moves
    }

    fn rate_limits(&self) -> Vec<Settings> {
        self.scheduler("ratelimit_us", &[0, 100, 500, 1_000, 2_000, 5_000])
    }

    /// Pins of all vcpus of `group`.
    fn pinned(&self, group: &[usize], set: &[u16]) -> Vec<(Lever, Value)> {
        let pin = |at: &usize| {
            let vcpus = self.host.vcpus(self.settings, *at);
            (Lever::Pin(*at), Value::Pcpus(vec![set.to_vec(); vcpus]))
        };
        group.iter().map(pin).collect()
    }

    /// Wider pins, pcpus of their own for those in question, and fewer pcpus for the others.
    fn pins(&self, ours: &[Vec<usize>], theirs: &[Vec<usize>]) -> Vec<Settings> {
        let pcpus = self.host.pcpus;
        if pcpus < 2 {
            return Vec::new();
        }
        let all: Vec<u16> = (0..pcpus).collect();
        let everybody: Vec<usize> = (0..self.host.guests.len()).collect();
        let narrow = |at: &usize| {
            let now = self.host.now(self.settings, Lever::Pin(*at));
            let full = usize::from(pcpus);
            matches!(now, Some(Value::Pcpus(sets)) if sets.iter().any(|set| set.len() < full))
        };
        let mut moves = Vec::new();
        for group in ours.iter().chain(theirs).chain([&everybody]) {
            let group: Vec<usize> = group.iter().copied().filter(narrow).collect();
            if !group.is_empty() {
                moves.extend(self.with(self.pinned(&group, &all)));
            }
        }
        for group in ours.iter().filter(|group| group.len() < everybody.len()) {
            let vcpus: usize = group
                .iter()
                .map(|at| self.host.vcpus(self.settings, *at))
                .sum();
            let widths = BTreeSet::from([1, vcpus.div_ceil(2), vcpus]);
            for width in widths
                .into_iter()
                .filter(|n| (1..usize::from(pcpus)).contains(n))
            {
                let (rest, own) = all.split_at(all.len() - width);
                let others = everybody.iter().copied().filter(|at| !group.contains(at));
                let others: Vec<usize> = others.collect();
                let mut values = self.pinned(group, own);
                values.extend(self.pinned(&others, rest));
                moves.extend(self.with(values));
            }
        }
        for group in theirs {
            for less in [1, pcpus / 2, pcpus - 1] {
                if less > 0 {
                    moves.extend(self.with(self.pinned(group, &all[usize::from(less)..])));
                }
            }
        }
        moves
    }

    /// Larger reservations and shorter periods, or extra time.
    fn reservations(&self, ours: &[Vec<usize>], theirs: &[Vec<usize>]) -> Vec<Settings> {
        let time = match self.host.policy.name {
            "rtds" => "budget_us",
            "sedf" => "slice_us",
            _ => return Vec::new(),
        };
        let of = |at: usize| Lever::Domain(at, time);
        let period = |at: usize| Lever::Domain(at, "period_us");
        // Reservations in percent of what they are, in periods of one of so many parts.
        let scaled = |group: &[usize], percent: i64, part: i64| {
            let values = group.iter().map(|at| {
                let (budget, whole) = (self.number(of(*at))?, self.number(period(*at))?);
                let budget = (budget * percent / 100).min(whole) / part;
                (budget > 0 && whole > 0).then_some([
                    (of(*at), Value::Number(budget)),
                    (period(*at), Value::Number(whole / part)),
                ])
            });
            let values: Option<Vec<_>> = values.collect();
            values.and_then(|values| self.with(values.into_iter().flatten()))
        };
        let mut moves = Vec::new();
        for group in ours {
            moves.extend(self.each(group, "extratime", |_| Some(1)));
            for (percent, part) in [(125, 1), (150, 1), (200, 1), (100, 2), (100, 4), (150, 2)] {
                moves.extend(scaled(group, percent, part));
            }
        }
        for group in theirs {
            moves.extend(scaled(group, 75, 1));
            moves.extend(scaled(group, 50, 1));
            moves.extend(self.each(group, "extratime", |_| Some(0)));
        }
        moves
    }

    /// Other numbers of vcpus for dom0.
    fn vcpus(&self) -> Vec<Settings> {
        let Some(dom0) = self.host.guests.iter().position(|guest| guest.id == 0) else {
            return Vec::new();
        };
        if self.host.is_linux() {
            return Vec::new();
        }
        let most = i64::from(self.host.pcpus);
        let numbers = [1, 2, 4, most].into_iter().filter(|n| *n <= most);
        let value = |n| self.with([(Lever::Vcpus(dom0), Value::Number(n))]);
        numbers.filter_map(value).collect()
    }
}
