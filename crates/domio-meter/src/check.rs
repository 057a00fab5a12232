//! Can a trace be true? Observers that watch for what no host can do.

mod work;

use std::fmt;

use domio_answer::column::{count, fact};
use domio_answer::{Answered, Holds, Sentence, rows, texts};
use domio_core::{
    ActorId, DomainId, Instant, Kind, Names, PcpuId, Record, Runstate, Sink, VcpuName,
};
use domio_trace::{Losses, VCPUS_MAX};

use crate::told::Told;
use work::WorkRules;

/// What the schema says of a report.
const DOC: &str = "What `domio trace check --json` prints: whether a trace can be true.";

/// Most findings that are kept; further ones are only counted.
const FINDINGS_MAX: usize = 1000;

/// Checks that a trace keeps the rules of a host: feed it every record, then call
/// [`TraceChecker::finish`].
///
/// - Times never go back within a pcpu, nor for a vcpu.
/// - A vcpu's old runstate is the new one of its record before, and the transition exists in Xen.
/// - No vcpu runs on two pcpus, no two vcpus run on one pcpu, and a run ends where it began.
/// - A vcpu's runstates sum exactly to the time between its first and its last record.
/// - A vcpu of a driver domain works for others no longer than it executes.
/// - There are records of runstates: without them the rules above hold for any trace.
///
/// After [`Kind::Lost`] nothing is expected of what the missing records may have changed. After a
/// finding, the record is believed, so that one wrong record does not condemn all that follow.
#[derive(Debug, Default)]
pub struct TraceChecker {
    pcpus: Vec<PcpuState>,
    /// By actor.
    vcpus: Vec<Option<VcpuState>>,
    work: WorkRules,
    losses: Losses,
    /// Pcpus of which records are missing now.
    missing: usize,
    told: Told,
    /// Number of the current record.
    index: u64,
    /// Place of the first record.
    first: Place,
    report: CheckReport,
}

/// The record that a finding is about.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    record: u64,
    at: Instant,
    pcpu: PcpuId,
}

rows! {
    /// What a trace check found.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct CheckReport {
        /// Records read.
        pub records: u64 = count("records");
        /// Records that Xen dropped, as the trace says.
        pub lost_records: u64 = count("lost_records");
        /// Vcpus seen in runstate records.
        pub vcpus: usize = count("vcpus");
        /// Pcpus seen.
        pub pcpus: usize = count("pcpus");
        /// Findings in all.
        pub total: u64 = count("total");
        /// The first findings, 1000 at most.
        pub findings: Vec<TraceFinding> = parts("problems", []);
    }

    /// One impossible thing.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct TraceFinding {
        /// Number of the record, from 0.
        pub record: u64 = key("record");
        /// Its time.
        pub at: Instant = moment("at_ns");
        /// Its pcpu.
        pub pcpu: PcpuId = fact("pcpu");
        /// What is wrong.
        pub problem: TraceProblem = fact("problem");
    }
}

texts! {
    // What is wrong is said, and never read back.
    TraceProblem: |problem| problem.to_string().into(), |_, _| None;
}

impl CheckReport {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.total == 0
    }

    /// The report for programs. `truncated` says whether the file ends too early, `damaged_places`
    /// how many places of it were left out.
    pub fn answer(&self, truncated: bool, damaged_places: u64) -> Answered {
        let mut answer = Answered::of("trace-check", 2, DOC, self);
        let flag = |key: &'static str| fact(key).of(Holds::Flag);
        let clean = self.is_clean() && !truncated && damaged_places == 0;
        answer.derive(flag("clean").doc("Whether nothing was found."), clean);
        let doc = "Whether the file ends too early.";
        answer.derive(flag("truncated").doc(doc), truncated);
        let places = count("damaged_places").of(Holds::Whole);
        let doc = "Damaged places that were left out.";
        answer.derive(places.doc(doc), damaged_places);
        answer.findings = vec![Sentence::new(self.covers())];
        answer
    }

    /// What was read and found, in a line.
    pub fn covers(&self) -> String {
        format!(
            "{} records of {} vcpus on {} pcpus, {} lost, {} findings",
            self.records, self.vcpus, self.pcpus, self.lost_records, self.total
        )
    }
}

/// What can be wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TraceProblem {
    /// The record is earlier than the one before on the same pcpu.
    PcpuTimeWentBack {
        /// Time of the record before.
        before: Instant,
    },
    /// The record is earlier than the one before of the same vcpu.
    VcpuTimeWentBack {
        /// The vcpu.
        vcpu: VcpuName,
        /// Time of the record before.
        before: Instant,
    },
    /// A runstate number that Xen does not have.
    UnknownRunstate {
        /// The vcpu.
        vcpu: VcpuName,
        /// The record's first word.
        word: u32,
    },
    /// The old runstate is not the one that the vcpu had.
    NotContiguous {
        /// The vcpu.
        vcpu: VcpuName,
        /// The runstate that it had.
        had: Runstate,
        /// The old runstate of the record.
        old: Runstate,
    },
    /// Xen has no such transition.
    IllegalTransition {
        /// The vcpu.
        vcpu: VcpuName,
        /// From.
        old: Runstate,
        /// To.
        new: Runstate,
    },
    /// The vcpu starts to run, or stops, while it runs on another pcpu.
    RunsElsewhere {
        /// The vcpu.
        vcpu: VcpuName,
        /// Where it runs.
        there: PcpuId,
    },
    /// The vcpu starts to run where another one runs.
    PcpuTaken {
        /// The vcpu that starts.
        vcpu: VcpuName,
        /// The vcpu that runs.
        by: VcpuName,
    },
    /// The runstates do not sum to the time between first and last record.
    SumsDiffer {
        /// The vcpu.
        vcpu: VcpuName,
        /// Sum of its runstates, in nanoseconds.
        sum: u64,
        /// Time between its first and last record, in nanoseconds.
        elapsed: u64,
    },
    /// A vcpu of a driver domain worked for another domain for longer than it can have.
    TooMuchWork {
        /// The vcpu.
        vcpu: VcpuName,
        /// The domain that it worked for.
        owner: DomainId,
        /// How long, in nanoseconds.
        work: u64,
        /// The most that can be: what it executed since its record before for the same domain, and
        /// no record has taken; in nanoseconds.
        most: u64,
    },
    /// A record of runstates is of an actor that the stream does not name.
    UnknownActor {
        /// That actor.
        actor: ActorId,
    },
    /// The trace has records, but none of runstates.
    NoRunstates {
        /// Its records.
        records: u64,
    },
    /// More vcpus than any host has; further ones are not checked.
    TooManyVcpus,
}

#[derive(Clone, Copy, Debug, Default)]
struct PcpuState {
    /// Records of it are missing up to its next one.
    missing: bool,
    latest: Option<Instant>,
    current: Option<VcpuName>,
}

#[derive(Clone, Copy, Debug)]
struct VcpuState {
    name: VcpuName,
    first: Instant,
    since: Instant,
    state: Runstate,
    /// Losses that concerned it when the state started.
    losses: u64,
    /// Where it runs, when it does.
    pcpu: PcpuId,
    sums: [u64; 4],
    /// Time across lost records, which has no runstate.
    unknown: u64,
}

/// Whether Xen has the transition: a vcpu must be runnable before it runs, and only leaves the
/// pcpu, is woken, paused or unpaused (xen-spec 0.5 to 0.7). Equal states are a mark.
const fn legal(old: Runstate, new: Runstate) -> bool {
    use Runstate::{Blocked, Offline, Runnable, Running};
    matches!(
        (old, new),
        (Running, Runnable | Blocked | Offline)
            | (Runnable, Running | Offline)
            | (Blocked, Runnable | Offline)
            // Credit2 ends the pause of a vcpu over its cap without a change of its runstate.
            | (Offline, Runnable | Running)
    ) || old as u8 == new as u8
}

impl TraceChecker {
    /// A checker that has seen nothing.
    pub fn new() -> Self {
        TraceChecker::default()
    }

    /// Checks the sums and returns all findings.
    pub fn finish(mut self) -> CheckReport {
        let vcpus = std::mem::take(&mut self.vcpus);
        let mut vcpus: Vec<VcpuState> = vcpus.into_iter().flatten().collect();
        vcpus.sort_by_key(|v| v.name);
        self.report.vcpus = vcpus.len();
        self.report.pcpus = self.pcpus.iter().filter(|p| p.latest.is_some()).count();
        for v in vcpus {
            let sum = v.sums.into_iter().fold(v.unknown, u64::saturating_add);
            let elapsed = v.since.saturating_since(v.first).as_nanos();
            if sum != elapsed {
                let problem = TraceProblem::SumsDiffer {
                    vcpu: v.name,
                    sum,
                    elapsed,
                };
                self.find(v.since, v.pcpu, problem);
            }
        }
        let records = self.index;
        if !self.told.all() {
            // It is about the whole trace, which begins with the first record.
            self.find_at(self.first, TraceProblem::NoRunstates { records });
        }
        self.report.records = records;
        self.report
    }

    /// `problem` is found at the current record.
    fn find(&mut self, at: Instant, pcpu: PcpuId, problem: TraceProblem) {
        let record = self.index;
        self.find_at(Place { record, at, pcpu }, problem);
    }

    fn find_at(&mut self, place: Place, problem: TraceProblem) {
        self.report.total += 1;
        if self.report.findings.len() < FINDINGS_MAX {
            let Place { record, at, pcpu } = place;
            self.report.findings.push(TraceFinding {
                record,
                at,
                pcpu,
                problem,
            });
        }
    }

    fn change(
        &mut self,
        names: &Names,
        (at, pcpu): (Instant, PcpuId),
        actor: ActorId,
        [old, new]: [Runstate; 2],
    ) {
        let Some(vcpu) = names.vcpu(actor) else {
            return self.find(at, pcpu, TraceProblem::UnknownActor { actor });
        };
        if !legal(old, new) {
            self.find(at, pcpu, TraceProblem::IllegalTransition { vcpu, old, new });
        }
        let slot = actor.index();
        let Some(mut v) = self.vcpus.get(slot).copied().flatten() else {
            self.first_change((at, pcpu), slot, vcpu, new);
            return;
        };
        if at < v.since {
            let before = v.since;
            self.find(at, pcpu, TraceProblem::VcpuTimeWentBack { vcpu, before });
        }
        let length = at.saturating_since(v.since).as_nanos();
        if self.losses.concerning(v.state, v.pcpu) == v.losses {
            let sum = &mut v.sums[v.state as usize];
            *sum = sum.saturating_add(length);
            if v.state != old {
                let had = v.state;
                self.find(at, pcpu, TraceProblem::NotContiguous { vcpu, had, old });
            }
            if v.state == Runstate::Running && v.pcpu != pcpu {
                let there = v.pcpu;
                self.find(at, pcpu, TraceProblem::RunsElsewhere { vcpu, there });
            }
        } else {
            v.unknown = v.unknown.saturating_add(length);
        }
        self.occupy(at, pcpu, vcpu, new, v.pcpu);
        v.since = at;
        v.state = new;
        v.pcpu = pcpu;
        v.losses = self.losses_of(new, pcpu);
        self.vcpus[slot] = Some(v);
    }

    /// The first runstate change of `vcpu`: nothing was expected of it.
    fn first_change(
        &mut self,
        (at, pcpu): (Instant, PcpuId),
        slot: usize,
        vcpu: VcpuName,
        new: Runstate,
    ) {
        if slot >= VCPUS_MAX {
            self.find(at, pcpu, TraceProblem::TooManyVcpus);
            return;
        }
        if slot >= self.vcpus.len() {
            self.vcpus.resize(slot + 1, None);
        }
        self.vcpus[slot] = Some(VcpuState {
            name: vcpu,
            first: at,
            since: at,
            state: new,
            losses: self.losses_of(new, pcpu),
            pcpu,
            sums: [0; 4],
            unknown: 0,
        });
        self.occupy(at, pcpu, vcpu, new, pcpu);
    }

    /// Keeps who runs where, when `vcpu`, which was last seen at `was_on`, goes to `new`.
    fn occupy(&mut self, at: Instant, pcpu: PcpuId, vcpu: VcpuName, new: Runstate, was_on: PcpuId) {
        if let Some(p) = self.pcpus.get_mut(was_on.index())
            && p.current == Some(vcpu)
        {
            p.current = None;
        }
        if new == Runstate::Running {
            let taken = self.pcpus[pcpu.index()].current.replace(vcpu);
            if let Some(by) = taken {
                self.find(at, pcpu, TraceProblem::PcpuTaken { vcpu, by });
            }
        }
    }

    /// What a vcpu that is in `new` on `pcpu` from now on remembers of losses.
    fn losses_of(&self, new: Runstate, pcpu: PcpuId) -> u64 {
        let here = self.pcpus.get(pcpu.index()).is_some_and(|p| p.missing);
        let hides = match new {
            Runstate::Running => here,
            _ => self.missing > 0,
        };
        match hides {
            true => Losses::UNSURE,
            false => self.losses.concerning(new, pcpu),
        }
    }

    fn lost(&mut self, pcpu: PcpuId, count: u32) {
        self.report.lost_records += u64::from(count);
        if let Some(p) = self.pcpus.get_mut(pcpu.index()) {
            p.current = None;
            self.missing += usize::from(!std::mem::replace(&mut p.missing, true));
        }
        self.losses.add(pcpu);
    }
}

impl Sink for TraceChecker {
    fn record(&mut self, names: &Names, record: &Record) {
        let (at, pcpu) = (record.at, record.pcpu);
        if self.index == 0 {
            let record = self.index;
            self.first = Place { record, at, pcpu };
        }
        self.told.see(record);
        let index = pcpu.index();
        if index >= self.pcpus.len() {
            self.pcpus.resize(index + 1, PcpuState::default());
        }
        if std::mem::take(&mut self.pcpus[index].missing) {
            // What is missing may have come at any time until now.
            self.losses.add(pcpu);
            self.missing -= 1;
        }
        let before = self.pcpus[index].latest.replace(at);
        if let Some(before) = before.filter(|b| at < *b) {
            self.find(at, pcpu, TraceProblem::PcpuTimeWentBack { before });
        }
        match record.kind() {
            Some(Kind::Switch | Kind::RunstateChange) => {
                let changes = record.changes();
                for (actor, old, new) in changes.into_iter().flatten() {
                    self.change(names, (at, pcpu), actor, [old, new]);
                }
                if changes[0].is_none() {
                    let vcpu = names.vcpu(record.actor).unwrap_or_default();
                    let word = record.words[0];
                    self.find(at, pcpu, TraceProblem::UnknownRunstate { vcpu, word });
                }
            }
            Some(Kind::DriverWork) => self.worked(names, record),
            Some(Kind::Lost) => self.lost(pcpu, record.words[0]),
            _ => {}
        }
        self.index += 1;
    }
}

impl fmt::Display for TraceFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceFinding {
            record, at, pcpu, ..
        } = self;
        write!(f, "record {record} at {at} on {pcpu}: {}", self.problem)
    }
}

impl fmt::Display for TraceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceProblem::PcpuTimeWentBack { before } => {
                write!(f, "the record before on this pcpu is later, at {before}")
            }
            TraceProblem::VcpuTimeWentBack { vcpu, before } => {
                write!(f, "the record before of {vcpu} is later, at {before}")
            }
            TraceProblem::UnknownRunstate { vcpu, word } => {
                write!(f, "{vcpu} has runstates {word:#04x}, expected 0 to 3")
            }
            TraceProblem::NotContiguous { vcpu, had, old } => {
                write!(f, "{vcpu} leaves {}, but it was {}", old.name(), had.name())
            }
            TraceProblem::IllegalTransition { vcpu, old, new } => write!(
                f,
                "{vcpu} goes from {} to {}, which Xen does not do",
                old.name(),
                new.name()
            ),
            TraceProblem::RunsElsewhere { vcpu, there } => {
                write!(f, "{vcpu} runs on {there} at this time")
            }
            TraceProblem::PcpuTaken { vcpu, by } => {
                write!(f, "{vcpu} starts to run where {by} runs")
            }
            TraceProblem::SumsDiffer { vcpu, sum, elapsed } => write!(
                f,
                "the runstates of {vcpu} sum to {sum} ns, its time is {elapsed} ns"
            ),
            TraceProblem::TooMuchWork {
                vcpu,
                owner,
                work,
                most,
            } => write!(
                f,
                "{vcpu} worked {work} ns for {owner}, but executed for {most} ns that no record \
                 before has taken"
            ),
            TraceProblem::UnknownActor { actor } => {
                write!(f, "the stream names no actor {}", actor.0)
            }
            TraceProblem::NoRunstates { records } => write!(
                f,
                "the trace starts here and has {records} records, but none of runstates, so \
                 there is little to check: record with `xentrace -e 0x0002f000`"
            ),
            TraceProblem::TooManyVcpus => write!(f, "more than {VCPUS_MAX} vcpus"),
        }
    }
}

#[cfg(test)]
mod tests;
