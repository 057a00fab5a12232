//! Every entry of a legend has a mark that can be seen, in every kind of picture, for the data at
//! which one is easily lost: one value, equal values, zeros, nothing, more series than colours.

use super::{NARROW, WIDE, draw};
use crate::data::*;
use domio_core::Runstate;
use domio_stats::Estimate;
use std::collections::BTreeSet;

/// Looks of shapes: classes that tell series or kinds of marks apart.
const LOOKS: [&str; 19] = [
    "c0",
    "c1",
    "c2",
    "c3",
    "c4",
    "c5",
    "c6",
    "c7",
    "mean",
    "sure",
    "peak",
    "range",
    "published",
    "any",
    "run",
    "waits",
    "blocked",
    "offline",
    "worst",
];

/// Looks of the shapes in `svg` that can be seen.
fn seen(svg: &str) -> BTreeSet<&'static str> {
    let mut seen = BTreeSet::new();
    for tag in svg.split('<').skip(1).filter_map(|t| t.split('>').next()) {
        let value = |name: &str| -> Option<&str> {
            tag.split_once(&format!(" {name}=\""))?.1.split('"').next()
        };
        let number = |name: &str| {
            value(name)
                .and_then(|v| v.parse::<f64>().ok())
                .unwrap_or(0.0)
        };
        let far = |a: &str, b: &str| (number(a) - number(b)).abs() > 0.35;
        let visible = match tag.split(' ').next() {
            Some("rect") => number("width") > 0.35 && number("height") > 0.35,
            Some("circle") => number("r") >= 1.0,
            Some("line") => far("x1", "x2") || far("y1", "y2"),
            Some("path") => {
                let shape = value("d").unwrap_or_default();
                let places = shape
                    .split(|c: char| "MLHV ".contains(c))
                    .filter(|p| !p.is_empty());
                places.collect::<BTreeSet<_>>().len() > 1
            }
            _ => false,
        };
        if visible {
            let classes = value("class").unwrap_or_default().split(' ');
            seen.extend(
                LOOKS
                    .into_iter()
                    .filter(|look| classes.clone().any(|c| c == *look)),
            );
        }
    }
    seen
}

/// What the legends of `svg` show, and what the picture shows.
fn told_and_shown(svg: &str) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let (mut legends, mut rest) = (String::new(), String::new());
    for (i, part) in svg.split("<g class=\"legend").enumerate() {
        let (legend, picture) = match i {
            0 => ("", part),
            _ => part.split_once("</g>").expect("a whole group"),
        };
        legends += legend;
        rest += picture;
    }
    (seen(&legends), seen(&rest))
}

fn assert_marked(what: &str, chart: &Chart) {
    for width in [WIDE, NARROW] {
        let svg = draw(chart, width).expect("a picture").into_string();
        let (told, mut shown) = told_and_shown(&svg);
        // The legend shows running without the colour of a domain.
        if shown.contains("run") {
            shown.insert("any");
        }
        let missing: Vec<_> = told.difference(&shown).collect();
        assert!(
            missing.is_empty(),
            "{what}: {missing:?} in the legend alone\n{svg}"
        );
    }
}

/// Lists at which marks are lost, and more of them than there are colours.
fn lists() -> Vec<Vec<f64>> {
    let mut lists = vec![
        vec![5.0],
        vec![7.0; 40],
        vec![0.0; 3],
        vec![],
        vec![0.0, 0.0, 300.0],
        vec![f64::NAN],
    ];
    lists.extend((0..8).map(|i| vec![f64::from(i), 40.0]));
    lists
}

/// The first `count` lists with names.
fn named(count: usize) -> Vec<(String, Vec<f64>)> {
    let lists = lists().into_iter().take(count).enumerate();
    lists.map(|(i, list)| (format!("d{i}"), list)).collect()
}

fn estimate(list: &[f64]) -> Option<Estimate> {
    let finite: Vec<f64> = list.iter().copied().filter(|v| v.is_finite()).collect();
    Estimate::of(&finite)
}

const COUNTS: [usize; 4] = [1, 2, 6, 14];

#[test]
fn in_distributions_and_sequences() {
    for count in COUNTS {
        let series = named(count);
        let cdf = Cdf {
            value: Quantity::new("wait", "us"),
            series: series.iter().map(|(n, l)| CdfSeries::of(n, l)).collect(),
        };
        assert_marked("cdf", &Chart::Cdf(cdf));
        for log in [true, false] {
            let finite = |(n, l): &(String, Vec<f64>)| {
                (
                    n.clone(),
                    l.iter().copied().filter(|v| v.is_finite()).collect(),
                )
            };
            let sequence = Sequence {
                count: "ping".into(),
                value: Quantity::new("wait", "us"),
                log,
                series: series.iter().map(finite).collect(),
                published: vec![([1.0, 1.0], "1".into())],
            };
            assert_marked("sequence", &Chart::Sequence(sequence));
        }
    }
}

#[test]
fn in_bars_stacks_and_lines() {
    for count in COUNTS {
        let series = named(count);
        let names: Vec<String> = series.iter().map(|(n, _)| n.clone()).collect();
        let means: Vec<Option<Estimate>> = series.iter().map(|(_, l)| estimate(l)).collect();
        for log in [Some(true), Some(false), None] {
            let bars = Bars {
                series: names.clone(),
                log,
                groups: vec![BarGroup {
                    name: "web".into(),
                    bars: means.clone(),
                    marks: Vec::new(),
                }],
                ..Bars::default()
            };
            assert_marked("bars", &Chart::Bars(bars));
        }
        let stack = Stack {
            value: Quantity::new("time", "%"),
            parts: names.clone(),
            bars: vec![StackBar {
                name: "web".into(),
                lengths: series
                    .iter()
                    .map(|(_, l)| l.first().copied().unwrap_or(0.0))
                    .collect(),
            }],
        };
        assert_marked("stack", &Chart::Stack(stack));
        let line = |(name, y): (&String, &Option<Estimate>)| Line {
            name: name.clone(),
            points: vec![Point { x: 1.0, y: *y }],
        };
        let lines = Lines {
            lines: names.iter().zip(&means).map(line).collect(),
            published: vec![(1.0, 3.0, "3".into())],
            ..Lines::default()
        };
        assert_marked("lines", &Chart::Lines(lines));
    }
}

#[test]
fn in_panels() {
    let cell = |mean: Option<f64>, range: Option<[f64; 2]>, marks: &[f64]| PanelCell {
        mean: mean.and_then(|m| Estimate::of(&[m])),
        range,
        marks: vec![marks.to_vec(), Vec::new()],
        ..PanelCell::default()
    };
    for log in [true, false] {
        for cell in [
            cell(None, None, &[]),
            cell(Some(0.0), Some([0.0, 0.0]), &[0.0]),
            cell(Some(3.0), Some([3.0, 3.0]), &[]),
            cell(Some(3.0), None, &[3.0]),
            cell(None, Some([1.0, 2.0]), &[1.0]),
        ] {
            let panel = Panel {
                log,
                mean: "average".into(),
                range: "range".into(),
                marks: vec![
                    (MarkShape::Cross, "each".into()),
                    (MarkShape::Box, "none".into()),
                ],
                cells: vec![cell],
                ..Panel::default()
            };
            let panels = Panels {
                columns: vec!["orig".into()],
                panels: vec![panel],
            };
            assert_marked("panels", &Chart::Panels(panels));
        }
    }
}

#[test]
fn in_timelines() {
    for count in [1, 3, 14] {
        for states in [
            &Runstate::ALL[..],
            &[Runstate::Runnable],
            &[Runstate::Running],
            &[],
        ] {
            let span = |(owner, from): (usize, u64), state: Runstate| TimelineSpan {
                from_ns: from,
                until_ns: from + 1,
                owner,
                state,
            };
            let row = |owner: usize| TimelineRow {
                name: format!("d{owner} v0"),
                spans: states
                    .iter()
                    .zip((0..).step_by(10_000))
                    .map(|(state, from)| span((owner, from), *state))
                    .collect(),
            };
            let timeline = Timeline {
                from_ns: 0,
                until_ns: 100_000,
                // The last one is in no row.
                owners: (0..=count).map(|i| format!("d{i}")).collect(),
                rows: (0..count).map(row).collect(),
                worst: None,
            };
            assert_marked("timeline", &Chart::Timeline(timeline));
        }
    }
}

/// The checks above can fail.
#[test]
fn a_lost_mark_is_found() {
    let legend =
        "<g class=\"legend\"><line class=\"curve c0\" x1=\"0\" y1=\"1\" x2=\"9\" y2=\"1\">";
    let lost = format!("{legend}</line></g><path class=\"curve c0\" d=\"M1,2\"></path>");
    assert_eq!(
        told_and_shown(&lost),
        (BTreeSet::from(["c0"]), BTreeSet::new())
    );
    let there = lost.replace("M1,2", "M1,2 V5");
    assert_eq!(told_and_shown(&there).1, BTreeSet::from(["c0"]));
}
