//! Sizes and times as fio writes them.

use domio_core::Duration;

/// A number and what is behind it.
fn parts(text: &str) -> Option<(u64, &str)> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim()))
}

/// A size in bytes: `4k`, `1m`, `2g`, `1t`. As fio has it by default (`kb_base=1024`), `k` is 1024
/// and `ki` is 1000; a `b` behind means nothing.
pub fn size(text: &str) -> Option<u64> {
    let (number, unit) = parts(text)?;
    let Some(letter) = unit.chars().next() else {
        return Some(number);
    };
    let power = "bkmgtp".find(letter.to_ascii_lowercase())? as u32;
    let base: u64 = match &unit[1..] {
        "" => 1024,
        "b" | "B" if power > 0 => 1024,
        "i" | "ib" | "iB" | "I" | "IB" if power > 0 => 1000,
        _ => return None,
    };
    number.checked_mul(base.pow(power))
}

/// A time: a number with d, h, m, s, ms or us behind, or alone in units of `alone`.
pub fn time(text: &str, alone: Duration) -> Option<Duration> {
    let (number, unit) = parts(text)?;
    let ns = match unit {
        "" => alone.as_nanos(),
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        "d" => 86_400 * 1_000_000_000,
        _ => return None,
    };
    number.checked_mul(ns).map(Duration::from_nanos)
}

/// So many percent of `whole`, rounded down.
pub fn percent_of(percent: u32, whole: u64) -> u64 {
    let part = u128::from(whole) * u128::from(percent) / 100;
    u64::try_from(part).unwrap_or(u64::MAX)
}
