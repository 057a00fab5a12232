//! Answers as JSON: for the page, and as the command line prints them.

use serde::Serialize;

/// `value` as JSON.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("keys are strings")
}

/// An output of the command line that says which schema it has.
#[derive(Serialize)]
struct Versioned<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    rest: &'a T,
}

/// `value` as the command line prints it with `--json`, to the byte.
pub fn printed(schema: &'static str, value: &impl Serialize) -> String {
    let versioned = Versioned {
        schema,
        rest: value,
    };
    pretty(&versioned)
}

/// `value` as the command line prints it, to the byte.
pub fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("keys are strings") + "\n"
}
