//! `domio explain TRACE` and `domio scenario from-trace`, as their users see them.

use crate::common::{domio, folder, json, json_of};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

fn recording(name: &str) -> String {
    let path: PathBuf = [
        env!("CARGO_MANIFEST_DIR"),
        "../../testdata/xen-traces",
        name,
        "trace.bin",
    ]
    .iter()
    .collect();
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_recording_is_explained() {
    let folder = folder();
    domio(&folder)
        .args(["explain", &recording("c1-weights-1-2-4"), "--long"])
        .assert()
        .success()
        .stdout(contains("The longest waits after a wake-up:"))
        .stdout(contains("% of it for \"over its credit\""))
        .stdout(contains("Credit records no balance"))
        .stdout(contains("*A0  B0 waits"))
        .stdout(contains("10560 records of 1 pcpu under credit"));
    // Under credit a vcpu comes back to the run queue, under credit2 to a pcpu.
    for (name, parked) in [("c1-cap30", "69.9"), ("c2-cap30", "70")] {
        let summary = json_of(&folder, &["trace", "summary", &recording(name), "--json"]);
        let mut domains = summary["domains"].as_array().unwrap().iter();
        let guest = domains.find(|d| d["id"] == 1).unwrap();
        let share = guest["figures"]["parked_pct"].as_f64().unwrap();
        assert!((share - 70.0).abs() < 0.2, "{name}: {share}");
        domio(&folder)
            .args(["explain", &recording(name)])
            .assert()
            .success()
            .stdout(starts_with(format!(
                "dom1.0 was parked {parked} % of the time"
            )));
    }
}

#[test]
fn a_trace_comes_through_standard_input_too() {
    let folder = folder();
    let trace = fs::read(recording("c1-cap30")).unwrap();
    let piped = domio(&folder)
        .args(["explain", "-", "--json"])
        .write_stdin(trace)
        .assert()
        .success();
    let piped = json(&piped.get_output().stdout);
    assert_eq!(
        piped,
        json_of(&folder, &["explain", &recording("c1-cap30"), "--json"])
    );
    assert_eq!(piped["records"], 12_345);
    // And a scenario still does.
    domio(&folder)
        .args(["explain", "-"])
        .write_stdin(
            "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
             workload = \"burn\"\n",
        )
        .assert()
        .success()
        .stdout(contains("runs   waits"));
}

/// The worked example of docs/trace-analysis.md.
#[test]
fn the_example_of_the_page_says_what_the_page_says() {
    let told = json_of(
        &folder(),
        &["explain", &recording("c1-burn7-periodic"), "--json"],
    );
    let worst = told["worst_wakeups"].as_array().unwrap();
    for (wait, at_us) in worst.iter().zip([4_352_380, 12_872_365]) {
        assert_eq!(
            (&wait["domain"], &wait["cause"]),
            (&1.into(), &"over_credit".into())
        );
        assert_eq!(wait["at_ns"].as_u64().unwrap() / 1_000, at_us);
    }
    assert_eq!(worst[2]["cause"], "rate_limit");
    assert!(worst[2]["ns"].as_u64().unwrap() < 1_000_000);
    let guest = told["vcpus"]
        .as_array()
        .unwrap()
        .iter()
        .find(|v| v["domain"] == 1);
    let guest = guest.unwrap();
    let ns = |key: &str| guest[key].as_u64().unwrap();
    let percent = |key: &str| (ns(key) * 10_000 + ns("seen_ns") / 2) / ns("seen_ns");
    assert_eq!((percent("running_ns"), percent("runnable_ns")), (225, 476));
    let cause = |name: &str| {
        let mut causes = guest["causes"].as_array().unwrap().iter();
        let cause = causes.find(|c| c["cause"] == name);
        cause.expect("each cause is named")["ns"].as_u64()
    };
    assert_eq!((cause("yielded"), cause("cap")), (Some(0), None));
}

#[test]
fn a_map_shows_the_window_that_is_asked_for() {
    let folder = folder();
    let trace = recording("c1-burn7");
    domio(&folder)
        .args(["explain", &trace, "--map", "0s..20ms"])
        .assert()
        .success()
        .stdout(contains(
            "Which vcpu ran where from 0.000000 s to 0.020000 s:",
        ));
    domio(&folder)
        .args(["explain", &trace, "--map", "20s..21s"])
        .assert()
        .code(2)
        .stderr(contains("--map begins after the end of the trace"));
}

#[test]
fn options_of_the_other_kind_are_refused() {
    let folder = folder();
    let trace = recording("c1-cap30");
    for option in [
        &["--policy", "credit"][..],
        &["--set", "run.duration_s=1"],
        &["--seed", "7"],
        &["--replications", "2"],
    ] {
        domio(&folder)
            .args(["explain", &trace])
            .args(option)
            .assert()
            .code(2)
            .stderr(contains(option[0]).and(contains("domio scenario from-trace")));
    }
    for option in [["--map", "0s..1s"], ["--cpu-hz", "1GHz"]] {
        domio(&folder)
            .args(["explain", "burn7"])
            .args(option)
            .assert()
            .code(2)
            .stderr(contains(option[0]).and(contains("is of a trace")));
    }
}

#[test]
fn damaged_traces_are_explained_as_far_as_they_go() {
    let folder = folder();
    let whole = fs::read(recording("c1-cap30")).unwrap();
    fs::write(folder.path().join("cut.bin"), &whole[..whole.len() / 2]).unwrap();
    let cut = json_of(
        &folder,
        &["explain", "cut.bin", "--json", "--cpu-hz", "1GHz"],
    );
    assert_eq!(cut["truncated"], true);
    domio(&folder)
        .args(["scenario", "from-trace", "cut.bin", "--cpu-hz", "1GHz"])
        .assert()
        .code(2)
        .stderr(contains("ends too early").and(contains("domio trace convert")));
    for (from, to) in [(0_usize, 8_usize), (100, 140), (5_000, 5_400)] {
        let mut bytes = whole.clone();
        bytes[from..to].fill(0xff);
        fs::write(folder.path().join("bad.bin"), bytes).unwrap();
        for args in [
            &["explain", "bad.bin"][..],
            &["scenario", "from-trace", "bad.bin"],
        ] {
            let out = domio(&folder).args(args).output().unwrap();
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(matches!(out.status.code(), Some(0 | 2)), "{args:?}: {said}");
            assert!(!said.contains("panicked"), "{args:?}: {said}");
        }
    }
}

#[test]
fn a_report_has_tables_and_a_timeline() {
    let folder = folder();
    domio(&folder)
        .args(["explain", &recording("c1-cap30"), "--report", "waits.html"])
        .args(["--figures", "figures"])
        .assert()
        .success()
        .stderr(contains("wrote waits.html"));
    let page = fs::read_to_string(folder.path().join("waits.html")).unwrap();
    for part in [
        "Behind whom vcpus wait, and why",
        "The longest waits of all",
        "Around the longest wait",
        "What the trace does not show",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let drawn = fs::read_dir(folder.path().join("figures")).unwrap();
    assert!(drawn.count() > 4);
}

const SCHED: &str = "\
Cpupool Pool-0: tslice=30ms ratelimit=1000us migration-delay=0us
Name                                ID Weight  Cap
Domain-0                             0    256    0
bronze                               1    256    0
silver                               2    512    0
gold                                 3   1024    0
";

/// As `xm vcpu-list` of Xen 3 prints it.
const OLD_VCPUS: &str = "\
Name                                ID  VCPUs   CPU State   Time(s) CPU Affinity
Domain-0                             0     0     0   r--      45.7 any cpu
win one                              3     0     0   -b-      34.0 0
win one                              3     1     2   -b-      34.0 2,4-6
";

/// Old lists are read, and each vcpu keeps its pins.
#[test]
fn pins_of_an_old_list_are_kept_for_each_vcpu() {
    let folder = folder();
    fs::write(folder.path().join("vcpus.txt"), OLD_VCPUS).unwrap();
    let trace = recording("c1-weights-1-2-4");
    let args = ["scenario", "from-trace", &trace, "--xl-list", "vcpus.txt"];
    domio(&folder)
        .args(args)
        .args(["-o", "host.toml"])
        .assert()
        .success();
    let text = fs::read_to_string(folder.path().join("host.toml")).unwrap();
    for part in [
        "# - names, vcpus and pins: vcpus.txt\n",
        "name = \"win-one\"\nid = 3\nvcpus = 2\nweight = 256\npin = [\"0\", \"2,4-6\"]\n",
        "cores = 7\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    domio(&folder)
        .args(["scenario", "check", "host.toml"])
        .assert()
        .success();
}

/// A folder with a scenario of a recording, made with the settings of its host.
fn made() -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("sched.txt"), SCHED).unwrap();
    fs::copy(
        recording("c1-weights-1-2-4"),
        folder.path().join("trace.bin"),
    )
    .unwrap();
    domio(&folder)
        .args([
            "scenario",
            "from-trace",
            "trace.bin",
            "--sched-credit",
            "sched.txt",
        ])
        .args(["-o", "host.toml"])
        .assert()
        .success()
        .stderr(contains("wrote host.toml"));
    folder
}

#[test]
fn a_recorded_host_is_tried_under_another_policy_and_with_other_weights() {
    let folder = made();
    let text = fs::read_to_string(folder.path().join("host.toml")).unwrap();
    for part in [
        "# - names, weights and caps: sched.txt\n",
        "# - tslice_ms = 30: sched.txt\n",
        "name = \"gold\"\nid = 3\nvcpus = 1\nweight = 1024\n",
        "  trace = \"trace.bin\"\n  trace_domain = 3\n  trace_vcpu = 0\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    domio(&folder)
        .args(["scenario", "check", "host.toml"])
        .assert()
        .success();
    domio(&folder)
        .args([
            "compare",
            "host.toml",
            "--policy",
            "credit",
            "--policy",
            "round-robin",
        ])
        .assert()
        .success()
        .stdout(contains("bronze").and(contains("round-robin")));
    let share = |set: &str| {
        let told = json_of(&folder, &["run", "host.toml", "--json", "--set", set]);
        let groups = told["domains"].as_array().unwrap().iter();
        let bronze = groups.clone().find(|g| g["name"] == "bronze");
        bronze.expect("a domain").to_string()
    };
    let plain = share("domain.Domain-0.weight=256");
    assert_ne!(plain, share("domain.bronze.weight=4096"));
}

#[test]
fn what_cannot_be_used_is_told() {
    let folder = made();
    fs::write(
        folder.path().join("bad.txt"),
        "Name ID Weight Cap\nweb 1 0 0\n",
    )
    .unwrap();
    domio(&folder)
        .args([
            "scenario",
            "from-trace",
            "trace.bin",
            "--sched-credit",
            "bad.txt",
        ])
        .assert()
        .code(2)
        .stderr(contains("bad.txt: line 2").and(contains("weight of 1 to 65535")));
    domio(&folder)
        .args(["scenario", "from-trace", "-"])
        .assert()
        .code(2)
        .stderr(contains("give a file"));
    domio(&folder)
        .args(["scenario", "from-trace", "trace.bin", "-o", "trace.bin"])
        .assert()
        .code(2)
        .stderr(contains("the trace"));
    domio(&folder)
        .args(["scenario", "from-trace", "sched.txt"])
        .assert()
        .code(2)
        .stderr(contains("an output of `xl`").and(contains("scenario from-lists")));
}
