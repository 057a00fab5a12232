//! `docs/DEPENDENCIES.md` gives a reason for every library, so that adding one is a decision.

use super::manifest::Manifest;
use super::rule::{Findings, Rule};
use super::tree::Tree;
use std::collections::BTreeMap;

pub const RULE: Rule = Rule {
    name: "dependencies",
    demand: "docs/DEPENDENCIES.md lists every library once, with its reason, and no other",
    check,
};

const PAGE: &str = "docs/DEPENDENCIES.md";

fn check(tree: &Tree, findings: &mut Findings) {
    let mut used = BTreeMap::new();
    for manifest in Manifest::all(tree) {
        for dependency in manifest.dependencies().into_iter().filter(|d| !d.own) {
            let place = (manifest.path, manifest.line(&dependency.name));
            used.entry(dependency.name).or_insert(place);
        }
    }
    let mut listed = BTreeMap::new();
    for (i, line) in tree.text(PAGE).unwrap_or_default().lines().enumerate() {
        if !line.starts_with("- ") {
            continue;
        }
        match entry(line) {
            None => findings.fail(PAGE, i + 1, "write the line as \"- `name`: reason.\""),
            Some(name) if listed.insert(name, i + 1).is_some() => {
                findings.fail(
                    PAGE,
                    i + 1,
                    format!("`{name}` is listed twice; keep one line"),
                );
            }
            Some(name) if !used.contains_key(name) => {
                let message = format!("no Cargo.toml names `{name}`; remove the line");
                findings.fail(PAGE, i + 1, message);
            }
            Some(_) => {}
        }
    }
    for (name, (path, line)) in used {
        if !listed.contains_key(name.as_str()) {
            let message = format!("add \"- `{name}`: reason.\" to {PAGE}");
            findings.fail(path, line, message);
        }
    }
}

/// The name in a line "- `name`: reason.", if that is its form.
fn entry(line: &str) -> Option<&str> {
    let (name, reason) = line.strip_prefix("- `")?.split_once("`: ")?;
    (!name.is_empty() && reason.len() > 1 && reason.ends_with('.')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    #[test]
    fn a_library_without_a_reason_is_caught() {
        let places = found(&[("docs/DEPENDENCIES.md", "# Dependencies\n")]);
        assert_eq!(places, ["dependencies Cargo.toml:5"]);
    }

    #[test]
    fn a_line_too_many_is_caught() {
        for line in [
            "- `rand`: chance.",
            "- `serde`: again.",
            "- serde: no quotes.",
        ] {
            let text = format!("# Dependencies\n\n- `serde`: reads scenarios.\n{line}\n");
            let places = found(&[("docs/DEPENDENCIES.md", &text)]);
            assert_eq!(places, ["dependencies docs/DEPENDENCIES.md:4"], "{line}");
        }
    }
}
