//! The step `verdicts` of `cargo xtask nightly`: decides every published claim that is implemented,
//! and holds the verdicts to those on record.
//!
//! A night has room for normal effort. Full effort takes hours: `domio reproduce --all --check
//! --effort full` is for releases, and continues where it was interrupted.
//!
//! A row that does not hold is no error as long as the record says so: the page of its paper says
//! why. A verdict that changes is one, in either direction. Runs repeat themselves on any machine,
//! so no verdict changes by chance.

use crate::cli::{build, domio};
use crate::steps::Done;
use anyhow::{Context as _, Result, bail};
use std::path::Path;

/// How far the step goes.
const EFFORT: &str = "normal";

/// Runs the step at `root`. What moved is told on standard error.
///
/// # Errors
/// `domio` could not be run.
pub fn run(root: &Path) -> Result<Done> {
    build(root)?;
    let decide = [
        "reproduce",
        "--all",
        "--check",
        "--effort",
        EFFORT,
        "--json",
    ];
    let output = domio(root, &decide)?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("domio reproduce could not run: {}", output.status);
    }
    let same = output.status.success();
    if !same {
        println!("if that is right, say so in the paper's verdicts.toml and on its page");
    }
    Ok(Done::Told(same, summary(&output.stdout)?))
}

/// The numbers of verdicts in the output of `domio reproduce --json`, in words.
fn summary(json: &[u8]) -> Result<String> {
    let ledger: serde_json::Value = serde_json::from_slice(json).context("domio's output")?;
    let count = |key: &str| {
        let number = ledger["summary"][key].as_u64();
        number.with_context(|| format!("the summary has no {key}"))
    };
    Ok(format!(
        "effort {EFFORT}: {} claims hold, {} fail, {} are undecided",
        count("holds")?,
        count("fails")?,
        count("undecided")?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_read_from_the_ledger() {
        let json = br#"{"claims":[],"summary":{"holds":3,"fails":1,"undecided":2}}"#;
        let told = "effort normal: 3 claims hold, 1 fail, 2 are undecided";
        assert_eq!(summary(json).unwrap(), told);
        assert!(summary(b"{}").is_err());
    }
}
