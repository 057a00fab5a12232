//! Every policy that can be asked for by name has a page.

use super::source::Token;
use super::tree::Tree;
use super::{Findings, Rule};

pub const RULE: Rule = Rule {
    name: "policy-pages",
    demand: "every policy has its page docs/policies/NAME.md, and every page its policy",
    check,
};

const FOLDER: &str = "crates/domio-sched/src/";
const PAGES: &str = "docs/policies/";

fn check(tree: &Tree, findings: &mut Findings) {
    let mut names = Vec::new();
    for (path, source) in tree.rust(FOLDER) {
        if ["broken", "conformance"]
            .iter()
            .any(|part| path[FOLDER.len()..].starts_with(part))
        {
            continue;
        }
        let code: Vec<&Token> = source.code().collect();
        for window in code.windows(5) {
            if let Some((name, line)) = described(window) {
                let page = format!("{PAGES}{name}.md");
                if !tree.has(&page) {
                    let message = format!("the policy `{name}` has no page; write {page}");
                    findings.fail(path, line, message);
                }
                names.push(name);
            }
        }
    }
    for (path, _) in tree
        .of_kind(".md")
        .filter(|(path, _)| path.starts_with(PAGES))
    {
        let name = path[PAGES.len()..].trim_end_matches(".md");
        if name != "README" && !names.iter().any(|n| n == name) {
            findings.fail(
                path,
                1,
                format!("no policy is called `{name}`; remove the page"),
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
}
