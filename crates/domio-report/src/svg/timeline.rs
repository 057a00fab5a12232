//! Rows of spans over time: what runs on each pcpu, what each vcpu does.
//!
//! Running is a full bar in the colour of the domain, runnable a hatched half-high bar, blocked a
//! thin line, offline a dotted line, idle nothing. The shapes tell the states apart without colour.

use crate::data::{Span, Timeline, TimelineRow};
use crate::figure;
use crate::svg::scale::Scale;
use crate::svg::{
    Swatch, WIDTH, at, colour, fit, hatch, legend, legend_height, picture, text_width,
};
use domio_core::Runstate;
use maud::{Markup, html};

const ROW: f64 = 24.0;
const NAME_SIZE: f64 = 12.0;
const NAME_MAX: f64 = 150.0;
const RIGHT: f64 = WIDTH - 20.0;

/// The picture.
pub fn draw(timeline: &Timeline) -> Markup {
    let names = timeline.rows.iter().map(|r| text_width(&r.name, NAME_SIZE));
    let left = names.fold(30.0, f64::max).min(NAME_MAX) + 12.0;
    let owners = legend_height(&timeline.owners, left);
    let top = owners + 26.0;
    let bottom = top + ROW * timeline.rows.len() as f64;
    let unit = TimeUnit::of(timeline);
    let x = Scale::exact(
        timeline.from_ns as f64 / unit.ns,
        timeline.until_ns as f64 / unit.ns,
        left,
        RIGHT,
    );
    let content = html! {
        (legend(&timeline.owners, left, Swatch::Box))
        (state_legend(left, owners + 10.0))
        g class="axis" {
            @for tick in x.ticks() {
                line class="grid" x1=(at(tick.place)) x2=(at(tick.place)) y1=(at(top)) y2=(at(bottom)) {}
                text class="middle" x=(at(tick.place)) y=(at(bottom + 16.0)) { (tick.label) }
            }
            text class="middle title" x=(at((left + RIGHT) / 2.0)) y=(at(bottom + 36.0)) {
                (figure::heading("time", unit.name))
            }
        }
        @for (i, row) in timeline.rows.iter().enumerate() {
            @let y = top + ROW * i as f64;
            text class="end" x=(at(left - 8.0)) y=(at(y + ROW / 2.0 + 4.0)) {
                title { (row.name) }
                (fit(&row.name, NAME_SIZE, NAME_MAX))
            }
            (draw_row(row, timeline, x, unit, y))
        }
    };
    picture(bottom + 46.0, "Timeline of runstates", &content)
}

#[derive(Clone, Copy)]
struct TimeUnit {
    name: &'static str,
    ns: f64,
}

impl TimeUnit {
    fn of(timeline: &Timeline) -> Self {
        let unit = |name, ns| TimeUnit { name, ns };
        match timeline.until_ns.saturating_sub(timeline.from_ns) {
            0..=20_000 => unit("ns", 1.0),
            20_001..=20_000_000 => unit("us", 1e3),
            20_000_001..=20_000_000_000 => unit("ms", 1e6),
            _ => unit("s", 1e9),
        }
    }
}

/// A span in places, with neighbours of the same look joined.
struct Stretch {
    from: f64,
    until: f64,
    first: Span,
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
        let from = x.place(span.from_ns as f64 / unit.ns);
        let until = x.place(span.until_ns as f64 / unit.ns);
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

fn draw_row(row: &TimelineRow, timeline: &Timeline, x: Scale, unit: TimeUnit, y: f64) -> Markup {
    html! {
        @for stretch in stretches(row, timeline, x, unit) {
            @let (from, width) = (stretch.from, (stretch.until - stretch.from).max(0.4));
            @let (owner, state) = (stretch.first.owner, stretch.first.state);
            (draw_state(state, owner, from, width, y, &html! {
                title { (describe(&stretch, row, timeline, unit)) }
            }))
        }
    }
}

fn draw_state(
    state: Runstate,
    owner: usize,
    x: f64,
    width: f64,
    y: f64,
    tooltip: &Markup,
) -> Markup {
    let (full, half) = (ROW - 8.0, (ROW - 8.0) / 2.0);
    let middle = at(y + ROW / 2.0);
    html! {
        @match state {
            Runstate::Running => {
                rect class={ "fill run " (colour(owner)) } x=(at(x)) y=(at(y + 4.0)) width=(at(width)) height=(at(full)) { (tooltip) }
                rect class="hatch" fill=(hatch(owner)) x=(at(x)) y=(at(y + 4.0)) width=(at(width)) height=(at(full)) {}
            },
            Runstate::Runnable => {
                rect class="waits" x=(at(x)) y=(at(y + 4.0 + half / 2.0)) width=(at(width)) height=(at(half)) { (tooltip) }
                rect class="hatch" fill="url(#waits)" x=(at(x)) y=(at(y + 4.0 + half / 2.0)) width=(at(width)) height=(at(half)) {}
            },
            Runstate::Blocked => line class="blocked" x1=(at(x)) x2=(at(x + width)) y1=(middle) y2=(middle) { (tooltip) },
            Runstate::Offline => line class="offline" x1=(at(x)) x2=(at(x + width)) y1=(middle) y2=(middle) { (tooltip) }
        }
    }
}

fn describe(stretch: &Stretch, row: &TimelineRow, timeline: &Timeline, unit: TimeUnit) -> String {
    let first = &stretch.first;
    let owner = timeline.owners.get(first.owner).map_or("", String::as_str);
    let from = first.from_ns as f64 / unit.ns;
    let (name, state, unit_name) = (&row.name, first.state.name(), unit.name);
    if stretch.spans == 1 {
        let length = (first.until_ns - first.from_ns) as f64 / unit.ns;
        let (from, length) = (figure::number(from), figure::number(length));
        return format!("{name}: {owner} {state} from {from} {unit_name} for {length} {unit_name}");
    }
    let (from, spans) = (figure::number(from), stretch.spans);
    format!("{name}: {owner} {state} {spans} times from {from} {unit_name}")
}

fn state_legend(left: f64, y: f64) -> Markup {
    const WORDS: [(Runstate, &str, f64); 3] = [
        (Runstate::Runnable, "runnable, waits", 100.0),
        (Runstate::Blocked, "blocked", 240.0),
        (Runstate::Offline, "offline", 340.0),
    ];
    html! {
        g class="legend states" {
            rect class="any" x=(at(left)) y=(at(y - 8.0)) width="18" height="16" {}
            text x=(at(left + 26.0)) y=(at(y + 4.0)) { "running" }
            @for (state, word, x) in WORDS {
                (draw_state(state, 0, left + x, 18.0, y - ROW / 2.0, &html! {}))
                text x=(at(left + x + 26.0)) y=(at(y + 4.0)) { (word) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from_ns: u64, until_ns: u64, state: Runstate) -> Span {
        Span {
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
        };
        let svg = draw(&timeline).into_string();
        assert!(svg.len() < 10_000, "{} bytes", svg.len());
        assert!(
            svg.contains("p0: d1 running 50000 times from 1000 ms"),
            "{svg}"
        );
        assert!(svg.contains("time [ms]"));
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
        };
        let svg = draw(&timeline).into_string();
        for class in ["waits", "blocked", "offline"] {
            let drawn = svg.matches(&format!("class=\"{class}\"")).count();
            assert_eq!(drawn, 2, "{class}: a span and the legend");
        }
        assert_eq!(svg.matches("class=\"fill run c0\"").count(), 1);
        assert!(svg.contains("d1v0: d1 runnable from 10 ns for 10 ns"));
    }
}
