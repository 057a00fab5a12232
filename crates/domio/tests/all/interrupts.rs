//! Commands that are interrupted or killed: what is kept, and how they go on.

use crate::common::folder;
use crate::results::{run, store};
use domio_sim::RandomStream;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Ctrl-C says what is kept, and the same command takes that.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_says_what_is_kept_and_how_to_go_on() {
    let folder = folder();
    let child = |args: &[&str]| {
        // Whoever runs the tests may ignore what is to be sent.
        std::process::Command::new("env")
            .arg("--default-signal=INT,HUP,TERM")
            .arg(assert_cmd::cargo::cargo_bin("domio"))
            .args(args)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let ended_by = |signal: &str, mut child: std::process::Child, begun: &dyn Fn() -> bool| {
        let begin = Instant::now();
        while !begun() && begin.elapsed() < Duration::from_secs(60) {
            assert!(child.try_wait().unwrap().is_none(), "it ended too early");
            sleep(Duration::from_millis(2));
        }
        let kill = std::process::Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .unwrap();
        assert!(kill.success());
        let out = child.wait_with_output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let interrupted = |child: std::process::Child, begun: &dyn Fn() -> bool| {
        let (status, told) = ended_by("-INT", child, begun);
        assert_eq!(status, Some(130));
        told
    };
    let many = ["run", "burn7", "--replications", "100000", "--quiet"];
    let many = [&many[..], &["--set", "run.duration_s=20"]].concat();
    let told = interrupted(child(&many), &|| rows(&store(&folder)).len() > 2);
    let (before, rest) = told
        .split_once(" finished replications are kept in ")
        .expect(&told);
    let kept: usize = before.rsplit(' ').next().unwrap().parse().unwrap();
    // A last one may be kept after it was counted.
    let there = rows(&store(&folder)).len();
    assert!(kept > 1 && kept <= there, "{kept} of {there}: {told}");
    assert!(
        rest.starts_with("out/results.sqlite; the repeated command takes them"),
        "{told}"
    );
    let fewer = format!("--replications={kept}");
    let again = ["run", "burn7", &fewer, "--set", "run.duration_s=20"];
    let (_, again) = run(&folder, &again);
    assert!(again.contains(" from out/results.sqlite"), "{again}");
    // A command that keeps nothing says that.
    let mark = folder.path().join("mark");
    let long = [
        "run",
        "burn7",
        "--set",
        "run.duration_s=1000000",
        "--trace",
        "mark",
    ];
    let parts = || fs::read_dir(folder.path()).unwrap().count() > 1;
    let told = interrupted(child(&long), &parts);
    assert!(told.contains("interrupted: nothing is kept"), "{told}");
    assert!(!mark.exists());
    // Other signals clean up alike, and have statuses of their own.
    let (status, told) = ended_by("-TERM", child(&long), &parts);
    assert_eq!(status, Some(143));
    assert!(told.contains("interrupted: nothing is kept"), "{told}");
    assert!(!mark.exists() && !parts());
}

#[cfg(unix)]
#[test]
fn what_is_finished_survives_a_kill() {
    killed(6, "3");
}

#[cfg(unix)]
#[test]
#[ignore = "takes a minute; `cargo xtask nightly long` runs it"]
fn what_is_finished_survives_twenty_kills() {
    killed(20, "8");
}

/// So many processes that are killed at any time, and one that is not. With more replications there
/// is more to be finished.
#[cfg(unix)]
fn killed(kills: u32, replications: &str) {
    let folder = folder();
    let args = [
        "reproduce",
        "ongaro.test3",
        "--seconds",
        "1",
        "--replications",
        replications,
        "--json",
    ];
    let child = || {
        std::process::Command::new(assert_cmd::cargo::cargo_bin("domio"))
            .args(args)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut random = RandomStream::new(1, 0, "kills");
    let mut kept: BTreeSet<String> = BTreeSet::new();
    let mut grew = 0;
    for kill in 0..kills {
        let mut child = child();
        // Not before so many more are finished, so that there is something to lose, and then at
        // any time.
        let enough = kept.len() + random.below(3) as usize;
        let jitter = Duration::from_micros(random.below(30_000));
        let begin = Instant::now();
        while rows(&store(&folder)).len() < enough && begin.elapsed() < Duration::from_secs(60) {
            assert!(
                child.try_wait().unwrap().is_none(),
                "{kill}: it ended too early"
            );
            sleep(Duration::from_millis(2));
        }
        sleep(jitter);
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
        let now = rows(&store(&folder));
        // Each row has when it was made and how long it took: one that ran again is another.
        assert!(
            kept.is_subset(&now),
            "{kill}: something finished was lost or ran again"
        );
        grew += usize::from(now.len() > kept.len());
        kept = now;
        // No part of a report is left at its place.
        assert!(
            !folder
                .path()
                .join("out/reproduce-ongaro.test3.html")
                .exists()
        );
    }
    assert!(grew > 2, "the kills came in the midst of the work");
    let (resumed, told) = run(&folder, &args);
    let took = format!("took {} replications from out/results.sqlite", kept.len());
    assert!(told.contains(&took), "{took}: {told}");
    assert!(
        kept.is_subset(&rows(&store(&folder))),
        "nothing finished ran again"
    );
    let other = crate::common::folder();
    let (whole, _) = run(&other, &[&args[..], &["--no-results"]].concat());
    assert!(resumed == whole, "as if nobody had interrupted");
    let report =
        |folder: &TempDir| fs::read(folder.path().join("out/reproduce-ongaro.test3.html")).unwrap();
    assert!(report(&folder) == report(&other));
}

/// What is kept, with when and how each was made.
pub(crate) fn rows(path: &Path) -> BTreeSet<String> {
    if !path.exists() {
        return BTreeSet::new();
    }
    let db = rusqlite::Connection::open(path).unwrap();
    db.busy_timeout(Duration::from_secs(20)).unwrap();
    let sql = "SELECT fingerprint || ' ' || seed || ' ' || replication || ' ' || digest || ' '
                   || made || ' ' || took_us FROM samples";
    // A process that was killed at its very beginning has not made the table.
    let Ok(mut query) = db.prepare(sql) else {
        return BTreeSet::new();
    };
    let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(Result::unwrap).collect()
}
