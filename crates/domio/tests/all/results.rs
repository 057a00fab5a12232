//! Results that are kept: taken from there, told, compared, and never a wrong one.

use crate::common::{domio, folder, json as parse, json_of};
use domio_lab::store::Store;
use predicates::prelude::*;
use predicates::str::{contains, ends_with, is_empty};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const SHORT: [&str; 4] = ["--set", "run.duration_s=1", "--set", "run.warmup_s=0"];
const DEBIT: [&str; 4] = ["reproduce", "ongaro.debit", "--replications", "2"];
/// Replications of the experiments that the claim reads.
const DEBIT_RUNS: usize = 10;

pub(crate) fn store(folder: &TempDir) -> PathBuf {
    folder.path().join("out/results.sqlite")
}

/// Standard output and standard error of a command that succeeds; without what policies leave out.
pub(crate) fn run(folder: &TempDir, args: &[&str]) -> (Vec<u8>, String) {
    let assert = domio(folder).args(args).assert().success();
    let output = assert.get_output();
    let told = String::from_utf8_lossy(&output.stderr);
    let told = told.lines().filter(|line| !line.contains("is left out"));
    let told = told.map(|line| format!("{line}\n")).collect();
    (output.stdout.clone(), told)
}

/// Changes the file of results as another program might have left it.
fn change(path: &Path, sql: &str) -> usize {
    let db = rusqlite::Connection::open(path).unwrap();
    db.execute(sql, []).unwrap()
}

#[test]
fn a_repetition_takes_all_from_before_and_gives_the_same_bytes() {
    let folder = folder();
    let args = [&DEBIT[..], &["--json"]].concat();
    let (fresh, told) = run(&folder, &args);
    assert!(!told.contains("took"), "{told}");
    let page = fs::read(folder.path().join("out/reproduce-ongaro.debit.html")).unwrap();
    let (again, told) = run(&folder, &args);
    let took = format!("took {DEBIT_RUNS} replications from out/results.sqlite");
    assert!(told.contains(&took), "{told}");
    assert!(fresh == again);
    let same = fs::read(folder.path().join("out/reproduce-ongaro.debit.html")).unwrap();
    assert!(
        page == same,
        "a report does not tell where its samples are from"
    );
    // Another seed is another sample; more replications are those and some more.
    let (_, told) = run(&folder, &[&args[..], &["--seed", "2"]].concat());
    assert!(!told.contains("took"), "{told}");
    let more = ["reproduce", "ongaro.debit", "--replications", "3"];
    let (_, told) = run(&folder, &more);
    assert!(told.contains(&took), "{told}");
    let (without, told) = run(&folder, &[&args[..], &["--no-results"]].concat());
    assert!(without == fresh && !told.contains("took"), "{told}");
}

#[test]
fn comparisons_and_runs_share_what_is_kept() {
    let folder = folder();
    let compare = [
        "compare",
        "burn7",
        "--policy",
        "credit",
        "--policy",
        "round-robin",
    ];
    let compare = [&compare[..], &["--replications", "2", "--json"], &SHORT].concat();
    let (fresh, _) = run(&folder, &compare);
    let (again, told) = run(&folder, &compare);
    assert_eq!(told, "took 4 replications from out/results.sqlite\n");
    assert!(fresh == again);
    // The policy comes first among the changes, as in the comparison.
    let alone = [
        "run",
        "burn7",
        "--policy",
        "round-robin",
        "--replications",
        "3",
    ];
    let alone = [&alone[..], &["--json"], &SHORT].concat();
    let (kept, told) = run(&folder, &alone);
    assert_eq!(told, "took 2 replications from out/results.sqlite\n");
    let (without, _) = run(&folder, &[&alone[..], &["--no-results"]].concat());
    assert!(kept == without);
    // What is drawn is simulated.
    let (_, told) = run(&folder, &[&alone[..], &["--report"]].concat());
    assert_eq!(
        told,
        "took 2 replications from out/results.sqlite\nwrote out/run-burn7.html\n"
    );
    // A scenario that was edited is another one.
    let text = run(&folder, &["scenario", "show", "burn7"]).0;
    let edited = |more: &str| {
        let text = [&text[..], more.as_bytes()].concat();
        fs::write(folder.path().join("mine.toml"), text).unwrap();
        let mine = ["run", "mine.toml", "--replications", "2"];
        run(&folder, &[&mine[..], &SHORT].concat()).1
    };
    assert_eq!(edited(""), "");
    assert!(edited("").contains("took 2 replications"));
    assert_eq!(edited("# other bytes\n"), "");
}

#[test]
fn one_run_without_a_file_of_results_leaves_none() {
    let folder = folder();
    run(&folder, &[&["run", "burn7"][..], &SHORT].concat());
    assert!(!folder.path().join("out").exists());
    let named = ["run", "burn7", "--results", "mine.sqlite"];
    let named = [&named[..], &SHORT].concat();
    run(&folder, &named);
    let (_, told) = run(&folder, &named);
    assert_eq!(told, "took 1 replication from mine.sqlite\n");
}

#[test]
fn a_file_of_something_else_is_told_of_and_left_alone() {
    let folder = folder();
    fs::create_dir(folder.path().join("out")).unwrap();
    fs::write(
        store(&folder),
        "a letter to somebody, not results of simulations",
    )
    .unwrap();
    let (stdout, told) = run(&folder, &DEBIT);
    for part in [
        "notice: out/results.sqlite: it is not a file of results",
        "move it away, or name another file with --results",
        "nothing is taken from it, and nothing kept",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let letter = fs::read_to_string(store(&folder)).unwrap();
    assert!(letter.starts_with("a letter"));
    let (plain, _) = run(&folder, &[&DEBIT[..], &["--no-results"]].concat());
    assert!(stdout == plain);
    // Whoever names a file means it.
    domio(&folder)
        .args(DEBIT)
        .args(["--results", "out/results.sqlite"])
        .assert()
        .code(2)
        .stdout(is_empty())
        .stderr(contains("error: out/results.sqlite: it is not a file"));
    domio(&folder)
        .args(["results", "list"])
        .assert()
        .code(2)
        .stderr(contains("it is not a file of results"));
    domio(&folder)
        .args(["results", "list", "--results", "none.sqlite"])
        .assert()
        .code(2)
        .stderr(contains("none.sqlite: there is no such file"));
}

#[test]
fn damage_costs_time_and_no_figure() {
    let folder = folder();
    let args = [&DEBIT[..], &["--json"]].concat();
    let (fresh, _) = run(&folder, &args);
    let damaged = "UPDATE samples SET figures = zeroblob(length(figures)) WHERE replication = 0";
    assert_eq!(change(&store(&folder), damaged), DEBIT_RUNS / 2);
    let (again, told) = run(&folder, &args);
    assert!(told.contains("took 5 replications"), "{told}");
    assert!(fresh == again);
    let (_, told) = run(&folder, &args);
    assert!(told.contains("took 10 replications"), "mended: {told}");
    // A page in the middle is gone: whatever SQLite makes of that, the figures are the same.
    let mut bytes = fs::read(store(&folder)).unwrap();
    let page = bytes.len() / 2 / 4096 * 4096;
    bytes[page..page + 4096].fill(0x5a);
    fs::write(store(&folder), &bytes).unwrap();
    let (again, _) = run(&folder, &args);
    assert!(fresh == again);
}

#[test]
fn what_is_kept_is_listed_and_shown() {
    let folder = folder();
    run(&folder, &DEBIT);
    let list = json_of(&folder, &["results", "list", "--json"]);
    let list = list["results"].as_array().unwrap();
    assert_eq!(list.len(), DEBIT_RUNS / 2);
    let program = list[0]["program"].as_str().unwrap();
    assert!(program.starts_with(env!("CARGO_PKG_VERSION")), "{program}");
    for held in list {
        assert_eq!(held["replications"], 2);
        assert_eq!(held["is_this_program"], true);
        assert!(held["bytes"].as_u64() > Some(0) && held["took_s"].as_f64() > Some(0.0));
    }
    let caught = "ongaro.debit.9ms-caught";
    domio(&folder)
        .args(["results", "list", "--long"])
        .assert()
        .success()
        .stdout(contains("this program").and(contains(caught)));
    domio(&folder)
        .args(["results", "list"])
        .assert()
        .success()
        .stdout(contains("ongaro.debit ").and(contains(caught).not()))
        .stdout(contains("out/results.sqlite takes ").and(contains("domio results prune")));
    let two = json_of(&folder, &["results", "list", caught, "--json"]);
    assert_eq!(
        two["results"].as_array().unwrap().len(),
        2,
        "and the one with exact debit"
    );
    let shown = json_of(&folder, &["results", "show", caught, "--json"]);
    let figures = shown["results"][0]["figures"].as_object().unwrap();
    assert!(!figures.is_empty());
    assert!(
        figures.values().all(|figure| figure["n"] == 2),
        "{figures:?}"
    );
    domio(&folder)
        .args(["results", "show", caught])
        .assert()
        .success()
        .stdout(contains(caught).and(contains("mean and 95 %")));
    domio(&folder)
        .args(["results", "show", "ongaro.debit.9ms-cauhgt"])
        .assert()
        .code(2)
        .stderr(contains("near matches: ongaro.debit.9ms-caught"));
}

/// Keeps all that is kept as if another program had made it, with all figures of replication 0
/// under the name `figure` doubled.
fn age(folder: &TempDir, program: &str, figure: &str) {
    let path = store(folder);
    let store = Store::existing(&path, program).unwrap();
    for held in store.held().unwrap() {
        for (n, mut sample) in store.samples(&held).unwrap() {
            match sample.get(figure) {
                Some(value) if n == 0 => sample.set(figure, value * 2.0),
                _ => {}
            }
            let took = Duration::from_millis(1);
            store
                .keep(&held.subject, held.seed, n, &sample, took)
                .unwrap();
        }
    }
}

#[test]
fn two_programs_are_compared_figure_by_figure() {
    let folder = folder();
    run(&folder, &DEBIT);
    domio(&folder)
        .args(["results", "diff"])
        .assert()
        .code(2)
        .stderr(contains("fewer than two programs"));
    let shown = json_of(
        &folder,
        &["results", "show", "ongaro.debit.9ms-caught", "--json"],
    );
    let figures = shown["results"][0]["figures"].as_object().unwrap();
    let figure = figures.keys().next().unwrap();
    age(&folder, "0.0.9+feed", figure);
    let diff = ["results", "diff", "0.0.9", "0.1.0"];
    let value = json_of(&folder, &[&diff[..], &["--json"]].concat());
    // Each of the five experiments has the figure.
    let moved = value["moved"].as_array().unwrap();
    assert_eq!(moved.len(), DEBIT_RUNS / 2);
    assert!(moved.iter().all(|moved| moved["figure"] == figure.as_str()));
    assert!(value["same"].as_u64() > Some(0));
    let mean = |moved: &Value, side: &str| moved[side]["mean"].as_f64().unwrap();
    for moved in moved {
        // Doubled in one of two.
        assert!(mean(moved, "before") > mean(moved, "after"), "{moved}");
    }
    domio(&folder)
        .args(diff)
        .assert()
        .success()
        .stdout(contains("5 figures moved").and(contains("0.0.9+feed")));
    // A file against a file is the same, and the sides have to be there.
    fs::copy(store(&folder), folder.path().join("old.sqlite")).unwrap();
    let files = [
        "results",
        "diff",
        "old.sqlite",
        "out/results.sqlite",
        "--json",
    ];
    assert_eq!(json_of(&folder, &files)["moved"], json!([]));
    domio(&folder)
        .args(["results", "diff", "0.0.8", "0.1.0"])
        .assert()
        .code(2)
        .stderr(contains("no program with results is called \"0.0.8\""));
    // Only this program's results survive.
    let pruned = json_of(&folder, &["results", "prune", "--json"]);
    assert_eq!(pruned["removed"], DEBIT_RUNS);
    let list = json_of(&folder, &["results", "list", "--json"]);
    assert_eq!(list["results"].as_array().unwrap().len(), DEBIT_RUNS / 2);
}

#[test]
fn a_reproduction_tells_what_moved_since_another() {
    let folder = folder();
    let json_args = [&DEBIT[..], &["--json"]].concat();
    let (ledger, _) = run(&folder, &json_args);
    let at = |name: &str| folder.path().join(name);
    fs::write(at("before.json"), &ledger).unwrap();
    let against = |baseline: &str| {
        let value = json_of(
            &folder,
            &[&json_args[..], &["--against", baseline]].concat(),
        );
        // The ledger is the same with a baseline and without.
        assert_eq!(value["claims"], parse(&ledger)["claims"]);
        value["against"].clone()
    };
    let same = json!({ "same": 1, "verdicts": [], "figures": [], "missing": [] });
    assert_eq!(against("before.json"), same);
    assert_eq!(against("out/results.sqlite"), same);
    let mut other = parse(&ledger);
    let verdict = other["claims"][0]["verdict"].clone();
    other["claims"][0]["verdict"] = json!("undecided");
    fs::write(at("other.json"), other.to_string()).unwrap();
    let moved = against("other.json");
    assert_eq!(moved["verdicts"][0]["before"]["verdict"], "undecided");
    assert_eq!(moved["verdicts"][0]["after"]["verdict"], verdict);
    domio(&folder)
        .args(DEBIT)
        .args(["--against", "other.json"])
        .assert()
        .success()
        .stdout(contains("1 verdict moved"))
        .stdout(contains(format!(
            "undecided to {}",
            verdict.as_str().unwrap()
        )));
    // A program that measured something else: today's checks decide its samples.
    let shown = ["results", "show", "ongaro.debit.9ms-caught", "--json"];
    let shown = json_of(&folder, &shown);
    for figure in shown["results"][0]["figures"].as_object().unwrap().keys() {
        age(&folder, &format!("0.0.9+{}", figure.len()), figure);
    }
    let programs = json_of(&folder, &["results", "list", "--json"]);
    let programs = programs["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|h| &h["program"]);
    let programs: BTreeSet<&str> = programs.filter_map(Value::as_str).collect();
    let moved = programs.iter().map(|program| against(program));
    assert!(moved.filter(|m| m["same"] == 0).count() > 0, "{programs:?}");
    // What is no baseline is refused before anything runs.
    fs::write(at("letter"), "Dear all").unwrap();
    for (baseline, why) in [
        ("letter", "letter is no baseline: it is no JSON"),
        (
            "nothing",
            "no file and no program with results is called \"nothing\"",
        ),
    ] {
        domio(&folder)
            .args(DEBIT)
            .args(["--against", baseline])
            .assert()
            .code(2)
            .stdout(is_empty())
            .stderr(contains(why));
    }
}

#[test]
fn a_report_is_written_over_only_by_the_same_command() {
    let folder = folder();
    let run = |more: &[&str]| {
        let args = [&["run", "burn7"][..], &SHORT, more].concat();
        let assert = domio(&folder).args(args).assert();
        let output = assert.get_output();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap(), told)
    };
    let wrote = |name: &str| (0, format!("wrote {name}\n"));
    assert_eq!(run(&["--report"]), wrote("out/run-burn7.html"));
    assert_eq!(run(&["--report"]), wrote("out/run-burn7.html"));
    let seed = ["--seed", "5", "--report"];
    assert_eq!(run(&seed), wrote("out/run-burn7-2.html"));
    assert_eq!(run(&seed), wrote("out/run-burn7-2.html"));
    let named = ["--seed", "5", "--report", "out/run-burn7.html"];
    let before = fs::read(folder.path().join(named[3])).unwrap();
    let (code, told) = run(&named);
    assert_eq!(code, 2);
    let why = "out/run-burn7.html is there already, and is no report of `domio run burn7 --set";
    assert!(told.contains(why) && told.contains("--force"), "{told}");
    assert!(fs::read(folder.path().join(named[3])).unwrap() == before);
    let forced = [&named[..], &["--force"]].concat();
    assert_eq!(run(&forced), wrote("out/run-burn7.html"));
    fs::write(folder.path().join("letter"), "Dear all").unwrap();
    let (code, _) = run(&["--report", "letter"]);
    let letter = fs::read_to_string(folder.path().join("letter")).unwrap();
    assert_eq!((code, letter.as_str()), (2, "Dear all"));
    let compare = ["compare", "burn7", "--policy", "null", "--policy", "credit"];
    domio(&folder)
        .args([&compare[..], &SHORT, &["--report"]].concat())
        .assert()
        .success()
        .stderr(ends_with("wrote out/compare-burn7.html\n"));
}

/// Allocations and measurements are taken from the file like replications, with the same output.
#[test]
fn allocations_and_measurements_are_kept() {
    let folder = folder();
    let alert = [
        "alert",
        "--policy",
        "credit",
        "--duration",
        "10",
        "--cap-range",
    ];
    let short = ["--set", "run.duration_ms=300", "--json"];
    let calibrate = [&["calibrate"][..], &short].concat();
    let took = |n: u32| format!("took {n} replications from out/results.sqlite\n");
    let first = [&alert[..], &["10,20"]].concat();
    let more = [&alert[..], &["10,20,30"]].concat();
    run(&folder, &first);
    let (_, told) = run(&folder, &more);
    assert_eq!(told, took(2));
    for (args, count) in [(&more, 3), (&calibrate, 0), (&calibrate, 44)] {
        let (kept, told) = run(&folder, args);
        assert_eq!(
            told,
            if count == 0 {
                String::new()
            } else {
                took(count)
            }
        );
        let (anew, _) = run(&folder, &[&args[..], &["--no-results"]].concat());
        assert!(kept == anew, "{args:?}");
    }
    // Another length is another measurement.
    let (_, told) = run(
        &folder,
        &[
            "alert",
            "--policy",
            "credit",
            "--duration",
            "11",
            "--cap-range",
            "10",
        ],
    );
    assert_eq!(told, "");
}

/// Explanations of scenarios are taken from the file like replications, with the same output.
#[test]
fn explanations_of_scenarios_are_kept() {
    let folder = folder();
    let took = |n: u32| match n {
        0 => String::new(),
        1 => "took 1 replication from out/results.sqlite\n".to_owned(),
        n => format!("took {n} replications from out/results.sqlite\n"),
    };
    // Packets and the work of a driver domain; vcpus alone.
    for (scenario, length) in [("driver-domain-streams", "300"), ("small-host", "2000")] {
        let length = format!("run.duration_ms={length}");
        let explain = ["explain", scenario, "--set", &length];
        let more = [&explain[..], &["--replications", "3"]].concat();
        let as_json = [&more[..], &["--json"]].concat();
        for (args, count) in [(&explain[..], 0), (&explain, 1), (&more, 1), (&as_json, 3)] {
            let (kept, told) = run(&folder, args);
            assert_eq!(told, took(count), "{args:?}");
            let (anew, told) = run(&folder, &[args, &["--no-results"]].concat());
            assert!(kept == anew && told.is_empty(), "{args:?}: {told}");
        }
        // Another policy and another seed are others.
        for other in [["--policy", "round-robin"], ["--seed", "2"]] {
            let (_, told) = run(&folder, &[&explain[..], &other].concat());
            assert_eq!(told, "");
        }
    }
    let (shown, _) = run(&folder, &["results", "show", "explain small-host"]);
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("d1v0.runnable_ns"), "{shown}");
    // A trace is explained anew.
    let trace = [
        "run",
        "small-host",
        "--set",
        "run.duration_s=1",
        "--trace",
        "t",
    ];
    run(&folder, &trace);
    for told in [
        run(&folder, &["explain", "t"]).1,
        run(&folder, &["explain", "t"]).1,
    ] {
        assert_eq!(told, "");
    }
    domio(&folder)
        .args(["explain", "t", "--results", "kept.sqlite"])
        .assert()
        .code(2)
        .stderr(contains("--results is of a scenario, and t is a trace"));
}
