//! Allocation errors (ALERT) as a picture.

use crate::alert::{AlertOutcome, AlertPoint};
use domio_report::data::{Chart, Line, Lines, Picture, Point, Quantity};
use domio_stats::Estimate;

/// Most policies whose shortest windows are drawn too: a picture distinguishes eight lines.
const BOTH: usize = 4;

/// Relative errors over dom1's allocations: a line for each window of one policy, or for the
/// shortest and the longest windows of several.
pub fn figure(outcomes: &[AlertOutcome]) -> Picture {
    let windows = outcomes.first().map_or(0, |o| o.summary.len());
    let several = outcomes.len() > 1;
    let shown = |i: &usize| {
        let last = i + 1 == windows;
        !several || last || *i == 0 && outcomes.len() <= BOTH
    };
    let shown: Vec<usize> = (0..windows).filter(shown).collect();
    let lines = outcomes.iter().flat_map(|outcome| {
        let line = |i: &usize| {
            let seconds = outcome.summary[*i].seconds;
            Line {
                name: match several {
                    true => format!("{}, {seconds} s", outcome.label),
                    false => format!("windows of {seconds} s"),
                },
                points: outcome.points.iter().map(|p| point(p, *i)).collect(),
            }
        };
        shown.iter().map(line).collect::<Vec<_>>()
    });
    let who = match outcomes {
        [one] => format!("How far dom1 is from its allocation under {}", one.label),
        _ => "How far dom1 is from its allocation".to_owned(),
    };
    let caption = format!("{who}: mean size of the error over windows of several lengths.");
    Picture::new(
        caption,
        Chart::Lines(Lines {
            along: Quantity::new("allocated to dom1", "% of one processor"),
            value: Quantity::new("size of the error (0.01 for less)", "% of the allocation"),
            log: true,
            lines: lines.collect(),
            published: Vec::new(),
        }),
    )
    .named("alert")
}

/// A logarithmic axis has no zero: smaller errors are drawn as this one (% of the allocation).
const LEAST: f64 = 0.01;

fn point(point: &AlertPoint, window: usize) -> Point {
    let errors = &point.windows[window];
    Point {
        x: point.guest.allocated_percent,
        y: Some(Estimate {
            mean: errors.mean_percent.max(LEAST),
            ci95: None,
            deviation: None,
            n: errors.count,
        }),
    }
}
