//! The tables of `figures.toml`.

use crate::data::MarkShape;
use domio_core::keys::{
    Form, Key, KeyKind, KeySection, Keys, Need, Nested, TOP_LEVEL, WordOf, by_name, figure,
    figures, flag, form, nested, nested_list, text, texts, texts_or_tables, word,
};

/// The file.
pub static FILE: KeySection = KeySection::plain(TOP_LEVEL, "Figures of a paper.", File::KEYS);

keys! {
    pub struct File {
        sets: Nested = by_name(&SET), Need::Optional("none"),
            "Words that `{name}` stands for, in every figure.";
        panels: Nested = by_name(&PANEL_KEY), Need::Optional("none"), "Panels that figures name.";
        figure: Nested = nested_list(&FIGURE), Need::Required, "The figures.";
    }
}

static SET: Key = Key::new(
    "NAME",
    KeyKind::Texts,
    Need::Required,
    "Words, or a range: 1..7.",
);
static PANEL_KEY: Key = Key::new("NAME", KeyKind::Section(&PANEL), Need::Required, "A panel.");

/// `[[figure]]`.
pub static FIGURE: KeySection = KeySection::plain("[[figure]]", "A figure.", PictureKeys::KEYS);

keys! {
    pub struct PictureKeys {
        id: String = form(&ID, id), Need::Required, "Name within the paper.";
        number: String = text(), Need::Required, "Number in the paper, as printed.";
        title: String = text(), Need::Required, "What it shows.";
        text: String = text(), Need::Word(""), "Text below the title.";
        caption: String = text(), Need::Required, "What is seen.";
        claims: Vec<String> = texts(), Need::Optional("none"), "Claims about it.";
        kind: KindKeys = word(&KINDS), Need::Required, "How it is drawn.";
        experiments: Nested = texts_or_tables(&EXPERIMENT), Need::Required,
            "Experiments, or patterns of several.";
        sets: Nested = by_name(&SET), Need::Optional("none"), "Sets of the figure's own.";
        value: Nested = nested(&VALUE), Need::Optional("by kind"), "The axis of values.";
        values: Vec<String> = texts(), Need::Optional("by kind"), "The values.";
        names: Vec<String> = texts(), Need::Optional("the values'"), "What readers call them.";
        by: bool = word(&BY), Need::Word("value"), "What makes the groups.";
        list: String = text(), Need::Optional("by kind"), "Name of the list.";
        count: String = text(), Need::Word("number"), "What is counted along a list.";
        along: Nested = nested(&ALONG), Need::Optional("by kind"), "The axis of places.";
        panels: Vec<String> = texts(), Need::Optional("by kind"), "Names of panels.";
        reference: Nested = nested(&REFERENCE), Need::Optional("none"), "A value to compare with.";
        published: Nested = nested_list(&PUBLISHED), Need::Optional("none"),
            "Values that the paper prints.";
    }
}

static ID: Form = Form {
    example: "fig5",
    range: "lower-case letters, digits and hyphens",
    expected: "lower-case letters, digits and hyphens only, as \"fig5\"",
    hint: "as \"fig5\"",
    pattern: "^[a-z0-9-]+$",
    check: |text| id(text).map(|_| ()),
};

fn id(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(format!("\"{text}\" is no id")),
    }
}

/// How a figure is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KindKeys {
    Panels,
    Bars,
    Stack,
    Lines,
    Cdf,
    Sequence,
}

pub static KINDS: [WordOf<KindKeys>; 6] = [
    WordOf::new("panels", KindKeys::Panels, "A panel for each quantity."),
    WordOf::new("bars", KindKeys::Bars, "Grouped bars."),
    WordOf::new("stack", KindKeys::Stack, "Bars of parts."),
    WordOf::new("lines", KindKeys::Lines, "Curves."),
    WordOf::new("cdf", KindKeys::Cdf, "The distribution of a list."),
    WordOf::new("sequence", KindKeys::Sequence, "A list in its order."),
];

impl KindKeys {
    /// Keys that this kind has besides those of all kinds.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            KindKeys::Panels => &["panels"],
            KindKeys::Bars => &["value", "values", "names", "reference"],
            KindKeys::Stack => &["value", "values", "names"],
            KindKeys::Lines => &["value", "values", "names", "along"],
            KindKeys::Cdf => &["value", "list"],
            KindKeys::Sequence => &["value", "list", "count"],
        }
    }
}

static BY: [WordOf<bool>; 2] = [
    WordOf::new(
        "value",
        false,
        "Each value is a group, with a bar of each experiment.",
    ),
    WordOf::new(
        "experiment",
        true,
        "Each experiment is a group, with a bar of each value.",
    ),
];

/// An experiment with a name for readers.
pub static EXPERIMENT: KeySection =
    KeySection::plain("experiments", "An experiment.", ExperimentKeys::KEYS);

keys! {
    pub struct ExperimentKeys {
        experiment: String = text(), Need::Required, "Its name.";
        name: String = text(), Need::Required, "What readers call it.";
    }
}

pub static VALUE: KeySection = KeySection::plain("value", "The axis of values.", ValueKeys::KEYS);

keys! {
    pub struct ValueKeys {
        name: String = text(), Need::Required, "What is shown.";
        unit: String = text(), Need::Word(""), "Its unit.";
        axis: Option<bool> = word(&AXES), Need::Word("auto"), "Linear or not.";
    }
}

static AXES: [WordOf<Option<bool>>; 3] = [
    WordOf::new("auto", None, "Logarithmic where the values span decades."),
    WordOf::new("linear", Some(false), "Linear."),
    WordOf::new("log", Some(true), "Logarithmic."),
];

pub static ALONG: KeySection = KeySection::plain("along", "The axis of places.", Along::KEYS);

keys! {
    pub struct Along {
        name: String = text(), Need::Required, "What is along it.";
        unit: String = text(), Need::Word(""), "Its unit.";
        at: Vec<String> = figures(), Need::Required, "The places.";
    }
}

pub static REFERENCE: KeySection =
    KeySection::plain("reference", "A value to compare with.", Reference::KEYS);

keys! {
    pub struct Reference {
        name: String = text(), Need::Required, "What it is.";
        value: String = figure(), Need::Required, "The value.";
    }
}

pub static PANEL: KeySection = KeySection::plain("[panels.NAME]", "A panel.", PanelKeys::KEYS);

keys! {
    pub struct PanelKeys {
        name: String = text(), Need::Required, "What is shown.";
        unit: String = text(), Need::Word(""), "Its unit.";
        text: String = text(), Need::Word(""),
            "What readers of every figure with this panel have to know.";
        axis: Option<bool> = word(&AXES), Need::Word("auto"), "Linear or not.";
        mean: Nested = nested(&MEAN), Need::Required, "The mean of each column.";
        range: Nested = nested(&RANGE), Need::Optional("none"), "A range around it.";
        marks: Nested = nested_list(&MARK), Need::Optional("none"), "Marks, by kind.";
        remark: Nested = nested(&REMARK), Need::Optional("none"), "Further remarks on the table.";
    }
}

pub static MEAN: KeySection = KeySection::plain("mean", "The mean of a column.", Mean::KEYS);

keys! {
    pub struct Mean {
        name: String = text(), Need::Required, "What it is the mean of.";
        value: String = text(), Need::Required, "The value.";
        count: String = text(), Need::Optional("none"), "Of how many it is the mean.";
        deviation: String = text(), Need::Optional("none"), "Their deviation.";
        labelled: bool = flag(), Need::Int(0), "Whether the figure stands beside the mark.";
        none: String = text(), Need::Word(""), "What stands there when nothing was measured.";
    }
}

pub static RANGE: KeySection = KeySection::plain("range", "A range.", Range::KEYS);

keys! {
    pub struct Range {
        name: String = text(), Need::Required, "What it is.";
        low: String = text(), Need::Optional("none"), "The value of its lower end.";
        high: String = text(), Need::Optional("none"), "The value of its upper end.";
    }
}

pub static MARK: KeySection = KeySection::plain("marks", "Marks of one kind.", Mark::KEYS);

keys! {
    pub struct Mark {
        shape: MarkShape = word(&SHAPES), Need::Required, "Their shape.";
        name: String = text(), Need::Required, "What they are.";
        values: Vec<String> = texts(), Need::Required, "Their values.";
    }
}

static SHAPES: [WordOf<MarkShape>; 4] = [
    WordOf::new("cross", MarkShape::Cross, "A cross."),
    WordOf::new("box", MarkShape::Box, "A box."),
    WordOf::new("ring", MarkShape::Ring, "A ring."),
    WordOf::new("dash", MarkShape::Dash, "A dash."),
];

pub static REMARK: KeySection = KeySection::plain("remark", "A value.", Remark::KEYS);

keys! {
    pub struct Remark {
        name: String = text(), Need::Required, "What it is.";
        value: String = text(), Need::Required, "The value.";
    }
}

pub static PUBLISHED: KeySection = KeySection::plain(
    "published",
    "A value that the paper prints.",
    PrintedKeys::KEYS,
);

keys! {
    pub struct PrintedKeys {
        panel: String = text(), Need::Optional("none"), "Its panel.";
        at: Vec<String> = texts(), Need::Optional("all"), "Its column, group or place.";
        of: String = text(), Need::Optional("all"), "Its bar.";
        value: String = figure(), Need::Required, "The value.";
        until: String = figure(), Need::Optional("none"), "The other end, in lists.";
        text: String = text(), Need::Optional("the value"), "How it is written.";
    }
}
