//! Figures that are built from files and samples made up for the purpose.

use super::*;
use crate::data::Section;
use crate::pictures::{PaperPictures, draws, read, sections};
use domio_papers::ledger::{ClaimResult, LedgerEntry};
use domio_papers::{ClaimLedger, Claims};

const FILE: &str = r#"
sets = { c = ["orig", "tb", "bs"] }

[panels.bandwidth]
name = "bandwidth"
unit = "Mb/s"
axis = "linear"
mean = { name = "average", value = "streams.average_mbps" }
range = { name = "ends", low = "streams.lowest_mbps", high = "streams.highest_mbps" }
marks = [{ shape = "cross", name = "each", values = "guest{1..2}.rate_mbps" }]

[panels.latency]
name = "latency"
unit = "ms"
mean.name = "average"
mean.value = "ping.mean_ms"
mean.count = "ping.replies"
mean.deviation = "ping.deviation_ms"
mean.labelled = true
mean.none = "no reply"
range = { name = "deviation" }
remark = { name = "replies", value = "ping.replies" }

[[figure]]
id = "one"
number = "Figure 11"
title = "three"
caption = "c"
claims = ["ongaro.test7"]
kind = "panels"
experiments = "lab.{c}"
panels = ["bandwidth", "latency"]
published = [{ panel = "latency", at = "orig", value = 36600 }]

[[figure]]
id = "two"
number = "Table IV"
title = "lines"
caption = "c"
kind = "lines"
experiments = "lab.orig"
value = { name = "turnaround", unit = "s" }
values = "x{1..2}.turnaround_s"
along = { name = "times", at = [1, 2] }
published = [{ at = "2", value = 7.5 }]

[[figure]]
id = "three"
number = "Figure 12"
title = "lists"
caption = "c"
kind = "cdf"
experiments = "lab.{c}"
value = { name = "wait", unit = "ms" }
list = "waits_ms"

[[figure]]
id = "four"
number = "Figure 13"
title = "shares"
caption = "c"
kind = "stack"
experiments = "lab.{c}"
value = { name = "share", unit = "%" }
values = ["guest{1..2}.rate_mbps"]

[[figure]]
id = "five"
number = "Figure 14"
title = "not run"
caption = "c"
kind = "bars"
experiments = "other"
value = { name = "share", unit = "%" }
values = "v"
"#;

fn streams() -> Sample {
    let mut sample = Sample::new()
        .with("streams.average_mbps", 100.0)
        .with("streams.lowest_mbps", 20.0)
        .with("streams.highest_mbps", 180.0)
        .with("guest1.rate_mbps", 20.0)
        .with("guest2.rate_mbps", 180.0)
        .with("x1.turnaround_s", 3.0)
        .with("x2.turnaround_s", 6.0);
    sample.set_list("waits_ms", vec![1.0, 2.0]);
    sample
}

fn drawn() -> (Vec<PaperPictures>, Vec<Section>) {
    let pings = streams()
        .with("ping.mean_ms", 20.0)
        .with("ping.deviation_ms", 30.0)
        .with("ping.replies", 400.0);
    let none = streams().with("ping.replies", 0.0);
    let twice = streams()
        .with("ping.mean_ms", 50.0)
        .with("ping.deviation_ms", 30.0)
        .with("ping.replies", 200.0);
    let all: All = [
        ("lab.orig".to_owned(), vec![none.clone()]),
        ("lab.bs".to_owned(), vec![pings, none, twice]),
    ]
    .into();
    let claims = Claims::shipped();
    let entry = |claim: &domio_papers::Claim| LedgerEntry {
        claim: claim.clone(),
        finding: ClaimResult::not_implemented(),
    };
    let ledger = ClaimLedger {
        entries: claims.iter().map(entry).collect(),
    };
    let papers = vec![read("p", FILE).unwrap()];
    let sections = sections(&papers, &all, &ledger);
    (papers, sections)
}

#[test]
fn figures_come_with_their_claims_where_there_are_samples() {
    let (papers, sections) = drawn();
    let titles: Vec<&str> = sections.iter().map(|s| s.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Figure 11: three",
            "Table IV: lines",
            "Figure 12: lists",
            "Figure 13: shares"
        ]
    );
    let Chart::Claims(entries) = &sections[0].figures[1].chart else {
        panic!("no claims");
    };
    assert!(
        entries
            .iter()
            .all(|e| e.claim.id.starts_with("ongaro.test7."))
    );
    assert_eq!(sections[1].figures.len(), 1, "nothing is claimed");
    assert!(draws(&papers, "lab.tb") && draws(&papers, "other"));
    assert!(!draws(&papers, "lab") && !draws(&papers, "lab.s"));
}

#[test]
fn a_cell_has_what_its_guests_do() {
    let (_, sections) = drawn();
    let Chart::Panels(panels) = &sections[0].figures[0].chart else {
        panic!("no panels");
    };
    let [bandwidth, latency] = panels.panels.as_slice() else {
        panic!("two panels");
    };
    assert_eq!(bandwidth.cells[0].marks, [[20.0, 180.0]]);
    assert_eq!(bandwidth.cells[0].range, Some([20.0, 180.0]));
    assert_eq!(bandwidth.cells[1], PanelCell::default(), "not run");
    assert!(latency.log, "30 ms beside 36.6 s");
    assert_eq!(latency.cells[0].label, "no reply");
    assert_eq!(
        latency.cells[0].published,
        [(36_600.0, "36.6 s".to_owned())]
    );
    let [low, high] = latency.cells[2].range.expect("a deviation");
    assert!(low < 0.0 && high > 50.0);
    assert_eq!(latency.cells[2].label, "30.0 ms", "of all 600 round trips");
    assert_eq!(latency.cells[2].remark, "200");
}

#[test]
fn lines_lists_and_stacks_have_their_samples() {
    let (_, sections) = drawn();
    let Chart::Lines(lines) = &sections[1].figures[0].chart else {
        panic!("no lines");
    };
    let points = &lines.lines[0].points;
    assert_eq!((points[1].x, points[1].y.unwrap().mean), (2.0, 6.0));
    assert_eq!(lines.published, [(2.0, 7.5, "7.5 s".to_owned())]);
    let Chart::Cdf(cdf) = &sections[2].figures[0].chart else {
        panic!("no distribution");
    };
    let counts: Vec<u64> = cdf.series.iter().map(|s| s.count).collect();
    assert_eq!(
        counts,
        [2, 6],
        "of all replications, without what was not run"
    );
    let Chart::Stack(stack) = &sections[3].figures[0].chart else {
        panic!("no stack");
    };
    assert_eq!(stack.bars[0].lengths, [20.0, 180.0]);
    assert_eq!(stack.parts, ["guest1", "guest2"]);
}

/// One replication of an experiment of each shipped figure measures what the figure draws. Where
/// experiments of two kinds are side by side each value is measured by one of them.
#[test]
fn shipped_figures_draw_what_experiments_measure() {
    let registry = domio_papers::experiments::shortened(50);
    // Where what is measured is too rare for so short a time.
    let longer = domio_papers::experiments::shortened(10);
    let cx = domio_papers::LabContext { seed: 1 };
    let claims = Claims::shipped();
    let mut all = All::new();
    let papers = crate::pictures::of(&domio_papers::folders::shipped()).unwrap();
    for figure in papers.iter().flat_map(|p| &p.figures) {
        for member in &figure.experiments {
            let known = registry.find(&member.key).is_some();
            assert!(
                known,
                "{}: there is no experiment {}",
                figure.id, member.key
            );
        }
        for prefix in &figure.claims {
            let known = claims.iter().any(|c| c.has_prefix(prefix));
            assert!(known, "{}: no claim begins with {prefix}", figure.id);
        }
        let mut left = figure.values();
        for member in figure.experiments.iter().rev() {
            let run =
                |r: &domio_papers::Registry| r.find(&member.key).unwrap().run(&cx, 0).unwrap();
            let lacks = |sample: &Sample, value: &str| {
                sample.get(value).is_none() && sample.list(value).is_empty()
            };
            let samples = all.entry(member.key.clone());
            let samples = samples.or_insert_with(|| vec![run(&registry)]);
            if left.iter().all(|value| lacks(&samples[0], value)) {
                samples[0] = run(&longer);
            }
            let before = left.len();
            left.retain(|value| lacks(&samples[0], value));
            assert!(left.len() < before, "{}: {}", figure.id, member.key);
            if left.is_empty() {
                break;
            }
        }
        assert!(left.is_empty(), "{}: nobody measures {left:?}", figure.id);
        assert!(super::figure("paper", figure, &all).is_some());
    }
}
