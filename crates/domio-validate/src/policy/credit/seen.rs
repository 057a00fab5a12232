//! What a trace shows of the state of the credit scheduler at its first record: ticks, accounting,
//! who earns credit, what the first wake-up of each vcpu did.

use domio_core::{Duration, Instant, Kind, PcpuId, Runstate, VcpuName};
use domio_replay::NamedRecord;
use domio_replay::private::{WrittenIn, written_in};
use domio_vmm::Profile;
use std::collections::BTreeMap;

/// Credit's private events (Xen 4.17) that tell something about its state.
mod event {
    pub const ACCOUNT_START: u8 = 2;
    pub const ACCOUNT_STOP: u8 = 3;
    pub const PICKED_CPU: u8 = 5;
    pub const TICKLE: u8 = 6;
    pub const BOOST_START: u8 = 7;
    pub const BOOST_END: u8 = 8;
}

/// What credit did with a vcpu that was woken, which tells its priority class until then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstWake {
    /// It was boosted, so it was UNDER.
    Boosted,
    /// It was not, but it came before whoever ran: it was BOOST already.
    Preferred,
    /// Neither: it was OVER, or BOOST like whoever ran.
    Queued,
}

/// Credit's tick (xen-spec 3.4): a third of the slice, or all of it when that is under 3 ms, in
/// whole microseconds.
pub fn tick_period(tslice: Duration) -> Duration {
    let tick = if tslice < Duration::from_millis(3) {
        tslice
    } else {
        tslice / 3
    };
    Duration::from_micros(tick.as_nanos() / 1_000)
}

/// Longest time from a wake-up to a record of what credit made of it.
const WAKE_TO_NOTE: Duration = Duration::from_micros(5);

/// What a trace shows of a vcpu besides its runstate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShownVcpu {
    /// Whether it earns credit; `None` when the trace does not show it.
    pub active: Option<bool>,
    /// What its first wake-up did; `None` when it is not woken.
    pub first_wake: Option<FirstWake>,
}

/// What `records` show of each vcpu that they tell anything of.
pub(super) fn vcpus(records: &[NamedRecord]) -> BTreeMap<VcpuName, ShownVcpu> {
    let mut observer = Observer::default();
    for r in records {
        observer.observe(r);
    }
    observer.found
}

/// Gathers what the first records tell of each vcpu.
#[derive(Default)]
struct Observer {
    found: BTreeMap<VcpuName, ShownVcpu>,
    /// When each was woken first.
    woken: BTreeMap<VcpuName, Instant>,
    /// The wake-up whose consequences the next records may tell, by pcpu.
    last_wake: BTreeMap<PcpuId, VcpuName>,
}

impl Observer {
    fn observe(&mut self, r: &NamedRecord) {
        match r.kind {
            Some(Kind::Wake) => {
                self.woken.entry(r.vcpu).or_insert(r.at);
                let shown = self.found.entry(r.vcpu).or_default();
                shown.first_wake.get_or_insert(FirstWake::Queued);
                self.last_wake.insert(r.pcpu, r.vcpu);
            }
            None => self.observe_policy(r),
            _ => {}
        }
    }

    /// What the first wake-up of `vcpu` did, if a record at `at` may tell.
    fn first_wake(&mut self, vcpu: VcpuName, at: Instant) -> Option<&mut FirstWake> {
        let woken = *self.woken.get(&vcpu)?;
        let soon = at.saturating_since(woken) < WAKE_TO_NOTE;
        let shown = self.found.get_mut(&vcpu).filter(|_| soon)?;
        shown.first_wake.as_mut()
    }

    fn observe_policy(&mut self, r: &NamedRecord) {
        let Some(event) = event_of(r) else {
            return;
        };
        if event == event::TICKLE
            && let Some(name) = self.last_wake.get(&r.pcpu).copied()
            && let Some(wake) = self.first_wake(name, r.at)
            && *wake == FirstWake::Queued
        {
            *wake = FirstWake::Preferred;
        }
        let name = r.vcpu;
        let active = match event {
            event::BOOST_START => {
                if let Some(wake) = self.first_wake(name, r.at) {
                    *wake = FirstWake::Boosted;
                }
                return;
            }
            event::ACCOUNT_START => false,
            event::ACCOUNT_STOP | event::PICKED_CPU => true,
            _ => return,
        };
        self.found
            .entry(name)
            .or_default()
            .active
            .get_or_insert(active);
    }
}

/// When the tick of `pcpu` expires first; `None` when the trace shows none.
pub(super) fn first_tick(
    records: &[NamedRecord],
    pcpu: PcpuId,
    profile: &Profile,
    tick: Duration,
    begin: Instant,
) -> Option<Instant> {
    let mut mine = records.iter().filter(|r| r.pcpu == pcpu);
    let first = mine.find_map(|r| TickRecord::of(r, profile))?;
    Some(first_after(first.expired, tick + first.takes, begin))
}

/// When accounting expires first: from the first record that only accounting writes.
pub(super) fn first_accounting(
    records: &[NamedRecord],
    profile: &Profile,
    tslice: Duration,
    begin: Instant,
) -> Option<Instant> {
    let lateness = profile.timer_to_handler[1];
    let r = accounting_records(records).next()?;
    Some(first_after(
        r.at.saturating_sub(lateness),
        tslice + lateness,
        begin,
    ))
}

/// The records that only credit's accounting writes: it parks, unparks and deactivates.
pub fn accounting_records(records: &[NamedRecord]) -> impl Iterator<Item = &NamedRecord> {
    let mut previous: Option<&NamedRecord> = None;
    records.iter().filter(move |r| {
        let unparks = r.runstates() == Some((Runstate::Offline, Runstate::Runnable))
            && previous.is_some_and(|p| p.is(Kind::Wake));
        previous = Some(r);
        unparks || r.is(Kind::Sleep) || event_of(r) == Some(event::ACCOUNT_STOP)
    })
}

/// Who ceased to earn credit, who began to, and who was parked, each with its time and in its
/// order.
pub fn activity(records: &[NamedRecord]) -> [Vec<(Instant, VcpuName)>; 3] {
    let mut found: [Vec<(Instant, VcpuName)>; 3] = Default::default();
    for r in records {
        match (r.kind, event_of(r)) {
            (Some(Kind::Sleep), _) => found[2].push((r.at, r.vcpu)),
            (_, Some(event::ACCOUNT_STOP)) => found[0].push((r.at, r.vcpu)),
            (_, Some(event::ACCOUNT_START)) => found[1].push((r.at, r.vcpu)),
            _ => {}
        }
    }
    found
}

/// What credit's tick writes its records in.
const TICK: Option<WrittenIn> = Some(WrittenIn::Timer(0));

/// How far the trace's clock is from Xen's, modulo the tick. A pcpu that leaves idle sets its tick
/// to the next multiple of the tick on Xen's clock, so a tick after a gap shows it.
pub(super) fn clock_offset(records: &[NamedRecord], profile: &Profile, tick: Duration) -> Duration {
    let mut last: BTreeMap<PcpuId, Instant> = BTreeMap::new();
    for r in records.iter().filter(|r| written_in(r) == TICK) {
        if let Some(before) = last.insert(r.pcpu, r.at) {
            let gap = r.at.saturating_since(before);
            if gap > tick + profile.timer_slop + profile.timer_slop {
                let expired = r.at.saturating_sub(TICK_TO_RECORD).as_nanos();
                let period = tick.as_nanos();
                return Duration::from_nanos((period - expired % period) % period);
            }
        }
    }
    Duration::ZERO
}

/// The number of the private event of credit that `r` is, if it is one.
fn event_of(r: &NamedRecord) -> Option<u8> {
    r.private.filter(|p| p.policy == "credit")?.event
}

/// What a record of credit's tick tells. A tick writes one, or one that ends a boost and then
/// another.
#[derive(Clone, Copy, Debug)]
pub struct TickRecord {
    /// Time of the record.
    pub at: Instant,
    /// When the tick expired, if this is its first record.
    pub expired: Instant,
    /// From there to the clock reading that sets the next tick, if this is its only record.
    pub takes: Duration,
    /// What it adds to the latter if it is the second record.
    pub adds: Duration,
}

/// From the expiry of credit's tick to its record (PICKED_CPU), which comes before the reading of
/// the clock. Slices and ticks that were late by the same guest's timer differ by 1.15 us.
pub const TICK_TO_RECORD: Duration = Duration::from_nanos(1_750);

impl TickRecord {
    /// Records of one tick are less apart.
    pub const LONGEST: Duration = Duration::from_micros(10);

    /// What `r` tells, if a tick wrote it.
    pub fn of(r: &NamedRecord, profile: &Profile) -> Option<TickRecord> {
        let look = profile.policy.look;
        let unboost = profile.policy.unboost;
        let (before, adds) = match event_of(r)? {
            event::PICKED_CPU => (TICK_TO_RECORD, look),
            event::ACCOUNT_START => (TICK_TO_RECORD - look, Duration::ZERO),
            event::BOOST_END => (TICK_TO_RECORD - look, unboost),
            _ => return None,
        };
        Some(TickRecord {
            at: r.at,
            expired: r.at.saturating_sub(before),
            takes: profile.timer_to_handler[0] + adds,
            adds,
        })
    }
}

/// The first of the times `..., at - period, at, at + period, ...` that is not before `begin`.
fn first_after(at: Instant, period: Duration, begin: Instant) -> Instant {
    let steps = at.saturating_since(begin).as_nanos() / period.as_nanos();
    at.saturating_sub(period * steps).max(begin)
}
