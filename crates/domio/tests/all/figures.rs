//! Figures of reports as files, and the part of a run that timelines show.

use crate::common::{domio, folder, json_of};
use predicates::str::contains;
use std::path::Path;

const SHORT: [&str; 2] = ["--set", "run.duration_s=1"];

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn figures_are_files_that_say_what_they_show() {
    let folder = folder();
    domio(&folder)
        .args(["run", "small-host", "--figures", "out/figures"])
        .args(SHORT)
        .assert()
        .success()
        .stderr(contains("files with figures to out/figures"));
    let figures = folder.path().join("out/figures");
    let names = names(&figures);
    assert!(
        names.iter().all(|n| n.starts_with("small-host-credit-")),
        "{names:?}"
    );
    let share = "small-host-credit-domains-share-of-one-pcpu";
    let csv = std::fs::read_to_string(figures.join(format!("{share}.csv"))).unwrap();
    assert!(csv.starts_with("group,series,quantity,unit,mean,"));
    assert!(csv.lines().count() > 3, "{csv}");
    let svg = std::fs::read_to_string(figures.join(format!("{share}.svg"))).unwrap();
    assert!(svg.starts_with("<?xml") && svg.contains("Most: "), "{svg}");
    let pictures = names.iter().filter(|n| n.ends_with(".svg"));
    for picture in pictures {
        assert!(
            names.contains(&picture.replace(".svg", ".csv")),
            "{picture}"
        );
    }
}

#[test]
fn timelines_show_the_longest_wait_or_what_is_chosen() {
    let folder = folder();
    let page = |args: &[&str]| {
        domio(&folder)
            .args(["run", "small-host", "--report", "r.html"])
            .args(SHORT)
            .args(args)
            .assert()
            .success();
        std::fs::read_to_string(folder.path().join("r.html")).unwrap()
    };
    let worst = page(&[]);
    assert!(worst.contains("Around the longest wait") && worst.contains("class=\"worst\""));
    let chosen = page(&["--window", "0.2s..300ms"]);
    assert!(chosen.contains("Which vcpu runs when") && !chosen.contains("class=\"worst\""));
    for tick in ["220", "240", "260", "280"] {
        assert!(chosen.contains(&format!(">{tick}</text>")), "{tick}");
    }
}

#[test]
fn every_policy_and_an_explanation_have_timelines() {
    let folder = folder();
    domio(&folder)
        .args([
            "compare",
            "small-host",
            "--policy",
            "credit",
            "--policy",
            "round-robin",
        ])
        .args(["--report", "c.html", "--figures", "figures"])
        .args(SHORT)
        .assert()
        .success();
    let page = std::fs::read_to_string(folder.path().join("c.html")).unwrap();
    for part in [
        "Under credit",
        "Under round-robin",
        "Waits by policy",
        "than credit (",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    assert!(names(&folder.path().join("figures")).len() > 20);
    domio(&folder)
        .args(["explain", "ping-among-burners", "--report", "e.html"])
        .args(SHORT)
        .assert()
        .success();
    let page = std::fs::read_to_string(folder.path().join("e.html")).unwrap();
    assert!(page.contains("Around the longest wait"));
}

#[test]
fn the_papers_figures_are_files_too() {
    let folder = folder();
    domio(&folder)
        .args(["reproduce", "ongaro.fig2", "--replications", "2"])
        .args(["--figures", "figures"])
        .assert()
        .success();
    assert_eq!(
        names(&folder.path().join("figures")),
        [
            "ongaro2008-figure-2-seven-guests-that-burn.csv",
            "ongaro2008-figure-2-seven-guests-that-burn.svg"
        ]
    );
    let page =
        std::fs::read_to_string(folder.path().join("out/reproduce-ongaro.fig2.html")).unwrap();
    assert!(page.contains("Figure 2: seven guests that burn"));
}

#[test]
fn a_window_that_shows_nothing_is_refused() {
    let folder = folder();
    let refused = |args: &[&str], told: &str| {
        domio(&folder)
            .args(["run", "small-host"])
            .args(SHORT)
            .args(args)
            .assert()
            .code(2)
            .stderr(contains(told));
    };
    refused(
        &["--window", "0s..1ms"],
        "ask for one with --report or --figures",
    );
    refused(
        &["--window", "1s..2s", "--report", "r.html"],
        "1 s are measured",
    );
    refused(
        &["--window", "2..3", "--report", "r.html"],
        "is no time; expected FROM..UNTIL",
    );
    refused(
        &["--window", "3s..2s", "--report", "r.html"],
        "exchange its two times",
    );
    assert!(!folder.path().join("r.html").exists());
}

#[test]
fn a_figure_does_not_overwrite_what_is_read() {
    let folder = folder();
    let shown = json_of(&folder, &["scenario", "show", "small-host", "--json"]);
    let text = shown["text"].as_str().unwrap();
    let name = "small-host-credit-domains-share-of-one-pcpu.csv";
    std::fs::write(folder.path().join("small-host.toml"), text).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("small-host.toml", folder.path().join(name)).unwrap();
    let refused = domio(&folder)
        .args(["run", "small-host.toml", "--figures", "."])
        .args(SHORT)
        .output()
        .unwrap();
    let kept = std::fs::read_to_string(folder.path().join("small-host.toml")).unwrap();
    assert!(
        kept.contains("[run]"),
        "{}",
        String::from_utf8_lossy(&refused.stderr)
    );
}
