//! The schemas of what `--json` prints, by name.
//!
//! A new output is an answer, and gets one line of [`ANSWERS`]. Those that are no answers yet have
//! a file in `schemas` and a line of [`SCHEMAS`].

use crate::cmd::controller::ControllerRow;
use crate::cmd::elevator::ElevatorRow;
use crate::cmd::policy::PolicyRow;
use crate::cmd::{self, scenario, sweep};
use crate::shared::{block, registered};
use domio_advise::calibrate::Calibration;
use domio_advise::{alert, dom0_share};
use domio_answer::AnswerSpec;
use domio_front::comparison::Compared;
use domio_front::conformance::suite_answer;
use domio_front::scenarios::ScenarioText;
use domio_front::validated;
use domio_meter::{CheckReport, Explanation, Summary};
use domio_report::run_answer::RunFacts;
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
    registered::list_spec::<PolicyRow>,
    registered::show_spec::<PolicyRow>,
    || suite_answer().spec,
    registered::list_spec::<ControllerRow>,
    registered::show_spec::<ControllerRow>,
    registered::list_spec::<ElevatorRow>,
    registered::show_spec::<ElevatorRow>,
    scenario::check_spec,
    scenario::list_spec,
    || ScenarioText::default().answer().spec,
    cmd::schema::spec,
    || RunFacts::default().answer(&[], &[], &[]).spec,
    || Compared::default().answer().spec,
    sweep::spec,
    domio_monitor::lines::spec,
    || Summary::default().answer(|_| None, 0, false).spec,
    || CheckReport::default().answer(false, 0).spec,
    || Calibration::default().answer().spec,
    || validated::answer(&[]).spec,
    alert::spec,
    dom0_share::spec,
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
    "reproduce" 1,
    "claim-list" 1,
    "claim-show" 1,
    "results-list" 1,
    "results-show" 1,
    "results-diff" 1,
    "results-prune" 1,
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
    let answers = ANSWERS.iter().map(|spec| spec());
    let answers = answers.chain(block::specs()).map(|spec| Schema::of(&spec));
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
