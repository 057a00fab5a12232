//! What kept timers from running and left no record of its own.
//!
//! A guest that works for another program as well has more timers than its kernel's tick, and its
//! system calls and traps pass through the hypervisor, where a timer interrupt has to wait. Either
//! shows only in a tick or slice that comes late. How late is taken from there.

use crate::job_timer::is_why;
use crate::kernel_tick::explains;
use crate::late::Late;
use domio_core::{Duration, Instant, Kind, VcpuName};
use domio_replay::NamedRecord;
use domio_validate::policy::credit::seen::TICK_TO_RECORD;
use domio_validate::simulated::JobTimer;
use domio_vmm::Profile;
use domio_vmm::host::TimerHold;
use std::collections::BTreeMap;

/// Later than this is no noise: a tick that sorts a queue of ten comes that much late.
const LATE: Duration = Duration::from_nanos(400);

/// Timers come later than this by the slop alone.
const ENTRY: Duration = Duration::from_micros(4);

/// How much earlier than recorded the simulated timer may be due: the costs of the profile are
/// right to some hundredths of a microsecond, which add up from tick to tick.
const LEAD: Duration = Duration::from_micros(20);

/// The holds that wake-ups in `records` report. A wake-up by a guest's timer is recorded some time
/// after the softirq that the timer runs in has read the clock; timers that expire meanwhile are
/// left for the next softirq.
pub fn before_wakes<'a>(
    records: &'a [NamedRecord],
    profile: &Profile,
) -> impl Iterator<Item = TimerHold> + use<'a> {
    // About as long as the tick's handler takes to its record.
    let lead = TICK_TO_RECORD.saturating_sub(profile.softirq.entry);
    let wakes = records.iter().filter(|r| r.is(Kind::Wake));
    wakes.map(move |r| TimerHold {
        pcpu: r.pcpu,
        from: r.at.saturating_sub(lead),
        until: r.at,
    })
}

/// The holds that timers which were `late` report, without those that `kernel_ticks` or the timers
/// of `jobs` explain.
pub fn holds(
    late: &[Late],
    kernel_ticks: &BTreeMap<VcpuName, Instant>,
    jobs: &BTreeMap<VcpuName, JobTimer>,
    profile: &Profile,
) -> Vec<TimerHold> {
    late.iter()
        .filter(|l| !l.explained && l.came > l.due + LATE)
        .filter(|l| !explains(kernel_ticks, l, profile))
        .filter(|l| {
            let mut of = jobs.iter().filter(|(vcpu, _)| l.concerns(**vcpu));
            !of.any(|(_, timer)| is_why(timer, l, profile))
        })
        .map(|l| {
            let from = if l.came > l.due + ENTRY {
                let handled = profile.softirq.guest + profile.softirq.exit;
                l.came.saturating_sub(handled + profile.timer_slop)
            } else {
                l.due.saturating_sub(LEAD)
            };
            TimerHold {
                pcpu: l.pcpu,
                from,
                until: l.came,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{DomainId, PcpuId};

    const PROFILE: Profile = Profile::XEN_4_17_EMULATED;
    const G1: VcpuName = VcpuName::new(DomainId(1), 0);

    fn ns(at: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(at)
    }

    fn timer(due: u64, came: u64, explained: bool) -> Late {
        Late {
            pcpu: PcpuId(0),
            due: ns(due),
            came: ns(came),
            current: G1,
            since: ns(0),
            formers: Vec::new(),
            explained,
        }
    }

    #[test]
    fn late_timers_that_nothing_else_explains_were_held() {
        let late = [
            timer(100_000, 100_390, false),
            timer(200_000, 202_000, false),
            timer(300_000, 330_000, false),
            timer(400_000, 430_000, true),
        ];
        let found = holds(&late, &BTreeMap::new(), &BTreeMap::new(), &PROFILE);
        let spans: Vec<_> = found.iter().map(|h| (h.from, h.until)).collect();
        assert_eq!(
            spans,
            [
                // In the hypervisor for a moment.
                (ns(180_000), ns(202_000)),
                // The slop after a timer, from when its softirq had read the clock.
                (ns(330_000 - 51_100), ns(330_000)),
            ]
        );
        let tick = ns(330_000 - 51_880);
        let left = holds(&late, &[(G1, tick)].into(), &BTreeMap::new(), &PROFILE);
        assert_eq!(left, found[..1], "the guest's own tick explains the other");
    }

    #[test]
    fn the_softirq_of_a_wake_up_has_read_the_clock_before() {
        let wake = NamedRecord::new(ns(50_000), PcpuId(1), Kind::Wake, G1);
        let block = NamedRecord::new(ns(60_000), PcpuId(1), Kind::Block, G1);
        let found: Vec<TimerHold> = before_wakes(&[wake, block], &PROFILE).collect();
        let hold = TimerHold {
            pcpu: PcpuId(1),
            from: ns(50_000 - 970),
            until: ns(50_000),
        };
        assert_eq!(found, [hold]);
    }
}
