//! `cargo xtask survival`: records on which of the machines that papers allow their claims hold.
//!
//! Claims are decided on each machine by `domio reproduce --machines`. What comes out is written to
//! `papers/*/survival.toml`, and from there into the page `docs/papers/survival.md`. Replications
//! are kept in `target/release/survival.sqlite`, so that an interrupted run continues where it was.
//! Parts that other machines have simulated (`--part`) get there by `domio results merge`.

use crate::cli::{build, domio};
use crate::places::release_folder;
use crate::steps::Done;
use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/papers/survival.md";

const HEAD: &str = "\
# On which of the machines that the paper allows its claims hold. `cargo xtask survival` makes the
# file anew; `domio claim survival` prints the data. docs/PAPERS.md says what the keys mean.

";

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Names of folders of papers; all papers without any.
    pub papers: Vec<String>,
    /// Number of machines.
    pub machines: String,
    /// Effort of each decision.
    pub effort: String,
}

impl Default for Asked {
    fn default() -> Self {
        Asked {
            papers: Vec::new(),
            machines: "64".to_owned(),
            effort: "quick".to_owned(),
        }
    }
}

/// What `domio reproduce --machines --json` prints.
#[derive(Deserialize)]
struct Reproduced {
    machines: Vec<Search>,
}

#[derive(Deserialize)]
struct Search {
    paper: String,
    machines: u32,
    conclusion: String,
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
struct Claim {
    id: String,
    holds: Share,
    fails: Share,
    undecided: Share,
    depends_on: Vec<Dependence>,
}

#[derive(Deserialize)]
struct Share {
    machines: u32,
}

/// A split of the machines, as printed and as written.
#[derive(Clone, Deserialize, Serialize)]
struct Dependence {
    unknown: String,
    holds_with: String,
    fails_with: String,
    holds_there: u32,
    decided_there: u32,
    holds_elsewhere: u32,
    decided_elsewhere: u32,
    score: f64,
    by_chance: f64,
}

/// `survival.toml`.
#[derive(Serialize)]
struct Record {
    machines: u32,
    seed: u32,
    effort: String,
    claim: Vec<RecordedClaim>,
}

#[derive(Serialize)]
struct RecordedClaim {
    id: String,
    holds: u32,
    fails: u32,
    undecided: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends: Vec<Dependence>,
}

/// Seed of the draws and of all replications, as `domio reproduce` has it.
const SEED: u32 = 1;

/// Runs the task at `root`.
///
/// # Errors
/// There is no such paper, `domio` could not be run, or a file cannot be written.
pub fn run(root: &Path, asked: &Asked) -> Result<bool> {
    let all = papers(root)?;
    if let Some(name) = asked.papers.iter().find(|name| !all.contains(name)) {
        bail!("there is no paper {name}; there are {}", all.join(", "));
    }
    build(root)?;
    let chosen = match asked.papers.is_empty() {
        true => &all,
        false => &asked.papers,
    };
    for name in chosen {
        let search = search(root, name, asked)?;
        println!("{}: {}", search.paper, search.conclusion);
        let file = root.join("papers").join(name).join("survival.toml");
        let text = written(search, &asked.effort)?;
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let file = root.join(PAGE);
    fs::write(&file, page(root)?).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(true)
}

/// The step `survival` of `cargo xtask nightly`: one paper on a few machines, and the page against
/// its data.
///
/// # Errors
/// `domio` could not be run.
pub fn nightly(root: &Path) -> Result<Done> {
    build(root)?;
    let few = Asked {
        machines: "4".to_owned(),
        ..Asked::default()
    };
    let search = search(root, "zeng2015", &few)?;
    let is_new = fs::read_to_string(root.join(PAGE)).unwrap_or_default() == page(root)?;
    if !is_new {
        println!("{PAGE} is not what papers/*/survival.toml say: cargo xtask survival");
    }
    let claims = search.claims.len();
    let told = format!(
        "{claims} claims of zeng2015 on {} machines",
        search.machines
    );
    Ok(Done::Told(is_new && search.machines == 4, told))
}

/// Names of the folders of papers, in order.
fn papers(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("papers"))? {
        let path = entry?.path();
        if path.join("paper.toml").is_file() {
            names.extend(
                path.file_name()
                    .map(|name| name.to_string_lossy().into_owned()),
            );
        }
    }
    names.sort();
    Ok(names)
}

/// The claims of the paper called `name` on the machines that are asked for.
fn search(root: &Path, name: &str, asked: &Asked) -> Result<Search> {
    let place = format!("papers/{name}");
    let at = |file: String| -> PathBuf { release_folder(root).join(file) };
    let store = at("survival.sqlite".to_owned()).display().to_string();
    let report = at(format!("survival-{name}.html")).display().to_string();
    let options = ["--effort", &asked.effort, "--machines", &asked.machines];
    let files = [
        "--results",
        &store,
        "--report",
        &report,
        "--force",
        "--json",
    ];
    let args = [&["reproduce", &place][..], &options, &files].concat();
    let output = domio(root, &args)?;
    ensure!(
        output.status.success(),
        "domio reproduce {place} failed: {}",
        output.status
    );
    let printed: Reproduced = serde_json::from_slice(&output.stdout).context("domio's output")?;
    let found = printed.machines.into_iter().next();
    found.with_context(|| format!("{place} declares no unknowns"))
}

/// The text of `survival.toml`.
fn written(search: Search, effort: &str) -> Result<String> {
    let digits = |score: f64| (score * 1e3).round() / 1e3;
    let depends = |by: Dependence| Dependence {
        score: digits(by.score),
        by_chance: digits(by.by_chance),
        ..by
    };
    let claim = |claim: Claim| RecordedClaim {
        id: claim.id,
        holds: claim.holds.machines,
        fails: claim.fails.machines,
        undecided: claim.undecided.machines,
        depends: claim.depends_on.into_iter().map(depends).collect(),
    };
    let record = Record {
        machines: search.machines,
        seed: SEED,
        effort: effort.to_owned(),
        claim: search.claims.into_iter().map(claim).collect(),
    };
    Ok(HEAD.to_owned() + &toml::to_string(&record)?)
}

/// The page, from the files of all papers.
fn page(root: &Path) -> Result<String> {
    let places: Vec<String> = papers(root)?
        .iter()
        .map(|name| format!("papers/{name}"))
        .collect();
    let mut args = vec!["claim", "survival", "--page"];
    args.extend(places.iter().map(String::as_str));
    let output = domio(root, &args)?;
    ensure!(output.status.success(), "domio claim survival failed");
    String::from_utf8(output.stdout).context("the page")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_record_is_written_from_what_domio_prints() {
        let share = |n: u32| json!({ "machines": n, "share_pct": 1.5, "ci95_pct": [1, 2] });
        let depends = json!([{
            "unknown": "the \"line\"", "holds_with": "up to 2", "fails_with": "from 3 on",
            "holds_there": 2, "decided_there": 2, "holds_elsewhere": 0, "decided_elsewhere": 1,
            "score": 0.66666, "by_chance": 0.5
        }]);
        let claim = |id: &str, [holds, fails, undecided]: [u32; 3], depends| {
            json!({
                "id": id, "holds": share(holds), "fails": share(fails),
                "undecided": share(undecided), "depends_on": depends
            })
        };
        let claims = [
            claim("a.b", [2, 1, 0], depends),
            claim("a.c", [0, 3, 0], json!([])),
        ];
        let json = json!({
            "machines": [{ "paper": "p", "machines": 3, "conclusion": "c", "claims": claims }]
        });
        let printed: Reproduced = serde_json::from_value(json).unwrap();
        let search = printed.machines.into_iter().next().unwrap();
        let text = written(search, "quick").unwrap();
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(table["machines"].as_integer(), Some(3));
        let claims = table["claim"].as_array().unwrap();
        assert_eq!(claims[0]["holds"].as_integer(), Some(2));
        let depends = &claims[0]["depends"].as_array().unwrap()[0];
        assert_eq!(depends["unknown"].as_str(), Some("the \"line\""));
        assert_eq!(depends["score"].as_float(), Some(0.667));
        assert!(claims[1].get("depends").is_none());
        assert!(text.starts_with("# On which"), "{text}");
    }
}
