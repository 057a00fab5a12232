//! What commands draw in addition to their report.

use clap::{Args, ValueHint};
use domio_core::Duration;
use std::path::PathBuf;

/// Arguments of commands that draw the moments of a run.
#[derive(Clone, Debug, Default, Args)]
pub struct Drawn {
    /// Write each figure of the report as an SVG and a CSV file into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub figures: Option<PathBuf>,
    /// Part of the measured time that timelines show, e.g. 3.2s..3.4s [default: the time around the
    /// longest wait]
    #[arg(long, value_name = "FROM..UNTIL", value_parser = window)]
    pub window: Option<(Duration, Duration)>,
}

/// Units of time by name, and their nanoseconds. Longer names come before their ends.
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Longest time that is read, in nanoseconds: 30 years.
const LONGEST: f64 = 1e18;

/// A part of a time, as `3.2s..3.4s`.
pub(super) fn window(text: &str) -> Result<(Duration, Duration), String> {
    let expected = "expected FROM..UNTIL with units, e.g. 3.2s..3.4s or 150ms..300ms";
    let Some((from, until)) = text.split_once("..") else {
        return Err(expected.to_owned());
    };
    let read = |part: &str| {
        time(part.trim()).ok_or_else(|| format!("\"{}\" is no time; {expected}", part.trim()))
    };
    let (from, until) = (read(from)?, read(until)?);
    match from < until {
        true => Ok((from, until)),
        false => Err("the window ends before it begins; exchange its two times".to_owned()),
    }
}

/// A number with a unit of time.
fn time(text: &str) -> Option<Duration> {
    let (number, scale) = UNITS.iter().find_map(|(unit, scale)| {
        let number = text.strip_suffix(unit)?;
        Some((number.trim_end().parse::<f64>().ok()?, *scale))
    })?;
    let nanos = number * scale;
    let fits = nanos.is_finite() && (0.0..=LONGEST).contains(&nanos);
    fits.then(|| Duration::from_nanos(nanos.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_units() {
        let ms = Duration::from_millis;
        assert_eq!(window("3.2s..3.4s"), Ok((ms(3_200), ms(3_400))));
        assert_eq!(window("150 ms .. 0.3s"), Ok((ms(150), ms(300))));
        assert_eq!(window("0us..1000ns").unwrap().1, Duration::from_micros(1));
        for (text, part) in [
            ("3.2s", "expected FROM..UNTIL"),
            ("3.2..3.4", "\"3.2\" is no time"),
            ("3s..-4s", "\"-4s\" is no time"),
            ("1e300s..4s", "is no time"),
            ("NaNs..4s", "is no time"),
            ("4s..3s", "ends before it begins"),
            ("3s..3s", "ends before it begins"),
        ] {
            let error = window(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
