//! Embeds the folder `papers/`: each paper's TOML files, as a table that `src/folders.rs` includes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // A link to the folder at the root, which a package holds as files.
    let papers = Path::new("papers");
    println!("cargo::rerun-if-changed={}", papers.display());
    let mut table = String::from("&[\n");
    for folder in sorted(papers)?.iter().filter(|path| path.is_dir()) {
        writeln!(table, "({:?}, &[", name(folder)).expect("in memory");
        for file in sorted(folder)?.iter().filter(|path| ends_in_toml(path)) {
            let path = file.canonicalize()?;
            writeln!(table, "({:?}, include_str!({path:?})),", name(file)).expect("in memory");
        }
        table.push_str("]),\n");
    }
    table.push(']');
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(PathBuf::from(out).join("papers.rs"), table)
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
