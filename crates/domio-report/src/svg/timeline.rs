//! BarRows of spans over time: what runs on each pcpu, what each vcpu does.
//!
//! Running is a full bar in the colour of the domain, runnable a hatched half-high bar, blocked a
//! thin line, offline a dotted line, idle nothing. The shapes tell the states apart without colour.

use super::axis::{self, BELOW};
use super::legend::{Legend, SWATCH, Swatch, flow};
use super::letters::{SMALL, fit, text_width, widest};
use super::scale::Scale;
use super::shape::{self, Area, Drawn, Xy};
use crate::data::{Timeline, TimelineRow, TimelineSpan, Wait};
use crate::written::{self, TIMES};
use domio_core::Runstate;
use maud::{Markup, html};

const ROW: f64 = 24.0;
/// Height of the bar of a vcpu that runs.
const BAR: f64 = ROW - 8.0;
/// Part of the width that names of rows may take.
const NAME_PART: f64 = 0.28;
const MARGIN: f64 = 24.0;
/// Height of a line of the legend of states.
const STATE_LINE: f64 = 22.0;

/// The picture.
pub fn draw(timeline: &Timeline, width: f64) -> Drawn {
    let most = width * NAME_PART;
    let names = timeline.rows.iter().map(|r| &r.name);
    let left = widest(names, SMALL, 30.0).min(most) + 12.0;
    let right = width - MARGIN;
    let legend = legend_of(timeline);
    let owners = legend.height(width);
    let (states, state_lines) = state_legend(timeline, owners + 10.0, width);
    let top = owners + STATE_LINE * state_lines as f64 + 4.0;
    let bottom = top + ROW * timeline.rows.len() as f64;
    let unit = TimeUnit::of(timeline);
    let [from, until] = [timeline.from_ns, timeline.until_ns].map(|ns| unit.of_ns(ns));
    let x = Scale::exact(from, until, left, right);
    let title = written::heading("time since the measurement began", unit.name);
    let content = html! {
        (legend.draw(width, Swatch::Box))
        (states)
        g class="axis" {
            @for tick in x.ticks_across() {
                (axis::down("grid", &tick, tick.place, [top, bottom]))
            }
            (axis::title_below(&title, [left, right], bottom, width))
        }
        @for (i, row) in timeline.rows.iter().enumerate() {
            @let y = top + ROW * i as f64;
            @let short = fit(&row.name, SMALL, most);
            (shape::short_text("end", (left - 8.0, y + ROW / 2.0 + 4.0), &short, &row.name))
            (draw_row(row, timeline, &legend, (x, unit), y))
            @for wait in timeline.worst.iter().filter(|w| w.row == row.name) {
                (mark_wait(wait, x, unit, y))
            }
        }
    };
    (bottom + BELOW, content)
}

/// Spans of which something is shown.
fn shown(timeline: &Timeline) -> impl Iterator<Item = &TimelineSpan> {
    let spans = timeline.rows.iter().flat_map(|row| &row.spans);
    spans.filter(|s| s.until_ns > timeline.from_ns && s.from_ns < timeline.until_ns)
}

/// The legend of the domains that run: only running has a colour.
fn legend_of(timeline: &Timeline) -> Legend {
    let waits = |owner: usize| {
        let own = || shown(timeline).filter(|s| s.owner == owner);
        if !own().any(|s| s.state == Runstate::Running) {
            return None;
        }
        let waits = own().filter(|s| s.state == Runstate::Runnable);
        let lengths = waits.map(|s| {
            let until = s.until_ns.min(timeline.until_ns);
            until.saturating_sub(s.from_ns.max(timeline.from_ns))
        });
        Some(lengths.sum::<u64>() as f64)
    };
    let owners = timeline.owners.iter().enumerate();
    Legend::new(
        owners.map(|(i, name)| (name, waits(i))),
        "the longest waits",
    )
}

/// A frame around the wait that the timeline is about.
fn mark_wait(wait: &Wait, x: Scale, unit: TimeUnit, y: f64) -> Markup {
    let [from, until] = [wait.from_ns, wait.until_ns].map(|ns| x.place(unit.of_ns(ns)));
    let frame = Area::new((from - 1.0, y + 1.0), (until - from + 2.0, ROW - 2.0));
    let length = written::number(unit.of_ns(wait.until_ns.saturating_sub(wait.from_ns)));
    let tip = format!("{} waits for {length} {}", wait.row, unit.name);
    frame.filled("worst", &tip)
}

#[derive(Clone, Copy)]
struct TimeUnit {
    name: &'static str,
    ns: f64,
}

impl TimeUnit {
    fn of(timeline: &Timeline) -> Self {
        let shown = timeline.until_ns.saturating_sub(timeline.from_ns) as f64;
        let fits = TIMES.iter().rev().find(|(_, ns)| shown > 20.0 * ns);
        let (name, ns) = *fits.unwrap_or(&TIMES[0]);
        TimeUnit { name, ns }
    }

    fn of_ns(self, ns: u64) -> f64 {
        ns as f64 / self.ns
    }
}

/// A span in places, with neighbours of the same look joined.
struct Stretch {
    from: f64,
    until: f64,
    first: TimelineSpan,
    spans: usize,
}

/// Joins spans of the same owner and state that are too short or too near to be seen apart.
fn stretches(row: &TimelineRow, timeline: &Timeline, x: Scale, unit: TimeUnit) -> Vec<Stretch> {
    const SEEN: f64 = 0.4;
    let mut out: Vec<Stretch> = Vec::new();
    for span in &row.spans {
        if span.until_ns <= timeline.from_ns || span.from_ns >= timeline.until_ns {
            continue;
        }
        let [from, until] = [span.from_ns, span.until_ns].map(|ns| x.place(unit.of_ns(ns)));
        match out.last_mut() {
            Some(last)
                if (last.first.owner, last.first.state) == (span.owner, span.state)
                    && from - last.until < SEEN =>
            {
                last.until = until;
                last.spans += 1;
            }
            // Too short to be seen and nothing to join it with.
            Some(last) if until - last.until < SEEN / 2.0 => {}
            _ => out.push(Stretch {
                from,
                until,
                first: *span,
                spans: 1,
            }),
        }
    }
    out
}

fn draw_row(
    row: &TimelineRow,
    timeline: &Timeline,
    legend: &Legend,
    (x, unit): (Scale, TimeUnit),
    y: f64,
) -> Markup {
    html! {
        @for stretch in stretches(row, timeline, x, unit) {
            @let width = (stretch.until - stretch.from).max(0.4);
            @let tip = describe(&stretch, row, timeline, unit);
            @let TimelineSpan { owner, state, .. } = stretch.first;
            (draw_state(state, legend.look(owner), (stretch.from, y), width, &tip))
        }
    }
}

fn draw_state(state: Runstate, owner: usize, place: Xy, width: f64, tip: &str) -> Markup {
    let (x, y) = place;
    let middle = y + ROW / 2.0;
    let bar = |height: f64| Area::new((x, middle - height / 2.0), (width, height));
    let thin = |class| shape::line_with_tip(class, (x, middle), (x + width, middle), tip);
    match state {
        Runstate::Running => bar(BAR).of_series("fill run", owner, tip),
        Runstate::Runnable => html! {
            (bar(BAR / 2.0).filled("waits", tip))
            (bar(BAR / 2.0).hatched("url(#waits)"))
        },
        Runstate::Blocked => thin("blocked"),
        Runstate::Offline => thin("offline"),
    }
}

fn describe(stretch: &Stretch, row: &TimelineRow, timeline: &Timeline, unit: TimeUnit) -> String {
    let first = &stretch.first;
    let owner = timeline.owners.get(first.owner).map_or("", String::as_str);
    let (name, state, unit_name) = (&row.name, first.state.name(), unit.name);
    let from = written::number(unit.of_ns(first.from_ns));
    if stretch.spans == 1 {
        let length = written::number(unit.of_ns(first.until_ns - first.from_ns));
        return format!("{name}: {owner} {state} from {from} {unit_name} for {length} {unit_name}");
    }
    format!(
        "{name}: {owner} {state} {} times from {from} {unit_name}",
        stretch.spans
    )
}

/// The legend of states from `y` on, and its number of lines.
fn state_legend(timeline: &Timeline, y: f64, width: f64) -> (Markup, usize) {
    const WORDS: [(Option<Runstate>, &str); 5] = [
        (Some(Runstate::Running), "running"),
        (Some(Runstate::Runnable), "runnable, waits"),
        (Some(Runstate::Blocked), "blocked"),
        (Some(Runstate::Offline), "offline"),
        (None, "the longest wait"),
    ];
    let there = |state: Option<Runstate>| match state {
        None => timeline.worst.is_some(),
        state => shown(timeline).any(|s| Some(s.state) == state),
    };
    let entries: Vec<_> = WORDS
        .into_iter()
        .filter(|(state, _)| there(*state))
        .collect();
    let sizes = entries
        .iter()
        .map(|(_, word)| (SWATCH + text_width(word, SMALL), 1));
    let (places, lines) = flow(sizes, [0.0, width], 16.0);
    let whole = |x: f64, y: f64| Area::new((x, y - BAR / 2.0), (18.0, BAR));
    let drawn = html! {
        g class="legend states" {
            @for ((state, word), (line, x)) in entries.into_iter().zip(places) {
                @let y = y + STATE_LINE * line as f64;
                @match state {
                    None => (whole(x, y).filled("worst", "")),
                    Some(Runstate::Running) => (whole(x, y).filled("any", "")),
                    Some(state) => (draw_state(state, 0, (x, y - ROW / 2.0), 18.0, word)),
                }
                (shape::text("start", (x + SWATCH, y + 4.0), word))
            }
        }
    };
    (drawn, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::inspect::faults;
    use crate::svg::{NARROW, WIDE};

    fn span(from_ns: u64, until_ns: u64, state: Runstate) -> TimelineSpan {
        TimelineSpan {
            from_ns,
            until_ns,
            owner: 0,
            state,
        }
    }

    #[test]
    fn spans_outside_are_left_out_and_short_ones_joined() {
        let mut spans = vec![span(0, 5, Runstate::Running)];
        spans.extend((0..50_000).map(|i| {
            let from = 1_000_000_000 + i * 20;
            span(from, from + 10, Runstate::Running)
        }));
        let timeline = Timeline {
            from_ns: 1_000_000_000,
            until_ns: 2_000_000_000,
            owners: vec!["d1".into()],
            rows: vec![TimelineRow {
                name: "p0".into(),
                spans,
            }],
            worst: None,
        };
        let svg = draw(&timeline, WIDE).1.into_string();
        assert!(svg.len() < 10_000, "{} bytes", svg.len());
        assert!(
            svg.contains("p0: d1 running 50000 times from 1000 ms"),
            "{svg}"
        );
        assert!(svg.contains("began [ms]"));
    }

    #[test]
    fn each_state_has_its_shape() {
        let spans = Runstate::ALL.iter().zip(0..);
        let spans = spans.map(|(s, i)| span(i * 10, i * 10 + 10, *s)).collect();
        let timeline = Timeline {
            from_ns: 0,
            until_ns: 40,
            owners: vec!["d1".into(), "d2".into()],
            rows: vec![TimelineRow {
                name: "d1v0".into(),
                spans,
            }],
            worst: None,
        };
        let svg = draw(&timeline, WIDE).1.into_string();
        for class in ["waits", "blocked", "offline"] {
            let drawn = svg.matches(&format!("class=\"{class}\"")).count();
            assert_eq!(drawn, 2, "{class}: a span and the legend");
        }
        assert_eq!(svg.matches("class=\"fill run c0\"").count(), 1);
        assert!(svg.contains("d1v0: d1 runnable from 10 ns for 10 ns"));
    }

    #[test]
    fn the_longest_wait_is_marked_and_nothing_is_cut_off() {
        let ms = 1_000_000;
        let mut timeline = Timeline {
            from_ns: 3_200 * ms,
            until_ns: 3_400 * ms,
            owners: (0..9).map(|i| format!("guest number {i}")).collect(),
            rows: vec![TimelineRow {
                name: "a guest with a long name v0".into(),
                spans: vec![span(3_250 * ms, 3_300 * ms, Runstate::Runnable)],
            }],
            worst: None,
        };
        let marked = |timeline: &Timeline| {
            let svg = draw(timeline, WIDE).1.into_string();
            svg.matches("class=\"worst\"").count()
        };
        assert_eq!(marked(&timeline), 0);
        timeline.worst = Some(Wait {
            row: timeline.rows[0].name.clone(),
            from_ns: 3_250 * ms,
            until_ns: 3_300 * ms,
        });
        assert_eq!(marked(&timeline), 2, "the wait and the legend");
        for width in [WIDE, NARROW] {
            let (height, content) = draw(&timeline, width);
            let svg = content.into_string();
            assert!(svg.contains("waits for 50 ms"), "{svg}");
            let faults = faults(&svg, width, height);
            assert!(faults.is_empty(), "{faults:?}");
        }
    }
}
