//! The worst allocation, explained: how dom1 ran and stood still, and an excerpt of the trace with
//! what the policy had in its books.
//!
//! Nothing is guessed. Lengths of runs and pauses, what state dom1 was in meanwhile and whether a
//! pcpu idled come from the records. Books are what the policy dumps at that time (Xen's debug key
//! `r`) in a second simulation, which is the same event for event.

use super::books;
use super::errors::WindowErrors;
use super::host::GUEST;
use super::plan::{AlertShare, NOTABLE};
use domio_answer::{Inner, rows};
use domio_contract::state::{About, StateRow};
use domio_core::{
    ActorId, Declared, Duration, Field, Instant, Kind, Names, NullSink, Record, Runstate, Says,
    Sink, Unit, VcpuId, VcpuName,
};
use domio_run::simulate::simulate;
use domio_run::{Replication, RunFault};
use domio_scenario::Built;

/// The vcpu that is watched.
const WATCHED: VcpuName = VcpuName::new(GUEST, 0);

/// How often books are read inside the excerpt.
const READ_EVERY: Duration = Duration::from_millis(1);

/// Longest excerpt.
const LONGEST: Duration = Duration::from_millis(20_000);

/// Lines that are shown of an excerpt at its begin and at its end.
const SHOWN: usize = 9;

rows! {
    /// Lengths of several stretches of time.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct AlertLengths {
        /// How many.
        pub count: usize = count("count");
        /// The shortest.
        pub shortest_ms: f64 = column("shortest_ms", "ms", ColumnKind::Fact);
        /// The median.
        pub median_ms: f64 = column("median_ms", "ms", ColumnKind::Quantile);
        /// The longest.
        pub longest_ms: f64 = max("longest_ms", "ms");
    }

    /// One line of the excerpt.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AlertStep {
        /// When, in the measured time.
        pub at_s: f64 = column("at_s", "s", ColumnKind::Key);
        /// What the trace says; empty where only the books changed.
        pub happened: String = fact("happened");
        /// What the policy's books say of dom1 then.
        pub books: String = fact("books");
    }

    /// The worst allocation of a policy.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AlertWorst {
        /// dom1 over the whole measured time.
        pub share: AlertShare = fact("");
        /// Length of the windows that are looked at.
        pub window_s: u64 = column("window_s", "s", ColumnKind::Fact);
        /// Begin of the worst one, in the measured time.
        pub window_begin_s: u64 = column("window_begin_s", "s", ColumnKind::Fact);
        /// Its error, in percent of the allocation.
        pub window_error_percent: f64 = share("window_error_percent");
        /// Runs of dom1's first vcpu.
        pub runs: Inner<AlertLengths> = fact("runs");
        /// Pauses between them.
        pub pauses: Inner<AlertLengths> = fact("pauses");
        /// Stretches of time for which the policy had paused it.
        pub parkings: Inner<AlertLengths> = fact("parkings");
        /// Part of the time of all pauses for which the policy had paused the vcpu.
        pub parked_percent: f64 = share("parked_percent");
        /// Part of the time of all pauses for which the vcpu was runnable and a pcpu idled.
        pub held_back_percent: f64 = share("held_back_percent");
        /// Part of the time of all pauses for which the vcpu was runnable and all pcpus executed
        /// others.
        pub behind_others_percent: f64 = share("behind_others_percent");
        /// The longest time of which all parkings are multiples, but for one in twenty; of runs and
        /// pauses where nothing was parked; 0 for none from 1 ms on.
        pub grid_ms: u64 = column("grid_ms", "ms", ColumnKind::Fact);
        /// What all that means, a sentence each.
        pub why: Vec<String> = fact("why");
        /// A run, the pause behind it and the next run, from the trace.
        pub excerpt: Vec<AlertStep> = parts("excerpt", []);
        /// Lines of the excerpt that were left out in its middle.
        pub left_out: usize = count("left_out");
    }
}

impl AlertLengths {
    fn of(lengths: &[u64]) -> Self {
        let ms: Vec<f64> = lengths.iter().map(|ns| *ns as f64 / 1e6).collect();
        let least = ms.iter().copied().fold(f64::MAX, f64::min);
        AlertLengths {
            count: ms.len(),
            shortest_ms: if ms.is_empty() { 0.0 } else { least },
            median_ms: domio_stats::median(&ms).unwrap_or(0.0),
            longest_ms: ms.iter().copied().fold(0.0, f64::max),
        }
    }
}

impl AlertWorst {
    /// Explains the error of `window`, in which dom1 of `built` is most off; `share` is its whole
    /// measured time.
    ///
    /// # Errors
    /// When the simulation does not get to its end.
    pub fn explain(
        built: &Built,
        share: AlertShare,
        window: &WindowErrors,
        vcpus: u32,
    ) -> Result<Self, RunFault> {
        let begin = Instant::ZERO + built.warmup;
        let pcpus = built.host.topology.pcpus();
        let watch = simulate(built, 0, Watch::new(begin, pcpus))?.sink;
        let at = begin + Duration::from_millis(window.worst_begin_s * 1_000);
        let (steps, left_out) = excerpt(built, &watch, at);
        let (excerpt, credits): (Vec<AlertStep>, Vec<Option<i64>>) = steps.into_iter().unzip();
        let all = watch.paused().max(1) as f64 / 100.0;
        let mut worst = AlertWorst {
            share,
            window_s: window.seconds,
            window_begin_s: window.worst_begin_s,
            window_error_percent: window.worst_percent,
            runs: Inner(AlertLengths::of(&watch.lengths_of_runs())),
            pauses: Inner(AlertLengths::of(&watch.lengths_of_pauses())),
            parkings: Inner(AlertLengths::of(&watch.parkings)),
            parked_percent: watch.parked as f64 / all,
            held_back_percent: watch.held_back as f64 / all,
            behind_others_percent: watch.behind as f64 / all,
            grid_ms: watch.grid_ms(),
            why: Vec::new(),
            excerpt,
            left_out,
        };
        worst.why = worst.reasons(vcpus);
        let ran: u64 = watch.lengths_of_runs().iter().sum();
        worst.why.extend(books::sampled(built, watch.ticks, ran));
        let credits: Vec<i64> = credits.into_iter().flatten().collect();
        let allocated = share.allocated_percent;
        worst.why.extend(books::earned(built, &credits, allocated));
        Ok(worst)
    }

    fn reasons(&self, vcpus: u32) -> Vec<String> {
        let (runs, pauses, parkings) = (&self.runs.0, &self.pauses.0, &self.parkings.0);
        let length = |l: &AlertLengths| {
            let (low, high) = (l.shortest_ms, l.longest_ms);
            match high - low < 0.05 {
                true => format!("{:.1} ms", l.median_ms),
                false => format!("{:.1} ms ({low:.1} to {high:.1})", l.median_ms),
            }
        };
        if runs.count == 0 {
            let share = self.share.measured_percent;
            return vec![format!(
                "no run of dom1 began and ended in the measured time: it has {share:.2} %"
            )];
        }
        let mut why = vec![format!(
            "dom1{} ran {} times, for {}, and stood still in between for {}",
            if vcpus > 1 { "'s first vcpu" } else { "" },
            runs.count,
            length(runs),
            length(pauses)
        )];
        let parts = [
            (self.parked_percent, "paused by the policy (parked)"),
            (
                self.held_back_percent,
                "runnable while a pcpu idled: the policy held it back",
            ),
            (self.behind_others_percent, "runnable while others executed"),
        ];
        let told: Vec<String> = parts
            .iter()
            .filter(|(part, _)| *part >= 1.0)
            .map(|(part, what)| format!("for {part:.0} % of that time {what}"))
            .collect();
        if !told.is_empty() {
            why.push(format!("it was {}", told.join(", ")));
        }
        if parkings.count > 0 {
            let (count, parked) = (parkings.count, length(parkings));
            why.push(format!("it was parked {count} times, for {parked}"));
        }
        if self.grid_ms > 0 {
            let what = match parkings.count {
                0 => "runs and pauses last",
                _ => "parkings last",
            };
            why.push(format!("{what} multiples of {} ms", self.grid_ms));
        }
        let allocated = self.share.allocated_percent;
        if self.share.error_percent.abs() >= NOTABLE {
            why.push(format!(
                "over the whole time that makes {:.2} % where {allocated:.0} % is allocated",
                self.share.measured_percent
            ));
        } else {
            let window_ms = self.window_s as f64 * 1e3;
            let step = runs.median_ms / window_ms * 100.0;
            why.push(format!(
                "a window of {} s holds {:.1} such runs: one more or less is {step:.2} points, or \
                 {:.0} % of the allocation, while the whole time is right within {:.2} %",
                self.window_s,
                allocated / 100.0 * window_ms / runs.median_ms,
                step / allocated * 100.0,
                self.share.error_percent.abs()
            ));
        }
        why
    }
}

/// Listens to how the watched vcpu runs and stands still.
struct Watch {
    begin: Instant,
    pcpus: usize,
    /// Vcpus that execute.
    running: Vec<ActorId>,
    state: Option<Runstate>,
    since: Instant,
    /// Begin of the run under way, if that was seen.
    run_since: Option<Instant>,
    runs: Vec<(Instant, Instant)>,
    /// Begin of the parking under way, if that was seen, and lengths of those that are over.
    parked_since: Option<Instant>,
    parkings: Vec<u64>,
    /// Ticks of the credit scheduler that found it running.
    ticks: u64,
    parked: u64,
    held_back: u64,
    behind: u64,
    blocked: u64,
}

impl Watch {
    fn new(begin: Instant, pcpus: usize) -> Self {
        Watch {
            begin,
            pcpus,
            running: Vec::new(),
            state: None,
            since: begin,
            run_since: None,
            runs: Vec::new(),
            parked_since: None,
            parkings: Vec::new(),
            ticks: 0,
            parked: 0,
            held_back: 0,
            behind: 0,
            blocked: 0,
        }
    }

    fn paused(&self) -> u64 {
        self.parked + self.held_back + self.behind + self.blocked
    }

    fn lengths_of_runs(&self) -> Vec<u64> {
        let length = |(from, until): &(Instant, Instant)| until.as_nanos() - from.as_nanos();
        self.runs.iter().map(length).collect()
    }

    fn lengths_of_pauses(&self) -> Vec<u64> {
        let pairs = self.runs.windows(2);
        pairs
            .map(|pair| pair[1].0.as_nanos() - pair[0].1.as_nanos())
            .collect()
    }

    /// See [`AlertWorst::grid_ms`].
    fn grid_ms(&self) -> u64 {
        /// Timers are late by so much at most.
        const SLOP: u64 = 100_000;
        let ends = self.runs.iter().flat_map(|(from, until)| [*from, *until]);
        let ends: Vec<u64> = ends.map(Instant::as_nanos).collect();
        let steps: Vec<u64> = match self.parkings.is_empty() {
            true => ends.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            false => self.parkings.clone(),
        };
        let fits = |ms: &u64| {
            let grid = ms * 1_000_000;
            let off = |step: &&u64| {
                let rest = **step % grid;
                rest.min(grid - rest) > SLOP
            };
            !steps.is_empty() && steps.iter().filter(off).count() * 20 <= steps.len()
        };
        let grids = [100, 50, 30, 20, 10, 5, 3, 2, 1];
        grids.into_iter().find(fits).unwrap_or(0)
    }

    /// Time passes until `at`.
    fn pass(&mut self, at: Instant) {
        let ns = at.as_nanos() - self.since.as_nanos();
        self.since = at;
        match self.state {
            Some(Runstate::Offline) => self.parked += ns,
            Some(Runstate::Blocked) => self.blocked += ns,
            Some(Runstate::Runnable) if self.running.len() < self.pcpus => self.held_back += ns,
            Some(Runstate::Runnable) => self.behind += ns,
            Some(Runstate::Running) | None => {}
        }
    }
}

impl Sink for Watch {
    const STAGES: bool = false;

    fn record(&mut self, names: &Names, record: &Record) {
        let is_watched = |actor: ActorId| names.vcpu(actor) == Some(WATCHED);
        // Credit asks for a pcpu at each tick that finds the vcpu running.
        let wants = |declared: &Declared| matches!(declared.says, Says::Wants { .. });
        if is_watched(record.actor) && names.declared(record).is_some_and(wants) {
            self.ticks += 1;
        }
        let changes = record.changes();
        if changes[0].is_none() {
            return;
        }
        self.pass(record.at);
        for (vcpu, old, new) in changes.into_iter().flatten() {
            // The idle vcpu of a pcpu is nobody.
            if names.vcpu(vcpu).is_none_or(VcpuName::is_idle) {
                continue;
            }
            if old == Runstate::Running {
                self.running.retain(|other| *other != vcpu);
            }
            if new == Runstate::Running {
                self.running.push(vcpu);
            }
            if !is_watched(vcpu) || old == new && self.state.is_some() {
                continue;
            }
            if old == Runstate::Running
                && let Some(since) = self.run_since.take()
            {
                self.runs.push((since, record.at));
            }
            if new == Runstate::Running && old != new {
                self.run_since = Some(record.at);
            }
            if let Some(since) = self.parked_since.take() {
                let ns = record.at.as_nanos() - since.as_nanos();
                self.parkings.push(ns);
            }
            if new == Runstate::Offline && old != new {
                self.parked_since = Some(record.at);
            }
            self.state = Some(new);
        }
    }
}

/// Keeps what happens to the watched vcpu in a part of the time.
struct Events {
    from: Instant,
    until: Instant,
    events: Vec<(Instant, String)>,
}

impl Sink for Events {
    const STAGES: bool = false;

    fn record(&mut self, names: &Names, record: &Record) {
        if record.at < self.from || record.at > self.until {
            return;
        }
        for (vcpu, old, new) in record.changes().into_iter().flatten() {
            if names.vcpu(vcpu) == Some(WATCHED) && old != new {
                let change = match (old, new) {
                    (_, Runstate::Running) => "runs",
                    (_, Runstate::Offline) => "paused",
                    (Runstate::Running, Runstate::Runnable) => "taken off, still runnable",
                    (_, Runstate::Runnable) => "runnable again",
                    (_, Runstate::Blocked) => "blocked",
                };
                self.events.push((record.at, change.to_owned()));
            }
        }
        if names.vcpu(record.actor) != Some(WATCHED) {
            return;
        }
        let told = match record.kind() {
            Some(Kind::Sleep) => Some("put to sleep"),
            Some(_) => None,
            None => names.declared(record).and_then(of_its_time),
        };
        if let Some(told) = told {
            self.events.push((record.at, told.to_owned()));
        }
    }
}

/// Name of a record that says something about a vcpu's time: not of passes, nor of bare numbers
/// such as loads and places in a queue.
fn of_its_time(declared: &'static Declared) -> Option<&'static str> {
    let is_bare = |field: &Field| matches!(field.unit, Unit::Number | Unit::Signed);
    let tells = match declared.says {
        Says::Pass | Says::Tickled { .. } => false,
        Says::Nothing => !declared.fields.iter().all(is_bare),
        _ => true,
    };
    tells.then_some(declared.name)
}

/// The run before the longest pause that begins within a second of `at`, or else the first one
/// after that; the pause, and the next run, each line with the credit of the vcpu under a policy
/// that has credits. Lines in the middle may be left out, which are counted.
fn excerpt(built: &Built, watch: &Watch, at: Instant) -> (Vec<(AlertStep, Option<i64>)>, usize) {
    let near = at + Duration::from_millis(1_000);
    let pairs = || watch.runs.windows(2);
    let pause = |pair: &&[(Instant, Instant)]| pair[1].0.as_nanos() - pair[0].1.as_nanos();
    let within = pairs().filter(|pair| at <= pair[0].1 && pair[0].1 < near);
    // The first of equal ones.
    let longest = within.rev().max_by_key(pause);
    let chosen = longest.or_else(|| pairs().find(|pair| at <= pair[0].1));
    let Some(pair) = chosen.or_else(|| pairs().next_back()) else {
        return (Vec::new(), 0);
    };
    let from = pair[0].0;
    let until = pair[1].1.min(from + LONGEST);
    let mut steps = Vec::new();
    let Ok(events) = simulate(
        built,
        0,
        Events {
            from,
            until,
            events: Vec::new(),
        },
    ) else {
        return (steps, 0);
    };
    let mut events = events.sink.events.into_iter().peekable();
    let mut reader = Reader::new(built);
    let (mut books, _) = reader.at(Instant::from_nanos(from.as_nanos() - 1));
    let mut now = from;
    while now <= until {
        let mut happened: Vec<String> = Vec::new();
        while let Some((_, what)) = events.next_if(|(at, _)| *at == now) {
            if !happened.contains(&what) {
                happened.push(what);
            }
        }
        let (read, credit) = reader.at(now);
        if !happened.is_empty() || read != books {
            let step = AlertStep {
                at_s: (now.as_nanos() - watch.begin.as_nanos()) as f64 / 1e9,
                happened: happened.join(", "),
                books: read.clone(),
            };
            steps.push((step, credit));
            books = read;
        }
        let next = now + READ_EVERY;
        now = events.peek().map_or(next, |(at, _)| next.min(*at));
    }
    let left_out = steps.len().saturating_sub(2 * SHOWN);
    if left_out > 0 {
        steps.drain(SHOWN..SHOWN + left_out);
    }
    (steps, left_out)
}

/// The same simulation once more, to read books in.
struct Reader {
    run: Replication<'static, NullSink>,
    /// The watched vcpu.
    vcpu: VcpuId,
    ended: bool,
}

impl Reader {
    fn new(built: &Built) -> Self {
        let before = |d: &&domio_vmm::config::DomainConfig| d.id < GUEST;
        let earlier = built.host.domains.iter().filter(before);
        // Policies number vcpus in the order of creation.
        let number: usize = earlier.map(|d| d.vcpus.len()).sum();
        Reader {
            run: Replication::new(built, 0, NullSink),
            vcpu: VcpuId(number as u32),
            ended: false,
        }
    }

    /// What the policy has in its books at `at`, which is not before the last time asked for, and
    /// the credit of the vcpu.
    fn at(&mut self, at: Instant) -> (String, Option<i64>) {
        if self.ended || self.run.until(at).is_err() {
            self.ended = true;
            return (String::new(), None);
        }
        let state = self.run.policy_state();
        let own = |row: &&StateRow| match row.about {
            About::Vcpu(vcpu) => vcpu == self.vcpu,
            // Weights and caps are settings.
            About::Domain(domain) => domain == GUEST && row.int("weight").is_none(),
            _ => false,
        };
        let mut told: Vec<String> = Vec::new();
        let mut credit = None;
        for row in state.rows().iter().filter(own) {
            credit = credit.or(row.int("credit"));
            let sentence = row.to_string();
            if !told.contains(&sentence) {
                told.push(sentence);
            }
        }
        (told.join("; "), credit)
    }
}
