//! `domio dom0-share`.

use crate::common::{domio, folder, json_of};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

const SHORT: [&str; 6] = [
    "dom0-share",
    "web-servers",
    "--set",
    "run.duration_s=0.4",
    "--set",
    "run.warmup_s=0.2",
];

#[test]
fn a_mix_is_tried_and_drawn_and_answered() {
    let folder = folder();
    let args = ["--policy", "sedf", "--weight", "0.5,2", "--plot", "p.svg"];
    domio(&folder)
        .args(SHORT)
        .args(args)
        .assert()
        .success()
        .stdout(
            contains("as it is")
                .and(contains("weight x 0.5"))
                .and(contains("[1/s]"))
                .and(contains("[us/reply]"))
                .and(contains("- dom0 uses ")),
        )
        .stderr(contains("wrote p.svg"));
    let picture = std::fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(picture.contains("weight of dom0") && picture.contains("sedf"));
}

/// What was tried once is not tried again, and gives the same to the byte.
#[test]
fn what_is_finished_is_kept() {
    let folder = folder();
    let out = || {
        let args = ["--policy", "credit", "--weight", "1,2", "--json"];
        let out = domio(&folder).args(SHORT).args(args).output().unwrap();
        let told = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.success(), "{told}");
        (out.stdout, told)
    };
    let (first, told) = out();
    assert!(!told.contains("took"), "{told}");
    let (again, told) = out();
    assert!(first == again, "the same to the byte");
    // As it is, two weights, and dom0 without bounds.
    assert!(
        told.contains("took 4 replications from out/results.sqlite"),
        "{told}"
    );
}

#[test]
fn an_axis_without_values_has_the_usual_ones() {
    let folder = folder();
    let args = ["--policy", "credit", "--json", "--vcpus", "--pin"];
    let all = json_of(&folder, &[&SHORT[..], &args].concat());
    let points = all["points"].as_array().unwrap();
    let settings = points.iter().map(|p| p["settings"].to_string());
    assert_eq!(
        settings.collect::<Vec<_>>(),
        [
            "[]",
            r#"[{"axis":"vcpus","value":1.0}]"#,
            r#"[{"axis":"vcpus","value":2.0}]"#,
            r#"[{"axis":"pin"}]"#
        ]
    );
    // As it is, each domain has one vcpu.
    assert_eq!(points[0]["guests"], points[1]["guests"]);
    assert_eq!(points[0]["score"], 1.0);
    let full = [&SHORT[..], &args, &["--full"]].concat();
    let full = json_of(&folder, &full);
    assert_eq!(full["points"].as_array().unwrap().len(), 3);
    assert_eq!(
        full,
        json_of(&folder, &[&SHORT[..], &args, &["--full"]].concat())
    );
}

#[test]
fn what_cannot_be_tried_says_why() {
    let folder = folder();
    for (args, told) in [
        (&["--dom0", "nobody"][..], "no domain \"nobody\""),
        (&["--policy", "credit3"], "no policy is called"),
        (&["--weight", "x"], "expected numbers from 0.01 to 100"),
        (&["--cap", "0"], "whole numbers from 1 to 6400"),
        (
            &[
                "--policy",
                "round-robin",
                "--weight",
                "2",
                "--plot",
                "p.svg",
            ],
            "nothing to draw",
        ),
    ] {
        let refused = domio(&folder).args(SHORT).args(args).assert().code(2);
        refused.stderr(contains(told));
    }
    // What a policy does not have is told, and the rest is done.
    domio(&folder)
        .args(SHORT)
        .args(["--policy", "bvt:version=3.0", "--cap", "40"])
        .assert()
        .success()
        .stderr(contains(
            "caps under bvt:version=3.0 are left out: it has no caps",
        ));
}
