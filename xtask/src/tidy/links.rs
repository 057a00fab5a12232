//! Links and paths in the documentation lead somewhere.

use super::rule::{Findings, Rule};
use super::tree::Tree;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::collections::BTreeSet;

pub const RULE: Rule = Rule {
    name: "links",
    demand: "relative links, headings and paths named in the documentation exist",
    check,
};

/// Folders and files whose paths are recognised inside backquotes.
const ROOTS: [&str; 9] = [
    ".ci/",
    "README.md",
    "crates/",
    "docs/",
    "fuzz/",
    "papers/",
    "scenarios/",
    "testdata/",
    "xtask/",
];

/// Stands for a name that the reader chooses.
const PLACEHOLDER: &str = "NAME";

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.of_kind(".md") {
        for (event, range) in Parser::new(text).into_offset_iter() {
            let line = text[..range.start].matches('\n').count() + 1;
            let missing = match &event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    broken_link(tree, path, dest_url)
                }
                Event::Code(code) => broken_path(tree, code),
                _ => None,
            };
            if let Some(missing) = missing {
                let message = format!("there is no {missing}; correct it or remove it");
                findings.fail(path, line, message);
            }
        }
    }
}

/// What a link from the page at `path` leads to, when that does not exist.
fn broken_link(tree: &Tree, path: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() {
        path.to_string()
    } else {
        resolve(path, file)
    };
    if !tree.has(&target) {
        return Some(format!("`{target}`"));
    }
    let text = tree.text(&target).unwrap_or_default();
    let known = heading.is_empty() || !target.ends_with(".md") || headings(text).contains(heading);
    (!known).then(|| format!("heading `#{heading}` in `{target}`"))
}

/// The path in inline code, when it is one of ours and leads nowhere.
fn broken_path(tree: &Tree, code: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let ours = ROOTS.iter().any(|root| code.starts_with(root))
        && code.chars().all(plain)
        && !code.contains(PLACEHOLDER);
    let target = code.trim_end_matches('/');
    if is_cell(tree, target) {
        return None;
    }
    (ours && !tree.has(target)).then(|| format!("`{target}`"))
}

/// Whether `target` is the name of a cell of a paper: what its files say, and no file.
fn is_cell(tree: &Tree, target: &str) -> bool {
    let Some((paper, cell)) = target.rsplit_once('/') else {
        return false;
    };
    !cell.contains('.') && tree.has(&format!("{paper}/cells.toml"))
}

/// `link` as seen from the file at `path`.
fn resolve(path: &str, link: &str) -> String {
    let mut names: Vec<&str> = path.split('/').collect();
    names.pop();
    for name in link.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            _ => names.push(name),
        }
    }
    names.join("/")
}

/// The anchors of a page's headings, as the usual viewers make them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let title = heading.take().unwrap_or_default().to_lowercase();
                let kept = title
                    .chars()
                    .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
                anchors.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            _ => {}
        }
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    #[test]
    fn links_and_paths_that_lead_nowhere_are_caught() {
        for text in [
            "See [this](docs/NOWHERE.md).",
            "See [this](docs/DEPENDENCIES.md#nothing).",
            "See [this](#nothing).",
            "![picture](docs/picture.svg)",
            "See `crates/domio-sim/src/nothing.rs`.",
        ] {
            let places = found(&[("README.md", &format!("# Title\n\n{text}\n"))]);
            assert_eq!(places, ["links README.md:3"], "{text}");
        }
    }

    #[test]
    fn cells_of_papers_are_no_files() {
        let at = |name: &str| {
            let text = format!("# Title\n\nRun `{name}`.\n");
            found(&[("README.md", text.as_str()), ("papers/p/cells.toml", "")])
        };
        assert_eq!(at("papers/p/test1-orig"), [""; 0]);
        for name in ["papers/q/test1-orig", "papers/p/claims.toml"] {
            assert_eq!(at(name), ["links README.md:3"], "{name}");
        }
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# The `domio` title: one\n\n[a](docs/DEPENDENCIES.md#dependencies), \
                    [b](docs/), [c](#the-domio-title-one), [d](https://example.org/x), \
                    `docs/policies/`, \
                    `docs/policies/NAME.md`, `scenarios/*.toml`\n\n```\n[e](nowhere.md)\n```\n";
        assert_eq!(found(&[("README.md", text)]), [""; 0]);
    }
}
