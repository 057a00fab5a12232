//! Values of declared parameters, drawn from their ranges.

use crate::rng::Rng;
use domio_core::{ParamKind, ParamSpec, ParamValues};

/// Values of `specs`, drawn with `seed`.
pub fn drawn(specs: &'static [ParamSpec], seed: u64) -> ParamValues {
    let mut rng = Rng::new(seed);
    let mut values = ParamValues::defaults(specs);
    for spec in specs {
        let drawn = values.set(spec.name, draw(spec, &mut rng));
        drawn.expect("drawn in range");
    }
    values
}

/// A value of `spec`.
pub fn draw(spec: &ParamSpec, rng: &mut Rng) -> i64 {
    match spec.kind {
        ParamKind::Int { or_zero: true, .. } if rng.one_in(3) => 0,
        ParamKind::Int { min, max, .. } => {
            // Near the lower end as often as anywhere: that is where most people live.
            let width = max.abs_diff(min);
            let width = if rng.one_in(2) { width.min(100) } else { width };
            min.saturating_add_unsigned(rng.between(0, width.min(u64::MAX - 1)))
        }
        ParamKind::Flag => rng.between(0, 1) as i64,
        ParamKind::Choice(words) => rng.between(0, words.len() as u64 - 1) as i64,
    }
}
