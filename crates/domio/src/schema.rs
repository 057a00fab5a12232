//! The schemas of what `--json` prints, by name.
//!
//! A new output gets its file in `schemas`, one line of [`SCHEMAS`] and [`out::json_as`] in place
//! of [`out::json`]. An output may get further keys in the same version; a key that goes or changes
//! makes a new one.
//!
//! [`out::json`]: crate::out::json
//! [`out::json_as`]: crate::out::json_as

/// The schema of one output.
pub struct Schema {
    /// Its name, after the command.
    pub name: &'static str,
    /// `domio/NAME/VERSION`: what the output says of itself in the key `schema`, unless the output
    /// is a list.
    pub id: &'static str,
    /// The JSON Schema.
    pub text: &'static str,
}

macro_rules! schemas {
    ($($name:literal $version:literal),* $(,)?) => {
        &[$(Schema {
            name: $name,
            id: concat!("domio/", $name, "/", $version),
            text: include_str!(concat!("../schemas/", $name, ".json")),
        }),*]
    };
}

/// Every schema, in the order of the commands.
pub const SCHEMAS: &[Schema] = schemas![
    "reproduce" 1,
    "claim-list" 1,
    "claim-show" 1,
    "results-list" 1,
    "results-show" 1,
    "results-diff" 1,
    "results-prune" 1,
    "run" 1,
    "compare" 1,
    "sweep" 1,
    "explain" 2,
    "calibrate" 1,
    "alert" 1,
    "dom0-share" 1,
    "mon" 1,
    "trace-summary" 1,
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

/// The schema called `name`, or by its id.
pub fn find(name: &str) -> Option<&'static Schema> {
    let name = name.trim().replace(' ', "-");
    SCHEMAS.iter().find(|s| s.name == name || s.id == name)
}
