//! What a chart shows, in a sentence that is computed from its data: for readers who do not see
//! the picture, and for those who have no time to look.

use crate::data::{
    BarGroup, Bars, Cdf, Chart, Lines, Panel, Panels, Sequence, Stack, Timeline, TimelineRow,
};
use crate::written;
use domio_core::Runstate;
use domio_stats::Estimate;
use domio_stats::gains::PART;

/// Differences that are told of a chart at most.
const TOLD_MAX: usize = 3;

/// What kind of picture it is, of what, and what it shows.
pub fn alt(chart: &Chart) -> String {
    let kind = match chart {
        Chart::Bars(bars) => format!("Bar chart of {}", bars.value.name),
        Chart::Stack(stack) => format!("Stacked bar chart of {}", stack.value.name),
        Chart::Cdf(cdf) => format!("Distribution of {}", cdf.value.name),
        Chart::Timeline(_) => "Timeline of runstates".to_owned(),
        Chart::Panels(panels) => {
            let names: Vec<&str> = panels
                .panels
                .iter()
                .map(|p| p.value.name.as_str())
                .collect();
            format!("Chart of {}", names.join(", "))
        }
        Chart::Sequence(s) => format!("{} of {} after {}", s.value.name, s.count, s.count),
        Chart::Lines(lines) => format!("{} by {}", lines.value.name, lines.along.name),
        Chart::Table(_) | Chart::Claims(_) => return String::new(),
    };
    match finding(chart) {
        finding if finding.is_empty() => kind,
        finding => format!("{kind}. {finding}"),
    }
}

/// What the chart shows; empty where there is nothing to say.
pub fn finding(chart: &Chart) -> String {
    let sentences = match chart {
        Chart::Bars(bars) => of_bars(bars),
        Chart::Stack(stack) => of_stack(stack),
        Chart::Cdf(cdf) => of_cdf(cdf),
        Chart::Timeline(timeline) => of_timeline(timeline),
        Chart::Panels(panels) => of_panels(panels),
        Chart::Sequence(sequence) => of_sequence(sequence),
        Chart::Lines(lines) => of_lines(lines),
        Chart::Table(_) | Chart::Claims(_) => Vec::new(),
    };
    sentences.join(" ")
}

/// With several series, where they differ most; with one, its largest and its smallest bar.
fn of_bars(bars: &Bars) -> Vec<String> {
    let name = &bars.value.name;
    if bars.series.len() > 1 {
        let mut found: Vec<(f64, String)> = bars
            .groups
            .iter()
            .filter_map(|group| difference(bars, group))
            .collect();
        // Stable, so that groups of one size stay in their order.
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let told: Vec<String> = found
            .into_iter()
            .map(|(_, told)| told)
            .take(TOLD_MAX)
            .collect();
        return match told.is_empty() && bars.groups.iter().any(|g| g.bars.len() > 1) {
            true => vec![format!(
                "No difference in {name} is beyond the 95 % intervals."
            )],
            false => told,
        };
    }
    let values: Vec<(&str, &Estimate)> = bars
        .groups
        .iter()
        .filter_map(|g| Some((g.name.as_str(), g.bars.first()?.as_ref()?)))
        .collect();
    extremes(&values, &bars.value.unit).into_iter().collect()
}

/// "web, wake to run: sedf has 7.6 times as much as credit (1 ms -> 7.6 ms)": the largest ratio of
/// two series of the group, where their intervals do not meet. A twentieth of the longest bar is
/// added to both before sizes are compared, so that a bar which nobody can see is none of note,
/// and one from nothing is as large as its length.
fn difference(bars: &Bars, group: &BarGroup) -> Option<(f64, String)> {
    let known = || {
        let all = bars.series.iter().zip(&group.bars);
        all.filter_map(|(name, bar)| Some((name, bar.as_ref()?)))
            .filter(|(_, e)| e.mean.is_finite() && e.mean >= 0.0)
    };
    let low = known().min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    let high = known().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    let apart = match (low.1.ci95, high.1.ci95) {
        (Some([_, low]), Some([high, _])) => low < high,
        // One replication proves nothing, but is all that is known.
        _ => low.1.mean < high.1.mean,
    };
    if !apart || high.1.mean <= 0.0 {
        return None;
    }
    let (value, group) = (&bars.value.name, &group.name);
    let bars_of_all = bars.groups.iter().flat_map(|g| g.bars.iter().flatten());
    let longest = bars_of_all.map(|e| e.mean).fold(high.1.mean, f64::max);
    let floor = longest * PART;
    let size = ((high.1.mean + floor) / (low.1.mean + floor)).ln();
    // From the first series to the later one, as all comparisons are told.
    let place = |name: &str| bars.series.iter().position(|series| series == name);
    let [from, to] = match place(low.0) < place(high.0) {
        true => [low, high],
        false => [high, low],
    };
    let much = match to.1.mean / from.1.mean {
        ratio if !ratio.is_finite() => "some, unlike".to_owned(),
        0.0 => "none, unlike".to_owned(),
        ratio if ratio >= 2.0 => format!("{} times as much as", written::short(ratio)),
        ratio if ratio >= 1.0 => format!("{:.0} % more than", (ratio - 1.0) * 100.0),
        ratio => format!("{} % less than", written::short((1.0 - ratio) * 100.0)),
    };
    let [from_name, to_name] = [from.0, to.0];
    let [from, to] = [from.1.mean, to.1.mean].map(|mean| written::brief(mean, &bars.value.unit));
    let told = format!("{group}, {value}: {to_name} has {much} {from_name} ({from} -> {to}).");
    Some((size, told))
}

/// "Most: web with 45 %. Least: batch with 3 %."
fn extremes(values: &[(&str, &Estimate)], unit: &str) -> Option<String> {
    let by_mean = |a: &&(&str, &Estimate), b: &&(&str, &Estimate)| a.1.mean.total_cmp(&b.1.mean);
    // The first of several that are equal.
    let most = values.iter().rev().max_by(by_mean)?;
    let least = values.iter().min_by(by_mean)?;
    let value = |e: &Estimate| written::with_unit(&written::estimate(e), unit);
    Some(match most.0 == least.0 {
        true => format!("{}: {}.", most.0, value(most.1)),
        false => format!(
            "Most: {} with {}. Least: {} with {}.",
            most.0,
            value(most.1),
            least.0,
            value(least.1)
        ),
    })
}

/// The largest part of each of the first bars.
fn of_stack(stack: &Stack) -> Vec<String> {
    let largest = |bar: &crate::data::StackBar| {
        let parts = stack.parts.iter().zip(&bar.lengths);
        let known = parts.filter(|(_, length)| length.is_finite() && **length > 0.0);
        let (part, length) = known.max_by(|a, b| a.1.total_cmp(b.1))?;
        let value = written::with_unit(&written::number(*length), &stack.value.unit);
        Some(format!("{}: most is {part}, {value}.", bar.name))
    };
    stack
        .bars
        .iter()
        .filter_map(largest)
        .take(TOLD_MAX)
        .collect()
}

/// The wait that 99 % are below, by series, where there are a hundred.
fn of_cdf(cdf: &Cdf) -> Vec<String> {
    let tail = |series: &crate::data::CdfSeries| {
        let (words, q) = match series.count {
            0 => return None,
            1..100 => ("half", 0.5),
            _ => ("99 %", 0.99),
        };
        let (value, largest) = (series.quantile(q)?, series.quantile(1.0)?);
        let [value, largest] = [value, largest].map(|v| written::brief(v, &cdf.value.unit));
        Some(format!(
            "{}: {words} below {value}, the largest {largest}.",
            series.name
        ))
    };
    cdf.series.iter().filter_map(tail).take(8).collect()
}

fn of_timeline(timeline: &Timeline) -> Vec<String> {
    let ms = |ns: u64| written::brief(ns as f64 / 1e6, "ms");
    let mut sentences = Vec::new();
    if let Some(wait) = &timeline.worst {
        let length = ms(wait.until_ns.saturating_sub(wait.from_ns));
        let from = written::number(wait.from_ns as f64 / 1e6);
        sentences.push(format!(
            "{} waits for {length} from {from} ms on.",
            wait.row
        ));
    }
    let waits = |row: &TimelineRow| -> u64 {
        let spans = row.spans.iter().filter(|s| s.state == Runstate::Runnable);
        let shown = spans.map(|s| {
            let until = s.until_ns.min(timeline.until_ns);
            until.saturating_sub(s.from_ns.max(timeline.from_ns))
        });
        shown.sum()
    };
    let longest = timeline.rows.iter().map(|row| (waits(row), row));
    let longest = longest
        .max_by_key(|(time, _)| *time)
        .filter(|(time, _)| *time > 0);
    if let Some((time, row)) = longest {
        let whole = timeline.until_ns.saturating_sub(timeline.from_ns).max(1);
        let part = written::short(time as f64 * 100.0 / whole as f64);
        sentences.push(format!(
            "Of the time shown {} waits most: {part} %.",
            row.name
        ));
    }
    sentences
}

fn of_panels(panels: &Panels) -> Vec<String> {
    let panel = |panel: &Panel| {
        let values: Vec<(&str, &Estimate)> = panels
            .columns
            .iter()
            .zip(&panel.cells)
            .filter_map(|(name, cell)| Some((name.as_str(), cell.mean.as_ref()?)))
            .collect();
        let told = extremes(&values, &panel.value.unit)?;
        Some(format!("{}: {}", panel.value.name, lower_first(&told)))
    };
    panels.panels.iter().filter_map(panel).collect()
}

fn lower_first(text: &str) -> String {
    match text.strip_prefix("Most:") {
        Some(rest) => format!("most:{rest}"),
        None => text.to_owned(),
    }
}

fn of_sequence(sequence: &Sequence) -> Vec<String> {
    let unit = &sequence.value.unit;
    let series = |(name, values): &(String, Vec<f64>)| {
        let median = written::brief(domio_stats::median(values)?, unit);
        let largest = written::brief(domio_stats::quantile(values, 1.0)?, unit);
        Some(format!(
            "{name}: half below {median}, the largest {largest}."
        ))
    };
    sequence.series.iter().filter_map(series).collect()
}

fn of_lines(lines: &Lines) -> Vec<String> {
    let along = |x: f64| written::with_unit(&written::number(x), &lines.along.unit);
    let value = |e: Estimate| written::with_unit(&written::estimate(&e), &lines.value.unit);
    let line = |line: &crate::data::Line| {
        let mut known = line.points.iter().filter_map(|p| Some((p.x, p.y?)));
        let first = known.next()?;
        let last = known.next_back().unwrap_or(first);
        let (from, until) = (along(first.0), along(last.0));
        let (begin, end) = (value(first.1), value(last.1));
        Some(format!(
            "{}: {begin} at {from}, {end} at {until}.",
            line.name
        ))
    };
    lines.lines.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{CdfSeries, Quantity, TimelineSpan, Wait};

    fn bars(of: &[(&str, &[&[f64]])]) -> Bars {
        Bars {
            value: Quantity::new("waiting", "% of time"),
            series: vec!["credit".into(), "round-robin".into()],
            groups: of
                .iter()
                .map(|(name, bars)| BarGroup {
                    name: (*name).into(),
                    bars: bars.iter().map(|values| Estimate::of(values)).collect(),
                    marks: Vec::new(),
                })
                .collect(),
            ..Bars::default()
        }
    }

    #[test]
    fn the_largest_difference_of_policies_comes_first() {
        let told = of_bars(&bars(&[
            ("batch", &[&[30.0, 30.1], &[25.0, 25.1]]),
            ("web", &[&[6.0, 6.1], &[10.0, 10.1]]),
            ("db", &[&[1.0, 9.0], &[2.0, 8.0]]),
        ]));
        assert_eq!(told.len(), 2, "intervals of db meet: {told:?}");
        assert_eq!(
            told[0],
            "web, waiting: round-robin has 66 % more than credit (6.05 -> 10.05)."
        );
        assert!(told[1].starts_with("batch, waiting: round-robin has 16.6 % less than credit"));
        let alike = of_bars(&bars(&[("db", &[&[1.0, 9.0], &[2.0, 8.0]])]));
        assert_eq!(
            alike,
            ["No difference in waiting is beyond the 95 % intervals."]
        );
        let times = of_bars(&bars(&[("web", &[&[1.0], &[50.0]])]));
        assert!(
            times[0].contains("round-robin has 50 times as much as credit (1 -> 50)"),
            "{times:?}"
        );
        let none = of_bars(&bars(&[("web", &[&[0.0], &[50.0]])]));
        assert!(
            none[0].contains("round-robin has some, unlike credit"),
            "{none:?}"
        );
    }

    #[test]
    fn a_difference_from_nothing_is_as_large_as_its_bar() {
        let told = of_bars(&bars(&[
            ("rt", &[&[0.0], &[0.02]]),
            ("web", &[&[3.1], &[9.0]]),
        ]));
        assert!(
            told[0].starts_with("web, waiting: round-robin has 2.9 times as much as credit"),
            "{told:?}"
        );
    }

    #[test]
    fn one_series_has_a_largest_and_a_smallest() {
        let mut bars = bars(&[("web", &[&[6.0]]), ("db", &[&[2.0]]), ("io", &[&[6.0]])]);
        bars.series.truncate(1);
        let told = alt(&Chart::Bars(bars));
        assert_eq!(
            told,
            "Bar chart of waiting. Most: web with 6 % of time. Least: db with 2 % of time."
        );
    }

    #[test]
    fn tails_and_waits_are_told() {
        let values: Vec<f64> = (0..1_000).map(f64::from).collect();
        let cdf = Cdf {
            value: Quantity::new("wake to run", "us"),
            series: vec![
                CdfSeries::of("web", &values),
                CdfSeries::of("db", &[2.0, 3.0]),
            ],
        };
        assert_eq!(
            of_cdf(&cdf),
            [
                "web: 99 % below 990 us, the largest 999 us.",
                "db: half below 3.0 us, the largest 3.0 us."
            ]
        );
        let ms = 1_000_000;
        let timeline = Timeline {
            from_ns: 0,
            until_ns: 100 * ms,
            owners: vec!["web".into()],
            rows: vec![TimelineRow {
                name: "web.0".into(),
                spans: vec![TimelineSpan {
                    from_ns: 20 * ms,
                    until_ns: 50 * ms,
                    owner: 0,
                    state: Runstate::Runnable,
                }],
            }],
            worst: Some(Wait {
                row: "web.0".into(),
                from_ns: 20 * ms,
                until_ns: 50 * ms,
            }),
        };
        assert_eq!(
            of_timeline(&timeline),
            [
                "web.0 waits for 30.0 ms from 20 ms on.",
                "Of the time shown web.0 waits most: 30 %."
            ]
        );
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        for chart in [
            Chart::Bars(Bars::default()),
            Chart::Stack(Stack::default()),
            Chart::Cdf(Cdf::default()),
            Chart::Timeline(Timeline::default()),
            Chart::Panels(Panels::default()),
            Chart::Sequence(Sequence::default()),
            Chart::Lines(Lines::default()),
        ] {
            assert_eq!(finding(&chart), "");
            assert!(!alt(&chart).is_empty());
        }
    }
}
