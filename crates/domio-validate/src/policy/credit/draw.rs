//! States of credit that a recorded host may have begun in.

use super::seen::{FirstWake, ShownVcpu, tick_period};
use super::{CreditState, Hidden, HiddenVcpu};
use crate::ensemble::{shuffled, stream};
use crate::simulated::SimulatedHost;
use crate::start::StartVcpu;
use domio_core::{Duration, Runstate};
use domio_sched::credit::Priority;
use domio_sim::RandomStream;

/// Nanoseconds that cost a credit.
const CREDIT: u64 = 100_000;

/// Start state `number` of `simulation`. What the trace shows of it is kept: runstates, who earns
/// credit, who is parked, and the class that the first wake-up of a vcpu tells. Credits lie
/// anywhere within a slice's worth of zero. The order in which vcpus wait and that in which
/// accounting visits them are drawn. So are the phases of ticks and accounting, but every second
/// simulation keeps those that the trace shows, for they may be special: at boot both begin at
/// once.
pub(super) fn draw(host: &SimulatedHost<CreditState>, number: u32) -> Hidden {
    let mut random = stream(number);
    let start = host.start();
    let most = (host.tslice().as_nanos() / CREDIT) as i64;
    let shown = host.policy();
    let vcpus = start.vcpus.iter().zip(&shown.vcpus).map(|(v, shown)| {
        let credit = random.below(2 * most as u64 + 1) as i64 - most;
        let (credit, priority) = classed(v, *shown, credit);
        HiddenVcpu {
            credit,
            residual: random.below(1_000_000) as u32,
            ahead: random.below(2 * CREDIT + 1) as i64 - CREDIT as i64,
            priority,
        }
    });
    let vcpus: Vec<HiddenVcpu> = vcpus.collect();
    let below = |period: Duration, random: &mut RandomStream| {
        Duration::from_nanos(random.below(period.as_nanos()))
    };
    let (queue, earners) = (
        shuffled(vcpus.len(), &mut random),
        shuffled(vcpus.len(), &mut random),
    );
    let accounting_in = below(host.tslice(), &mut random);
    let tick_shift = below(tick_period(host.tslice()), &mut random);
    let keeps = number.is_multiple_of(2);
    let accounting = shown.accounting.filter(|_| keeps);
    Hidden {
        queue,
        earners,
        accounting_in: accounting.map_or(accounting_in, |at| at.since(start.at)),
        tick_shift: if keeps { Duration::ZERO } else { tick_shift },
        vcpus,
    }
}

/// A credit as far from zero as `drawn` that `v` can have had, and the class that goes with it.
fn classed(v: &StartVcpu, shown: ShownVcpu, drawn: i64) -> (i64, Priority) {
    let asleep = v.state >= Runstate::Blocked;
    match shown.first_wake {
        _ if v.parked => (-drawn.abs(), Priority::Over),
        Some(FirstWake::Boosted) => (drawn.abs(), Priority::Under),
        Some(FirstWake::Preferred) if asleep => (drawn.abs(), Priority::Boost),
        // Only accounting makes a vcpu OVER, and only one that earns.
        Some(FirstWake::Queued) if asleep && shown.active != Some(true) => {
            (drawn.abs(), Priority::Boost)
        }
        _ if drawn < 0 => (drawn, Priority::Over),
        _ => (drawn, Priority::Under),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ensemble::{TWINS, ensemble};
    use crate::shipped;
    use domio_vmm::Profile;

    #[test]
    fn states_differ_in_what_the_trace_does_not_show_and_repeat_themselves() {
        let recording = shipped::recording("c1-weights-1-2-4").unwrap();
        let host =
            SimulatedHost::<CreditState>::new(&recording, &Profile::XEN_4_17_EMULATED).unwrap();
        let states = ensemble(&host);
        assert_eq!(states, ensemble(&host));
        assert_eq!(states.len(), TWINS as usize);
        let both = |test: fn(&HiddenVcpu) -> bool| {
            let first = states.iter().filter(|s| s.vcpus.iter().any(test)).count();
            assert!(first > 0 && first < states.len(), "{first}");
        };
        both(|v| v.credit > 280);
        both(|v| v.credit < -280);
        for (i, v) in host.start().vcpus.iter().enumerate() {
            let boosted = host.policy().vcpus[i].first_wake == Some(FirstWake::Boosted);
            let over = states.iter().any(|s| s.vcpus[i].priority == Priority::Over);
            assert_eq!(over, !boosted, "{v:?}: who is boosted was not OVER");
        }
        let most = host.tslice();
        assert!(states.iter().all(|s| s.accounting_in < most));
        let late = states.iter().filter(|s| s.accounting_in > most / 2).count();
        assert!((5..=35).contains(&late), "{late} of 40");
        let kept = states.iter().filter(|s| s.tick_shift.is_zero());
        assert_eq!(kept.count(), TWINS as usize / 2);
        assert!(states.iter().any(|s| s.queue != states[0].queue));
    }

    #[test]
    fn a_state_has_the_class_that_the_first_wake_up_tells() {
        let at = domio_core::Instant::ZERO;
        let of = |state, first_wake, parked, drawn| {
            let v = StartVcpu {
                name: domio_core::VcpuName::default(),
                state,
                pcpu: domio_core::PcpuId(0),
                since: at,
                parked,
            };
            let active = None;
            classed(&v, ShownVcpu { active, first_wake }, drawn)
        };
        let asleep = Runstate::Blocked;
        let boosted = of(asleep, Some(FirstWake::Boosted), false, -7);
        assert_eq!(boosted, (7, Priority::Under));
        let preferred = of(asleep, Some(FirstWake::Preferred), false, -7);
        assert_eq!(preferred, (7, Priority::Boost));
        let parked = of(Runstate::Offline, None, true, 7);
        assert_eq!(parked, (-7, Priority::Over));
        let waits = |drawn| of(Runstate::Runnable, None, false, drawn);
        assert_eq!(waits(-7), (-7, Priority::Over));
        assert_eq!(waits(7), (7, Priority::Under));
    }
}
