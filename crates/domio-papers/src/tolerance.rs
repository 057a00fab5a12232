//! How far a measured figure may lie from a published one.

use std::fmt;

/// How far a `value` claim may be off.
///
/// [`Tolerance::parse`] reads the forms that a single figure needs. A claim whose tolerance is a
/// sentence ("latency x3, share 3pt") is decided by a check that names several tolerances.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// "x2": a factor of two either way. At least 1.
    Factor(f64),
    /// "25%": relative, in percent of the published figure.
    Percent(f64),
    /// "2pt" or "0.08": absolute, in the unit of the figure; "pt" is percentage points.
    Absolute(f64),
    /// "1.2 to 2.2": a closed range, whatever the published figure.
    Range(f64, f64),
}

impl Tolerance {
    /// Reads "x2", "25%", "2pt", "0.08" or "1.2 to 2.2"; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let positive = |s: &str| {
            let number: f64 = s.trim().parse().ok()?;
            (number.is_finite() && number > 0.0).then_some(number)
        };
        if let Some((low, high)) = text.split_once(" to ") {
            let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
            return (low <= high).then_some(Tolerance::Range(low, high));
        }
        if let Some(factor) = text.strip_prefix('x') {
            let factor = positive(factor)?;
            return (factor >= 1.0).then_some(Tolerance::Factor(factor));
        }
        if let Some(percent) = text.strip_suffix('%') {
            return positive(percent).map(Tolerance::Percent);
        }
        positive(text.strip_suffix("pt").unwrap_or(text)).map(Tolerance::Absolute)
    }

    /// Whether `measured` is near enough to `published`. Both ends belong to the allowed range.
    pub fn holds(self, published: f64, measured: f64) -> bool {
        let (low, high) = self.range(published);
        low <= measured && measured <= high
    }

    /// The allowed range around `published`.
    pub fn range(self, published: f64) -> (f64, f64) {
        let ordered = |a: f64, b: f64| (a.min(b), a.max(b));
        match self {
            Tolerance::Factor(factor) => ordered(published / factor, published * factor),
            Tolerance::Percent(percent) => {
                let reach = published.abs() * percent / 100.0;
                (published - reach, published + reach)
            }
            Tolerance::Absolute(reach) => (published - reach, published + reach),
            Tolerance::Range(low, high) => (low, high),
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Factor(factor) => write!(f, "x{factor}"),
            Tolerance::Percent(percent) => write!(f, "{percent}%"),
            Tolerance::Absolute(reach) => write!(f, "±{reach}"),
            Tolerance::Range(low, high) => write!(f, "{low} to {high}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_forms() {
        for (text, tolerance) in [
            ("x2", Tolerance::Factor(2.0)),
            ("x1.5", Tolerance::Factor(1.5)),
            ("25%", Tolerance::Percent(25.0)),
            ("0.5pt", Tolerance::Absolute(0.5)),
            ("0.08", Tolerance::Absolute(0.08)),
            ("1.2 to 2.2", Tolerance::Range(1.2, 2.2)),
        ] {
            assert_eq!(Tolerance::parse(text), Some(tolerance), "{text}");
        }
        for text in ["", "x0.5", "-3pt", "one interval", "2.2 to 1.2", "NaN", "x"] {
            assert_eq!(Tolerance::parse(text), None, "{text}");
        }
    }

    #[test]
    fn both_ends_are_allowed_and_beyond_is_not() {
        assert!(Tolerance::Factor(2.0).holds(100.0, 50.0));
        assert!(Tolerance::Factor(2.0).holds(100.0, 200.0));
        assert!(!Tolerance::Factor(2.0).holds(100.0, 201.0));
        assert!(Tolerance::Factor(2.0).holds(-100.0, -200.0));
        assert!(Tolerance::Percent(25.0).holds(-8.0, -10.0));
        assert!(!Tolerance::Percent(25.0).holds(8.0, 10.1));
        assert!(!Tolerance::Absolute(1.0).holds(14.3, 15.5));
        assert!(!Tolerance::Range(1.2, 2.2).holds(1.5, 2.3));
        assert!(!Tolerance::Factor(2.0).holds(100.0, f64::NAN));
    }
}
