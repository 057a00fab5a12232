//! Panels as they are drawn: marks, whiskers, labels, legends.

use super::*;
use crate::data::Quantity;
use crate::svg::inspect::faults;
use crate::svg::{NARROW, WIDE};
use domio_stats::Estimate;

fn cell(values: &[f64]) -> PanelCell {
    PanelCell {
        mean: Estimate::of(values),
        label: "9 ms".into(),
        range: Some([-3.0, 40.0]),
        marks: vec![vec![1.0, 2.0, 30.0]],
        published: vec![(36_600.0, "36.6 s".into())],
        remark: String::new(),
    }
}

fn panels(log: bool) -> Panels {
    let panel = Panel {
        value: Quantity::new("latency", "ms"),
        log,
        mean: "average".into(),
        range: "deviation".into(),
        marks: vec![(MarkShape::Dash, "median <1>".into())],
        remark: String::new(),
        cells: vec![cell(&[8.0, 10.0]), PanelCell::default()],
    };
    Panels {
        columns: vec!["orig".into(), "a & b".into()],
        panels: vec![panel.clone(), panel],
    }
}

#[test]
fn every_value_is_drawn_inside_the_picture() {
    for log in [false, true] {
        for width in [WIDE, NARROW] {
            let (height, content) = draw(&panels(log), width);
            let svg = content.into_string();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(svg.contains("a &amp; b") && svg.contains("median &lt;1&gt;"));
            assert_eq!(svg.matches(">36.6 s<").count(), 2, "{svg}");
            assert_eq!(svg.matches("middle value").count(), 2);
            let faults = faults(&svg, width, height);
            assert!(faults.is_empty(), "{faults:?}");
        }
    }
}

#[test]
fn columns_that_do_not_fit_go_on_below_on_the_same_scale() {
    let mut panels = panels(true);
    let names = ["orig", "all-off", "tb", "sedf-patched"];
    panels.columns = (0..11).map(|i| names[i % 4].to_owned()).collect();
    for panel in &mut panels.panels {
        let high = cell(&[8_000.0, 10_000.0]);
        panel.cells = (0..10).map(|_| cell(&[8.0, 10.0])).chain([high]).collect();
    }
    let (wide, content) = draw(&panels, WIDE);
    let found = faults(&content.into_string(), WIDE, wide);
    assert!(found.is_empty(), "{found:?}");
    let (narrow, content) = draw(&panels, NARROW);
    let svg = content.into_string();
    assert!(narrow > 2.0 * wide);
    assert_eq!(
        svg.matches("class=\"peak\"").count(),
        2 * (11 + 1),
        "means and legend"
    );
    let faults = faults(&svg, NARROW, narrow);
    assert!(faults.is_empty(), "{faults:?}");
    // Each block has the decade of the highest column of all.
    let decades = |block: &str| block.matches(">10000<").count();
    assert!(decades(&svg) >= 2 * 3, "{}", decades(&svg));
}

#[test]
fn a_label_lies_over_no_mark() {
    let panel = &panels(true).panels[0];
    let frame = Frame::new(panel, 0.0, 60.0, 1);
    let place = |v: f64| frame.scale.place(v);
    for mean in [0.3, 1.0, 4.0, 12.0, 100.0, 9_000.0] {
        for near in [0.4, 0.7, 1.0, 1.4, 3.0, 20.0] {
            let median = mean * near;
            let cell = PanelCell {
                range: None,
                marks: vec![vec![median]],
                published: vec![(mean * 1.1, "5.5 ms".into())],
                ..cell(&[mean])
            };
            let base = frame.cell(0, &cell).label_base(TEXT, place(mean));
            let [top, bottom] = above(base);
            for (value, half) in [(median, 2.0), (mean, 5.0), (mean * 1.1, 5.0)] {
                let at = place(value);
                let apart = at + half <= top || at - half >= bottom;
                assert!(apart, "{mean}, {near}: {base} and {at}");
            }
        }
    }
}

/// As in figure 7 of the paper on scheduling I/O: a printed value just above the mean, between
/// it and the median.
#[test]
fn what_is_printed_lies_over_no_mark_and_inside_the_panel() {
    for log in [true, false] {
        let panel = &panels(log).panels[0];
        let frame = Frame::new(panel, 100.0, 60.0, 1);
        for printed in [2.6, 3.0, 5.5, 9.0, 36_600.0] {
            let cell = PanelCell {
                range: None,
                marks: vec![vec![3.4]],
                published: vec![(printed, "5.5 ms".into())],
                ..cell(&[2.6])
            };
            let mean = frame.scale.place(2.6);
            let places = frame.cell(0, &cell).printed_places(Some(mean));
            let [top, bottom] = above(places[0].1);
            assert!(top >= frame.top && bottom <= frame.bottom, "{printed}");
            for at in [3.4, 2.6].map(|v| frame.scale.place(v)) {
                assert!(
                    at + 2.0 <= top || at - 2.0 >= bottom,
                    "{log}, {printed}: {at}"
                );
            }
        }
    }
}

#[test]
fn the_axis_reaches_what_was_published() {
    let panels = panels(true);
    let frame = Frame::new(&panels.panels[0], 0.0, 60.0, 2);
    assert!(frame.scale.place(36_600.0) > 0.0);
    assert_eq!(frame.scale.place(-3.0), frame.bottom, "below the axis");
    let panels = self::panels(false);
    let linear = Frame::new(&panels.panels[0], 0.0, 60.0, 2);
    assert_eq!(linear.scale.place(0.0), linear.bottom);
}

#[test]
fn marks_lie_side_by_side_in_order() {
    let panels = panels(false);
    let frame = Frame::new(&panels.panels[0], 0.0, 60.0, 2);
    let places = frame.cell(1, &cell(&[])).spread(&[1.0, 2.0, 30.0]);
    assert_eq!(places[1].0, LEFT + 90.0);
    assert!(
        places
            .windows(2)
            .all(|p| p[0].0 < p[1].0 && p[0].1 >= p[1].1)
    );
}

#[test]
fn a_legend_stays_inside_the_picture() {
    let mut panel = panels(true).panels.remove(0);
    panel.mean = "a long name of a mean ".repeat(3);
    panel.range = "a long name of a range ".repeat(2);
    for width in [WIDE, NARROW] {
        let (legend, rows) = legend(&panel, 0.0, width);
        let height = 8.0 + rows as f64 * LINE;
        let faults = faults(&legend.into_string(), width, height);
        assert!(rows > 1 && faults.is_empty(), "{width}, {rows}: {faults:?}");
    }
}
