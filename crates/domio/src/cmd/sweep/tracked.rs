//! What is remembered of a sweep's cells: the front of two figures, the cell that does best, and
//! the points of pictures. Rows themselves are not.

use domio_core::Better;
use domio_front::drive::CellAt;
use domio_run::Sample;
use domio_stats::Estimate;
use domio_sweep::{FrontCell, Goal, ParetoFront, Score, SweepFigure, SweepPlan, Wanted};
use std::collections::BTreeMap;

/// Lines that a picture shows at most.
const MOST_LINES: u64 = 8;

/// The figures of a cell, as means over its replications.
#[derive(Clone, Debug)]
pub struct CellFigures {
    /// The cell.
    pub cell: CellAt,
    /// By figure; `None` where nothing was measured.
    pub means: Vec<Option<Estimate>>,
}

/// What is asked of the cells.
#[derive(Clone, Default)]
pub struct Asked {
    /// Two figures of which one costs the other.
    pub trade: Option<[SweepFigure; 2]>,
    /// What is to be found.
    pub goal: Option<Goal>,
    /// Figures to draw, and the places of the axes to draw them along.
    pub plots: Vec<(SweepFigure, usize)>,
}

impl Asked {
    /// All figures: the two of the trade-off, those of the goal, those of pictures.
    fn figures(&self) -> Vec<SweepFigure> {
        let mut figures: Vec<SweepFigure> = self.trade.iter().flatten().cloned().collect();
        figures.extend(self.goal.iter().flat_map(Goal::figures));
        figures.extend(self.plots.iter().map(|(figure, _)| figure.clone()));
        figures
    }
}

/// What two figures cost each other.
pub struct TradeOff {
    /// The figures.
    pub figures: [SweepFigure; 2],
    front: ParetoFront,
    cells: BTreeMap<u64, CellFigures>,
}

impl TradeOff {
    /// Which way each figure improves.
    pub fn wanted(figures: &[SweepFigure; 2]) -> [Wanted; 2] {
        [0, 1].map(|i| match figures[i].better() {
            Better::Lower => Wanted::Small,
            Better::Higher | Better::Neither => Wanted::Large,
        })
    }

    fn add(&mut self, cell: &CellAt, means: &[Option<Estimate>]) {
        let (Some(a), Some(b)) = (means[0], means[1]) else {
            return;
        };
        self.front.add(FrontCell {
            cell: cell.number,
            figures: [a.mean, b.mean],
        });
        let front = self.front.cells();
        if front.iter().any(|other| other.cell == cell.number) {
            self.cells
                .retain(|number, _| front.iter().any(|c| c.cell == *number));
            let means = means.to_vec();
            let cell = cell.clone();
            self.cells.insert(cell.number, CellFigures { cell, means });
        }
    }

    /// The cells that no other beats, the best in the first figure first.
    pub fn cells(&self) -> impl Iterator<Item = &CellFigures> {
        let front = self.front.cells().iter();
        front.filter_map(|cell| self.cells.get(&cell.cell))
    }
}

/// The cell that does best so far.
pub struct Found {
    /// How well.
    pub score: Score,
    /// The cell with the goal's figures.
    pub best: CellFigures,
}

/// Points of a picture.
pub struct Plotted {
    /// What is drawn.
    pub figure: SweepFigure,
    /// Place of the axis that it is drawn along.
    pub along: usize,
    /// Whether each line is of other values of the other axes; else all cells with one value on
    /// this axis are one point.
    pub apart: bool,
    /// Lines by the places on the other axes, points by the place on this one.
    pub lines: BTreeMap<Vec<u64>, BTreeMap<u64, PlotPoint>>,
}

impl Plotted {
    fn add(&mut self, cell: &CellAt, mean: Option<Estimate>) {
        let mut others = cell.places.clone();
        let place = others.remove(self.along);
        if !self.apart {
            others.clear();
        }
        let points = self.lines.entry(others).or_default();
        if let Some(mean) = mean {
            points.entry(place).or_default().add(mean);
        }
    }
}

/// One point of a picture.
#[derive(Clone, Copy, Default)]
pub struct PlotPoint {
    /// The mean of its cell, or the mean of the means of its cells, without an interval.
    pub mean: Option<Estimate>,
    cells: usize,
}

impl PlotPoint {
    fn add(&mut self, mean: Estimate) {
        self.cells += 1;
        self.mean = Some(match self.mean {
            None => mean,
            Some(before) => Estimate {
                mean: before.mean + (mean.mean - before.mean) / self.cells as f64,
                ci95: None,
                deviation: None,
                n: self.cells,
            },
        });
    }
}

/// Adds up samples to cells.
pub struct Tracker {
    figures: Vec<SweepFigure>,
    replications: u32,
    /// By figure, of the cell that is not whole yet.
    open: Vec<Vec<f64>>,
    goal: Option<Goal>,
    /// What two figures cost each other, if that was asked.
    pub trade: Option<TradeOff>,
    /// The best cell, if there was a goal.
    pub found: Option<Found>,
    /// Pictures.
    pub plots: Vec<Plotted>,
    /// Cells so far.
    pub cells: u64,
    /// By figure: whether any cell has it.
    measured: Vec<bool>,
}

impl Tracker {
    /// Remembers what `asked` needs of the cells of `plan`, each with so many replications.
    pub fn new(asked: &Asked, plan: &SweepPlan, whole_grid: bool, replications: u32) -> Self {
        let figures = asked.figures();
        let plotted = |(figure, along): &(SweepFigure, usize)| {
            let others = plan.axes().iter().enumerate().filter(|(i, _)| i != along);
            let lines = others.fold(1_u64, |n, (_, axis)| n.saturating_mul(axis.len()));
            Plotted {
                figure: figure.clone(),
                along: *along,
                apart: whole_grid && lines <= MOST_LINES,
                lines: BTreeMap::new(),
            }
        };
        let trade = asked.trade.clone().map(|figures| TradeOff {
            front: ParetoFront::new(TradeOff::wanted(&figures)),
            cells: BTreeMap::new(),
            figures,
        });
        Tracker {
            open: vec![Vec::new(); figures.len()],
            measured: vec![false; figures.len()],
            replications,
            goal: asked.goal.clone(),
            trade,
            found: None,
            plots: asked.plots.iter().map(plotted).collect(),
            cells: 0,
            figures,
        }
    }

    /// Takes the sample of replication `replication` of `cell`; they come in order. Returns how
    /// well the cell does, once it is whole, if there is a goal.
    pub fn add(&mut self, cell: &CellAt, replication: u32, sample: &Sample) -> Option<Score> {
        for (figure, values) in self.figures.iter().zip(&mut self.open) {
            values.extend(figure.value(sample));
        }
        match replication + 1 == self.replications {
            true => self.close(cell),
            false => None,
        }
    }

    fn close(&mut self, cell: &CellAt) -> Option<Score> {
        self.cells += 1;
        let means: Vec<Option<Estimate>> = self
            .open
            .iter()
            .map(|values| Estimate::of(values))
            .collect();
        self.open.iter_mut().for_each(Vec::clear);
        for (measured, mean) in self.measured.iter_mut().zip(&means) {
            *measured |= mean.is_some();
        }
        let mut rest = means.as_slice();
        if let Some(trade) = &mut self.trade {
            let (own, others) = rest.split_at(2);
            rest = others;
            trade.add(cell, own);
        }
        let mut score = None;
        if let Some(goal) = &self.goal {
            let (own, others) = rest.split_at(goal.figures().len());
            rest = others;
            let figures: Vec<Option<f64>> = own.iter().map(|m| m.map(|m| m.mean)).collect();
            let new = goal.score(&figures);
            score = Some(new);
            if self.found.as_ref().is_none_or(|found| new < found.score) {
                self.found = Some(Found {
                    score: new,
                    best: CellFigures {
                        cell: cell.clone(),
                        means: own.to_vec(),
                    },
                });
            }
        }
        for (plot, mean) in self.plots.iter_mut().zip(rest) {
            plot.add(cell, *mean);
        }
        score
    }

    /// Figures that were asked for and that no cell has.
    pub fn unmeasured(&self) -> impl Iterator<Item = &SweepFigure> {
        let pairs = self.figures.iter().zip(&self.measured);
        pairs.filter_map(|(figure, measured)| (!measured).then_some(figure))
    }
}
