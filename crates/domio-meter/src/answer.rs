//! The summary of a trace as an answer, for programs.

use std::borrow::Cow;

use domio_answer::column::{by_name, column, count, fact};
use domio_answer::{Answered, Cell, ColumnKind, Holds, Inner, Maybe, Table, rows};
use domio_core::{DomainId, VcpuName};

use crate::{Account, DomainTally, DriverWork, Quantiles, Summary, TallyValue};

/// What the schema says of it.
const DOC: &str = "What `domio trace summary --json` prints: which domains ran and waited.";

rows! {
    /// The facts of a summary.
    #[derive(Clone, PartialEq, Debug)]
    struct SummaryRow {
        /// Measured time: from the first to the last record.
        seconds: f64 = sum("seconds", "s");
        /// Counts a second of the clock that the file's times were converted with.
        tsc_hz: u64 = fact("tsc_hz");
        /// Records of all kinds.
        records: u64 = count("records");
        /// Records that Xen dropped.
        lost_records: u64 = count("lost_records");
        /// Whether the file ends too early; the figures are of what is there.
        truncated: bool = any("truncated");
        /// Whether the trace reports runstates; if not, there are no figures of domains and pcpus.
        runstates: bool = all("runstates");
        /// Jain's index of the running times of the guests in `jain_over`: 1 when all are equal,
        /// one over their number when one has it all; null for fewer than two.
        jain: Option<f64> = fact("jain");
        /// The guests that compete for processors, by id: those that hardly sleep. Others, and the
        /// control domain, get what they ask for, whatever the policy does.
        jain_over: Vec<DomainId> = fact("jain_over");
        /// By id; 32767 is the idle domain.
        domains: Vec<DomainRow> = parts("domains", []);
    }

    /// A domain: sums over its vcpus, quantiles of their samples pooled.
    #[derive(Clone, PartialEq, Debug)]
    struct DomainRow {
        /// Xen's domid.
        id: DomainId = key("id");
        /// Its name, where known.
        name: Option<String> = fact("name");
        account: AccountRow = fact("account");
        /// By index.
        vcpus: Vec<VcpuRow> = parts("vcpus", []);
        /// Its figures that have a value, by key, as classes of records declare them: the keys of
        /// `domio run --json`, and details.
        figures: Vec<(Cow<'static, str>, f64)> = by_name("figures", fact("value"));
        /// What records add to, by name.
        tallies: Vec<TallyRow> = parts("tallies", []);
    }

    /// A vcpu.
    #[derive(Clone, PartialEq, Debug)]
    struct VcpuRow {
        /// Its index in the domain.
        index: u16 = key("index");
        /// What the thread of a Linux host is called that the vcpu stands for; null for vcpus of
        /// guests.
        thread: Option<String> = fact("thread");
        account: AccountRow = fact("account");
    }

    /// Figures of a domain or a vcpu.
    #[derive(Clone, PartialEq, Debug)]
    struct AccountRow {
        /// On a pcpu.
        running: u64 = sum("running_ns", "ns");
        /// Runnable without a pcpu; the sum of the three that begin with `waited_`.
        runnable: u64 = sum("runnable_ns", "ns");
        /// Blocked.
        blocked: u64 = sum("blocked_ns", "ns");
        /// Part of `blocked_ns`: it could not be interrupted (state D of Linux: it waited for a
        /// disk, a lock of the kernel or memory); 0 on other hosts.
        uninterruptible: u64 = sum("uninterruptible_ns", "ns");
        /// Paused, parked or not brought up.
        offline: u64 = sum("offline_ns", "ns");
        /// Part of `offline_ns`: put to sleep while it ran or was runnable, by its cap or a pause,
        /// or held back by its own budget, which was used up.
        parked: u64 = sum("parked_ns", "ns");
        /// Not known: records were lost or contradict each other.
        unknown: u64 = sum("unknown_ns", "ns");
        /// Runnable since a wake-up.
        waited_after_wake: u64 = sum("waited_after_wake_ns", "ns");
        /// Runnable since another vcpu took the pcpu.
        waited_after_preempt: u64 = sum("waited_after_preempt_ns", "ns");
        /// Runnable since an unpause or the start of the trace.
        waited_other: u64 = sum("waited_other_ns", "ns");
        /// Running time in percent of one pcpu over the measured time.
        share_percent: f64 = share("share_percent");
        /// Times a second that it was put on a pcpu.
        executions_per_second: f64 = column("executions_per_second", "1/s", ColumnKind::Rate);
        /// Completed runs.
        runs: u64 = count("runs");
        /// Wake-ups that led to a run.
        wakes: u64 = count("wakes");
        /// Lengths of completed runs.
        run_us: Inner<MicrosRow> = fact("run_us");
        /// From wake-up to running.
        wake_to_run_us: Inner<MicrosRow> = fact("wake_to_run_us");
    }

    /// Quantiles in microseconds; nothing without a sample.
    #[derive(Clone, PartialEq, Debug)]
    struct MicrosRow {
        /// 5 % of the samples are below.
        p5: Option<f64> = column("p5", "us", ColumnKind::Quantile);
        /// The median.
        p50: Option<f64> = column("p50", "us", ColumnKind::Quantile);
        /// 95 % of the samples are below.
        p95: Option<f64> = column("p95", "us", ColumnKind::Quantile);
        /// 99 % of the samples are below.
        p99: Option<f64> = column("p99", "us", ColumnKind::Quantile);
        /// The largest sample.
        max: Option<f64> = max("max", "us");
        /// Arithmetic mean.
        mean: Option<f64> = column("mean", "us", ColumnKind::Mean);
        /// Whether the quantiles are samples themselves; otherwise they are right to 0.1 %.
        exact: bool = all("exact");
    }

    /// What records add to, as their class declares.
    #[derive(Clone, PartialEq, Debug)]
    struct TallyRow {
        /// The declared name.
        name: Cow<'static, str> = key("name");
        /// What is counted.
        unit: Cow<'static, str> = fact("unit");
        /// The count or sum, or the number of samples.
        value: u64 = count("value");
        /// Quantiles of the samples, in the unit; null for counts and sums.
        samples: Maybe<Quantiles> = fact("samples");
    }
}

impl Summary {
    /// The summary for programs, of a file whose clock counts `tsc_hz` a second. `name` gives the
    /// name of a domain, and `truncated` says whether the file ends too early.
    pub fn answer(
        &self,
        name: impl Fn(DomainId) -> Option<String>,
        tsc_hz: u64,
        truncated: bool,
    ) -> Answered {
        self.answer_with_threads(name, |_| None, tsc_hz, truncated)
    }

    /// The same of a Linux host, where `thread` gives the name of the thread that a vcpu stands
    /// for.
    pub fn answer_with_threads(
        &self,
        name: impl Fn(DomainId) -> Option<String>,
        thread: impl Fn(VcpuName) -> Option<String>,
        tsc_hz: u64,
        truncated: bool,
    ) -> Answered {
        let competing = self.competing();
        let domains = self.domains.iter().map(|d| DomainRow {
            id: d.id,
            name: name(d.id),
            account: self.account(&d.total),
            vcpus: d
                .vcpus
                .iter()
                .map(|v| VcpuRow {
                    index: v.name.index,
                    thread: thread(v.name),
                    account: self.account(&v.account),
                })
                .collect(),
            figures: self
                .figures(d)
                .into_iter()
                .map(|(figure, value)| (figure.key.into(), value))
                .collect(),
            tallies: d.tallies.iter().map(TallyRow::new).collect(),
        });
        let facts = SummaryRow {
            seconds: self.seconds(),
            tsc_hz,
            records: self.records,
            lost_records: self.lost_records,
            truncated,
            runstates: self.runstates,
            jain: self.jain(&competing).filter(|_| competing.len() > 1),
            jain_over: competing,
            domains: domains.collect(),
        };
        let mut answer = Answered::of("trace-summary", 6, DOC, &facts);
        let doc = "For whom driver domains worked, by id; of those that worked for others.";
        answer.derive_table("driver_work", doc, DriverWork::table(&self.driver_work));
        answer.derive_table("pcpus", "By number.", self.pcpu_table());
        let doc = "The host's own disks of which requests are recorded, by number.";
        answer.derive_table("disks", doc, Table::of("", &self.disks));
        let doc = "How evenly boosts are spread over pcpus: their mean by the largest number on \
                   one; null where the trace has none.";
        let balance = fact("boost_balance").optional();
        answer.derive(balance.doc(doc), self.boost_balance());
        let counts = self.undeclared.iter();
        let counts = counts.map(|(name, n)| vec![name.clone().into(), (*n).into()]);
        let doc = "Records that no class declares: how many there are, by what they are called.";
        let undeclared = count("records").of(Holds::Whole);
        let undeclared = by_name("undeclared", undeclared).doc(doc);
        answer.derive(undeclared, Cell::Rows(counts.collect()));
        answer
    }

    /// The pcpus, with what people read of each.
    pub fn pcpu_table(&self) -> Table {
        let pcpus = || self.pcpus.iter();
        let mut table = Table::of("", pcpus());
        let busy = column("busy_percent", "% of time", ColumnKind::Share).title("busy");
        let busy = busy.doc("Part of the time in which a vcpu of a domain ran.");
        table.derive(busy, pcpus().map(|p| self.percent(p.busy).into()));
        let rate = |key: &'static str, title: &'static str, doc: &'static str| {
            let column = column(key, "1/s", ColumnKind::Rate);
            column.title(title).doc(doc)
        };
        let switches = rate("switches_per_second", "switches", "`switches` a second.");
        let a_second = |n| Cell::from(self.per_second(n));
        table.derive(switches, pcpus().map(|p| a_second(p.switches)));
        let boosts = rate("boosts_per_second", "boosts", "`boosts` a second.").optional();
        let told = pcpus().map(|p| p.boosts.map_or(Cell::None, a_second));
        table.derive(boosts, told);
        table
    }

    fn account(&self, a: &Account) -> AccountRow {
        AccountRow {
            running: a.running,
            runnable: a.runnable,
            blocked: a.blocked,
            uninterruptible: a.uninterruptible,
            offline: a.offline,
            parked: a.parked,
            unknown: a.unknown,
            waited_after_wake: a.waited_after_wake,
            waited_after_preempt: a.waited_after_preempt,
            waited_other: a.waited_other,
            share_percent: self.percent(a.running),
            executions_per_second: self.per_second(a.executions),
            runs: a.runs.count,
            wakes: a.wake_to_run.count,
            run_us: Inner(MicrosRow::new(&a.runs)),
            wake_to_run_us: Inner(MicrosRow::new(&a.wake_to_run)),
        }
    }
}

impl MicrosRow {
    fn new(q: &Quantiles) -> Self {
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        MicrosRow {
            p5: us(q.p5),
            p50: us(q.p50),
            p95: us(q.p95),
            p99: us(q.p99),
            max: us(q.max),
            mean: q.mean.map(|ns| ns / 1e3),
            exact: q.exact,
        }
    }
}

impl TallyRow {
    fn new(tally: &DomainTally) -> Self {
        let (value, samples) = match tally.value {
            TallyValue::Sum(sum) => (sum, None),
            TallyValue::Samples(q) => (q.count, Some(q)),
        };
        TallyRow {
            name: tally.name.into(),
            unit: tally.unit.name().into(),
            value,
            samples: Maybe(samples),
        }
    }
}
