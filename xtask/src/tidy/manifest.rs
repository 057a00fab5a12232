//! What every `Cargo.toml` has in common, and how other rules read them.

use super::rule::{Findings, Rule};
use super::tree::Tree;
use toml::Table;

pub const RULE: Rule = Rule {
    name: "manifest",
    demand: "crates keep the workspace's lints; nothing is unused",
    check,
};

/// A crate's or a workspace's `Cargo.toml`.
pub struct Manifest<'a> {
    /// Its path from the root.
    pub path: &'a str,
    text: &'a str,
    table: Table,
}

/// One dependency of a manifest.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Dependency {
    /// Name of the crate.
    pub name: String,
    /// Whether it is a crate of this project.
    pub own: bool,
    /// Whether only tests and benchmarks use it.
    pub dev: bool,
}

impl<'a> Manifest<'a> {
    /// Every manifest of the tree that can be parsed.
    pub fn all(tree: &'a Tree) -> impl Iterator<Item = Manifest<'a>> {
        manifests(tree).filter_map(|(path, text)| {
            let table = text.parse().ok()?;
            Some(Manifest { path, text, table })
        })
    }

    /// Name of the crate, `None` for a workspace alone.
    pub fn name(&self) -> Option<&str> {
        self.table.get("package")?.get("name")?.as_str()
    }

    /// Everything that the crate depends on, for any target, by name; and what a workspace offers.
    pub fn dependencies(&self) -> Vec<Dependency> {
        let mut list = Vec::new();
        let mut places = vec![&self.table];
        places.extend(self.table.get("workspace").and_then(toml::Value::as_table));
        let targets = self.table.get("target").and_then(toml::Value::as_table);
        places.extend(
            targets
                .into_iter()
                .flatten()
                .filter_map(|(_, t)| t.as_table()),
        );
        for place in places {
            for key in ["dependencies", "dev-dependencies", "build-dependencies"] {
                let table = place.get(key).and_then(toml::Value::as_table);
                for (alias, how) in table.into_iter().flatten() {
                    let name = how
                        .get("package")
                        .and_then(toml::Value::as_str)
                        .unwrap_or(alias);
                    list.push(Dependency {
                        name: name.to_string(),
                        own: name.starts_with("domio") || how.get("path").is_some(),
                        dev: key == "dev-dependencies",
                    });
                }
            }
        }
        list.sort();
        list
    }

    /// The line that starts with `name`, from 1; the first one when none does.
    pub fn line(&self, name: &str) -> usize {
        self.text
            .lines()
            .position(|l| l.starts_with(name))
            .map_or(1, |i| i + 1)
    }
}

fn manifests(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.of_kind(".toml")
        .filter(|(path, _)| path.rsplit('/').next() == Some("Cargo.toml"))
}

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in manifests(tree) {
        if let Err(error) = text.parse::<Table>() {
            findings.fail(path, 1, format!("no manifest: {}", error.message()));
        }
    }
    for manifest in Manifest::all(tree).filter(|m| m.name().is_some()) {
        let lints = manifest
            .table
            .get("lints")
            .and_then(|l| l.get("workspace")?.as_bool());
        if lints != Some(true) && manifest.path.starts_with("crates/") {
            let message = "add `[lints]` with `workspace = true`, so that every crate is held to \
                           the same lints";
            findings.fail(manifest.path, 1, message);
        }
    }
    check_unused(tree, findings);
}

/// What the workspace offers and no crate takes is a dependency that nobody reviews.
fn check_unused(tree: &Tree, findings: &mut Findings) {
    let used: Vec<Dependency> = Manifest::all(tree)
        .filter(|m| m.name().is_some())
        .flat_map(|m| m.dependencies())
        .collect();
    for workspace in Manifest::all(tree).filter(|m| m.name().is_none()) {
        for offered in workspace.dependencies() {
            if !used.iter().any(|u| u.name == offered.name) {
                let message = format!("no crate uses `{}`; remove the line", offered.name);
                findings.fail(workspace.path, workspace.line(&offered.name), message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    const CORE: &str = "crates/domio-core/Cargo.toml";

    #[test]
    fn a_crate_without_the_lints_is_caught() {
        let text = "[package]\nname = \"domio-core\"\n";
        assert_eq!(found(&[(CORE, text)]), [format!("manifest {CORE}:1")]);
    }

    #[test]
    fn an_unused_or_broken_line_is_caught() {
        let text = "[workspace]\n\n[workspace.dependencies]\nrand = \"1\"\nserde = \"1\"\n";
        let docs = (
            "docs/DEPENDENCIES.md",
            "- `rand`: chance.\n- `serde`: reads.\n",
        );
        assert_eq!(
            found(&[("Cargo.toml", text), docs]),
            ["manifest Cargo.toml:4"]
        );
        assert_eq!(
            found(&[("fuzz/Cargo.toml", "[package")]),
            ["manifest fuzz/Cargo.toml:1"]
        );
    }
}
