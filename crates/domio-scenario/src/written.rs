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

#[cfg(test)]
mod tests {
    use crate::{Scenario, examples};

    fn parsed(text: &str) -> Scenario {
        Scenario::parse("s.toml", text.as_bytes(), domio_sched::policies()).unwrap()
    }

    #[test]
    fn every_shipped_scenario_means_the_same_when_it_is_written_again() {
        for (name, text) in examples() {
            let scenario = parsed(text);
            assert_eq!(scenario.to_toml().unwrap(), *text, "{name}");
            let changed = scenario.with(&[("seed", "77")]).unwrap();
            let again = parsed(&changed.to_toml().unwrap());
            // Places in the text are part of a plan, and other texts have others.
            let plain = |of: &Scenario| {
                let plan = format!("{:?}", of.plan());
                let parts = plan.split("Span {").map(|part| match part.split_once('}') {
                    Some((_, rest)) => rest.to_owned(),
                    None => part.to_owned(),
                });
                parts.skip(1).fold(
                    plan.split("Span {").next().unwrap_or("").to_owned(),
                    |all, part| all + &part,
                )
            };
            assert_eq!(plain(&again), plain(&changed), "{name}");
        }
    }

    #[test]
    fn overrides_come_into_their_places() {
        let text = "title = \"a \\\"b\\\"\"\nrun.duration_s = 1\n\
                    scheduler.policy = \"credit\"\n[[domain]]\n\
                    name = \"a-b\"\nworkload = \"burn\"\n[[domain]]\nname = \"g\"\n\
                    count = 2\nworkload = \"burn\"\n";
        let changed = parsed(text).with(&[("run.duration_s", "2.0"), ("domain.g.weight", "64")]);
        let written = changed.unwrap().to_toml().unwrap();
        let expected = "title = \"a \\\"b\\\"\"\n\n[[domain]]\nname = \"a-b\"\n\
                        workload = \"burn\"\n\n[[domain]]\n\
                        count = 2\nname = \"g\"\nweight = 64\nworkload = \"burn\"\n\n[run]\n\
                        duration_s = 2.0\n\n[scheduler]\npolicy = \"credit\"\n";
        assert_eq!(written, expected);
        let member = parsed(text).with(&[("domain.g2.weight", "64")]).unwrap();
        assert!(
            member
                .to_toml()
                .unwrap_err()
                .contains("a [[domain]] of its own")
        );
    }
}
