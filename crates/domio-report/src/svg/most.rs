//! Pictures of many bars: the worst of them, and how many are left out.

use crate::data::{BarGroup, Chart, StackBar};
use std::borrow::Cow;

/// Most rows of bars of one picture: a page of paper has room for so many. Tables have all.
pub const ROWS_MAX: usize = 24;

/// The chart with the rows that are drawn, in their order, and how many are left out.
///
/// Of bars that are made of parts the longest are drawn. Of bars of several series those are drawn
/// whose series differ most, by the factor between the least and the largest; of one series the
/// longest. What is compared with values that a paper prints is drawn whole.
pub fn drawn(chart: &Chart) -> (Cow<'_, Chart>, usize) {
    let whole = (Cow::Borrowed(chart), 0);
    match chart {
        Chart::Stack(stack) if stack.bars.len() > ROWS_MAX => {
            let mut stack = stack.clone();
            let left_out = keep(&mut stack.bars, |bar: &StackBar| {
                let lengths = bar.lengths.iter().filter(|length| length.is_finite());
                [lengths.sum(), 0.0]
            });
            (Cow::Owned(Chart::Stack(stack)), left_out)
        }
        Chart::Bars(bars) if bars.groups.len() > ROWS_MAX && bars.published.is_empty() => {
            let mut bars = bars.clone();
            let left_out = keep(&mut bars.groups, apart);
            (Cow::Owned(Chart::Bars(bars)), left_out)
        }
        _ => whole,
    }
}

/// What a picture says of rows that are left out.
pub fn said(left_out: usize) -> String {
    format!("The {ROWS_MAX} worst are drawn; {left_out} more are in the table.")
}

/// How far the bars of a group are apart, then the longest of them.
fn apart(group: &BarGroup) -> [f64; 2] {
    let means = group.bars.iter().flatten().map(|bar| bar.mean.abs());
    let means = means.filter(|mean| mean.is_finite());
    let (least, most) = means.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), mean| {
        (least.min(mean), most.max(mean))
    });
    let factor = match least {
        _ if group.bars.len() < 2 || least == most => 1.0,
        0.0 => f64::INFINITY,
        least => most / least,
    };
    [factor, most]
}

/// Keeps the [`ROWS_MAX`] of `all` with the largest numbers, the first number first, in their
/// order. Returns how many go.
fn keep<T>(all: &mut Vec<T>, bad: impl Fn(&T) -> [f64; 2]) -> usize {
    let mut ranked: Vec<(usize, [f64; 2])> = all.iter().map(bad).enumerate().collect();
    // Stable, so that of equal ones the first are drawn.
    ranked.sort_by(|(_, a), (_, b)| b[0].total_cmp(&a[0]).then(b[1].total_cmp(&a[1])));
    let mut stays = vec![false; all.len()];
    for (place, _) in ranked.iter().take(ROWS_MAX) {
        stays[*place] = true;
    }
    let mut stays = stays.into_iter();
    let before = all.len();
    all.retain(|_| stays.next().unwrap_or(false));
    before - all.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Bars, Stack};
    use crate::svg::{NARROW, WIDE, draw};
    use domio_stats::Estimate;

    fn stack(bars: usize) -> Chart {
        let bar = |n: usize| StackBar {
            name: format!("guest{n}.0"),
            lengths: vec![n as f64, 1.0],
        };
        Chart::Stack(Stack {
            parts: vec!["slice over".into(), "preempted".into()],
            bars: (0..bars).map(bar).collect(),
            ..Stack::default()
        })
    }

    #[test]
    fn the_longest_are_drawn_in_their_order() {
        let few = stack(ROWS_MAX);
        assert_eq!(drawn(&few), (Cow::Borrowed(&few), 0));
        let chart = stack(60);
        let (shown, left_out) = drawn(&chart);
        let Chart::Stack(shown) = shown.as_ref() else {
            panic!("a stack");
        };
        assert_eq!((shown.bars.len(), left_out), (24, 36));
        assert_eq!(shown.bars[0].name, "guest36.0");
        assert_eq!(shown.bars[23].name, "guest59.0");
    }

    #[test]
    fn pictures_say_how_many_are_left_out() {
        for width in [WIDE, NARROW] {
            let picture = draw(&stack(60), width).unwrap().into_string();
            assert!(picture.contains("36 more are in the table"), "{picture}");
            assert!(picture.contains("guest59.0") && !picture.contains("guest35.0"));
            let all = draw(&stack(24), width).unwrap().into_string();
            assert!(!all.contains("more are in the table"));
        }
    }

    #[test]
    fn of_several_series_those_are_drawn_that_differ_most() {
        let group = |name: String, values: &[f64]| BarGroup {
            name,
            bars: values.iter().map(|v| Estimate::of(&[*v])).collect(),
            marks: Vec::new(),
        };
        let alike = (0..40).map(|n| group(format!("large{n}"), &[900.0, 901.0]));
        let mut groups: Vec<BarGroup> = alike.collect();
        groups.push(group("small".into(), &[1.0, 9.0]));
        let chart = Chart::Bars(Bars {
            series: vec!["credit".into(), "credit2".into()],
            groups,
            ..Bars::default()
        });
        let (shown, left_out) = drawn(&chart);
        let Chart::Bars(shown) = shown.as_ref() else {
            panic!("bars");
        };
        assert_eq!((shown.groups.len(), left_out), (24, 17));
        assert_eq!(shown.groups[23].name, "small");
    }
}
