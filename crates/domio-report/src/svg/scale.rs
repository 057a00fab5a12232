//! Axes: from values to places, and where the ticks go.

use super::letters::{SMALL, text_width};

/// Least ratio of the largest to the smallest positive value for which an axis is logarithmic
/// unless something else is said: a bar that is shorter than a thirtieth of the longest cannot be
/// read.
const DECADES: f64 = 30.0;

/// Whether positive `values` span decades, so that small ones would vanish on a linear axis.
pub fn spans_decades(values: impl IntoIterator<Item = f64>) -> bool {
    positive_ends(values).is_some_and(|(low, high)| high / low >= DECADES)
}

/// The smallest and the largest of those of `values` that are positive.
fn positive_ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let positive = values.into_iter().filter(|v| v.is_finite() && *v > 0.0);
    let both = positive.map(|v| (v, v));
    both.reduce(|(low, high), (v, _)| (low.min(v), high.max(v)))
}

/// The smallest and the largest of `values` and zero.
pub fn ends_with_zero(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let values = values.into_iter();
    values.fold((0.0, 0.0), |(low, high), v| (low.min(v), high.max(v)))
}

/// From values to places along one direction of a picture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// Value at the first place (its logarithm on a logarithmic axis).
    low: f64,
    /// Value at the last place.
    high: f64,
    first: f64,
    last: f64,
    log: bool,
}

/// One tick.
#[derive(Clone, PartialEq, Debug)]
pub struct Tick {
    /// Place in the picture.
    pub place: f64,
    /// What is written there; empty for a tick between labelled ones.
    pub label: String,
}

impl Scale {
    /// An axis for all of `values` that are numbers: linear with zero, or logarithmic for those
    /// that are positive.
    pub fn of(log: bool, values: impl IntoIterator<Item = f64>, first: f64, last: f64) -> Self {
        if log {
            return Scale::log_of(values, first, last);
        }
        let (low, high) = ends_with_zero(values.into_iter().filter(|v| v.is_finite()));
        Scale::linear(low, high, first, last)
    }

    /// A linear axis for values from `low` to `high`, widened to round numbers, between the places
    /// `first` and `last`. With `low == high` the axis gets a width of its own.
    pub fn linear(low: f64, high: f64, first: f64, last: f64) -> Self {
        let (low, high) = (low.min(high), low.max(high));
        let high = if high > low {
            high
        } else {
            low + low.abs().max(1.0)
        };
        let step = nice_step(high - low);
        let (low, high) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        Scale::exact(low * step, high * step, first, last)
    }

    /// An exact linear axis, for time.
    pub fn exact(low: f64, high: f64, first: f64, last: f64) -> Self {
        Scale {
            low,
            high: if high > low { high } else { low + 1.0 },
            first,
            last,
            log: false,
        }
    }

    /// A logarithmic axis that covers the positive values `low` to `high` with whole decades.
    pub fn log(low: f64, high: f64, first: f64, last: f64) -> Self {
        let decade = |v: f64| v.max(1e-12).log10();
        let low = (decade(low) + 1e-9).floor();
        let high = (decade(high) - 1e-9).ceil().max(low + 1.0);
        let log = true;
        Scale {
            log,
            ..Scale::exact(low, high, first, last)
        }
    }

    /// The place of `value`. Values outside lie at the ends.
    pub fn place(&self, value: f64) -> f64 {
        let value = match self.log {
            true if value > 0.0 => value.log10(),
            true => self.low,
            false => value,
        };
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.first + part * (self.last - self.first)
    }

    /// A logarithmic axis for all of `values` that are positive.
    pub fn log_of(values: impl IntoIterator<Item = f64>, first: f64, last: f64) -> Self {
        let (low, high) = positive_ends(values).unwrap_or((1.0, 1.0));
        Scale::log(low, high, first, last)
    }

    /// The ticks of a horizontal axis: as many have labels as fit side by side.
    pub fn ticks_across(&self) -> Vec<Tick> {
        const APART: f64 = 8.0;
        let mut ticks = self.ticks();
        let mut labelled: Vec<&mut Tick> = ticks.iter_mut().filter(|t| t.is_labelled()).collect();
        let apart = |a: &Tick, b: &Tick| {
            (b.place - a.place).abs() >= a.half_width() + b.half_width() + APART
        };
        let fits = |every: &usize| {
            let next = labelled.iter().step_by(*every).skip(1);
            labelled
                .iter()
                .step_by(*every)
                .zip(next)
                .all(|(a, b)| apart(a, b))
        };
        let every = (1..=labelled.len()).find(fits).unwrap_or(1);
        for (number, tick) in labelled.iter_mut().enumerate() {
            if number % every != 0 {
                tick.label.clear();
            }
        }
        ticks
    }

    /// The ticks, by value.
    pub fn ticks(&self) -> Vec<Tick> {
        if self.log {
            return self.log_ticks();
        }
        let step = nice_step(self.high - self.low);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let from = (self.low / step - 1e-9).ceil() as i64;
        let until = (self.high / step + 1e-9).floor() as i64;
        (from..=until)
            .map(|i| i as f64 * step)
            .map(|value| self.tick(value, format!("{value:.decimals$}")))
            .collect()
    }

    fn tick(&self, value: f64, label: String) -> Tick {
        let place = self.place(value);
        Tick { place, label }
    }

    fn log_ticks(&self) -> Vec<Tick> {
        let mut ticks = Vec::new();
        let decades = self.low as i32..=self.high as i32;
        // Labels of more decades than this would touch.
        let every = decades.clone().count() as i32 / 10 + 1;
        for power in decades {
            let value = 10_f64.powi(power);
            let labelled = (power - self.low as i32) % every == 0;
            let label = labelled.then(|| decade_label(power));
            ticks.push(self.tick(value, label.unwrap_or_default()));
            if power < self.high as i32 {
                ticks.extend((2..10).map(|i| self.tick(f64::from(i) * value, String::new())));
            }
        }
        ticks
    }
}

impl Tick {
    /// Half of the width of the label.
    pub fn half_width(&self) -> f64 {
        text_width(&self.label, SMALL) / 2.0
    }

    fn is_labelled(&self) -> bool {
        !self.label.is_empty()
    }

    /// Class of the line at the tick: finer where there is no label.
    pub fn class(&self) -> &'static str {
        match self.is_labelled() {
            true => "grid",
            false => "grid minor",
        }
    }
}

fn decade_label(power: i32) -> String {
    match power {
        -4..=-1 => format!("{:.*}", power.unsigned_abs() as usize, 10_f64.powi(power)),
        0..=5 => format!("{}", 10_u64.pow(power as u32)),
        _ => format!("1e{power}"),
    }
}

/// A step of 1, 2 or 5 times a power of ten that cuts `range` into four to ten parts.
fn nice_step(range: f64) -> f64 {
    let raw = range / 5.0;
    let power = 10_f64.powf(raw.log10().floor());
    let factor = match raw / power {
        f if f <= 1.0 => 1.0,
        f if f <= 2.0 => 2.0,
        f if f <= 5.0 => 5.0,
        _ => 10.0,
    };
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(scale: Scale) -> Vec<String> {
        let ticks = scale.ticks().into_iter().map(|t| t.label);
        ticks.filter(|l| !l.is_empty()).collect()
    }

    #[test]
    fn linear_axes_have_round_ticks() {
        let scale = Scale::linear(0.0, 15.3, 100.0, 200.0);
        assert_eq!(labels(scale), ["0", "5", "10", "15", "20"]);
        assert_eq!(scale.place(10.0), 150.0);
        assert_eq!(scale.place(99.0), 200.0);
        assert_eq!(
            labels(Scale::linear(0.0, 1.0, 0.0, 1.0)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert!(labels(Scale::linear(0.0, 0.0, 0.0, 1.0)).len() > 1);
    }

    #[test]
    fn logarithmic_axes_have_whole_decades() {
        let scale = Scale::log(0.03, 40.0, 0.0, 400.0);
        assert_eq!(labels(scale), ["0.01", "0.1", "1", "10", "100"]);
        assert!((scale.place(1.0) - 200.0).abs() < 1e-9);
        assert_eq!(scale.place(0.0), 0.0);
        assert_eq!(labels(Scale::log(1.0, 1.0, 0.0, 1.0)), ["1", "10"]);
        assert!(labels(Scale::log(1e-9, 1e9, 0.0, 1.0)).len() <= 11);
    }

    #[test]
    fn decades_make_an_axis_logarithmic() {
        assert!(spans_decades([0.3, 30.0]) && spans_decades([0.0, 1.0, 5e4]));
        assert!(!spans_decades([1.0, 29.0]) && !spans_decades([0.0, 50.0]));
        assert!(!spans_decades([]) && !spans_decades([f64::INFINITY, 1.0]));
    }

    proptest! {
        #[test]
        fn labels_of_a_horizontal_axis_never_touch(
            low in -1e6..1e6f64, width in 1e-3..1e7f64, pixels in 40.0..700f64, log: bool
        ) {
            let scale = match log {
                true => Scale::log(width / 1e3, width, 50.0, 50.0 + pixels),
                false => Scale::exact(low, low + width, 50.0, 50.0 + pixels),
            };
            let ticks = scale.ticks_across();
            prop_assert_eq!(ticks.len(), scale.ticks().len());
            let shown: Vec<Tick> = ticks.into_iter().filter(|t| !t.label.is_empty()).collect();
            prop_assert!(!shown.is_empty());
            for two in shown.windows(2) {
                let widths = text_width(&two[0].label, SMALL) + text_width(&two[1].label, SMALL);
                prop_assert!(two[1].place - two[0].place > widths / 2.0);
            }
        }

        #[test]
        fn places_rise_with_values_and_stay_between_the_ends(
            a in 1e-9..1e9f64, b in 1e-9..1e9f64,
            low in 1e-6..1.0f64, high in 1.0..1e6f64, log: bool
        ) {
            let scale = match log {
                true => Scale::log(low, high, 10.0, 200.0),
                false => Scale::linear(low, high, 10.0, 200.0),
            };
            let (small, large) = (scale.place(a.min(b)), scale.place(a.max(b)));
            prop_assert!((10.0..=200.0).contains(&small) && (10.0..=200.0).contains(&large));
            prop_assert!(small <= large);
            for inside in [low, high] {
                prop_assert!((10.0..=200.0).contains(&scale.place(inside)));
            }
        }

        #[test]
        fn ticks_rise_and_stay_inside(low in -1e6..1e6f64, width in 1e-3..1e6f64) {
            let scale = Scale::linear(low, low + width, 0.0, 500.0);
            let places: Vec<f64> = scale.ticks().iter().map(|t| t.place).collect();
            prop_assert!((2..=14).contains(&places.len()), "{}", places.len());
            prop_assert!(places.windows(2).all(|p| p[0] < p[1]));
            prop_assert!(scale.place(low) <= scale.place(low + width));
        }
    }
}
