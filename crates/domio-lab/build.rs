//! Embeds the folder `papers/`: each paper's TOML files, as a table that `src/papers.rs` includes.
//! Names the program by the bytes that decide what a simulation gives, for the store of results.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    embed_papers()?;
    name_program()
}

fn embed_papers() -> io::Result<()> {
    let papers = Path::new("../../papers");
    println!("cargo::rerun-if-changed={}", papers.display());
    let mut table = String::from("&[\n");
    for folder in sorted(papers)?.iter().filter(|path| path.is_dir()) {
        writeln!(table, "PaperFolder {{ name: {:?}, files: &[", name(folder)).expect("in memory");
        for file in sorted(folder)?.iter().filter(|path| ends_in_toml(path)) {
            let path = file.canonicalize()?;
            writeln!(table, "({:?}, include_str!({path:?})),", name(file)).expect("in memory");
        }
        table.push_str("] },\n");
    }
    table.push(']');
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(PathBuf::from(out).join("papers.rs"), table)
}

/// The crates whose code has a part in a sample.
const CRATES: [&str; 11] = [
    "domio-blk",
    "domio-control",
    "domio-core",
    "domio-lab",
    "domio-meter",
    "domio-net",
    "domio-scenario",
    "domio-sched",
    "domio-sim",
    "domio-trace",
    "domio-vmm",
];

/// Sets `DOMIO_PROGRAM`: the version, and a digest of the sources of [`CRATES`], the papers, the
/// shipped scenarios, the versions of all libraries, the compiler and the target. The same sources
/// give the same name in any folder and at any time.
fn name_program() -> io::Result<()> {
    let mut digest = Sha256::new();
    let root = Path::new("../..");
    for name in CRATES {
        let folder = root.join("crates").join(name);
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

fn name(path: &Path) -> String {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_default()
}

fn ends_in_toml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "toml")
}
