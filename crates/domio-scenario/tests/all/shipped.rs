//! The shipped scenarios, the JSON Schema and the reference page agree with the program.

use crate::common::policies;
use domio_scenario::{NoReplay, Scenario, examples, reference, schema};
use serde_json::{Value as Json, json};

/// A TOML text as JSON, as an editor that checks against the schema sees it.
fn as_json(text: &str) -> Json {
    toml::from_str(text).expect("TOML")
}

#[test]
fn every_shipped_scenario_is_valid_and_fits_the_schema() {
    let schema = schema(domio_sched::policies());
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    for (name, text) in examples() {
        let scenario = Scenario::parse(name, text.as_bytes(), domio_sched::policies())
            .unwrap_or_else(|e| panic!("{}", e.render(false)));
        assert_eq!(scenario.notices(), [""; 0], "{name}");
        assert!(
            scenario.plan().title.is_some() && scenario.plan().description.is_some(),
            "{name}"
        );
        scenario
            .build(&NoReplay)
            .unwrap_or_else(|e| panic!("{e}"))
            .scheduler();
        let problems: Vec<String> = validator
            .iter_errors(&as_json(text))
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{name}: {problems:#?}");
    }
    assert!(examples().len() >= 10);
}

#[test]
fn the_folder_holds_exactly_the_shipped_scenarios() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|f| {
            f.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    files.sort();
    let mut names: Vec<String> = examples()
        .iter()
        .map(|(n, _)| format!("{n}.toml"))
        .collect();
    names.sort();
    assert_eq!(files, names);
}

/// What the comments of the shipped scenarios invite to try works.
#[test]
fn every_override_that_a_shipped_scenario_proposes_is_valid() {
    let mut tried = 0;
    for (name, text) in examples() {
        let scenario = Scenario::parse(name, text.as_bytes(), domio_sched::policies()).unwrap();
        for line in text
            .lines()
            .filter(|l| l.contains("Try: ") || l.contains("Compare with: "))
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            let overrides: Vec<(&str, &str)> = words
                .windows(2)
                .filter_map(|w| match w[0] {
                    "--set" => w[1].split_once('='),
                    "--policy" => Some(("scheduler.policy", w[1])),
                    _ => None,
                })
                .collect();
            assert!(!overrides.is_empty(), "{name}: {line}");
            scenario
                .with(&overrides)
                .unwrap_or_else(|e| panic!("{name}: {}", e.render(false)));
            tried += 1;
        }
    }
    assert!(tried > 15, "{tried}");
}

/// Scenarios that both the schema and the program refuse.
#[test]
fn schema_and_program_refuse_the_same() {
    let all = policies();
    let schema = schema(&all[..]);
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    assert!(validator.is_valid(&as_json(crate::common::BASE)));
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
        assert!(crate::common::BASE.contains(from), "{from}");
        let text = crate::common::BASE.replacen(from, to, 1);
        assert!(
            crate::common::parse(&text).is_err(),
            "the program takes:\n{text}"
        );
        assert!(
            !validator.is_valid(&as_json(&text)),
            "the schema takes:\n{text}"
        );
    }
}

#[test]
fn the_schema_names_what_the_policies_declare() {
    let schema = schema(domio_sched::policies());
    let weight = &schema["$defs"]["domain-credit"]["properties"]["weight"];
    assert_eq!(
        (&weight["minimum"], &weight["maximum"]),
        (&json!(1), &json!(65_535))
    );
    assert_eq!(
        schema["$defs"]["scheduler-credit"]["properties"]["boost"]["default"],
        json!(true)
    );
    assert!(
        schema["$defs"]["domain-null"]["properties"]
            .get("weight")
            .is_none()
    );
}

#[test]
fn the_reference_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenarios.md");
    let page = reference(domio_sched::policies(), examples());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == page,
        "docs/scenarios.md is not what the tables say: UPDATE=1 cargo test -p domio-scenario"
    );
}
