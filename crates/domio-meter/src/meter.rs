//! The meter: records in, figures out.

use domio_core::{ActorId, DomainId, Instant, Kind, Names, PcpuId, Record, Runstate, Sink};
use domio_trace::{Going, GoingOn, Losses, Over, Undeclared, VCPUS_MAX};

use crate::account::{VcpuBook, Window};
use crate::distribution::Distribution;
use crate::figures::FigureBooks;
use crate::summary::{Account, DomainSummary, PcpuSummary, Summary, VcpuSummary};
use crate::told::Told;
use crate::work::WorkBooks;

/// Samples, over all vcpus, up to which every one is kept as it is: 32 Mi, 128 MiB of memory
/// (256 MiB while a list grows). Beyond, the longest lists are turned into histograms that are
/// right to 0.1 %, as long as a list is so long that its histogram is smaller.
pub const EXACT_SAMPLES_MAX: usize = 32 << 20;

/// Samples from which a list takes more memory than a histogram of any likely range (256 KiB).
const WORTH_COMPRESSING: usize = 1 << 16;

/// Measures a trace: feed it every record, then call [`Meter::finish`].
///
/// Definitions:
/// - The measured time goes from the first to the last runstate record. A vcpu's sums go from its
///   own first to its own last runstate record, so that no state is guessed. A record that it goes
///   on ([`Kind::Continue`]) says that it runs, and counts like a mark until its state changes.
///   Another vcpu on that pcpu ends such a run.
/// - A trace that has switches but no runstate record gives no figures of vcpus and pcpus
///   ([`Summary::runstates`]); its measured time goes from the first to the last record.
/// - A run is a completed stay on a pcpu.
/// - A mark ([`Kind::RunstateChange`] between equal states) opens or extends a vcpu's sums. It is
///   no edge of a run, and a stay that began before the first record of its vcpu is no sample.
/// - Wake to run is a completed stay in runnable that followed blocked and led to running.
/// - What records add to figures of a domain ([`Declared::figures`](domio_core::Declared::figures):
///   what a network delivered, replies to pings, steps of web clients, finished jobs) counts when
///   it is recorded.
/// - Work of a driver domain for another ([`Kind::DriverWork`]) counts when it is recorded, up to
///   what the driver's vcpu is known to have executed.
/// - After [`Kind::Lost`], and where the old state of a record is not the new state of the one
///   before, time is unknown until the vcpu's next record and gives no sample.
///
/// [`Meter::window`] restricts all of it to a part of the trace; [`Meter::finish_at`] closes the
/// open states at a known end.
///
/// [`Kind::Switch`] and Xen's pair of RUNSTATE_CHANGE records give the same figures. Memory is
/// constant but for the samples ([`EXACT_SAMPLES_MAX`]) and some 300 bytes a vcpu.
#[derive(Debug)]
pub struct Meter {
    window: Window,
    /// By actor; of some of them nothing is known.
    books: Vec<VcpuBook>,
    pcpus: Vec<PcpuBook>,
    span: Option<(u64, u64)>,
    samples: usize,
    samples_max: usize,
    /// Samples at which to make room next.
    make_room_at: usize,
    figures: FigureBooks,
    undeclared: Undeclared,
    work: WorkBooks,
    losses: Losses,
    going_on: GoingOn,
    told: Told,
    records: u64,
    lost_records: u64,
    ignored_records: u64,
}

/// Sums of one pcpu.
#[derive(Clone, Copy, Debug, Default)]
struct PcpuBook {
    busy: u64,
    idle: u64,
    switches: u64,
}

impl PcpuBook {
    /// Sums of several vcpus may exceed the time that there is in a damaged trace.
    fn ran(&mut self, ns: u64, is_idle: bool) {
        let sum = if is_idle {
            &mut self.idle
        } else {
            &mut self.busy
        };
        *sum = sum.saturating_add(ns);
    }
}

impl Default for Meter {
    fn default() -> Self {
        Meter::new()
    }
}

impl Meter {
    /// A meter for the whole trace.
    pub fn new() -> Self {
        Meter {
            window: Window {
                from: 0,
                to: u64::MAX,
            },
            books: Vec::new(),
            pcpus: Vec::new(),
            span: None,
            samples: 0,
            samples_max: EXACT_SAMPLES_MAX,
            make_room_at: EXACT_SAMPLES_MAX,
            figures: FigureBooks::default(),
            undeclared: Undeclared::new(),
            work: WorkBooks::default(),
            losses: Losses::new(),
            going_on: GoingOn::new(),
            told: Told::default(),
            records: 0,
            lost_records: 0,
            ignored_records: 0,
        }
    }

    /// A meter for the part of the trace from `from` up to, not including, `to`, for instance
    /// without the warm-up. States that reach over an edge count with the part inside; runs and
    /// wake-ups count, at full length, when they end inside. So does work of driver domains for
    /// others: a host has to write down (`mark`) at `from` and `to` what was done until then, or
    /// work of a run that reaches over `from` counts for too much, and over `to` not at all.
    ///
    /// # Panics
    /// When `to` is before `from`.
    pub fn window(from: Instant, to: Instant) -> Self {
        assert!(from <= to, "a window from {from} to {to}");
        let mut meter = Meter::new();
        meter.window = Window {
            from: from.as_nanos(),
            to: to.as_nanos(),
        };
        meter
    }

    /// The same meter with another bound than [`EXACT_SAMPLES_MAX`].
    pub fn exact_samples_max(mut self, samples: usize) -> Self {
        self.samples_max = samples;
        self.make_room_at = samples;
        self
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
        let span = self.span.get_or_insert((at, at));
        span.1 = span.1.max(at);
        let slot = actor.index();
        if slot >= self.books.len() && !self.make_books(names, slot) {
            self.ignored_records += 1;
            return;
        }
        let book = &mut self.books[slot];
        let is_idle = book.name.is_idle();
        let completed = book.change(at, pcpu, old, new, &self.losses, self.window);
        self.samples += usize::from(completed.sampled);
        if completed.ran.is_some() || new == Runstate::Running {
            let counts = self.window.holds(at) && new == Runstate::Running && old != new;
            let pcpu = self.pcpu(pcpu);
            pcpu.switches += u64::from(counts);
            let ran = completed.ran.unwrap_or(0);
            pcpu.ran(ran, is_idle);
        }
        if self.samples > self.make_room_at {
            self.make_room();
        }
    }

    /// Makes books up to that of the actor with index `slot`. Returns whether there is such an
    /// actor, and room for it.
    #[cold]
    fn make_books(&mut self, names: &Names, slot: usize) -> bool {
        let actors = names.actors();
        if slot >= actors.len().min(VCPUS_MAX) {
            return false;
        }
        let new = &actors[self.books.len()..=slot];
        let new = new.iter().map(|actor| VcpuBook::new(actor.vcpu()));
        self.books.extend(new);
        true
    }

    /// `actor` has no runstate record so far and goes on on `pcpu`.
    fn goes_on(&mut self, names: &Names, at: u64, pcpu: PcpuId, actor: ActorId) {
        // Who went on elsewhere before has left there without a record.
        let book = self.books.get(actor.index());
        if let Some(was_on) = book.and_then(VcpuBook::pcpu)
            && was_on != pcpu
        {
            self.displace(at, was_on, Over { actor, now: false });
        }
        let running = Runstate::Running;
        self.change(names, (at, pcpu), actor, [running, running]);
    }

    /// A run that only went on on `pcpu` is over: since `at`, or since an unknown time before.
    #[cold]
    fn displace(&mut self, at: u64, pcpu: PcpuId, over: Over) {
        let Some(book) = self.books.get_mut(over.actor.index()) else {
            return;
        };
        let ran = book.displaced(at, pcpu, over.now, &self.losses, self.window);
        let is_idle = book.name.is_idle();
        if let Some(ran) = ran {
            self.pcpu(pcpu).ran(ran, is_idle);
        }
    }

    /// Takes a `DriverWork` record.
    fn worked(&mut self, names: &Names, record: &Record) {
        let mut ran = 0;
        if let Some(book) = self.books.get_mut(record.actor.index()) {
            let part = book.executes(record.at.as_nanos(), &self.losses, self.window);
            ran = book.sums.state[Runstate::Running as usize];
            let is_idle = book.name.is_idle();
            if let Some((pcpu, part)) = part {
                self.pcpu(pcpu).ran(part, is_idle);
            }
        }
        let taken = self.work.done(names, record, ran, self.window);
        self.ignored_records += u64::from(!taken);
    }

    /// Takes a record that tells of no runstate: what its declaration says.
    fn declared(&mut self, names: &Names, record: &Record) {
        let Some(declared) = names.declared(record) else {
            self.undeclared.see(names, record);
            return;
        };
        if declared.figures.is_empty() || !self.window.holds(record.at.as_nanos()) {
            return;
        }
        let Some(vcpu) = names.vcpu(record.actor) else {
            self.ignored_records += 1;
            return;
        };
        self.samples += self.figures.add(vcpu.domain, declared, record);
        if self.samples > self.make_room_at {
            self.make_room();
        }
    }

    #[inline]
    fn pcpu(&mut self, pcpu: PcpuId) -> &mut PcpuBook {
        let index = pcpu.index();
        if index >= self.pcpus.len() {
            self.pcpus.resize(index + 1, PcpuBook::default());
        }
        &mut self.pcpus[index]
    }

    /// Turns the longest lists of samples into histograms, where that saves memory.
    #[cold]
    fn make_room(&mut self) {
        // A small bound is meant seriously, whatever it costs.
        let worth = WORTH_COMPRESSING.min(self.samples_max / 8 + 1);
        while self.samples > self.samples_max {
            let longest = self
                .books
                .iter_mut()
                .flat_map(|b| [&mut b.runs, &mut b.wake_to_run])
                .chain(self.figures.distributions())
                .max_by_key(|d| d.stored())
                .filter(|d| d.stored() >= worth);
            let Some(longest) = longest else {
                break;
            };
            self.samples -= longest.stored();
            longest.compress();
        }
        // Not at every sample again when all lists are short.
        self.make_room_at = self.samples_max.max(self.samples + worth);
    }

    /// The figures up to the last runstate record.
    pub fn finish(self) -> Summary {
        let last = self.span.map_or(0, |(_, last)| last);
        let end = last.min(self.window.to);
        self.summarise(end)
    }

    /// The figures up to `end`, when it is known that nothing changed between the last record and
    /// `end`: every vcpu stays in its state until then. For simulated hosts, which know when the
    /// run was over.
    pub fn finish_at(mut self, end: Instant) -> Summary {
        let end = end.as_nanos().min(self.window.to);
        for slot in 0..self.books.len() {
            let book = &mut self.books[slot];
            let is_idle = book.name.is_idle();
            if let Some((pcpu, ran)) = book.end(end, &self.losses, self.window) {
                self.pcpu(pcpu).ran(ran, is_idle);
            }
        }
        self.summarise(end)
    }

    fn summarise(mut self, mut end: u64) -> Summary {
        let mut first = self.span.map_or(0, |(first, _)| first);
        let missing = self.told.missing();
        if let Some(span) = missing {
            // What the records that somebody goes on tell is not half of it.
            self.books.clear();
            self.pcpus.clear();
            first = span.0;
            end = end.max(span.1).min(self.window.to);
        }
        self.books.retain(VcpuBook::is_known);
        self.books.sort_by_key(|b| b.name);
        let mut domains: Vec<DomainSummary> = Vec::new();
        for books in self
            .books
            .chunk_by_mut(|a, b| a.name.domain == b.name.domain)
        {
            domains.push(summarise_domain(books));
        }
        for (id, figures) in self.figures.finish() {
            domain_of(&mut domains, id).figures = figures;
        }
        let busy = |id| {
            let at = domains.binary_search_by_key(&id, |d| d.id);
            at.map_or(0, |at| domains[at].total.running)
        };
        // Whatever could not be accounted for was not done for anybody either.
        let driver_work = match missing {
            Some(_) => Vec::new(),
            None => self.work.finish(busy),
        };
        let pcpus = self.pcpus.iter().enumerate().map(|(i, p)| PcpuSummary {
            id: PcpuId(i as u16),
            busy: p.busy,
            idle: p.idle,
            switches: p.switches,
        });
        Summary {
            start: Instant::from_nanos(first.max(self.window.from)),
            end: Instant::from_nanos(end),
            runstates: missing.is_none(),
            records: self.records,
            lost_records: self.lost_records,
            ignored_records: self.ignored_records,
            undeclared: self.undeclared.counts(),
            domains,
            driver_work,
            pcpus: pcpus.collect(),
        }
    }
}

impl Sink for Meter {
    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        self.records += 1;
        self.told.see(record);
        let Some(kind) = record.kind() else {
            return self.declared(names, record);
        };
        let at = record.at.as_nanos();
        let books = &self.books;
        let Going { goes_on, over } = self.going_on.see(record, |actor| {
            let book = books.get(actor.index());
            book.is_none_or(|book| !book.has_changed())
        });
        if let Some(over) = over {
            self.displace(at, record.pcpu, over);
        }
        match kind {
            Kind::Switch | Kind::RunstateChange => {
                let changes = record.changes();
                for (actor, old, new) in changes.into_iter().flatten() {
                    self.change(names, (at, record.pcpu), actor, [old, new]);
                }
                self.ignored_records += u64::from(changes[0].is_none());
            }
            // Whoever has a pcpu to itself may have no other record for as long as the trace lasts.
            Kind::Continue if goes_on => self.goes_on(names, at, record.pcpu, record.actor),
            Kind::Lost => {
                self.lost_records += u64::from(record.words[0]);
                self.losses.add(record.pcpu);
            }
            Kind::JobDone => self.declared(names, record),
            Kind::DriverWork => self.worked(names, record),
            _ => {}
        }
    }
}

/// The figures of domain `id` among `domains`, which are in the order of ids; without any where
/// nothing else is known of it.
fn domain_of(domains: &mut Vec<DomainSummary>, id: DomainId) -> &mut DomainSummary {
    let place = match domains.binary_search_by_key(&id, |d| d.id) {
        Ok(place) => place,
        Err(place) => {
            let unknown = DomainSummary {
                id,
                total: Account::default(),
                vcpus: Vec::new(),
                figures: Vec::new(),
            };
            domains.insert(place, unknown);
            place
        }
    };
    &mut domains[place]
}

/// `books` holds the vcpus of one domain.
fn summarise_domain(books: &mut [VcpuBook]) -> DomainSummary {
    let id = books.first().map_or(DomainId(0), |b| b.name.domain);
    let mut total = Account::default();
    let mut runs = Distribution::default();
    let mut wake_to_run = Distribution::default();
    let mut vcpus = Vec::with_capacity(books.len());
    for book in books {
        let account = account(book);
        total.add_sums(&account);
        runs.merge(&book.runs);
        wake_to_run.merge(&book.wake_to_run);
        vcpus.push(VcpuSummary {
            name: book.name,
            account,
        });
    }
    total.runs = runs.quantiles();
    total.wake_to_run = wake_to_run.quantiles();
    DomainSummary {
        id,
        total,
        vcpus,
        figures: Vec::new(),
    }
}

fn account(book: &mut VcpuBook) -> Account {
    let sums = book.sums;
    let [running, runnable, blocked, offline] = sums.state;
    Account {
        running,
        runnable,
        blocked,
        offline,
        unknown: sums.unknown,
        waited_after_wake: sums.waited_after_wake,
        waited_after_preempt: sums.waited_after_preempt,
        waited_other: sums.waited_other,
        executions: sums.executions,
        wakeups: sums.wakeups,
        runs: book.runs.quantiles(),
        wake_to_run: book.wake_to_run.quantiles(),
    }
}
