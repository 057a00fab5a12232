//! What XenMon shows: the same few figures of every domain, once an interval.

mod sample;
mod stays;

pub use sample::{
    DomainSample, Figures, GuestTraffic, IntervalSample, Part, QueueWait, Tells, Totals,
};

use std::collections::VecDeque;

use domio_core::{DomainId, Duration, Instant, Kind, PcpuId, Record, Runstate, Sink, VcpuName};
use domio_trace::{GoingOn, Losses, Over, VCPUS_MAX};

use crate::account::Window;
use crate::words::ByWord;
use crate::work::Taken;
use stays::Stays;

/// Most intervals without a record that become samples of their own; a longer gap is one sample.
/// Keeps a damaged time from making samples without end.
const EMPTY_MAX: u64 = 1000;

/// As many parts may the samples of a gap have.
const EMPTY_PARTS_MAX: usize = 1 << 20;

/// Most parts of one sample: when there are so many, vcpus count where they are. No host has so
/// many vcpus that move so often.
const PARTS_MAX: usize = 1 << 18;

/// Xen's event of a page that was mapped by grant, and of one that was transferred (xen-spec 7.1).
pub(crate) const GRANT_MAP: u32 = 0x0010_f001;
/// See [`GRANT_MAP`].
pub(crate) const GRANT_TRANSFER: u32 = 0x0010_f003;

/// Cuts a trace into intervals: feed it every record, take samples as they come, and
/// [`Sampler::finish`] for the last one.
///
/// The first interval starts at the first runstate record. Unlike xenbaked, which closes a domain's
/// books only when something happens to it, states count up to the edge of the interval; unlike
/// XenMon's logs, a wake-up counts for its domain whichever pcpu recorded it.
/// [`Baked`](crate::Baked) makes xenbaked's figures.
///
/// Memory is constant but for some 200 bytes a vcpu and a pcpu that it ran on within an interval.
#[derive(Debug)]
pub struct Sampler {
    interval: u64,
    start: Option<u64>,
    latest: u64,
    /// The end of the interval; nothing happens to it before.
    edge: u64,
    index: ByWord<u32>,
    vcpus: Vec<Vcpu>,
    losses: Losses,
    going_on: GoingOn,
    stays: Stays,
    /// Slices that were given on each pcpu and belong to whoever comes next, with his domain.
    given: Vec<Option<(DomainId, u32)>>,
    taken: Taken,
    tells: Tells,
    lost_records: u64,
    /// What the interval has, but for what vcpus have where they are.
    elsewhere: Totals,
    ready: VecDeque<IntervalSample>,
}

#[derive(Debug)]
struct Vcpu {
    name: VcpuName,
    state: Runstate,
    since: u64,
    /// When it came into its state; when it was first seen in it, where that is not known.
    entered: u64,
    /// The pcpu of its latest record.
    pcpu: PcpuId,
    losses: u64,
    /// Whether more than records that it goes on has told of it.
    changed: bool,
    /// Where it ran last, or was first heard of.
    home: PcpuId,
    /// Its figures there, in this interval.
    here: Figures,
    /// Time that it executed so far.
    ran: u64,
}

impl Vcpu {
    #[inline]
    fn pass(&mut self, length: u64) {
        self.here.add_time(self.state, length);
        if self.state == Runstate::Running {
            self.ran = self.ran.saturating_add(length);
        }
    }

    /// Whether it is in a run queue. Idle vcpus are runnable, but wait for nothing.
    #[inline]
    fn waits(&self) -> bool {
        self.state == Runstate::Runnable && !self.name.is_idle()
    }

    /// Whether lost records may hide a change.
    #[inline]
    fn missed(&self, losses: &Losses) -> bool {
        losses.concerning(self.state, self.pcpu) != self.losses
    }
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
            latest: 0,
            edge: 0,
            index: ByWord::default(),
            vcpus: Vec::new(),
            losses: Losses::new(),
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
    #[inline]
    pub fn take(&mut self) -> Option<IntervalSample> {
        self.ready.pop_front()
    }

    /// What is left: complete intervals that were not taken, and the last one up to the last
    /// record.
    pub fn finish(mut self) -> impl Iterator<Item = IntervalSample> {
        if let Some(start) = self.start
            && self.latest > start
        {
            self.cut(start, self.latest);
        }
        self.ready.into_iter()
    }

    /// Ends intervals up to `at`.
    #[inline]
    fn advance(&mut self, at: u64) {
        self.latest = self.latest.max(at);
        if at >= self.edge {
            self.turn(at);
        }
    }

    #[cold]
    fn turn(&mut self, at: u64) {
        let Some(mut start) = self.start else {
            self.start = Some(at);
            self.edge = at.saturating_add(self.interval);
            return;
        };
        let most = EMPTY_PARTS_MAX / self.vcpus.len().max(1);
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
        for vcpu in &mut self.vcpus {
            let missed = vcpu.missed(&self.losses);
            let length = end.saturating_sub(vcpu.since);
            vcpu.since = vcpu.since.max(end);
            if !missed {
                vcpu.pass(length);
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

    /// The place of a vcpu in the list; `None` where there is no room for it.
    #[inline]
    fn slot(&mut self, at: u64, pcpu: PcpuId, name: VcpuName) -> Option<usize> {
        let word = name.word();
        if let Some(slot) = self.index.get(&word) {
            return Some(*slot as usize);
        }
        self.new_slot(at, pcpu, name)
    }

    #[cold]
    fn new_slot(&mut self, at: u64, pcpu: PcpuId, name: VcpuName) -> Option<usize> {
        let slot = self.vcpus.len();
        if slot >= VCPUS_MAX {
            return None;
        }
        self.index.insert(name.word(), slot as u32);
        self.vcpus.push(Vcpu {
            name,
            state: Runstate::Offline,
            since: at,
            entered: at,
            pcpu,
            // Its first record tells of nothing before.
            losses: Losses::UNSURE,
            changed: false,
            home: pcpu,
            here: Figures::default(),
            ran: 0,
        });
        Some(slot)
    }

    #[inline]
    fn change(&mut self, at: u64, pcpu: PcpuId, name: VcpuName, old: Runstate, new: Runstate) {
        let Some(slot) = self.slot(at, pcpu, name) else {
            return;
        };
        let vcpu = &mut self.vcpus[slot];
        let sure = vcpu.state == old && !vcpu.missed(&self.losses);
        if sure {
            vcpu.pass(at.saturating_sub(vcpu.since));
        }
        let is_mark = old == new;
        if new == Runstate::Running {
            if sure && vcpu.waits() {
                let length = at.saturating_sub(vcpu.entered);
                if length > self.elsewhere.longest() {
                    let behind = self.stays.most(pcpu, vcpu.entered, at);
                    self.elsewhere.waited(Some(QueueWait {
                        vcpu: name,
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
            self.stays.begin(pcpu, name, at);
        } else if old == Runstate::Running {
            self.stays.end(pcpu, name, at);
        }
        vcpu.here.executions += u64::from(new == Runstate::Running && !is_mark);
        vcpu.here.wakeups += u64::from(old == Runstate::Blocked && new == Runstate::Runnable);
        if !(is_mark && sure) {
            vcpu.entered = at;
        }
        vcpu.changed |= !is_mark;
        vcpu.state = new;
        vcpu.since = at;
        vcpu.pcpu = pcpu;
        vcpu.losses = self.losses.concerning(new, pcpu);
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

    /// Whoever comes to `pcpu` next has a slice, if he is of `domain`: before Xen 4.8 the record of
    /// it names no vcpu.
    fn give(&mut self, pcpu: PcpuId, domain: DomainId, slice: u32) {
        let index = pcpu.index();
        if self.given.len() <= index {
            self.given.resize(index + 1, None);
        }
        self.given[index] = (slice != u32::MAX).then_some((domain, slice));
    }

    /// A run that only went on on the record's pcpu is over: since now, or since an unknown time
    /// before.
    #[cold]
    fn displace(&mut self, record: &Record, over: Over) {
        let Some(slot) = self.index.get(&over.vcpu.word()) else {
            return;
        };
        let left = &mut self.vcpus[*slot as usize];
        if left.changed || left.state != Runstate::Running || left.pcpu != record.pcpu {
            return;
        }
        let at = record.at.as_nanos();
        if over.now && !left.missed(&self.losses) {
            left.pass(at.saturating_sub(left.since));
        }
        left.since = left.since.max(at);
        left.losses = Losses::UNSURE;
    }

    /// The record's vcpu goes on, of which nothing else is known.
    #[cold]
    fn leaves(&mut self, record: &Record) {
        let slot = self.index.get(&record.vcpu.word()).copied();
        if let Some(was) = slot.map(|slot| &mut self.vcpus[slot as usize])
            && was.pcpu != record.pcpu
        {
            // It went on elsewhere before, and has left there without a record.
            was.losses = Losses::UNSURE;
        }
    }

    /// Takes a `NetMove` record: netback is where packets are counted.
    #[inline]
    fn moved(&mut self, record: &Record) {
        let Some((driver, sent)) = record.at_netback() else {
            return;
        };
        self.tells.packets = true;
        self.elsewhere
            .traffic(driver, record.vcpu.domain, |traffic| {
                traffic.sent += u64::from(sent);
                traffic.received += u64::from(!sent);
            });
        self.has_io(record.vcpu, record.pcpu);
    }

    /// A packet or a page of `vcpu`'s domain.
    fn has_io(&mut self, vcpu: VcpuName, pcpu: PcpuId) {
        match self.index.get(&vcpu.word()) {
            Some(slot) => self.vcpus[*slot as usize].here.io += 1,
            None if self.elsewhere.parts() < PARTS_MAX => self.elsewhere.part(vcpu, pcpu).io += 1,
            None => {}
        }
    }

    /// Takes a `DriverWork` record.
    fn worked(&mut self, record: &Record) {
        let at = record.at.as_nanos();
        let slot = self.index.get(&record.vcpu.word()).copied();
        let mut ran = 0;
        if let Some(vcpu) = slot.map(|slot| &mut self.vcpus[slot as usize]) {
            if vcpu.state == Runstate::Running && !vcpu.missed(&self.losses) {
                vcpu.pass(at.saturating_sub(vcpu.since));
                vcpu.since = vcpu.since.max(at);
            }
            ran = vcpu.ran;
        }
        let whole = Window {
            from: 0,
            to: u64::MAX,
        };
        if let Some((owner, ns)) = self.taken.take(record, ran, whole) {
            self.tells.work = true;
            let driver = record.vcpu.domain;
            self.elsewhere.traffic(driver, owner, |t| t.work += ns);
        }
    }

    /// Takes a record of a kind that tells of no runstate.
    fn note(&mut self, record: &Record) {
        match record.kind {
            Kind::InfNext => self.give(record.pcpu, record.vcpu.domain, record.data[1]),
            Kind::NetMove => self.moved(record),
            Kind::DriverWork => self.worked(record),
            Kind::Other if matches!(record.data[0], GRANT_MAP | GRANT_TRANSFER) => {
                self.tells.grants = true;
                let guest = VcpuName::new(DomainId(record.data[1] as u16), 0);
                self.has_io(guest, record.pcpu);
            }
            Kind::Lost => {
                self.losses.add(record.pcpu);
                self.lost_records += u64::from(record.data[0]);
            }
            _ => {}
        }
    }
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
    #[inline]
    fn record(&mut self, record: &Record) {
        let at = record.at.as_nanos();
        let (index, vcpus) = (&self.index, &self.vcpus);
        let going = self.going_on.see(record, |vcpu| {
            let slot = index.get(&vcpu.word());
            slot.is_none_or(|slot| !vcpus[*slot as usize].changed)
        });
        let changes = match going.goes_on {
            // It runs, and may have no other record.
            true => [
                Some((record.vcpu, Runstate::Running, Runstate::Running)),
                None,
            ],
            false => record.changes(),
        };
        if changes[0].is_some() || self.start.is_some() {
            self.advance(at);
        }
        if going.goes_on {
            self.leaves(record);
        }
        if let Some(over) = going.over {
            self.displace(record, over);
        }
        if record.kind == Kind::Switch {
            let next = VcpuName::from_word(record.data[0]);
            self.give(record.pcpu, next.domain, record.data[3]);
        }
        if changes[0].is_none() {
            self.note(record);
        }
        for (vcpu, old, new) in changes.into_iter().flatten() {
            self.change(at, record.pcpu, vcpu, old, new);
        }
    }
}

#[cfg(test)]
mod tests;
