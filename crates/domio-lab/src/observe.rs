//! What pictures need of a trace: who does what in its first moments, and every length.

use domio_core::{DomainId, Duration, Instant, Record, Runstate, Sink};
use domio_trace::{Interval, Intervals};
use std::collections::BTreeMap;

/// Most lengths that are kept of a domain and a kind; the first ones.
pub const LENGTHS_MAX: usize = 1_000_000;

/// Watches a trace: feed it every record.
#[derive(Debug)]
pub struct Observer {
    intervals: Intervals,
    timeline: Duration,
    seen: Seen,
}

/// What an [`Observer`] saw.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    /// Time of the first record.
    pub begin: Option<Instant>,
    /// Stays in a runstate that began before the end of the timeline, in the order of their ends.
    pub stays: Vec<Interval>,
    /// By domain: lengths of completed runs, in microseconds.
    pub runs_us: BTreeMap<DomainId, Vec<f64>>,
    /// By domain: times from wake-up to running, in microseconds.
    pub wake_to_run_us: BTreeMap<DomainId, Vec<f64>>,
}

impl Observer {
    /// An observer that keeps the stays of the first `timeline` of a trace.
    pub fn new(timeline: Duration) -> Self {
        Observer {
            intervals: Intervals::new(),
            timeline,
            seen: Seen::default(),
        }
    }

    /// What it saw.
    pub fn finish(self) -> Seen {
        self.seen
    }
}

impl Sink for Observer {
    const OWNERS: bool = false;

    fn record(&mut self, record: &Record) {
        let seen = &mut self.seen;
        let begin = *seen.begin.get_or_insert(record.at);
        let timeline = self.timeline;
        self.intervals
            .feed(record, |stay| seen.take(stay, begin, timeline));
    }
}

impl Seen {
    fn take(&mut self, stay: &Interval, begin: Instant, timeline: Duration) {
        if stay.vcpu.is_idle() {
            return;
        }
        if stay.start < begin + timeline {
            self.stays.push(*stay);
        }
        // A record from a state to itself marks an edge of the trace: what lies at it is not whole.
        let whole = |state| stay.state == Some(state) && stay.next != state && stay.after != state;
        let lengths = if whole(Runstate::Running) {
            &mut self.runs_us
        } else if whole(Runstate::Runnable)
            && stay.after == Runstate::Blocked
            && stay.next == Runstate::Running
        {
            &mut self.wake_to_run_us
        } else {
            return;
        };
        let lengths = lengths.entry(stay.vcpu.domain).or_default();
        if lengths.len() < LENGTHS_MAX {
            lengths.push(stay.end.saturating_since(stay.start).as_nanos() as f64 / 1e3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Runstate::{Blocked, Runnable, Running};
    use domio_core::{PcpuId, VcpuName};

    #[test]
    fn whole_stays_give_lengths_and_early_ones_the_timeline() {
        let v = VcpuName::new(DomainId(4), 0);
        let mut observer = Observer::new(Duration::from_micros(25));
        for (us, old, new) in [
            (0, Running, Running),
            (10, Running, Blocked),
            (20, Blocked, Runnable),
            (23, Runnable, Running),
            (30, Running, Runnable),
            (40, Runnable, Running),
            (50, Running, Running),
        ] {
            let at = Instant::ZERO + Duration::from_micros(us);
            observer.record(&Record::runstate(at, PcpuId(0), v, old, new));
        }
        let seen = observer.finish();
        assert_eq!(seen.begin, Some(Instant::ZERO));
        assert_eq!(seen.stays.len(), 4);
        assert_eq!(seen.runs_us[&DomainId(4)], [7.0]);
        assert_eq!(seen.wake_to_run_us[&DomainId(4)], [3.0]);
    }
}
