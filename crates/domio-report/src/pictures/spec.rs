//! What `figures.toml` of a paper says, once read and checked.

use crate::data::MarkShape;

/// Figures of one paper.
#[derive(Clone, PartialEq, Debug)]
pub struct PaperPictures {
    /// Folder of the paper.
    pub paper: String,
    /// Its figures, in the order of the file.
    pub figures: Vec<PictureSpec>,
}

/// One figure.
#[derive(Clone, PartialEq, Debug)]
pub struct PictureSpec {
    /// Name within the paper: letters, digits and hyphens.
    pub id: String,
    /// Number of the figure or table in the paper, as printed: "Figure 5", "Table IV".
    pub number: String,
    /// What it shows, a few words.
    pub title: String,
    /// Text below the title; may be empty.
    pub text: String,
    /// What is seen, one sentence.
    pub caption: String,
    /// Ids of claims about it, or how they begin.
    pub claims: Vec<String>,
    /// Experiments whose samples it shows, with their names in the figure.
    pub experiments: Vec<Member>,
    /// How it is drawn.
    pub drawing: Drawing,
}

/// A name in samples (an experiment, a value), and what readers call it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// The name in samples.
    pub key: String,
    /// What readers see.
    pub name: String,
}

/// The kinds of figure.
#[derive(Clone, PartialEq, Debug)]
pub enum Drawing {
    /// Columns are experiments; each panel has a quantity of them all.
    Panels(Vec<PanelSpec>),
    /// Grouped bars of values.
    Bars(Plot),
    /// Bars that are made of values, one bar an experiment.
    Stack(Plot),
    /// Curves of values.
    Lines {
        /// The values.
        plot: Plot,
        /// Name and unit of the horizontal axis.
        along: (String, String),
        /// Places on it: of the values, or of the experiments.
        at: Vec<f64>,
    },
    /// Distribution of a list, of all replications together.
    Cdf(ListSpec),
    /// A list of the first replication in its order.
    Sequence {
        /// The list.
        list: ListSpec,
        /// What is counted along it.
        count: String,
    },
}

/// Values of every experiment.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// The axis.
    pub axis: AxisSpec,
    /// The values.
    pub values: Vec<Member>,
    /// Whether experiments are groups (or places along the axis) and values are series; the other
    /// way round if not.
    pub by_experiment: bool,
    /// A value to compare with.
    pub reference: Option<(String, f64)>,
    /// What the paper prints.
    pub published: Vec<Published>,
}

/// A list of every experiment.
#[derive(Clone, PartialEq, Debug)]
pub struct ListSpec {
    /// The axis.
    pub axis: AxisSpec,
    /// Name of the list in samples.
    pub key: String,
    /// What the paper prints: ranges, which are single values where both ends are the same.
    pub bands: Vec<([f64; 2], String)>,
}

/// An axis of values.
#[derive(Clone, PartialEq, Debug)]
pub struct AxisSpec {
    /// What is shown.
    pub name: String,
    /// Its unit; empty for none.
    pub unit: String,
    /// Whether it is logarithmic; `None` where the values decide.
    pub log: Option<bool>,
}

/// One panel.
#[derive(Clone, PartialEq, Debug)]
pub struct PanelSpec {
    /// The vertical axis.
    pub axis: AxisSpec,
    /// The mean of each column.
    pub mean: MeanSpec,
    /// A range around it.
    pub range: Option<RangeSpec>,
    /// Marks, by kind.
    pub marks: Vec<MarkSpec>,
    /// What the table tells besides: a value and its name.
    pub remark: Option<Member>,
    /// What the paper prints.
    pub published: Vec<Published>,
}

/// The mean of a column.
#[derive(Clone, PartialEq, Debug)]
pub struct MeanSpec {
    /// What it is the mean of.
    pub name: String,
    /// The value.
    pub value: String,
    /// Of how many observations the value is the mean in a replication; with it, the mean is that
    /// of all observations of all replications.
    pub count: Option<String>,
    /// Their standard deviation.
    pub deviation: Option<String>,
    /// Whether the figure stands beside the mark.
    pub labelled: bool,
    /// What stands there when nothing was measured.
    pub none: String,
}

/// A range around a mean.
#[derive(Clone, PartialEq, Debug)]
pub struct RangeSpec {
    /// What it is.
    pub name: String,
    /// The values of its ends; `None` for the standard deviation around the mean.
    pub ends: Option<[String; 2]>,
}

/// Marks of one kind.
#[derive(Clone, PartialEq, Debug)]
pub struct MarkSpec {
    /// Their shape.
    pub shape: MarkShape,
    /// What they are.
    pub name: String,
    /// Their values.
    pub values: Vec<String>,
}

/// A value that the paper prints.
#[derive(Clone, PartialEq, Debug)]
pub struct Published {
    /// Name of its column, group or place; empty for all of them.
    pub at: Vec<String>,
    /// Which bar of the group has the value; `None` for all, and where a place has one value.
    pub of: Option<String>,
    /// The value, in the unit of the axis.
    pub value: f64,
    /// How it is written in the figure.
    pub text: String,
}

impl Published {
    /// Whether it belongs to the column called `name`.
    pub fn is_at(&self, name: &str) -> bool {
        self.at.is_empty() || self.at.iter().any(|at| at == name)
    }
}

impl PictureSpec {
    /// Names of all values and lists in samples that it draws.
    pub fn values(&self) -> Vec<&str> {
        match &self.drawing {
            Drawing::Panels(panels) => panels.iter().flat_map(PanelSpec::values).collect(),
            Drawing::Bars(plot) | Drawing::Stack(plot) | Drawing::Lines { plot, .. } => {
                plot.values.iter().map(|v| v.key.as_str()).collect()
            }
            Drawing::Cdf(list) | Drawing::Sequence { list, .. } => vec![&list.key],
        }
    }
}

impl PanelSpec {
    fn values(&self) -> Vec<&str> {
        let mean = &self.mean;
        let ends = self.range.iter().flat_map(|r| r.ends.iter().flatten());
        let mut values = vec![&mean.value];
        values.extend(mean.count.iter().chain(&mean.deviation).chain(ends));
        values.extend(self.marks.iter().flat_map(|m| &m.values));
        values.extend(self.remark.iter().map(|r| &r.key));
        values.into_iter().map(String::as_str).collect()
    }
}
