//! Pictures of a sweep: a measure along an axis, and what two measures cost each other.

use super::told::cells;
use super::tracked::{PlotPoint, Plotted, TradeOff};
use domio_answer::Holds;
use domio_report::data::{BarGroup, Bars, Chart, Line, Lines, Picture, Point, Quantity, Section};
use domio_report::written;
use domio_stats::Estimate;
use domio_sweep::{Axis, SweepFigure};
use std::collections::BTreeMap;

/// Values this many times as large as others are drawn on a logarithmic axis.
const FAR_APART: f64 = 100.0;

/// The sections of the report.
pub fn sections(axes: &[Axis], plots: &[Plotted], trade: Option<&TradeOff>) -> Vec<Section> {
    let mut sections = Vec::new();
    if !plots.is_empty() {
        sections.push(Section {
            title: "Measures along axes".to_owned(),
            text: String::new(),
            figures: plots.iter().map(|plot| plotted(axes, plot)).collect(),
        });
    }
    if let Some(trade) = trade {
        sections.push(Section {
            title: "What two measures cost each other".to_owned(),
            text: "No cell is better than one of these in one measure and as good in the other."
                .to_owned(),
            figures: vec![front(trade), table(axes, trade)],
        });
    }
    sections
}

fn quantity(figure: &SweepFigure) -> Quantity {
    Quantity::new(&figure.title(), figure.declared.unit)
}

/// A measure along an axis: lines over numbers, bars over names.
fn plotted(axes: &[Axis], plot: &Plotted) -> Picture {
    let along = &axes[plot.along];
    let others: Vec<&Axis> = others(axes, plot.along);
    let several = others.iter().any(|axis| axis.len() > 1);
    let caption = match (several, plot.apart) {
        (false, _) => String::new(),
        (true, true) => ", by the other axes".to_owned(),
        (true, false) => ", as the mean of all cells with the same value there".to_owned(),
    };
    let title = plot.figure.title();
    let name = |places: &[u64]| match places.is_empty() || !several {
        true => title.clone(),
        false => named(&others, places),
    };
    let chart = match along.holds() {
        Holds::Text => bars(along, plot, name),
        _ => lines(along, plot, name),
    };
    let heading = written::title(&title, plot.figure.declared.unit);
    let file = format!("{} along {}", plot.figure, along.key());
    Picture::new(format!("{heading} along {}{caption}", along.key()), chart).named(&file)
}

fn others(axes: &[Axis], along: usize) -> Vec<&Axis> {
    let others = axes.iter().enumerate().filter(|(i, _)| *i != along);
    others.map(|(_, axis)| axis).collect()
}

/// "scheduler.policy=credit", for the values of the axes that have several.
fn named(axes: &[&Axis], places: &[u64]) -> String {
    let pairs = axes.iter().zip(places).filter(|(axis, _)| axis.len() > 1);
    let pairs = pairs.map(|(axis, place)| format!("{}={}", axis.key(), axis.value(*place)));
    pairs.collect::<Vec<_>>().join(" ")
}

fn lines(along: &Axis, plot: &Plotted, name: impl Fn(&[u64]) -> String) -> Chart {
    let line = |(others, points): (&Vec<u64>, &BTreeMap<u64, PlotPoint>)| {
        let point = |(place, point): (&u64, &PlotPoint)| Point {
            x: along.value(*place).parse().unwrap_or(f64::NAN),
            y: point.mean,
        };
        let mut points: Vec<Point> = points.iter().map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Line {
            name: name(others),
            points,
        }
    };
    let lines: Vec<Line> = plot.lines.iter().map(line).collect();
    let values = lines.iter().flat_map(|line| &line.points);
    let values: Vec<f64> = values.filter_map(|point| Some(point.y?.mean)).collect();
    Chart::Lines(Lines {
        along: Quantity::new(along.key(), ""),
        value: quantity(&plot.figure),
        log: far_apart(&values),
        lines,
        ..Lines::default()
    })
}

fn far_apart(values: &[f64]) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    least > 0.0 && most.is_finite() && most / least >= FAR_APART
}

fn bars(along: &Axis, plot: &Plotted, name: impl Fn(&[u64]) -> String) -> Chart {
    let group = |place: u64| BarGroup {
        name: along.value(place),
        bars: plot
            .lines
            .values()
            .map(|points| points.get(&place).and_then(|point| point.mean))
            .collect(),
        marks: Vec::new(),
    };
    Chart::Bars(Bars {
        value: quantity(&plot.figure),
        series: plot.lines.keys().map(|others| name(others)).collect(),
        groups: (0..along.len()).map(group).collect(),
        ..Bars::default()
    })
}

fn front(trade: &TradeOff) -> Picture {
    let [a, b] = &trade.figures;
    let mean = |means: &[Option<Estimate>], i: usize| means.get(i).copied().flatten();
    let points = trade.cells().map(|cell| Point {
        x: mean(&cell.means, 0).map_or(f64::NAN, |mean| mean.mean),
        y: mean(&cell.means, 1),
    });
    let mut points: Vec<Point> = points.collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let caption = format!(
        "{} against {}, of cells that no other beats",
        b.title(),
        a.title()
    );
    let chart = Chart::Lines(Lines {
        along: quantity(a),
        value: quantity(b),
        lines: vec![Line {
            name: "cells that no other beats".to_owned(),
            points,
        }],
        ..Lines::default()
    });
    Picture::new(caption, chart).named(&format!("{b} against {a}"))
}

fn table(axes: &[Axis], trade: &TradeOff) -> Picture {
    let table = cells(axes, &trade.figures, trade.cells());
    Picture::new("The cells", Chart::Table(table)).named("front")
}
