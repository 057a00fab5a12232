//! What can be made of several figures of one replication: one figure, by name.
//!
//! A statement that nothing else expresses gets its function here, with a name and without the
//! name of any paper.

/// A function of the figures of one replication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// The smallest.
    Lowest,
    /// The largest.
    Highest,
    /// The arithmetic mean.
    Mean,
    /// The largest less the smallest.
    Spread,
    /// How far the figure farthest from its place is from there, in steps of even spacing: 0 when
    /// all are spaced evenly between the smallest and the largest.
    Unevenness,
    /// Jain's index: 1 when all are equal, one n-th when one has all.
    Fairness,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 6] = [
        Shape::Lowest,
        Shape::Highest,
        Shape::Mean,
        Shape::Spread,
        Shape::Unevenness,
        Shape::Fairness,
    ];

    /// The word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Shape::Lowest => "lowest",
            Shape::Highest => "highest",
            Shape::Mean => "mean",
            Shape::Spread => "spread",
            Shape::Unevenness => "unevenness",
            Shape::Fairness => "fairness",
        }
    }

    /// The figure that is made of `figures`; not a number when there is none.
    pub fn of(self, figures: &[f64]) -> f64 {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let found = match self {
            Shape::Lowest => sorted.first().copied(),
            Shape::Highest => sorted.last().copied(),
            Shape::Mean => domio_stats::mean(figures),
            Shape::Spread => domio_stats::spread(figures),
            Shape::Unevenness => Some(unevenness(&sorted)),
            Shape::Fairness => domio_stats::jain(figures),
        };
        found.unwrap_or(f64::NAN)
    }
}

/// See [`Shape::Unevenness`]; `sorted` begins with the smallest.
fn unevenness(sorted: &[f64]) -> f64 {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return 0.0;
    };
    let step = (last - first) / (sorted.len() - 1).max(1) as f64;
    if step == 0.0 {
        return 0.0;
    }
    let off = |(rank, value): (usize, &f64)| (value - (first + step * rank as f64)).abs() / step;
    sorted.iter().enumerate().map(off).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spacing_is_measured_in_steps() {
        assert_eq!(Shape::Unevenness.of(&[30.0, 0.0, 20.0, 10.0]), 0.0);
        assert_eq!(Shape::Unevenness.of(&[20.0, 0.0, 20.0, 30.0]), 1.0);
        assert_eq!(Shape::Unevenness.of(&[5.0, 5.0]), 0.0);
    }

    #[test]
    fn shapes_by_hand() {
        let of = |shape: Shape| shape.of(&[4.0, 1.0, 1.0]);
        assert_eq!(of(Shape::Lowest), 1.0);
        assert_eq!(of(Shape::Highest), 4.0);
        assert_eq!(of(Shape::Mean), 2.0);
        assert_eq!(of(Shape::Spread), 3.0);
        assert_eq!(of(Shape::Fairness), 36.0 / (3.0 * 18.0));
        for shape in Shape::ALL {
            assert!(shape.of(&[]).is_nan() || shape == Shape::Unevenness);
        }
    }
}
