//! A run is a function of its inputs. Nothing between `domio-core` and `domio-blk` may see a clock,
//! a thread, a file or a global, iterate in hash order, or compute time in floating point.

use super::source::{Path, Source, Token};
use super::tree::Tree;
use super::{Findings, Rule};

pub const RULE: Rule = Rule {
    name: "deterministic",
    demand: "models and policies see no clock, thread, file, global or hash order",
    check,
};

pub const FLOAT_RULE: Rule = Rule {
    name: "no-float",
    demand: "models and policies use no floating point outside the listed files",
    check: check_floats,
};

/// Crates whose code a run executes.
const MODELS: [&str; 6] = [
    "domio-core",
    "domio-sched",
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

fn in_models(path: &str) -> bool {
    let mut names = path.split('/');
    names.next() == Some("crates")
        && names.next().is_some_and(|name| MODELS.contains(&name))
        && names.next() == Some("src")
}

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, source) in tree.rust("crates/").filter(|(path, _)| in_models(path)) {
        for used in source.paths().iter().filter(|p| !p.test) {
            if let Some((module, instead)) = reaching_out(used) {
                let message = format!("`{}` reaches out of the run; {instead}", module.join("::"));
                findings.fail(path, used.line, message);
            }
        }
        let code: Vec<&Token> = source.code().collect();
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
        ] {
            let places = found_in("domio-vmm", code);
            assert_eq!(
                places,
                ["deterministic crates/domio-vmm/src/part.rs:2"],
                "{code}"
            );
        }
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
            let places = found_in("domio-core", code);
            assert_eq!(
                places,
                ["no-float crates/domio-core/src/part.rs:2"],
                "{code}"
            );
        }
        assert_eq!(found_in("domio-meter", "fn f(x: f64) {}"), [""; 0]);
    }
}
