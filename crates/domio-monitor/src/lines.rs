//! One line of JSON a sample.

use crate::names::DomainNames;
use domio_answer::{AnswerSpec, Answered, Maybe, RowType, rows};
use domio_core::{Instant, VcpuName};
use domio_meter::{Figures, IntervalSample, PacketWeight, QueueWait, Tells, charges};

/// Name, version and meaning of a line.
const ANSWER: (&str, u32, &str) = (
    "mon",
    4,
    "One line of what `domio mon --json` prints: the figures of one interval.",
);

rows! {
    /// The figures of one interval.
    #[derive(Clone, PartialEq, Debug)]
    struct SampleLine {
        /// First nanosecond of the interval, on the clock of the trace.
        start: Instant = moment("start_ns");
        /// First nanosecond after it.
        end: Instant = moment("end_ns");
        /// Records that Xen dropped, as told in the interval.
        lost_records: u64 = count("lost_records");
        /// The domains, by number; 32767 is the idle domain.
        domains: Vec<DomainLine> = parts("domains", []);
        /// Driver domains, and what they did for guests.
        drivers: Vec<DriverLine> = parts("drivers", []);
        /// The longest wait that ended in the interval or goes on at its end; null without any.
        longest_wait: Maybe<WaitLine> = parts("longest_wait", []);
    }

    /// A domain.
    #[derive(Clone, PartialEq, Debug)]
    struct DomainLine {
        /// Number of the domain.
        id: u16 = key("id");
        /// Its name, where the source tells it.
        name: Option<String> = key("name");
        /// Sums over its vcpus.
        figures: FiguresLine = sum("", "");
        /// Its vcpus, each on each pcpu that it ran on; they sum to the domain.
        vcpus: Vec<VcpuLine> = parts("vcpus", []);
    }

    /// A vcpu on a pcpu.
    #[derive(Clone, PartialEq, Debug)]
    struct VcpuLine {
        /// Number of the vcpu.
        vcpu: u16 = key("vcpu");
        /// What the thread of a Linux host is called that the vcpu stands for; null for vcpus of
        /// guests.
        thread: Option<String> = fact("thread");
        /// Number of the pcpu: where it ran, or where it ran last when it waited or was blocked.
        pcpu: u16 = key("pcpu");
        /// Time that the figures are of, in nanoseconds.
        passed: u64 = sum("passed_ns", "ns");
        /// Of the one on the other.
        figures: FiguresLine = sum("", "");
    }

    /// Sums of one interval.
    #[derive(Clone, PartialEq, Debug)]
    struct FiguresLine {
        /// Time on a pcpu, in nanoseconds.
        gotten: u64 = sum("gotten_ns", "ns");
        /// Sum of the time slices that the policy gave, in nanoseconds.
        allocated: u64 = sum("allocated_ns", "ns");
        /// Time runnable without a pcpu, and not held back by its own budget, in nanoseconds.
        waited: u64 = sum("waited_ns", "ns");
        /// Time blocked, in nanoseconds.
        blocked: u64 = sum("blocked_ns", "ns");
        /// Part of it, in nanoseconds: it could not be interrupted (state D of Linux: it waited for
        /// a disk, a lock of the kernel or memory); 0 on other hosts.
        uninterruptible: u64 = sum("uninterruptible_ns", "ns");
        /// Time parked, in nanoseconds: put to sleep while it ran or was runnable, by its cap or by
        /// a pause, or held back by its own budget.
        parked: u64 = sum("parked_ns", "ns");
        /// Other time offline, in nanoseconds: paused while it was blocked, or not brought up.
        paused: u64 = sum("paused_ns", "ns");
        /// Times put on a pcpu.
        executions: u64 = count("executions");
        /// Times woken.
        wakeups: u64 = count("wakeups");
        /// Packets at netback, or pages mapped or transferred by grant; null as long as the trace
        /// tells of neither.
        io: Option<u64> = count("io");
    }

    /// A driver domain.
    #[derive(Clone, PartialEq, Debug)]
    struct DriverLine {
        /// Number of the driver domain.
        id: u16 = key("id");
        /// Its name, where the source tells it.
        name: Option<String> = key("name");
        /// Time that it executed, in nanoseconds.
        used: u64 = sum("used_ns", "ns");
        /// The guests that it worked for.
        guests: Vec<GuestLine> = parts("guests", []);
    }

    /// What a driver domain did for a guest.
    #[derive(Clone, PartialEq, Debug)]
    struct GuestLine {
        /// Number of the guest.
        id: u16 = key("id");
        /// Its name, where the source tells it.
        name: Option<String> = key("name");
        /// Packets that netback took from the guest.
        sent: u64 = count("sent");
        /// Packets that netback handed to the guest.
        received: u64 = count("received");
        /// Time that the guest is charged for by its packets, in nanoseconds; null where the trace
        /// tells of no packet.
        estimated: Option<u64> = sum("estimated_ns", "ns");
        /// Time that was worked for the guest in truth, in nanoseconds; null where the trace does
        /// not tell.
        exact: Option<u64> = sum("exact_ns", "ns");
        /// By how many hundredths of the used time the estimate is too high.
        error: Option<f64> = fact("error_points");
    }

    /// A stay in a run queue.
    #[derive(Clone, PartialEq, Debug)]
    struct WaitLine {
        /// Who waited.
        vcpu: VcpuName = key("");
        /// Number of the pcpu that the vcpu got, or ran on last.
        pcpu: u16 = fact("pcpu");
        /// When the wait began.
        since: Instant = moment("since_ns");
        /// How long it was, in nanoseconds.
        length: u64 = sum("length_ns", "ns");
        /// Whether it goes on at the end of the interval.
        goes_on: bool = fact("goes_on");
        /// Who ran there for most of the time; null where that is not known.
        behind: Maybe<BehindLine> = parts("behind", []);
    }

    /// Who ran during a wait.
    #[derive(Clone, PartialEq, Debug)]
    struct BehindLine {
        /// Who ran.
        vcpu: VcpuName = key("");
        /// For how much of it, in nanoseconds.
        ran: u64 = sum("ran_ns", "ns");
    }
}

impl FiguresLine {
    fn new(f: &Figures, tells: Tells) -> Self {
        FiguresLine {
            gotten: f.gotten,
            allocated: f.allocated,
            waited: f.waited,
            blocked: f.blocked,
            uninterruptible: f.uninterruptible,
            parked: f.parked,
            paused: f.paused,
            executions: f.executions,
            wakeups: f.wakeups,
            io: (tells.packets || tells.grants || f.io > 0).then_some(f.io),
        }
    }
}

/// What a line is.
pub fn spec() -> AnswerSpec {
    let (name, version, doc) = ANSWER;
    AnswerSpec::new(name, version, doc, SampleLine::spec())
}

/// The line of `sample`.
pub fn line(names: &DomainNames, sample: &IntervalSample, weight: PacketWeight) -> Answered {
    let name = |id| names.told(id);
    let domains = sample.domains.iter().map(|domain| {
        let parts = sample.parts.iter().filter(|p| p.vcpu.domain == domain.id);
        let vcpus = parts.map(|part| VcpuLine {
            vcpu: part.vcpu.index,
            thread: names.thread(part.vcpu),
            pcpu: part.pcpu.0,
            passed: sample.passed(part.pcpu),
            figures: FiguresLine::new(&part.figures, sample.tells),
        });
        DomainLine {
            id: domain.id.0,
            name: name(domain.id),
            figures: FiguresLine::new(&domain.figures, sample.tells),
            vcpus: vcpus.collect(),
        }
    });
    let drivers = charges(sample, weight).into_iter().map(|of| {
        let guests = of.charges.iter().map(|charge| GuestLine {
            id: charge.traffic.guest.0,
            name: name(charge.traffic.guest),
            sent: charge.traffic.sent,
            received: charge.traffic.received,
            estimated: charge.estimate,
            exact: charge.exact,
            error: charge.error_points(of.used),
        });
        DriverLine {
            id: of.driver.0,
            name: name(of.driver),
            used: of.used,
            guests: guests.collect(),
        }
    });
    let wait = |wait: QueueWait| WaitLine {
        vcpu: wait.vcpu,
        pcpu: wait.pcpu.0,
        since: wait.since,
        length: wait.length,
        goes_on: wait.goes_on,
        behind: Maybe(wait.behind.map(|(vcpu, ran)| BehindLine { vcpu, ran })),
    };
    let line = SampleLine {
        start: sample.start,
        end: sample.end,
        lost_records: sample.lost_records,
        domains: domains.collect(),
        drivers: drivers.collect(),
        longest_wait: Maybe(sample.longest_wait.map(wait)),
    };
    let (name, version, doc) = ANSWER;
    Answered::of(name, version, doc, &line)
}
