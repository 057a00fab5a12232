//! What the recorded vcpus asked for: wake times, and processor demand between wake and block.
//!
//! A recording shows when a vcpu was running, not when its guest executed: from a cause (an
//! interrupt, a timer) to the next vcpu's first instruction the hypervisor works, and Xen charges
//! that time to whoever was current. The simulated host charges it in the same way, so it is taken
//! out of the demand here; otherwise it would be paid twice. The lengths come from the records
//! themselves where they show them, else from the hardware profile. So is the time of interrupts
//! that leave the same vcpu running: handlers of the policy's timers ([`WrittenIn`]), wake-ups
//! that preempt nobody, and those that leave no record ([`Unseen`]).
//!
//! What a guest does until a time by the clock is no processor time: see [`clock`].

pub mod clock;
pub mod unseen;
pub mod wakers;

use self::clock::Course;
use self::unseen::Unseen;
use self::wakers::Wakers;
use crate::named::NamedRecord;
use crate::private::{WrittenIn, written_in};
use crate::process::{Arrival, Demand};
use domio_core::{Duration, Instant, Kind, PcpuId, Runstate, VcpuName};
use domio_vmm::Profile;
use std::collections::BTreeMap;

/// The demand of every vcpu in `records`, with times counted from `origin`. `unseen` are
/// the interrupts without a record that the simulation of these demands has as well.
///
/// All wake-ups are from [outside](Arrival::Outside).
///
/// A vcpu that runs or waits when the trace begins has its first demand at time zero. Demand that
/// the trace does not see the end of is without end.
pub fn demands(
    records: &[NamedRecord],
    origin: Instant,
    profile: &Profile,
    unseen: &Unseen,
) -> BTreeMap<VcpuName, Recorded> {
    demands_with(records, origin, profile, unseen, &Wakers::new())
}

/// As [`demands`], where vcpus wake others: the demand of a waker is cut where it does, and the
/// demands of those that it wakes come [from there](Arrival::Kicked).
pub fn demands_with(
    records: &[NamedRecord],
    origin: Instant,
    profile: &Profile,
    unseen: &Unseen,
    wakers: &Wakers,
) -> BTreeMap<VcpuName, Recorded> {
    let mut extraction = Extraction {
        origin,
        profile,
        unseen,
        wakers,
        preempted: BTreeMap::new(),
        vcpus: BTreeMap::new(),
        pcpus: Vec::new(),
    };
    for record in records {
        extraction.take(record);
    }
    extraction.finish()
}

/// What one vcpu asked for.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Recorded {
    /// Its demands.
    pub demands: Vec<Demand>,
    /// When each was done and the vcpu blocked, by the same clock as the demands; without that of
    /// a last one that does not end.
    pub blocks: Vec<Instant>,
    /// Places of the demands at the end of which it wakes the vcpu that works for it; ascending.
    pub kicks: Vec<usize>,
}

struct Extraction<'a> {
    origin: Instant,
    profile: &'a Profile,
    unseen: &'a Unseen,
    wakers: &'a Wakers,
    /// Vcpus that were preempted, whose kernel ticks come all the same: where, and when the next.
    preempted: BTreeMap<VcpuName, (PcpuId, Instant)>,
    vcpus: BTreeMap<VcpuName, VcpuCourse>,
    pcpus: Vec<PcpuCourse>,
}

#[derive(Default)]
struct VcpuCourse {
    done: Recorded,
    /// The demand under way: when it came and what it took so far.
    open: Option<(Instant, Duration)>,
    /// How that was executed.
    course: Course,
    /// The same of those done.
    courses: Vec<Course>,
    /// When guest code began to execute, if it does.
    executes_from: Option<Instant>,
    woken: Option<Instant>,
    blocking: Option<Instant>,
    /// When it ceased to execute last.
    ended: Instant,
    seen: bool,
    /// Where it runs, or ran last.
    on: PcpuId,
    /// How much of the demand under way was executed when it woke the vcpu that works for it, and
    /// when, each time.
    woke: Vec<(Duration, Instant)>,
    /// The demand under way is for the vcpu that woke it.
    kicked: bool,
}

#[derive(Clone, Copy, Default)]
struct PcpuCourse {
    /// First thing that took the pcpu from its guest since guest code executed last.
    cause: Option<Instant>,
    /// The last wake-up that no pass has followed yet, and what it takes from a guest that
    /// continues.
    wake: Option<(Instant, Duration)>,
    /// Time of the last scheduler pass.
    pass: Option<Instant>,
    /// Time of the last record of a handler of a timer of the policy.
    handler: Option<Instant>,
    /// What interrupts without a pass have taken since the current vcpu's guest began to execute.
    stolen: Duration,
}

impl VcpuCourse {
    /// The demand that came at `at` takes `work` in all: it is kept, in parts where it woke another
    /// vcpu.
    fn keep(&mut self, at: Instant, work: Duration, origin: Instant) {
        let mut before = Duration::ZERO;
        let kicked = core::mem::take(&mut self.kicked);
        let first = self.done.demands.len();
        for (executed, when) in core::mem::take(&mut self.woke) {
            self.done.kicks.push(self.done.demands.len());
            let part = executed.saturating_sub(before);
            self.done.demands.push(demand(at, part, origin));
            self.courses.push(Course::default());
            let when = when.saturating_since(origin);
            self.done.blocks.push(Instant::ZERO + when);
            before = before.max(executed);
        }
        let rest = match work {
            Duration::MAX => work,
            work => work.saturating_sub(before),
        };
        self.done.demands.push(demand(at, rest, origin));
        if kicked {
            self.done.demands[first].arrival = Arrival::Kicked;
        }
    }

    /// Its guest executed for `time`, for the demand under way if there is one.
    fn works(&mut self, time: Duration) {
        if let Some((_, work)) = &mut self.open {
            *work += time;
            self.course.last += time;
        }
    }
}

impl Extraction<'_> {
    fn pcpu(&mut self, pcpu: PcpuId) -> &mut PcpuCourse {
        if self.pcpus.len() <= pcpu.index() {
            self.pcpus.resize(pcpu.index() + 1, PcpuCourse::default());
        }
        &mut self.pcpus[pcpu.index()]
    }

    fn vcpu(&mut self, name: VcpuName) -> &mut VcpuCourse {
        self.vcpus.entry(name).or_default()
    }

    fn take(&mut self, record: &NamedRecord) {
        let at = record.at;
        match record.kind {
            Some(Kind::Wake) => {
                self.vcpu(record.vcpu).woken = Some(at);
                self.without_pass(record.pcpu, at);
                let interrupt = self.profile.interrupt;
                let pcpu = self.pcpu(record.pcpu);
                pcpu.cause.get_or_insert(at);
                pcpu.wake = Some((at, interrupt));
            }
            Some(Kind::Sleep) => {
                self.without_pass(record.pcpu, at);
                // A policy parks vcpus that wait as well, which interrupts nobody for a pass.
                if self.vcpu(record.vcpu).executes_from.is_some() {
                    self.pcpu(record.pcpu).cause.get_or_insert(at);
                }
            }
            Some(Kind::Block) => {
                self.vcpu(record.vcpu).blocking = Some(at);
                self.without_pass(record.pcpu, at);
                self.pcpu(record.pcpu).cause.get_or_insert(at);
            }
            None => match written_in(record) {
                Some(WrittenIn::Pass) => self.pass(record),
                Some(WrittenIn::Timer(slot)) => self.handled(record, slot),
                None => {}
            },
            Some(Kind::Continue) => self.kept(record),
            Some(Kind::RunstateChange) => self.runstate(record),
            _ => {}
        }
    }

    /// A wake-up on `pcpu` that had no pass by `at`, long after, preempted nobody: it was an
    /// interrupt, not the cause of what comes now.
    fn without_pass(&mut self, pcpu: PcpuId, at: Instant) {
        let most = self.profile.wake_to_pass * 4;
        let pcpu = self.pcpu(pcpu);
        if let Some((_, takes)) = pcpu.wake.take_if(|(wake, _)| at.since(*wake) > most) {
            pcpu.cause = None;
            pcpu.stolen += takes;
        }
    }

    /// A pass begins.
    fn pass(&mut self, record: &NamedRecord) {
        let lead = self.profile.timer_to_pass;
        self.without_pass(record.pcpu, record.at);
        let pcpu = self.pcpu(record.pcpu);
        pcpu.pass = Some(record.at);
        pcpu.wake = None;
        pcpu.cause.get_or_insert(record.at.saturating_sub(lead));
    }

    /// A handler of the policy's timer in `slot`, which may write several records.
    fn handled(&mut self, record: &NamedRecord, slot: u8) {
        let cost = self.profile.timer_to_handler[usize::from(slot)] + self.profile.handler;
        self.without_pass(record.pcpu, record.at);
        let pcpu = self.pcpu(record.pcpu);
        let before = pcpu.handler.replace(record.at);
        // After the cause of a pass the guest does not execute anyway.
        if pcpu.cause.is_none()
            && before.is_none_or(|t| record.at.since(t) > Duration::from_micros(10))
        {
            pcpu.stolen += cost;
        }
    }

    /// What guest code of `vcpu` executed on `pcpu` from `from` to `until`.
    fn executed(
        &mut self,
        pcpu: PcpuId,
        vcpu: VcpuName,
        from: Instant,
        until: Instant,
    ) -> Duration {
        let stolen = core::mem::take(&mut self.pcpu(pcpu).stolen);
        let unseen =
            self.unseen.taken(vcpu, from, until, self.profile) + self.others(pcpu, from, until);
        until.saturating_since(from).saturating_sub(stolen + unseen)
    }

    /// What the kernel ticks of preempted vcpus took on `pcpu` from `from` to `until`. A guest sets
    /// its next tick when it handles one, so only one comes while it waits.
    fn others(&mut self, pcpu: PcpuId, from: Instant, until: Instant) -> Duration {
        let mut ticks = 0;
        self.preempted.retain(|_, (on, tick)| {
            let past = *on == pcpu && *tick < until;
            ticks += u64::from(past && *tick >= from);
            !past
        });
        self.profile.interrupt * ticks
    }

    /// The same vcpu continues after a pass: the time of the pass was not its guest's.
    fn kept(&mut self, record: &NamedRecord) {
        let cause = self.cause(record.pcpu, record.at);
        let resumed = match self.pcpu(record.pcpu).pass.take() {
            Some(pass) => (pass + self.profile.keep).max(record.at),
            None => record.at,
        };
        let Some(from) = self.vcpu(record.vcpu).executes_from else {
            return;
        };
        let executed = self.executed(record.pcpu, record.vcpu, from, cause);
        let vcpu = self.vcpu(record.vcpu);
        vcpu.works(executed);
        if vcpu.open.is_some() {
            vcpu.executes_from = Some(resumed);
        }
    }

    /// When the guest on `pcpu` was interrupted for what ends at `at`.
    fn cause(&mut self, pcpu: PcpuId, at: Instant) -> Instant {
        self.pcpu(pcpu).cause.take().unwrap_or(at)
    }

    fn runstate(&mut self, record: &NamedRecord) {
        let Some((old, new)) = record.runstates() else {
            return;
        };
        if record.vcpu.is_idle() {
            if old == Runstate::Running {
                self.pcpu(record.pcpu).cause = None;
            }
            return;
        }
        let origin = self.origin;
        if !self.vcpu(record.vcpu).seen {
            let vcpu = self.vcpu(record.vcpu);
            vcpu.seen = true;
            if old != Runstate::Blocked {
                vcpu.open = Some((origin, Duration::ZERO));
                vcpu.course = Course::under_way(origin);
            }
            if old == Runstate::Running {
                vcpu.executes_from = Some(origin);
            }
        }
        if old == Runstate::Running && new != Runstate::Running {
            let cause = self.cause(record.pcpu, record.at);
            let vcpu = self.vcpu(record.vcpu);
            let end = match (new, vcpu.blocking.take()) {
                (Runstate::Blocked, Some(at)) => at,
                _ => cause,
            };
            vcpu.ended = end;
            if new == Runstate::Runnable {
                vcpu.course.preempt(end);
            }
            if let Some(from) = vcpu.executes_from.take() {
                let executed = self.executed(record.pcpu, record.vcpu, from, end);
                self.vcpu(record.vcpu).works(executed);
            }
        }
        if new == Runstate::Running {
            self.preempted.remove(&record.vcpu);
        } else if new == Runstate::Runnable
            && old == Runstate::Running
            && let Some(tick) = self.unseen.next_tick(record.vcpu, record.at)
        {
            self.preempted.insert(record.vcpu, (record.pcpu, tick));
        }
        let vcpu = self.vcpu(record.vcpu);
        match new {
            Runstate::Running => {
                vcpu.on = record.pcpu;
                if old != Runstate::Running {
                    vcpu.executes_from = Some(record.at);
                    vcpu.course.begin(record.at);
                }
                let pcpu = self.pcpu(record.pcpu);
                pcpu.cause = None;
                pcpu.wake = None;
                pcpu.stolen = Duration::ZERO;
            }
            Runstate::Blocked => {
                if let Some((at, work)) = vcpu.open.take() {
                    let course = core::mem::take(&mut vcpu.course);
                    let course = match vcpu.woke.is_empty() {
                        true => course.ended(vcpu.ended),
                        // The rest of a demand in parts says nothing of its length.
                        false => Course::default(),
                    };
                    vcpu.keep(at, work, origin);
                    vcpu.courses.push(course);
                    let done = vcpu.ended.saturating_since(origin);
                    vcpu.done.blocks.push(Instant::ZERO + done);
                }
            }
            // A vcpu that was parked in its sleep is woken all the same.
            Runstate::Runnable | Runstate::Offline if old == Runstate::Blocked => {
                let at = vcpu.woken.take().unwrap_or(record.at);
                let begins = vcpu.open.is_none();
                vcpu.open.get_or_insert((at, Duration::ZERO));
                if begins {
                    let kicked = self.woken_by_waker(record);
                    self.vcpu(record.vcpu).kicked = kicked;
                }
            }
            // Its policy has unparked it in a handler, whose time is counted elsewhere.
            Runstate::Runnable if old == Runstate::Offline => {
                if let Some((_, takes)) = &mut self.pcpu(record.pcpu).wake {
                    *takes = Duration::ZERO;
                }
            }
            Runstate::Runnable | Runstate::Offline => {}
        }
    }

    /// Whether the vcpu of `record` is woken by the one that it works for, which executes where the
    /// record is from. That one keeps how far it had come.
    fn woken_by_waker(&mut self, record: &NamedRecord) -> bool {
        let Some(waker) = self.wakers.get(&record.vcpu).copied() else {
            return false;
        };
        let waker = self.vcpu(waker);
        let (Some(from), Some((_, work))) = (waker.executes_from, waker.open) else {
            return false;
        };
        let here = waker.on == record.pcpu;
        if here {
            let executed = work + record.at.saturating_since(from);
            waker.woke.push((executed, record.at));
        }
        here
    }

    fn finish(self) -> BTreeMap<VcpuName, Recorded> {
        let origin = self.origin;
        let ended = |mut vcpu: VcpuCourse| {
            clock::spin(&mut vcpu.done.demands, &vcpu.courses);
            if let Some((at, _)) = vcpu.open {
                vcpu.keep(at, Duration::MAX, origin);
            }
            vcpu.done
        };
        self.vcpus
            .into_iter()
            .map(|(name, vcpu)| (name, ended(vcpu)))
            .collect()
    }
}

fn demand(at: Instant, work: Duration, origin: Instant) -> Demand {
    // A vcpu that was woken and blocked again without having executed still had something to do.
    let work = work.max(Duration::from_nanos(1));
    Demand {
        at: Instant::ZERO + at.saturating_since(origin),
        spin: Duration::ZERO,
        work,
        arrival: Arrival::Outside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private::Private;
    use domio_core::DomainId;

    const P0: PcpuId = PcpuId(0);
    const OTHER: VcpuName = VcpuName::new(DomainId(1), 0);
    const GUEST: VcpuName = VcpuName::new(DomainId(2), 0);
    const RUNS: Runstate = Runstate::Running;
    const WAITS: Runstate = Runstate::Runnable;
    const SLEEPS: Runstate = Runstate::Blocked;
    const PARKED: Runstate = Runstate::Offline;

    fn us(at: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(at)
    }

    fn change(at: u64, vcpu: VcpuName, old: Runstate, new: Runstate) -> NamedRecord {
        NamedRecord::runstate(us(at), P0, vcpu, old, new)
    }

    fn note(at: u64, kind: Kind, vcpu: VcpuName) -> NamedRecord {
        NamedRecord::new(us(at), P0, kind, vcpu)
    }

    /// Arrival and work of each demand of the guest, in microseconds, on a host that costs
    /// nothing.
    fn of_guest(records: &[NamedRecord]) -> Vec<(u64, u64)> {
        let (profile, unseen) = (Profile::IDEAL, Unseen::default());
        let mut all = demands(records, Instant::ZERO, &profile, &unseen);
        let demands = all.remove(&GUEST).unwrap_or_default().demands;
        let us = |ns: u64| ns / 1_000;
        let read = |d: &Demand| (us(d.at.as_nanos()), us(d.work.as_nanos()));
        demands.iter().map(read).collect()
    }

    #[test]
    fn parking_one_that_waits_takes_nothing_from_who_runs() {
        let records = [
            note(100, Kind::Wake, GUEST),
            change(100, GUEST, SLEEPS, WAITS),
            change(100, OTHER, RUNS, WAITS),
            change(100, GUEST, WAITS, RUNS),
            // The policy parks the other one; 500 us later a slice ends.
            note(400, Kind::Sleep, OTHER),
            change(400, OTHER, WAITS, PARKED),
            NamedRecord::of_policy(us(900), P0, Private::new("credit", 9, &[0]).pass(), None),
            change(900, GUEST, RUNS, WAITS),
            change(950, GUEST, WAITS, RUNS),
            note(1_000, Kind::Block, GUEST),
            change(1_000, GUEST, RUNS, SLEEPS),
        ];
        assert_eq!(of_guest(&records), [(100, 850)]);
    }

    #[test]
    fn a_parked_sleeper_asks_for_time_when_it_is_woken() {
        let records = [
            note(0, Kind::Block, GUEST),
            change(0, GUEST, RUNS, SLEEPS),
            note(200, Kind::Sleep, GUEST),
            // Its timer, and then the end of its parking.
            note(300, Kind::Wake, GUEST),
            change(300, GUEST, SLEEPS, PARKED),
            note(800, Kind::Wake, GUEST),
            change(800, GUEST, PARKED, WAITS),
            change(800, GUEST, WAITS, RUNS),
            note(850, Kind::Block, GUEST),
            change(850, GUEST, RUNS, SLEEPS),
        ];
        assert_eq!(of_guest(&records), [(0, 0), (300, 50)]);
    }

    #[test]
    fn one_that_the_trace_finds_parked_has_something_to_do() {
        let records = [
            note(800, Kind::Wake, GUEST),
            change(800, GUEST, PARKED, WAITS),
            change(800, GUEST, WAITS, RUNS),
            note(850, Kind::Block, GUEST),
            change(850, GUEST, RUNS, SLEEPS),
        ];
        assert_eq!(of_guest(&records), [(0, 50)]);
    }
}
