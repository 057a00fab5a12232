//! Timers of the recorded guests, whose kernels are Linux: periods and least times.

use domio_core::{Duration, Instant};

/// Period of the tick of the recorded guests: `CONFIG_HZ=250` of Debian's kernels.
pub const KERNEL_TICK: Duration = Duration::from_millis(4);

/// From when a guest executes again, whose tick came while it could not, to the next tick at the
/// soonest: Linux on Xen sets no timer nearer than 100 us, and takes 31.9 us until it sets it.
pub const LEAST_AHEAD: Duration = Duration::from_nanos(131_880);

/// From a block to the wake-up by a timer that was due before. Linux sets its Xen timer no nearer
/// than 100 us ahead, and has about 21 us to go until it blocks.
pub const LEAST: Duration = Duration::from_nanos(78_800);

/// Wake-ups that come by no more than this later after a block come as early as they can.
pub const JITTER: Duration = Duration::from_micros(3);

/// The first time after `at` that is a whole number of `period`s from `phase`.
pub fn next_after(phase: Instant, period: Duration, at: Instant) -> Instant {
    let period = period.as_nanos();
    let into = (at.as_nanos() + period - phase.as_nanos() % period) % period;
    at + Duration::from_nanos(period - into)
}

/// How far two times are apart modulo [`KERNEL_TICK`], in nanoseconds.
pub fn apart(a: Instant, b: Instant) -> u64 {
    let phase = |at: Instant| at.as_nanos() % KERNEL_TICK.as_nanos();
    let d = phase(a).abs_diff(phase(b));
    d.min(KERNEL_TICK.as_nanos() - d)
}
