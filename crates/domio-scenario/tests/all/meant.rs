//! What was meant by a key or name that does not exist: near ones, those of other tools, other
//! units, and commas for points.

use crate::common::{change, errors, only, parse};

/// The hint for the only problem of the base with this change.
fn hint(from: &str, to: &str) -> String {
    only(&change(from, to)).hint.expect("problems have hints")
}

#[test]
fn a_synonym_is_told_where_the_key_exists() {
    let in_domain = |key: &str| hint("name", &format!("{key} = [0]\nname"));
    assert_eq!(in_domain("affinity"), "did you mean `pin`?");
    assert_eq!(in_domain("CPUs"), "did you mean `pin`?");
    let in_scheduler = hint("\"credit\"", "\"credit\"\ntimeslice = 1");
    assert_eq!(in_scheduler, "did you mean `tslice_ms`?");
    for key in ["stddev", "sd_us"] {
        let burst = format!(
            "task = [{{ workload = \"periodic\", period_ms = 1, burst = {{ distribution = \
             \"normal\", mean_us = 9, {key} = 3 }} }}]"
        );
        let errors = errors(&change("workload = \"burn\"", &burst));
        let mut hints = errors.problems().iter().filter_map(|p| p.hint.as_deref());
        assert!(
            hints.any(|hint| hint == "did you mean `std_us`?"),
            "{errors}"
        );
    }
    let no_weight_here = hint("[run]", "[run]\nshares = 3");
    assert!(
        !no_weight_here.contains("did you mean `weight`?"),
        "{no_weight_here}"
    );
}

#[test]
fn another_unit_is_converted() {
    let of_policy = |line: &str| hint("\"credit\"", &format!("\"credit\"\n{line}"));
    for (written, told) in [
        ("tslice_us = 5000", "write `tslice_ms = 5`"),
        ("tslice_s = 0.01", "write `tslice_ms = 10`"),
        (
            "tslice_us = 2500",
            "tslice_ms is in whole ms: `tslice_ms = 3` is the nearest",
        ),
        ("ratelimit_ms = 1", "write `ratelimit_us = 1000`"),
        ("tslice_us = \"five\"", "write `tslice_ms`, in ms"),
        // Near, but in no unit.
        ("tslices = 1", "did you mean `tslice_ms`?"),
    ] {
        assert_eq!(of_policy(written), told, "{written}");
    }
}

#[test]
fn a_comma_is_no_point() {
    let point = |text: &str| hint("name", &format!("start_ms = \"{text}\"\nname"));
    assert_eq!(point("1,5"), "write the fraction with a point: 1.5");
    assert_eq!(point("-0,25"), "write the fraction with a point: -0.25");
    for other in ["1", "1.5", "1,2,3", "a,b", "1,", ",5", "0-3,6"] {
        let told = point(other);
        assert!(!told.contains("fraction"), "{other}: {told}");
    }
}

#[test]
fn near_words_are_found_and_far_ones_are_not() {
    let key = |key: &str| hint("name", &format!("\"{key}\" = 3\nname"));
    assert_eq!(key("wieght"), "did you mean `weight`?");
    let long = "w".repeat(100_000);
    for far in ["banana", &long, ""] {
        let told = key(far);
        assert!(!told.contains("did you mean"), "{told}");
    }
    let policy = |policy: &str| hint("\"credit\"", &format!("\"{policy}\""));
    assert_eq!(policy("Credit 2"), "did you mean `credit2`?");
    // Half of a short word may not differ.
    let action = "workload = \"burn\"\n[[action]]\nat_ms = 1\ndo = \"pause\"\ndomain = \"b\"";
    let told = hint("workload = \"burn\"", action);
    assert!(told.starts_with("add a [[domain]] of that name"), "{told}");
    assert!(
        parse(&change(
            "workload = \"burn\"",
            &action.replace("\"b\"", "\"a\"")
        ))
        .is_ok()
    );
}

#[test]
fn what_is_not_modelled_is_said_so() {
    let told = |policy| domio_scenario::unmodelled_policy(policy);
    let fifo = told("FIFO").unwrap();
    assert!(
        fifo.starts_with("fifo is not modelled; null lets each vcpu"),
        "{fifo}"
    );
    for (name, meant) in [
        ("ARINC-653", "did you mean `arinc653`?"),
        ("RR", "did you mean `round-robin`?"),
        ("rt", "did you mean `rtds`?"),
    ] {
        assert_eq!(told(name).as_deref(), Some(meant));
    }
    assert_eq!(told("Credit"), None);
}
