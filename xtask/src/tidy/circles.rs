//! No circle of many files: a reader who wants to understand one of them would have to understand
//! all of them together.
//!
//! A file depends on another one of its crate when a path in its code leads to something that the
//! other defines: `crate::x::Y`, `super::Y`, `child::y()`. A name that a module only hands on
//! (`pub use`) leads to the file that defines it. Code of tests does not count.

use super::rule::{Findings, Rule};
use super::source::Source;
use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

pub const RULE: Rule = Rule {
    name: "circles",
    demand: "no circle of more than three files that depend on each other",
    check,
};

/// Most files of a circle: a type and the two halves of what is done with it.
const MOST: usize = 3;

/// A module's path from the root of its crate.
type Module = Vec<String>;

/// The modules of a crate that have a file of their own.
type Crate<'t> = BTreeMap<Module, File<'t>>;

/// One of them.
struct File<'t> {
    path: &'t str,
    source: &'t Source,
    /// Names that it hands on, and where each leads from here.
    handed_on: BTreeMap<String, Module>,
}

fn check(tree: &Tree, findings: &mut Findings) {
    let mut crates: BTreeMap<&str, Crate<'_>> = BTreeMap::new();
    for (path, source) in tree.rust("") {
        if let Some((folder, inside)) = path.split_once("/src/") {
            let file = File {
                path,
                source,
                handed_on: handed_on(source),
            };
            crates
                .entry(folder)
                .or_default()
                .insert(module(inside), file);
        }
    }
    for files in crates.values() {
        for circle in circles(files) {
            let names: Vec<&str> = circle.iter().map(|module| files[*module].path).collect();
            if names.len() > MOST {
                let message = format!(
                    "{} files depend on each other in a circle: {}; give what they share a file \
                     below them",
                    names.len(),
                    names.join(", ")
                );
                findings.fail(names[0], 1, message);
            }
        }
    }
}

/// The module of the file at `inside`, a path below `src/`.
fn module(inside: &str) -> Module {
    let name = inside.strip_suffix(".rs").unwrap_or(inside);
    let mut module: Module = name.split('/').map(str::to_owned).collect();
    let last = module.last().map_or("", |last| last.as_str());
    if last == "mod" || (module.len() == 1 && ["lib", "main"].contains(&last)) {
        module.pop();
    }
    module
}

/// What `source` hands on with `pub use`, by the last name.
fn handed_on(source: &Source) -> BTreeMap<String, Module> {
    let lines = public_uses(source);
    let paths = source.paths().into_iter();
    let handed = paths.filter(|p| lines.iter().any(|(a, b)| (*a..=*b).contains(&p.line)));
    let named = handed.filter_map(|p| Some((p.segments.last()?.clone(), p.segments)));
    named.collect()
}

/// First and last line of each `pub use`.
fn public_uses(source: &Source) -> Vec<(usize, usize)> {
    let tokens = &source.tokens;
    let mut uses = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let before = tokens[..i].last();
        let public = before.is_some_and(|t| t.is_ident("pub") || t.is_punct(")"));
        if token.is_ident("use") && public {
            let end = tokens[i..].iter().find(|t| t.is_punct(";"));
            uses.push((token.line, end.map_or(token.line, |t| t.line)));
        }
    }
    uses
}

/// The files that `module` depends on.
fn depends_on<'f>(module: &Module, files: &'f Crate<'_>) -> BTreeSet<&'f Module> {
    let file = &files[module];
    let public = public_uses(file.source);
    let is_public = |line| public.iter().any(|(a, b)| (*a..=*b).contains(&line));
    let paths = file.source.paths().into_iter();
    let own = paths.filter(|p| !p.test && !is_public(p.line));
    let found = own.filter_map(|p| leads_to(module, &p.segments, files, 0));
    found.filter(|other| *other != module).collect()
}

/// The file that defines what `segments`, seen from `module`, name; `None` for other crates.
fn leads_to<'f>(
    module: &Module,
    segments: &[String],
    files: &'f Crate<'_>,
    depth: usize,
) -> Option<&'f Module> {
    let (first, rest) = segments.split_first()?;
    let (mut at, mut rest) = match first.as_str() {
        "crate" => (Module::new(), rest),
        "self" => (module.clone(), rest),
        "super" => (module.split_last()?.1.to_vec(), rest),
        child => {
            let mut at = module.clone();
            at.push(child.to_owned());
            files.contains_key(&at).then_some((at, rest))?
        }
    };
    while let Some((name, after)) = rest.split_first() {
        if name == "super" {
            at.pop()?;
        } else {
            at.push(name.clone());
            if !files.contains_key(&at) {
                at.pop();
                break;
            }
        }
        rest = after;
    }
    let (found, file) = files.get_key_value(&at)?;
    let handed = rest.first().and_then(|name| file.handed_on.get(name));
    match handed {
        // A chain of names that hand each other on ends before that.
        Some(path) if depth < 8 => leads_to(found, path, files, depth + 1),
        _ => Some(found),
    }
}

/// The files of each circle, in the order of their paths.
fn circles<'f>(files: &'f Crate<'_>) -> Vec<Vec<&'f Module>> {
    let direct: BTreeMap<&Module, BTreeSet<&Module>> = files
        .keys()
        .map(|module| (module, depends_on(module, files)))
        .collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = files
        .keys()
        .map(|module| (module, reach(module, &direct)))
        .collect();
    let mut circles = Vec::new();
    let mut done: BTreeSet<&Module> = BTreeSet::new();
    for (module, others) in &reached {
        if done.contains(module) || !others.contains(module) {
            continue;
        }
        let back = others
            .iter()
            .filter(|other| reached[*other].contains(module));
        let circle: Vec<&Module> = back.copied().collect();
        done.extend(&circle);
        circles.push(circle);
    }
    circles
}

/// Everything that `module` depends on, directly or by way of others.
fn reach<'f>(
    module: &'f Module,
    direct: &BTreeMap<&'f Module, BTreeSet<&'f Module>>,
) -> BTreeSet<&'f Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![module];
    while let Some(next) = open.pop() {
        for other in &direct[next] {
            if reached.insert(*other) {
                open.push(other);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    const PAGE: &str = "//! A file.\n";

    fn places(files: &[(&str, &str)]) -> Vec<String> {
        let planted: Vec<(String, String)> = files
            .iter()
            .map(|(name, code)| {
                let path = format!("crates/domio-sim/src/{name}.rs");
                (path, format!("{PAGE}{code}\n"))
            })
            .collect();
        let planted = planted
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()));
        found(&planted.collect::<Vec<_>>())
    }

    #[test]
    fn a_circle_of_four_files_is_caught_and_one_of_three_is_not() {
        let three = [
            ("a", "use crate::b::B;"),
            ("b", "use super::c::C;"),
            ("c", "fn f() { crate::a::f() }"),
        ];
        assert_eq!(places(&three), [""; 0]);
        let four = [
            ("a", "use crate::b::B;"),
            ("b", "use super::c::C;"),
            ("c", "fn f() { crate::d::f() }"),
            ("d", "use crate::{a::A, x};"),
        ];
        assert_eq!(places(&four), ["circles crates/domio-sim/src/a.rs:1"]);
    }

    #[test]
    fn what_a_module_hands_on_is_of_the_file_that_defines_it() {
        let folder = |first: &'static str| {
            [
                (
                    "p/mod",
                    "mod a; mod b; mod c;\npub use a::A;\npub(crate) use b::{B, C};",
                ),
                ("p/a", first),
                ("p/b", "use super::A;"),
                ("p/c", "use super::{B, C};"),
            ]
        };
        // Through `mod` all of them would be a circle.
        assert_eq!(places(&folder("struct A;")), [""; 0]);
        assert_eq!(places(&folder("use crate::p::c::D;")), [""; 0]);
        let own = "mod a; mod b; mod c; use c::D; struct S;";
        let files = [
            ("p/mod", own),
            ("p/a", "use super::S;"),
            ("p/b", "use super::a::A;"),
            ("p/c", "use super::b::B;"),
        ];
        assert_eq!(places(&files), ["circles crates/domio-sim/src/p/mod.rs:1"]);
    }

    #[test]
    fn tests_and_other_crates_do_not_count() {
        let files = [
            ("a", "use crate::b::B;"),
            ("b", "use crate::c::C;"),
            ("c", "use crate::d::D;"),
            (
                "d",
                "use other::a::A;\n#[cfg(test)]\nmod tests { use crate::a::A; }",
            ),
        ];
        assert_eq!(places(&files), [""; 0]);
    }
}
