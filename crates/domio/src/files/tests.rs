//! Which paths are one file, and what is there while a file is written.

use super::*;
use std::fs;

fn is_refused(input: &Path, output: &Path) -> bool {
    let mut files = Files::reading([("the trace", input.to_owned())]);
    files.writes("--output", output, FileKind::Report).is_err()
}

#[test]
fn a_file_is_known_by_all_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("a"), "text").unwrap();
    fs::write(at("b"), "text").unwrap();
    for same in ["a", "./a", "sub/../a", "new/../a"] {
        assert!(is_refused(&at("a"), &at(same)), "{same}");
    }
    for other in ["b", "sub/a", "a.new", "aa"] {
        assert!(!is_refused(&at("a"), &at(other)), "{other}");
    }
}

#[cfg(unix)]
#[test]
fn links_lead_to_the_file() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("sub/deep")).unwrap();
    fs::write(at("a"), "text").unwrap();
    fs::hard_link(at("a"), at("hard")).unwrap();
    symlink("a", at("soft")).unwrap();
    symlink("../soft", at("sub/twice")).unwrap();
    symlink("sub/deep", at("deep")).unwrap();
    symlink("circle", at("circle")).unwrap();
    for same in ["hard", "soft", "sub/twice", "deep/../../a"] {
        assert!(is_refused(&at("a"), &at(same)), "{same}");
        assert!(is_refused(&at(same), &at("a")), "{same}");
    }
    // `deep/..` is `sub`.
    assert!(!is_refused(&at("a"), &at("deep/../a")));
    assert!(!is_refused(&at("a"), &at("circle")));
}

#[cfg(unix)]
#[test]
fn two_outputs_are_two_files_even_before_they_are_there() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    symlink("x", at("to-x")).unwrap();
    let mut files = Files::reading([]);
    files.writes("--trace", &at("x"), FileKind::Trace).unwrap();
    for same in ["x", "new/../x", "to-x"] {
        let refused = files
            .writes("--report", &at(same), FileKind::Report)
            .err()
            .unwrap();
        let refused = refused.to_string();
        assert!(
            refused.contains("name another file with --report"),
            "{refused}"
        );
        assert!(refused.contains("--trace"), "{refused}");
    }
    files
        .writes("--report", &at("y"), FileKind::Report)
        .unwrap();
    // Nothing is lost there.
    files
        .writes("--trace", Path::new("/dev/null"), FileKind::Trace)
        .unwrap();
    files
        .writes("--report", Path::new("/dev/null"), FileKind::Report)
        .unwrap();
}

fn target(path: &Path) -> Target {
    Files::reading([])
        .writes("--output", path, FileKind::Report)
        .unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |e: io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_there_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    for old in [None, Some("old")] {
        if let Some(old) = old {
            fs::write(&path, old).unwrap();
        }
        let mut dropped = target(&path).create().unwrap();
        dropped.write_all(b"half").unwrap();
        dropped.flush().unwrap();
        drop(dropped);
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), old);
        assert_eq!(names(folder.path()), vec!["a"; old.iter().len()]);
    }
    let mut first = target(&path).create().unwrap();
    fs::create_dir(folder.path().join("new")).unwrap();
    let mut second = target(&folder.path().join("new/b")).create().unwrap();
    first.write_all(b"first").unwrap();
    second.write_all(b"second").unwrap();
    first.finish().unwrap();
    second.finish().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    assert_eq!(names(folder.path()), ["a", "new"]);
    assert_eq!(names(&folder.path().join("new")), ["b"]);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("sub/a"), "old").unwrap();
    fs::set_permissions(at("sub/a"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("sub/a", at("link")).unwrap();
    symlink("sub/b", at("dangling")).unwrap();
    for (link, file) in [("link", "sub/a"), ("dangling", "sub/b")] {
        target(&at(link))
            .create()
            .unwrap()
            .write_whole(b"new")
            .unwrap();
        assert!(at(link).is_symlink(), "{link}");
        assert_eq!(fs::read_to_string(at(file)).unwrap(), "new");
    }
    let mode = fs::metadata(at("sub/a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(names(&at("sub")), ["a", "b"]);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_written_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let null = target(Path::new("/dev/null")).create().unwrap();
    null.write_whole(b"text").unwrap();
    for step in ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        assert_eq!(replaceable(Path::new(step)).unwrap(), None, "{step}");
    }
    // Refused at once, not after a long simulation.
    for no_file in [folder.path().to_owned(), folder.path().join("a/")] {
        let error = target(&no_file).create().err().unwrap();
        assert!(format!("{error:#}").contains("cannot create"), "{error:#}");
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
fn what_domio_did_not_write_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passwd");
    fs::write(&path, "root:x:0:0").unwrap();
    let asked = |force| {
        let mut files = Files::reading([]).forced(force);
        files.writes("--trace", &path, FileKind::Trace).map(|_| ())
    };
    let refused = asked(false).unwrap_err().to_string();
    for part in ["passwd is there already", "trace", "--trace", "--force"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    asked(true).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "root:x:0:0",
        "asking is no writing"
    );
}

#[test]
fn folders_are_not_made_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/a");
    let error = target(&file).create().err().unwrap();
    assert!(
        format!("{error:#}").contains("folder that is there"),
        "{error:#}"
    );
    assert!(names(folder.path()).is_empty());
}

#[test]
fn standard_output_holds_one_thing() {
    let mut files = Files::reading([]);
    files
        .writes("--trace", Path::new("-"), FileKind::Trace)
        .unwrap();
    let refused = files.prints().unwrap_err().to_string();
    assert!(refused.contains("--trace -"), "{refused}");
    let mut files = Files::reading([]);
    files.prints().unwrap();
    assert!(
        files
            .writes("--trace", Path::new("-"), FileKind::Trace)
            .is_err()
    );
    assert!(!Path::new("-").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn parts_of_programs_that_were_killed_are_swept() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // No process has a number that high; the other one is this.
    let (gone, here) = (
        "domio-4194999-0.part",
        format!("domio-{}-77.part", std::process::id()),
    );
    for name in [
        gone,
        here.as_str(),
        "domio-x-0.part",
        "domio-4194999-0.parts",
    ] {
        fs::write(at(name), "half").unwrap();
    }
    target(&at("a"))
        .create()
        .unwrap()
        .write_whole(b"new")
        .unwrap();
    let mut left = vec![
        "a".to_owned(),
        "domio-4194999-0.parts".to_owned(),
        here,
        "domio-x-0.part".to_owned(),
    ];
    left.sort();
    assert_eq!(names(folder.path()), left);
}
