//! What XenMon shows: the same few figures of every domain, once an interval.

mod sample;
mod stays;
mod vcpu;

pub use sample::{
    DomainSample, Figures, GuestTraffic, IntervalSample, Mending, Part, QueueWait, Tells, Totals,
};

use std::collections::VecDeque;

use domio_core::{
    ActorId, ClassId, DomainId, Duration, Instant, Kind, Names, PcpuId, Record, Runstate, Says,
    Sink, VcpuName,
};
use domio_trace::{GoingOn, Ground, Over, StayPassed, VCPUS_MAX};

use crate::account::Window;
use crate::budget;
use crate::moves::Move;
use crate::work::Taken;
use stays::Stays;
use vcpu::Vcpu;

/// Most intervals without a record that become samples of their own; a longer gap is one sample.
/// Keeps a damaged time from making samples without end.
const EMPTY_MAX: u64 = 1000;

/// As many parts may the samples of a gap have.
const EMPTY_PARTS_MAX: usize = 1 << 20;

/// Most parts of one sample: when there are so many, vcpus count where they are. No host has so
/// many vcpus that move so often.
const PARTS_MAX: usize = 1 << 18;

/// What items are called that are counted where a driver domain hands them over.
const PACKETS: &str = "packets";

/// Xen's event of a page that was mapped by grant, and of one that was transferred (xen-spec 7.1).
pub(crate) const GRANT_MAP: u32 = 0x0010_f001;
/// See [`GRANT_MAP`].
pub(crate) const GRANT_TRANSFER: u32 = 0x0010_f003;

/// Cuts a trace into intervals: feed it every record, take samples as they come, and
/// [`Sampler::finish`] for the last one.
///
/// The first interval starts at the first record. What a vcpu did when follows from its records as
/// [`Track`](domio_trace::Track) has it; what a record reports the time before its interval is in
/// [`IntervalSample::mending`]. Unlike xenbaked, which closes a domain's books only when something
/// happens to it, states count up to the edge of the interval; unlike XenMon's logs, a wake-up
/// counts for its domain whichever pcpu recorded it. [`Baked`](crate::Baked) makes xenbaked's
/// figures.
///
/// Memory is constant but for some 200 bytes a vcpu and a pcpu that it ran on within an interval.
#[derive(Debug)]
pub struct Sampler {
    interval: u64,
    start: Option<u64>,
    /// The end of the interval; nothing happens to it before.
    edge: u64,
    /// By actor; of some of them nothing is known.
    vcpus: Vec<Vcpu>,
    ground: Ground,
    going_on: GoingOn,
    stays: Stays,
    /// Slices that were given on each pcpu and belong to the vcpu that comes next, with his domain.
    given: Vec<Option<(DomainId, u32)>>,
    taken: Taken,
    tells: Tells,
    lost_records: u64,
    /// What the interval has, but for what vcpus have where they are.
    elsewhere: Totals,
    ready: VecDeque<IntervalSample>,
}

impl Sampler {
    /// Intervals of `interval`.
    ///
    /// # Panics
    /// When `interval` is zero.
    pub fn new(interval: Duration) -> Self {
        assert!(!interval.is_zero(), "an interval of no time");
        Sampler {
            interval: interval.as_nanos(),
            start: None,
            edge: 0,
            vcpus: Vec::new(),
            ground: Ground::new(),
            going_on: GoingOn::new(),
            stays: Stays::default(),
            given: Vec::new(),
            taken: Taken::default(),
            tells: Tells::default(),
            lost_records: 0,
            elsewhere: Totals::default(),
            ready: VecDeque::new(),
        }
    }

    /// The next complete interval, when there is one. Samples wait here, so take them as you feed
    /// records.
    pub fn take(&mut self) -> Option<IntervalSample> {
        self.ready.pop_front()
    }

    /// What is left: complete intervals that were not taken, and the last one up to the last
    /// record.
    pub fn finish(mut self) -> impl Iterator<Item = IntervalSample> {
        let (_, latest) = self.ground.span().unwrap_or_default();
        if let Some(start) = self.start
            && latest > start
        {
            self.cut(start, latest);
        }
        self.ready.into_iter()
    }

    /// Ends intervals up to `at`.
    #[inline]
    fn advance(&mut self, at: u64) {
        if at >= self.edge {
            self.turn(at);
        }
    }

    #[cold]
    fn turn(&mut self, at: u64) {
        let begin = self.ground.span().map_or(at, |(begin, _)| begin);
        let mut start = self.start.unwrap_or(begin);
        let known = self.vcpus.iter().filter(|v| v.track.is_known()).count();
        let most = EMPTY_PARTS_MAX / known.max(1);
        let most = EMPTY_MAX.min(most as u64).max(1);
        let mut complete = at.saturating_sub(start) / self.interval;
        while complete > 0 {
            let intervals = if complete > most { complete } else { 1 };
            let end = start + intervals * self.interval;
            self.cut(start, end);
            start = end;
            complete -= intervals;
        }
        self.start = Some(start);
        self.edge = start.saturating_add(self.interval);
    }

    /// Closes all books at `end` and makes a sample.
    fn cut(&mut self, start: u64, end: u64) {
        let mut sample = std::mem::take(&mut self.elsewhere);
        for vcpu in self.vcpus.iter_mut().filter(|v| v.track.is_known()) {
            vcpu.pass(start, end);
            let waits = end.saturating_sub(vcpu.entered);
            if vcpu.waits() && waits > sample.longest() {
                sample.waited(Some(QueueWait {
                    vcpu: vcpu.name,
                    pcpu: vcpu.home,
                    since: Instant::from_nanos(vcpu.entered),
                    length: waits,
                    goes_on: true,
                    behind: self.stays.most(vcpu.home, vcpu.entered, end),
                }));
            }
            let here = std::mem::take(&mut vcpu.here);
            if !vcpu.name.is_idle() || !here.is_empty() {
                sample.part(vcpu.name, vcpu.home).add(&here);
            }
        }
        let lost_records = std::mem::take(&mut self.lost_records);
        sample.about((start, end), lost_records, self.tells);
        self.ready.push_back(sample.sample());
    }

    /// The place of the vcpu that the actor is, first heard of on `pcpu` at `at` if it is not
    /// known; `None` where there is no such actor, or no room for it.
    #[inline]
    fn slot(&mut self, names: &Names, actor: ActorId, (at, pcpu): (u64, PcpuId)) -> Option<usize> {
        let slot = actor.index();
        if slot >= self.vcpus.len() && !self.make_vcpus(names, slot) {
            return None;
        }
        let vcpu = &mut self.vcpus[slot];
        if !vcpu.track.is_known() {
            (vcpu.entered, vcpu.home) = (at, pcpu);
        }
        Some(slot)
    }

    /// Makes vcpus up to the actor with index `slot`. Returns whether there is such an actor, and
    /// room for it.
    #[cold]
    fn make_vcpus(&mut self, names: &Names, slot: usize) -> bool {
        let actors = names.actors();
        if slot >= actors.len().min(VCPUS_MAX) {
            return false;
        }
        let new = &actors[self.vcpus.len()..=slot];
        self.vcpus.extend(new.iter().map(|a| Vcpu::new(a.vcpu())));
        true
    }

    /// The vcpu that the actor is, if a record told of it.
    #[inline]
    fn known(&mut self, actor: ActorId) -> Option<&mut Vcpu> {
        let vcpu = self.vcpus.get_mut(actor.index());
        vcpu.filter(|vcpu| vcpu.track.is_known())
    }

    /// `actor` goes from `old` to `new` on `pcpu`.
    #[inline]
    fn change(
        &mut self,
        names: &Names,
        (at, pcpu): (u64, PcpuId),
        actor: ActorId,
        [old, new]: [Runstate; 2],
    ) {
        let Some(slot) = self.slot(names, actor, (at, pcpu)) else {
            return;
        };
        let track = &mut self.vcpus[slot].track;
        let passed = track.change(&mut self.ground, at, pcpu, [old, new]);
        self.pass(slot, pcpu, &passed);
        self.turned(slot, (at, pcpu), [old, new], &passed);
    }

    /// The vcpu of `record` continues, of which nothing else is known.
    #[cold]
    fn goes_on(&mut self, names: &Names, record: &Record) {
        let (at, pcpu) = (record.at.as_nanos(), record.pcpu);
        let Some(slot) = self.slot(names, record.actor, (at, pcpu)) else {
            return;
        };
        let track = &mut self.vcpus[slot].track;
        let passed = track.goes_on(&mut self.ground, at, pcpu);
        self.pass(slot, pcpu, &passed);
        self.turned(slot, (at, pcpu), [Runstate::Running; 2], &passed);
    }

    /// Adds what `passed` of the vcpu in `slot`, on `pcpu` if it ran.
    #[inline]
    fn pass(&mut self, slot: usize, pcpu: PcpuId, passed: &StayPassed) {
        let start = self.start.unwrap_or(0);
        if passed.from < start && !passed.sure {
            self.mend(slot, pcpu, passed, start);
        }
        let vcpu = &mut self.vcpus[slot];
        if passed.known > passed.from {
            let unknown = passed.known.saturating_sub(passed.from.max(start));
            vcpu.here.unknown = vcpu.here.unknown.saturating_add(unknown);
        }
        let held = vcpu.budget.take(passed, since(start));
        vcpu.told = Figures::default();
        let length = passed.to.saturating_sub(passed.known.max(start)) - held;
        if passed.state == Runstate::Running {
            let ran = passed.to.saturating_sub(passed.known);
            vcpu.ran = vcpu.ran.saturating_add(ran);
            if length > 0 && vcpu.home != pcpu {
                move_to(vcpu, pcpu, &mut self.elsewhere);
            }
        }
        vcpu.here.add_time((passed.state, passed.after), length);
        vcpu.here.parked = vcpu.here.parked.saturating_add(held);
        if vcpu.uninterruptible {
            match passed.state {
                Runstate::Blocked => vcpu.here.uninterruptible += length,
                _ => vcpu.uninterruptible = false,
            }
        }
    }

    /// A record reports the time before the interval, which begins at `start`, something else than
    /// samples have.
    #[cold]
    fn mend(&mut self, slot: usize, pcpu: PcpuId, passed: &StayPassed, start: u64) {
        let vcpu = &self.vcpus[slot];
        let (name, home, told) = (vcpu.name, vcpu.home, vcpu.told);
        let part = |pcpu, add: &dyn Fn(&mut Figures)| {
            let mut figures = Figures::default();
            add(&mut figures);
            Part {
                vcpu: name,
                pcpu,
                figures,
            }
        };
        let to = passed.to.min(start);
        let mending = self.elsewhere.mending();
        if !told.is_empty() {
            mending.less.push(part(home, &|f| *f = told));
        }
        let known = passed.known.min(to);
        let unknown = part(home, &|f| f.unknown = known - passed.from);
        let ran_on = match passed.state {
            Runstate::Running => pcpu,
            _ => home,
        };
        let state = (passed.state, passed.after);
        let known = part(ran_on, &|f| f.add_time(state, to - known));
        let more = [unknown, known].into_iter();
        mending.more.extend(more.filter(|p| !p.figures.is_empty()));
    }

    /// The vcpu in `slot` went from `old` to `new`, when `passed` was over.
    #[inline]
    fn turned(
        &mut self,
        slot: usize,
        (at, pcpu): (u64, PcpuId),
        [old, new]: [Runstate; 2],
        passed: &StayPassed,
    ) {
        let vcpu = &mut self.vcpus[slot];
        let is_mark = old == new;
        if new == Runstate::Running {
            let waited = old == Runstate::Runnable && !vcpu.budget.is_used_up();
            if passed.sure && waited && !vcpu.name.is_idle() {
                let length = at.saturating_sub(vcpu.entered);
                if length > self.elsewhere.longest() {
                    let behind = self.stays.most(pcpu, vcpu.entered, at);
                    self.elsewhere.waited(Some(QueueWait {
                        vcpu: vcpu.name,
                        pcpu,
                        since: Instant::from_nanos(vcpu.entered),
                        length,
                        goes_on: false,
                        behind,
                    }));
                }
            }
            if vcpu.home != pcpu {
                move_to(vcpu, pcpu, &mut self.elsewhere);
            }
            self.stays.begin(pcpu, vcpu.name, at);
        } else if old == Runstate::Running {
            self.stays.end(pcpu, vcpu.name, at);
        }
        vcpu.here.executions += u64::from(new == Runstate::Running && !is_mark);
        vcpu.here.wakeups += u64::from(old == Runstate::Blocked && new == Runstate::Runnable);
        if !(is_mark && passed.sure) {
            vcpu.entered = at;
        }
        if new == Runstate::Running {
            self.receive(slot, pcpu);
        }
    }

    /// The vcpu in `slot` comes to `pcpu`: a slice that was given there is for it.
    #[inline]
    fn receive(&mut self, slot: usize, pcpu: PcpuId) {
        let given = self.given.get_mut(pcpu.index());
        let vcpu = &mut self.vcpus[slot];
        if let Some((domain, slice)) = given.and_then(Option::take)
            && domain == vcpu.name.domain
        {
            vcpu.here.allocated += u64::from(slice);
        }
    }

    /// The vcpu that comes to `pcpu` next has a slice, if he is of `domain`: before Xen 4.8 the
    /// record of it names no vcpu.
    fn give(&mut self, pcpu: PcpuId, domain: DomainId, slice: u32) {
        let index = pcpu.index();
        if self.given.len() <= index {
            self.given.resize(index + 1, None);
        }
        self.given[index] = (slice != u32::MAX).then_some((domain, slice));
    }

    /// A run that only continued on the record's pcpu is over: since now, or since an unknown time
    /// before.
    #[cold]
    fn displace(&mut self, record: &Record, over: Over) {
        let slot = over.actor.index();
        if let Some(left) = self.vcpus.get_mut(slot) {
            let at = record.at.as_nanos();
            let passed = left.track.displace(at, record.pcpu, over.now);
            self.passed(slot, passed);
        }
    }

    /// Adds what `passed`, if anything did, where the vcpu in `slot` is.
    fn passed(&mut self, slot: usize, passed: Option<StayPassed>) {
        if let Some(passed) = passed {
            self.pass(slot, self.vcpus[slot].home, &passed);
        }
    }

    /// Records of the record's pcpu are missing.
    #[cold]
    fn lose(&mut self, record: &Record) {
        self.ground.lose(record.pcpu);
        self.lost_records += u64::from(record.words[0]);
        for slot in 0..self.vcpus.len() {
            let track = &mut self.vcpus[slot].track;
            let passed = track.lose(record.at.as_nanos(), record.pcpu);
            self.passed(slot, passed);
            self.vcpus[slot].budget.forget();
        }
    }

    /// Takes a record of a class: a driver domain's side of the rings is where packets are counted.
    #[inline]
    fn moved(&mut self, names: &Names, record: &Record) {
        let Some(moved) = Move::of(names, record) else {
            return;
        };
        let Some(sent) = moved.sent() else {
            return;
        };
        let vcpus = names.vcpu(record.actor).zip(names.vcpu(moved.driver));
        let Some((guest, driver)) = vcpus.filter(|_| moved.class.items == PACKETS) else {
            return;
        };
        self.tells.packets = true;
        self.elsewhere
            .traffic(driver.domain, guest.domain, |traffic| {
                traffic.sent += u64::from(sent);
                traffic.received += u64::from(!sent);
            });
        self.has_io(record.actor, guest, record.pcpu);
    }

    /// A packet or a page of the domain of `actor`, which is called `name`.
    fn has_io(&mut self, actor: ActorId, name: VcpuName, pcpu: PcpuId) {
        if let Some(vcpu) = self.known(actor) {
            vcpu.here.io += 1;
        } else if self.elsewhere.parts() < PARTS_MAX {
            self.elsewhere.part(name, pcpu).io += 1;
        }
    }

    /// A page of `domain` was mapped or transferred, which counts for its first vcpu.
    fn has_page(&mut self, domain: DomainId, pcpu: PcpuId) {
        self.tells.grants = true;
        let name = VcpuName::new(domain, 0);
        let first = self.vcpus.iter().position(|v| v.name == name);
        let actor = first.map_or(ActorId::NONE, |slot| ActorId(slot as u32));
        self.has_io(actor, name, pcpu);
    }

    /// Takes a `DriverWork` record.
    fn worked(&mut self, names: &Names, record: &Record) {
        let at = record.at.as_nanos();
        let mut ran = 0;
        let slot = record.actor.index();
        if let Some(vcpu) = self.vcpus.get_mut(slot) {
            let passed = vcpu.track.executes(at);
            self.passed(slot, passed);
            ran = self.vcpus[slot].ran;
        }
        let taken = self.taken.take(record, ran, since(0));
        if let Some(((owner, ns), driver)) = taken.zip(names.vcpu(record.actor)) {
            self.tells.work = true;
            self.elsewhere
                .traffic(driver.domain, owner, |t| t.work += ns);
        }
    }

    /// Takes a record that reports no runstate.
    fn note(&mut self, names: &Names, record: &Record) {
        match record.kind() {
            Some(Kind::InfNext) => {
                if let Some(next) = names.vcpu(record.actor) {
                    self.give(record.pcpu, next.domain, record.words[1]);
                }
            }
            Some(Kind::DriverWork) => self.worked(names, record),
            Some(Kind::Lost) => self.lose(record),
            Some(_) => {}
            None if record.class == ClassId::FOREIGN => {
                if matches!(record.words[0], GRANT_MAP | GRANT_TRANSFER) {
                    self.has_page(DomainId(record.words[1] as u16), record.pcpu);
                }
            }
            None => {
                let declared = names.declared(record);
                if let Some(used_up) = declared.and_then(|d| budget::used_up(d, record)) {
                    self.budget(record, used_up);
                }
                if declared.is_some_and(|d| d.says == Says::Uninterruptible)
                    && let Some(vcpu) = self.known(record.actor)
                {
                    vcpu.uninterruptible = true;
                }
                self.moved(names, record);
            }
        }
    }

    /// The own budget of the record's vcpu is used up, or is not.
    fn budget(&mut self, record: &Record, used_up: bool) {
        let (at, window) = (record.at.as_nanos(), since(self.start.unwrap_or(0)));
        let Some(vcpu) = self.known(record.actor) else {
            return;
        };
        let filled = vcpu.budget.says(at, used_up, &vcpu.track, window) && !used_up;
        if filled && vcpu.track.state() == Runstate::Runnable {
            // It waits for a pcpu from now on.
            vcpu.entered = at;
        }
    }
}

/// All time from `from` on.
const fn since(from: u64) -> Window {
    Window { from, to: u64::MAX }
}

/// `vcpu` runs on another pcpu than before. What it has so far in this interval is for its old one.
#[cold]
fn move_to(vcpu: &mut Vcpu, pcpu: PcpuId, elsewhere: &mut Totals) {
    if elsewhere.parts() < PARTS_MAX {
        let here = std::mem::take(&mut vcpu.here);
        elsewhere.part(vcpu.name, vcpu.home).add(&here);
    }
    vcpu.home = pcpu;
}

impl Sink for Sampler {
    fn record(&mut self, names: &Names, record: &Record) {
        let at = record.at.as_nanos();
        self.ground.see(record);
        let vcpus = &self.vcpus;
        let going = self.going_on.see(record, |actor| {
            let vcpu = vcpus.get(actor.index());
            vcpu.is_none_or(|vcpu| !vcpu.track.has_changed())
        });
        let changes = record.changes();
        if changes[0].is_some() || going.goes_on || self.start.is_some() {
            self.advance(at);
        }
        if let Some(over) = going.over {
            self.displace(record, over);
        }
        if record.is(Kind::Switch)
            && let Some(next) = record.next().and_then(|next| names.vcpu(next))
        {
            self.give(record.pcpu, next.domain, record.words[3]);
        }
        if going.goes_on {
            // It runs, and may have no other record.
            self.goes_on(names, record);
        } else if changes[0].is_none() {
            self.note(names, record);
        }
        for (actor, old, new) in changes.into_iter().flatten() {
            self.change(names, (at, record.pcpu), actor, [old, new]);
        }
    }
}

#[cfg(test)]
mod tests;
