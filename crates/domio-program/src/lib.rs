//! Names a program by the code that decides what a simulation gives, for the store of results.
//!
//! ```text
//! sources of crates ──code──▶ tokens without comments and tests ─┐
//! papers, scenarios, libraries, compiler, target ────────────────┴▶ digest ─▶ "0.1.0+9f0c..."
//! ```
//!
//! The build script of a program calls [`name`]. Libraries get the name from the program, as a
//! value: an edit that changes the name compiles no library again.

pub mod code;

use code::SourceCode;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Crates whose code has no part in a sample: what they do begins when there are samples, or ends
/// before. Any other crate counts, so that a new one cannot be forgotten.
const WITHOUT_A_PART: [&str; 10] = [
    "domio",
    "domio-bench",
    "domio-broken",
    "domio-front",
    "domio-monitor",
    "domio-program",
    "domio-report",
    "domio-schemas",
    "domio-stats",
    "domio-sweep",
];

/// Sets `DOMIO_PROGRAM` for the program that is being built: its version, and a digest of the
/// project at `root`, the compiler and the target. The same code gives the same name in any folder
/// and at any time. Where there is no project at `root`, as in a published package, the version
/// stands for the code.
///
/// # Errors
/// When a source cannot be read, or the compiler not asked for its version.
///
/// # Panics
/// When the caller is no build script.
pub fn name(root: &Path) -> io::Result<()> {
    let variable = |name: &str| env::var(name).expect("cargo sets it for build scripts");
    let compiler = Command::new(variable("RUSTC")).arg("-vV").output()?.stdout;
    let mut digest = Sha256::new();
    for path in add_project(&mut digest, root)? {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    piece(&mut digest, &compiler);
    piece(&mut digest, variable("TARGET").as_bytes());
    let (version, digest) = (variable("CARGO_PKG_VERSION"), short(digest));
    println!("cargo::rustc-env=DOMIO_PROGRAM={version}+{digest}");
    Ok(())
}

/// Sets `DOMIO_COMMIT`, `DOMIO_PROFILE` and `DOMIO_TARGET` for the program that is being built, and
/// `DOMIO_CHECKOUT`, the folder that is `root`. A build that is to be the same in any folder, with
/// `SOURCE_DATE_EPOCH`, does without the last.
///
/// The commit is known to builds for release of a Git checkout whose top is `root`. Other builds do
/// without, so that a commit builds nothing again. Nothing here depends on when or where is built.
///
/// # Panics
/// When the caller is no build script.
pub fn build(root: &Path) {
    let variable = |name: &str| env::var(name).expect("cargo sets it for build scripts");
    let (profile, target) = (variable("PROFILE"), variable("TARGET"));
    let commit = match profile.as_str() {
        "release" => commit(root).unwrap_or_else(|| "unknown: not built from a checkout".into()),
        _ => "unknown: not built for release".to_owned(),
    };
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    if env::var_os("SOURCE_DATE_EPOCH").is_none() {
        let checkout = Path::new(&variable("CARGO_MANIFEST_DIR")).join(root);
        println!("cargo::rustc-env=DOMIO_CHECKOUT={}", checkout.display());
    }
    println!("cargo::rustc-env=DOMIO_COMMIT={commit}");
    println!("cargo::rustc-env=DOMIO_PROFILE={profile}");
    println!("cargo::rustc-env=DOMIO_TARGET={target}");
}

/// The commit that is checked out at `root`, which is seen when it changes. `None` where `root` is
/// no top of a checkout, or there is no Git.
fn commit(root: &Path) -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").current_dir(root).args(args).output();
        let output = output.ok().filter(|output| output.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(text.trim().to_owned())
    };
    let top = fs::canonicalize(git(&["rev-parse", "--show-toplevel"])?).ok()?;
    if fs::canonicalize(root).ok()? != top {
        return None;
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    // The log of the head grows with each commit and each checkout.
    for file in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&["rev-parse", "--git-path", file])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    Some(commit)
}

/// The digest of the project at `root` alone, in hexadecimal.
///
/// # Errors
/// When a source cannot be read.
pub fn digest_of(root: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    add_project(&mut digest, root)?;
    Ok(short(digest))
}

fn short(digest: Sha256) -> String {
    digest.finalize()[..8]
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("in memory");
            text
        })
}

/// Adds the sources of all crates that have a part in a sample, the papers, the shipped scenarios
/// and the versions of all libraries. Returns the files and folders whose change is to be seen.
fn add_project(digest: &mut Sha256, root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut seen = Vec::new();
    let crates = match root.join("crates") {
        folder if folder.is_dir() => sorted(&folder)?,
        _ => Vec::new(),
    };
    for folder in crates {
        if WITHOUT_A_PART.iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        let mut sources = Vec::new();
        for part in ["src", "Cargo.toml", "build.rs"] {
            walk(&folder.join(part), &mut sources, &mut seen)?;
        }
        add_crate(digest, root, &sources)?;
    }
    for part in ["papers", "scenarios", "Cargo.toml", "Cargo.lock"] {
        let mut files = Vec::new();
        walk(&root.join(part), &mut files, &mut seen)?;
        for path in files {
            add(digest, root, &path, &plain(&path, fs::read(&path)?));
        }
    }
    Ok(seen)
}

/// Adds the files of a crate, without those that only its tests have.
fn add_crate(digest: &mut Sha256, root: &Path, files: &[PathBuf]) -> io::Result<()> {
    let (mut contents, mut tests) = (Vec::new(), Vec::new());
    for path in files {
        let bytes = fs::read(path)?;
        let code = match path.extension().is_some_and(|e| e == "rs") {
            true => {
                let text = String::from_utf8_lossy(&bytes);
                let SourceCode {
                    tokens,
                    test_modules,
                } = SourceCode::of(&text);
                let folder = folder_of_modules(path);
                for module in test_modules {
                    tests.push(folder.join(format!("{module}.rs")));
                    tests.push(folder.join(module));
                }
                tokens.join("\0").into_bytes()
            }
            false => plain(path, bytes),
        };
        contents.push((path, code));
    }
    for (path, code) in contents {
        if !tests.iter().any(|test| path.starts_with(test)) {
            add(digest, root, path, &code);
        }
    }
    Ok(())
}

/// Where the files of the modules are that the file at `path` declares.
fn folder_of_modules(path: &Path) -> PathBuf {
    let is_root = ["lib.rs", "main.rs", "mod.rs"]
        .iter()
        .any(|name| path.ends_with(name));
    match is_root {
        true => path.with_file_name(""),
        false => path.with_extension(""),
    }
}

/// A manifest without lines of comment; any other file as it is, since its text may be shown.
fn plain(path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    if !path.ends_with("Cargo.toml") {
        return bytes;
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    let code = lines.filter(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"));
    code.collect::<Vec<_>>().join(&b'\n')
}

/// Collects the files of `path`, a file or a folder, or nothing if there is neither.
fn walk(path: &Path, files: &mut Vec<PathBuf>, seen: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for path in sorted(path)? {
            walk(&path, files, seen)?;
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    } else {
        return Ok(());
    }
    seen.push(path.to_owned());
    Ok(())
}

/// Adds a file by its place below `root` and its content.
fn add(digest: &mut Sha256, root: &Path, path: &Path, content: &[u8]) {
    let place = path.strip_prefix(root).unwrap_or(path);
    let steps = place.iter().map(|step| step.to_string_lossy());
    piece(digest, steps.collect::<Vec<_>>().join("/").as_bytes());
    piece(digest, content);
}

/// Adds `bytes` with their number, so that no two lists of pieces look alike.
fn piece(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<_>> = fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect();
    let mut entries = entries?;
    entries.sort();
    Ok(entries)
}
