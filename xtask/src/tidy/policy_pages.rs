//! Every policy and every controller that can be asked for by name has a page.

use super::rule::{Findings, Rule};
use super::source::Token;
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "policy-pages",
    demand: "every policy has its page docs/policies/NAME.md, and every page its policy",
    check: |tree, findings| {
        let (folder, pages) = ("crates/domio-sched/src/", "docs/policies/");
        check("policy", folder, pages, tree, findings);
    },
};

pub const CONTROLLER_RULE: Rule = Rule {
    name: "controller-pages",
    demand: "every controller has its page docs/controllers/NAME.md, and every page its controller",
    check: |tree, findings| {
        let (folder, pages) = ("crates/domio-control/src/", "docs/controllers/");
        check("controller", folder, pages, tree, findings);
    },
};

/// Holds the descriptors in `folder`, each of one `word`, against the pages in `pages`.
fn check(word: &str, folder: &str, pages: &str, tree: &Tree, findings: &mut Findings) {
    let mut names = Vec::new();
    for (path, source) in tree.rust(folder) {
        if path[folder.len()..].starts_with("conformance") {
            continue;
        }
        let code: Vec<&Token> = source.code().collect();
        for window in code.windows(5) {
            if let Some((name, line)) = described(window) {
                let page = format!("{pages}{name}.md");
                if !tree.has(&page) {
                    let message = format!("the {word} `{name}` has no page; write {page}");
                    findings.fail(path, line, message);
                }
                names.push(name);
            }
        }
    }
    for (path, _) in tree
        .of_kind(".md")
        .filter(|(path, _)| path.starts_with(pages))
    {
        let name = path[pages.len()..].trim_end_matches(".md");
        if name != "README" && !names.iter().any(|n| n == name) {
            findings.fail(
                path,
                1,
                format!("no {word} is called `{name}`; remove the page"),
            );
        }
    }
}

/// The name in `Descriptor { name: "..."`, and its line.
fn described(window: &[&Token]) -> Option<(String, usize)> {
    let [descriptor, open, key, colon, name] = window else {
        return None;
    };
    let matches = descriptor.is_ident("Descriptor")
        && open.is_punct("{")
        && key.is_ident("name")
        && colon.is_punct(":");
    let quoted = name.text.strip_prefix('"')?.strip_suffix('"')?;
    matches.then(|| (quoted.to_string(), name.line))
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    #[test]
    fn a_policy_without_a_page_is_caught() {
        let text = "//! A draw.\nstatic D: Descriptor = Descriptor {\n    name: \"draw\",\n};\n";
        let places = found(&[("crates/domio-sched/src/draw.rs", text)]);
        assert_eq!(places, ["policy-pages crates/domio-sched/src/draw.rs:3"]);
    }

    #[test]
    fn a_page_without_a_policy_is_caught() {
        let places = found(&[("docs/policies/old.md", "# Old\n")]);
        assert_eq!(places, ["policy-pages docs/policies/old.md:1"]);
    }

    #[test]
    fn controllers_and_their_pages_are_held_to_the_same() {
        let text = "//! A guard.\nstatic D: Descriptor = Descriptor {\n    name: \"guard\",\n};\n";
        let file = ("crates/domio-control/src/guard.rs", text);
        let place = "controller-pages crates/domio-control/src/guard.rs:3";
        assert_eq!(found(&[file]), [place]);
        let page = ("docs/controllers/guard.md", "# Guard\n");
        assert_eq!(found(&[file, page]), [""; 0]);
        assert_eq!(
            found(&[page]),
            ["controller-pages docs/controllers/guard.md:1"]
        );
    }
}
