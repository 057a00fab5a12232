//! Which cells a sweep has: the axes, and a design that chooses among their values.
//!
//! A cell is a value of each axis. Cells have numbers from 0, and a cell is computed from its
//! number, so that a plan of a hundred thousand cells takes no more memory than one of ten; a Latin
//! hypercube keeps four bytes a cell and axis.

use crate::axis::Axis;
use domio_sim::RandomStream;
use std::fmt;

/// Cells that a plan has at most.
pub const MOST_CELLS: u64 = 10_000_000;

/// Cells of a Latin hypercube for each axis with several values, where nobody says how many: the
/// rule of Loeppky, Sacks and Welch, "Choosing the Sample Size of a Computer Experiment" (2009).
const CELLS_AN_AXIS: u64 = 10;

/// Cells of a search, where nobody says how many: a guess.
pub const SEARCHED: u64 = 100;

/// How cells are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Design {
    /// Every combination of the axes' values. The last axis changes with each cell.
    Grid,
    /// So many cells, spread such that every stretch of every axis has one (McKay, Beckman and
    /// Conover 1979). Without a number, 10 for each axis with several values.
    LatinHypercube(Option<u64>),
    /// So many cells at most, each chosen after those before it (see [`crate::search`]).
    Search(Option<u64>),
}

impl Design {
    /// Reads `grid`, `latin-hypercube`, `latin-hypercube:N`, `search` or `search:N`.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, count) = match text.split_once(':') {
            Some((name, count)) => (name, Some(count)),
            None => (text, None),
        };
        let number = |count: &str| {
            let read = count.parse().ok();
            read.filter(|count| (2..=MOST_CELLS).contains(count))
                .ok_or_else(|| format!("\"{count}\" is no number of cells, 2..={MOST_CELLS}"))
        };
        let count = count.map(number).transpose()?;
        match (name, count) {
            ("grid", None) => Ok(Design::Grid),
            ("grid", Some(_)) => Err(
                "a grid has all combinations; its cells are counted by the axes' values".to_owned(),
            ),
            ("latin-hypercube", count) => Ok(Design::LatinHypercube(count)),
            ("search", count) => Ok(Design::Search(count)),
            _ => Err("expected grid, latin-hypercube, latin-hypercube:N or search:N".to_owned()),
        }
    }
}

/// As [`Design::parse`] reads it.
impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, count) = match self {
            Design::Grid => ("grid", None),
            Design::LatinHypercube(count) => ("latin-hypercube", *count),
            Design::Search(count) => ("search", *count),
        };
        match count {
            Some(count) => write!(f, "{name}:{count}"),
            None => f.write_str(name),
        }
    }
}

/// Why axes and design make no plan.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// Two axes have one key.
    #[error("{key} is set twice, to {first} and to {second}; write all of its values behind one =")]
    Twice {
        /// The key.
        key: String,
        /// Its values.
        first: String,
        /// Its values again.
        second: String,
    },
    /// A grid needs points.
    #[error("{axis} names no number of points, and a grid has all of them; write {axis}:N")]
    Uncounted {
        /// The axis.
        axis: String,
    },
    /// There are too many cells.
    #[error(
        "the axes have {cells} combinations, and a sweep has {MOST_CELLS} cells at most; use fewer \
         values, or --design latin-hypercube:N"
    )]
    TooMany {
        /// How many, or the most that can be counted.
        cells: u64,
    },
    /// A Latin hypercube would have more cells than there are.
    #[error(
        "the axes have {there} combinations only, fewer than the {wanted} cells of the Latin \
         hypercube; use --design grid, which has each once"
    )]
    TooFew {
        /// Combinations.
        there: u64,
        /// Cells.
        wanted: u64,
    },
}

/// Axes and the cells that a design chooses.
#[derive(Clone, PartialEq, Debug)]
pub struct SweepPlan {
    axes: Vec<Axis>,
    cells: u64,
    chosen: Chosen,
}

#[derive(Clone, PartialEq, Debug)]
enum Chosen {
    /// All, by number.
    All,
    /// By axis: the place of the value of each cell.
    Places(Vec<Vec<u32>>),
}

impl SweepPlan {
    /// The grid or the Latin hypercube of `axes`; `seed` decides the latter. A search chooses its
    /// cells from the grid, which [`SweepPlan::space`] makes.
    ///
    /// # Errors
    /// When two axes have one key, or cells are too many or too few.
    pub fn new(axes: Vec<Axis>, design: Design, seed: u64) -> Result<Self, PlanError> {
        let plan = SweepPlan::space(axes)?;
        match design {
            Design::Grid | Design::Search(_) => plan.counted(),
            Design::LatinHypercube(count) => plan.latin_hypercube(count, seed),
        }
    }

    /// All combinations of `axes`, however many, for a search to choose from.
    ///
    /// # Errors
    /// When two axes have one key.
    pub fn space(axes: Vec<Axis>) -> Result<Self, PlanError> {
        for (i, axis) in axes.iter().enumerate() {
            let values = |axis: &Axis| axis.to_string().split_off(axis.key().len() + 1);
            if let Some(before) = axes[..i].iter().find(|other| other.key() == axis.key()) {
                return Err(PlanError::Twice {
                    key: axis.key().to_owned(),
                    first: values(before),
                    second: values(axis),
                });
            }
        }
        let combine = |product: u64, axis: &Axis| product.saturating_mul(axis.len());
        Ok(SweepPlan {
            cells: axes.iter().fold(1, combine),
            axes,
            chosen: Chosen::All,
        })
    }

    fn counted(self) -> Result<Self, PlanError> {
        if let Some(axis) = self.axes.iter().find(|axis| !axis.is_counted()) {
            let axis = axis.to_string();
            return Err(PlanError::Uncounted { axis });
        }
        match self.cells {
            0..=MOST_CELLS => Ok(self),
            cells => Err(PlanError::TooMany { cells }),
        }
    }

    fn latin_hypercube(self, count: Option<u64>, seed: u64) -> Result<Self, PlanError> {
        let several = self.axes.iter().filter(|axis| axis.len() > 1).count() as u64;
        let there = self.cells;
        let wanted = count.unwrap_or(CELLS_AN_AXIS * several.max(1));
        if wanted > there {
            return Err(PlanError::TooFew { there, wanted });
        }
        let places = self.axes.iter().map(|axis| spread(axis, wanted, seed));
        Ok(SweepPlan {
            chosen: Chosen::Places(places.collect()),
            cells: wanted,
            axes: self.axes,
        })
    }

    /// The axes, in the order in which they were given.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The axis of `key`.
    pub fn axis(&self, key: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis.key() == key)
    }

    /// How many cells there are.
    pub fn cells(&self) -> u64 {
        self.cells
    }

    /// By axis: the place of the value that cell `number` has.
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn places(&self, number: u64) -> Vec<u64> {
        assert!(number < self.cells, "there is no cell {number}");
        match &self.chosen {
            Chosen::All => {
                let mut rest = number;
                let mut places = vec![0; self.axes.len()];
                for (place, axis) in places.iter_mut().zip(&self.axes).rev() {
                    *place = rest % axis.len();
                    rest /= axis.len();
                }
                places
            }
            Chosen::Places(places) => {
                let place = |of: &Vec<u32>| u64::from(of[number as usize]);
                places.iter().map(place).collect()
            }
        }
    }

    /// The values at `places`, by axis.
    pub fn values(&self, places: &[u64]) -> Vec<String> {
        let pairs = self.axes.iter().zip(places);
        pairs.map(|(axis, place)| axis.value(*place)).collect()
    }
}

/// For each of `count` cells the place of its value on `axis`. Each of `count` stretches of the
/// axis has one cell, and which cell is drawn; so is the place within a stretch of several values.
fn spread(axis: &Axis, count: u64, seed: u64) -> Vec<u32> {
    let mut random = RandomStream::new(seed, 0, &format!("sweep/{}", axis.key()));
    let mut order: Vec<u64> = (0..count).collect();
    shuffle(&mut order, &mut random);
    let begin = |stretch: u64| {
        let place = u128::from(stretch) * u128::from(axis.len()) / u128::from(count);
        place as u64
    };
    let place = |stretch: u64| {
        let (from, until) = (begin(stretch), begin(stretch + 1));
        (from + random.below((until - from).max(1))) as u32
    };
    order.into_iter().map(place).collect()
}

/// Any order equally likely (Fisher and Yates; Durstenfeld 1964).
fn shuffle(items: &mut [u64], random: &mut RandomStream) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn axes(texts: &[(&str, &str)]) -> Vec<Axis> {
        let axis = |(key, text): &(&str, &str)| Axis::parse(key, text).unwrap();
        texts.iter().map(axis).collect()
    }

    fn plan(texts: &[(&str, &str)], design: &str) -> Result<SweepPlan, String> {
        let design = Design::parse(design)?;
        SweepPlan::new(axes(texts), design, 1).map_err(|e| e.to_string())
    }

    fn cells(plan: &SweepPlan) -> Vec<Vec<String>> {
        let cell = |number| plan.values(&plan.places(number));
        (0..plan.cells()).map(cell).collect()
    }

    #[test]
    fn the_last_axis_of_a_grid_changes_first() {
        let plan = plan(&[("a", "x,y"), ("b", "1..3"), ("c", "7")], "grid").unwrap();
        let all: Vec<String> = cells(&plan).iter().map(|cell| cell.join(" ")).collect();
        assert_eq!(all, ["x 1 7", "x 2 7", "x 3 7", "y 1 7", "y 2 7", "y 3 7"]);
        assert_eq!(plan.axis("b"), Some(1));
    }

    #[test]
    fn a_plan_without_axes_has_one_cell() {
        let plan = plan(&[], "grid").unwrap();
        assert_eq!(cells(&plan), [Vec::<String>::new()]);
    }

    #[test]
    fn a_latin_hypercube_has_ten_cells_an_axis_and_meets_all_values() {
        let of = |seed| {
            let axes = axes(&[("a", "0.0..1.0"), ("b", "x,y"), ("c", "5")]);
            SweepPlan::new(axes, Design::LatinHypercube(None), seed).unwrap()
        };
        let cells = cells(&of(1));
        assert_eq!(cells.len(), 20);
        let with = |value: &str| cells.iter().filter(|cell| cell[1] == value).count();
        assert_eq!((with("x"), with("y")), (10, 10));
        let deciles = cells
            .iter()
            .map(|cell| cell[0].parse::<f64>().unwrap() * 20.0);
        let deciles: BTreeSet<u64> = deciles.map(|at| at.min(19.0) as u64).collect();
        assert!(deciles.len() >= 19, "one in each stretch: {deciles:?}");
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn what_makes_no_plan_is_told() {
        let told = |texts: &[(&str, &str)], design| plan(texts, design).unwrap_err();
        assert!(
            told(&[("a", "1"), ("a", "2,3")], "grid").contains("a is set twice, to 1 and to 2,3")
        );
        assert!(told(&[("a", "0.0..1.0")], "grid").contains("write a=0.0..1.0:N"));
        let many = [("a", "1..9999"), ("b", "1..9999")];
        assert!(told(&many, "grid").contains("99980001 combinations"));
        let huge = [("a", "0..999999")];
        assert!(plan(&huge, "grid").is_ok());
        assert!(told(&[("a", "1..4")], "latin-hypercube").contains("4 combinations only"));
        assert!(told(&[], "grid:5").contains("all combinations"));
        assert!(told(&[], "latin-hypercube:1").contains("2..="));
        assert!(told(&[], "sobol").contains("expected grid"));
    }

    #[test]
    fn a_space_may_be_larger_than_a_plan() {
        let axes = axes(&[("a", "0..999999"), ("b", "0..999999"), ("c", "0..999999")]);
        let space = SweepPlan::space(axes).unwrap();
        assert_eq!(space.cells(), 1_000_000_000_000_000_000);
        let last = space.places(space.cells() - 1);
        assert_eq!(space.values(&last), ["999999", "999999", "999999"]);
    }

    proptest! {
        #[test]
        fn a_grid_has_every_combination_once(lengths in prop::collection::vec(1..6_u64, 1..4)) {
            let axis = |(i, n): (usize, &u64)| {
                let values = match n {
                    1 => "0".to_owned(),
                    n => format!("0..{}", n - 1),
                };
                Axis::parse(&format!("k{i}"), &values)
            };
            let axes: Vec<Axis> = lengths.iter().enumerate().map(|a| axis(a).unwrap()).collect();
            let plan = SweepPlan::new(axes, Design::Grid, 1).unwrap();
            let all: BTreeSet<Vec<String>> = cells(&plan).into_iter().collect();
            prop_assert_eq!(all.len() as u64, lengths.iter().product::<u64>());
            prop_assert_eq!(all.len() as u64, plan.cells());
        }

        #[test]
        fn a_hypercube_has_each_value_as_often_as_any_other(
            length in 2..40_u64, other in 10..50_u64, count in 2..60_u64, seed in any::<u64>()
        ) {
            prop_assume!(count <= length * other);
            let axes = axes(&[("a", &format!("1..{length}")), ("b", &format!("1..{other}"))]);
            let plan = SweepPlan::new(axes, Design::LatinHypercube(Some(count)), seed).unwrap();
            let mut often = vec![0_u64; length as usize];
            for number in 0..count {
                often[plan.places(number)[0] as usize] += 1;
            }
            prop_assert_eq!(often.iter().sum::<u64>(), count);
            let (fewest, most) = (often.iter().min().unwrap(), often.iter().max().unwrap());
            prop_assert!(most - fewest <= 1, "{:?}", often);
        }
    }
}
