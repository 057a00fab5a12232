//! The README's lists are those of the registries, and its picture is what the program draws.
//! `UPDATE_README=1` writes both anew.

use crate::common::{domio, folder, json_of};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const PICTURE: &str = "docs/images/small-host.svg";

fn at_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Holds the file at `path` to `expected`, or writes it when that is asked for.
fn hold(path: &str, expected: &str) {
    let path = at_root(path);
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let at = path.display();
    assert!(
        found == expected,
        "{at} is old: UPDATE_README=1 cargo test --release readme"
    );
}

/// Text with the lines between the markers of the list `name` replaced.
fn with_list(text: &str, name: &str, list: &str) -> String {
    let marker = format!("<!-- list: {name} -->\n");
    let (before, rest) = text.split_once(&marker).expect("the marker of the list");
    let (_, after) = rest
        .split_once("<!-- end -->")
        .expect("the end of the list");
    format!("{before}{marker}{list}<!-- end -->{after}")
}

/// The page of the paper whose claims' ids begin with `id`.
fn page_of(id: &str) -> String {
    let pages = std::fs::read_dir(at_root("docs/papers")).unwrap();
    let mut names = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    let page = names
        .find(|name| name.starts_with(id))
        .expect("a page of the paper");
    format!("docs/papers/{page}")
}

#[test]
fn lists_are_those_of_the_registries() {
    let folder = folder();
    let mut policies = "| policy | what it does |\n|---|---|\n".to_owned();
    for policy in json_of(&folder, &["policy", "list", "--json"])["policies"]
        .as_array()
        .unwrap()
    {
        let name = policy["name"].as_str().unwrap();
        let summary = policy["summary"].as_str().unwrap();
        writeln!(
            policies,
            "| [{name}](docs/policies/{name}.md) | {summary} |"
        )
        .unwrap();
    }
    let mut papers = "| paper | claims | hold | fail | undecided | not checked yet | \
                      [on other machines](docs/papers/survival.md) |\n\
                      |---|---|---|---|---|---|---|\n"
        .to_owned();
    let claims = json_of(&folder, &["claim", "list", "--json"]);
    let mut counts: Vec<(String, String, [u32; 5])> = Vec::new();
    for claim in claims["claims"].as_array().unwrap() {
        let id = claim["id"].as_str().unwrap().split('.').next().unwrap();
        let at = counts.iter().position(|(known, ..)| known == id);
        let at = at.unwrap_or_else(|| {
            // Without where it was published, which the paper's page has.
            let title = claim["paper"].as_str().unwrap().split(", ").next().unwrap();
            counts.push((id.to_owned(), title.to_owned(), [0; 5]));
            counts.len() - 1
        });
        let column = match claim["recorded"].as_str() {
            Some("holds") => 1,
            Some("fails") => 2,
            Some("undecided") => 3,
            None => 4,
            Some(other) => panic!("a verdict {other}"),
        };
        counts[at].2[0] += 1;
        counts[at].2[column] += 1;
    }
    for (id, title, n) in &counts {
        let [all, holds, fails, undecided, open] = n;
        let page = page_of(id);
        writeln!(
            papers,
            "| [{title}]({page}) | {all} | {holds} | {fails} | {undecided} | {open} | {} |",
            standings(&claims, id)
        )
        .unwrap();
    }
    let text = std::fs::read_to_string(at_root("README.md")).unwrap();
    let text = with_list(&text, "policies", &policies);
    hold("README.md", &with_list(&text, "papers", &papers));
}

/// How many claims of a paper have which standing on other machines: "3 robust, 2 depends".
fn standings(claims: &serde_json::Value, id: &str) -> String {
    let of_paper =
        |claim: &&serde_json::Value| claim["id"].as_str().unwrap().split('.').next() == Some(id);
    let own = claims["claims"].as_array().unwrap().iter().filter(of_paper);
    let found: Vec<&str> = own
        .filter_map(|claim| claim["survival"]["standing"].as_str())
        .collect();
    let count = |word: &str| found.iter().filter(|other| **other == word).count();
    let words = ["robust", "depends", "mixed", "nowhere", "undecided"];
    let told = words.map(|word| (count(word), word));
    let told = told
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"));
    told.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_page_of_other_machines_is_that_of_the_records() {
    let folder = folder();
    let printed = domio(&folder)
        .args(["claim", "survival", "--page"])
        .assert()
        .success();
    let page = String::from_utf8(printed.get_output().stdout.clone()).unwrap();
    hold("docs/papers/survival.md", &page);
}

#[test]
fn the_picture_is_what_the_program_draws() {
    let folder = folder();
    domio(&folder)
        .args(["run", "small-host", "--no-results", "--figures", "figures"])
        .assert()
        .success();
    let files = std::fs::read_dir(folder.path().join("figures")).unwrap();
    let mut drawn = files.map(|file| file.unwrap().path());
    let timeline = drawn.find(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.contains("around-the-longest-wait") && name.ends_with(".svg")
    });
    let drawn = std::fs::read_to_string(timeline.expect("a timeline")).unwrap();
    hold(PICTURE, &drawn);
}
