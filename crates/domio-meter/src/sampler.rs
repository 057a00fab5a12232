//! What XenMon shows: the same few figures of every domain, once an interval.

use std::collections::{BTreeMap, VecDeque};

use domio_core::{DomainId, Duration, Instant, Kind, PcpuId, Record, Runstate, Sink, VcpuName};
use domio_trace::{GoingOn, Losses, Over, VCPUS_MAX};

/// Most intervals without a record that become samples of their own; a longer gap is one sample.
/// Keeps a damaged time from making samples without end.
const EMPTY_MAX: u64 = 1000;

/// One interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// First instant.
    pub start: Instant,
    /// First instant of the next interval.
    pub end: Instant,
    /// Records that Xen dropped, as told in this interval.
    pub lost_records: u64,
    /// By id, those that were seen up to now; the idle domain is one of them.
    pub domains: Vec<DomainSample>,
}

/// A domain in one interval: sums over its vcpus, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DomainSample {
    /// The domain.
    pub id: DomainId,
    /// On a pcpu.
    pub gotten: u64,
    /// Sum of the time slices that the policy gave when it put a vcpu on a pcpu; slices without a
    /// limit do not count.
    pub allocated: u64,
    /// Runnable without a pcpu.
    pub waited: u64,
    /// Blocked.
    pub blocked: u64,
    /// Paused or parked.
    pub offline: u64,
    /// Times that a vcpu was put on a pcpu.
    pub executions: u64,
    /// Times that a vcpu went from blocked to runnable.
    pub wakeups: u64,
}

impl Sample {
    /// Length of the interval in nanoseconds.
    pub fn length(&self) -> u64 {
        self.end.saturating_since(self.start).as_nanos()
    }
}

/// Cuts a trace into intervals: feed it every record, take samples as they come, and
/// [`Sampler::finish`] for the last one.
///
/// The first interval starts at the first runstate record. Unlike xenbaked, which closes a domain's
/// books only when something happens to it, states count up to the edge of the interval; unlike
/// XenMon's logs, a wake-up counts for its domain whichever pcpu recorded it.
#[derive(Debug)]
pub struct Sampler {
    interval: u64,
    start: Option<u64>,
    latest: u64,
    vcpus: BTreeMap<u32, Vcpu>,
    domains: BTreeMap<u16, DomainSample>,
    losses: Losses,
    going_on: GoingOn,
    lost_records: u64,
    ready: VecDeque<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Vcpu {
    state: Runstate,
    since: u64,
    pcpu: PcpuId,
    losses: u64,
    /// Whether more than records that it goes on has told of it.
    changed: bool,
}

impl Sampler {
    /// Intervals of `interval`.
    ///
    /// # Panics
    /// When `interval` is zero.
    pub fn new(interval: Duration) -> Self {
        assert!(!interval.is_zero(), "an interval of no time");
        Sampler {
            interval: interval.as_nanos(),
            start: None,
            latest: 0,
            vcpus: BTreeMap::new(),
            domains: BTreeMap::new(),
            losses: Losses::new(),
            going_on: GoingOn::new(),
            lost_records: 0,
            ready: VecDeque::new(),
        }
    }

    /// The next complete interval, when there is one. Samples wait here, so take them as you feed
    /// records.
    pub fn take(&mut self) -> Option<Sample> {
        self.ready.pop_front()
    }

    /// What is left: complete intervals that were not taken, and the last one up to the last
    /// record.
    pub fn finish(mut self) -> impl Iterator<Item = Sample> {
        if let Some(start) = self.start
            && self.latest > start
        {
            self.cut(start, self.latest);
        }
        self.ready.into_iter()
    }

    /// Ends intervals up to `at`.
    fn advance(&mut self, at: u64) {
        self.latest = self.latest.max(at);
        let Some(start) = &mut self.start else {
            self.start = Some(at);
            return;
        };
        let mut start = *start;
        let mut complete = at.saturating_sub(start) / self.interval;
        while complete > 0 {
            let intervals = if complete > EMPTY_MAX { complete } else { 1 };
            let end = start + intervals * self.interval;
            self.cut(start, end);
            start = end;
            complete -= intervals;
        }
        self.start = Some(start);
    }

    /// Closes all books at `end` and makes a sample.
    fn cut(&mut self, start: u64, end: u64) {
        for (word, vcpu) in &mut self.vcpus {
            let missed = self.losses.concerning(vcpu.state, vcpu.pcpu) != vcpu.losses;
            let length = end.saturating_sub(vcpu.since);
            vcpu.since = vcpu.since.max(end);
            if !missed {
                let id = VcpuName::from_word(*word).domain;
                let domain = self.domains.entry(id.0).or_default();
                domain.add(vcpu.state, length);
            }
        }
        let domains = self.domains.iter_mut().map(|(id, sums)| {
            let mut sample = std::mem::take(sums);
            sample.id = DomainId(*id);
            sample
        });
        self.ready.push_back(Sample {
            start: Instant::from_nanos(start),
            end: Instant::from_nanos(end),
            lost_records: std::mem::take(&mut self.lost_records),
            domains: domains.collect(),
        });
    }

    fn change(&mut self, at: u64, pcpu: PcpuId, name: VcpuName, old: Runstate, new: Runstate) {
        let word = name.word();
        if self.vcpus.len() >= VCPUS_MAX && !self.vcpus.contains_key(&word) {
            return;
        }
        let domain = self.domains.entry(name.domain.0).or_default();
        let losses = self.losses.concerning(new, pcpu);
        let next = Vcpu {
            state: new,
            since: at,
            pcpu,
            losses,
            changed: old != new || self.vcpus.get(&word).is_some_and(|vcpu| vcpu.changed),
        };
        if let Some(vcpu) = self.vcpus.insert(word, next) {
            let missed = self.losses.concerning(vcpu.state, vcpu.pcpu) != vcpu.losses;
            if vcpu.state == old && !missed {
                domain.add(old, at.saturating_sub(vcpu.since));
            }
        }
        domain.executions += u64::from(new == Runstate::Running && old != new);
        domain.wakeups += u64::from(old == Runstate::Blocked && new == Runstate::Runnable);
    }

    /// A run that only went on on the record's pcpu is over: since now, or since an unknown time
    /// before.
    fn displace(&mut self, record: &Record, over: Over) {
        let Some(left) = self.vcpus.get_mut(&over.vcpu.word()) else {
            return;
        };
        if left.changed || left.state != Runstate::Running || left.pcpu != record.pcpu {
            return;
        }
        let at = record.at.as_nanos();
        let missed = self.losses.concerning(left.state, left.pcpu) != left.losses;
        if over.now && !missed {
            let domain = self.domains.entry(over.vcpu.domain.0).or_default();
            domain.add(Runstate::Running, at.saturating_sub(left.since));
        }
        left.since = left.since.max(at);
        left.losses = Losses::UNSURE;
    }
}

impl DomainSample {
    fn add(&mut self, state: Runstate, length: u64) {
        let sum = match state {
            Runstate::Running => &mut self.gotten,
            Runstate::Runnable => &mut self.waited,
            Runstate::Blocked => &mut self.blocked,
            Runstate::Offline => &mut self.offline,
        };
        *sum = sum.saturating_add(length);
    }
}

impl Sink for Sampler {
    fn record(&mut self, record: &Record) {
        let at = record.at.as_nanos();
        let vcpus = &self.vcpus;
        let going = self.going_on.see(record, |vcpu| {
            let vcpu = vcpus.get(&vcpu.word());
            vcpu.is_none_or(|vcpu| !vcpu.changed)
        });
        let changes = match going.goes_on {
            // It runs, and may have no other record.
            true => [
                Some((record.vcpu, Runstate::Running, Runstate::Running)),
                None,
            ],
            false => record.changes(),
        };
        if changes[0].is_some() || self.start.is_some() {
            self.advance(at);
        }
        if going.goes_on
            && let Some(was) = self.vcpus.get_mut(&record.vcpu.word())
            && was.pcpu != record.pcpu
        {
            // It went on elsewhere before, and has left there without a record.
            was.losses = Losses::UNSURE;
        }
        if let Some(over) = going.over {
            self.displace(record, over);
        }
        for (vcpu, old, new) in changes.into_iter().flatten() {
            self.change(at, record.pcpu, vcpu, old, new);
        }
        let allocated = match record.kind {
            Kind::Switch => Some((VcpuName::from_word(record.data[0]), record.data[3])),
            Kind::InfNext => Some((record.vcpu, record.data[1])),
            Kind::Lost => {
                self.losses.add(record.pcpu);
                self.lost_records += u64::from(record.data[0]);
                None
            }
            _ => None,
        };
        if let Some((vcpu, slice)) = allocated.filter(|(_, slice)| *slice != u32::MAX)
            && let Some(domain) = self.domains.get_mut(&vcpu.domain.0)
        {
            domain.allocated += u64::from(slice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Runstate::{Blocked, Runnable, Running};

    fn change(ns: u64, domain: u16, old: Runstate, new: Runstate) -> Record {
        let v = VcpuName::new(DomainId(domain), 0);
        Record::runstate(Instant::from_nanos(ns), PcpuId(0), v, old, new)
    }

    fn samples(records: &[Record]) -> Vec<Sample> {
        let mut sampler = Sampler::new(Duration::from_nanos(100));
        for r in records {
            sampler.record(r);
        }
        sampler.finish().collect()
    }

    #[test]
    fn states_are_cut_at_the_edges() {
        let mut next = change(130, 1, Runnable, Running);
        next.kind = Kind::InfNext;
        next.data = [30, 30_000, 0, 0];
        let s = samples(&[
            change(100, 1, Blocked, Runnable),
            next,
            change(130, 1, Runnable, Running),
            change(350, 1, Running, Blocked),
            change(380, 2, Blocked, Runnable),
        ]);
        let seen: Vec<_> = s
            .iter()
            .map(|s| {
                let d = s.domains[0];
                (
                    s.start.as_nanos(),
                    s.length(),
                    d.gotten,
                    d.waited,
                    d.blocked,
                    d.executions,
                    d.allocated,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (100, 100, 70, 30, 0, 1, 30_000),
                (200, 100, 100, 0, 0, 0, 0),
                (300, 80, 50, 0, 30, 0, 0),
            ]
        );
        assert_eq!(s[0].domains[0].wakeups, 1);
    }

    #[test]
    fn a_long_gap_is_one_sample() {
        let s = samples(&[
            change(0, 1, Runnable, Running),
            change(u64::MAX, 1, Running, Blocked),
        ]);
        assert!(s.len() <= 1 + EMPTY_MAX as usize, "{}", s.len());
        let gotten: u64 = s.iter().map(|s| s.domains[0].gotten).sum();
        assert_eq!(gotten, u64::MAX);
    }

    #[test]
    fn samples_can_be_taken_as_they_come() {
        let mut sampler = Sampler::new(Duration::from_nanos(100));
        sampler.record(&change(0, 1, Runnable, Running));
        assert_eq!(sampler.take(), None);
        sampler.record(&change(250, 1, Running, Blocked));
        assert_eq!(sampler.take().unwrap().domains[0].gotten, 100);
        assert_eq!(sampler.take().unwrap().domains[0].gotten, 100);
        assert_eq!(sampler.take(), None);
        let last: Vec<Sample> = sampler.finish().collect();
        assert_eq!(last[0].domains[0].gotten, 50);
    }
}
