//! A scenario as a text again, with its overrides in their places.

use crate::inline::{inline, key};
use crate::scenario::Scenario;
use crate::value::{Node, Table, Value};
use std::fmt::Write as _;

impl Scenario {
    /// The scenario as TOML: its own text where nothing was overridden, else all keys in the order
    /// of their names, without comments.
    ///
    /// # Errors
    /// When an override is of one member of a group, for which a file has no place. The message
    /// says what to do.
    pub fn to_toml(&self) -> Result<String, String> {
        if self.overrides().next().is_none() {
            return Ok(self.text().to_owned());
        }
        if !self.members.is_empty() {
            return Err(
                "an override is of one member of a group, and a file has no place for that; give \
                 the member a [[domain]] of its own"
                    .to_owned(),
            );
        }
        let mut out = String::new();
        if let Some(root) = self.root.as_table() {
            section(&mut out, root, &mut Vec::new());
        }
        Ok(out)
    }
}

/// Writes the keys of `table`, which is at `path`, then the tables in it.
fn section(out: &mut String, table: &Table, path: &mut Vec<String>) {
    // Overrides come last in a table.
    let mut entries: Vec<_> = table.entries.iter().collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    let (sections, keys): (Vec<_>, Vec<_>) = entries.into_iter().partition(|e| is_section(&e.node));
    for entry in keys {
        let _ = writeln!(out, "{} = {}", key(&entry.key), inline(&entry.node));
    }
    for entry in sections {
        path.push(key(&entry.key));
        let head = path.join(".");
        match &entry.node.value {
            Value::Table(table) => {
                let _ = writeln!(out, "\n[{head}]");
                section(out, table, path);
            }
            Value::Array(tables) => {
                for table in tables.iter().filter_map(Node::as_table) {
                    let _ = writeln!(out, "\n[[{head}]]");
                    section(out, table, path);
                }
            }
            _ => {}
        }
        path.pop();
    }
}

/// Whether `node` is written with a heading: a table, or a list of tables.
fn is_section(node: &Node) -> bool {
    match &node.value {
        Value::Table(_) => true,
        Value::Array(all) => !all.is_empty() && all.iter().all(|node| node.as_table().is_some()),
        _ => false,
    }
}
