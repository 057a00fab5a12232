//! The schemas of what `--json` prints, by name.
//!
//! A new output is an answer, and gets one line of [`ANSWERS`]. Those that are no answers yet have
//! a file in `schemas` and a line of [`SCHEMAS`].

use crate::cmd::results;
use domio_advise::alert;
use domio_advise::dom0_share::answers;
use domio_answer::AnswerSpec;
use domio_meter::Explanation;
use domio_papers::{answer, claim_page};
use serde_json::Value;

/// The schema of one output.
pub struct Schema {
    /// Its name, after the command.
    pub name: &'static str,
    /// `domio/NAME/VERSION`: what the output says of itself in the key `schema`, unless the output
    /// is a list.
    pub id: String,
    /// What it is of.
    pub doc: String,
    /// The JSON Schema.
    pub text: String,
}

/// What commands answer.
const ANSWERS: &[fn() -> AnswerSpec] = &[
    || Explanation::default().answer(|_| None, None, false).spec,
    answer::spec,
    claim_page::list_spec,
    claim_page::show_spec,
    results::list_spec,
    results::show_spec,
    results::diff_spec,
    results::prune_spec,
    alert::spec,
    answers::spec,
];

/// An output with a file of its own.
pub struct Written {
    name: &'static str,
    id: &'static str,
    text: &'static str,
}

macro_rules! schemas {
    ($($name:literal $version:literal),* $(,)?) => {
        &[$(Written {
            name: $name,
            id: concat!("domio/", $name, "/", $version),
            text: include_str!(concat!("../schemas/", $name, ".json")),
        }),*]
    };
}

/// Outputs that are no answers, in the order of the commands.
const SCHEMAS: &[Written] = schemas![
    "run" 1,
    "compare" 1,
    "sweep" 1,
    "calibrate" 1,
    "mon" 1,
    "trace-summary" 2,
    "trace-check" 1,
    "block-summary" 1,
    "block-replay" 1,
    "block-compare" 1,
    "block-explain" 1,
    "validate" 2,
    "policy-list" 1,
    "policy-show" 1,
    "policy-check" 1,
    "controller-list" 1,
    "controller-show" 1,
    "elevator-list" 1,
    "elevator-show" 1,
    "scenario-check" 1,
    "scenario-list" 1,
    "scenario-show" 1,
];

impl Schema {
    fn of(spec: &AnswerSpec) -> Self {
        let mut text = serde_json::to_string_pretty(spec).unwrap_or_default();
        text.push('\n');
        Schema {
            name: spec.name,
            id: spec.id(),
            doc: spec.doc.to_owned(),
            text,
        }
    }
}

/// Every schema, by name.
pub fn all() -> Vec<Schema> {
    let written = SCHEMAS.iter().map(|written| {
        let parsed: Option<Value> = serde_json::from_str(written.text).ok();
        let doc = parsed.and_then(|s| s["description"].as_str().map(str::to_owned));
        Schema {
            name: written.name,
            id: written.id.to_owned(),
            doc: doc.unwrap_or_default(),
            text: written.text.to_owned(),
        }
    });
    let answers = ANSWERS.iter().map(|spec| Schema::of(&spec()));
    let mut all: Vec<Schema> = written.chain(answers).collect();
    all.sort_by_key(|schema| schema.name);
    all
}

/// The schema called `name`, or by its id.
pub fn find(name: &str) -> Option<Schema> {
    let name = name.trim().replace(' ', "-");
    let mut all = all().into_iter();
    all.find(|s| s.name == name || s.id == name)
}

/// `domio/NAME/VERSION` of the output with a file of its own that is called `name`.
pub fn id(name: &str) -> &'static str {
    let written = SCHEMAS.iter().find(|written| written.name == name);
    written.map_or("", |written| written.id)
}
