//! `domio controller`: what lists and shows controllers, for people and for programs.

use crate::common::{domio, folder, json_of};
use predicates::prelude::*;
use predicates::str::{contains, is_empty, starts_with};

#[test]
fn controllers_are_listed_and_shown() {
    let folder = folder();
    let list = json_of(&folder, &["controller", "list", "--json"]);
    let list = list["controllers"].as_array().expect("a list");
    let names: Vec<&str> = list.iter().filter_map(|c| c["name"].as_str()).collect();
    assert!(names.contains(&"cap-follows-demand"), "{names:?}");
    let table = domio(&folder).args(["controller", "list"]).assert();
    let table = table.success().get_output().stdout.clone();
    let table = String::from_utf8(table).expect("text");
    assert!(table.starts_with("controller "), "{table}");
    for name in names {
        assert!(table.lines().any(|line| line.starts_with(name)), "{table}");
        domio(&folder)
            .args(["controller", "show", name])
            .assert()
            .success()
            .stdout(starts_with(format!("{name}: ")));
    }
}

#[test]
fn a_controller_tells_what_it_sets_and_lets_one_set() {
    let folder = folder();
    let show = ["controller", "show", "cap-follows-demand"];
    let text = domio(&folder).args(show).assert().success();
    text.stdout(
        contains("\nsets: cap\n")
            .and(contains("\npromises: settles\n"))
            .and(contains("\nParameters of the controller\n"))
            .and(contains("\nParameters of each domain\n"))
            .and(contains("interval_ms"))
            .and(contains("hysteresis_percent")),
    );
    let shown = json_of(&folder, &[&show[..], &["--json"]].concat());
    assert_eq!(shown["sets"], serde_json::json!(["cap"]));
    assert_eq!(shown["promises"], serde_json::json!(["settles"]));
    let params = shown["params"].as_array().expect("a list");
    assert_eq!(params[0]["name"], "interval_ms");
    assert_eq!(params[0]["default"], 500);
    let drivers = params.iter().find(|p| p["name"] == "drivers");
    assert_eq!(drivers.expect("a parameter")["default"], false);
    assert_eq!(shown["domain_params"][0]["name"], "ceiling_percent");
}

#[test]
fn an_unknown_controller_is_2_and_says_what_there_is() {
    let folder = folder();
    let show = ["controller", "show", "cap-follows-demnd"];
    let assert = domio(&folder).args(show).assert().code(2);
    assert.stdout(is_empty()).stderr(contains(
        "error: no controller is called \"cap-follows-demnd\"; near matches: \
         cap-follows-demand; `domio controller list` lists them",
    ));
}

#[test]
fn who_charges_and_who_takes_charges_is_told() {
    let folder = folder();
    let shown = json_of(&folder, &["controller", "show", "debt-collector", "--json"]);
    let kinds = serde_json::json!(["cap", "reservation", "charge"]);
    assert_eq!(shown["sets"], kinds);
    assert_eq!(shown["domain_params"][0]["name"], "share_percent");
    for (policy, takes) in [("sedf-dc", true), ("sedf", false), ("credit", false)] {
        let shown = json_of(&folder, &["policy", "show", policy, "--json"]);
        let promises = shown["promises"].as_array().expect("a list");
        assert_eq!(promises.iter().any(|p| p == "charges"), takes, "{policy}");
    }
    let text = domio(&folder).args(["policy", "show", "sedf-dc"]).assert();
    text.success().stdout(contains("\npromises: charges\n"));
}
