//! When softirqs make way: how often a kernel repeats them before its thread takes over.
//!
//! A kernel counts rounds. The kernel of a host with KVM looks at the time as well, and at whether
//! somebody else is to run on the pcpu (linux-spec 9.7, `__do_softirq`):
//!
//! ```text
//!  round ─▶ more raised? ─▶ under 10 rounds, before the tick, nobody waits: another round
//!                      └──▶ else the thread ksoftirqd, which is woken
//! ```

use crate::config::HostSoftirqs;
use domio_core::Instant;

/// Rounds of softirqs before the thread takes over (Linux: `MAX_SOFTIRQ_RESTART`).
const ROUNDS_MAX: u32 = 10;

/// The limits of the run of softirqs that is under way.
#[derive(Clone, Debug)]
pub(crate) struct SoftirqLimits {
    rounds: u32,
    /// On a host with KVM.
    host: Option<OfHost>,
}

/// What a kernel of a host with KVM looks at.
#[derive(Clone, Copy, Debug)]
struct OfHost {
    rules: HostSoftirqs,
    /// When the time is over.
    end: Instant,
    now: HostNow,
}

/// How things are on the pcpu of softirqs of a host, which tells them before each step.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct HostNow {
    /// Somebody else is to run on the pcpu (`need_resched`).
    pub resched: bool,
    /// The thread of the softirqs is runnable.
    pub thread_runs: bool,
    /// They run in the time of whoever was interrupted.
    pub in_time_of_others: bool,
}

impl SoftirqLimits {
    /// Those of a guest's kernel.
    pub const OF_GUEST: SoftirqLimits = SoftirqLimits {
        rounds: 0,
        host: None,
    };

    /// Those of a host's kernel with these rules.
    pub const fn of_host(rules: HostSoftirqs) -> Self {
        SoftirqLimits {
            rounds: 0,
            host: Some(OfHost {
                rules,
                end: Instant::ZERO,
                now: HostNow {
                    resched: false,
                    thread_runs: false,
                    in_time_of_others: false,
                },
            }),
        }
    }

    /// How things are from now on.
    pub fn set_now(&mut self, now: HostNow) {
        if let Some(host) = &mut self.host {
            host.now = now;
        }
    }

    /// Whether what the kernel executes is in the time of others.
    #[inline]
    pub fn in_time_of_others(&self) -> bool {
        self.host.is_some_and(|host| host.now.in_time_of_others)
    }

    /// Whether softirqs that an interrupt raises are left to the thread.
    #[inline]
    pub fn leave_to_thread(&self) -> bool {
        self.host
            .is_some_and(|host| host.rules.left_to_thread && host.now.thread_runs)
    }

    /// Softirqs begin to run.
    #[inline]
    pub fn begin(&mut self, now: Instant) {
        self.rounds = 0;
        if let Some(host) = &mut self.host {
            host.end = host.rules.ticks_after(now, host.rules.restart_ticks());
        }
    }

    /// More were raised: whether another round follows, which begins.
    #[inline]
    pub fn another(&mut self, now: Instant) -> bool {
        if let Some(host) = &self.host {
            // The first round of a run is none of the restarts.
            let first = self.rounds == 0;
            let late = now >= host.end || host.now.resched || self.rounds >= ROUNDS_MAX;
            if !first && late {
                return false;
            }
        } else if self.rounds >= ROUNDS_MAX {
            return false;
        }
        self.rounds += 1;
        true
    }
}
