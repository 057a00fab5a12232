//! Samples, medians and the table.

use crate::cases::{Bench, Floor};
use crate::memory::Peak;
use std::time::{Duration, Instant};

/// Median speeds of a bench and of its baseline.
pub struct Rates {
    name: &'static str,
    unit: &'static str,
    /// Units a second.
    rate: f64,
    /// Units a second.
    baseline: f64,
    at_least: f64,
    floor: Option<Floor>,
}

impl Rates {
    /// How many times as fast as the baseline.
    fn ratio(&self) -> f64 {
        self.rate / self.baseline
    }

    /// Whether that is enough.
    pub fn good(&self) -> bool {
        let is_fast = match self.floor {
            None => true,
            Some(Floor::Whole(floor)) => self.rate >= floor,
            Some(Floor::Beyond(floor)) => 1.0 / self.rate - 1.0 / self.baseline <= 1.0 / floor,
        };
        self.ratio() >= self.at_least && is_fast
    }
}

/// Takes samples of a bench and of its baseline in turn, so that a machine that gets slower
/// meanwhile slows both. Which of the two goes first alternates as well.
pub fn measure(bench: &Bench, samples: usize) -> Rates {
    // The first run of each fills caches and lets the processor clock up.
    (bench.work)();
    (bench.baseline)();
    let (mut work, mut baseline) = (Vec::new(), Vec::new());
    for i in 0..samples {
        if i % 2 == 0 {
            work.push(rate(bench.work));
            baseline.push(rate(bench.baseline));
        } else {
            baseline.push(rate(bench.baseline));
            work.push(rate(bench.work));
        }
    }
    Rates {
        name: bench.name,
        unit: bench.unit,
        rate: median(work),
        baseline: median(baseline),
        at_least: bench.at_least,
        floor: bench.floor,
    }
}

fn rate(work: fn() -> u64) -> f64 {
    let (start, begun) = (Instant::now(), on_processor());
    let units = work();
    let took = match (begun, on_processor()) {
        // The system counts from tick to tick, and has not seen work that is shorter.
        (Some(begun), Some(ended)) if ended > begun => ended.saturating_sub(begun),
        _ => start.elapsed(),
    };
    units as f64 / took.max(Duration::from_nanos(1)).as_secs_f64()
}

/// For how long this thread has had a processor, and programs that it began and that have ended,
/// where the system says that: what others do on the machine does not count then.
fn on_processor() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns = told.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(ns) + of_children()?)
}

/// A tick of the times in `/proc/self/stat`: Linux shows hundredths of a second on every machine
/// that Rust knows.
const TICK: Duration = Duration::from_millis(10);

/// For how long programs that this one began and that have ended had a processor.
fn of_children() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may have spaces. The state behind it is the third field.
    let (_, rest) = told.rsplit_once(')')?;
    let ticks = rest.split_whitespace().skip(16 - 3).take(2);
    let ticks: Option<Vec<u32>> = ticks.map(|ticks| ticks.parse().ok()).collect();
    Some(TICK * ticks?.iter().sum::<u32>())
}

/// The middle one, or the mean of the two in the middle.
fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    if samples.len() % 2 == 1 {
        samples[middle]
    } else {
        (samples[middle - 1] + samples[middle]) / 2.0
    }
}

/// The figures for people.
pub fn table(rates: &[Rates], peaks: &[Peak]) -> String {
    let mut text = String::new();
    if !rates.is_empty() {
        text += &format!(
            "{:<14} {:>18} {:>18} {:>7} {:>9}\n",
            "bench", "million/s", "baseline", "ratio", "at least"
        );
    }
    for r in rates {
        let speed = format!("{:.2} {}", r.rate / 1e6, r.unit);
        text += &format!(
            "{:<14} {speed:>18} {:>18.2} {:>7.2} {:>9.2}  {}{}\n",
            r.name,
            r.baseline / 1e6,
            r.ratio(),
            r.at_least,
            verdict(r.good()),
            r.floor.map_or(String::new(), floor)
        );
    }
    if !peaks.is_empty() {
        text += &format!("\n{:<14} {:>18} {:>18}\n", "memory", "peak MB", "at most");
    }
    for p in peaks {
        let (peak, limit) = (p.bytes as f64 / 1e6, p.at_most as f64 / 1e6);
        text += &format!(
            "{:<14} {peak:>18.1} {limit:>18.1}  {}\n",
            p.name,
            verdict(p.good())
        );
    }
    text
}

/// A floor, behind the verdict.
fn floor(floor: Floor) -> String {
    let (rate, of) = match floor {
        Floor::Whole(rate) => (rate, ""),
        Floor::Beyond(rate) => (rate, " beyond the baseline"),
    };
    format!(", at least {:.2} million/s{of}", rate / 1e6)
}

fn verdict(good: bool) -> &'static str {
    if good { "pass" } else { "FAIL" }
}

/// The figures for programs.
pub fn json(rates: &[Rates], peaks: &[Peak]) -> serde_json::Value {
    let benches = rates.iter().map(|r| {
        serde_json::json!({
            "name": r.name,
            "unit": r.unit,
            "rate": r.rate,
            "baseline_rate": r.baseline,
            "ratio": r.ratio(),
            "at_least": r.at_least,
            "at_least_rate": r.floor.map(Floor::rate),
            "pass": r.good(),
        })
    });
    let memory = peaks.iter().map(|p| {
        serde_json::json!({
            "name": p.name,
            "bytes": p.bytes,
            "at_most": p.at_most,
            "pass": p.good(),
        })
    });
    serde_json::json!({
        "benches": benches.collect::<Vec<_>>(),
        "memory": memory.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(rate: f64) -> Rates {
        Rates {
            name: "x",
            unit: "events",
            rate,
            baseline: 2e6,
            at_least: 1.5,
            floor: None,
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn a_slow_bench_fails() {
        assert!(rates(3e6).good());
        assert!(!rates(2.9e6).good());
        assert!(table(&[rates(2.9e6)], &[]).contains("1.45      1.50  FAIL"));
        assert_eq!(json(&[rates(3e6)], &[])["benches"][0]["ratio"], 1.5);
    }

    #[test]
    fn a_floor_counts_beside_the_ratio() {
        let whole = |rate| Rates {
            floor: Some(Floor::Whole(rate)),
            ..rates(3e6)
        };
        assert!(whole(3e6).good());
        assert!(!whole(3.1e6).good());
        assert!(table(&[whole(3.1e6)], &[]).contains("FAIL, at least 3.10 million/s"));
        // Half a microsecond for each unit of the baseline, one for each of the work.
        let beyond = |rate| Rates {
            floor: Some(Floor::Beyond(rate)),
            at_least: 0.1,
            ..rates(1e6)
        };
        assert!(beyond(1.9e6).good());
        assert!(!beyond(2.1e6).good());
    }

    #[test]
    fn each_sample_runs_both_sides() {
        use std::sync::atomic::{AtomicU64, Ordering};
        static RUNS: AtomicU64 = AtomicU64::new(0);
        fn count(runs: u64) -> u64 {
            RUNS.fetch_add(runs, Ordering::Relaxed);
            1
        }
        let bench = Bench {
            name: "x",
            unit: "runs",
            work: || count(1),
            baseline: || count(100),
            at_least: 0.0,
            floor: None,
        };
        assert!(measure(&bench, 5).good());
        assert_eq!(RUNS.load(Ordering::Relaxed), 606);
    }
}
