//! The shipped scenarios and the reference page agree with the program.

use domio_scenario::{NoReplay, Scenario, examples, reference, schema};
use serde_json::json;

#[test]
fn every_shipped_scenario_is_valid() {
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
