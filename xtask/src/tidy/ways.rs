//! The numbered ways on the pages of crates name calls and the files that have them. A way that
//! leads to a file without the call is worse than none.

use super::rule::{Findings, Rule};
use super::source::Source;
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "ways",
    demand: "what a numbered way of calls names is defined in the file that is named",
    check,
};

/// How a way begins: the heads of its columns.
const HEAD: &str = "//!  no. file";

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.of_kind(".rs") {
        let lines: Vec<&str> = text.lines().collect();
        let mut in_way = false;
        for (i, line) in lines.iter().enumerate() {
            in_way |= line.starts_with(HEAD);
            if line.starts_with("//! ```") {
                in_way = false;
            }
            if !in_way || line.starts_with(HEAD) {
                continue;
            }
            let next = lines.get(i + 1).map_or("", |next| page(next));
            for (place, call) in named(page(line), next) {
                if let Some(wrong) = wrong(tree, path, place, call) {
                    findings.fail(path, i + 1, wrong);
                }
            }
        }
    }
}

/// A line of a page without its mark.
fn page(line: &str) -> &str {
    line.strip_prefix("//!").unwrap_or_default().trim()
}

/// The places and calls that a line of a way names, some of which are said on the `next` line: the
/// row's own, and those in brackets.
fn named<'t>(line: &'t str, next: &'t str) -> Vec<(&'t str, Option<&'t str>)> {
    let row = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
    let (place, rest) = row.split_once(' ').unwrap_or((row, ""));
    let mut found = Vec::new();
    if is_place(place) {
        let mut rest = rest.trim();
        found.extend(name_at(rest).map(|name| (place, Some(name))));
        while let Some((_, more)) = name_at(rest).and_then(|name| rest.split_once(name)) {
            rest = more.strip_prefix(", ").unwrap_or_default();
            found.extend(name_at(rest).map(|name| (place, Some(name))));
        }
    }
    let words: Vec<&str> = line.split(' ').chain(next.split(' ')).collect();
    for (i, word) in words[..line.split(' ').count()].iter().enumerate() {
        let open = word.split_once('(').map(|(_, open)| open);
        let file = open.unwrap_or(word).trim_end_matches([')', ',', ';', ':']);
        if !is_place(file) || (found.iter().any(|(place, _)| *place == file) && open.is_none()) {
            continue;
        }
        // "(nic.rs receive)" names a call, "(peer.rs, tcp)" and "nic.rs: the card" do not.
        let call = words.get(i + 1).filter(|_| word.ends_with(file));
        let call = call.filter(|call| call.ends_with([')', ':', ',']));
        found.push((file, call.and_then(|call| name_at(call))));
    }
    found
}

/// Whether this is a file of Rust or a crate.
fn is_place(word: &str) -> bool {
    !word.starts_with('(') && (word.ends_with(".rs") || word.starts_with("domio-"))
}

/// The name that `text` begins with, as `Type::call`.
fn name_at(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"_:".contains(c));
    let name = text[..end.unwrap_or(text.len())].trim_end_matches(':');
    (!name.is_empty()).then_some(name)
}

/// What is wrong with a name on the page at `path`, if anything is: `place` is a file of the page's
/// crate, of any other one if the crate has none, or a crate.
fn wrong(tree: &Tree, path: &str, place: &str, call: Option<&str>) -> Option<String> {
    let own = path.split("/src/").next().unwrap_or_default();
    let end = format!("/{}", place.rsplit('*').next().unwrap_or(place));
    let begin = place.split('*').next().unwrap_or(place);
    let of = |folder: &str| -> Vec<&Source> {
        let files = tree.rust(folder).filter(|(file, _)| file.contains("/src/"));
        let here = files.filter(|(file, _)| match place.ends_with(".rs") {
            true if place.contains('*') => file.contains(begin) && file.ends_with(&end[1..]),
            true => file.ends_with(&end),
            false => file.starts_with(&format!("crates/{place}/")),
        });
        here.map(|(_, source)| source).collect()
    };
    let mut sources = of(&format!("{own}/"));
    if sources.is_empty() {
        sources = of("crates/");
    }
    if sources.is_empty() {
        return Some(format!("there is no `{place}`"));
    }
    let call = call?;
    let (of_type, name) = call.rsplit_once("::").unwrap_or(("", call));
    let defines = |source: &&Source| {
        source.defined().any(|defined| defined == name)
            && (of_type.is_empty() || source.tokens.iter().any(|t| t.is_ident(of_type)))
    };
    match sources.iter().any(defines) {
        true => None,
        false => Some(format!(
            "`{call}` is not in `{place}`; name the file that has it"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    const ENGINE: &str =
        "//! The engine.\nstruct Queue;\nimpl Queue { fn pop() {} }\nfn run() {}\n";

    /// What is found with these rows on the page of a crate, which begin in line 4.
    fn found_in(rows: &str) -> Vec<String> {
        let text = format!("//! A crate.\n//! ```text\n//!  no. file  call\n{rows}\n//! ```\n");
        let files = [
            ("crates/domio-lab/src/lib.rs", text.as_str()),
            ("crates/domio-lab/src/host/engine.rs", ENGINE),
        ];
        found(&files)
    }

    #[test]
    fn names_are_where_the_way_says() {
        for row in [
            "//!   1  host/engine.rs  Queue::pop, run   what comes next",
            "//!   1  engine.rs  run  (engine.rs pop: takes it)",
            "//!      (engine.rs\n//!      run) and more (engine.rs, x)",
            "//!   1  host/*.rs  run  each",
            "//!   1  lottery.rs  DESCRIPTOR, ...  of another crate",
            "//!   1  domio-sched  DESCRIPTOR  somewhere there",
        ] {
            assert_eq!(found_in(row), [""; 0], "{row}");
        }
    }

    #[test]
    fn names_that_went_are_caught() {
        for row in [
            "//!   1  host/engine.rs  Queue::push  what comes next",
            "//!   1  host/engine.rs  run, walk  what comes next",
            "//!   1  host/engine.rs  Line::pop  what comes next",
            "//!   1  host/motor.rs  run  what comes next",
            "//!   1  host/engine.rs  run  (engine.rs push: takes it)",
            "//!   1  host/engine.rs  run  (motor.rs)",
            "//!   1  domio-sched  Queue  somewhere there",
        ] {
            let place = "ways crates/domio-lab/src/lib.rs:4";
            assert_eq!(found_in(row), [place], "{row}");
        }
    }
}
