//! The command line as its users see it: output, streams, exit status, help.

use crate::common::{domio, folder, json, json_of};
use predicates::prelude::*;
use predicates::str::{contains, is_empty, starts_with};
use serde_json::Value;

const SHORT: [&str; 4] = ["--set", "run.duration_s=1", "--set", "run.warmup_s=0"];

#[test]
fn every_help_text() {
    let folder = folder();
    let commands: [&[&str]; 40] = [
        &[],
        &["demo"],
        &["reproduce"],
        &["claim"],
        &["claim", "list"],
        &["claim", "show"],
        &["run"],
        &["compare"],
        &["sweep"],
        &["results"],
        &["results", "list"],
        &["results", "show"],
        &["results", "diff"],
        &["results", "prune"],
        &["trace"],
        &["trace", "summary"],
        &["trace", "convert"],
        &["trace", "check"],
        &["trace", "replay"],
        &["trace", "compare"],
        &["validate"],
        &["policy"],
        &["policy", "list"],
        &["policy", "show"],
        &["policy", "check"],
        &["controller"],
        &["controller", "list"],
        &["controller", "show"],
        &["elevator"],
        &["elevator", "list"],
        &["elevator", "show"],
        &["elevator", "replay"],
        &["scenario"],
        &["scenario", "check"],
        &["scenario", "schema"],
        &["scenario", "list"],
        &["scenario", "show"],
        &["schema"],
        &["completions"],
        &["man"],
    ];
    let mut all = String::new();
    for command in commands {
        let assert = domio(&folder)
            .args(command)
            .arg("--help")
            .assert()
            .success();
        let text = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
        let words = [&["domio"], command, &["--help"]].concat().join(" ");
        all += &format!("$ {words}\n{text}\n");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn the_help_command_prints_the_help_of_every_command() {
    let folder = folder();
    let stdout = |args: &[&str]| {
        let assert = domio(&folder).args(args).assert().success();
        assert.get_output().stdout.clone()
    };
    let commands: [&[&str]; 5] = [
        &[],
        &["run"],
        &["trace"],
        &["trace", "summary"],
        &["scenario", "show"],
    ];
    for command in commands {
        let help = stdout(&[command, &["--help"]].concat());
        assert!(
            stdout(&[&["help"], command].concat()) == help,
            "{command:?}"
        );
        if let [group, command] = command {
            assert!(stdout(&[group, "help", command]) == help, "{command}");
        }
    }
    assert!(stdout(&["trace", "help"]) == stdout(&["trace", "--help"]));
    domio(&folder)
        .args(["help", "fly"])
        .assert()
        .code(2)
        .stderr(contains("unrecognized subcommand 'fly'"));
}

#[test]
fn wrong_usage_is_2_and_told_on_standard_error() {
    let folder = folder();
    let wrong: [&[&str]; 8] = [
        &["reproduce", "--all", "--claims", "claims.toml"],
        &["fly"],
        &["run"],
        &["run", "burn7", "--replications", "0"],
        &["run", "burn7", "--set", "nonsense"],
        &["compare", "burn7", "--policy", "credit"],
        &["policy", "show", "credt"],
        &["scenario", "show", "burn8"],
    ];
    for args in wrong {
        let assert = domio(&folder).args(args).assert().code(2);
        assert.stdout(is_empty()).stderr(is_empty().not());
    }
}

/// `-V` is for people and programs that want the version alone, `--version` says what was built.
#[test]
fn the_version_says_what_was_built() {
    let folder = folder();
    let said = |option| {
        let assert = domio(&folder).arg(option).assert().success();
        String::from_utf8(assert.get_output().stdout.clone()).unwrap()
    };
    let version = format!("domio {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(said("-V"), version);
    let long = said("--version");
    let build = long
        .strip_prefix(&version)
        .expect("the version comes first");
    let facts: Vec<(&str, &str)> = build
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, fact)| (name, fact.trim()))
        .collect();
    let names: Vec<&str> = facts.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["program", "commit", "profile", "target"], "{long}");
    let is_hash = |text: &str| text.len() >= 7 && text.chars().all(|c| c.is_ascii_hexdigit());
    let program = facts[0].1.split_once('+').expect("a version and a hash");
    assert_eq!(program.0, env!("CARGO_PKG_VERSION"));
    assert!(is_hash(program.1), "{long}");
    let is_release = facts[2].1 == "release";
    assert!(is_release || facts[2].1 == "debug", "{long}");
    let unknown = match is_release {
        true => "unknown: not built from a checkout",
        false => "unknown: not built for release",
    };
    let commit = facts[1].1;
    let is_commit = is_release && is_hash(commit.split([' ', ',', '+']).next().unwrap());
    assert!(commit == unknown || is_commit, "{long}");
    assert!(facts[3].1.contains(std::env::consts::ARCH), "{long}");
}

#[test]
fn errors_say_what_to_do_next() {
    let folder = folder();
    let told: [(&[&str], &str); 7] = [
        (
            &["reproduce", "--all", "--claims", "claims.toml"],
            "the argument '--all' cannot be used with '--claims <FILE>'",
        ),
        (
            &["policy", "show", "credt"],
            "error: no policy is called \"credt\"; near matches: credit",
        ),
        (
            &["policy", "show", "credt"],
            "`domio policy list` lists them",
        ),
        (
            &["reproduce", "ongaro.tets1"],
            "error: no claim starts with \"ongaro.tets1\"; near matches: ongaro.test1",
        ),
        (
            &["run", "burn8"],
            "near matches: burn7; `domio scenario list`",
        ),
        (
            &["trace", "check", "absent"],
            "error: cannot read the trace absent",
        ),
        (
            &["run", "burn7", "--set", "scheduler.tslice_ms=0"],
            "expected 1 to 1000",
        ),
    ];
    for (args, text) in told {
        domio(&folder)
            .args(args)
            .assert()
            .code(2)
            .stderr(contains(text));
    }
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let folder = folder();
    let escape = contains("\u{1b}[");
    let list = |extra: &[&str]| {
        let mut command = domio(&folder);
        command.args(["policy", "list"]).args(extra);
        command
    };
    list(&[]).assert().success().stdout(escape.clone().not());
    list(&["--color", "always"])
        .assert()
        .success()
        .stdout(escape.clone());
    list(&["--color", "never"])
        .assert()
        .success()
        .stdout(escape.clone().not());
    let mut forced = list(&[]);
    forced.env("CLICOLOR_FORCE", "1");
    forced.assert().success().stdout(escape.clone());
    forced.env("NO_COLOR", "1");
    forced.assert().success().stdout(escape.not());
}

#[test]
fn policies_are_listed_and_shown() {
    let folder = folder();
    let list = json_of(&folder, &["policy", "list", "--json"]);
    let names: Vec<&str> = list["policies"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|p| p["name"].as_str())
        .collect();
    assert!(
        names.contains(&"round-robin") && names.contains(&"null"),
        "{names:?}"
    );
    for name in names {
        domio(&folder)
            .args(["policy", "show", name])
            .assert()
            .success()
            .stdout(starts_with(format!("{name}: ")));
    }
    let shown = json_of(&folder, &["policy", "show", "round-robin", "--json"]);
    assert_eq!(shown["params"][0]["name"], "tslice_ms");
    assert_eq!(shown["params"][0]["default"], 30);
}

#[test]
fn scenarios_are_listed_shown_and_checked() {
    let folder = folder();
    let list = json_of(&folder, &["scenario", "list", "--json"]);
    let first = list["scenarios"][0]["name"].as_str().unwrap();
    let shown = domio(&folder)
        .args(["scenario", "show", first])
        .assert()
        .success();
    std::fs::write(folder.path().join("a.toml"), &shown.get_output().stdout).unwrap();
    domio(&folder)
        .args(["scenario", "check", "a.toml"])
        .assert()
        .success()
        .stdout("a.toml: valid\n");
    std::fs::write(folder.path().join("b.toml"), "[run]\nduration_s = -1\n").unwrap();
    domio(&folder)
        .args(["scenario", "check", "a.toml", "b.toml"])
        .assert()
        .code(1)
        .stdout(contains("a.toml: valid").and(contains("b.toml:2:")));
    let both = domio(&folder)
        .args(["scenario", "check", "a.toml", "b.toml", "--json"])
        .assert()
        .code(1);
    let both = &json(&both.get_output().stdout)["scenarios"];
    assert_eq!(
        (&both[0]["valid"], &both[1]["valid"]),
        (&true.into(), &false.into())
    );
    assert!(both[1]["errors"][0]["line"].is_u64());
    // What cannot be read outweighs a mistake, before and after it, and hides nothing.
    std::fs::create_dir(folder.path().join("dir.toml")).unwrap();
    for unread in ["nope.toml", "dir.toml"] {
        for files in [vec![unread], vec!["b.toml", unread], vec![unread, "b.toml"]] {
            let has_mistake = files.contains(&"b.toml");
            domio(&folder)
                .args(["scenario", "check"])
                .args(&files)
                .assert()
                .code(2)
                .stderr(contains("cannot be read").and(contains(unread)))
                .stdout(contains("b.toml:2:").count(usize::from(has_mistake)));
            let listed = domio(&folder)
                .args(["scenario", "check", "--json"])
                .args(&files)
                .assert()
                .code(2);
            let listed = json(&listed.get_output().stdout);
            assert_eq!(
                listed["scenarios"].as_array().map(Vec::len),
                Some(files.len())
            );
        }
    }
    // A file comes before the shipped scenario of its name, as everywhere.
    domio(&folder)
        .args(["scenario", "check", "burn7"])
        .assert()
        .success()
        .stdout("burn7: valid\n");
    std::fs::write(folder.path().join("burn7"), "[run]\nduration_s = -1\n").unwrap();
    domio(&folder)
        .args(["scenario", "check", "burn7"])
        .assert()
        .code(1);
    let schema = json_of(&folder, &["scenario", "schema"]);
    assert!(schema["properties"]["run"].is_object());
}

#[test]
fn a_run_prints_measures_and_writes_what_it_is_asked_for() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("r")).unwrap();
    domio(&folder)
        .args(["run", "burn7", "--policy", "round-robin"])
        .args(SHORT)
        .args([
            "--trace",
            "t.domio",
            "--perfetto",
            "t.pftrace",
            "--report",
            "r/r.html",
        ])
        .assert()
        .success()
        .stdout(contains("share").and(contains("g7")))
        .stderr(contains("wrote t.domio").and(contains("wrote t.pftrace")))
        .stderr(contains("wrote r/r.html"));
    let page = std::fs::read_to_string(folder.path().join("r/r.html")).unwrap();
    for part in [
        "Timeline of runstates",
        "Distribution of run",
        "run.duration_s",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    let summary = json_of(&folder, &["trace", "summary", "t.domio", "--json"]);
    assert_eq!(summary["seconds"], 1.0);
    assert!(folder.path().join("t.pftrace").metadata().unwrap().len() > 1000);
}

#[test]
fn networks_are_shown_where_there_are_any() {
    let folder = folder();
    let network = contains("delivered").or(contains("round trip"));
    let short = ["--set", "run.duration_s=1"];
    domio(&folder)
        .args(["run", "burn7"])
        .args(short)
        .assert()
        .success()
        .stdout(network.not());
    let run = ["run", "driver-domain-streams", "--trace", "t.domio"];
    domio(&folder)
        .args(run)
        .args(short)
        .args(["--report", "r.html"])
        .assert()
        .success()
        .stdout(contains("delivered").and(contains("[Mb/s]")))
        .stdout(contains("round trip").not());
    let page = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(page.contains("delivered [Mb/s]") && !page.contains("round trip"));
    domio(&folder)
        .args(["trace", "summary", "t.domio"])
        .assert()
        .success()
        .stdout(contains("delivered").and(contains("stream1")));
    let compare = ["compare", "ping-among-burners", "--policy", "credit"];
    let args = [&compare[..], &["--policy", "sedf"], &short].concat();
    domio(&folder)
        .args(&args)
        .assert()
        .success()
        .stdout(contains("round trip, p95\n").and(contains("pings answered")))
        .stdout(contains("delivered").not());
    let value = json_of(&folder, &[&args[..], &["--json"]].concat());
    let measures = value["measures"].as_array().unwrap().iter();
    let found: std::collections::BTreeSet<&str> = measures
        .filter_map(|m| m["measure"].as_str().filter(|m| m.starts_with("ping")))
        .collect();
    assert_eq!(found.len(), 6, "{found:?}");
}

#[test]
fn a_run_repeats_itself() {
    let folder = folder();
    let args = [
        "run",
        "burn7",
        "--replications",
        "2",
        "--seed",
        "5",
        "--json",
    ];
    let args: Vec<&str> = args.into_iter().chain(SHORT).collect();
    let first = json_of(&folder, &args);
    assert_eq!(first, json_of(&folder, &args));
    assert_eq!(first["seed"], 5);
    let shares = first["domains"].as_array().unwrap().iter();
    let sum: f64 = shares
        .map(|d| d["share_pct"]["mean"].as_f64().unwrap())
        .sum();
    assert!((99.0..=100.01).contains(&sum), "{sum}");
    assert!(first["domains"][0]["share_pct"]["ci95"].is_array());
}

#[test]
fn policies_are_compared_on_the_same_streams() {
    let folder = folder();
    let args = [
        "compare",
        "burn7",
        "--policy",
        "round-robin",
        "--policy",
        "null",
    ];
    let plain: Vec<&str> = args.into_iter().chain(SHORT).collect();
    domio(&folder)
        .args(&plain)
        .args(["--report", "c.html"])
        .assert()
        .success()
        .stdout(contains("share [% of one pcpu]").and(contains("null")));
    assert!(folder.path().join("c.html").exists());
    let value = json_of(&folder, &[plain.as_slice(), &["--json"]].concat());
    let share = |variant: &str| {
        let mut rows = value["measures"].as_array().unwrap().iter();
        let row = rows.rfind(|r| r["measure"] == "share_pct" && r["variant"] == variant);
        row.unwrap()["mean"]["mean"].as_f64().unwrap()
    };
    assert!(share("round-robin") > 10.0, "it serves the last guest");
    assert_eq!(share("null"), 0.0, "it serves the first guest alone");
}

#[test]
fn traces_are_converted_and_checked() {
    let folder = folder();
    domio(&folder)
        .args([
            "run",
            "burn7",
            "--policy",
            "round-robin",
            "--trace",
            "t.domio",
        ])
        .args(SHORT)
        .assert()
        .success();
    for (format, file) in [
        ("xentrace", "t.bin"),
        ("perfetto", "t.pf"),
        ("csv", "t.csv"),
        ("csv-records", "t.records.csv"),
        ("parquet", "t.parquet"),
        // What domio made is made again.
        ("parquet", "t.parquet"),
    ] {
        domio(&folder)
            .args([
                "trace", "convert", "t.domio", "--to", format, "--output", file,
            ])
            .assert()
            .success()
            .stdout(is_empty());
        assert!(
            folder.path().join(file).metadata().unwrap().len() > 500,
            "{file}"
        );
    }
    let parquet = std::fs::read(folder.path().join("t.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    let heads = std::fs::read_to_string(folder.path().join("t.records.csv")).unwrap();
    let heads = heads.lines().next().unwrap().to_owned();
    for name in heads.split(',').chain(["scenario_sha256", "round-robin"]) {
        let has = |part: &[u8]| part == name.as_bytes();
        assert!(parquet.windows(name.len()).any(has), "{name} in the footer");
    }
    let piped = domio(&folder)
        .args(["trace", "convert", "t.bin", "--to", "own"])
        .assert()
        .success();
    assert!(piped.get_output().stdout.starts_with(b"\x89domio"));
    let back = json_of(&folder, &["trace", "summary", "t.bin", "--json"]);
    let own = json_of(&folder, &["trace", "summary", "t.domio", "--json"]);
    let running = |v: &Value| v["domains"][0]["running_ns"].clone();
    assert_eq!(running(&back), running(&own));
    let checked = domio(&folder)
        .args(["trace", "check", "t.domio", "--json"])
        .assert();
    let report = json(&checked.get_output().stdout);
    let code = checked.get_output().status.code();
    assert_eq!(code, Some(i32::from(report["clean"] != true)), "{report}");
    let mut bytes = std::fs::read(folder.path().join("t.domio")).unwrap();
    bytes.truncate(bytes.len() - 20);
    std::fs::write(folder.path().join("cut.domio"), bytes).unwrap();
    domio(&folder)
        .args(["trace", "check", "cut.domio"])
        .assert()
        .code(1)
        .stderr(contains("warning: cut.domio: at byte"));
    std::fs::write(folder.path().join("text"), "no trace at all, but some text").unwrap();
    domio(&folder)
        .args(["trace", "summary", "text"])
        .assert()
        .code(2)
        .stderr(contains("not a trace"));
}

/// Lines fit into what COLUMNS says, and a table says what it had no room for.
#[test]
fn tables_fit_their_width() {
    let folder = folder();
    let run = |columns: &str, more: &[&str]| {
        let run = domio(&folder)
            .args(["run", "small-host", "--set", "run.duration_s=1"])
            .args(more)
            .env("COLUMNS", columns)
            .assert()
            .success();
        String::from_utf8(run.get_output().stdout.clone()).unwrap()
    };
    for (columns, most) in [("80", 80), ("120", 120), ("9999", 200), ("rubbish", 200)] {
        let text = run(columns, &[]);
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(most), "{columns}: {text}");
    }
    let many = run("80", &["--replications", "2"]);
    assert!(many.contains("no room for"), "{many}");
    let two = run("80", &["--columns", "share,wake 95,turnaround 95"]);
    let head = two.lines().next().unwrap();
    assert!(
        head.contains("share") && !head.contains("switches"),
        "{two}"
    );
    assert!(two.contains("p95") && !two.contains("p99"), "{two}");
    assert!(!two.contains("no room for"), "{two}");
    let names = |sort: &str| {
        let text = run("200", &["--sort", sort]);
        let rows = text
            .lines()
            .skip_while(|line| !line.starts_with('─'))
            .skip(1);
        let rows = rows.map_while(|line| line.split_whitespace().next().map(str::to_owned));
        rows.collect::<Vec<_>>()
    };
    let (most, least) = (names("share"), names("share:asc"));
    assert!(most.len() > 2, "{most:?}");
    assert_eq!(most, least.into_iter().rev().collect::<Vec<_>>());
}
