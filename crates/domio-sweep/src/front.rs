//! The Pareto front of two figures: cells of which no other is better in one and as good in the
//! other.

/// Which way a figure improves along the front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Small values.
    Small,
    /// Large values.
    Large,
}

impl Wanted {
    /// `value`, or its opposite, such that smaller is better.
    fn cost(self, value: f64) -> f64 {
        match self {
            Wanted::Small => value,
            Wanted::Large => -value,
        }
    }
}

/// The cells of the front so far. It holds no other.
#[derive(Clone, Debug)]
pub struct ParetoFront {
    wanted: [Wanted; 2],
    /// By the first figure, the best first; so the second figure improves from one to the next.
    cells: Vec<FrontCell>,
}

/// A cell of the front.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FrontCell {
    /// Its number.
    pub cell: u64,
    /// Its two figures.
    pub figures: [f64; 2],
}

impl ParetoFront {
    /// A front without a cell.
    pub fn new(wanted: [Wanted; 2]) -> Self {
        ParetoFront {
            wanted,
            cells: Vec::new(),
        }
    }

    /// Adds a cell, if none before it is at least as good in both figures; it takes away those that
    /// it is as good as. Figures that are no number are left out.
    pub fn add(&mut self, cell: FrontCell) {
        if cell.figures.iter().any(|figure| figure.is_nan()) {
            return;
        }
        let wanted = self.wanted;
        let costs = move |cell: &FrontCell| [0, 1].map(|i| wanted[i].cost(cell.figures[i]));
        let new = costs(&cell);
        // The last one that is at least as good in the first figure is the best of them in the
        // other.
        let place = self
            .cells
            .partition_point(|other| costs(other)[0] <= new[0]);
        if place > 0 && costs(&self.cells[place - 1])[1] <= new[1] {
            return;
        }
        // It comes before those that are as good in the first figure, and takes their place.
        let from = self.cells.partition_point(|other| costs(other)[0] < new[0]);
        let worse = self.cells[from..]
            .iter()
            .take_while(|other| costs(other)[1] >= new[1]);
        let until = from + worse.count();
        self.cells.splice(from..until, [cell]);
    }

    /// The cells, the best in the first figure first.
    pub fn cells(&self) -> &[FrontCell] {
        &self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn front(wanted: [Wanted; 2], cells: &[[f64; 2]]) -> Vec<u64> {
        let mut front = ParetoFront::new(wanted);
        for (cell, figures) in (0..).zip(cells) {
            let figures = *figures;
            front.add(FrontCell { cell, figures });
        }
        front.cells().iter().map(|cell| cell.cell).collect()
    }

    #[test]
    fn no_cell_of_the_front_is_beaten() {
        let cells = [
            [3.0, 3.0],
            [1.0, 5.0],
            [4.0, 4.0],
            [2.0, 3.0],
            [9.0, 0.0],
            [2.0, 9.0],
        ];
        assert_eq!(front([Wanted::Small, Wanted::Small], &cells), [1, 3, 4]);
        assert_eq!(front([Wanted::Large, Wanted::Small], &cells), [4]);
        assert_eq!(
            front([Wanted::Large, Wanted::Large], &cells),
            [4, 2, 1, 5]
                .into_iter()
                .filter(|c| *c != 1)
                .collect::<Vec<u64>>()
        );
    }

    #[test]
    fn of_equal_cells_the_first_stays() {
        let cells = [[1.0, 1.0], [1.0, 1.0], [f64::NAN, 0.0]];
        assert_eq!(front([Wanted::Small, Wanted::Small], &cells), [0]);
    }

    proptest! {
        #[test]
        fn the_front_is_what_comparing_all_with_all_gives(
            cells in prop::collection::vec((0..9_u8, 0..9_u8), 0..40), large in any::<[bool; 2]>()
        ) {
            let wanted = large.map(|large| if large { Wanted::Large } else { Wanted::Small });
            let cells = cells.iter().map(|(a, b)| [f64::from(*a), f64::from(*b)]);
            let cells: Vec<[f64; 2]> = cells.collect();
            let cost = |c: &[f64; 2]| [wanted[0].cost(c[0]), wanted[1].cost(c[1])];
            let beats = |a: &[f64; 2], b: &[f64; 2]| {
                let (a, b) = (cost(a), cost(b));
                a[0] <= b[0] && a[1] <= b[1] && a != b
            };
            let mut slow: Vec<u64> = (0..cells.len())
                .filter(|i| !cells.iter().any(|other| beats(other, &cells[*i])))
                .filter(|i| !cells[..*i].contains(&cells[*i]))
                .map(|i| i as u64)
                .collect();
            let mut quick = front(wanted, &cells);
            quick.sort_unstable();
            slow.sort_unstable();
            prop_assert_eq!(quick, slow);
        }
    }
}
