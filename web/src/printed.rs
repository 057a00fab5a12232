//! Answers as JSON: for the page, and as the command line prints them.

use serde::Serialize;

/// `value` as JSON.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("keys are strings")
}

/// `value` as the command line prints it, to the byte.
pub fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("keys are strings") + "\n"
}
