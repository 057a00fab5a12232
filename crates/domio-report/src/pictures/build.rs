//! Charts from samples, as a paper's file says.

use super::All;
use super::spec::{AxisSpec, Drawing, ListSpec, Member, PanelSpec, PictureSpec, Plot, Published};
use crate::data::{
    BarGroup, Bars, Cdf, CdfSeries, Chart, Line, Lines, Panel, PanelCell, Panels, Picture, Point,
    Printed, Quantity, Sequence, Stack, StackBar,
};
use crate::svg::scale::spans_decades;
use crate::written;
use domio_run::Sample;
use domio_stats::Estimate;
use domio_stats::pooled::{self, Group};

/// The figure; `None` when there is no sample of any of its experiments.
pub fn figure(paper: &str, spec: &PictureSpec, all: &All) -> Option<Picture> {
    let of = |member: &Member| all.get(&member.key).map_or(&[][..], Vec::as_slice);
    let cells: Vec<&[Sample]> = spec.experiments.iter().map(of).collect();
    if cells.iter().all(|samples| samples.is_empty()) {
        return None;
    }
    let source = Source {
        experiments: &spec.experiments,
        cells,
    };
    let chart = match &spec.drawing {
        Drawing::Panels(panels) => source.panels(panels),
        Drawing::Bars(plot) => source.bars(plot),
        Drawing::Stack(plot) => source.stack(plot),
        Drawing::Lines { plot, along, at } => source.lines(plot, along, at),
        Drawing::Cdf(list) => source.cdf(list),
        Drawing::Sequence { list, count } => source.sequence(list, count),
    };
    let name = format!("{paper} {} {}", spec.number, spec.title);
    Some(Picture::new(&spec.caption, chart).named(&name))
}

/// Experiments with their samples, in the order of the figure.
struct Source<'a> {
    experiments: &'a [Member],
    cells: Vec<&'a [Sample]>,
}

impl Source<'_> {
    fn named(&self) -> impl Iterator<Item = (&Member, &[Sample])> {
        self.experiments.iter().zip(self.cells.iter().copied())
    }

    fn names(&self) -> Vec<String> {
        self.experiments.iter().map(|e| e.name.clone()).collect()
    }

    fn bars(&self, plot: &Plot) -> Chart {
        let of_value = |value: &Member| BarGroup {
            name: value.name.clone(),
            bars: self.cells.iter().map(|s| estimate(s, &value.key)).collect(),
            marks: Vec::new(),
        };
        let of_experiment = |(experiment, samples): (&Member, &[Sample])| BarGroup {
            name: experiment.name.clone(),
            bars: plot
                .values
                .iter()
                .map(|v| estimate(samples, &v.key))
                .collect(),
            marks: Vec::new(),
        };
        let (series, groups) = match plot.by_experiment {
            true => (
                names(&plot.values),
                self.named().map(of_experiment).collect(),
            ),
            false => (self.names(), plot.values.iter().map(of_value).collect()),
        };
        Chart::Bars(Bars {
            value: quantity(&plot.axis),
            log: plot.axis.log,
            series,
            groups,
            reference: plot.reference.clone(),
            published: plot.published.iter().map(Published::printed).collect(),
        })
    }

    fn stack(&self, plot: &Plot) -> Chart {
        let bar = |(experiment, samples): (&Member, &[Sample])| StackBar {
            name: experiment.name.clone(),
            lengths: plot
                .values
                .iter()
                .map(|v| mean(samples, &v.key).unwrap_or(0.0))
                .collect(),
        };
        Chart::Stack(Stack {
            value: quantity(&plot.axis),
            parts: names(&plot.values),
            bars: self.named().map(bar).collect(),
        })
    }

    fn lines(&self, plot: &Plot, along: &(String, String), at: &[f64]) -> Chart {
        let point = |x: &f64, samples: &[Sample], key: &str| Point {
            x: *x,
            y: estimate(samples, key),
        };
        let of_value = |value: &Member| Line {
            name: value.name.clone(),
            points: at
                .iter()
                .zip(&self.cells)
                .map(|(x, samples)| point(x, samples, &value.key))
                .collect(),
        };
        let of_experiment = |(experiment, samples): (&Member, &[Sample])| Line {
            name: experiment.name.clone(),
            points: at
                .iter()
                .zip(&plot.values)
                .map(|(x, value)| point(x, samples, &value.key))
                .collect(),
        };
        let lines: Vec<Line> = match plot.by_experiment {
            true => plot.values.iter().map(of_value).collect(),
            false => self.named().map(of_experiment).collect(),
        };
        let published = plot.published.iter().flat_map(|p| {
            let here = at.iter().filter(|x| p.is_at(&x.to_string()));
            here.map(|x| (*x, p.value, p.text.clone()))
        });
        let published: Vec<_> = published.collect();
        let measured = lines.iter().flat_map(|l| &l.points);
        let measured = measured.filter_map(|p| p.y.map(|y| y.mean));
        let values = measured.chain(published.iter().map(|(_, y, _)| *y));
        Chart::Lines(Lines {
            along: Quantity::new(&along.0, &along.1),
            value: quantity(&plot.axis),
            log: plot.axis.log.unwrap_or_else(|| spans_decades(values)),
            lines,
            published,
        })
    }

    fn cdf(&self, list: &ListSpec) -> Chart {
        let series = self.named().map(|(experiment, samples)| {
            let lists = samples.iter().flat_map(|s| s.list(&list.key));
            let all: Vec<f64> = lists.copied().collect();
            CdfSeries::of(&experiment.name, &all)
        });
        Chart::Cdf(Cdf {
            value: quantity(&list.axis),
            series: series.filter(|s| s.count > 0).collect(),
        })
    }

    fn sequence(&self, list: &ListSpec, count: &str) -> Chart {
        let first = |(experiment, samples): (&Member, &[Sample])| {
            let observed = samples.first()?.list(&list.key).to_vec();
            Some((experiment.name.clone(), observed))
        };
        let series: Vec<(String, Vec<f64>)> = self.named().filter_map(first).collect();
        let values = series.iter().flat_map(|(_, values)| values).copied();
        let ends = list.bands.iter().flat_map(|(ends, _)| *ends);
        Chart::Sequence(Sequence {
            count: count.to_owned(),
            value: quantity(&list.axis),
            log: list
                .axis
                .log
                .unwrap_or_else(|| spans_decades(values.chain(ends))),
            series,
            published: list.bands.clone(),
        })
    }

    fn panels(&self, panels: &[PanelSpec]) -> Chart {
        Chart::Panels(Panels {
            columns: self.names(),
            panels: panels.iter().map(|panel| self.panel(panel)).collect(),
        })
    }

    fn panel(&self, spec: &PanelSpec) -> Panel {
        let cell = |(column, samples): (&Member, &[Sample])| cell(spec, &column.name, samples);
        let cells: Vec<PanelCell> = self.named().map(cell).collect();
        let means = cells.iter().filter_map(|c| c.mean.map(|m| m.mean));
        let published = cells
            .iter()
            .flat_map(|c| c.published.iter().map(|(v, _)| *v));
        let name = |text: Option<&String>| text.cloned().unwrap_or_default();
        Panel {
            value: quantity(&spec.axis),
            log: spec
                .axis
                .log
                .unwrap_or_else(|| spans_decades(means.chain(published))),
            mean: spec.mean.name.clone(),
            range: name(spec.range.as_ref().map(|r| &r.name)),
            marks: spec
                .marks
                .iter()
                .map(|m| (m.shape, m.name.clone()))
                .collect(),
            remark: name(spec.remark.as_ref().map(|r| &r.name)),
            cells,
        }
    }
}

/// One column of a panel.
fn cell(spec: &PanelSpec, column: &str, samples: &[Sample]) -> PanelCell {
    let pooled = spec
        .mean
        .count
        .as_ref()
        .map(|count| groups(spec, count, samples));
    let average = match &pooled {
        Some(groups) => Estimate::of(&pooled::means(groups)),
        None => estimate(samples, &spec.mean.value),
    };
    let range = spec.range.as_ref().and_then(|range| match &range.ends {
        Some([low, high]) => Some([mean(samples, low)?, mean(samples, high)?]),
        None => {
            let deviation = Estimate::of(&pooled::deviations(pooled.as_deref()?))?.mean;
            Some([average?.mean - deviation, average?.mean + deviation])
        }
    });
    let label = match average {
        Some(average) if spec.mean.labelled => written::brief(average.mean, &spec.axis.unit),
        None if !samples.is_empty() => spec.mean.none.clone(),
        _ => String::new(),
    };
    let marks = |values: &Vec<String>| values.iter().filter_map(|v| mean(samples, v)).collect();
    let here = spec.published.iter().filter(|p| p.is_at(column));
    let remark = spec.remark.as_ref().and_then(|r| mean(samples, &r.key));
    PanelCell {
        mean: average,
        label,
        range,
        marks: match samples.is_empty() {
            true => Vec::new(),
            false => spec.marks.iter().map(|m| marks(&m.values)).collect(),
        },
        published: here.map(|p| (p.value, p.text.clone())).collect(),
        remark: remark.map_or(String::new(), written::short),
    }
}

/// The observations of each replication behind a mean. A replication without any has no mean.
fn groups(spec: &PanelSpec, count: &str, samples: &[Sample]) -> Vec<Group> {
    let deviation = spec.mean.deviation.as_deref().unwrap_or_default();
    let group = |sample: &Sample| Group {
        count: sample.get(count).unwrap_or(0.0),
        mean: sample.get(&spec.mean.value).unwrap_or(0.0),
        deviation: sample.get(deviation).unwrap_or(0.0),
    };
    samples.iter().map(group).collect()
}

impl Published {
    fn printed(&self) -> Printed {
        Printed {
            at: self.at.clone(),
            of: self.of.clone(),
            value: self.value,
            text: self.text.clone(),
        }
    }
}

fn names(members: &[Member]) -> Vec<String> {
    members.iter().map(|m| m.name.clone()).collect()
}

fn quantity(axis: &AxisSpec) -> Quantity {
    Quantity::new(&axis.name, &axis.unit)
}

fn estimate(samples: &[Sample], key: &str) -> Option<Estimate> {
    let values: Vec<f64> = samples.iter().filter_map(|s| s.get(key)).collect();
    Estimate::of(&values)
}

fn mean(samples: &[Sample], key: &str) -> Option<f64> {
    estimate(samples, key).map(|e| e.mean)
}

#[cfg(test)]
mod tests;
