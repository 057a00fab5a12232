//! `domio validate`: which recordings are found, what is told of them, and that a simulated host
//! agrees with itself.

use crate::common::{domio, folder, json, json_of};
use predicates::str::contains;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The figure of a domain that is called `name`.
fn figure<'j>(domain: &'j Value, name: &str) -> &'j Value {
    let mut figures = domain["figures"].as_array().unwrap().iter();
    figures.find(|f| f["figure"] == name).unwrap()
}

#[test]
fn shipped_recordings_are_found_from_anywhere() {
    // An empty folder, far from the sources.
    let folder = folder();
    let told = json_of(&folder, &["validate", "--json"]);
    assert_eq!(told["summary"]["agree"], 11);
    assert_eq!(told["summary"]["differ"], 0);
    let named = json_of(&folder, &["validate", "c1-cap30", "c1-burn7", "--json"]);
    assert_eq!(named["traces"][0]["recording"], "c1-cap30");
    assert_eq!(named["traces"][1]["recording"], "c1-burn7");
    assert_eq!(named["traces"].as_array().map(Vec::len), Some(2));
    domio(&folder)
        .args(["validate", "c1-burn8"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains(
            "no folder and no shipped recording is called \"c1-burn8\"",
        ))
        .stderr(contains("near matches: c1-burn7"))
        .stderr(contains("name a folder with trace.bin and scenario.json"));
    // A folder of that name comes first.
    std::fs::create_dir(folder.path().join("c1-burn7")).unwrap();
    domio(&folder)
        .args(["validate", "c1-burn7"])
        .assert()
        .code(2)
        .stderr(contains("no recording in c1-burn7"));
}

#[test]
fn validate_exact_follows_the_recorded_dispatches() {
    let folder = folder();
    let told = json_of(
        &folder,
        &["validate", "c1-weights-1-2-4", "--exact", "--json"],
    );
    let exact = &told["traces"][0]["exact"];
    assert_eq!(exact["dispatches"], 1_166);
    assert_eq!(exact["of"], 1_166);
    assert_eq!(exact["parts"], Value::Null);
}

#[test]
fn validate_prints_recorded_beside_simulated() {
    let folder = folder();
    let recording = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recording = recording.join("../../testdata/xen-traces/c1-weights-1-2-4");
    let value = json_of(
        &folder,
        &["validate", &recording.display().to_string(), "--json"],
    );
    let trace = &value["traces"][0];
    assert_eq!(trace["recording"], "c1-weights-1-2-4");
    assert_eq!(trace["verdict"], "agrees");
    let domain = &trace["domains"][1];
    for pair in [
        figure(domain, "share"),
        figure(domain, "run_us.p50"),
        figure(domain, "run_us.p95"),
        figure(domain, "wake_to_run_us.p50"),
        figure(domain, "switches_per_s"),
    ] {
        assert!(
            pair.get("recorded").is_some() && pair.get("simulated").is_some(),
            "{pair}"
        );
    }
    assert_eq!(domain["verdict"], "agrees");
    assert_eq!(figure(domain, "share")["verdict"], "agrees");
    assert_eq!(figure(domain, "share")["limit"]["sum"], 1.0);
    // It never sleeps.
    let wait = figure(domain, "wake_to_run_us.p50");
    assert_eq!(wait["verdict"], "not_judged");
    assert_eq!(wait["why"], "neither side has any");
    let [low, high] = [0, 1].map(|i| figure(domain, "share")["accepted"][i].as_f64().unwrap());
    let recorded = figure(domain, "share")["recorded"].as_f64().unwrap();
    assert!(low < recorded && recorded < high, "{domain}");
    assert_eq!(trace["simulations"], 40);

    domio(&folder)
        .args(["validate", "nowhere"])
        .assert()
        .code(2)
        .stderr(contains("trace.bin"));
}

/// A guest: its name, the keys of its domain besides, and whether it blocks.
type Guest = (&'static str, &'static str, bool);

const BURN: &str = "workload = \"burn\"\n";
const P: Guest = (
    "p",
    "workload = \"periodic\"\nperiod_ms = 10\nburst_ms = 0.05\n",
    true,
);

/// What a host is told, and its guests.
const MIXES: [(&str, &str, &[Guest]); 4] = [
    (
        "short-slices",
        "tslice_ms = 5",
        &[
            P,
            ("a", BURN, false),
            ("b", BURN, false),
            ("c", BURN, false),
        ],
    ),
    (
        "caps",
        "tslice_ms = 30",
        &[
            ("a", "cap = 50\nworkload = \"burn\"\n", false),
            ("b", "cap = 20\nworkload = \"burn\"\n", false),
            ("c", BURN, false),
        ],
    ),
    (
        "weights",
        "ratelimit_us = 0",
        &[
            P,
            ("a", "weight = 128\nworkload = \"burn\"\n", false),
            ("b", "weight = 512\nworkload = \"burn\"\n", false),
        ],
    ),
    (
        "sleepers",
        "ratelimit_us = 500",
        &[
            (
                "a",
                "workload = \"periodic\"\nperiod_ms = 5\nburst_ms = 0.2\n",
                true,
            ),
            (
                "b",
                "workload = \"periodic\"\nperiod_ms = 30\nburst_ms = 10\n",
                true,
            ),
            ("c", BURN, false),
        ],
    ),
];

/// What the model did itself, written as xentrace would have, has to agree with the model: of each
/// figure it is one more simulation.
#[test]
fn a_simulated_host_agrees_with_its_own_trace() {
    let folder = folder();
    for (name, setting, guests) in MIXES {
        let to = folder.path().join("all").join(name);
        fs::create_dir_all(&to).unwrap();
        let mut text = format!(
            "run.duration_s = 15\nrun.warmup_s = 6\nhost.profile = \"xen-4.17-emulated\"\n\
             scheduler.policy = \"credit\"\nscheduler.{setting}\n"
        );
        for (guest, keys, _) in guests {
            text += &format!("[[domain]]\nname = \"{guest}\"\n{keys}");
        }
        fs::write(folder.path().join("s.toml"), text).unwrap();
        let run = ["run", "s.toml", "--trace", "t.domio", "--json"];
        let told = json_of(&folder, &run);
        let output = format!("all/{name}/trace.bin");
        let convert = [
            "trace", "convert", "t.domio", "--to", "xentrace", "--output", &output,
        ];
        domio(&folder).args(convert).assert().success();
        let (key, value) = setting.split_once(" = ").unwrap();
        let mut params = json!({ "tslice_ms": 30, "ratelimit_us": 1000, "migration_delay_us": 0 });
        params[key] = value.parse::<i64>().unwrap().into();
        let number = |keys: &str, key: &str, default: i64| {
            let mut lines = keys.lines().filter_map(|line| line.split_once(" = "));
            let found = lines.find(|(k, _)| *k == key);
            found.map_or(default, |(_, value)| value.parse().unwrap())
        };
        let domain = |(guest, keys, blocks): &Guest| {
            let domains = told["domains"].as_array().unwrap();
            let id = &domains.iter().find(|d| d["name"] == *guest).unwrap()["id"];
            json!({
                "id": id, "name": guest, "vcpus": 1,
                "weight": number(keys, "weight", 256), "cap": number(keys, "cap", 0),
                "workload": if *blocks { "replay" } else { "burn" },
            })
        };
        let description = json!({
            "xen": "4.17.7", "scheduler": "credit", "pcpus": 1, "tsc_hz": 1_000_000_000,
            "params": params, "domains": guests.iter().map(domain).collect::<Vec<_>>(),
        });
        fs::write(to.join("scenario.json"), description.to_string()).unwrap();
    }
    let told = json_of(&folder, &["validate", "all", "--json"]);
    assert_eq!(
        told["summary"],
        json!({ "agree": 4, "differ": 0, "cannot_tell": 0 })
    );

    // Half the slice is another host.
    let file = folder.path().join("all/caps/scenario.json");
    let mut description: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    description["params"]["tslice_ms"] = 15.into();
    fs::write(&file, description.to_string()).unwrap();
    let assert = domio(&folder)
        .args(["validate", "all/caps", "--json"])
        .assert();
    let told = json(&assert.code(1).get_output().stdout);
    assert_eq!(
        told["summary"],
        json!({ "agree": 0, "differ": 1, "cannot_tell": 0 })
    );
}

/// A guest with a cap is slow because its cap parks it: that has a row of its own, beside what the
/// simulations have.
#[test]
fn time_for_which_a_cap_parks_a_guest_is_compared() {
    let folder = folder();
    let told = json_of(&folder, &["validate", "c1-cap30", "--json"]);
    let domains = told["traces"][0]["domains"].as_array().unwrap();
    let is_parked = |domain: &Value| {
        let figures = domain["figures"].as_array().unwrap();
        figures.iter().any(|figure| figure["figure"] == "parked")
    };
    let capped: Vec<&Value> = domains.iter().filter(|d| is_parked(d)).collect();
    assert_eq!(capped.len(), 1, "the guest alone: {domains:?}");
    let parked = figure(capped[0], "parked");
    let recorded = parked["compared"]["recorded"].as_f64();
    let recorded = recorded.or_else(|| parked["recorded"].as_f64()).unwrap();
    assert!((65.0..72.0).contains(&recorded), "{parked}");
    assert_eq!(
        parked["verdict"], "cannot_tell",
        "no limit is known: {parked}"
    );
}

/// Tables for programs: a recording, a domain and a figure in each row.
#[test]
fn rows_for_programs_name_the_recording() {
    let folder = folder();
    let mut command = domio(&folder);
    let assert = command.args(["validate", "c1-cap30", "--csv"]).assert();
    let assert = assert.success();
    let text = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    let head = text
        .lines()
        .find(|line| line.starts_with("recording,") && line.contains(",figure,"))
        .unwrap_or_else(|| panic!("a table of figures: {text}"));
    let names: Vec<&str> = head.split(',').collect();
    let at = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let row = text
        .lines()
        .find(|line| line.split(',').nth(at("figure")) == Some("parked"))
        .unwrap_or_else(|| panic!("a row of parked time: {text}"));
    let cells: Vec<&str> = row.split(',').collect();
    assert_eq!(cells[at("recording")], "c1-cap30");
    assert!(!names.contains(&"of_name"), "{head}");
}

/// Limits that are wider than twice the figure agree with anything: waits of 18 us where
/// simulations have up to 2,890.
#[test]
fn limits_that_mean_nothing_cannot_tell() {
    let folder = folder();
    let told = json_of(&folder, &["validate", "c2-cap30", "--json"]);
    let domain0 = &told["traces"][0]["domains"][0];
    let wait = figure(domain0, "wake_to_run_us.p95");
    assert_eq!(wait["verdict"], "cannot_tell", "{wait}");
    let why = "the limits are more than twice as wide as the figure";
    assert_eq!(wait["why"], why);
    assert_eq!(figure(domain0, "share")["verdict"], "agrees");
    assert_eq!(told["traces"][0]["verdict"], "agrees");
    let mut command = domio(&folder);
    let assert = command.args(["validate", "c2-cap30"]).env("COLUMNS", "80");
    let assert = assert.assert().success();
    let text = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    let row = text.find("Domain-0   share").unwrap();
    let row: Vec<&str> = text[row..].split_whitespace().take(16).collect();
    let row = row.join(" ");
    assert!(
        row.contains(" agrees ") && row.contains("% ± 1 point"),
        "{text}"
    );
    assert!(
        text.contains("cannot tell  ") && text.contains("not judged  "),
        "{text}"
    );
    assert!(text.starts_with("1 of 1 recordings agree\n"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

/// Makes `folder/NAME`, a recording of a host with `pcpus` and two guests under credit2, which the
/// model recorded itself.
fn recorded_on(folder: &TempDir, name: &str, pcpus: u16) {
    let text = format!(
        "run.duration_s = 5\nrun.warmup_s = 1\nhost.profile = \"xen-4.17-emulated\"\n\
         host.cores = {pcpus}\nscheduler.policy = \"credit2\"\nscheduler.runqueue = \"all\"\n\
         [[domain]]\nname = \"a\"\n{BURN}[[domain]]\nname = \"b\"\n{BURN}\
         [[domain]]\nname = \"c\"\n{BURN}[[domain]]\nname = \"p\"\n{}",
        P.1
    );
    fs::write(folder.path().join("s.toml"), text).unwrap();
    fs::create_dir_all(folder.path().join(name)).unwrap();
    let run = ["run", "s.toml", "--trace", "t.domio", "--json"];
    let told = json_of(folder, &run);
    let output = format!("{name}/trace.bin");
    let convert = [
        "trace", "convert", "t.domio", "--to", "xentrace", "--output", &output,
    ];
    domio(folder).args(convert).assert().success();
    let domain = |d: &Value| {
        let workload = if d["name"] == "p" { "replay" } else { "burn" };
        json!({ "id": d["id"], "name": d["name"], "vcpus": 1, "weight": 256, "cap": 0,
                "workload": workload })
    };
    let domains: Vec<Value> = told["domains"]
        .as_array()
        .unwrap()
        .iter()
        .map(domain)
        .collect();
    let description = json!({
        "xen": "4.17.7", "scheduler": "credit2", "pcpus": pcpus, "tsc_hz": 1_000_000_000,
        "params": { "ratelimit_us": 1000 }, "domains": domains,
    });
    fs::write(
        folder.path().join(name).join("scenario.json"),
        description.to_string(),
    )
    .unwrap();
}

/// On several pcpus shares alone have a limit: all else is shown, and nobody can tell.
#[test]
fn on_several_pcpus_nobody_can_tell_of_switches() {
    let folder = folder();
    recorded_on(&folder, "two", 2);
    let told = json_of(&folder, &["validate", "two", "--json"]);
    assert_eq!(
        told["summary"],
        json!({ "agree": 1, "differ": 0, "cannot_tell": 0 })
    );
    let domains = told["traces"][0]["domains"].as_array().unwrap();
    let of = |name: &str| domains.iter().find(|d| d["name"] == name).unwrap();
    assert_eq!(figure(of("a"), "share")["verdict"], "agrees");
    assert_eq!(figure(of("a"), "share")["limit"]["sum"], 3.0);
    // 0.5 % of a pcpu within 3 points either side.
    assert_eq!(figure(of("p"), "share")["verdict"], "cannot_tell");
    for domain in domains {
        let switches = figure(domain, "switches_per_s");
        assert_eq!(switches["verdict"], "cannot_tell", "{domain}");
        assert!(switches["why"].as_str().unwrap().contains("several pcpus"));
        assert_eq!(switches["accepted"], Value::Null);
    }
    assert_eq!(of("p")["verdict"], "cannot_tell");
    domio(&folder)
        .args(["validate", "two"])
        .assert()
        .success()
        .stdout(contains("1/s: no limit is known on several pcpus"))
        .stdout(contains("two: agrees; "))
        .stdout(contains("cannot be decided"));
}
