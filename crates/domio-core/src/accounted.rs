//! Figures of the host itself: what a meter accounts of every domain, and its jobs.

use crate::figure::floor::{ANSWER_MS, ONE, POINTS, WAIT_US};
use crate::figure::{Better, Felt, Figure, FigureKind, FigureOf, FigureTable};
use crate::{Adds, Runstate, Tally};

/// Key of the share of a pcpu that a domain's vcpus have. Every domain has it.
pub const SHARE: &str = "share_pct";
/// Key of the part of the time in which a domain's vcpus wait for a pcpu.
pub const WAITING: &str = "waiting_pct";
/// Key of the part of the time for which a domain's vcpus could run and were parked, by a cap or a
/// pause. Only domains have it whose vcpus were.
pub const PARKED: &str = "parked_pct";
/// Key of how often a domain's vcpus are put on a pcpu.
pub const RUNS: &str = "runs_per_s";
/// Key of the median from wake-up to running.
pub const WAKE_P50: &str = "wake_p50_us";
/// Key of the 95 % quantile from wake-up to running.
pub const WAKE_P95: &str = "wake_p95_us";
/// Key of the 99 % quantile from wake-up to running.
pub const WAKE_P99: &str = "wake_p99_us";
/// Key of the mean time from release to completion of a domain's jobs.
pub const TURNAROUND: &str = "turnaround_mean_ms";
/// Key of the time of threads that idle in cores that a domain has.
pub const CORE_IDLE: &str = "core_idle_pct";

/// Work that was lost to other threads of a core, in nanoseconds, as simulated hosts record it.
pub const LOST_TO_SIBLINGS: Tally = Tally::new("lost_to_siblings", Adds::Spent(0));

/// Time of a thread in which handlers of interrupts ran, in nanoseconds.
pub const INTERRUPTS: Tally = Tally::new("irq_ns", Adds::Spent(INTERRUPTED));

/// Time of a thread in which softirqs ran, in nanoseconds.
pub const SOFTIRQS: Tally = Tally::new("softirq_ns", Adds::Spent(INTERRUPTED));

/// Field of the records of either with that time.
const INTERRUPTED: u8 = 1;

/// From release to completion of a job, in nanoseconds.
pub const JOB_TURNAROUND: Tally = Tally::new("job_turnaround", Adds::Sample(0));

const PERCENT: &str = "% of one pcpu";
const JOBS_DONE: &[FigureOf] = &[FigureOf::Tally(JOB_TURNAROUND.name)];
const FELT_WAIT: Felt = Felt::Itself(WAIT_US);

const fn micros(key: &'static str, title: &'static str, of: &'static [FigureOf], p: u8) -> Figure {
    Figure::new((key, title, "us"), FigureKind::Quantile(p), of).over(1_000)
}

const fn turnaround(key: &'static str, title: &'static str, kind: FigureKind) -> Figure {
    let figure = Figure::new((key, title, "ms"), kind, JOBS_DONE).over(1_000_000);
    figure.better(Better::Lower, Felt::Itself(ANSWER_MS))
}

/// A domain's use of the processor: every domain has it.
pub static PROCESSOR: FigureTable = FigureTable {
    title: "processors",
    nearness: 0,
    figures: &[
        Figure::new(
            (SHARE, "share", PERCENT),
            FigureKind::Share,
            &[FigureOf::Time(Runstate::Running)],
        )
        .better(Better::Neither, Felt::Itself(POINTS)),
        // Over all its vcpus, so that a domain of many does not seem to wait longer.
        Figure::new(
            (WAITING, "waiting", "% of time"),
            FigureKind::ShareOfVcpus,
            &[FigureOf::Time(Runstate::Runnable)],
        )
        .better(Better::Lower, Felt::Cause(POINTS)),
        // What waiting leaves out: parked vcpus are not runnable.
        Figure::new(
            (PARKED, "parked", "% of time"),
            FigureKind::ShareOfVcpus,
            &[FigureOf::Parked],
        )
        .only_some()
        .better(Better::Lower, Felt::Cause(POINTS)),
        // Part of the share: time on a pcpu in which other threads of the core kept it from work.
        Figure::new(
            ("lost_pct", "lost to siblings", PERCENT),
            FigureKind::Share,
            &[FigureOf::Tally(LOST_TO_SIBLINGS.name)],
        )
        .only_some()
        .better(Better::Lower, Felt::Cause(POINTS)),
        // Threads of cores that it has under core scheduling, without a vcpu that has work.
        Figure::new(
            (CORE_IDLE, "idle beside it", PERCENT),
            FigureKind::Noted,
            &[],
        )
        .better(Better::Lower, Felt::Never),
        Figure::new(
            (RUNS, "runs", "1/s"),
            FigureKind::PER_SECOND,
            &[FigureOf::Executions],
        ),
        micros("run_p50_us", "run, p50", &[FigureOf::Runs], 50),
        micros("run_p95_us", "run, p95", &[FigureOf::Runs], 95).detail(),
        micros(WAKE_P50, "wake to run, p50", &[FigureOf::WakeToRun], 50)
            .better(Better::Lower, Felt::Cause(WAIT_US)),
        micros(WAKE_P95, "wake to run, p95", &[FigureOf::WakeToRun], 95)
            .better(Better::Lower, FELT_WAIT),
        micros(WAKE_P99, "wake to run, p99", &[FigureOf::WakeToRun], 99)
            .better(Better::Lower, FELT_WAIT),
    ],
};

/// The jobs of a domain.
pub static JOBS: FigureTable = FigureTable {
    title: "jobs",
    nearness: 1,
    figures: &[
        Figure::new(("jobs_done", "jobs done", ""), FigureKind::Sum, JOBS_DONE)
            .better(Better::Higher, Felt::Itself(ONE)),
        turnaround(TURNAROUND, "turnaround, mean", FigureKind::Mean),
        turnaround(
            "turnaround_p50_ms",
            "turnaround, p50",
            FigureKind::Quantile(50),
        ),
        turnaround(
            "turnaround_p95_ms",
            "turnaround, p95",
            FigureKind::Quantile(95),
        ),
        turnaround(
            "turnaround_p99_ms",
            "turnaround, p99",
            FigureKind::Quantile(99),
        ),
    ],
};

/// Interrupts that are served in a thread's time and charged to the thread.
pub static TAKEN: FigureTable = FigureTable {
    title: "taken by interrupts",
    nearness: 0,
    figures: &[
        Figure::new(
            ("irq_pct", "interrupts", PERCENT),
            FigureKind::Share,
            &[FigureOf::Tally(INTERRUPTS.name)],
        )
        .better(Better::Lower, Felt::Cause(POINTS)),
        Figure::new(
            ("softirq_pct", "softirqs", PERCENT),
            FigureKind::Share,
            &[FigureOf::Tally(SOFTIRQS.name)],
        )
        .better(Better::Lower, Felt::Cause(POINTS)),
    ],
};
