//! The figures of one stretch of time, and their sums.

use std::collections::BTreeMap;

use domio_core::{DomainId, Instant, PcpuId, Runstate, VcpuName};

use crate::account::could_run;

/// Sums of one stretch of time; times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// On a pcpu.
    pub gotten: u64,
    /// Sum of the time slices that the policy gave when it put a vcpu on a pcpu; slices without a
    /// limit do not count.
    pub allocated: u64,
    /// Runnable without a pcpu, and not held back by its own budget.
    pub waited: u64,
    /// Blocked.
    pub blocked: u64,
    /// Part of it: it could not be interrupted
    /// ([`Says::Uninterruptible`](domio_core::Says::Uninterruptible)).
    pub uninterruptible: u64,
    /// Put to sleep while it ran or was runnable, by its cap or by a pause, or held back by its own
    /// budget, which was used up.
    pub parked: u64,
    /// Other time that it was offline: paused while it was blocked, or not brought up.
    pub paused: u64,
    /// In a state that is not known: records are missing.
    pub unknown: u64,
    /// Times that a vcpu was put on a pcpu.
    pub executions: u64,
    /// Times that a vcpu went from blocked to runnable.
    pub wakeups: u64,
    /// Packets that netback took from the vcpu's domain or handed to it, and pages that the domain
    /// had mapped or transferred by grant, whichever the trace reports ([`Tells`]).
    pub io: u64,
}

impl Figures {
    /// Adds `length` to the time in `state`, which came after the state `after`.
    #[inline]
    pub(crate) fn add_time(&mut self, (state, after): (Runstate, Runstate), length: u64) {
        let sum = match state {
            Runstate::Running => &mut self.gotten,
            Runstate::Runnable => &mut self.waited,
            Runstate::Blocked => &mut self.blocked,
            Runstate::Offline if could_run(after) => &mut self.parked,
            Runstate::Offline => &mut self.paused,
        };
        *sum = sum.saturating_add(length);
    }

    /// Adds those of another stretch of time. Sums stop at `u64::MAX`, which only a damaged trace
    /// reaches.
    pub fn add(&mut self, other: &Figures) {
        for (sum, part) in [
            (&mut self.gotten, other.gotten),
            (&mut self.allocated, other.allocated),
            (&mut self.waited, other.waited),
            (&mut self.blocked, other.blocked),
            (&mut self.uninterruptible, other.uninterruptible),
            (&mut self.parked, other.parked),
            (&mut self.paused, other.paused),
            (&mut self.unknown, other.unknown),
            (&mut self.executions, other.executions),
            (&mut self.wakeups, other.wakeups),
            (&mut self.io, other.io),
        ] {
            *sum = sum.saturating_add(part);
        }
    }

    /// Takes times away that had been added.
    fn take_away(&mut self, other: &Figures) {
        for (sum, part) in [
            (&mut self.gotten, other.gotten),
            (&mut self.waited, other.waited),
            (&mut self.blocked, other.blocked),
            (&mut self.uninterruptible, other.uninterruptible),
            (&mut self.parked, other.parked),
            (&mut self.paused, other.paused),
            (&mut self.unknown, other.unknown),
        ] {
            *sum = sum.saturating_sub(part);
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Figures::default()
    }
}

/// A domain in one interval: sums over its vcpus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DomainSample {
    /// The domain.
    pub id: DomainId,
    /// Its figures.
    pub figures: Figures,
}

/// A vcpu on a pcpu in one interval.
///
/// Time on a pcpu counts for that pcpu. All else counts for the pcpu on which the vcpu ran last, or
/// was first heard of: there it waits in a run queue, and there it blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// The vcpu.
    pub vcpu: VcpuName,
    /// The pcpu.
    pub pcpu: PcpuId,
    /// The figures of the one on the other.
    pub figures: Figures,
}

/// What a driver domain did for a guest in one interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GuestTraffic {
    /// The driver domain.
    pub driver: DomainId,
    /// The guest.
    pub guest: DomainId,
    /// Packets that netback took from the ring of the guest.
    pub sent: u64,
    /// Packets that netback put into the ring to the guest.
    pub received: u64,
    /// Time that the driver domain executed on behalf of the guest, in nanoseconds, as
    /// [`Kind::DriverWork`](domio_core::Kind::DriverWork) tells; counted when it is told.
    pub work: u64,
}

/// A stay of a vcpu in a run queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueWait {
    /// The vcpu that waited.
    pub vcpu: VcpuName,
    /// The pcpu that it got in the end, or ran on last.
    pub pcpu: PcpuId,
    /// Since when it waited, as far as is known: it may have waited before its first record.
    pub since: Instant,
    /// How long, up to the end of the wait or of the interval, in nanoseconds.
    pub length: u64,
    /// Whether it continues at the end of the interval.
    pub goes_on: bool,
    /// The vcpu that ran on that pcpu for most of the time, and for how much of it, in nanoseconds;
    /// the idle vcpu if nobody did. `None` where nothing is known.
    pub behind: Option<(VcpuName, u64)>,
}

/// What a trace has reported so far in addition to runstates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tells {
    /// Of packets at netback.
    pub packets: bool,
    /// Of pages that were mapped or transferred by grant.
    pub grants: bool,
    /// Of whom driver domains worked for.
    pub work: bool,
}

impl Tells {
    /// What one of the two has reported.
    pub fn or(self, other: Tells) -> Tells {
        Tells {
            packets: self.packets || other.packets,
            grants: self.grants || other.grants,
            work: self.work || other.work,
        }
    }
}

/// What an interval reports the time before it: what a vcpu did before its first record, or while
/// records were missing, is known from the old state of its next record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mending {
    /// Times that samples before have, and that are something else.
    pub less: Vec<Part>,
    /// Times that they do not have.
    pub more: Vec<Part>,
}

/// One interval.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IntervalSample {
    /// First instant.
    pub start: Instant,
    /// First instant of the next interval.
    pub end: Instant,
    /// Records that Xen dropped, as told in this interval.
    pub lost_records: u64,
    /// By id, those that something is known of; the idle domain is one of them.
    pub domains: Vec<DomainSample>,
    /// By vcpu and pcpu. They sum to [`IntervalSample::domains`].
    pub parts: Vec<Part>,
    /// By driver domain and guest.
    pub traffic: Vec<GuestTraffic>,
    /// The longest wait that ended in the interval or continues at its end.
    pub longest_wait: Option<QueueWait>,
    /// What became known of the time before the interval. [`Totals::mend`] adds it to sums.
    pub mending: Mending,
    /// What the trace has reported up to the end of the interval.
    pub tells: Tells,
    /// Time that the figures of a pcpu are of, where that is not the length of the interval:
    /// xenbaked's samples end when they like.
    pub passed: Vec<(PcpuId, u64)>,
}

impl IntervalSample {
    /// Length of the interval in nanoseconds.
    pub fn length(&self) -> u64 {
        self.end.saturating_since(self.start).as_nanos()
    }

    /// Time that the figures of `pcpu` are of, in nanoseconds.
    pub fn passed(&self, pcpu: PcpuId) -> u64 {
        let own = self.passed.iter().find(|(p, _)| *p == pcpu);
        own.map_or_else(|| self.length(), |(_, passed)| *passed)
    }

    /// The figures of domain `id`; nothing where it is not known.
    pub fn domain(&self, id: DomainId) -> Figures {
        let at = self.domains.binary_search_by_key(&id, |d| d.id);
        at.map_or_else(|_| Figures::default(), |at| self.domains[at].figures)
    }

    /// The pcpus that there are figures of, in their order.
    pub fn pcpus(&self) -> Vec<PcpuId> {
        let parts = self.parts.iter().map(|part| part.pcpu);
        let mut pcpus: Vec<PcpuId> = parts.chain(self.passed.iter().map(|p| p.0)).collect();
        pcpus.sort_unstable();
        pcpus.dedup();
        pcpus
    }

    /// The figures of one pcpu alone. Traffic, the longest wait and lost records stay those of the
    /// host.
    pub fn on(&self, pcpu: PcpuId) -> IntervalSample {
        let parts: Vec<Part> = self
            .parts
            .iter()
            .filter(|p| p.pcpu == pcpu)
            .copied()
            .collect();
        IntervalSample {
            domains: domains(&parts),
            parts,
            ..self.clone()
        }
    }
}

/// The sums of `parts`, which are in the order of their vcpus, by domain.
fn domains(parts: &[Part]) -> Vec<DomainSample> {
    let mut domains: Vec<DomainSample> = Vec::new();
    for part in parts {
        let id = part.vcpu.domain;
        match domains.last_mut().filter(|d| d.id == id) {
            Some(domain) => domain.figures.add(&part.figures),
            None => domains.push(DomainSample {
                id,
                figures: part.figures,
            }),
        }
    }
    domains
}

/// Adds up samples that follow each other.
///
/// Sums over all of a trace are those of [`Meter`](crate::Meter) if every sample is mended, too
/// ([`Totals::mend`]): a sample has what is known at its end.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    span: Option<(Instant, Instant)>,
    lost_records: u64,
    parts: BTreeMap<(VcpuName, PcpuId), Figures>,
    traffic: BTreeMap<(DomainId, DomainId), GuestTraffic>,
    longest_wait: Option<QueueWait>,
    mending: Mending,
    tells: Tells,
    passed: BTreeMap<PcpuId, u64>,
}

impl Totals {
    /// The sums of `samples`.
    pub fn of<'a>(samples: impl IntoIterator<Item = &'a IntervalSample>) -> IntervalSample {
        let mut totals = Totals::default();
        for sample in samples {
            totals.add(sample);
        }
        totals.sample()
    }

    /// The sums of all samples of a trace, `samples`, with all that was notified of each later on.
    pub fn of_trace<'a>(samples: impl IntoIterator<Item = &'a IntervalSample>) -> IntervalSample {
        let mut totals = Totals::default();
        for sample in samples {
            totals.add(sample);
            totals.mend(sample);
        }
        totals.sample()
    }

    /// Mends the sums by what `sample` reports the time before, all of which is in them.
    pub fn mend(&mut self, sample: &IntervalSample) {
        for part in &sample.mending.less {
            let sums = self.parts.entry((part.vcpu, part.pcpu)).or_default();
            sums.take_away(&part.figures);
        }
        for part in &sample.mending.more {
            self.part(part.vcpu, part.pcpu).add(&part.figures);
        }
    }

    /// Adds the next one.
    pub fn add(&mut self, sample: &IntervalSample) {
        let start = self.span.map_or(sample.start, |(start, _)| start);
        self.span = Some((start.min(sample.start), sample.end));
        self.lost_records += sample.lost_records;
        for part in &sample.parts {
            let sums = self.parts.entry((part.vcpu, part.pcpu)).or_default();
            sums.add(&part.figures);
        }
        for more in &sample.traffic {
            self.traffic(more.driver, more.guest, |traffic| {
                traffic.sent += more.sent;
                traffic.received += more.received;
                traffic.work = traffic.work.saturating_add(more.work);
            });
        }
        self.waited(sample.longest_wait);
        self.tells = self.tells.or(sample.tells);
        for (pcpu, passed) in &sample.passed {
            *self.passed.entry(*pcpu).or_default() += passed;
        }
    }

    /// Adds to what a driver domain does for a guest.
    pub(crate) fn traffic(
        &mut self,
        driver: DomainId,
        guest: DomainId,
        add: impl FnOnce(&mut GuestTraffic),
    ) {
        let new = GuestTraffic {
            driver,
            guest,
            ..GuestTraffic::default()
        };
        add(self.traffic.entry((driver, guest)).or_insert(new));
    }

    /// Adds to the figures of a vcpu on a pcpu.
    pub(crate) fn part(&mut self, vcpu: VcpuName, pcpu: PcpuId) -> &mut Figures {
        self.parts.entry((vcpu, pcpu)).or_default()
    }

    /// How many parts there are.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// How long the longest wait is so far.
    pub(crate) fn longest(&self) -> u64 {
        self.longest_wait.map_or(0, |wait| wait.length)
    }

    /// Takes a wait. The first of equal ones is kept.
    pub(crate) fn waited(&mut self, wait: Option<QueueWait>) {
        if wait.is_some_and(|wait| wait.length > self.longest()) {
            self.longest_wait = wait;
        }
    }

    /// The sums.
    pub fn sample(&self) -> IntervalSample {
        let (start, end) = self.span.unwrap_or_default();
        let part = |(&(vcpu, pcpu), figures): (&(VcpuName, PcpuId), &Figures)| Part {
            vcpu,
            pcpu,
            figures: *figures,
        };
        let parts: Vec<Part> = self.parts.iter().map(part).collect();
        IntervalSample {
            start,
            end,
            lost_records: self.lost_records,
            domains: domains(&parts),
            parts,
            traffic: self.traffic.values().copied().collect(),
            longest_wait: self.longest_wait,
            mending: self.mending.clone(),
            tells: self.tells,
            passed: self.passed.iter().map(|(pcpu, ns)| (*pcpu, *ns)).collect(),
        }
    }

    /// Adds to the time that the figures of a pcpu are of.
    pub(crate) fn passed(&mut self, pcpu: PcpuId, ns: u64) {
        *self.passed.entry(pcpu).or_default() += ns;
    }

    /// Takes what became known of the time before.
    pub(crate) fn mending(&mut self) -> &mut Mending {
        &mut self.mending
    }

    /// Adds records that were lost.
    pub(crate) fn lost(&mut self, records: u64) {
        self.lost_records += records;
    }

    /// Sets the time that the figures are of.
    pub(crate) fn spans(&mut self, start: u64, end: u64) {
        self.span = Some((Instant::from_nanos(start), Instant::from_nanos(end)));
    }

    /// Sets the time that the figures are of, and what else concerns all of it.
    pub(crate) fn about(&mut self, span: (u64, u64), lost_records: u64, tells: Tells) {
        self.spans(span.0, span.1);
        self.lost_records = lost_records;
        self.tells = tells;
    }
}
