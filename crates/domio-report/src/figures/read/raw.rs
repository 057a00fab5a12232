//! The tables of `figures.toml`, as they are written.

use crate::data::MarkShape;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawFile {
    /// Words that `{name}` stands for, in every figure.
    #[serde(default)]
    pub sets: BTreeMap<String, RawWords>,
    /// Panels that figures name.
    #[serde(default)]
    pub panels: BTreeMap<String, RawPanel>,
    /// The figures.
    #[serde(default)]
    pub figure: Vec<RawFigure>,
}

/// A set of words.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of words, or a range of numbers as \"1..7\""
)]
pub enum RawWords {
    /// One by one.
    List(Vec<String>),
    /// "1..7".
    Range(String),
}

/// A figure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawFigure {
    pub id: Spanned<String>,
    pub number: String,
    pub title: String,
    #[serde(default)]
    pub text: String,
    pub caption: String,
    #[serde(default)]
    pub claims: Vec<String>,
    pub kind: Spanned<RawKind>,
    pub experiments: Spanned<OneOrMany<RawExperiment>>,
    #[serde(default)]
    pub sets: BTreeMap<String, RawWords>,
    pub value: Option<RawValue>,
    pub values: Option<Spanned<OneOrMany<String>>>,
    pub names: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    pub by: By,
    pub list: Option<String>,
    pub count: Option<String>,
    pub along: Option<Spanned<RawAlong>>,
    pub panels: Option<Vec<Spanned<String>>>,
    pub reference: Option<RawReference>,
    #[serde(default)]
    pub published: Vec<Spanned<RawPublished>>,
}

/// How a figure is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawKind {
    Panels,
    Bars,
    Stack,
    Lines,
    Cdf,
    Sequence,
}

impl RawKind {
    pub fn name(self) -> &'static str {
        match self {
            RawKind::Panels => "panels",
            RawKind::Bars => "bars",
            RawKind::Stack => "stack",
            RawKind::Lines => "lines",
            RawKind::Cdf => "cdf",
            RawKind::Sequence => "sequence",
        }
    }

    /// Keys that this kind has besides those of all kinds.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            RawKind::Panels => &["panels"],
            RawKind::Bars => &["value", "values", "names", "reference"],
            RawKind::Stack => &["value", "values", "names"],
            RawKind::Lines => &["value", "values", "names", "along"],
            RawKind::Cdf => &["value", "list"],
            RawKind::Sequence => &["value", "list", "count"],
        }
    }
}

/// What makes the groups.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Each value is a group, with a bar of each experiment.
    #[default]
    Value,
    /// Each experiment is a group, with a bar of each value.
    Experiment,
}

/// One or a list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, or a list of texts")]
pub enum OneOrMany<T> {
    Many(Vec<T>),
    One(T),
}

impl<T> OneOrMany<T> {
    pub fn list(&self) -> &[T] {
        match self {
            OneOrMany::Many(list) => list,
            OneOrMany::One(one) => std::slice::from_ref(one),
        }
    }
}

/// An experiment, or a pattern of several.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of an experiment, a pattern as \"a.test1.{sets}\", or \
                 { experiment = \"a.b\", name = \"for readers\" }"
)]
pub enum RawExperiment {
    Pattern(String),
    Named { experiment: String, name: String },
}

/// The axis of values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawValue {
    pub name: String,
    #[serde(default)]
    pub unit: String,
    #[serde(default)]
    pub axis: AxisText,
}

/// Linear or not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisText {
    /// Logarithmic where the values span decades.
    #[default]
    Auto,
    Linear,
    Log,
}

/// The horizontal axis of lines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawAlong {
    pub name: String,
    #[serde(default)]
    pub unit: String,
    pub at: Vec<f64>,
}

/// A value to compare with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawReference {
    pub name: String,
    pub value: f64,
}

/// A panel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPanel {
    pub name: String,
    #[serde(default)]
    pub unit: String,
    /// What readers of every figure with this panel have to know.
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub axis: AxisText,
    pub mean: Spanned<RawMean>,
    pub range: Option<Spanned<RawRange>>,
    #[serde(default)]
    pub marks: Vec<RawMark>,
    pub remark: Option<RawRemark>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawMean {
    pub name: String,
    pub value: String,
    pub count: Option<String>,
    pub deviation: Option<String>,
    #[serde(default)]
    pub labelled: bool,
    #[serde(default)]
    pub none: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRange {
    pub name: String,
    pub low: Option<String>,
    pub high: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawMark {
    pub shape: RawShape,
    pub name: String,
    pub values: Spanned<OneOrMany<String>>,
}

/// How a mark is drawn.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawShape {
    Cross,
    Box,
    Ring,
    Dash,
}

impl From<RawShape> for MarkShape {
    fn from(shape: RawShape) -> Self {
        match shape {
            RawShape::Cross => MarkShape::Cross,
            RawShape::Box => MarkShape::Box,
            RawShape::Ring => MarkShape::Ring,
            RawShape::Dash => MarkShape::Dash,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRemark {
    pub name: String,
    pub value: String,
}

/// A value that the paper prints.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPublished {
    pub panel: Option<String>,
    pub at: Option<Spanned<OneOrMany<String>>>,
    pub of: Option<String>,
    pub value: f64,
    pub until: Option<f64>,
    pub text: Option<String>,
}
