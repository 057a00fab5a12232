//! Licences of the libraries that are part of a program. Most of them ask for their text to go
//! with it.

use super::files::{Release, names};
use super::source::output;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A program of this project, and what else goes into it.
pub struct Program {
    /// Folder of its workspace, from the root.
    workspace: &'static str,
    /// Its package.
    package: &'static str,
    /// The target that it is built for.
    target: &'static str,
    /// What is linked besides packages of cargo.
    more: &'static str,
}

/// The command line.
pub const DOMIO: Program = Program {
    workspace: "",
    package: "domio",
    target: super::source::HOST,
    more: "\
Rust's standard library: MIT OR Apache-2.0.
SQLite, which libsqlite3-sys holds: public domain.
libbpf, which libbpf-sys holds: LGPL-2.1-only OR BSD-2-Clause.
libelf of elfutils: GPL-2.0-or-later OR LGPL-3.0-or-later. zlib: Zlib.
GNU C Library: LGPL-2.1-or-later. The sources of domio and of all libraries are public, so that the
program can be linked with other versions of these: `cargo xtask release` does so.
",
};

/// What is in the wheel.
pub const WHEEL: Program = Program {
    workspace: "python",
    package: "domio-python",
    target: super::source::HOST,
    more: "\
Rust's standard library: MIT OR Apache-2.0.
SQLite, which libsqlite3-sys holds: public domain.
",
};

/// The program within the page for browsers.
pub const PAGE: Program = Program {
    workspace: "web",
    package: "domio-web",
    target: "wasm32-unknown-unknown",
    more: "Rust's standard library: MIT OR Apache-2.0.\n",
};

/// How files with a licence begin, in capital letters.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// A library with its licence.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Library {
    name: String,
    version: String,
    licence: String,
    /// Texts of its files, by name.
    texts: BTreeMap<String, String>,
}

/// Licences of the libraries in `program`.
///
/// # Errors
/// Cargo does not say which these are, or a file cannot be read.
pub fn text(release: &Release, program: &Program) -> Result<String> {
    let folder = release.root.join(program.workspace);
    let cargo = crate::places::cargo();
    let json = output(
        &folder,
        &cargo.to_string_lossy(),
        &[
            "metadata",
            "--locked",
            "--format-version=1",
            "--filter-platform",
            program.target,
        ],
    )?;
    let metadata: Value = serde_json::from_str(&json).context("cargo metadata")?;
    let libraries: Result<Vec<Library>> = linked(&metadata, program.package)?
        .into_iter()
        .map(library)
        .collect();
    let mut libraries = libraries?;
    libraries.sort();
    Ok(page(program.more, &libraries))
}

/// The packages of others that `package` is linked with.
fn linked<'a>(metadata: &'a Value, package: &str) -> Result<Vec<&'a Value>> {
    let list = |value: &'a Value| value.as_array().map_or(&[][..], Vec::as_slice);
    let packages = list(&metadata["packages"]);
    let by_id = |id: &str| packages.iter().find(|p| p["id"] == id);
    let nodes = list(&metadata["resolve"]["nodes"]).iter();
    let nodes: BTreeMap<&str, &Value> =
        nodes.filter_map(|n| Some((n["id"].as_str()?, n))).collect();
    let first = packages.iter().find(|p| p["name"] == package);
    let first = first.and_then(|p| p["id"].as_str());
    let first = first.with_context(|| format!("cargo knows no package {package}"))?;
    let mut seen = BTreeSet::from([first]);
    let mut waiting = vec![first];
    while let Some(id) = waiting.pop() {
        let node = nodes
            .get(id)
            .context("cargo has resolved no dependencies")?;
        for dependency in list(&node["deps"]) {
            // A kind is named for what builds or tests alone.
            let runs = list(&dependency["dep_kinds"])
                .iter()
                .any(|kind| kind["kind"].is_null());
            let id = dependency["pkg"].as_str().unwrap_or_default();
            if runs && seen.insert(id) {
                waiting.push(id);
            }
        }
    }
    let packages = seen.into_iter().filter_map(by_id);
    Ok(packages.filter(|p| !p["source"].is_null()).collect())
}

/// A package with the licences in its folder.
fn library(package: &Value) -> Result<Library> {
    let text = |key: &str| package[key].as_str().unwrap_or("not named").to_owned();
    let manifest = text("manifest_path");
    let folder = Path::new(&manifest)
        .parent()
        .context("a package has no folder")?;
    let mut texts = BTreeMap::new();
    for name in names(folder)? {
        let path = folder.join(&name);
        let upper = name.to_uppercase();
        if NAMES.iter().any(|begin| upper.starts_with(begin)) && path.is_file() {
            let bytes = super::stage::read(&path)?;
            texts.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(Library {
        name: text("name"),
        version: text("version"),
        licence: text("license"),
        texts,
    })
}

/// Libraries with numbers of texts, and each text once.
fn page(more: &str, libraries: &[Library]) -> String {
    let mut texts: Vec<&str> = Vec::new();
    let mut lines = String::new();
    for library in libraries {
        lines += &format!("{} {}: {}", library.name, library.version, library.licence);
        for (name, text) in &library.texts {
            let text = text.trim();
            let known = texts.iter().position(|other| *other == text);
            let number = known.unwrap_or_else(|| {
                texts.push(text);
                texts.len() - 1
            });
            lines += &format!(", {name} (text {})", number + 1);
        }
        lines.push('\n');
    }
    let mut page = format!("Libraries that are part of this program:\n\n{more}{lines}");
    for (number, text) in texts.iter().enumerate() {
        page += &format!("\n==== text {}\n\n{text}\n", number + 1);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_builds_or_tests_alone_is_not_linked() {
        let node = |id: &str, deps: &[(&str, Value)]| {
            let dep =
                |(pkg, kind): &(&str, Value)| json!({"pkg": pkg, "dep_kinds": [{"kind": kind}]});
            json!({"id": id, "deps": deps.iter().map(dep).collect::<Vec<_>>()})
        };
        let package =
            |name: &str, source: Value| json!({"id": name, "name": name, "source": source});
        let metadata = json!({
            "packages": [
                package("domio", Value::Null), package("domio-core", Value::Null),
                package("serde", "registry".into()), package("cc", "registry".into()),
                package("insta", "registry".into()),
            ],
            "resolve": {"nodes": [
                node("domio", &[
                    ("domio-core", Value::Null), ("cc", "build".into()), ("insta", "dev".into()),
                ]),
                node("domio-core", &[("serde", Value::Null)]),
                node("serde", &[]),
            ]},
        });
        let linked = linked(&metadata, "domio").unwrap();
        let names: Vec<&str> = linked.iter().map(|p| p["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["serde"]);
    }

    #[test]
    fn each_text_is_there_once() {
        let library = |name: &str, text: &str| Library {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: "MIT".to_owned(),
            texts: BTreeMap::from([("LICENSE".to_owned(), text.to_owned())]),
        };
        let libraries = [
            library("a", "one\n"),
            library("b", "two"),
            library("c", "one"),
        ];
        assert_eq!(
            page("More.\n", &libraries),
            "Libraries that are part of this program:\n\nMore.\n\
             a 1.0.0: MIT, LICENSE (text 1)\n\
             b 1.0.0: MIT, LICENSE (text 2)\n\
             c 1.0.0: MIT, LICENSE (text 1)\n\
             \n==== text 1\n\none\n\n==== text 2\n\ntwo\n"
        );
    }
}
