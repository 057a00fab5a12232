//! A figure by replication, and figures in words.

use crate::samples::Samples;
use domio_stats::Estimate;

/// What the replications of a cell without any reply have for its latency.
pub const MISSING: f64 = f64::NAN;

/// A figure of a cell, by replication.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// What it is of which cell.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// One value a replication.
    pub values: Vec<f64>,
    /// Names of the experiments that the values are of; empty where nobody has kept them.
    pub reads: Vec<String>,
}

impl Series {
    /// A series that was computed from others.
    pub fn new(name: impl Into<String>, unit: impl Into<String>, values: Vec<f64>) -> Self {
        Series {
            name: name.into(),
            unit: unit.into(),
            values,
            reads: Vec::new(),
        }
    }

    /// The value called `key` of the experiment called `experiment`; `name` and `unit` for people.
    ///
    /// # Panics
    /// As [`Samples::values`].
    pub fn of(
        samples: &Samples<'_>,
        experiment: &str,
        key: &str,
        name: impl Into<String>,
        unit: impl Into<String>,
    ) -> Self {
        Series {
            reads: vec![experiment.to_owned()],
            ..Series::new(name, unit, samples.values(experiment, key))
        }
    }

    /// Mean over the replications, with its interval; `None` when the figure is
    /// [missing](MISSING).
    pub fn estimate(&self) -> Option<Estimate> {
        match self.is_missing() {
            true => None,
            false => Estimate::of(&self.values),
        }
    }

    /// Whether the cell does not have the figure.
    pub fn is_missing(&self) -> bool {
        self.values.iter().any(|v| v.is_nan())
    }

    /// The series with each value changed by `f`.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Series {
        let values = self.values.iter().map(|v| f(*v)).collect();
        Series {
            values,
            ..self.clone()
        }
    }

    /// The series of `f` of this value and the other's of the same replication.
    pub fn with(&self, other: &Series, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let pairs = self.values.iter().zip(&other.values);
        pairs.map(|(a, b)| f(*a, *b)).collect()
    }

    /// What it is, and the estimate in words.
    pub fn told(&self) -> String {
        format!("{}: {}", self.name, self.shown())
    }

    /// The estimate in words.
    pub fn shown(&self) -> String {
        match self.estimate() {
            Some(_) => with_unit(&self.figures(), &self.unit),
            None => self.figures(),
        }
    }

    /// The estimate without the unit.
    pub fn figures(&self) -> String {
        match self.estimate() {
            None => "without any reply".to_owned(),
            Some(estimate) => plus_minus(&estimate),
        }
    }
}

/// `value` with about three digits.
pub fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 || v == 0.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Both with as many decimals as the second needs to show two digits.
fn plus_minus(estimate: &Estimate) -> String {
    let Some(half) = estimate.half_width() else {
        return number(estimate.mean);
    };
    if half == 0.0 {
        return format!("{} ± 0", number(estimate.mean));
    }
    let decimals = (1.0 - half.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{:.decimals$} ± {half:.decimals$}", estimate.mean)
}

/// `text` with `unit` behind it, if there is one.
pub fn with_unit(text: &str, unit: &str) -> String {
    format!("{text} {unit}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_two_digits() {
        let shown = |values: &[f64]| Series::new("", "ms", values.to_vec()).shown();
        assert_eq!(shown(&[36_000.0, 37_000.0, 36_612.0]), "36537 ± 1252 ms");
        assert_eq!(shown(&[12.0, 12.2, 12.1]), "12.10 ± 0.25 ms");
        assert_eq!(shown(&[10.0, 14.0, 12.0]), "12.0 ± 5.0 ms");
        assert_eq!(shown(&[9.0, 9.0]), "9 ± 0 ms");
        assert_eq!(shown(&[9.0]), "9 ms");
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (36_612.4, "36612"),
            (12.34, "12.3"),
            (2.0, "2"),
            (0.2731, "0.273"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
