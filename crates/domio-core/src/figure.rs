//! Figures: declared measured quantities of a domain, and the tallies that they are made of.
//!
//! A record adds to [`Tally`]s, which its declaration lists. A [`Figure`] says how tallies, or what
//! a meter accounts of every domain, become one number with a unit, which direction is better, and
//! from which change on somebody feels it. Figures that belong together make a [`FigureTable`],
//! declared beside the class of the records. Whoever measures, compares or shows figures reads
//! these declarations, so that a new figure needs no line anywhere else.

use crate::Runstate;
use alloc::string::String;

/// A count or sum of the actor's domain that a record adds to, over the measured time, or a
/// collection of samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Name in lower case with underscores, unique among all classes of a stream ("web_replied").
    pub name: &'static str,
    /// What the record adds.
    pub adds: Adds,
}

/// What a record adds to a [`Tally`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Adds {
    /// One.
    One,
    /// The value of the field with this index.
    Sum(u8),
    /// The same, of time that was spent until the record: a record at the begin of the measured
    /// time is of the time before, and one at its end counts.
    Spent(u8),
    /// A sample: the value of the field with this index.
    Sample(u8),
}

impl Tally {
    /// A tally, for a `static`.
    pub const fn new(name: &'static str, adds: Adds) -> Self {
        Tally { name, adds }
    }
}

/// A declared measured quantity of a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Figure {
    /// Name in samples, after the name of the domain and a dot; ends in the unit.
    pub key: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Unit; empty for a plain number.
    pub unit: &'static str,
    /// How the figure is computed from `of`.
    pub kind: FigureKind,
    /// What the figure is made of.
    pub of: &'static [FigureOf],
    /// Divisor from the unit of `of` to that of the figure, 1 or more.
    pub over: u32,
    /// Which direction is better.
    pub better: Better,
    /// From which change on somebody feels it. Of a share, those that compete for processors alone.
    pub felt: Felt,
    /// Whether a domain where the sum is 0 has no such figure.
    pub only_some: bool,
    /// Whether the figure is shown for one trace alone, and is no measure of replications.
    pub detail: bool,
}

impl Figure {
    /// A figure called `key` and `title`, in `unit`, that is neither better nor felt.
    pub const fn new(
        (key, title, unit): (&'static str, &'static str, &'static str),
        kind: FigureKind,
        of: &'static [FigureOf],
    ) -> Self {
        Figure {
            key,
            title,
            unit,
            kind,
            of,
            over: 1,
            better: Better::Neither,
            felt: Felt::Never,
            only_some: false,
            detail: false,
        }
    }

    /// The same figure in a unit that is `over` times as large as that of what it is made of.
    pub const fn over(mut self, over: u32) -> Self {
        assert!(over > 0);
        self.over = over;
        self
    }

    /// The same figure, which is better in this direction and felt so.
    pub const fn better(mut self, better: Better, felt: Felt) -> Self {
        self.better = better;
        self.felt = felt;
        self
    }

    /// The same figure, which a domain without any of what is summed does not have.
    pub const fn only_some(mut self) -> Self {
        self.only_some = true;
        self
    }

    /// The same figure, shown for one trace alone.
    pub const fn detail(mut self) -> Self {
        self.detail = true;
        self
    }

    /// Name of this figure of `domain` in samples.
    pub fn name(&self, domain: &str) -> String {
        alloc::format!("{domain}.{}", self.key)
    }

    /// Whether the sum over domains is a figure of the host.
    pub const fn adds_up(&self) -> bool {
        matches!(
            self.kind,
            FigureKind::Sum | FigureKind::Rate { .. } | FigureKind::Share | FigureKind::Noted
        )
    }
}

/// How a [`Figure`] is computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FigureKind {
    /// The sum.
    Sum,
    /// The sum over the measured time, in multiples of `1 / times` a nanosecond.
    Rate {
        /// What a sum of 1 in one nanosecond is: 10^9 for "1/s" of counts.
        times: u64,
    },
    /// The sum, of nanoseconds, in percent of the measured time.
    Share,
    /// The same in percent of the measured time of all vcpus.
    ShareOfVcpus,
    /// The sum divided by another one; a domain without any of the other one has no such figure.
    Ratio(FigureOf),
    /// Arithmetic mean of samples.
    Mean,
    /// Standard deviation of samples.
    Deviation,
    /// The value below which so many percent of the samples are: 5, 50, 95 or 99.
    Quantile(u8),
    /// No records make it: a sink of its own notes it in samples.
    Noted,
}

impl FigureKind {
    /// The sum of counts, a second.
    pub const PER_SECOND: FigureKind = FigureKind::Rate {
        times: 1_000_000_000,
    };
}

/// What a [`Figure`] is made of: a sum, or samples, which count in a sum by their number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FigureOf {
    /// The [`Tally`] of this name.
    Tally(&'static str),
    /// Nanoseconds of all vcpus in this runstate.
    Time(Runstate),
    /// Nanoseconds for which vcpus were offline that had been put to sleep while they ran or were
    /// runnable: parked by a cap, or paused.
    Parked,
    /// Nanoseconds for which vcpus were blocked and could not be interrupted
    /// ([`Says::Uninterruptible`](crate::Says::Uninterruptible)).
    Uninterruptible,
    /// Times that a vcpu was put on a pcpu.
    Executions,
    /// Lengths of completed runs.
    Runs,
    /// From a wake-up to running.
    WakeToRun,
}

/// Which way a figure improves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Better {
    /// Larger is better (throughput).
    Higher,
    /// Smaller is better (latency).
    Lower,
    /// Neither (a share).
    Neither,
}

impl Better {
    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => "neither",
        }
    }
}

/// How people and their programs meet a figure.
///
/// Each floor is a judgement, and its reason stands beside it ([`floor`]). A change below its floor
/// may be proven in any case; nobody notices it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Felt {
    /// They feel the figure itself, from a change of so much on, in the figure's unit.
    Itself(u32),
    /// The figure is a cause of what they feel, from a change of so much on.
    Cause(u32),
    /// They never feel it: neither way is better.
    Never,
}

impl Felt {
    /// Least change that is felt, in the figure's unit; `None` for what never is.
    pub fn floor(self) -> Option<u32> {
        match self {
            Felt::Itself(floor) | Felt::Cause(floor) => Some(floor),
            Felt::Never => None,
        }
    }

    /// Places of figures in an order by what matters: the smaller comes first.
    pub fn rank(self) -> u8 {
        match self {
            Felt::Itself(_) => 0,
            Felt::Cause(_) => 1,
            Felt::Never => 2,
        }
    }
}

/// From which change of a figure on somebody feels the change, in the unit of the figure.
pub mod floor {
    /// Shares and parts of time, in percentage points: two recordings of one host differ by up to
    /// one (`docs/FIDELITY.md`, "How near two recordings are").
    pub const POINTS: u32 = 1;

    /// Waits from wake-up to running, in microseconds. A millisecond is the shortest period that
    /// guests commonly ask timers for: kernels that tick a thousand times a second, sound, control
    /// loops.
    pub const WAIT_US: u32 = 1_000;

    /// Turnarounds of jobs and answers of servers, in milliseconds: a third of a picture on a
    /// screen, of which there are sixty a second. Who sends many short jobs meets shares and rates.
    pub const ANSWER_MS: u32 = 5;

    /// Round trips of packets, in milliseconds: what an idle local network takes in all.
    pub const TRIP_MS: u32 = 1;

    /// Rates of streams, in Mb/s: what one film of low quality needs.
    pub const STREAM_MBPS: u32 = 1;

    /// Counts and counts in a second: one job, ping, reply or failure more or less.
    pub const ONE: u32 = 1;
}

/// Figures that belong together. A domain has the table when a record has added to any tally that
/// the figures are made of, details included, or when a figure is made of what a meter accounts of
/// every domain. Its sums are then 0 where no record has added to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FigureTable {
    /// What the figures are about, for people.
    pub title: &'static str,
    /// How near the figures are to what people feel: the larger, the nearer. Of two figures with
    /// one short name, the figure of the nearer table is meant.
    pub nearness: u8,
    /// The figures, in the order of tables. The first that is better the higher is what a domain
    /// gets done.
    pub figures: &'static [Figure],
}

impl FigureTable {
    /// What a domain gets done.
    pub fn throughput(&self) -> Option<&Figure> {
        let mut figures = self.figures.iter();
        figures.find(|figure| figure.better == Better::Higher)
    }

    /// Whether every domain has the table.
    pub fn is_accounted(&self) -> bool {
        let mut counted = self.figures.iter().flat_map(|figure| figure.of);
        counted.any(|counted| !matches!(counted, FigureOf::Tally(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: &[FigureOf] = &[FigureOf::Tally("done")];

    #[test]
    fn a_table_says_what_gets_done_and_who_has_it() {
        const FIGURES: &[Figure] = &[
            Figure::new(("wait_ms", "wait", "ms"), FigureKind::Mean, DONE).over(1_000_000),
            Figure::new(("done_per_s", "done", "1/s"), FigureKind::PER_SECOND, DONE)
                .better(Better::Higher, Felt::Itself(floor::ONE)),
        ];
        let table = FigureTable {
            title: "work",
            nearness: 1,
            figures: FIGURES,
        };
        assert_eq!(table.throughput().map(|f| f.key), Some("done_per_s"));
        assert!(!table.is_accounted());
        assert_eq!(FIGURES[0].name("web"), "web.wait_ms");
        assert_eq!([0, 1].map(|i| FIGURES[i].adds_up()), [false, true]);
        assert_eq!(FIGURES[1].felt.floor(), Some(1));
    }
}
