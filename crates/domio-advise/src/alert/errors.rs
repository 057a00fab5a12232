//! What a domain got in each window, from trace records, and how far that is from its allocation.

use domio_answer::rows;
use domio_core::{ActorId, DomainId, Instant, Names, Record, Runstate, Sink};
use domio_run::Sample;
use domio_stats::Estimate;

const SECOND: u64 = 1_000_000_000;

/// Domains that are distinguished.
const DOMAINS: usize = 4;

/// What the list of a domain is called where figures are kept.
fn executed(domain: usize) -> String {
    format!("d{domain}.executed_ns")
}

/// How long vcpus of each domain executed in each second: a sink for the records of the measured
/// time.
#[derive(Clone, Debug)]
pub struct AlertBins {
    begin: Instant,
    /// By domain, by second: nanoseconds.
    bins: Vec<Vec<u64>>,
    /// Who executes, and since when.
    running: Vec<(ActorId, Instant)>,
}

impl AlertBins {
    /// Nothing executed yet; `seconds` are measured from `begin` on.
    pub fn new(begin: Instant, seconds: u64) -> Self {
        AlertBins {
            begin,
            bins: vec![vec![0; seconds as usize]; DOMAINS],
            running: Vec::new(),
        }
    }

    /// The share of `domain` in each window of `seconds`, one after the other (% of one pcpu). The
    /// end of the measured time that makes no whole window is left out.
    pub fn shares(&self, domain: DomainId, seconds: u64) -> Vec<f64> {
        let bins = &self.bins[domain.index()];
        let whole = (seconds.max(1) * SECOND) as f64;
        let windows = bins.chunks_exact(seconds.max(1) as usize);
        windows
            .map(|w| w.iter().sum::<u64>() as f64 / whole * 100.0)
            .collect()
    }

    /// What was measured, as it is kept: nanoseconds by second, a list for each domain.
    pub fn sample(&self) -> Sample {
        let mut sample = Sample::new();
        for (domain, bins) in self.bins.iter().enumerate() {
            // A second's nanoseconds on all pcpus are exact in a float.
            let bins = bins.iter().map(|ns| *ns as f64).collect();
            sample.set_list(&executed(domain), bins);
        }
        sample
    }

    /// What was kept as `sample`.
    pub fn of(sample: &Sample) -> Self {
        let bins = (0..DOMAINS).map(|domain| {
            let list = sample.list(&executed(domain)).iter();
            list.map(|ns| *ns as u64).collect()
        });
        AlertBins {
            begin: Instant::ZERO,
            bins: bins.collect(),
            running: Vec::new(),
        }
    }

    fn add(&mut self, domain: DomainId, from: Instant, until: Instant) {
        let Some(bins) = self.bins.get_mut(domain.index()) else {
            return;
        };
        let since = |at: Instant| at.as_nanos().saturating_sub(self.begin.as_nanos());
        let (mut from, until) = (since(from), since(until));
        while from < until {
            let second = from / SECOND;
            let end = until.min((second + 1) * SECOND);
            if let Some(bin) = bins.get_mut(second as usize) {
                *bin += end - from;
            }
            from = end;
        }
    }
}

impl Sink for AlertBins {
    const STAGES: bool = false;

    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        for (vcpu, old, new) in record.changes().into_iter().flatten() {
            if old == Runstate::Running
                && let Some(i) = self.running.iter().position(|(v, _)| *v == vcpu)
            {
                let (_, since) = self.running.swap_remove(i);
                if let Some(vcpu) = names.vcpu(vcpu) {
                    self.add(vcpu.domain, since, record.at);
                }
            }
            if new == Runstate::Running {
                self.running.push((vcpu, record.at));
            }
        }
    }
}

rows! {
    /// Errors over all windows of one length. A relative error is in percent of the allocation.
    #[derive(Clone, PartialEq, Debug)]
    pub struct WindowErrors {
        /// Length of the windows.
        pub seconds: u64 = column("seconds", "s", ColumnKind::Key);
        /// Number of the windows.
        pub count: usize = count("count");
        /// Mean of the errors' sizes, in percentage points.
        pub mean_points: f64 = column("mean_points", "points", ColumnKind::Share);
        /// Mean of the errors' sizes, in percent of the allocation.
        pub mean_percent: f64 = share("mean_percent");
        /// The 95 % confidence interval of that; null for one window.
        pub ci95_percent: Option<[f64; 2]> = share("ci95_percent");
        /// The largest error, with its sign, in percentage points.
        pub worst_points: f64 = column("worst_points", "points", ColumnKind::Share);
        /// The largest error, with its sign, in percent of the allocation.
        pub worst_percent: f64 = share("worst_percent");
        /// Begin of that window, in the measured time.
        pub worst_begin_s: u64 = column("worst_begin_s", "s", ColumnKind::Fact);
        /// The least and the most that was measured (of one pcpu).
        pub measured_range_percent: [f64; 2] = share("measured_range_percent");
    }
}

impl WindowErrors {
    /// The errors of windows of `seconds` in which `shares` were measured, of a domain that is
    /// allocated so much (% of one pcpu).
    pub fn of(seconds: u64, shares: &[f64], allocated: f64) -> Self {
        // A nanosecond of an hour is more than the rounding of fractions.
        let error = |share: &f64| ((share - allocated) * 1e9).round() / 1e9;
        let sizes: Vec<f64> = shares
            .iter()
            .map(|share| error(share).abs() / allocated * 100.0)
            .collect();
        let mean = Estimate::of(&sizes);
        let mean_percent = mean.map_or(0.0, |e| e.mean);
        // The first of equal ones.
        let worst = shares.iter().enumerate().rev();
        let worst = worst.max_by(|(_, a), (_, b)| error(a).abs().total_cmp(&error(b).abs()));
        let (at, worst) = worst.map_or((0, 0.0), |(i, share)| (i, error(share)));
        let ends = shares.iter().fold([f64::MAX, 0.0], |[low, high], share| {
            [share.min(low), share.max(high)]
        });
        WindowErrors {
            seconds,
            count: shares.len(),
            mean_points: mean_percent * allocated / 100.0,
            mean_percent,
            ci95_percent: mean.and_then(|e| e.ci95),
            worst_points: worst,
            worst_percent: worst / allocated * 100.0,
            worst_begin_s: at as u64 * seconds,
            measured_range_percent: ends,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{PcpuId, VcpuName};

    #[test]
    fn time_is_counted_where_it_passes() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let pcpu = PcpuId(0);
        let mut names = Names::new();
        let [dom0, guest] = [0, 1].map(|id| names.add_actor(VcpuName::new(DomainId(id), 0)));
        let (running, runnable) = (Runstate::Running, Runstate::Runnable);
        let mut bins = AlertBins::new(at(500), 3);
        let change = |ms, vcpu, old, new| Record::runstate(at(ms), pcpu, vcpu, old, new);
        for record in [
            change(500, guest, running, running),
            change(600, guest, running, runnable),
            change(600, dom0, runnable, running),
            change(700, dom0, running, Runstate::Blocked),
            // From one second into the next but one.
            change(1_400, guest, runnable, running),
            change(2_600, guest, running, runnable),
            change(3_500, guest, runnable, runnable),
        ] {
            bins.record(&names, &record);
        }
        let rounded = |domain, seconds| -> Vec<i64> {
            let shares = bins.shares(DomainId(domain), seconds);
            shares.iter().map(|s| (s * 100.0).round() as i64).collect()
        };
        assert_eq!(rounded(1, 1), [2_000, 10_000, 1_000]);
        assert_eq!(rounded(0, 1), [1_000, 0, 0]);
        assert_eq!(rounded(1, 3), [4_333]);
        assert_eq!(rounded(1, 2), [6_000], "half a window is none");
    }

    #[test]
    fn errors_by_hand() {
        let errors = WindowErrors::of(10, &[5.0, 3.0, 4.5, 7.0], 5.0);
        assert_eq!((errors.count, errors.worst_begin_s), (4, 10));
        // 0, 2, 0.5 and 2 points of 5.
        assert!((errors.mean_points - 1.125).abs() < 1e-12);
        assert!((errors.mean_percent - 22.5).abs() < 1e-12);
        assert_eq!((errors.worst_points, errors.worst_percent), (-2.0, -40.0));
        assert_eq!(errors.measured_range_percent, [3.0, 7.0]);
        let [low, high] = errors.ci95_percent.unwrap();
        assert!(low < 22.5 && 22.5 < high);
        assert_eq!(WindowErrors::of(10, &[5.5], 5.0).ci95_percent, None);
    }
}
