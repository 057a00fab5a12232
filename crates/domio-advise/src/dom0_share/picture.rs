//! Dom0's share as a picture, and what was left out of it.

use crate::dom0_share::{Dom0Axis, Dom0LeftOut, Dom0Outcome, Dom0Point};
use domio_report::data::{Chart, Line, Lines, Picture, Point, Quantity};
use domio_stats::Estimate;

/// Scores over the first axis that has several values: a line for each policy. `None` when there is
/// no such axis.
pub fn figure(outcome: &Dom0Outcome) -> Option<Picture> {
    let (axis, lines) = Dom0Axis::ALL.into_iter().find_map(|axis| {
        let lines = lines(outcome, axis);
        let several = lines.iter().any(|line| line.points.len() > 1);
        several.then_some((axis, lines))
    })?;
    let (along, unit) = along(axis);
    let chart = Chart::Lines(Lines {
        along: Quantity::new(along, unit),
        value: Quantity::new("service beside the scenario's own setting", ""),
        log: false,
        lines,
        published: Vec::new(),
    });
    let caption = format!(
        "How well the guests are served, by {along}: the geometric mean over the guests, 1 for the \
         scenario's own setting under the first policy."
    );
    Some(Picture::new(caption, chart).named("dom0-share"))
}

fn along(axis: Dom0Axis) -> (&'static str, &'static str) {
    match axis {
        Dom0Axis::Weight => ("weight of dom0", "times a guest's"),
        Dom0Axis::Cap => ("cap of dom0", "% of one processor"),
        Dom0Axis::Slice => ("slice or period", "ms"),
        Dom0Axis::Vcpus => ("vcpus of dom0", ""),
        Dom0Axis::Pin => ("own pcpu of dom0", ""),
    }
}

fn lines(outcome: &Dom0Outcome, axis: Dom0Axis) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for point in &outcome.points {
        let Some(x) = place(point, axis) else {
            continue;
        };
        let y = Some(Estimate {
            mean: point.score,
            ci95: None,
            deviation: None,
            n: 1,
        });
        let drawn = Point { x, y };
        match lines.iter_mut().find(|line| line.name == point.policy) {
            Some(line) => line.points.push(drawn),
            None => lines.push(Line {
                name: point.policy.clone(),
                points: vec![drawn],
            }),
        }
    }
    lines
}

/// Where on `axis` a point is that differs from the scenario's own setting there alone.
fn place(point: &Dom0Point, axis: Dom0Axis) -> Option<f64> {
    match &point.settings[..] {
        [setting] if setting.axis == axis => setting.value,
        _ => None,
    }
}

/// What was left out, and why, as a sentence.
pub fn left_out(left_out: &Dom0LeftOut) -> String {
    let Dom0LeftOut { policy, axis, why } = left_out;
    let what = match axis {
        None => return format!("{policy} is left out: {why}"),
        Some(Dom0Axis::Weight) => "weights",
        Some(Dom0Axis::Cap) => "caps",
        Some(Dom0Axis::Slice) => "slices",
        Some(Dom0Axis::Vcpus) => "vcpus",
        Some(Dom0Axis::Pin) => "a pcpu of dom0's own",
    };
    format!("{what} under {policy} are left out: {why}")
}
