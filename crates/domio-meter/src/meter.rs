//! The meter: records in, figures out.

use std::collections::BTreeSet;

use domio_core::{ActorId, DomainId, Instant, Kind, Names, PcpuId, Record, Runstate, Says, Sink};
use domio_trace::{Going, GoingOn, Ground, Over, StayPassed, Undeclared, VCPUS_MAX};

use crate::account::{VcpuBook, Window};
use crate::boosts::{BoostCounts, BoostPlaces};
use crate::budget;
use crate::disks::DiskBooks;
use crate::distribution::Distribution;
use crate::summary::{Account, DomainSummary, PcpuSummary, Summary, VcpuSummary};
use crate::tallies::TallyBooks;
use crate::told::Told;
use crate::work::WorkBooks;

/// Samples, over all vcpus, up to which every one is kept as it is: 32 Mi, 128 MiB of memory
/// (256 MiB while a list grows). Of samples that are few values, many times each, the values and
/// their numbers are kept, and each counts as two samples. Beyond, the longest lists are turned
/// into histograms that are right to 0.1 %, as long as a list is so long that its histogram is
/// smaller.
pub const EXACT_SAMPLES_MAX: usize = 32 << 20;

/// Samples from which a list takes more memory than a histogram of any likely range (256 KiB).
const WORTH_COMPRESSING: usize = 1 << 16;

/// Measures a trace: feed it every record, then call [`Meter::finish`].
///
/// Definitions:
/// - The measured time goes from the first to the last record. What a vcpu did when, and when that
///   is unknown, follows from its records as [`Track`](domio_trace::Track) has it: states reach
///   back to the first record of the trace, and on to the last one.
/// - A trace that has switches but no runstate record gives no figures of vcpus and pcpus
///   ([`Summary::runstates`]).
/// - A run is a completed stay on a pcpu.
/// - A mark ([`Kind::RunstateChange`] between equal states) is no edge of a run, and a stay whose
///   begin was not seen is no sample.
/// - Wake to run is a completed stay in runnable that followed blocked and led to running.
/// - What records add to tallies of a domain ([`Declared::tallies`](domio_core::Declared::tallies):
///   what a network delivered, replies to pings, steps of web clients, finished jobs) counts when
///   it is recorded.
/// - A vcpu that is runnable while its own budget is used up
///   ([`Says::Budget`](domio_core::Says::Budget)) is parked, and does not wait.
/// - Work of a driver domain for another ([`Kind::DriverWork`]) counts when it is recorded, up to
///   what the driver's vcpu is known to have executed.
/// - A stay over which records are missing, or contradict each other, gives no sample.
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
    ground: Ground,
    samples: usize,
    samples_max: usize,
    /// Samples at which to make room next.
    make_room_at: usize,
    tallies: TallyBooks,
    boost_places: BoostPlaces,
    boosts: BoostCounts,
    undeclared: Undeclared,
    work: WorkBooks,
    disks: DiskBooks,
    going_on: GoingOn,
    told: Told,
    guests: BTreeSet<DomainId>,
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
            ground: Ground::new(),
            samples: 0,
            samples_max: EXACT_SAMPLES_MAX,
            make_room_at: EXACT_SAMPLES_MAX,
            tallies: TallyBooks::default(),
            boost_places: BoostPlaces::default(),
            boosts: BoostCounts::default(),
            undeclared: Undeclared::new(),
            work: WorkBooks::default(),
            disks: DiskBooks::default(),
            going_on: GoingOn::new(),
            told: Told::default(),
            guests: BTreeSet::new(),
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
        let slot = actor.index();
        if slot >= self.books.len() && !self.make_books(names, slot) {
            self.ignored_records += 1;
            return;
        }
        let book = &mut self.books[slot];
        let is_idle = book.name.is_idle();
        let passed = book.track.change(&mut self.ground, at, pcpu, [old, new]);
        let ran = book.pass(&passed, self.window);
        self.samples += usize::from(book.edge(at, &passed, new, self.window));
        if new == Runstate::Running {
            self.boost_places.runs(actor, pcpu);
        }
        if ran.is_some() || new == Runstate::Running {
            let counts = self.window.holds(at) && new == Runstate::Running && old != new;
            let pcpu = self.pcpu(pcpu);
            pcpu.switches += u64::from(counts);
            pcpu.ran(ran.unwrap_or(0), is_idle);
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

    /// `actor` has no runstate record so far and continues on `pcpu`.
    fn goes_on(&mut self, names: &Names, at: u64, pcpu: PcpuId, actor: ActorId) {
        let slot = actor.index();
        if slot >= self.books.len() && !self.make_books(names, slot) {
            self.ignored_records += 1;
            return;
        }
        let passed = self.books[slot].track.goes_on(&mut self.ground, at, pcpu);
        self.pass(slot, pcpu, Some(passed));
    }

    /// Adds what passed of the vcpu in `slot`, on `pcpu` if it ran.
    fn pass(&mut self, slot: usize, pcpu: PcpuId, passed: Option<StayPassed>) {
        let Some(passed) = passed else {
            return;
        };
        let book = &mut self.books[slot];
        let ran = book.pass(&passed, self.window);
        let is_idle = book.name.is_idle();
        if let Some(ran) = ran {
            self.pcpu(pcpu).ran(ran, is_idle);
        }
    }

    /// A run that only continued on `pcpu` is over: since `at`, or since an unknown time before.
    #[cold]
    fn displace(&mut self, at: u64, pcpu: PcpuId, over: Over) {
        let slot = over.actor.index();
        if let Some(book) = self.books.get_mut(slot) {
            let passed = book.track.displace(at, pcpu, over.now);
            self.pass(slot, pcpu, passed);
        }
    }

    /// Records of `pcpu` are missing from `at` on.
    #[cold]
    fn lose(&mut self, at: u64, pcpu: PcpuId) {
        self.ground.lose(pcpu);
        for slot in 0..self.books.len() {
            let track = &mut self.books[slot].track;
            let on = track.pcpu();
            let passed = track.lose(at, pcpu);
            self.pass(slot, on, passed);
            self.books[slot].budget.forget();
        }
    }

    /// Takes a `DriverWork` record.
    fn worked(&mut self, names: &Names, record: &Record) {
        let mut ran = 0;
        let slot = record.actor.index();
        if let Some(book) = self.books.get_mut(slot) {
            let on = book.track.pcpu();
            let passed = book.track.executes(record.at.as_nanos());
            self.pass(slot, on, passed);
            ran = self.books[slot].sums.state[Runstate::Running as usize];
        }
        let taken = self.work.done(names, record, ran, self.window);
        self.ignored_records += u64::from(!taken);
    }

    /// Takes a record that reports no runstate: what its declaration says.
    fn declared(&mut self, names: &Names, record: &Record) {
        let Some(declared) = names.declared(record) else {
            self.undeclared.see(names, record);
            return;
        };
        let at = record.at.as_nanos();
        if let Some(used_up) = budget::used_up(declared, record) {
            self.budget(record.actor, at, used_up);
        }
        if let Some(book) = self.books.get_mut(record.actor.index()) {
            match declared.says {
                Says::Uninterruptible => book.uninterruptible = true,
                Says::OfGuest => {
                    self.guests.insert(book.name.domain);
                }
                _ => {}
            }
        }
        let actor = names.vcpu(record.actor);
        self.samples += self.disks.hear(declared, record, actor, self.window);
        let is_known = |actor: ActorId| actor.index() < VCPUS_MAX && names.vcpu(actor).is_some();
        if BoostPlaces::is_of(declared)
            && is_known(record.actor)
            && let Some(seen) = self
                .boost_places
                .hear(declared, record, self.window.holds(at))
        {
            self.boosts.add(seen);
        }
        let counts = self.window.holds(at) || self.window.ends_in(at);
        if declared.tallies.is_empty() || !counts {
            return;
        }
        let Some(vcpu) = names.vcpu(record.actor) else {
            self.ignored_records += 1;
            return;
        };
        let taken = self
            .tallies
            .add(names, vcpu.domain, declared, record, self.window);
        self.samples += taken;
        if self.samples > self.make_room_at {
            self.make_room();
        }
    }

    /// The own budget of the vcpu is used up at `at`, or is not.
    fn budget(&mut self, actor: ActorId, at: u64, used_up: bool) {
        let book = self.books.get_mut(actor.index());
        if let Some(book) = book.filter(|book| book.track.is_known()) {
            book.budget.says(at, used_up, &book.track, self.window);
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
        // Lists are shorter than what was added to them where samples are counted.
        let books = self.books.iter();
        let own = books.map(|b| b.runs.stored() + b.wake_to_run.stored());
        let others = self
            .tallies
            .distributions()
            .chain(self.disks.distributions());
        self.samples = own.sum::<usize>() + others.map(|d| d.stored()).sum::<usize>();
        while self.samples > self.samples_max {
            let longest = self
                .books
                .iter_mut()
                .flat_map(|b| [&mut b.runs, &mut b.wake_to_run])
                .chain(self.tallies.distributions())
                .chain(self.disks.distributions())
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

    /// The figures up to the last record: every vcpu stays in its state until then.
    pub fn finish(self) -> Summary {
        let (_, last) = self.ground.span().unwrap_or_default();
        self.finish_at(Instant::from_nanos(last))
    }

    /// The figures up to `end`, when it is known that nothing changed between the last record and
    /// `end`: every vcpu stays in its state until then. For simulated hosts, which know when the
    /// run was over.
    pub fn finish_at(mut self, end: Instant) -> Summary {
        let end = end.as_nanos().min(self.window.to);
        for slot in 0..self.books.len() {
            let track = &mut self.books[slot].track;
            let on = track.pcpu();
            let passed = track.advance(end);
            self.pass(slot, on, passed);
        }
        self.summarise(end)
    }

    fn summarise(mut self, end: u64) -> Summary {
        let (first, _) = self.ground.span().unwrap_or_default();
        let runstates = self.told.all();
        if !runstates {
            // What the records that somebody continues tell is not half of it.
            self.books.clear();
            self.pcpus.clear();
        }
        self.books.retain(|book| book.track.is_known());
        self.books.sort_by_key(|b| b.name);
        let mut domains: Vec<DomainSummary> = Vec::new();
        for books in self
            .books
            .chunk_by_mut(|a, b| a.name.domain == b.name.domain)
        {
            domains.push(summarise_domain(books));
        }
        let tables = self.tallies.tables();
        for (id, tallies) in self.tallies.finish() {
            domain_of(&mut domains, id).tallies = tallies;
        }
        let busy = |id| {
            let at = domains.binary_search_by_key(&id, |d| d.id);
            at.map_or(0, |at| domains[at].total.running)
        };
        // Whatever could not be accounted for was not done for anybody either.
        let driver_work = match runstates {
            false => Vec::new(),
            true => self.work.finish(busy),
        };
        let boosted = self.boosts.any();
        let pcpus = self.pcpus.iter().enumerate().map(|(i, p)| PcpuSummary {
            id: PcpuId(i as u16),
            busy: p.busy,
            idle: p.idle,
            switches: p.switches,
            boosts: boosted.then(|| self.boosts.on(PcpuId(i as u16))),
        });
        Summary {
            guests: self.guests.into_iter().collect(),
            start: Instant::from_nanos(first.max(self.window.from)),
            end: Instant::from_nanos(end),
            runstates,
            records: self.records,
            lost_records: self.lost_records,
            ignored_records: self.ignored_records,
            undeclared: self.undeclared.counts(),
            domains,
            tables,
            driver_work,
            pcpus: pcpus.collect(),
            disks: self.disks.finish(),
        }
    }
}

impl Sink for Meter {
    fn record(&mut self, names: &Names, record: &Record) {
        self.records += 1;
        self.told.see(record);
        self.ground.see(record);
        let Some(kind) = record.kind() else {
            return self.declared(names, record);
        };
        let at = record.at.as_nanos();
        let books = &self.books;
        let Going { goes_on, over } = self.going_on.see(record, |actor| {
            let book = books.get(actor.index());
            book.is_none_or(|book| !book.track.has_changed())
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
            // The vcpu that has a pcpu to itself may have no other record for as long as the trace
            // lasts.
            Kind::Continue if goes_on => self.goes_on(names, at, record.pcpu, record.actor),
            Kind::Lost => {
                self.lost_records += u64::from(record.words[0]);
                self.lose(at, record.pcpu);
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
                tallies: Vec::new(),
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
            residence: std::mem::take(&mut book.residence),
        });
    }
    total.runs = runs.quantiles();
    total.wake_to_run = wake_to_run.quantiles();
    DomainSummary {
        id,
        total,
        vcpus,
        tallies: Vec::new(),
    }
}

fn account(book: &mut VcpuBook) -> Account {
    let sums = book.sums;
    let [running, runnable, blocked, offline] = sums.state;
    Account {
        running,
        runnable,
        blocked,
        uninterruptible: sums.uninterruptible,
        offline,
        parked: sums.parked,
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
