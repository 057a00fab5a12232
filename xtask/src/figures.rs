//! The step `figures` of `cargo xtask test`: simulates every published claim that is implemented,
//! and holds the verdicts to those in `docs/papers/verdicts.toml`.
//!
//! A row that does not hold is no error as long as the file says so: the page of its paper tells
//! why. A verdict that changes is one, in either direction. Runs repeat themselves on any machine,
//! so no verdict changes by chance.

use crate::docs;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where the verdicts are.
const FILE: &str = "docs/papers/verdicts.toml";

/// Verdicts by claim: "holds" or "fails".
type Verdicts = BTreeMap<String, String>;

/// Runs the step at `root`; `false` when a verdict has changed.
///
/// # Errors
/// `domio` could not be run, or the file cannot be read.
pub fn run(root: &Path) -> Result<bool> {
    let expected = expected(root)?;
    let program = docs::release_folder(root).join("domio");
    let output = Command::new(&program)
        .args(["reproduce", "--json"])
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    // 1: a claim does not hold.
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("domio reproduce could not run: {}", output.status);
    }
    let found = found(&output.stdout)?;
    let changes = changes(&expected, &found);
    for change in &changes {
        println!("{change}");
    }
    if !changes.is_empty() {
        println!("if that is right, say so in {FILE} and on the page of the paper");
    }
    let hold = found.values().filter(|v| *v == "holds").count();
    println!("{hold} of {} implemented claims hold", found.len());
    Ok(changes.is_empty())
}

fn expected(root: &Path) -> Result<Verdicts> {
    let text =
        std::fs::read_to_string(root.join(FILE)).with_context(|| format!("reading {FILE}"))?;
    toml::from_str(&text).with_context(|| format!("{FILE}: claims and verdicts, one a line"))
}

/// The verdicts in the output of `domio reproduce --json`, without rows that are not implemented.
fn found(json: &[u8]) -> Result<Verdicts> {
    let ledger: serde_json::Value = serde_json::from_slice(json).context("domio's output")?;
    let claims = ledger["claims"].as_array().context("a list of claims")?;
    let verdict = |claim: &serde_json::Value| {
        let text = |key: &str| claim[key].as_str().unwrap_or_default().to_owned();
        (text("id"), text("verdict"))
    };
    let implemented = |(_, verdict): &(String, String)| verdict != "not-implemented";
    Ok(claims.iter().map(verdict).filter(implemented).collect())
}

/// What differs, a line each.
fn changes(expected: &Verdicts, found: &Verdicts) -> Vec<String> {
    let ids: std::collections::BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let told = |verdict: Option<&String>| verdict.map_or("not there", String::as_str).to_owned();
    ids.into_iter()
        .filter(|id| expected.get(*id) != found.get(*id))
        .map(|id| {
            let (was, is) = (told(expected.get(id)), told(found.get(id)));
            format!("{id}: {is}, and {FILE} has: {was}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(list: &[(&str, &str)]) -> Verdicts {
        let owned = |(id, verdict): &(&str, &str)| ((*id).to_owned(), (*verdict).to_owned());
        list.iter().map(owned).collect()
    }

    #[test]
    fn verdicts_are_read_from_the_ledger() {
        let json = br#"{"claims":[{"id":"a","verdict":"holds"},{"id":"b","verdict":"fails"},
            {"id":"c","verdict":"not-implemented"}],"summary":{}}"#;
        assert_eq!(
            found(json).unwrap(),
            verdicts(&[("a", "holds"), ("b", "fails")])
        );
        assert!(found(b"{}").is_err());
    }

    #[test]
    fn a_change_in_either_direction_is_told() {
        let file = verdicts(&[("a", "holds"), ("b", "fails"), ("c", "holds")]);
        assert_eq!(changes(&file, &file), Vec::<String>::new());
        let now = verdicts(&[("a", "fails"), ("b", "holds"), ("d", "holds")]);
        let lines = changes(&file, &now);
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0], format!("a: fails, and {FILE} has: holds"));
        assert_eq!(lines[2], format!("c: not there, and {FILE} has: holds"));
    }
}
