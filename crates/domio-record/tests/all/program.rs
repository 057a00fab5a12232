//! The program that is checked in is made from the source next to it.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What `cargo xtask bpf` calls clang with, but for the output.
const ARGS: [&str; 9] = [
    "-g",
    "-O2",
    "-target",
    "bpf",
    "-mcpu=v3",
    "-Wall",
    "-Werror",
    "-fdebug-compilation-dir=/domio",
    "-c",
];

#[test]
fn the_program_is_that_of_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let made_by = fs::read_to_string(folder.join("record.bpf.o.txt")).unwrap();
    let version = match Command::new("clang").arg("--version").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(_) => String::new(),
    };
    if version.lines().next() != Some(made_by.trim()) || !Path::new("/usr/include/bpf").is_dir() {
        println!("SKIPPED, this machine has not the compiler: {made_by}");
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let object = out.path().join("record.bpf.o");
    let clang = Command::new("clang")
        .args(ARGS)
        .args(["record.bpf.c", "-o"])
        .arg(&object)
        .current_dir(&folder)
        .status()
        .unwrap();
    assert!(clang.success());
    let strip = Command::new("llvm-strip").arg("-g").arg(&object).status();
    assert!(strip.unwrap().success());
    let (new, there) = (fs::read(&object), fs::read(folder.join("record.bpf.o")));
    assert!(
        new.unwrap() == there.unwrap(),
        "record.bpf.o is not made from record.bpf.c; `cargo xtask bpf` makes it"
    );
}
