//! What the command line says of inputs that do not fit: recordings whose description is of another
//! host, replays of traces that are not there, and seeds that are too large.

use crate::common::{domio, folder, json, json_of};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The folder of a recording.
fn recorded(name: &str) -> PathBuf {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
    all.join(name)
}

/// The folder of the shortest recording.
fn shortest() -> PathBuf {
    recorded("c1-cap30")
}

/// Puts the shortest recording into `folder`, its description changed by `change`.
fn recording(folder: &TempDir, change: impl Fn(&mut Value)) {
    let from = shortest();
    let text = fs::read(from.join("scenario.json")).unwrap();
    let mut description: Value = serde_json::from_slice(&text).unwrap();
    change(&mut description);
    let to = folder.path().join("r");
    fs::create_dir_all(&to).unwrap();
    fs::copy(from.join("trace.bin"), to.join("trace.bin")).unwrap();
    fs::write(to.join("scenario.json"), description.to_string()).unwrap();
}

/// A scenario that replays a guest of `trace`, which line 6 names.
fn replay(trace: &str) -> String {
    format!(
        "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
         workload = \"replay\"\ntrace = \"{trace}\"\ntrace_domain = 1\n"
    )
}

fn add(description: &mut Value, domain: Value) {
    description["domains"].as_array_mut().unwrap().push(domain);
}

#[test]
fn validate_refuses_a_description_of_another_host() {
    let folder = folder();
    let refuses = |words: &str, change: &dyn Fn(&mut Value)| {
        recording(&folder, change);
        let mut command = domio(&folder);
        let assert = command.args(["validate", "r"]).assert();
        let assert = assert.code(2).stdout("").stderr(contains(words));
        assert.stderr(contains("name a folder").not());
    };
    refuses("missing field `params`", &|d| {
        d.as_object_mut().unwrap().remove("params");
    });
    refuses(
        "ghost always computes (`burn`), but the trace has no record of d9v0",
        &|d| {
            add(d, json!({ "id": 9, "name": "ghost", "workload": "burn" }));
        },
    );
    refuses(
        "recorded on Xen \"3.4.0\"; expected a release number of 4.x",
        &|d| {
            d["xen"] = "3.4.0".into();
        },
    );
    refuses(
        "65536 vcpus of all domains, g1 alone 65535; expected 4096 at most",
        &|d| {
            d["domains"][1]["vcpus"] = 65535.into();
        },
    );
    refuses("257 pcpus; expected 1 to 256", &|d| {
        d["pcpus"] = 257.into();
    });
    refuses(
        "the trace shows d1v0, which scenario.json does not list",
        &|d| {
            d["domains"].as_array_mut().unwrap().pop();
        },
    );
}

#[test]
fn a_guest_that_computes_may_have_vcpus_to_spare() {
    let folder = folder();
    recording(&folder, |d| d["domains"][1]["vcpus"] = 2.into());
    let told = json_of(&folder, &["validate", "r", "--json"]);
    let trace = &told["traces"][0];
    assert_eq!(trace["verdict"], "agrees");
    let remark = trace["remarks"][0].as_str().expect("a remark");
    assert!(remark.contains("no record of d1v1"), "{remark}");
}

#[test]
fn validate_says_what_it_could_not_compare_and_what_it_assumed() {
    let folder = folder();
    recording(&folder, |d| {
        d["params"].as_object_mut().unwrap().remove("ratelimit_us");
        d["xen"] = "4.11.4".into();
        d["domains"][0]["vcpus"] = 2.into();
        let asleep = json!({ "id": 9, "name": "ghost", "vcpus": 1, "weight": 256, "cap": 0,
                             "workload": "replay" });
        add(d, asleep);
    });
    let told = json_of(&folder, &["validate", "r", "--json"]);
    let trace = &told["traces"][0];
    assert_eq!(trace["domains"][1]["reason"], Value::Null);
    let ghost = &trace["domains"][2];
    let share = &ghost["figures"][0];
    assert_eq!(
        (&share["figure"], &share["recorded"]),
        (&json!("share"), &json!(0.0))
    );
    assert_eq!(ghost["verdict"], "not_judged");
    let reason = ghost["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("the trace has no record of it"),
        "{reason}"
    );
    let remarks: Vec<&str> = trace["remarks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(remarks.len(), 3, "{remarks:?}");
    assert!(
        remarks[0].contains("params.ratelimit_us: Xen's default of 1000"),
        "{remarks:?}"
    );
    assert!(remarks[1].contains("recorded on Xen 4.11.4, but compared with credit 4.17"));
    assert!(remarks[2].contains("no record of d0v1"), "{remarks:?}");
}

#[test]
fn a_replay_without_its_trace_is_told_with_the_path_that_was_tried() {
    let folder = folder();
    fs::create_dir(folder.path().join("inner")).unwrap();
    fs::write(folder.path().join("inner/s.toml"), replay("none.bin")).unwrap();
    // The program may know the folder by another name (a link).
    let path = Path::new("inner").join("none.bin").display().to_string();
    domio(&folder)
        .args(["run", "inner/s.toml"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("--> inner/s.toml:6:9\n"))
        .stderr(contains("there is no file "))
        .stderr(contains(path))
        .stderr(contains("counts from the folder of the scenario's file"));
}

#[test]
fn a_trace_that_goes_back_in_time_is_refused_wherever_it_is_used() {
    let folder = folder();
    recording(&folder, |_| {});
    let once = fs::read(shortest().join("trace.bin")).unwrap();
    let path = folder.path().join("r/trace.bin");
    // Two recordings in one file: the second begins where the first began.
    fs::write(&path, [&once[..], &once[..]].concat()).unwrap();
    fs::write(folder.path().join("s.toml"), replay("r/trace.bin")).unwrap();
    for args in [["validate", "r"], ["run", "s.toml"]] {
        domio(&folder)
            .args(args)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(
                Path::new("r").join("trace.bin").display().to_string(),
            ))
            .stderr(contains("records out of order: "))
            .stderr(contains(
                "if recordings were joined into one file, use each alone",
            ))
            .stderr(contains("--> s.toml:6:9\n").count(usize::from(args[0] == "run")));
    }
}

#[test]
fn checking_a_scenario_reads_the_traces_that_it_replays() {
    let folder = folder();
    let whole = fs::read(shortest().join("trace.bin")).unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    put("whole.bin", &whole);
    put("empty.bin", b"");
    put("cut.bin", &whole[..whole.len() - 6]);
    put("twice.bin", &[&whole[..], &whole[..]].concat());
    put("s.toml", replay("whole.bin").as_bytes());
    domio(&folder)
        .args(["scenario", "check", "s.toml"])
        .assert()
        .success()
        .stdout("s.toml: valid\n");

    // One domain more with each of the others, which lines 6, 11, 16 and 21 name.
    let mut text = replay("none.bin");
    for trace in ["empty.bin", "cut.bin", "twice.bin"] {
        let domain = replay(trace).replace("\"g\"", &format!("{trace:?}"));
        text += &domain[domain.find("[[").unwrap()..];
    }
    put("s.toml", text.as_bytes());
    let why = [
        ("s.toml:6:9", "there is no file "),
        ("s.toml:11:9", "the file is empty"),
        ("s.toml:16:9", "the file ends inside "),
        ("s.toml:21:9", "records out of order: "),
    ];
    let checked = domio(&folder)
        .args(["scenario", "check", "s.toml"])
        .assert()
        .code(1)
        .stderr("");
    let run = domio(&folder).args(["run", "s.toml"]).assert().code(2);
    let checked = String::from_utf8_lossy(&checked.get_output().stdout);
    let run = String::from_utf8_lossy(&run.get_output().stderr);
    assert!(run.ends_with(&*checked), "run: {run}check: {checked}");
    let told: Vec<&str> = checked.split("\n\n").collect();
    assert_eq!(told.len(), why.len() + 1, "{checked}");
    for (told, (place, reason)) in told.iter().zip(why) {
        let at = format!("--> {place}\n");
        assert!(told.contains(&at) && told.contains(reason), "{told}");
    }
    let told = domio(&folder)
        .args(["scenario", "check", "s.toml", "--json"])
        .assert()
        .code(1);
    let told = &json(&told.get_output().stdout)["scenarios"][0];
    assert_eq!((&told["valid"], &told["total"]), (&false.into(), &4.into()));
    assert_eq!(told["errors"][3]["line"], 21);
}

#[test]
fn a_recording_that_cannot_be_used_hides_no_other() {
    let folder = folder();
    // The one whose simulation is found soonest.
    let from = recorded("c1-weights-1-2-4");
    let [description, trace] =
        ["scenario.json", "trace.bin"].map(|file| fs::read(from.join(file)).unwrap());
    let put = |name: &str, file: &str, bytes: &[u8]| {
        let to = folder.path().join("all").join(name);
        fs::create_dir_all(&to).unwrap();
        fs::write(to.join(file), bytes).unwrap();
    };
    // Found before and after the good one.
    put("a-cut", "scenario.json", &description);
    put("a-cut", "trace.bin", &trace[..trace.len() - 6]);
    put("good", "scenario.json", &description);
    put("good", "trace.bin", &trace);
    put("no-description", "trace.bin", &trace);
    put("no-trace", "scenario.json", &description);
    let text = String::from_utf8_lossy(&description).replace("tslice_ms", "tslice_parsecs");
    put("other-parameter", "scenario.json", text.as_bytes());
    put("other-parameter", "trace.bin", &trace);
    put("neither", "notes.txt", b"no recording");

    let refused = |args: &[&str]| {
        let assert = domio(&folder).args(args).assert().code(2);
        let errors = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        let errors: Vec<&str> = errors
            .lines()
            .filter(|l| l.starts_with("error: "))
            .collect();
        let expected: [&[&str]; 4] = [
            &["a-cut", "trace.bin", "the file ends inside "],
            &["no-description has no scenario.json", "put it there"],
            &["no-trace has no trace.bin", "put it there"],
            &["other-parameter", "params.tslice_parsecs = 30: "],
        ];
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
        for (error, words) in errors.iter().zip(expected) {
            assert!(words.iter().all(|w| error.contains(w)), "{error}");
        }
        assert
    };
    refused(&["validate", "all"])
        .stdout(contains("good").and(contains("1 of 1 recordings agree\n")));
    let told = refused(&["validate", "all", "--json"]);
    let told = json(&told.get_output().stdout);
    assert_eq!(told["traces"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["traces"][0]["recording"], "good");
    assert_eq!(
        told["summary"],
        json!({ "agree": 1, "differ": 0, "cannot_tell": 0 })
    );

    // What is bad by itself leaves nothing to show.
    domio(&folder)
        .args(["validate", "all/no-trace", "--json"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("no-trace has no trace.bin"));
}

#[test]
fn a_seed_that_is_too_large_is_told_the_largest() {
    let folder = folder();
    let largest = i64::MAX.to_string();
    let above = (i64::MAX as u64 + 1).to_string();
    for command in [&["run", "burn7"][..], &["explain", "burn7"], &["reproduce"]] {
        for seed in [&above, "18446744073709551615"] {
            domio(&folder)
                .args(command)
                .args(["--seed", seed])
                .assert()
                .code(2)
                .stderr(contains("--seed").and(contains(format!("0..={largest}"))));
        }
    }
    domio(&folder)
        .args(["run", "burn7", "--set", &format!("seed={above}")])
        .assert()
        .code(2)
        .stderr(contains(format!("expected 0 to {largest}")));
    let args = ["run", "burn7", "--json", "--seed", &largest];
    let short = ["--set", "run.duration_s=1", "--set", "run.warmup_s=0"];
    let args = [&args[..], &short].concat();
    assert_eq!(json_of(&folder, &args)["seed"], i64::MAX);
}

/// A parameter that one of the policies has is given to that one; what none has is a mistake.
#[test]
fn compare_gives_a_parameter_to_the_policies_that_have_it() {
    let folder = folder();
    let compare = |set: &str| {
        let mut command = domio(&folder);
        command.args(["compare", "small-host", "--set", "run.duration_s=1"]);
        command.args(["--policy", "round-robin", "--policy", "credit"]);
        command.args(["--set", set]);
        command.assert()
    };
    for key in ["scheduler.ratelimit_us", "domain.web.cap"] {
        let notice = format!("notice: --set {key} is left out, round-robin has no such parameter");
        compare(&format!("{key}=0"))
            .success()
            .stdout(contains("round-robin").and(contains("credit")))
            .stderr(contains(notice).count(1));
    }
    compare("scheduler.tslice_ms=20")
        .success()
        .stderr(contains("left out").not());
    compare("scheduler.lottery=1")
        .code(2)
        .stdout("")
        .stderr(contains("unknown key `lottery` in [scheduler]"));
    compare("scheduler.ratelimit_us=7").code(2).stdout("");
}
