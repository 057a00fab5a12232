//! What a report shows.
//!
//! These structs know no simulator: whoever has figures fills them. Charts carry their units and
//! their intervals, and the page adds the data table beneath each chart.

use domio_answer::Table;
use domio_core::Runstate;
use domio_papers::ClaimLedger;
use domio_papers::ledger::LedgerEntry;
use domio_stats::Estimate;

/// A whole report.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ReportData {
    /// What files with its figures begin with, as the name of the scenario; may be empty.
    pub name: String,
    /// Title of the page.
    pub title: String,
    /// What the report is about, one or two sentences; may be empty.
    pub lead: String,
    /// Where the figures come from, in the order shown: version, command, scenario, seed,
    /// replications. A reader must be able to repeat the run from these.
    pub provenance: Vec<(String, String)>,
    /// What a reader should see first, before the verdicts. Without verdicts, the provenance then
    /// stands at the foot of the page.
    pub overview: Vec<Section>,
    /// Verdicts on the papers' claims; a page that has some opens with them.
    pub ledger: Option<ClaimLedger>,
    /// Titles of the papers whose claims these are.
    pub papers: Vec<PaperTitle>,
    /// One section an experiment or a question.
    pub sections: Vec<Section>,
}

/// Which paper claims are of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PaperTitle {
    /// First word of the ids of its claims.
    pub id: String,
    /// Title and venue, for readers.
    pub title: String,
}

/// Charts that belong together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Text below the heading, a list where there are several lines; may be empty.
    pub text: String,
    /// Charts, in order.
    pub figures: Vec<Picture>,
}

/// A chart with its caption.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// What files with the figure are called, in words; empty where the title of the section and
    /// the caption name it.
    pub name: String,
    /// What is seen, one sentence.
    pub caption: String,
    /// The chart.
    pub chart: Chart,
    /// Whether another figure of the section has the same as a table, so that a terminal, which has
    /// no pictures, leaves this one out.
    pub picture: bool,
}

impl Picture {
    /// The chart with its caption.
    pub fn new(caption: impl Into<String>, chart: Chart) -> Self {
        Picture {
            name: String::new(),
            caption: caption.into(),
            chart,
            picture: false,
        }
    }

    /// The same, of which only the picture is of interest.
    pub fn as_picture(self) -> Self {
        Picture {
            picture: true,
            ..self
        }
    }

    /// The same, in files that are called `name`.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }
}

/// The kinds of chart.
#[derive(Clone, PartialEq, Debug)]
pub enum Chart {
    /// Bars with confidence intervals.
    Bars(Bars),
    /// Bars that are made of parts.
    Stack(Stack),
    /// Cumulative distributions.
    Cdf(Cdf),
    /// Who runs when.
    Timeline(Timeline),
    /// Several quantities of the same columns, one below the other.
    Panels(Panels),
    /// Observations in their order.
    Sequence(Sequence),
    /// Values along an axis.
    Lines(Lines),
    /// Figures without a picture.
    Table(Table),
    /// Verdicts on the claims about what the section shows.
    Claims(Vec<LedgerEntry>),
}

/// What an axis shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Quantity {
    /// Name ("share of the processor").
    pub name: String,
    /// Unit ("%"), empty for none.
    pub unit: String,
}

impl Quantity {
    /// The quantity `name` in `unit`.
    pub fn new(name: &str, unit: &str) -> Self {
        Quantity {
            name: name.to_owned(),
            unit: unit.to_owned(),
        }
    }
}

/// Grouped bars: groups are domains, say, and series are policies.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bars {
    /// What the length of a bar is.
    pub value: Quantity,
    /// Whether the axis is logarithmic, with dots instead of bars; `None` where the values decide.
    pub log: Option<bool>,
    /// Names of the series: one bar of each in every group.
    pub series: Vec<String>,
    /// Groups, in order.
    pub groups: Vec<BarGroup>,
    /// A published or computed value to compare with, and what it is.
    pub reference: Option<(String, f64)>,
    /// What a paper prints of groups.
    pub published: Vec<Printed>,
}

/// A value that a paper prints.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Printed {
    /// Names of the groups that it is of; empty for all.
    pub at: Vec<String>,
    /// Name of the series; `None` for all of a group.
    pub of: Option<String>,
    /// The value.
    pub value: f64,
    /// How it is written.
    pub text: String,
}

impl Printed {
    /// Whether the value is of the group called `group`.
    pub fn is_at(&self, group: &str) -> bool {
        self.at.is_empty() || self.at.iter().any(|at| at == group)
    }

    /// Whether the value is of the series called `series`.
    pub fn is_of(&self, series: &str) -> bool {
        self.of.as_ref().is_none_or(|of| of == series)
    }
}

/// The bars of one group.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BarGroup {
    /// Name of the group.
    pub name: String,
    /// By series: the bar, `None` where nothing was measured.
    pub bars: Vec<Option<Estimate>>,
    /// By series: whether it is better (`true`) or worse than what it is compared with, beyond the
    /// 95 % interval. Empty where nothing is compared.
    pub marks: Vec<Option<bool>>,
}

impl BarGroup {
    /// The mark of series `index`.
    pub fn mark(&self, index: usize) -> Option<bool> {
        self.marks.get(index).copied().flatten()
    }
}

/// Bars that are made of parts, one after the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stack {
    /// What the length of a part is.
    pub value: Quantity,
    /// Names of the parts, in order.
    pub parts: Vec<String>,
    /// Bars, in order.
    pub bars: Vec<StackBar>,
}

/// One bar.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StackBar {
    /// Name of the bar.
    pub name: String,
    /// By part: its length, not negative.
    pub lengths: Vec<f64>,
}

/// Cumulative distributions over a logarithmic axis.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cdf {
    /// What is distributed.
    pub value: Quantity,
    /// One curve each.
    pub series: Vec<CdfSeries>,
}

/// One distribution.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CdfSeries {
    /// Name of the curve.
    pub name: String,
    /// Number of observations.
    pub count: u64,
    /// Steps: a value, and the fraction of observations that are at most that (0 to 1). Both rise.
    pub steps: Vec<(f64, f64)>,
}

impl CdfSeries {
    /// The distribution of `values`, of which those that are not finite are left out.
    pub fn of(name: &str, values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for (i, value) in sorted.into_iter().enumerate() {
            let fraction = (i + 1) as f64 / n as f64;
            match steps.last_mut() {
                Some(last) if last.0 == value => last.1 = fraction,
                _ => steps.push((value, fraction)),
            }
        }
        CdfSeries {
            name: name.to_owned(),
            count: n as u64,
            steps,
        }
    }

    /// The value at rank `floor(q * n)`, counted from 0, or the largest; `None` when there are no
    /// observations. The same rule as in tables of the meter and the laboratory.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let at = self.steps.partition_point(|(_, fraction)| *fraction <= q);
        self.steps.get(at).or(self.steps.last()).map(|(v, _)| *v)
    }
}

/// Panels that share their columns: bandwidth, shares and latency by configuration, say.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Panels {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// From top to bottom.
    pub panels: Vec<Panel>,
}

/// One quantity in each column.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Panel {
    /// The vertical axis.
    pub value: Quantity,
    /// Whether that is logarithmic.
    pub log: bool,
    /// What the mean is of, for the legend.
    pub mean: String,
    /// What the range is, for the legend; empty where no cell has one.
    pub range: String,
    /// Kinds of marks, for the legend.
    pub marks: Vec<(MarkShape, String)>,
    /// What remarks are, for the table; empty where no cell has one.
    pub remark: String,
    /// By column.
    pub cells: Vec<PanelCell>,
}

/// What a panel has in one column. All values are in the unit of the panel.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PanelCell {
    /// The mean with its interval.
    pub mean: Option<Estimate>,
    /// Text beside the mean, in one line or more; empty for none.
    pub label: String,
    /// A range around it.
    pub range: Option<[f64; 2]>,
    /// Values by kind of mark, each from left to right.
    pub marks: Vec<Vec<f64>>,
    /// Published values, and how they were printed.
    pub published: Vec<(f64, String)>,
    /// What only the table tells.
    pub remark: String,
}

/// How a mark is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkShape {
    /// A cross.
    Cross,
    /// A box.
    Box,
    /// A ring.
    Ring,
    /// A short line.
    Dash,
}

/// Values along an axis, joined by lines.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lines {
    /// The horizontal axis.
    pub along: Quantity,
    /// The vertical axis.
    pub value: Quantity,
    /// Whether that is logarithmic.
    pub log: bool,
    /// The lines.
    pub lines: Vec<Line>,
    /// What a paper prints: place, value, and how it is written.
    pub published: Vec<(f64, f64, String)>,
}

/// One line.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// One point of a line.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Point {
    /// Where it is.
    pub x: f64,
    /// The value there; `None` where nothing was measured.
    pub y: Option<Estimate>,
}

/// Observations one after the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sequence {
    /// What is counted along the horizontal axis.
    pub count: String,
    /// What is observed.
    pub value: Quantity,
    /// Whether its axis is logarithmic.
    pub log: bool,
    /// Names and observations, one curve each.
    pub series: Vec<(String, Vec<f64>)>,
    /// Published ranges, and how they are named.
    pub published: Vec<([f64; 2], String)>,
}

/// Rows of spans over time: pcpus and what runs on them, or vcpus and their runstates.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    /// First instant shown, in nanoseconds.
    pub from_ns: u64,
    /// Last instant shown, in nanoseconds; after `from_ns`.
    pub until_ns: u64,
    /// Names of the domains, which give spans their colours.
    pub owners: Vec<String>,
    /// Rows, from top to bottom.
    pub rows: Vec<TimelineRow>,
    /// The wait that the timeline is about, which is marked.
    pub worst: Option<Wait>,
}

/// A wait in a timeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Name of the row.
    pub row: String,
    /// First instant, in nanoseconds.
    pub from_ns: u64,
    /// End, in nanoseconds.
    pub until_ns: u64,
}

/// One row of a timeline.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TimelineRow {
    /// Name of the pcpu or vcpu.
    pub name: String,
    /// Spans, by time, without overlap. Time that no span covers is idle.
    pub spans: Vec<TimelineSpan>,
}

/// A stretch of time in one state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimelineSpan {
    /// First instant, in nanoseconds.
    pub from_ns: u64,
    /// End, not included, in nanoseconds.
    pub until_ns: u64,
    /// Whose time it is: index into [`Timeline::owners`].
    pub owner: usize,
    /// The runstate. A row of a pcpu has running spans only.
    pub state: Runstate,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_from_values() {
        let cdf = CdfSeries::of("x", &[3.0, 1.0, f64::NAN, 3.0, 2.0]);
        assert_eq!(cdf.steps, [(1.0, 0.25), (2.0, 0.5), (3.0, 1.0)]);
        assert_eq!(cdf.count, 4);
        assert_eq!(cdf.quantile(0.49), Some(2.0));
        assert_eq!(cdf.quantile(0.5), Some(3.0));
        assert_eq!(cdf.quantile(1.0), Some(3.0));
        assert_eq!(CdfSeries::of("x", &[]).quantile(0.5), None);
        let values: Vec<f64> = (0..37).map(|i| f64::from(i * i % 41)).collect();
        let cdf = CdfSeries::of("x", &values);
        for q in [0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(cdf.quantile(q), domio_stats::quantile(&values, q), "{q}");
        }
    }
}
