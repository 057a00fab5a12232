//! The figures of Xen's own `xenbaked` and `xenmon`, with all their errors (xen-spec 7.5).
//!
//! [`Sampler`](crate::Sampler) says what happened. This says what an operator's screen said, so
//! that old logs can be compared with new traces. What is wrong with the figures, by its number in
//! `docs/mon.md`:
//!
//! 1. Gotten is the time since the domain was switched in, booked when it is switched out or a
//!    sample ends, and only if the domain was runnable when it was last booked.
//! 2. A wake-up counts on the cpu whose buffer holds its record. Where that is not the cpu on which
//!    the domain blocked, it stays blocked there until it is switched in, its wait included.
//! 3. Blocked time is booked as a whole when it ends: a sample may have more of it than time.
//! 4. A sample ends with the first record after its time is over, so it is longer than asked for; a
//!    cpu without records ends none.
//! 5. A domain has one state on a cpu, however many vcpus it has there.
//! 6. 32 domains have a place, by the order in which they are seen, the idle domain being one.
//! 7. A page transfer of a domain counts on every cpu, and once more for the first domain. Packets
//!    that are copied and pages that are mapped do not count, so that with a copying netback there
//!    is no I/O.
//! 8. A slice without a limit, -1, counts as 2^32 - 1 ns.
//! 9. Of 100 samples that are kept, the last is never used; a window never reaches over the ten
//!    samples after the current one, so that 10 s are 7.9 to 8.9 s.
//! 10. Xen 4.8 put the vcpu in front of what the records had. xenbaked reads on as before: the time
//!     waited is then the number of the vcpu, and the time allocated is the time waited.

use std::collections::VecDeque;

use domio_core::{ClassId, DomainId, Duration, Kind, Names, PcpuId, Record, Sink, VcpuName};

use crate::sampler::{Figures, GRANT_TRANSFER, IntervalSample, Totals};

/// Samples of each cpu, of which the last is never used.
const SAMPLES: usize = 100;

/// Domains that have a place.
const DOMAINS: usize = 32;

/// Samples that a window keeps away from, counted from the current one.
const AWAY: usize = 10;

/// What Xen wrote into the records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// As xenbaked expects.
    Before48,
    /// With a vcpu that it does not expect.
    Since48,
}

/// The figures of two windows at one moment, as the two halves of xenmon's screen have them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Windows {
    /// Of one interval.
    pub short: IntervalSample,
    /// Of ten intervals, as far as xenbaked's samples go.
    pub long: IntervalSample,
}

/// Makes xenbaked's samples: feed it every record, and take the windows at the end of each interval
/// as they come.
#[derive(Debug)]
pub struct Baked {
    per_sample: u64,
    interval: u64,
    payload: Payload,
    start: Option<u64>,
    latest: u64,
    edge: u64,
    /// By place, in the order in which they were seen.
    domains: Vec<DomainId>,
    cpus: Vec<Option<Cpu>>,
    totals: Totals,
    ready: VecDeque<Windows>,
}

/// What xenbaked knows of one cpu.
#[derive(Debug)]
struct Cpu {
    samples: Vec<Slot>,
    next: usize,
    began: u64,
    current: Option<usize>,
    states: [State; DOMAINS],
}

/// One sample of a cpu.
#[derive(Clone, Debug, Default)]
struct Slot {
    passed: u64,
    lost: u64,
    figures: [Figures; DOMAINS],
}

/// What xenbaked thinks that a domain does on a cpu.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    runnable: bool,
    was_runnable: bool,
    start: u64,
    blocked_since: Option<u64>,
}

impl Cpu {
    fn new(at: u64) -> Self {
        Cpu {
            samples: vec![Slot::default(); SAMPLES],
            next: 0,
            began: at,
            current: None,
            states: [State::default(); DOMAINS],
        }
    }

    fn figures(&mut self, place: usize) -> &mut Figures {
        &mut self.samples[self.next].figures[place]
    }

    /// Books what a domain got (error 1).
    fn book(&mut self, place: usize, at: u64) {
        let state = &mut self.states[place];
        if self.current == Some(place) {
            if state.was_runnable {
                let ran = at.saturating_sub(state.start);
                self.samples[self.next].figures[place].gotten += ran;
            }
            state.start = at;
        }
        state.was_runnable = state.runnable;
    }

    fn unblock(&mut self, place: usize, at: u64) {
        let state = &mut self.states[place];
        state.runnable = true;
        if let Some(since) = state.blocked_since.take() {
            self.figures(place).blocked += at.saturating_sub(since);
        }
    }

    fn block(&mut self, place: usize, at: u64) {
        let state = &mut self.states[place];
        state.runnable = false;
        state.blocked_since.get_or_insert(at);
    }

    fn switched_in(&mut self, place: usize, at: u64, waited: u64, slice: u64) {
        self.unblock(place, at);
        let state = &mut self.states[place];
        state.start = at;
        state.was_runnable = true;
        self.current = Some(place);
        let figures = self.figures(place);
        figures.executions += 1;
        figures.allocated += slice;
        figures.waited += waited;
    }

    /// Ends the sample. Returns it when it was closed.
    fn end_sample(&mut self, at: u64) -> Slot {
        for place in 0..DOMAINS {
            self.book(place, at);
        }
        self.samples[self.next].passed = at.saturating_sub(self.began);
        let closed = self.samples[self.next].clone();
        // Error 9: the last place is passed over.
        self.next = (self.next + 1) % (SAMPLES - 1);
        self.samples[self.next] = Slot::default();
        self.began = at;
        closed
    }

    /// The sum of the latest samples, as many as make `duration` or as the window holds.
    fn window(&self, duration: u64) -> Slot {
        let end = match self.next + AWAY {
            end if end < SAMPLES => end,
            _ => AWAY,
        };
        // One nanosecond stands against division by zero.
        let mut sum = Slot {
            passed: 1,
            ..Slot::default()
        };
        let mut at = self.next;
        while sum.passed < duration {
            at = at.checked_sub(1).unwrap_or(SAMPLES - 1);
            if at == end {
                break;
            }
            sum.add(&self.samples[at]);
        }
        sum
    }
}

impl Slot {
    fn add(&mut self, other: &Slot) {
        self.passed += other.passed;
        self.lost += other.lost;
        for (sum, part) in self.figures.iter_mut().zip(&other.figures) {
            sum.add(part);
        }
    }

    /// Adds what a cpu has in this sample.
    fn add_to(&self, totals: &mut Totals, pcpu: PcpuId, domains: &[DomainId]) {
        for (domain, figures) in domains.iter().zip(&self.figures) {
            if !figures.is_empty() {
                let vcpu = VcpuName::new(*domain, 0);
                totals.part(vcpu, pcpu).add(figures);
            }
        }
        totals.passed(pcpu, self.passed);
        totals.lost(self.lost);
    }
}

impl Baked {
    /// Samples of `per_sample`, shown at the end of every `interval`.
    ///
    /// # Panics
    /// When one of the two is zero.
    pub fn new(per_sample: Duration, interval: Duration, payload: Payload) -> Self {
        assert!(!per_sample.is_zero() && !interval.is_zero(), "no time");
        Baked {
            per_sample: per_sample.as_nanos(),
            interval: interval.as_nanos(),
            payload,
            start: None,
            latest: 0,
            edge: 0,
            domains: Vec::new(),
            cpus: Vec::new(),
            totals: Totals::default(),
            ready: VecDeque::new(),
        }
    }

    /// The windows of the next complete interval, when there is one.
    pub fn take(&mut self) -> Option<Windows> {
        self.ready.pop_front()
    }

    /// The sums of all samples that are over.
    pub fn totals(&self) -> IntervalSample {
        let mut totals = self.totals.clone();
        totals.spans(self.start.unwrap_or(0), self.latest);
        totals.sample()
    }

    /// The place of a domain (error 6).
    fn place(&mut self, domain: DomainId) -> Option<usize> {
        let known = self.domains.iter().position(|d| *d == domain);
        known.or_else(|| {
            let place = self.domains.len();
            (place < DOMAINS).then(|| {
                self.domains.push(domain);
                place
            })
        })
    }

    /// Shows the windows of every interval that is over at `at`. Of a long gap the last is shown
    /// alone: nothing changes meanwhile.
    fn advance(&mut self, at: u64) {
        self.latest = self.latest.max(at);
        if self.start.is_none() {
            self.start = Some(at);
            self.edge = at.saturating_add(self.interval);
        }
        if at < self.edge || self.edge == u64::MAX {
            return;
        }
        let over = (at - self.edge) / self.interval;
        let end = self.edge + over * self.interval;
        let windows = Windows {
            short: self.window(end, self.interval),
            long: self.window(end, self.interval.saturating_mul(10)),
        };
        self.ready.push_back(windows);
        self.edge = end.saturating_add(self.interval);
    }

    fn window(&self, end: u64, duration: u64) -> IntervalSample {
        let mut totals = Totals::default();
        totals.spans(end.saturating_sub(duration), end);
        for (pcpu, cpu) in self.cpus.iter().enumerate() {
            if let Some(cpu) = cpu {
                let window = cpu.window(duration);
                window.add_to(&mut totals, PcpuId(pcpu as u16), &self.domains);
            }
        }
        totals.sample()
    }

    fn event(&mut self, names: &Names, record: &Record, index: usize) {
        let at = record.at.as_nanos();
        let kind = match record.kind() {
            Some(Kind::Lost) => {
                if let Some(cpu) = &mut self.cpus[index] {
                    cpu.samples[cpu.next].lost += u64::from(record.words[0]);
                }
                return;
            }
            Some(kind) => kind,
            None => {
                if record.class == ClassId::FOREIGN && record.words[0] == GRANT_TRANSFER {
                    let place = self.place(DomainId(record.words[1] as u16));
                    self.transferred(place, index);
                }
                return;
            }
        };
        let Some(vcpu) = names.vcpu(record.actor) else {
            return;
        };
        let place = match kind {
            Kind::Switch
            | Kind::InfPrev
            | Kind::InfNext
            | Kind::Block
            | Kind::Sleep
            | Kind::Wake => self.place(vcpu.domain),
            _ => return,
        };
        let next = record.next().filter(|_| kind == Kind::Switch);
        let next = next.and_then(|next| names.vcpu(next));
        let next_place = next.and_then(|next| self.place(next.domain));
        let shown = |vcpu: VcpuName, waited: u32, slice: u32| match self.payload {
            Payload::Before48 => (u64::from(waited), u64::from(slice)),
            Payload::Since48 => (u64::from(vcpu.index), u64::from(waited)),
        };
        let Some(cpu) = &mut self.cpus[index] else {
            return;
        };
        match (kind, place) {
            (Kind::Block | Kind::Sleep, Some(place)) => cpu.block(place, at),
            (Kind::Wake, Some(place)) => cpu.unblock(place, at),
            (Kind::InfPrev | Kind::Switch, Some(place)) => cpu.book(place, at),
            (Kind::InfNext, Some(place)) => {
                let (waited, slice) = shown(vcpu, record.words[0], record.words[1]);
                cpu.switched_in(place, at, waited, slice);
            }
            _ => {}
        }
        // A `Switch` stands for both halves.
        if let Some((place, next)) = next_place.zip(next) {
            let (waited, slice) = shown(next, record.words[2], record.words[3]);
            cpu.switched_in(place, at, waited, slice);
        }
    }

    /// A page of the domain at `place` was transferred (error 7).
    fn transferred(&mut self, place: Option<usize>, index: usize) {
        if let Some(place) = place {
            for cpu in self.cpus.iter_mut().flatten() {
                cpu.figures(place).io += 1;
            }
        }
        if let Some(cpu) = &mut self.cpus[index] {
            cpu.figures(0).io += 1;
        }
    }
}

impl Sink for Baked {
    fn record(&mut self, names: &Names, record: &Record) {
        let at = record.at.as_nanos();
        self.advance(at);
        let index = record.pcpu.index();
        if self.cpus.len() <= index {
            self.cpus.resize_with(index + 1, || None);
        }
        self.cpus[index].get_or_insert_with(|| Cpu::new(at));
        self.event(names, record, index);
        let Some(cpu) = &mut self.cpus[index] else {
            return;
        };
        // Error 4.
        if at.saturating_sub(cpu.began) > self.per_sample {
            let closed = cpu.end_sample(at);
            closed.add_to(&mut self.totals, record.pcpu, &self.domains);
        }
    }
}

#[cfg(test)]
mod tests;
