//! The schema of scenarios takes what the program takes, and refuses what the program refuses.

use crate::mutated::mutated;
use domio_scenario::{Scenario, ScenarioErrors, examples, schema};
use proptest::prelude::*;
use serde_json::Value as Json;
use std::sync::LazyLock;

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let schema = schema(domio_sched::policies());
    jsonschema::draft202012::new(&schema).expect("a schema")
});

/// A whole scenario.
const BASE: &str = r#"
[run]
duration_s = 10
[host]
cores = 2
[scheduler]
policy = "credit"
[[domain]]
name = "a"
workload = "burn"
"#;

/// A TOML text as JSON, as an editor that checks against the schema sees it.
fn as_json(text: &str) -> Json {
    toml::from_str(text).expect("TOML")
}

fn parse(bytes: &[u8]) -> Result<Scenario, ScenarioErrors> {
    Scenario::parse("f.toml", bytes, domio_sched::policies())
}

fn refused(text: &str) -> Vec<String> {
    let json = as_json(text);
    let errors = VALIDATOR.iter_errors(&json);
    errors
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect()
}

#[test]
fn every_shipped_scenario_fits_the_schema() {
    for (name, text) in examples() {
        assert_eq!(refused(text), [""; 0], "{name}");
    }
}

proptest! {
    #[test]
    fn what_the_program_takes_the_schema_takes(bytes in mutated()) {
        if parse(&bytes).is_ok() {
            let text = std::str::from_utf8(&bytes).expect("the program took it");
            let refused = refused(text);
            prop_assert!(refused.is_empty(), "{refused:?}\n{text}");
        }
    }
}

/// Scenarios that both the schema and the program refuse.
#[test]
fn schema_and_program_refuse_the_same() {
    let validator = &*VALIDATOR;
    assert!(validator.is_valid(&as_json(BASE)));
    let changes = [
        ("duration_s = 10", "duration_s = 0"),
        ("duration_s = 10", "duration_s = -1"),
        ("duration_s = 10", "duration_s = 1000001"),
        ("duration_s = 10", "duration = 10"),
        ("duration_s = 10", "duration_s = \"10\""),
        ("duration_s = 10", ""),
        ("duration_s = 10", "duration_s = 10\nduration_ms = 3"),
        ("cores = 2", "cores = 0"),
        ("cores = 2", "cores = 2.5"),
        ("cores = 2", "xen = 4.17"),
        ("cores = 2", "profile = \"none\""),
        ("[host]", "[hots]"),
        ("[host]", "[network]\nnic = \"x\"\n[host]"),
        ("[host]", "[network]\nrate = \"1T\"\n[host]"),
        ("[host]", "[network]\nrate = 10\n[host]"),
        ("[host]", "[network]\nlatency = 10\n[host]"),
        ("name = \"a\"", "name = \"a\"\nvif.rate = \"10Mb\""),
        ("name = \"a\"", "name = \"a\"\nvif.rat = \"10Mb/s\""),
        ("\"burn\"", "\"udp\""),
        ("\"burn\"", "\"udp\"\npps = 0"),
        ("\"burn\"", "\"stream\"\npps = 3"),
        ("\"burn\"", "\"stream\"\ndirection = \"up\""),
        ("\"credit\"", "\"credit3\""),
        ("\"credit\"", "\"credit\"\nboost = 1"),
        ("\"credit\"", "\"credit\"\nratelimit_us = 50"),
        ("\"credit\"", "\"credit\"\nversion = \"1.0\""),
        ("\"credit\"", "\"null\"\ntslice_ms = 5"),
        (
            "\"credit\"\n[[domain]]",
            "\"null\"\n[[domain]]\nweight = 256",
        ),
        ("policy = \"credit\"", ""),
        ("name = \"a\"", ""),
        ("name = \"a\"", "name = \"a b\""),
        ("name = \"a\"", "name = \"a\"\nweight = 0"),
        ("name = \"a\"", "name = \"a\"\nwieght = 256"),
        ("name = \"a\"", "name = \"a\"\nvcpus = 10000"),
        ("name = \"a\"", "name = \"a\"\npin = []"),
        ("name = \"a\"", "name = \"a\"\npin = \"0-\""),
        ("name = \"a\"", "name = \"a\"\nguest = \"dos\""),
        ("name = \"a\"", "name = \"a\"\nguest = { ticks_ms = 10 }"),
        ("name = \"a\"", "name = \"a\"\nperiod_ms = 3"),
        ("\"burn\"", "\"bern\""),
        ("\"burn\"", "\"periodic\"\nperiod_ms = 10"),
        (
            "\"burn\"",
            "\"periodic\"\nperiod_ms = 10\nburst_us = { distribution = \"uniform\" }",
        ),
        (
            "\"burn\"",
            "\"periodic\"\nperiod_ms = 10\nburst = { distribution = \"uniform\", low_us = 3 }",
        ),
        (
            "\"burn\"",
            "\"periodic\"\nperiod_ms = 10\n\
             burst = { distribution = \"exponential\", mean_us = 3, std_us = 3 }",
        ),
        (
            "\"burn\"",
            "\"burn\"\n[[domain.task]]\nworkload = \"idle\"\npriority = 200",
        ),
        (
            "\"burn\"",
            "\"burn\"\n[[action]]\nat_ms = 3\ndo = \"pause\"",
        ),
        (
            "\"burn\"",
            "\"burn\"\n[[action]]\nat_ms = 3\ndo = \"stop\"\ndomain = \"a\"",
        ),
        (
            "\"burn\"",
            "\"burn\"\n[[action]]\nat_ms = 3\ndo = \"set\"\ndomain = \"a\"",
        ),
        (
            "\"burn\"",
            "\"burn\"\n[[action]]\nat_ms = 3\ndo = \"pause\"\ndomain = \"a\"\npcpu = 1",
        ),
    ];
    for (from, to) in changes {
        assert!(BASE.contains(from), "{from}");
        let text = BASE.replacen(from, to, 1);
        assert!(
            parse(text.as_bytes()).is_err(),
            "the program takes:\n{text}"
        );
        assert!(
            !validator.is_valid(&as_json(&text)),
            "the schema takes:\n{text}"
        );
    }
}
