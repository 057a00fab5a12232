//! Policies decide as Xen's own schedulers do, and as they did under rules of other releases:
//! seconds of random hosts, against hashes of the decisions (`testdata/decisions/README.md`).

use super::decisions::{decide, folder};
use domio_core::XenVersion;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// Length of virtual time that has one hash, in ns.
const WINDOW: u64 = 50_000_000;

/// Decisions that a report shows.
const SHOWN: usize = 20;

/// The decisions that begin in each window, as lines.
fn by_window(name: &str, text: &str) -> BTreeMap<u64, Vec<String>> {
    let mut windows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let duration = text
        .lines()
        .find_map(|l| l.strip_prefix("run.duration_ns = "));
    let end: u64 = duration.and_then(|ns| ns.parse().ok()).expect("a duration");
    for (at, line) in decide(name, text, 0) {
        // What happens at the end itself is not compared.
        if at.as_nanos() < end {
            let window = at.as_nanos() / WINDOW * WINDOW;
            windows.entry(window).or_default().push(line);
        }
    }
    windows
}

/// FNV-1a, 64 bits, of `lines`, each with a line feed.
fn fnv(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|l| l.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// The first window in which `text` is decided otherwise than `expected` says, for people.
fn difference(name: &str, text: &str, expected: &str) -> Option<String> {
    let decided = by_window(name, text);
    let told: BTreeMap<u64, &str> = expected
        .lines()
        .map(|l| (l.split(' ').next().unwrap().parse().expect("a time"), l))
        .collect();
    let mut starts: Vec<u64> = decided.keys().chain(told.keys()).copied().collect();
    starts.sort_unstable();
    starts.dedup();
    starts.into_iter().find_map(|start| {
        let lines = decided.get(&start).map_or(&[][..], Vec::as_slice);
        let written = told.get(&start).copied().unwrap_or("no decision");
        let line = match lines.len() {
            0 => "no decision".to_owned(),
            count => format!("{start} {count} {:016x}", fnv(lines)),
        };
        if line == written {
            return None;
        }
        let mut report = format!("{name} parts: written \"{written}\", decided \"{line}\":");
        for line in lines.iter().take(SHOWN) {
            write!(report, "\n  {line}").unwrap();
        }
        Some(report)
    })
}

/// The cases of a folder as name, scenario and hashes, by name.
fn cases(within: &str) -> Vec<(String, String, String)> {
    let folder = folder().join(within);
    let read = |path: &std::path::Path| {
        fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut cases: Vec<_> = files
        .map(|f| f.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, read(&path), read(&path.with_extension("txt")))
        })
        .collect();
    cases.sort();
    cases
}

fn agree(within: &str, prefix: &str, count: usize) {
    let cases = cases(within);
    let mut compared = 0;
    for (name, text, expected) in cases.iter().filter(|(name, ..)| name.starts_with(prefix)) {
        if let Some(report) = difference(name, text, expected) {
            panic!("{report}");
        }
        compared += 1;
    }
    assert_eq!(compared, count, "cases of {prefix} in {within}");
}

#[test]
fn credit_is_that_of_xen_4_17() {
    agree("xen-4.17", "credit-", 12);
}

#[test]
fn credit2_is_that_of_xen_4_17() {
    agree("xen-4.17", "credit2-", 12);
}

#[test]
fn rtds_is_that_of_xen_4_17() {
    agree("xen-4.17", "rtds-", 12);
}

#[test]
fn null_is_that_of_xen_4_17() {
    agree("xen-4.17", "null-", 12);
}

#[test]
fn arinc653_is_that_of_xen_4_17() {
    agree("xen-4.17", "arinc653-", 12);
}

#[test]
fn credit_of_other_releases_is_what_it_was() {
    agree("releases", "credit-", 30);
}

#[test]
fn credit2_of_other_releases_is_what_it_was() {
    agree("releases", "credit2-", 6);
}

#[test]
fn credit2_is_that_of_xen_4_14_and_of_earlier_releases() {
    agree("xen-4.14", "credit2-", 6);
}

#[test]
fn rtds_is_that_of_earlier_releases() {
    agree("xen-4.14", "rtds-", 2);
}

/// Each host of `xen-4.14` is one on which the next release with another rule decides otherwise.
#[test]
fn neighbouring_releases_with_other_rules_decide_otherwise() {
    for (policy, releases) in [
        (
            "credit2",
            &["4.10", "4.12", "4.13", "4.14", "4.15", "4.16"][..],
        ),
        ("rtds", &["4.8", "4.9"]),
    ] {
        for release in releases {
            let prefix = format!("{policy}-{release}-");
            let mut cases = cases("xen-4.14");
            cases.retain(|(name, ..)| name.starts_with(&prefix));
            let [(name, text, expected)] = &cases[..] else {
                panic!("one case of {prefix}");
            };
            let version = XenVersion::from_name(release).expect("a release");
            let next = XenVersion::ALL[version as usize + 1];
            let of = |release: &str| format!("scheduler.version = \"{release}\"");
            let later = text.replace(&of(release), &of(next.name()));
            assert_ne!(&later, text);
            let report = difference(name, &later, expected);
            assert!(report.is_some(), "{name} is decided likewise under {next}");
        }
    }
}

/// A rule of another release, or a parameter, is noticed in most cases.
#[test]
fn other_rules_are_noticed() {
    let cases = cases("releases");
    let of = |version: &str| format!("scheduler.version = \"{version}\"");
    for (from, to) in [
        ("3.1", "3.4"),
        ("4.0", "4.17"),
        ("4.6", "3.4"),
        ("3.0.3", "3.1"),
    ] {
        let name = format!("credit-{from}-2x2x2");
        let (_, text, expected) = cases.iter().find(|(n, ..)| *n == name).expect("a case");
        assert_eq!(difference(&name, text, expected), None);
        let text = text.replace(&of(from), &of(to));
        let text = text.replace(
            &format!("host.xen = \"{from}\""),
            &format!("host.xen = \"{to}\""),
        );
        let report = difference(&name, &text, expected);
        assert!(report.is_some(), "{name} is decided likewise under {to}");
    }
}
