//! Every value that is given counts, or is refused with what to do.

use crate::common::{domio, folder};
use std::fs;
use std::path::Path;

/// Options with values that would change nothing, and what the error says.
const WITHOUT_EFFECT: &[(&[&str], &[&str])] = &[
    (
        &[
            "run",
            "burn7",
            "--set",
            "run.duration_s=1",
            "--sort",
            "nonsense",
        ],
        &["--sort nonsense", "no table has such a column", "share"],
    ),
    (
        &[
            "run",
            "burn7",
            "--set",
            "run.duration_s=1",
            "--json",
            "--sort",
            "share",
        ],
        &["--sort share", "printed no table"],
    ),
    (
        &["policy", "list", "--sort", "nonsense"],
        &["--sort nonsense", "no table has such a column"],
    ),
    (
        &["policy", "list", "--columns", "policy,nonsense"],
        &[
            "--columns nonsense",
            "no table has such a column",
            "what it does",
        ],
    ),
    (
        &["policy", "list", "--json", "--columns", "policy"],
        &["--columns policy", "printed no table"],
    ),
    (
        &[
            "compare",
            "burn7",
            "--policy",
            "credit",
            "--policy",
            "sedf",
            "--set",
            "run.duration_s=1",
            "--columns",
            "share,sedf,nonsense",
        ],
        &["--columns nonsense", "no table has such a column", "sedf"],
    ),
    // Before anything is simulated: the hosts would take days.
    (
        &[
            "run",
            "burn7",
            "--set",
            "run.duration_s=500000",
            "--columns",
            "share,nonsense",
        ],
        &[
            "--columns nonsense",
            "no table has such a column",
            "wake to run",
        ],
    ),
    (
        &[
            "mon",
            "burn7",
            "--set",
            "run.duration_s=500000",
            "--sort",
            "nonsense",
        ],
        &["--sort nonsense", "no table has such a column", "gotten"],
    ),
    (
        &[
            "dom0-share",
            "web-servers",
            "--set",
            "run.duration_s=500000",
            "--columns",
            "score,nonsense",
        ],
        &[
            "--columns nonsense",
            "no table has such a column",
            "setting",
        ],
    ),
    (
        &[
            "alert",
            "--policy",
            "credit",
            "--duration",
            "3600",
            "--sort",
            "nonsense",
        ],
        &["--sort nonsense", "no table has such a column", "worst"],
    ),
    (
        &[
            "reproduce",
            "zeng",
            "--effort",
            "full",
            "--columns",
            "nonsense",
        ],
        &[
            "--columns nonsense",
            "no table has such a column",
            "verdict",
        ],
    ),
    (
        &[
            "sweep",
            "burn7",
            "--set",
            "run.duration_s=400000,500000",
            "--output",
            "rows.csv",
            "--sort",
            "share",
        ],
        &["--sort share", "prints no table; leave it out"],
    ),
    (
        &["explain", "own.bin", "--cpu-hz", "1GHz"],
        &["own.bin", "--cpu-hz", "leave it out"],
    ),
    (
        &["trace", "summary", "own.bin", "--cpu-hz", "1GHz"],
        &["own.bin", "--cpu-hz", "leave it out"],
    ),
    (
        &["mon", "own.bin", "--cpu-hz", "1GHz", "--json"],
        &["own.bin", "--cpu-hz", "leave it out"],
    ),
    (
        &["compare", "own.bin", "burn7", "--cpu-hz", "1GHz"],
        &["none of own.bin, burn7", "--cpu-hz", "leave it out"],
    ),
    (
        &["scenario", "from-trace", "own.bin", "--cpu-hz", "1GHz"],
        &["own.bin", "--cpu-hz", "leave it out"],
    ),
    (
        &["mon", "burn7", "--pcpu", "99", "--json"],
        &["--pcpu 99", "pcpus 0 to 0"],
    ),
    (
        &["mon", "t.bin", "--pcpu", "99", "--cpu-hz", "1GHz"],
        &["--pcpu 99", "pcpus 0 to 0"],
    ),
    (
        &["mon", "burn7", "--cpu-hz", "1GHz"],
        &["--cpu-hz is of a trace", "leave it out"],
    ),
    (
        &["mon", "burn7", "--speed", "1"],
        &["--speed needs a terminal, --log or --json"],
    ),
    (
        &["mon", "burn7", "--interval", "500"],
        &["--interval needs --log, --json, --once or --listen"],
    ),
    (
        &[
            "alert",
            "--policy",
            "credit",
            "--cap-range",
            "5",
            "--duration",
            "10",
            "--set",
            "tslice_ms=5",
            "--set",
            "scheduler.tslice_ms=6",
        ],
        &[
            "scheduler.tslice_ms twice, as 5 and as 6",
            "--policy NAME:KEY=VALUE",
        ],
    ),
    (
        &[
            "mon",
            "burn7",
            "--set",
            "run.duration_s=1",
            "--set",
            "run.duration_s=2",
        ],
        &["run.duration_s twice"],
    ),
    (
        &[
            "explain",
            "burn7",
            "--set",
            "run.duration_s=1",
            "--set",
            "run.duration_s=2",
        ],
        &["run.duration_s twice"],
    ),
];

#[test]
fn values_without_effect_are_refused() {
    let folder = folder();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
    let trace = recordings.join("c1-cap30/trace.bin");
    fs::copy(trace, folder.path().join("t.bin")).unwrap();
    let own = [
        "run",
        "burn7",
        "--set",
        "run.duration_s=1",
        "--trace",
        "own.bin",
    ];
    domio(&folder).args(own).assert().success();
    for (args, parts) in WITHOUT_EFFECT {
        let refused = domio(&folder).args(*args).assert().code(2);
        for part in *parts {
            let flat = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
            let flat = flat.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(part), "{args:?}: {part}: {flat}");
        }
    }
}

/// What has an effect in one table of several is taken.
#[test]
fn an_order_that_one_table_has_is_good() {
    let folder = folder();
    domio(&folder)
        .args([
            "run",
            "burn7",
            "--set",
            "run.duration_s=1",
            "--sort",
            "share",
        ])
        .assert()
        .success();
}

/// A scenario that lasts a second is played in half of one.
#[test]
fn a_scenario_is_played_at_a_chosen_speed() {
    let folder = folder();
    let played = |speed: &str| {
        let begun = std::time::Instant::now();
        let set = ["--set", "run.duration_s=1", "--set", "run.warmup_s=0"];
        domio(&folder)
            .args(["mon", "burn7", "--json", "--speed", speed])
            .args(set)
            .assert()
            .success();
        begun.elapsed()
    };
    assert!(played("2") >= std::time::Duration::from_millis(500));
    domio(&folder)
        .args(["mon", "burn7", "--json", "--speed", "0"])
        .assert()
        .code(2);
}

/// Time by pcpu, core and node, and the part inside soft affinity: simulated, and as a trace tells.
#[test]
fn where_vcpus_ran_is_told() {
    let folder = folder();
    let scenario = "\
run = { duration_s = 1 }
host = { sockets = 2, cores = 2 }
scheduler.policy = \"credit\"
[[domain]]
name = \"one\"
vcpus = 2
pin = [\"0\", \"2-3\"]
soft = [\"all\", \"3\"]
task = [{ workload = \"burn\", vcpu = \"all\" }]
[[domain]]
name = \"two\"
vcpus = 2
task = [{ workload = \"burn\", vcpu = \"all\" }]
";
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    let told = crate::common::json_of(&folder, &["run", "s.toml", "--json"]);
    let first = &told["residence"][0];
    assert_eq!(
        (&first["domain"], &first["vcpu"]),
        (&"one".into(), &0.into())
    );
    let at = |vcpu: &serde_json::Value, level: &str| -> Vec<serde_json::Value> {
        let ran = vcpu["residence"].as_array().unwrap().iter();
        ran.filter(|row| row["of"] == level).cloned().collect()
    };
    let ran = at(first, "pcpu");
    assert_eq!(ran.len(), 1, "it is pinned: {first}");
    assert_eq!(ran[0]["percent"], 100.0);
    assert!(first["inside_soft_percent"].is_null());
    let second = &told["residence"][1];
    assert!(
        second["inside_soft_percent"].as_f64().unwrap() > 90.0,
        "{second}"
    );
    assert_eq!(at(second, "node")[0]["number"], 1);
    let explained = crate::common::json_of(&folder, &["explain", "s.toml", "--json"]);
    let vcpus = explained["vcpus"].as_array().unwrap();
    for (index, vcpu) in vcpus.iter().enumerate() {
        let ran = &told["residence"][index];
        for key in ["residence", "moved", "inside_soft_percent"] {
            assert_eq!(vcpu[key], ran[key], "{key} of vcpu {index}");
        }
        let ran = vcpu["ran"].as_array().unwrap();
        let sum: u64 = ran.iter().map(|place| place["ns"].as_u64().unwrap()).sum();
        assert_eq!(sum, vcpu["running_ns"].as_u64().unwrap(), "vcpu {index}");
    }
    let text = domio(&folder)
        .env("COLUMNS", "80")
        .args(["run", "s.toml", "--trace", "t.domio"])
        .output()
        .unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("Where vcpus ran:"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("one.0 1 0: 100.0"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    // The trace has no topology, and the same pcpus.
    let traced = crate::common::json_of(&folder, &["explain", "t.domio", "--json"]);
    for (vcpu, simulated) in traced["vcpus"].as_array().unwrap().iter().zip(vcpus) {
        assert_eq!(vcpu["ran"], simulated["ran"]);
        assert_eq!(vcpu["moves"], simulated["moves"]);
        let mut places = vcpu["residence"].as_array().unwrap().iter();
        assert!(places.all(|place| place["of"] == "pcpu"));
        assert!(vcpu["inside_soft_percent"].is_null());
    }
}
