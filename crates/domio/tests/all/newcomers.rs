//! What somebody meets who is new to the command line: hints, excerpts, notices, standard input.

use crate::common::{domio, folder, json, json_of};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

const HOST: &str = "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
                    count = 2\nworkload = \"burn\"\n";

#[test]
fn a_mistake_is_shown_with_its_line_and_a_mark() {
    let folder = folder();
    let file = folder.path().join("host.toml");
    std::fs::write(&file, HOST.replace("workload", "affinity = [0]\nworkload")).unwrap();
    let assert = domio(&folder).args(["run", "host.toml"]).assert().code(2);
    let told = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(told.contains("host.toml:6:1"), "{told}");
    assert!(told.contains("affinity = [0]\n"), "{told}");
    assert!(told.contains("^^^^^^^^"), "{told}");
    assert!(told.contains("help: did you mean `pin`?"), "{told}");
    assert!(told.ends_with("1 error\n"), "{told}");
    assert!(!told.contains('\u{1b}'), "no colours into a pipe: {told}");
    let longest = told.lines().map(|l| l.chars().count()).max();
    assert!(longest < Some(110), "{told}");
    // Colours can be asked for, and NO_COLOR takes them away from whoever did not.
    let coloured = domio(&folder)
        .args(["run", "host.toml", "--color", "always"])
        .assert();
    coloured.code(2).stderr(contains("\u{1b}["));
    let plain = domio(&folder)
        .args(["run", "host.toml"])
        .env("CLICOLOR_FORCE", "1")
        .assert();
    plain.code(2).stderr(contains("\u{1b}["));
    let plain = domio(&folder)
        .args(["run", "host.toml"])
        .env("NO_COLOR", "1")
        .assert();
    plain.code(2).stderr(contains("\u{1b}[").not());
}

#[test]
fn a_mistake_of_an_override_is_shown_too() {
    let folder = folder();
    domio(&folder)
        .args(["run", "burn7", "--set", "scheduler.tslice_us=5000"])
        .assert()
        .code(2)
        .stderr(contains("write `tslice_ms = 5`").and(contains("scheduler.tslice_us = 5000")));
}

#[test]
fn values_of_flags_are_told_what_they_should_be() {
    let folder = folder();
    for (args, words) in [
        (
            &["run", "burn7", "--seed", "-1"][..],
            "a seed is a whole number, 0..=9223372036854775807",
        ),
        (
            &["reproduce", "--seed=-1"],
            "a seed is a whole number, 0..=9223372036854775807",
        ),
        (
            &["trace", "summary", "x", "--cpu-hz", "2,4GHz"],
            "2.4GHz; the fraction begins",
        ),
        (
            &["run", "burn7", "--policy", "FIFO"],
            "fifo is not modelled; null lets each vcpu keep its pcpu",
        ),
        (
            &["run", "burn7", "--policy", "Credit"],
            "near matches: credit",
        ),
        (&["run", "BURN7"], "near matches: burn7"),
    ] {
        let assert = domio(&folder).args(args).assert().code(2);
        let told = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(told.contains(words), "{args:?}: {told}");
        assert!(told.ends_with('\n'), "{told}");
    }
    domio(&folder)
        .args(["trace", "summary", "missing.bin", "--cpu-hz", "2.4GHz"])
        .assert()
        .code(2)
        .stderr(contains("missing.bin"));
}

#[test]
fn standard_input_is_a_file() {
    let folder = folder();
    let run = domio(&folder)
        .args(["run", "-", "--json"])
        .write_stdin(HOST)
        .assert()
        .success();
    let told = json(&run.get_output().stdout);
    assert_eq!(told["scenario"], "<stdin>");
    assert_eq!(told["domains"][1]["name"], "g2");
    domio(&folder)
        .args(["scenario", "check", "-"])
        .write_stdin(HOST)
        .assert()
        .success()
        .stdout("<stdin>: valid\n");
    let bad = HOST.replace("burn", "bern");
    domio(&folder)
        .args(["scenario", "check", "-"])
        .write_stdin(bad)
        .assert()
        .code(1)
        .stdout(contains("<stdin>:6:12").and(contains("did you mean `burn`?")));
    // Two variants of one scenario read it once.
    let compared = domio(&folder)
        .args([
            "compare", "-", "--policy", "credit", "--policy", "null", "--json",
        ])
        .write_stdin(HOST)
        .assert()
        .success();
    let told = json(&compared.get_output().stdout);
    assert_eq!(told["variants"].as_array().unwrap().len(), 2);
    // A trace through a pipe says what the file says.
    std::fs::write(folder.path().join("host.toml"), HOST).unwrap();
    let write = ["run", "host.toml", "--trace", "t.domio"];
    domio(&folder).args(write).assert().success();
    let bytes = std::fs::read(folder.path().join("t.domio")).unwrap();
    for command in ["summary", "check"] {
        let file = json_of(&folder, &["trace", command, "t.domio", "--json"]);
        let piped = domio(&folder)
            .args(["trace", command, "-", "--json"])
            .write_stdin(bytes.clone())
            .assert()
            .success();
        assert_eq!(json(&piped.get_output().stdout), file);
    }
    domio(&folder)
        .args(["reproduce", "--claims", "-"])
        .write_stdin("not = claims = at all")
        .assert()
        .code(2)
        .stderr(contains("<stdin>"));
}

#[test]
fn guests_that_never_run_are_named() {
    let folder = folder();
    std::fs::write(folder.path().join("host.toml"), HOST).unwrap();
    let null = ["run", "host.toml", "--policy", "null"];
    domio(&folder)
        .args(null)
        .assert()
        .success()
        .stderr(contains(
            "notice: never ran under null, though runnable: g2; null gives",
        ));
    let told = json_of(&folder, &[&null[..], &["--json"]].concat());
    assert_eq!(told["notices"].as_array().unwrap().len(), 1);
    domio(&folder)
        .args(["run", "host.toml"])
        .assert()
        .success()
        .stderr("");
    domio(&folder)
        .args([
            "compare",
            "host.toml",
            "--policy",
            "credit",
            "--policy",
            "null",
        ])
        .assert()
        .success()
        .stderr(contains("notice: null: never ran under null").and(contains("credit:").not()));
}

#[test]
fn vcpus_that_nothing_loads_are_noticed() {
    let folder = folder();
    let text = HOST.replace("count = 2", "vcpus = 4");
    std::fs::write(folder.path().join("host.toml"), text).unwrap();
    domio(&folder)
        .args(["run", "host.toml"])
        .assert()
        .success()
        .stderr(contains("loads vcpu 0 alone").and(contains("vcpu = \"all\"")));
}

#[test]
fn the_index_is_of_those_that_compete() {
    let folder = folder();
    let text = HOST.to_owned() + "[[domain]]\nname = \"sleeper\"\nworkload = \"idle\"\n";
    std::fs::write(folder.path().join("host.toml"), text).unwrap();
    let told = json_of(&folder, &["run", "host.toml", "--json"]);
    assert_eq!(told["jain_over"], serde_json::json!(["g1", "g2"]));
    assert!(told["jain"]["mean"].as_f64().unwrap() > 0.99, "{told}");
    domio(&folder)
        .args(["run", "host.toml"])
        .assert()
        .success()
        .stdout(contains(
            "Jain's index of the shares of g1 and g2, which compete: ",
        ));
}

#[test]
fn a_policy_is_checked_from_the_command_line() {
    let folder = folder();
    let told = json_of(
        &folder,
        &["policy", "check", "round-robin", "--scripts", "2", "--json"],
    );
    assert_eq!(told["passes"], true);
    let checks = told["checks"].as_array().unwrap();
    let result = |name: &str| {
        let check = checks.iter().find(|c| c["name"] == name).unwrap();
        check["result"].as_str().unwrap().to_owned()
    };
    assert_eq!(result("affinity-respected"), "passes");
    assert_eq!(result("caps"), "not-promised");
    domio(&folder)
        .args(["policy", "check", "credit:version=4.12", "--scripts", "1"])
        .assert()
        .success()
        .stdout(contains("credit:version=4.12 passes every check in"));
    domio(&folder)
        .args(["policy", "check", "credit:version=5"])
        .assert()
        .code(2)
        .stderr(contains("version of credit is \"5\""));
}
