//! The search for the cell that does best, where the axes have more cells than anybody runs.
//!
//! It is the tree-structured Parzen estimator of Bergstra, Bardenet, Bengio and Kégl ("Algorithms
//! for Hyper-Parameter Optimization", 2011), by the library `tpe`: each axis is split into places
//! where good cells were and places where others were, and the next cell is where the former are
//! much likelier. It takes lists of names as well as ranges, needs no gradient, and looks at the
//! order of the scores alone, so that cells which break a condition can stand behind all others.
//!
//! Cells are asked for in batches of [`BATCH`], whatever number of cores there is, so that the same
//! axes, goal and seed ask for the same cells. The first ones are a Latin hypercube. No cell is
//! asked for twice, and where all fit in, all are asked for.

use crate::axis::Axis;
use crate::plan::{Design, SweepPlan};
use domio_sim::RandomStream;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::collections::BTreeSet;
use tpe::TpeOptimizer;

/// Cells that are asked for before the scores of any of them are heard.
pub const BATCH: usize = 8;

/// Cells of the first hypercube for each axis; a batch at least, and a third of all at most. A
/// guess.
const FIRST_AN_AXIS: u64 = 4;

/// How often a cell is drawn again that was asked for before.
const TRIES: u32 = 20;

/// A search under way.
#[derive(Debug)]
pub struct CellSearch {
    space: SweepPlan,
    /// Cells that are left to ask for.
    left: u64,
    first: First,
    axes: Vec<TpeOptimizer>,
    generator: Xoshiro256PlusPlus,
    random: RandomStream,
    asked: BTreeSet<Vec<u64>>,
}

/// Cells that are known before anything is heard.
#[derive(Debug)]
enum First {
    /// All of the space, from this number on.
    All(u64),
    /// Those of a hypercube, from this number on.
    Spread(SweepPlan, u64),
}

impl CellSearch {
    /// A search through `space` that asks for `cells` cells at most; `seed` decides which.
    pub fn new(space: SweepPlan, cells: u64, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, 0, "sweep/search");
        let generator = Xoshiro256PlusPlus::seed_from_u64(random.next_u64());
        let several = space.axes().iter().filter(|axis| axis.len() > 1).count() as u64;
        let wanted = (FIRST_AN_AXIS * several)
            .min(cells / 3)
            .max(BATCH as u64)
            .min(cells);
        let spread = |axes: &[Axis]| {
            SweepPlan::new(axes.to_vec(), Design::LatinHypercube(Some(wanted)), seed).ok()
        };
        let first = match space.cells() <= cells {
            true => None,
            false => spread(space.axes()),
        };
        CellSearch {
            left: cells.min(space.cells()),
            axes: space.axes().iter().map(estimator).collect(),
            first: first.map_or(First::All(0), |plan| First::Spread(plan, 0)),
            generator,
            random,
            asked: BTreeSet::new(),
            space,
        }
    }

    /// The axes, and all cells that may be asked for.
    pub fn space(&self) -> &SweepPlan {
        &self.space
    }

    /// How many cells it asks for in all.
    pub fn cells(&self) -> u64 {
        self.left + self.asked.len() as u64
    }

    /// The next cells, as the places of their values on the axes; none at the end.
    pub fn ask(&mut self) -> Vec<Vec<u64>> {
        let count = (self.left as usize).min(BATCH);
        let batch: Vec<Vec<u64>> = (0..count).map(|_| self.next()).collect();
        self.left -= count as u64;
        batch
    }

    /// Says how the cell at `places` did: smaller is better, as [`crate::goal::Score::as_number`].
    pub fn tell(&mut self, places: &[u64], score: f64) {
        for (axis, place) in self.axes.iter_mut().zip(places) {
            // The middle of the place; a score that is no number is told to nobody.
            let _ = axis.tell(*place as f64 + 0.5, score);
        }
    }

    fn next(&mut self) -> Vec<u64> {
        let known = match &mut self.first {
            First::All(number) => {
                *number += 1;
                Some(self.space.places(*number - 1))
            }
            First::Spread(plan, number) if *number < plan.cells() => {
                *number += 1;
                Some(plan.places(*number - 1))
            }
            First::Spread(..) => None,
        };
        let mut places = known.unwrap_or_else(|| self.likely());
        for _ in 0..TRIES {
            if !self.asked.contains(&places) {
                break;
            }
            places = self.likely();
        }
        // There are more cells than are asked for, so that one is left.
        if self.asked.contains(&places) {
            let all = self.space.cells();
            let begin = self.random.below(all);
            let numbers = (begin..all).chain(0..begin);
            let mut free = numbers.map(|number| self.space.places(number));
            places = free
                .find(|places| !self.asked.contains(places))
                .unwrap_or(places);
        }
        self.asked.insert(places.clone());
        places
    }

    /// Where good cells are likely.
    fn likely(&mut self) -> Vec<u64> {
        let axes = self.space.axes().iter().zip(&mut self.axes);
        let place = |(axis, estimator): (&Axis, &mut TpeOptimizer)| match estimator
            .ask(&mut self.generator)
        {
            Ok(at) => (at.max(0.0) as u64).min(axis.len() - 1),
            Err(_) => self.random.below(axis.len()),
        };
        axes.map(place).collect()
    }
}

/// The estimator of one axis: neighbours on a range are alike, names are not.
fn estimator(axis: &Axis) -> TpeOptimizer {
    let kind = match axis.is_range() {
        true => tpe::parzen_estimator(),
        false => tpe::histogram_estimator(),
    };
    let range = tpe::range(0.0, axis.len() as f64).expect("an axis has a value");
    TpeOptimizer::new(kind, range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(texts: &[(&str, &str)]) -> SweepPlan {
        let axes = texts
            .iter()
            .map(|(key, text)| Axis::parse(key, text).unwrap());
        SweepPlan::space(axes.collect()).unwrap()
    }

    const AXES: [(&str, &str); 3] = [("a", "0..99"), ("b", "x,y,z"), ("c", "0.0..1.0")];

    /// Best at a = 70, b = y, c = 0.2.
    fn cost(places: &[u64]) -> f64 {
        let a = places[0] as f64 / 100.0 - 0.7;
        let b = if places[1] == 1 { 0.0 } else { 0.3 };
        let c = places[2] as f64 / 1_000.0 - 0.2;
        a * a + b + c * c
    }

    fn run(cells: u64, seed: u64) -> Vec<(f64, Vec<u64>)> {
        let mut search = CellSearch::new(space(&AXES), cells, seed);
        let mut all = Vec::new();
        loop {
            let batch = search.ask();
            if batch.is_empty() {
                return all;
            }
            for places in batch {
                search.tell(&places, cost(&places));
                all.push((cost(&places), places));
            }
        }
    }

    /// Beats as many random cells, which is what anybody could do.
    #[test]
    fn it_finds_better_cells_than_chance() {
        let best = |all: &[(f64, Vec<u64>)]| all.iter().map(|c| c.0).fold(f64::MAX, f64::min);
        let mut better = 0;
        for seed in 0..20 {
            let found = best(&run(80, seed));
            let mut random = RandomStream::new(seed, 0, "test");
            let lengths = [100, 3, 1_001];
            let drawn = (0..80).map(|_| cost(&lengths.map(|n| random.below(n))));
            better += u32::from(found <= drawn.fold(f64::MAX, f64::min));
        }
        assert!(better >= 16, "better in {better} of 20");
    }

    #[test]
    fn no_cell_is_asked_for_twice_and_no_more_than_wanted() {
        let all = run(90, 1);
        let cells: BTreeSet<_> = all.iter().map(|(_, places)| places).collect();
        assert_eq!((all.len(), cells.len()), (90, 90));
        assert!(all == run(90, 1), "the same seed asks for the same");
        assert!(all != run(90, 2));
    }

    #[test]
    fn a_small_space_is_gone_through_in_order() {
        let mut search = CellSearch::new(space(&[("a", "1..3"), ("b", "x,y,z,w")]), 100, 1);
        assert_eq!(search.cells(), 12);
        let mut all = search.ask();
        assert_eq!(all.len(), BATCH);
        all.extend(search.ask());
        all.extend(search.ask());
        let expected: Vec<Vec<u64>> = (0..12).map(|n| vec![n / 4, n % 4]).collect();
        assert_eq!(all, expected);
    }

    /// One cell fewer than there are: the last ones are hard to hit by chance.
    #[test]
    fn almost_all_cells_can_be_asked_for() {
        let mut search = CellSearch::new(space(&[("a", "1..7"), ("b", "1..7")]), 48, 3);
        let mut all = BTreeSet::new();
        loop {
            let batch = search.ask();
            if batch.is_empty() {
                break;
            }
            for places in batch {
                search.tell(&places, f64::NAN);
                assert!(all.insert(places));
            }
        }
        assert_eq!(all.len(), 48);
    }
}
