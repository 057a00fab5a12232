//! The state in which a trace finds its host.
//!
//! A trace begins in mid-flight. What its records show of the state at that moment is read off
//! here: who runs since when, who waits in which order, who sleeps, who is parked, when the tick
//! and the accounting of the credit scheduler come. What they do not show, credits and priority
//! classes, is left to [`crate::ensemble`], which draws them, and to [`crate::exact`], which looks
//! for them.

use crate::demand::SCHEDULE;
use crate::recording::Recording;
use domio_core::{Duration, Instant, Kind, PcpuId, Record, Runstate, VcpuName};
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

/// What a trace shows of the state at its first record. All times are those of the trace.
#[derive(Clone, Debug)]
pub struct Start {
    /// Time of the first record.
    pub at: Instant,
    /// By pcpu: who runs, since when, until when its slice lasts.
    pub pcpus: Vec<StartPcpu>,
    /// Vcpus that appear in the trace, in the order in which they are dispatched.
    pub vcpus: Vec<StartVcpu>,
    /// When accounting expires for the first time, if the trace shows any accounting.
    pub accounting: Option<Instant>,
    /// What has to be added to the trace's times so that multiples of the tick are those of
    /// Xen's own clock.
    pub clock_offset: Duration,
}

/// A pcpu in a [`Start`].
#[derive(Clone, Copy, Debug, Default)]
pub struct StartPcpu {
    /// Who runs.
    pub current: Option<VcpuName>,
    /// When it was switched in (a saturated subtraction: never before the trace's clock began).
    pub entered: Instant,
    /// When its slice ends, if the trace shows it.
    pub slice_end: Option<Instant>,
    /// When its tick expires for the first time; `None` when the trace shows no tick.
    pub tick: Option<Instant>,
}

/// A vcpu in a [`Start`].
#[derive(Clone, Copy, Debug)]
pub struct StartVcpu {
    /// Which.
    pub name: VcpuName,
    /// Its runstate.
    pub state: Runstate,
    /// Where it is.
    pub pcpu: PcpuId,
    /// Since when it is in that state, as far as the trace shows.
    pub since: Instant,
    /// Whether it earns credit; `None` when the trace does not show it.
    pub active: Option<bool>,
    /// What its first wake-up did; `None` when it is not woken.
    pub first_wake: Option<FirstWake>,
    /// Offline because its domain was over its cap.
    pub parked: bool,
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

impl Start {
    /// Reads the state off `recording`.
    pub fn observe(recording: &Recording, profile: &Profile, tslice: Duration) -> Start {
        let at = recording.begin();
        let tick = tick_period(tslice);
        let mut pcpus: Vec<StartPcpu> = Vec::new();
        for p in 0..recording.description.pcpus {
            let mut seen = observe_pcpu(&recording.records, PcpuId(p), profile, tick, at);
            // A vcpu that moved before a record of its old pcpu showed it runs in one place only.
            if pcpus.iter().any(|other| other.current == seen.current) {
                seen.current = None;
            }
            pcpus.push(seen);
        }
        Start {
            at,
            pcpus,
            vcpus: observe_vcpus(&recording.records, at),
            accounting: first_accounting(&recording.records, profile, tslice, at),
            clock_offset: clock_offset(&recording.records, profile, tick),
        }
    }
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

fn observe_pcpu(
    records: &[Record],
    pcpu: PcpuId,
    profile: &Profile,
    tick: Duration,
    begin: Instant,
) -> StartPcpu {
    let mut seen = StartPcpu::default();
    let mine = || records.iter().filter(|r| r.pcpu == pcpu);
    let first = mine().find(|r| {
        r.kind == Kind::Continue
            || r.runstates()
                .is_some_and(|(old, _)| old == Runstate::Running)
    });
    if let Some(r) = first.filter(|r| !r.vcpu.is_idle()) {
        seen.current = Some(r.vcpu);
    }
    let pass = mine().find(|r| is_event(r, &[SCHEDULE])).map(|r| r.at);
    let ran = mine().find_map(|r| match r.kind {
        Kind::InfPrev | Kind::Continue => Some(Duration::from_nanos(u64::from(r.data[0]))),
        _ => None,
    });
    if let (Some(pass), Some(ran)) = (pass, ran) {
        seen.entered = pass.saturating_sub(ran);
        let provoked = mine()
            .take_while(|r| r.at <= pass)
            .any(|r| matches!(r.kind, Kind::Wake | Kind::Sleep | Kind::Block));
        if !provoked {
            seen.slice_end = Some(pass.saturating_sub(profile.timer_to_pass));
        }
    }
    let first_tick = mine().find_map(|r| TickRecord::of(r, profile));
    seen.tick = first_tick.map(|r| first_after(r.expired, tick + r.takes, begin));
    seen
}

fn observe_vcpus(records: &[Record], begin: Instant) -> Vec<StartVcpu> {
    let mut observer = VcpuObserver {
        begin,
        ..VcpuObserver::default()
    };
    for r in records {
        observer.observe(r);
    }
    observer.finish()
}

/// Longest time from a wake-up to a record of what credit made of it.
const WAKE_TO_NOTE: Duration = Duration::from_micros(5);

/// Gathers the state of each vcpu from the first records that tell of it.
#[derive(Default)]
struct VcpuObserver {
    begin: Instant,
    /// In the order in which they first run or stop running.
    order: Vec<VcpuName>,
    found: BTreeMap<VcpuName, StartVcpu>,
    active: BTreeMap<VcpuName, bool>,
    waiting: BTreeMap<VcpuName, Instant>,
    woken: BTreeMap<VcpuName, (Instant, FirstWake)>,
    /// The wake-up whose consequences the next records may tell, by pcpu.
    last_wake: BTreeMap<PcpuId, VcpuName>,
}

impl VcpuObserver {
    fn observe(&mut self, r: &Record) {
        match r.kind {
            Kind::Wake => {
                let first = (r.at, FirstWake::Queued);
                self.woken.entry(r.vcpu).or_insert(first);
                self.last_wake.insert(r.pcpu, r.vcpu);
            }
            Kind::RunstateChange if !r.vcpu.is_idle() => {
                if let Some((old, new)) = r.runstates() {
                    let runs = new == Runstate::Running || old == Runstate::Running;
                    self.find(r, old, runs);
                }
            }
            Kind::Continue if !r.vcpu.is_idle() => self.find(r, Runstate::Running, true),
            // Written before the change of runstate that it explains.
            Kind::InfNext if !r.vcpu.is_idle() && !self.found.contains_key(&r.vcpu) => {
                let waited = Duration::from_nanos(u64::from(r.data[0]));
                let since = r.at.saturating_sub(waited).min(self.begin);
                self.waiting.insert(r.vcpu, since);
            }
            Kind::Policy => self.observe_policy(r),
            _ => {}
        }
    }

    /// The vcpu of `r` was in `state` until then.
    fn find(&mut self, r: &Record, state: Runstate, runs: bool) {
        self.found.entry(r.vcpu).or_insert(StartVcpu {
            name: r.vcpu,
            state,
            pcpu: r.pcpu,
            since: self.begin,
            active: None,
            first_wake: None,
            parked: state == Runstate::Offline,
        });
        if runs && !self.order.contains(&r.vcpu) {
            self.order.push(r.vcpu);
        }
    }

    fn observe_policy(&mut self, r: &Record) {
        let Some((event, words)) = r.policy_event() else {
            return;
        };
        if event == event::TICKLE
            && let Some(name) = self.last_wake.get(&r.pcpu)
            && let Some(w) = self.woken.get_mut(name)
            && r.at.saturating_since(w.0) < WAKE_TO_NOTE
            && w.1 == FirstWake::Queued
        {
            w.1 = FirstWake::Preferred;
        }
        let &[domain, index, ..] = words else {
            return;
        };
        let name = VcpuName::from_word(domain << 16 | index & 0xffff);
        match event {
            event::BOOST_START => {
                if let Some(w) = self.woken.get_mut(&name)
                    && r.at.saturating_since(w.0) < WAKE_TO_NOTE
                {
                    w.1 = FirstWake::Boosted;
                }
            }
            event::ACCOUNT_START => {
                self.active.entry(name).or_insert(false);
            }
            event::ACCOUNT_STOP | event::PICKED_CPU => {
                self.active.entry(name).or_insert(true);
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Vec<StartVcpu> {
        for (name, v) in &mut self.found {
            if v.state == Runstate::Runnable
                && let Some(since) = self.waiting.get(name)
            {
                v.since = *since;
            }
            v.active = self.active.get(name).copied();
            v.first_wake = self.woken.get(name).map(|w| w.1);
        }
        // Those that never run come last.
        let never_ran = |name: &&VcpuName| !self.order.contains(name);
        let rest: Vec<VcpuName> = self.found.keys().filter(never_ran).copied().collect();
        let all = self.order.iter().chain(&rest);
        all.map(|name| self.found[name]).collect()
    }
}

/// When accounting expires first: from the first record that only accounting writes.
fn first_accounting(
    records: &[Record],
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
pub(crate) fn accounting_records(records: &[Record]) -> impl Iterator<Item = &Record> {
    let mut previous: Option<&Record> = None;
    records.iter().filter(move |r| {
        let unparks = r.runstates() == Some((Runstate::Offline, Runstate::Runnable))
            && previous.is_some_and(|p| p.kind == Kind::Wake);
        previous = Some(r);
        unparks || r.kind == Kind::Sleep || is_event(r, &[event::ACCOUNT_STOP])
    })
}

/// Who ceased to earn credit, who began to, and who was parked, each with its time and in its
/// order.
pub(crate) fn activity(records: &[Record]) -> [Vec<(Instant, VcpuName)>; 3] {
    let mut found: [Vec<(Instant, VcpuName)>; 3] = Default::default();
    for r in records {
        match (r.kind, r.policy_event()) {
            (Kind::Sleep, _) => found[2].push((r.at, r.vcpu)),
            (_, Some((event, &[domain, index, ..]))) => {
                let vcpu = VcpuName::from_word(domain << 16 | index & 0xffff);
                match event {
                    event::ACCOUNT_STOP => found[0].push((r.at, vcpu)),
                    event::ACCOUNT_START => found[1].push((r.at, vcpu)),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    found
}

/// How far the trace's clock is from Xen's, modulo the tick. A pcpu that leaves idle sets its tick
/// to the next multiple of the tick on Xen's clock, so a tick after a gap shows it.
fn clock_offset(records: &[Record], profile: &Profile, tick: Duration) -> Duration {
    let mut last: BTreeMap<PcpuId, Instant> = BTreeMap::new();
    for r in records.iter().filter(|r| is_tick(r)) {
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

fn is_event(r: &Record, events: &[u8]) -> bool {
    r.policy_event()
        .is_some_and(|(event, _)| events.contains(&event))
}

/// Whether credit's tick wrote this record.
pub(crate) fn is_tick(r: &Record) -> bool {
    is_event(
        r,
        &[event::PICKED_CPU, event::ACCOUNT_START, event::BOOST_END],
    )
}

/// What a record of credit's tick tells. A tick writes one, or one that ends a boost and then
/// another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickRecord {
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
pub(crate) const TICK_TO_RECORD: Duration = Duration::from_nanos(1_750);

impl TickRecord {
    /// Records of one tick are less apart.
    pub const LONGEST: Duration = Duration::from_micros(10);

    /// What `r` tells, if a tick wrote it.
    pub fn of(r: &Record, profile: &Profile) -> Option<TickRecord> {
        let look = profile.policy.look;
        let unboost = profile.policy.unboost;
        let (before, adds) = match r.policy_event()?.0 {
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
