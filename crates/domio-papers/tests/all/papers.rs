//! Papers as data: shipped ones give the figures that they gave, and one that was made up for this
//! test runs without a line of Rust.
//!
//! `UPDATE=1 cargo test -p domio-papers --test papers` writes the digests of the canaries anew.

use domio_papers::folders::{self, PaperFolder};
use domio_papers::paper::{self, Length, Machine, Paper};
use domio_papers::{Effort, LabContext, Registry, experiments};
use domio_run::Sample;
use domio_scenario::Parts;
use domio_stats::quantile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Cells over all tests and configurations of the shipped papers.
const CANARIES: &[&str] = &[
    "ongaro.test1.orig",
    "ongaro.test1.tbs",
    "ongaro.test2.bs",
    "ongaro.test2.sedf",
    "ongaro.test3.all-off",
    "ongaro.test3.orig",
    "ongaro.test4.t",
    "ongaro.test5.ts",
    "ongaro.test6.sedf-patched",
    "ongaro.test7.b",
    "ongaro.test7.s",
    "ongaro.test8.tb",
    "ongaro.fig4.tb",
    "ongaro.fig2.burn7",
    "ongaro.debit.9ms-caught",
    "zeng.table4.credit",
    "gupta.table1.sedf-dc",
    "gupta.table2.guarded",
    "gupta.fig6-r800.sedf",
    "cherkasova.period.100ms",
    "cherkasova.iperf-sedf-capped.weights",
    "cherkasova.servers-credit.counts",
    "cherkasova.loops.bvt",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// 64 bits of FNV-1a over names and bits of all figures: not for defence, but for change.
fn digest(sample: &Sample) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for (name, value) in sample.values() {
        add(name.as_bytes());
        add(&value.to_bits().to_le_bytes());
    }
    for value in sample.list("ping.first_ms") {
        add(&value.to_bits().to_le_bytes());
    }
    format!("{hash:016x}")
}

fn open(path: &Path) -> Result<Paper, String> {
    let folder = PaperFolder::open(&path.display().to_string());
    Paper::read(&folder.map_err(|e| e.to_string())?)
}

fn parts() -> Parts {
    Parts::from(domio_sched::policies())
}

fn registry(paper: &Paper, length: Length) -> Registry {
    let mut registry = Registry::new();
    paper::register(&mut registry, paper, length, &Machine::central()).unwrap();
    registry
}

/// The figures of a dozen cells are, to the last bit, those on record. A change of the model
/// changes them; a change of anything else must not.
#[test]
fn canaries_sing_as_ever() {
    let path = root().join("testdata/canaries.toml");
    let all = experiments::shortened(40);
    let found = CANARIES.iter().map(|name| {
        let experiment = all.find(name).unwrap();
        let cx = LabContext { seed: 1 };
        let samples = [0, 1].map(|n| digest(&experiment.run(&cx, n).unwrap()));
        ((*name).to_owned(), samples.to_vec())
    });
    let found: BTreeMap<String, Vec<String>> = found.collect();
    if std::env::var_os("UPDATE").is_some() {
        let mut text = "# Digests of samples, by experiment: replications 0 and 1 of seed 1, a \
                        fortieth of the time.\n# See crates/domio-papers/tests/all/papers.rs.\n"
            .to_owned();
        text += &toml::to_string(&found).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    let recorded: BTreeMap<String, Vec<String>> = toml::from_str(&recorded).unwrap();
    for (name, digests) in &found {
        assert_eq!(
            Some(digests),
            recorded.get(name),
            "{name} has other figures"
        );
    }
}

/// The calibration on figure 4: round trips "usually around 0.2-0.3ms", and spikes.
#[test]
fn pings_of_figure_4_take_as_long_as_published() {
    let paper = Paper::read(&folders::find("ongaro2008").unwrap()).unwrap();
    let registry = registry(&paper, Length::Effort(Effort::Full));
    let cell = registry.find("ongaro.fig4.tb").unwrap();
    let run = |n| cell.run(&LabContext { seed: 1 }, n).unwrap();
    let round_trips: Vec<f64> = (0..5)
        .flat_map(|n| run(n).list("ping.first_ms").to_vec())
        .collect();
    let usual = round_trips.iter().copied().filter(|ms| *ms < 1.0);
    let usual: Vec<f64> = usual.collect();
    assert!(usual.len() * 10 > round_trips.len() * 7, "{round_trips:?}");
    let [low, high] = [0.02, 0.98].map(|q| quantile(&usual, q).expect("some are usual"));
    let published = [(low, 0.2), (high, 0.3)];
    let near = |(ms, published): &(f64, f64)| (ms - published).abs() < 0.01;
    assert!(published.iter().all(near), "{published:?}");
}

/// A fifth of the cells of all shipped papers.
#[test]
fn cells_are_scenarios() {
    check_cells(5);
    assert!(
        paper::scenario("papers/ongaro2008/test9-orig", &parts())
            .unwrap()
            .is_none()
    );
    assert!(paper::scenario("burn7", &parts()).unwrap().is_none());
}

#[test]
#[ignore = "takes a while; `cargo xtask nightly long` runs it"]
fn every_cell_is_a_scenario() {
    check_cells(1);
}

/// Each `step`-th cell is a scenario by its name, and has the same text each time.
fn check_cells(step: usize) {
    let papers = paper::shipped();
    let cells: Vec<_> = papers.iter().flat_map(Paper::cells).collect();
    for cell in cells.iter().step_by(step) {
        let scenario = paper::scenario(&cell.path(), &parts()).unwrap().unwrap();
        assert_eq!(scenario.name(), cell.path());
        assert!(scenario.plan().vary.iter().all(|vary| vary.from < vary.to));
        assert_eq!(scenario.text(), paper::text(&cell.path()).unwrap().unwrap());
    }
}

/// A folder of TOML is all that a paper takes.
#[test]
fn a_made_up_paper_runs_without_rust() {
    let folder = root().join("testdata/papers/made-up");
    let paper = open(&folder).unwrap();
    let names: Vec<String> = paper.cells().map(|cell| cell.experiment()).collect();
    assert_eq!(
        names,
        [
            "made-up.web.credit",
            "made-up.web.turns",
            "made-up.alone.credit",
        ]
    );
    let registry = registry(&paper, Length::Shortened(1));
    let run = |name: &str, n| {
        let experiment = registry.find(name).unwrap();
        experiment.run(&LabContext { seed: 1 }, n).unwrap()
    };
    let (credit, turns) = (run("made-up.web.credit", 0), run("made-up.web.turns", 0));
    assert_ne!(
        credit,
        run("made-up.web.credit", 1),
        "replications start at other times"
    );
    let wait = |sample: &Sample| sample.get("guest1.wake_p95_us").unwrap();
    assert!(
        wait(&credit) < wait(&turns),
        "boosted: {credit:?} {turns:?}"
    );
    let shares = ["guest2", "guest3"].map(|g| credit.get(&format!("{g}.share_pct")).unwrap());
    let average = credit.get("burners.share_pct").unwrap();
    assert!((shares.iter().sum::<f64>() / 2.0 - average).abs() < 1e-9);
    let alone = run("made-up.alone.credit", 0);
    assert!(wait(&alone) < wait(&turns));

    // By a path to its folder it goes by the commands, too.
    let path = folder.join("web-turns").display().to_string();
    let scenario = paper::scenario(&path, &parts()).unwrap().unwrap();
    assert_eq!(scenario.plan().policy.descriptor.name, "round-robin");
    // The machine's own figures are in the scenario, and another machine has others.
    let tick =
        |scenario: &domio_scenario::Scenario| scenario.plan().host.profile.cache_refill.as_nanos();
    assert_eq!(tick(&scenario), 9_000);
    let change = (
        "host.costs.cache_refill_us".to_owned(),
        toml::Value::Integer(4),
    );
    let cell = paper.cell("web-turns").unwrap();
    let other = cell.scenario(Length::Seconds(1), &Machine::with(vec![change]));
    assert_eq!(tick(&other.unwrap()), 4_000);
}

/// Mistakes say where they are and what was expected.
#[test]
fn mistakes_of_a_paper_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let made_up = root().join("testdata/papers/made-up");
    let told = |file: &str, from: &str, to: &str| {
        for name in ["paper.toml", "machine.toml", "cells.toml"] {
            let text = std::fs::read_to_string(made_up.join(name)).unwrap();
            let text = match name == file {
                true => {
                    assert!(text.contains(from), "{from}");
                    text.replace(from, to)
                }
                false => text,
            };
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let paper = match open(folder.path()) {
            Ok(paper) => paper,
            Err(told) => return told,
        };
        let registry = registry(&paper, Length::Shortened(1));
        let run = registry.find("made-up.web.credit").unwrap();
        run.run(&LabContext { seed: 1 }, 0).unwrap_err()
    };
    let wrong = told("cells.toml", "patience_s", "patince_s");
    assert!(
        wrong.contains("cells.toml") && wrong.contains("patince_s"),
        "{wrong}"
    );
    let wrong = told("cells.toml", "\"burner x 2\"", "\"burnr x 2\"");
    assert!(wrong.contains("no role \"burnr\""), "{wrong}");
    let wrong = told(
        "cells.toml",
        "measure = \"wake_p95_us\"",
        "measure = \"wake_p96_us\"",
    );
    assert!(
        wrong.contains("wake_p96_us") && wrong.contains("wake_p95_us"),
        "{wrong}"
    );
    let wrong = told("machine.toml", "cache_refill_us", "cache_refil_us");
    assert!(wrong.contains("cache_refill_us"), "{wrong}");
    let wrong = told("machine.toml", "from = 1\n", "from = 30\n");
    assert!(wrong.contains("unknown \"cache refill\""), "{wrong}");
    let wrong = told("paper.toml", "id =", "ident =");
    assert!(
        wrong.contains("paper.toml") && wrong.contains("id"),
        "{wrong}"
    );
}
