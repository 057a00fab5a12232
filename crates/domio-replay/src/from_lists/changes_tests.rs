//! Releases with a vendor's own numbers, and hosts that changed between two lists.

use super::tests::{head, lists, made, options};

const HEADINGS: &str = "Name ID Mem VCPUs State Time(s)\n";

#[test]
fn a_release_has_the_suffix_of_its_vendor() {
    let of = |info: &str| {
        let text = format!("{info}\n{HEADINGS}Domain-0 0 2048 2 r----- 1.0\n");
        let made = made(&lists(&[&text]), &options(None));
        let is_unknown = made.notices.iter().any(|n| n.contains("release"));
        (made.text, is_unknown)
    };
    for (info, release) in [
        ("xen_version : 4.13.5-9.40.1", "4.13"),
        ("xen_version : 4.13.0-8.9.1.xcpng8.2", "4.13"),
        ("xen_version : 4.17.4-pre", "4.17"),
        ("xen_version : 4.14.6.1", "4.14"),
        ("xen_version : 4.11-unstable", "4.11"),
        ("xen_version : 3.0.4-1", "3.0.4"),
        ("xen_major : 4\nxen_minor : 8\nxen_extra : .5-7.el7", "4.8"),
        ("xen_version : unknown\nxen_major : 4\nxen_minor : 8", "4.8"),
    ] {
        let (text, is_unknown) = of(info);
        assert!(
            text.contains(&format!("xen = \"{release}\"\n")),
            "{info}: {text}"
        );
        assert!(!is_unknown, "{info}");
    }
    // A release that domio does not have is known all the same.
    let (text, is_unknown) = of("xen_version : 4.99.1-vendor");
    let said = "the host has 4.99.1 (`xl info`), which domio does not have";
    assert!(head(&text).contains(said), "{text}");
    assert!(!is_unknown);
    assert!(of("xen_version : unknown").1);
}

/// A domain that was started anew is one domain, with the settings that its old id had.
#[test]
fn two_lists_are_two_snapshots() {
    let text = format!(
        "Name ID Weight Cap\nDomain-0 0 256 0\nweb 6 700 0\nold 9 256 0\n\
         {HEADINGS}Domain-0 0 2048 1 r----- 100.0\nweb 6 2048 2 -b---- 9000.0\n\
         old 9 512 1 -b---- 5.0\ndb 4 512 4 -b---- 50.0\n\
         {HEADINGS}Domain-0 0 2048 1 r----- 101.0\nweb 7 2048 2 -b---- 4.0\n\
         db 4 512 2 -b---- 51.0\nnew 8 512 1 -b---- 1.0\n"
    );
    let made = made(&lists(&[&text]), &options(Some(10)));
    for (part, times) in [
        ("name = \"web\"", 1),
        ("id = 7\nvcpus = 2\nweight = 700\n", 1),
        ("id = 6", 0),
        ("name = \"old\"", 0),
        ("name = \"db\"\nid = 4\nvcpus = 2\n", 1),
        ("name = \"new\"\nid = 8\n", 1),
    ] {
        assert_eq!(
            made.text.matches(part).count(),
            times,
            "{part}: {}",
            made.text
        );
    }
    let head = head(&made.text);
    for part in [
        "web was started anew between the lists: id 6 before, 7 in the last one",
        "without old (id 9): the last list does not have what the first one had",
        "the load of web and new, started between the lists: give two lists that both have it",
    ] {
        assert!(head.contains(part), "{part}: {head}");
    }
    // What was given is not asked for.
    assert!(
        made.notices.iter().all(|n| !n.contains("--interval")),
        "{:?}",
        made.notices
    );
}

/// Lists of one domain each are no snapshots, unless a name has another id.
#[test]
fn partial_lists_are_one_host() {
    let text = format!(
        "{HEADINGS}Domain-0 0 2048 1 r----- 100.0\nweb 6 512 1 -b---- 1.0\n\
         {HEADINGS}db 4 512 1 -b---- 50.0\n"
    );
    let one = made(&lists(&[&text]), &options(None)).text;
    assert!(
        one.contains("name = \"web\"") && one.contains("name = \"db\""),
        "{one}"
    );
    let again = format!("{text}{HEADINGS}web 7 512 1 -b---- 1.0\n");
    let anew = made(&lists(&[&again]), &options(None)).text;
    assert!(
        anew.contains("id = 7") && !anew.contains("id = 6"),
        "{anew}"
    );
}
