//! Timers of the scheduler that came late in a recording, or on time: its ticks, its accounting
//! and the ends of slices.
//!
//! All leave a record, accounting whenever it changes something, and when they were due follows
//! from the records before, so each says how long something kept the timers of its pcpu from
//! running: the timer slop after another timer (xen-spec 0.3), or code of the hypervisor that
//! interrupts have to wait for.

use domio_core::{Duration, Instant, Kind, PcpuId, Runstate, VcpuName};
use domio_replay::NamedRecord;
use domio_replay::demand::unseen::Expiries;
use domio_replay::linux::KERNEL_TICK;
use domio_replay::linux::LEAST_AHEAD;
use domio_replay::private::is_pass;
use domio_sched::credit::ACCOUNTING;
use domio_validate::policy::credit::seen::{TickRecord, accounting_records, tick_period};
use domio_vmm::Profile;
use std::collections::BTreeMap;

/// A timer that came late, or on time.
#[derive(Clone, Debug)]
pub struct Late {
    /// Where.
    pub pcpu: PcpuId,
    /// When it was due.
    pub due: Instant,
    /// When it came.
    pub came: Instant,
    /// The vcpu that ran.
    pub current: VcpuName,
    /// Since when.
    pub since: Instant,
    /// Who was preempted or parked within the last kernel tick and has not run since: their timers
    /// may still be set.
    pub formers: Vec<VcpuName>,
    /// Whether a timer or wake-up that the trace shows, or accounting, ended a timer slop before
    /// it came.
    pub explained: bool,
}

/// Follows what runs on one pcpu and which of its timers come late.
#[derive(Clone, Default)]
struct Follower {
    current: Option<(VcpuName, Instant)>,
    /// Those that were preempted or parked and have not run since, with the time.
    formers: Vec<(VcpuName, Instant)>,
    /// The last tick: when it expired, and when the next is due.
    tick: Option<(Instant, Instant)>,
    /// When accounting expired last, as far as it left a record.
    accounted: Option<Instant>,
    pass: Option<Instant>,
    slice_end: Option<Instant>,
    /// Last timer or wake-up that shows in the trace.
    known: Option<Instant>,
    /// The same before the last wake-up, which may be accounting's own.
    before_wake: Option<Instant>,
}

/// Accounting takes longer by up to this, by what it has to do.
const VARIES: Duration = Duration::from_micros(3);

/// A timer that differs by less from when it was due came on time.
pub const ON_TIME: Duration = Duration::from_micros(1);

/// The timers of `records` that came on time, or late and no later than the slop explains.
pub fn late_timers(
    records: &[NamedRecord],
    profile: &Profile,
    tslice: Duration,
    accountings: &Expiries,
) -> Vec<Late> {
    let period = tick_period(tslice);
    let mut pcpus: BTreeMap<PcpuId, Follower> = BTreeMap::new();
    let mut found = Vec::new();
    let mut accounting = accounting_records(records).peekable();
    for r in records {
        let p = pcpus.entry(r.pcpu).or_default();
        let accounts = accounting.next_if(|a| core::ptr::eq(*a, r)).is_some();
        let late = match r.kind {
            _ if accounts => p.accounting(r, profile, tslice),
            None if is_pass(r) => {
                let came = r.at.saturating_sub(profile.timer_to_pass);
                p.pass = Some(r.at);
                p.slice_end.take().map(|end| (end, came))
            }
            None => TickRecord::of(r, profile).and_then(|tick| p.tick(&tick, period)),
            _ => None,
        };
        if accounts && r.is(Kind::RunstateChange) {
            p.known = p.before_wake;
        }
        if let Some((due, came)) = late
            && came + ON_TIME > due
            && came < due + profile.timer_slop + Duration::from_micros(5)
        {
            if p.current.is_some() {
                let slop = profile.timer_slop;
                let after_accounting =
                    !accounts && accountings.near(came.saturating_sub(slop), slop);
                found.push(p.late(r.pcpu, due, came, slop, after_accounting));
            }
            p.known = p.known.max(Some(came));
        }
        match r.kind {
            Some(Kind::Wake) => p.before_wake = p.known.replace(r.at),
            Some(Kind::Sleep) => p.known = Some(r.at),
            Some(Kind::InfNext | Kind::Continue) => p.slice_end = slice_end(p.pass, r.words[1]),
            Some(Kind::RunstateChange) => p.follow(r),
            _ => {}
        }
    }
    found
}

impl Late {
    /// Whether a timer of `vcpu` may have made it late.
    pub fn concerns(&self, vcpu: VcpuName) -> bool {
        self.current == vcpu || self.formers.contains(&vcpu)
    }

    /// Whether it came on time although a timer of `current` at `phase` modulo `period`, done by
    /// then, would have made it late.
    pub fn denies(&self, phase: Instant, period: Duration, slop: Duration) -> bool {
        let into = self.due.as_nanos() + period.as_nanos() - phase.as_nanos() % period.as_nanos();
        let after = Duration::from_nanos(into % period.as_nanos());
        let inside = after > ON_TIME && after + ON_TIME < slop;
        inside && self.came < self.due + ON_TIME && self.since + after + LEAST_AHEAD < self.due
    }
}

impl Follower {
    /// Takes a record of a tick; the first one of each says when it was due and when it came.
    fn tick(&mut self, tick: &TickRecord, period: Duration) -> Option<(Instant, Instant)> {
        if let Some((last, next)) = &mut self.tick
            && tick.at.saturating_since(*last) < TickRecord::LONGEST
        {
            *next += tick.adds;
            return None;
        }
        let due = self.tick.map(|(_, next)| next);
        self.tick = Some((tick.expired, tick.expired + tick.takes + period));
        due.map(|due| (due, tick.expired))
    }

    /// Takes a record of accounting; the first one of each says when it was due, if it follows the
    /// one before that left a record, and when it came. After several without one it comes later
    /// than the slop explains; any of those may have been late.
    fn accounting(
        &mut self,
        r: &NamedRecord,
        profile: &Profile,
        period: Duration,
    ) -> Option<(Instant, Instant)> {
        let takes = profile.timer_to_handler[usize::from(ACCOUNTING)];
        let came = r.at.saturating_sub(takes);
        let last = self.accounted;
        if last.is_some_and(|last| came.saturating_since(last) < period / 2) {
            return None;
        }
        self.accounted = Some(came);
        let due = last? + period + takes;
        let on_time = came <= due + VARIES;
        Some((if on_time { came } else { due + VARIES }, came))
    }

    fn follow(&mut self, r: &NamedRecord) {
        let Some((old, new)) = r.runstates() else {
            return;
        };
        self.formers.retain(|(vcpu, _)| *vcpu != r.vcpu);
        let stopped = matches!(new, Runstate::Runnable | Runstate::Offline);
        if old == Runstate::Running && stopped && !r.vcpu.is_idle() {
            self.formers.push((r.vcpu, r.at));
        }
        if new == Runstate::Running {
            self.current = (!r.vcpu.is_idle()).then_some((r.vcpu, r.at));
        }
    }

    /// What came at `came` while somebody ran; `after_accounting` says that this was within the
    /// slop after it.
    fn late(
        &self,
        pcpu: PcpuId,
        due: Instant,
        came: Instant,
        slop: Duration,
        after_accounting: bool,
    ) -> Late {
        let (current, since) = self.current.expect("a timer is late for somebody");
        let at = came.saturating_sub(slop);
        let shown = self.known.is_some_and(|k| at.saturating_since(k) < slop);
        let recent = |(_, until): &&(VcpuName, Instant)| at.saturating_since(*until) < KERNEL_TICK;
        Late {
            pcpu,
            due,
            came,
            current,
            since,
            formers: self.formers.iter().filter(recent).map(|f| f.0).collect(),
            explained: shown || after_accounting,
        }
    }
}

fn slice_end(pass: Option<Instant>, slice: u32) -> Option<Instant> {
    if slice == u32::MAX {
        return None;
    }
    Some(pass? + Duration::from_nanos(u64::from(slice)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::DomainId;
    use domio_replay::private::Private;

    const PROFILE: Profile = Profile::XEN_4_17_EMULATED;
    const TSLICE: Duration = Duration::from_millis(30);
    const PICKED_CPU: u8 = 5;
    const ACCOUNT_START: u8 = 2;
    const BOOST_END: u8 = 8;

    fn ns(at: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(at)
    }

    fn of_tick(at: u64, event: u8) -> NamedRecord {
        let private = Private::new("credit", event, &[1]);
        let g1 = VcpuName::new(DomainId(1), 0);
        NamedRecord::of_policy(ns(at), PcpuId(0), private, Some(g1))
    }

    /// How late the ticks of `records` came, all while g1 ran.
    fn lateness(records: &[NamedRecord]) -> Vec<i64> {
        let g1 = VcpuName::new(DomainId(1), 0);
        let (waits, runs) = (Runstate::Runnable, Runstate::Running);
        let mut all = vec![NamedRecord::runstate(ns(0), PcpuId(0), g1, waits, runs)];
        all.extend_from_slice(records);
        late_timers(&all, &PROFILE, TSLICE, &Expiries::default())
            .iter()
            .map(|l| l.came.as_nanos() as i64 - l.due.as_nanos() as i64)
            .collect()
    }

    #[test]
    fn a_tick_is_due_ten_ms_after_the_last_one_read_the_clock() {
        let first = of_tick(1_000_000, PICKED_CPU);
        // 2.9 us from expiry to that reading.
        assert_eq!(lateness(&[first, of_tick(11_002_900, PICKED_CPU)]), [0]);
        assert_eq!(
            lateness(&[first, of_tick(11_022_900, PICKED_CPU)]),
            [20_000]
        );
        assert_eq!(lateness(&[first, of_tick(12_002_900, PICKED_CPU)]), [0; 0]);
    }

    #[test]
    fn a_tick_that_activates_is_shorter_and_one_that_ends_a_boost_longer() {
        // The record of activation comes 0.72 us sooner after expiry, the next tick as well.
        let activates = [
            of_tick(1_000_000, PICKED_CPU),
            of_tick(11_002_178, ACCOUNT_START),
            of_tick(21_005_078, PICKED_CPU),
        ];
        assert_eq!(lateness(&activates), [0, 0]);
        let unboosts = [
            of_tick(1_000_000, BOOST_END),
            of_tick(1_000_800, PICKED_CPU),
            of_tick(11_004_382, PICKED_CPU),
        ];
        assert_eq!(lateness(&unboosts), [0]);
    }

    #[test]
    fn accounting_is_due_a_period_after_the_last_that_left_a_record() {
        const ACCOUNT_STOP: u8 = 3;
        let g1 = VcpuName::new(DomainId(1), 0);
        let takes = PROFILE.timer_to_handler[usize::from(ACCOUNTING)].as_nanos();
        let parks = |at| NamedRecord::new(ns(at), PcpuId(0), Kind::Sleep, g1);
        let first = parks(1_000_000);
        let next = 31_000_000 + takes;
        let on_time = [first, parks(next + 2_900), parks(next + 30_002_000)];
        assert_eq!(lateness(&on_time), [0, 0]);
        let late = [
            first,
            parks(next + 45_000),
            of_tick(31_046_500, ACCOUNT_STOP),
        ];
        assert_eq!(lateness(&late), [45_000 - VARIES.as_nanos() as i64]);
        // One that left no record in between may have been the late one.
        assert_eq!(
            lateness(&[first, parks(next + 30_000_000 + 45_000)]),
            [0; 0]
        );
    }

    #[test]
    fn what_accounting_unparks_does_not_explain_that_it_was_late() {
        let g1 = VcpuName::new(DomainId(1), 0);
        let parked = VcpuName::new(DomainId(2), 0);
        let (offline, waits, runs) = (Runstate::Offline, Runstate::Runnable, Runstate::Running);
        let unparks = |at| {
            [
                NamedRecord::new(ns(at), PcpuId(0), Kind::Wake, parked),
                NamedRecord::runstate(ns(at + 1_000), PcpuId(0), parked, offline, waits),
            ]
        };
        let mut records = vec![NamedRecord::runstate(ns(0), PcpuId(0), g1, waits, runs)];
        records.push(NamedRecord::new(
            ns(1_000_000),
            PcpuId(0),
            Kind::Sleep,
            parked,
        ));
        let late = |records: &[NamedRecord]| {
            let found = late_timers(records, &PROFILE, TSLICE, &Expiries::default());
            let last = found.last().expect("accounting was late");
            (last.came > last.due, last.explained)
        };
        records.extend(unparks(31_030_000));
        assert_eq!(late(&records), (true, false));
        // A wake-up 45 us before does.
        let other = NamedRecord::new(ns(30_985_000), PcpuId(0), Kind::Wake, g1);
        records.insert(2, other);
        assert_eq!(late(&records), (true, true));
    }

    #[test]
    fn a_tick_explains_a_slice_that_ends_late() {
        let g1 = VcpuName::new(DomainId(1), 0);
        let private = Private::new("credit", 9, &[0]).pass();
        let pass = |at| NamedRecord::of_policy(ns(at), PcpuId(0), private, None);
        let mut goes_on = NamedRecord::new(ns(2_000), PcpuId(0), Kind::Continue, g1);
        goes_on.words[1] = 11_020_000;
        let (waits, runs) = (Runstate::Runnable, Runstate::Running);
        let explained = |tick: u64| {
            let records = [
                NamedRecord::runstate(ns(0), PcpuId(0), g1, waits, runs),
                of_tick(tick - 10_000_000, PICKED_CPU),
                pass(1_000),
                goes_on,
                of_tick(tick + 2_900, PICKED_CPU),
                pass(11_021_000 + 30_000 + PROFILE.timer_to_pass.as_nanos()),
            ];
            let found = late_timers(&records, &PROFILE, TSLICE, &Expiries::default());
            found.iter().map(|l| l.explained).collect::<Vec<_>>()
        };
        assert_eq!(explained(11_000_000), [false, true]);
        assert_eq!(explained(10_900_000), [false, false]);
    }

    #[test]
    fn those_that_were_preempted_or_parked_within_a_kernel_tick_may_have_a_timer_set() {
        use Runstate::{Blocked, Runnable, Running};
        let g = |id| VcpuName::new(DomainId(id), 0);
        let change = |at, id, old, new| NamedRecord::runstate(ns(at), PcpuId(0), g(id), old, new);
        let records = [
            change(0, 1, Runnable, Running),
            of_tick(1_000_000, PICKED_CPU),
            // Too long ago, waits, sleeps, runs again, is parked.
            change(5_000_000, 1, Running, Runnable),
            change(5_000_000, 2, Runnable, Running),
            change(9_000_000, 2, Running, Runnable),
            change(9_000_000, 3, Runnable, Running),
            change(10_000_000, 3, Running, Blocked),
            change(10_000_000, 4, Runnable, Running),
            change(10_100_000, 4, Running, Runnable),
            change(10_100_000, 5, Runnable, Running),
            change(10_200_000, 5, Running, Runnable),
            change(10_200_000, 6, Runnable, Running),
            change(10_300_000, 6, Running, Runstate::Offline),
            change(10_300_000, 4, Runnable, Running),
            of_tick(11_022_900, PICKED_CPU),
        ];
        let found = late_timers(&records, &PROFILE, TSLICE, &Expiries::default());
        let late = found.last().unwrap();
        assert_eq!(
            (late.current, &late.formers[..]),
            (g(4), &[g(2), g(5), g(6)][..])
        );
    }
}
