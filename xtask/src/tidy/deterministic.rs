//! A run is a function of its inputs. What a run executes does without the standard library, so
//! that the compiler keeps clocks, threads, files, hash tables and printing away; here is what the
//! rest of the language would allow. That models compute in integers is clippy's part
//! (`float_arithmetic`).

use super::rule::{Findings, Rule};
use super::source::{Kind, Source, Token};
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "deterministic",
    demand: "models, policies and a run have no standard library, and see no address and no atomic",
    check,
};

/// Crates whose code a run executes.
const MODELS: [&str; 9] = [
    "domio-core",
    "domio-contract",
    "domio-sched",
    "domio-control",
    "domio-suite",
    "domio-sim",
    "domio-vmm",
    "domio-net",
    "domio-blk",
];

/// What carries out one run, with the standard library, but without what leads out of a run.
const RUN: &str = "crates/domio-run/src/";

/// What leads out of a run: modules of the standard library, and names.
const OUTSIDE: [&[&str]; 7] = [
    &["std", "time"],
    &["std", "thread"],
    &["std", "fs"],
    &["std", "io"],
    &["std", "net"],
    &["std", "env"],
    &["std", "process"],
];
const OUTSIDE_NAMES: [&str; 9] = [
    "HashMap",
    "HashSet",
    "RandomState",
    "thread_local",
    "Mutex",
    "RwLock",
    "println",
    "eprintln",
    "SystemTime",
];

/// What to do instead of asking where something lies in memory, or of sharing.
const INSTEAD: &str =
    "an address is another one in each run: give things ids; keep state in the model";

/// Modules and names that get at an address, which any cast makes a number, at what several runs
/// would share.
const MODULES: [&[&str]; 2] = [&["core", "ptr"], &["core", "sync"]];
const ADDRESS_NAMES: [&str; 7] = [
    "as_ptr",
    "as_mut_ptr",
    "as_ptr_range",
    "as_mut_ptr_range",
    "addr_of",
    "addr_of_mut",
    "NonNull",
];

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, source) in tree.rust(RUN) {
        let modules = source.paths().into_iter().filter(|p| !p.test);
        let modules = modules.filter(|p| OUTSIDE.iter().any(|module| p.starts_with(module)));
        let mut found: Vec<(usize, String)> =
            modules.map(|p| (p.line, p.segments.join("::"))).collect();
        let named = |token: &&Token| OUTSIDE_NAMES.iter().any(|name| token.is_ident(name));
        let names = source.code().filter(named);
        found.extend(names.map(|token| (token.line, token.text.clone())));
        for (line, what) in found {
            let message = format!("`{what}` reaches out of the run; that is the caller's part");
            findings.fail(path, line, message);
        }
    }
    for name in MODELS {
        let root = format!("crates/{name}/src/lib.rs");
        if tree
            .text(&root)
            .is_some_and(|text| !text.contains("#![no_std]"))
        {
            let message = "add `#![no_std]`: the standard library reaches out of a run";
            findings.fail(&root, 1, message);
        }
        for (path, source) in tree.rust(&format!("crates/{name}/src/")) {
            let code: Vec<&Token> = source.code().collect();
            for (line, what) in addresses(source, &code) {
                let message = format!("`{what}` gets at an address or out of the run; {INSTEAD}");
                findings.fail(path, line, message);
            }
        }
    }
}

/// What gets at the address of something or at a global, with its line, each line once: raw
/// pointers, however they are come by, and the format that prints them.
fn addresses(source: &Source, code: &[&Token]) -> Vec<(usize, String)> {
    let paths = source.paths().into_iter().filter(|p| !p.test);
    let modules = paths.filter(|p| {
        // By `extern crate std`.
        p.segments == ["std"] || MODULES.iter().any(|m| p.starts_with(m))
    });
    let mut found: Vec<(usize, String)> =
        modules.map(|p| (p.line, p.segments.join("::"))).collect();
    for (i, token) in code.iter().enumerate() {
        let next = code.get(i + 1);
        let qualified = next.is_some_and(|t| t.is_ident("const") || t.is_ident("mut"));
        let named = ADDRESS_NAMES.iter().any(|name| token.is_ident(name));
        if qualified && (token.is_punct("*") || token.is_ident("raw")) {
            let next = next.map_or("", |t| t.text.as_str());
            let gap = if token.is_punct("*") { "" } else { " " };
            found.push((token.line, format!("{}{gap}{next}", token.text)));
        } else if (named && !(i > 0 && code[i - 1].is_ident("fn")))
            || (token.kind == Kind::Literal && prints_address(&token.text))
        {
            found.push((token.line, token.text.clone()));
        }
    }
    found.sort();
    found.dedup_by_key(|(line, _)| *line);
    found
}

/// Whether a string literal has a place for an address: `{:p}`, `{x:#p}`.
fn prints_address(literal: &str) -> bool {
    literal.contains('"')
        && literal.split('{').skip(1).any(|place| {
            let format = place.split('}').next().and_then(|p| p.split_once(':'));
            format.is_some_and(|(_, format)| format.ends_with('p'))
        })
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    fn found_in(crate_name: &str, code: &str) -> Vec<String> {
        let path = format!("crates/{crate_name}/src/part.rs");
        found(&[(&path, &format!("//! A part.\n{code}\n"))])
    }

    #[test]
    fn the_standard_library_is_caught() {
        let root = "crates/domio-control/src/lib.rs";
        let place = format!("deterministic {root}:1");
        assert_eq!(found(&[(root, "//! Control.\n")]), [place]);
        for code in ["extern crate std;", "extern crate std as s;"] {
            let place = "deterministic crates/domio-vmm/src/part.rs:2";
            assert_eq!(found_in("domio-vmm", code), [place], "{code}");
        }
    }

    #[test]
    fn addresses_are_caught() {
        for code in [
            "fn f(x: &u8) -> usize { x as *const u8 as usize }",
            "fn f(x: &mut u8) -> u64 { x as *mut u8 as u64 }",
            "fn f(x: *const u8) -> usize { x as usize }",
            "fn f(x: &[u8]) -> usize { let ptr = x.as_ptr(); ptr as usize }",
            "fn f(x: &u8) -> usize { &raw const *x as usize }",
            "fn f(x: &u8) -> usize { core::ptr::from_ref(x) as usize }",
            "use core::ptr;",
            "use core::ptr::NonNull;",
            "use core::sync::atomic::AtomicU64;",
            "fn f(x: &Arc<u8>) -> usize { Arc::as_ptr(x) as usize }",
            "fn f(x: &u8) -> String { format!(\"{x:p}\") }",
            "fn f(x: &u8) -> String { format!(\"at {:#018p}.\", x) }",
        ] {
            let places = found_in("domio-blk", code);
            assert_eq!(
                places,
                ["deterministic crates/domio-blk/src/part.rs:2"],
                "{code}"
            );
        }
        let code = "fn f(a: u64, b: &mut u64) -> usize { (a * *b + 1) as usize }\n\
                    fn g(raw: u64) { h(\"{raw} {{p}} {raw:>3} up: {0}p\"); raw(3); }\n\
                    use core::slice;\nuse alloc::vec;\nextern crate alloc;";
        assert_eq!(found_in("domio-blk", code), [""; 0]);
    }

    #[test]
    fn what_leads_out_of_a_run_is_caught() {
        for code in [
            "use std::time::Instant;",
            "use std::{fmt, fs::File};",
            "fn f() { std::thread::yield_now(); }",
            "use std::collections::HashMap;",
            "fn f() { println!(); }",
        ] {
            let place = "deterministic crates/domio-run/src/part.rs:2";
            assert_eq!(found_in("domio-run", code), [place], "{code}");
        }
        assert_eq!(
            found_in("domio-run", "use std::collections::BTreeMap;"),
            [""; 0]
        );
    }

    #[test]
    fn tests_and_tools_are_free() {
        let code = "#[cfg(test)]\nextern crate std;\n#[cfg(test)]\nmod tests { use core::ptr; }";
        assert_eq!(found_in("domio-vmm", code), [""; 0]);
        assert_eq!(found_in("domio-lab", "use std::ptr::NonNull;"), [""; 0]);
    }
}
