//! What was seen of each domain in each whole second of the measured time.

use domio_core::{Duration, Instant, Kind, Record, Runstate, WebStep};
use std::collections::BTreeMap;

/// A measure of each second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EachSecond {
    /// Answers of its web servers that were complete.
    Replies,
    /// Bytes of its network that reached an application.
    Rate,
    /// Time on processors.
    Share,
    /// Time of driver domains on its behalf.
    Driver,
}

impl EachSecond {
    /// All of them, with the names of the measures.
    pub const ALL: [(&'static str, EachSecond); 4] = [
        ("replies_each_s", EachSecond::Replies),
        ("rate_each_s_mbps", EachSecond::Rate),
        ("share_each_s_pct", EachSecond::Share),
        ("driver_each_s_pct", EachSecond::Driver),
    ];

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(n, _)| *n == name);
        found.map(|(_, measure)| *measure)
    }

    /// What a second's sum is in the measure's unit: replies, Mb/s, percent of one pcpu.
    fn value(self, sum: u64) -> f64 {
        let sum = sum as f64;
        match self {
            EachSecond::Replies => sum,
            EachSecond::Rate => sum * 8.0 / 1e6,
            EachSecond::Share | EachSecond::Driver => sum / 1e7,
        }
    }
}

/// Sums of each second, by domain.
#[derive(Clone, Debug, Default)]
pub(super) struct Seconds {
    begin: Instant,
    seconds: usize,
    /// By measure and domain id.
    sums: BTreeMap<(usize, u16), Vec<u64>>,
    /// Vcpus that run, and since when.
    running: BTreeMap<u32, Instant>,
}

impl Seconds {
    /// Of the time from `begin` to `end`; what is left of a second at the end does not count.
    pub fn new(begin: Instant, end: Instant) -> Self {
        let seconds = end.since(begin).as_nanos() / 1_000_000_000;
        Seconds {
            begin,
            seconds: usize::try_from(seconds).unwrap_or(usize::MAX),
            ..Seconds::default()
        }
    }

    /// Takes a record of the measured time.
    pub fn record(&mut self, record: &Record) {
        let domain = record.vcpu.domain.0;
        match record.kind {
            Kind::Web if record.web_step().is_some_and(|s| s.0 == WebStep::Replied) => {
                self.add(EachSecond::Replies, domain, record.at, 1);
            }
            Kind::NetDelivered => {
                let [_, _, low, high] = record.data;
                let bytes = u64::from(high) << 32 | u64::from(low);
                self.add(EachSecond::Rate, domain, record.at, bytes);
            }
            // Those at the begin tell of the time before.
            Kind::DriverWork if record.at > self.begin => {
                if let Some((owner, ns)) = record.done_for() {
                    self.add(EachSecond::Driver, owner.0, record.at, ns);
                }
            }
            Kind::Switch | Kind::RunstateChange => {
                for (vcpu, old, new) in record.changes().into_iter().flatten() {
                    let was = match old {
                        Runstate::Running => self.running.remove(&vcpu.word()),
                        _ => None,
                    };
                    if let Some(since) = was {
                        self.ran(vcpu.domain.0, since, record.at);
                    }
                    if new == Runstate::Running {
                        self.running.insert(vcpu.word(), record.at);
                    }
                }
            }
            _ => {}
        }
    }

    /// A vcpu of `domain` ran from `since` to `until`.
    fn ran(&mut self, domain: u16, mut since: Instant, until: Instant) {
        while since < until {
            let second = Duration::from_secs(1);
            let whole = since.saturating_since(self.begin).as_nanos() / second.as_nanos();
            let edge = self.begin + second * (whole + 1);
            let part = edge.min(until).since(since).as_nanos();
            self.add(EachSecond::Share, domain, since, part);
            since = edge.min(until);
        }
    }

    fn add(&mut self, measure: EachSecond, domain: u16, at: Instant, value: u64) {
        let second = at.saturating_since(self.begin).as_nanos() / 1_000_000_000;
        let seconds = self.seconds;
        let sums = self.sums.entry((measure as usize, domain));
        let sums = sums.or_insert_with(|| vec![0; seconds]);
        if let Some(sum) = usize::try_from(second).ok().and_then(|i| sums.get_mut(i)) {
            *sum += value;
        }
    }

    /// The measure of the domain with this id, one value a second.
    pub fn values(&self, measure: EachSecond, domain: u16) -> Vec<f64> {
        match self.sums.get(&(measure as usize, domain)) {
            Some(sums) => sums.iter().map(|sum| measure.value(*sum)).collect(),
            None => vec![0.0; self.seconds],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{DomainId, PcpuId, VcpuName};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn record(ms: u64, kind: Kind, detail: u8, value: u32) -> Record {
        let vcpu = VcpuName::new(DomainId(1), 0);
        let mut record = Record::new(at(ms), PcpuId(0), kind, vcpu);
        record.detail = detail;
        record.data[2] = value;
        record
    }

    /// From 1 s to 3.5 s: two whole seconds. A run over their edge is part of both.
    #[test]
    fn sums_belong_to_their_seconds() {
        let mut seconds = Seconds::new(at(1_000), at(3_500));
        let vcpu = VcpuName::new(DomainId(1), 0);
        let replied = WebStep::Replied as u8;
        for ms in [1_000, 1_999, 2_000, 3_100] {
            seconds.record(&record(ms, Kind::Web, replied, 7));
        }
        seconds.record(&record(1_500, Kind::Web, WebStep::TimedOut as u8, 7));
        seconds.record(&record(2_500, Kind::NetDelivered, 0, 1_000_000));
        let (from, to) = (Runstate::Runnable, Runstate::Running);
        let runs = Record::runstate(at(1_800), PcpuId(0), vcpu, from, to);
        seconds.record(&runs);
        let stops = Record::runstate(at(2_300), PcpuId(0), vcpu, to, from);
        seconds.record(&stops);
        for ms in [1_000, 1_001] {
            let work = Record::driver_work(at(ms), PcpuId(0), vcpu, DomainId(2), 50_000_000);
            seconds.record(&work);
        }
        assert_eq!(seconds.values(EachSecond::Replies, 1), [2.0, 1.0]);
        assert_eq!(seconds.values(EachSecond::Rate, 1), [0.0, 8.0]);
        assert_eq!(seconds.values(EachSecond::Share, 1), [20.0, 30.0]);
        assert_eq!(seconds.values(EachSecond::Driver, 2), [5.0, 0.0]);
        assert_eq!(seconds.values(EachSecond::Driver, 1), [0.0, 0.0]);
    }
}
