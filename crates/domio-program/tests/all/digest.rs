//! An edited comment keeps the digest, an edited number changes it.

use domio_program::digest_of;
use std::fs;

const LIBRARY: &str = "//! A crate.\npub mod part;\n#[cfg(test)]\nmod tests;\n\
                       /// Three.\npub const N: u32 = 3; // why\n";

/// The digest of a project with these files beside some that every project here has.
fn digest(files: &[(&str, &str)]) -> String {
    let always = [
        ("Cargo.lock", "version = 4\n"),
        ("Cargo.toml", "[workspace]\n"),
        ("crates/model/Cargo.toml", "[package]\nname = \"model\"\n"),
        ("crates/model/src/lib.rs", LIBRARY),
        ("crates/model/src/part.rs", "pub fn f() {}\n"),
        ("crates/model/src/tests.rs", "fn test() {}\n"),
        ("crates/domio-report/src/lib.rs", "fn draw() {}\n"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in always.iter().chain(files) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    digest_of(folder.path()).unwrap()
}

#[test]
fn comments_layout_and_tests_do_not_count() {
    let before = digest(&[]);
    assert_eq!(before, digest(&[]), "in another folder");
    let commented = LIBRARY
        .replace("Three", "How many")
        .replace("why", "because");
    let laid_out = LIBRARY.replace("N: u32 = 3;", "N:\n    u32 =\n    3;");
    let tested = format!("{LIBRARY}#[cfg(test)]\nmod more {{ fn f() {{ 4; }} }}\n");
    for (path, text) in [
        ("crates/model/src/lib.rs", commented.as_str()),
        ("crates/model/src/lib.rs", &laid_out),
        ("crates/model/src/lib.rs", &tested),
        ("crates/model/src/tests.rs", "fn test() { assert!(true) }\n"),
        ("crates/model/src/tests/more.rs", "fn test() {}\n"),
        ("crates/model/tests/all/main.rs", "fn test() {}\n"),
        ("crates/domio-report/src/lib.rs", "fn draw() { 1; }\n"),
        ("Cargo.toml", "# All of it.\n[workspace]\n"),
    ] {
        assert_eq!(digest(&[(path, text)]), before, "{path}: {text}");
    }
}

#[test]
fn whatever_decides_a_figure_counts() {
    let before = digest(&[]);
    let number = LIBRARY.replace("= 3", "= 4");
    for (path, text) in [
        ("crates/model/src/lib.rs", number.as_str()),
        ("crates/model/src/part.rs", "pub fn f() { 1; }\n"),
        ("crates/model/src/part/tests.rs", "pub fn f() {}\n"),
        ("crates/model/src/table.csv", "1\n"),
        ("crates/model/build.rs", "fn main() {}\n"),
        ("crates/new/src/lib.rs", ""),
        ("papers/one/claims.toml", "# A comment that may be shown.\n"),
        ("scenarios/one.toml", "seed = 1\n"),
        ("Cargo.toml", "[workspace]\nresolver = \"3\"\n"),
        ("Cargo.lock", "version = 3\n"),
    ] {
        assert_ne!(digest(&[(path, text)]), before, "{path}: {text}");
    }
}

#[test]
fn a_package_alone_has_a_digest() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(digest_of(folder.path()).unwrap().len(), 16);
}

/// The sources of the project itself hold nothing that would be read wrongly: each file has as
/// many brackets of each sort that open as brackets that close.
#[test]
fn the_projects_own_sources_are_understood() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut folders = vec![std::path::PathBuf::from(root)];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let tokens = domio_program::code::SourceCode::of(&text).tokens;
                for [open, close] in [["(", ")"], ["[", "]"], ["{", "}"]] {
                    let of = |bracket| tokens.iter().filter(|t| **t == bracket).count();
                    assert_eq!(of(open), of(close), "{open} in {}", path.display());
                }
                count += 1;
            }
        }
    }
    assert!(count > 500);
}
