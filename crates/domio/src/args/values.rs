//! Values of arguments, with errors that name what was expected.

use domio_trace::TSC_HZ_MAX;

/// A seed: what a scenario can hold, as TOML has no larger whole numbers; the same range for every
/// command, so that a seed can be passed from one command to another.
pub fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| *seed <= i64::MAX as u64);
    seed.ok_or_else(|| format!("a seed is a whole number, 0..={}", i64::MAX))
}

/// One `KEY=VALUE` of `--set`.
pub fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected KEY=VALUE, e.g. scheduler.tslice_ms=5".to_owned()),
    }
}

/// A frequency in Hz: a whole number, or a number with its unit, e.g. `2.4GHz`.
pub fn frequency(text: &str) -> Result<u64, String> {
    let plain = text.trim().replace([' ', '_'], "").to_ascii_lowercase();
    let (digits, factor) = match plain.strip_suffix("hz") {
        None => (plain.as_str(), 1),
        Some(rest) => match rest.char_indices().next_back() {
            Some((at, 'k')) => (&rest[..at], 1_000),
            Some((at, 'm')) => (&rest[..at], 1_000_000),
            Some((at, 'g')) => (&rest[..at], 1_000_000_000),
            _ => (rest, 1),
        },
    };
    let hz = hertz(digits, factor).filter(|hz| (1..=TSC_HZ_MAX).contains(hz));
    hz.ok_or_else(|| {
        let comma = match text.contains(',') {
            true => "; the fraction begins with a point",
            false => "",
        };
        format!("expected 1 to {TSC_HZ_MAX} Hz, e.g. 2400000000 or 2.4GHz{comma}")
    })
}

/// Seconds of an interval in ms: 0.001 to a year.
pub fn seconds(text: &str) -> Result<u64, String> {
    const LONGEST_MS: u64 = 366 * 24 * 3_600 * 1_000;
    let ms = hertz(text.trim(), 1_000).filter(|ms| (1..=LONGEST_MS).contains(ms));
    ms.ok_or_else(|| "expected seconds, e.g. 10 or 9.5, 0.001 to 31622400".to_owned())
}

/// `digits`, which may have a fraction, times `factor`, if that is a whole number.
fn hertz(digits: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    let hz = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    let scale = 10_u64.pow(fraction.len() as u32);
    let part = match fraction.is_empty() {
        true => 0,
        false => fraction.parse::<u64>().ok()?.checked_mul(factor)?,
    };
    (part % scale == 0)
        .then(|| hz.checked_add(part / scale))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_have_units() {
        for text in [
            "2400000000",
            "2.4GHz",
            "2.4 ghz",
            "2400MHz",
            "2_400_000 kHz",
        ] {
            assert_eq!(frequency(text), Ok(2_400_000_000), "{text}");
        }
        assert_eq!(frequency("2399.998MHz"), Ok(2_399_998_000));
        for text in [
            "",
            "0",
            "GHz",
            "2.4",
            "-1",
            "2,4GHz",
            "2.4THz",
            "1.5Hz",
            "9999999999GHz",
        ] {
            let error = frequency(text).expect_err(text);
            assert!(error.contains("2.4GHz"), "{error}");
        }
        assert!(frequency("2,4GHz").unwrap_err().contains("point"));
    }

    #[test]
    fn a_seed_is_not_negative() {
        assert_eq!(seed("7"), Ok(7));
        for text in ["-1", "1.5", "9223372036854775808", "x"] {
            assert!(seed(text).unwrap_err().contains("0..=9223372036854775807"));
        }
    }
}
