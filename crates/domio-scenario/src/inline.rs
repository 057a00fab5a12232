//! Values as TOML in one line.

use crate::value::{Entry, Node, Value};
use std::fmt::Write;

/// `name` as a key: in quotes where it has to be.
pub(crate) fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `node` in one line, tables in braces.
pub(crate) fn inline(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => quoted(text),
        Value::Int(number) => number.to_string(),
        Value::Float(number) if number.is_nan() => "nan".to_owned(),
        // With a point or an exponent, so that it stays a fraction.
        Value::Float(number) => format!("{number:?}"),
        Value::Flag(flag) => flag.to_string(),
        // No key holds a date, so that none gets here.
        Value::Datetime => "1970-01-01".to_owned(),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(inline).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Table(table) => {
            let entry = |entry: &Entry| format!("{} = {}", key(&entry.key), inline(&entry.node));
            let all: Vec<String> = table.entries.iter().map(entry).collect();
            format!("{{ {} }}", all.join(", "))
        }
    }
}
