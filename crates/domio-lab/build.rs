//! Names the program by the bytes that decide what a simulation gives, for the store of results.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Crates whose code has no part in a sample: what they do begins when there are samples. Any other
/// crate counts, so that a new one cannot be forgotten.
const WITHOUT_A_PART: [&str; 8] = [
    "domio",
    "domio-bench",
    "domio-broken",
    "domio-front",
    "domio-monitor",
    "domio-report",
    "domio-stats",
    "domio-sweep",
];

/// Sets `DOMIO_PROGRAM`: the version, and a digest of the sources of all crates that have a part in
/// a sample, the papers, the shipped scenarios, the versions of all libraries, the compiler and the
/// target. The same sources give the same name in any folder and at any time.
fn main() -> io::Result<()> {
    let mut digest = Sha256::new();
    let root = Path::new("../..");
    for folder in sorted(&root.join("crates"))? {
        if WITHOUT_A_PART.iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        for part in ["src", "Cargo.toml", "build.rs"] {
            add(&mut digest, root, &folder.join(part))?;
        }
    }
    for part in ["papers", "scenarios", "Cargo.toml", "Cargo.lock"] {
        add(&mut digest, root, &root.join(part))?;
    }
    let compiler = env::var_os("RUSTC").expect("cargo sets RUSTC");
    let compiler = Command::new(compiler).arg("-vV").output()?.stdout;
    let target = env::var("TARGET").expect("cargo sets TARGET");
    piece(&mut digest, &compiler);
    piece(&mut digest, target.as_bytes());
    let mut program = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    program.push('+');
    for byte in &digest.finalize()[..8] {
        write!(program, "{byte:02x}").expect("in memory");
    }
    println!("cargo::rustc-env=DOMIO_PROGRAM={program}");
    Ok(())
}

/// Adds names and contents of the files of `path`, a file or a folder, or nothing if it is not
/// there.
fn add(digest: &mut Sha256, root: &Path, path: &Path) -> io::Result<()> {
    if path.is_dir() {
        println!("cargo::rerun-if-changed={}", path.display());
        for path in sorted(path)? {
            add(digest, root, &path)?;
        }
    } else if path.is_file() {
        println!("cargo::rerun-if-changed={}", path.display());
        let place = path.strip_prefix(root).unwrap_or(path);
        let steps = place.iter().map(|step| step.to_string_lossy());
        piece(digest, steps.collect::<Vec<_>>().join("/").as_bytes());
        piece(digest, &fs::read(path)?);
    }
    Ok(())
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
