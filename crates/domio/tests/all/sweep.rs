//! `domio sweep`: rows, pictures, trade-offs, the best cell; what is refused; going on.

use crate::common::{domio, folder, json_of};
use crate::interrupts::rows;
use crate::results::{run, store};
use domio_sim::RandomStream;
use predicates::str::contains;
use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Two guests of which one sleeps now and then.
const HOST: &str = "run.duration_s = 1\nrun.warmup_s = 0\nscheduler.policy = \"credit\"\n\
                    [[domain]]\nname = \"batch\"\nworkload = \"burn\"\n[[domain]]\nname = \"web\"\n\
                    workload = \"on-off\"\n\
                    on = { distribution = \"exponential\", mean_ms = 3 }\n\
                    off = { distribution = \"exponential\", mean_ms = 5 }\n";

fn with_host() -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("host.toml"), HOST).unwrap();
    folder
}

fn refused(folder: &TempDir, args: &[&str]) -> String {
    let assert = domio(folder).arg("sweep").args(args).assert().code(2);
    String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
}

#[test]
fn rows_of_a_small_sweep() {
    let folder = with_host();
    let args = ["sweep", "host.toml", "--set", "scheduler.tslice_ms=5,30"];
    let args = [&args[..], &["--set", "scheduler.policy=credit", "-n", "2"]].concat();
    let (csv, _) = run(&folder, &[&args[..], &["--output", "-"]].concat());
    let csv = String::from_utf8(csv).unwrap();
    let narrow = csv.lines().map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        [&cells[..6], &cells[12..15]].concat().join(",")
    });
    insta::assert_snapshot!(narrow.collect::<Vec<_>>().join("\n"));
    // The figures are those of `run`.
    let one = [
        "run",
        "host.toml",
        "--set",
        "scheduler.tslice_ms=5",
        "--json",
    ];
    let share = json_of(&folder, &one)["domains"][1]["share_pct"]["mean"].to_string();
    let first = csv.lines().nth(2).unwrap();
    assert!(
        first.starts_with(&format!("0,0,5,credit,web,{share},")),
        "{first}"
    );
}

/// However many at once, taken from kept results or run again.
#[test]
fn the_same_sweep_gives_the_same_bytes() {
    let written = |more: &[&str], file: &str| {
        let folder = with_host();
        let args = [
            "sweep",
            "host.toml",
            "--set",
            "domain.web.weight=128..512:4",
        ];
        let args = [&args[..], &["--replications", "3", "--output", file], more].concat();
        let (text, told) = run(&folder, &args);
        assert!(told.contains(": 24 rows of 4 cells"), "{told}");
        let bytes = fs::read(folder.path().join(file)).unwrap();
        // Again, over the file that it made.
        let (again, told) = run(&folder, &args);
        if more.is_empty() {
            assert!(told.contains("took 12 replications"), "{told}");
        }
        assert!(again == text);
        assert!(fs::read(folder.path().join(file)).unwrap() == bytes);
        bytes
    };
    for file in ["rows.parquet", "rows.csv"] {
        let bytes = written(&[], file);
        assert!(bytes == written(&["--jobs", "1"], file), "{file}");
        assert!(
            bytes == written(&["--jobs", "3", "--no-results"], file),
            "{file}"
        );
    }
    let parquet = written(&[], "rows.parquet");
    let text = String::from_utf8_lossy(&parquet);
    for word in [
        "domio.scenario",
        "host.toml",
        "domio.seed",
        "wake_p99_us",
        "domain.web.weight",
    ] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn what_two_measures_cost_each_other_and_the_best_cell() {
    let folder = with_host();
    let args = [
        "sweep",
        "host.toml",
        "--set",
        "domain.web.weight=64,256,1024",
    ];
    let asks = [
        "--trade",
        "share(batch),wake_p99(web)",
        "--find",
        "max share(web)",
        "--json",
    ];
    let json = json_of(&folder, &[&args[..], &asks].concat());
    assert_eq!(json["cells"], 3);
    assert_eq!(json["design"], "search");
    let figures = json["trade"]["figures"].as_array().unwrap();
    assert_eq!(figures[1]["name"], "wake_p99_us(web)");
    let front = json["trade"]["cells"].as_array().unwrap();
    let means = |name: &str| -> Vec<f64> {
        let mean = |c: &serde_json::Value| c[name]["mean"].as_f64().unwrap();
        front.iter().map(mean).collect()
    };
    let (batch, web) = (means("share_pct(batch)"), means("wake_p99_us(web)"));
    assert!(batch.is_sorted_by(|a, b| a > b) && web.is_sorted_by(|a, b| a > b));
    // The larger its weight, the more it gets.
    let best = &json["find"]["best"];
    assert_eq!(
        (&best["cell"], &json["find"]["met"]),
        (&2.into(), &true.into())
    );
    assert_eq!(best["domain.web.weight"], "1024");
    let (text, _) = run(&folder, &[&args[..], &asks[..4]].concat());
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("  cell 2: domain.web.weight=1024\n"),
        "{text}"
    );
}

#[test]
fn a_goal_that_no_cell_meets_is_a_failed_check() {
    let folder = with_host();
    let args = ["sweep", "host.toml", "--set", "domain.web.weight=64,256"];
    let find = ["--find", "min wake_p99(web) where share(web) >= 99"];
    let assert = domio(&folder).args(args).args(find).assert().code(1);
    assert.stdout(contains(
        "no cell meets the conditions; this one comes nearest:\n  cell 1: ",
    ));
}

#[test]
fn pictures_come_into_a_report() {
    let folder = with_host();
    let args = ["sweep", "host.toml", "--set", "domain.web.weight=64..256:3"];
    let plots = ["--plot", "share(web):domain.web.weight", "--set"];
    let plots = [&plots[..], &["scheduler.policy=credit,credit2"]].concat();
    let more = [
        "--plot",
        "wake_p99:scheduler.policy",
        "--trade",
        "share(batch),share(web)",
    ];
    let args = [&args[..], &plots, &more].concat();
    let (_, told) = run(&folder, &args);
    assert!(told.contains("wrote out/sweep-host.html"), "{told}");
    let page = fs::read_to_string(folder.path().join("out/sweep-host.html")).unwrap();
    for word in [
        "scheduler.policy=credit2",
        "of the guest that fares worst",
        "6 cells",
    ] {
        assert!(page.contains(word), "{word}");
    }
    let (_, told) = run(&folder, &[&args[..], &["--figures", "pictures"]].concat());
    assert!(told.contains("files with figures to pictures"), "{told}");
}

#[test]
fn cells_of_papers_and_traces_are_swept_as_well() {
    let folder = with_host();
    let cell = [
        "sweep",
        "papers/ongaro2008/test3-orig",
        "--set",
        "run.duration_s=0.2,0.3",
    ];
    let (csv, _) = run(&folder, &[&cell[..], &["--output", "-"]].concat());
    assert!(String::from_utf8(csv).unwrap().lines().count() > 2);
    let trace = ["run", "host.toml", "--trace", "host.domio"];
    domio(&folder).args(trace).assert().success();
    let replayed = [
        "sweep",
        "host.domio",
        "--set",
        "scheduler.policy=credit,round-robin",
    ];
    let (csv, _) = run(&folder, &[&replayed[..], &["--output", "-"]].concat());
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.contains("\n1,0,round-robin,web,"), "{csv}");
}

#[test]
fn what_is_wrong_is_told_before_anything_is_run() {
    let folder = with_host();
    fs::write(folder.path().join("letter.parquet"), "a letter to somebody").unwrap();
    let weight = "--set=domain.web.weight=64,256";
    let cases: [(&[&str], &str); 17] = [
        (&[], "nothing would be left"),
        (&["--output", "rows.txt"], "call the file rows.txt.parquet"),
        (&["--output", "letter.parquet"], "no table that domio wrote"),
        (&["--output", "host.toml"], "call the file"),
        (&["--output", "-", "--json"], "leave one out"),
        (&["--output", "-", "--report"], "a report shows pictures"),
        (
            &["--output", "-", "--set", "x=5..1"],
            "smaller end comes first",
        ),
        (&["--output", "-", "--set", "banana=1,2"], "banana"),
        (
            &["--output", "-", "--set", "scheduler.tslice_ms=1,2000"],
            "tslice_ms=1,2000 has 2000",
        ),
        (&["--output", "-", weight, weight], "is set twice"),
        (
            &["--output", "-", "--set", "run.duration_s=0.5..1.5"],
            "write run.duration_s=0.5..1.5:N",
        ),
        (
            &["--plot", "share(web):weight", weight],
            "here domain.web.weight",
        ),
        (&["--plot", "share(web)", weight], "expected MEASURE:AXIS"),
        (
            &["--trade", "share(web),share(wbe)", weight],
            "near matches: web",
        ),
        (
            &["--trade", "share(web),net(web)", "--design", "search:5"],
            "say what with --find",
        ),
        (&["--find", "share(web)"], "write min or max"),
        (&["--find", "min banana(web)"], "no measure is called"),
    ];
    for (args, words) in cases {
        let told = refused(&folder, &[&["host.toml"], args].concat());
        assert!(told.contains(words), "{args:?}: {told}");
    }
    assert!(!store(&folder).exists(), "nothing was run");
    // What the host does not have is known once a cell was run.
    let told = refused(
        &folder,
        &["host.toml", "--trade", "share(web),ping(web)", weight],
    );
    assert!(
        told.contains("the first cell has no ping of web; it has share_pct"),
        "{told}"
    );
    let unknown = refused(&folder, &["nowhere", "--output", "-"]);
    assert!(
        unknown.contains("no shipped scenario is called \"nowhere\""),
        "{unknown}"
    );
}

/// Twenty processes that are killed at any time lose what they were about to finish, and no more.
#[cfg(unix)]
#[test]
fn a_sweep_goes_on_after_kills() {
    const KILLS: u32 = 20;
    let folder = with_host();
    // Cells that take some 20 ms, and more of them than twenty times a few.
    let axes = [
        "--set",
        "domain.web.weight=1..150",
        "--set",
        "run.duration_s=20",
    ];
    let args = ["sweep", "host.toml", "--output", "rows.parquet"];
    let args = [&args[..], &axes].concat();
    let child = || {
        std::process::Command::new(assert_cmd::cargo::cargo_bin("domio"))
            .args(&args)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut random = RandomStream::new(1, 0, "kills");
    let mut kept: BTreeSet<String> = BTreeSet::new();
    let mut kills = 0;
    for kill in 0..KILLS {
        let mut child = child();
        let enough = kept.len() + random.below(3) as usize;
        let jitter = Duration::from_micros(random.below(9_000));
        let begin = Instant::now();
        // On a busy machine the sweep may come to its end while nobody looks.
        let mut ended = false;
        while !ended
            && rows(&store(&folder)).len() < enough
            && begin.elapsed() < Duration::from_secs(60)
        {
            sleep(Duration::from_millis(2));
            ended = child.try_wait().unwrap().is_some();
        }
        sleep(jitter);
        child.kill().unwrap();
        ended |= child.wait().unwrap().success();
        let now = rows(&store(&folder));
        assert!(
            kept.is_subset(&now),
            "{kill}: something finished was lost or ran again"
        );
        if ended {
            fs::remove_file(folder.path().join("rows.parquet")).unwrap();
            break;
        }
        kept = now;
        kills += 1;
        assert!(!folder.path().join("rows.parquet").exists());
    }
    assert!(kills > 2, "the sweep ended after {kills} kills");
    let kept = rows(&store(&folder));
    assert!(kept.len() > 2, "the kills came in the midst of the work");
    let (_, told) = run(&folder, &args);
    let took = format!("took {} replications from out/results.sqlite", kept.len());
    assert!(told.contains(&took), "{took}: {told}");
    assert!(
        kept.is_subset(&rows(&store(&folder))),
        "nothing finished ran again"
    );
    let other = with_host();
    run(&other, &[&args[..], &["--no-results"]].concat());
    let written = |folder: &TempDir| fs::read(folder.path().join("rows.parquet")).unwrap();
    assert!(
        written(&folder) == written(&other),
        "as if nobody had interrupted"
    );
}
