//! A run is a function of its inputs. Nothing between `domio-core` and `domio-blk` may see a clock,
//! a thread, a file, a global or an address, iterate in hash order, or compute time in floating
//! point.

use super::source::{Kind, Path, Source, Token};
use super::tree::Tree;
use super::{Findings, Rule};

pub const RULE: Rule = Rule {
    name: "deterministic",
    demand: "models, policies and a run see no clock, thread, file, global, address or hash order",
    check,
};

pub const FLOAT_RULE: Rule = Rule {
    name: "no-float",
    demand: "models and policies use no floating point outside the listed files",
    check: check_floats,
};

/// What carries out one run: it computes figures in floating point, and is held to everything else
/// that models are.
const RUN: &str = "domio-run";

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

/// Modules of the standard library that reach out of a run.
const MODULES: [(&[&str], &str); 9] = [
    (
        &["std", "time"],
        "take the time from the context or the engine",
    ),
    (
        &["std", "thread"],
        "one thread carries out a run; domio-lab runs several runs at once",
    ),
    (
        &["std", "fs"],
        "reading and writing files is the caller's part",
    ),
    (&["std", "io"], "take a Sink, or text to be parsed"),
    (&["std", "net"], "model the network, don't use it"),
    (&["std", "env"], "pass settings as parameters"),
    (&["std", "process"], "return an error or an outcome"),
    (&["std", "sync"], "pass `&mut`, a run has one thread"),
    (&["core", "sync"], "pass `&mut`, a run has one thread"),
];

/// Crates that hold these modules. Under another name, or with all that is in them, they would lead
/// there unseen.
const ROOTS: [&str; 2] = ["std", "core"];

/// What to do instead of printing.
const PRINTING: &str = "emit a record, or write to a `fmt::Write` that the caller passes";

/// Names that bring back the same by another way.
const NAMES: [(&str, &str); 14] = [
    ("HashMap", "use a table indexed by id, or BTreeMap"),
    ("HashSet", "use CpuSet, a bit table, or BTreeSet"),
    ("RandomState", "draw from a named stream of domio-sim"),
    ("SystemTime", "take the time from the context or the engine"),
    ("thread_local", "keep the state in the model"),
    ("OnceLock", "keep the state in the model"),
    ("LazyLock", "compute it when the model is built"),
    ("Mutex", "pass `&mut`, a run has one thread"),
    ("RwLock", "pass `&mut`, a run has one thread"),
    ("Condvar", "pass `&mut`, a run has one thread"),
    ("println", PRINTING),
    ("eprintln", PRINTING),
    ("print", PRINTING),
    ("eprint", PRINTING),
];

/// What to do instead of asking where something lies in memory.
const ADDRESS: &str = "an address is another one in each run; give things ids and compare those";

/// Modules and names that get at an address, which any cast makes a number.
const ADDRESS_MODULES: [&[&str]; 2] = [&["std", "ptr"], &["core", "ptr"]];
const ADDRESS_NAMES: [&str; 7] = [
    "as_ptr",
    "as_mut_ptr",
    "as_ptr_range",
    "as_mut_ptr_range",
    "addr_of",
    "addr_of_mut",
    "NonNull",
];

/// Files of the models that may compute in floating point, with the reason. Times and decisions
/// never come from a float whose last bit could differ between machines.
const FLOAT_FILES: &[(&str, &str)] = &[
    (
        "crates/domio-sim/src/random.rs",
        "distributions, whose functions come from libm in software, the same everywhere",
    ),
    (
        "crates/domio-sim/src/hold.rs",
        "the made-up load of a benchmark, part of no run",
    ),
];

/// The crate whose source `path` is.
fn crate_of(path: &str) -> Option<&str> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(name)
}

fn in_models(path: &str) -> bool {
    crate_of(path).is_some_and(|name| MODELS.contains(&name))
}

fn in_a_run(path: &str) -> bool {
    in_models(path) || crate_of(path) == Some(RUN)
}

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, source) in tree.rust("crates/").filter(|(path, _)| in_a_run(path)) {
        for used in source.paths().iter().filter(|p| !p.test) {
            if let Some((module, instead)) = reaching_out(used) {
                let message = format!("`{}` reaches out of the run; {instead}", module.join("::"));
                findings.fail(path, used.line, message);
            }
            if let Some(root) = hiding(used) {
                let message = format!(
                    "`{root}` under another name or as a whole hides what comes from it; use \
                     `{root}::...` by its own name, module by module"
                );
                findings.fail(path, used.line, message);
            }
        }
        let code: Vec<&Token> = source.code().collect();
        for (line, what) in addresses(source, &code) {
            findings.fail(
                path,
                line,
                format!("`{what}` gets at an address; {ADDRESS}"),
            );
        }
        for (i, token) in code.iter().enumerate() {
            if let Some((name, instead)) = NAMES.iter().find(|(name, _)| token.is_ident(name))
                && !is_field_or_method(&code, i)
            {
                let message =
                    format!("`{name}` makes a run depend on more than its inputs; {instead}");
                findings.fail(path, token.line, message);
            }
            if token.is_ident("static") && code.get(i + 1).is_some_and(|t| t.is_ident("mut")) {
                let message = "`static mut` outlives a run; keep the state in the model";
                findings.fail(path, token.line, message);
            }
        }
    }
}

/// The forbidden module that a path leads into. `std::sync::Arc` shares without changing.
fn reaching_out(path: &Path) -> Option<(&'static [&'static str], &'static str)> {
    let module = MODULES
        .iter()
        .find(|(module, _)| path.starts_with(module))?;
    let shares = path.starts_with(&["std", "sync", "Arc"]);
    (!shares).then_some(*module)
}

/// The crate that a path brings in as a whole: `use std as s`, `extern crate std`, `use std::*`.
fn hiding(path: &Path) -> Option<&str> {
    let (root, rest) = path.segments.split_first()?;
    let whole = match rest {
        [] => true,
        [one] => one == "self" || one == "*",
        _ => false,
    };
    (whole && ROOTS.contains(&root.as_str())).then_some(root)
}

/// What gets at the address of something, with its line, each line once: raw pointers, however
/// they are come by, and the format that prints them.
fn addresses(source: &Source, code: &[&Token]) -> Vec<(usize, String)> {
    let paths = source.paths().into_iter().filter(|p| !p.test);
    let modules = paths.filter(|p| ADDRESS_MODULES.iter().any(|m| p.starts_with(m)));
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

/// Whether the name at `i` is the model's own: `x.print`, `fn print`, `print:`.
fn is_field_or_method(code: &[&Token], i: usize) -> bool {
    let before = i.checked_sub(1).map(|j| code[j]);
    before.is_some_and(|t| t.is_punct(".") || t.is_ident("fn"))
}

fn check_floats(tree: &Tree, findings: &mut Findings) {
    for (path, source) in tree.rust("crates/").filter(|(path, _)| in_models(path)) {
        if FLOAT_FILES.iter().any(|(file, _)| *file == path) {
            continue;
        }
        let code: Vec<&Token> = source.code().collect();
        let mut floats = Source::floats(&code);
        floats.dedup_by_key(|token| token.line);
        for token in floats {
            let message = format!(
                "floating point (`{}`) in a model; use integers of a small unit, or move the \
                 calculation to a file that xtask/src/tidy/deterministic.rs lists",
                token.text
            );
            findings.fail(path, token.line, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    fn found_in(crate_name: &str, code: &str) -> Vec<String> {
        let path = format!("crates/{crate_name}/src/part.rs");
        found(&[(&path, &format!("//! A part.\n{code}\n"))])
    }

    #[test]
    fn reaching_out_of_a_run_is_caught() {
        for code in [
            "use std::time::Instant;",
            "use std::{fmt, fs::File};",
            "fn f() { std::thread::yield_now(); }",
            "use std::collections::HashMap;",
            "use std::sync::atomic::AtomicU64;",
            "use core::sync::atomic::AtomicU64;",
            "static mut COUNT: u64 = 0;",
            "thread_local! { static X: u8 = 0; }",
            "fn f() { println!(); }",
            "fn f(x: &mut impl std::io::Write) {}",
            "use std as s;",
            "use core as c;",
            "use std::{self as s, fmt};",
            "use std::*;",
            "use ::std::time::Instant;",
            "fn f() -> ::std::time::Instant { g() }",
            "use r#std::time::Instant;",
            "extern crate std;",
            "extern crate std as s;",
        ] {
            for name in ["domio-vmm", "domio-run"] {
                let place = format!("deterministic crates/{name}/src/part.rs:2");
                assert_eq!(found_in(name, code), [place], "{code}");
            }
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
            "use std::ptr::NonNull;",
            "fn f(x: &Arc<u8>) -> usize { Arc::as_ptr(x) as usize }",
            "fn f(x: &u8) -> String { format!(\"{x:p}\") }",
            "fn f(x: &u8) -> String { format!(\"at {:#018p}.\", x) }",
        ] {
            let places = found_in("domio-net", code);
            assert_eq!(
                places,
                ["deterministic crates/domio-net/src/part.rs:2"],
                "{code}"
            );
        }
        let code = "fn f(a: u64, b: &mut u64) -> usize { (a * *b + 1) as usize }\n\
                    fn g(raw: u64) { h(\"{raw} {{p}} {raw:>3} up: {0}p\"); raw(3); }\n\
                    use core::slice;\nuse alloc::vec;\nextern crate alloc;";
        assert_eq!(found_in("domio-net", code), [""; 0]);
    }

    #[test]
    fn tests_and_tools_are_free() {
        let code = "use std::sync::Arc;\nstatic TABLE: [u8; 2] = [1, 2];\nfn f() { x.print(); }\n\
                    #[cfg(test)]\nmod tests { use std::collections::HashSet; }";
        assert_eq!(found_in("domio-vmm", code), [""; 0]);
        assert_eq!(found_in("domio-lab", "use std::time::Instant;"), [""; 0]);
    }

    #[test]
    fn floats_are_caught() {
        for code in ["fn f(x: f64) {}", "const X: u64 = (1.5 * Y) as u64;"] {
            for name in ["domio-core", "domio-control"] {
                let place = format!("no-float crates/{name}/src/part.rs:2");
                assert_eq!(found_in(name, code), [place], "{code}");
            }
        }
        assert_eq!(found_in("domio-meter", "fn f(x: f64) {}"), [""; 0]);
        assert_eq!(found_in("domio-run", "fn f(x: f64) {}"), [""; 0]);
    }
}
