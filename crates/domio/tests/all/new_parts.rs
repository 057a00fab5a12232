//! `domio new`: what it writes, and what it refuses.

use crate::common::{domio, folder};
use predicates::prelude::*;
use predicates::str::{contains, is_empty};
use std::fs;

const KINDS: [&str; 5] = ["policy", "controller", "elevator", "workload", "device"];

/// The files of a part's folder.
const FILES: [&str; 7] = [
    ".gitignore",
    "Cargo.toml",
    "README.md",
    "scenario.toml",
    "src/lib.rs",
    "src/main.rs",
    "tests/conformance.rs",
];

#[test]
fn a_folder_for_each_kind_of_part_has_its_names_in_it() {
    let folder = folder();
    for kind in KINDS {
        let name = format!("my-{kind}");
        domio(&folder)
            .args(["new", kind, &name])
            .assert()
            .success()
            .stdout(contains("cargo run --release -- run scenario.toml"))
            .stderr(contains("asks for the released domio"));
        let read = |file: &str| fs::read_to_string(folder.path().join(&name).join(file)).unwrap();
        for file in FILES {
            assert!(!read(file).contains('@'), "{kind}: {file}");
        }
        let source = read("src/lib.rs");
        assert!(source.contains(&format!("\"{name}\"")), "{kind}");
        assert!(source.contains("pub static ENTRY: "), "{kind}");
        for word in ["super::", "alloc::", "crate::", "mod tests"] {
            assert!(!source.contains(word), "{kind}: {word}");
        }
        let main = format!("domio::Laboratory::new().{kind}(&my_{kind}::ENTRY).main()");
        assert!(read("src/main.rs").contains(&main), "{kind}");
        assert!(read("README.md").lines().count() <= 11, "{kind}");
    }
}

/// A scenario of a template is one of domio's but for the name of the part.
#[test]
fn scenarios_of_templates_are_good_with_a_part_that_ships() {
    let folder = folder();
    for (kind, shipped) in [
        ("policy", "round-robin"),
        ("controller", "cap-follows-demand"),
        ("elevator", "noop"),
    ] {
        domio(&folder)
            .args(["new", kind, "mine"])
            .assert()
            .success();
        let file = folder.path().join("mine/scenario.toml");
        let text = fs::read_to_string(&file).unwrap();
        let mine = domio(&folder).args(["run", "mine/scenario.toml"]).assert();
        mine.code(2).stderr(contains("mine"));
        fs::write(&file, text.replace("\"mine\"", &format!("\"{shipped}\""))).unwrap();
        let short = ["run", "mine/scenario.toml", "--set", "run.duration_ms=200"];
        domio(&folder).args(short).assert().success();
        fs::remove_dir_all(folder.path().join("mine")).unwrap();
    }
}

#[test]
fn a_checkout_is_named_by_paths() {
    let folder = folder();
    let root = format!("{}/../..", env!("CARGO_MANIFEST_DIR"));
    let new = ["new", "policy", "mine", "--path", "a/b", "--domio", &root];
    domio(&folder)
        .args(new)
        .assert()
        .success()
        .stderr(is_empty());
    let manifest = fs::read_to_string(folder.path().join("a/b/Cargo.toml")).unwrap();
    assert!(
        manifest.contains("/crates/domio-contract\" }"),
        "{manifest}"
    );
    assert!(folder.path().join("a/b/Cargo.lock").exists());
}

#[test]
fn what_cannot_be_begun_is_refused() {
    let folder = folder();
    let refuses = |args: &[&str], words: &str| {
        let refused = domio(&folder).arg("new").args(args).assert().code(2);
        refused.stdout(is_empty()).stderr(contains(words));
    };
    refuses(
        &["policy", "credit"],
        "there is a policy called \"credit\" already",
    );
    refuses(
        &["workload", "burn"],
        "there is a workload called \"burn\" already",
    );
    refuses(&["policy", "My_policy"], "is no name of a part");
    refuses(&["policy", "a--b"], "is no name of a part");
    refuses(&["policy", "match"], "means something else to Rust");
    refuses(
        &["policy", "domio-mine"],
        "means something else to Rust or domio",
    );
    refuses(
        &["policy", "mine", "--domio", "."],
        ". is no checkout of domio",
    );
    refuses(&["banana", "mine"], "invalid value 'banana'");
    fs::create_dir(folder.path().join("mine")).unwrap();
    refuses(&["policy", "mine"], "mine is there already");
    assert!(!folder.path().join("mine/Cargo.toml").exists());
}

#[test]
fn help_has_examples() {
    domio(&folder())
        .args(["new", "--help"])
        .assert()
        .success()
        .stdout(contains("domio new policy mine").and(contains("starts as round robin")));
}
