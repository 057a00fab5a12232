//! Times as scenarios write them, and lists of pcpus as `xl` writes them.

use crate::value::{Node, Value};
use domio_core::cpuset::MAX_PCPUS;
use domio_core::{CpuSet, Duration, PcpuId};

/// Units of time that a key can end in, with their length in nanoseconds.
pub(crate) const UNITS: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// The longest time that a scenario can name: a million seconds. Up to here a fraction in any unit
/// is read to the exact nanosecond.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(1_000_000);

/// The range of a whole number, for people.
pub(crate) fn int_range(min: i64, max: i64, or_zero: bool) -> String {
    match (max, or_zero) {
        (i64::MAX, _) => format!("{min} or more"),
        (_, true) => format!("0, or {min} to {max}"),
        (_, false) => format!("{min} to {max}"),
    }
}

/// `key` without its unit, and the unit's length in nanoseconds.
pub(crate) fn split_unit(key: &str) -> Option<(&str, u64)> {
    let (base, unit) = key.rsplit_once('_')?;
    UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, ns)| (base, *ns))
}

/// Why a number is no time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BadTime {
    NotANumber,
    NotFinite,
    Negative,
    TooLong,
}

/// The time that `node`, in units of `unit_ns` nanoseconds, stands for; rounded to a nanosecond.
pub(crate) fn time(node: &Node, unit_ns: u64) -> Result<Duration, BadTime> {
    match node.value {
        Value::Int(i) if i < 0 => Err(BadTime::Negative),
        Value::Int(i) => i
            .checked_mul(i128::from(unit_ns))
            .and_then(|ns| u64::try_from(ns).ok())
            .map(Duration::from_nanos)
            .filter(|d| *d <= MAX_TIME)
            .ok_or(BadTime::TooLong),
        Value::Float(f) if !f.is_finite() => Err(BadTime::NotFinite),
        Value::Float(f) if f < 0.0 => Err(BadTime::Negative),
        Value::Float(f) => {
            let ns = (f * unit_ns as f64).round();
            if ns <= MAX_TIME.as_nanos() as f64 {
                Ok(Duration::from_nanos(ns as u64))
            } else {
                Err(BadTime::TooLong)
            }
        }
        _ => Err(BadTime::NotANumber),
    }
}

/// A list of pcpus in `xl`'s notation: terms joined by commas, each `all`, `N`, `N-M`, or one of
/// these after `^`, which takes them out again. `all` is cut to the pcpus of the host later.
pub(crate) fn pcpu_list(text: &str) -> Result<CpuSet, String> {
    let mut set = CpuSet::EMPTY;
    for term in text.split(',') {
        let term = term.trim();
        let (out, body) = match term.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, term),
        };
        let part = if body == "all" {
            CpuSet::ALL
        } else {
            let (low, high) = body.split_once('-').unwrap_or((body, body));
            let (low, high) = (pcpu_number(low, term)?, pcpu_number(high, term)?);
            if low > high {
                return Err(format!("`{}` counts down", domio_core::keys::quote(term)));
            }
            (low..=high).map(PcpuId).collect()
        };
        set = if out { set & !part } else { set | part };
    }
    Ok(set)
}

fn pcpu_number(text: &str, term: &str) -> Result<u16, String> {
    let digits = text.trim();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!(
            "`{}` is no pcpu and no range",
            domio_core::keys::quote(term)
        ));
    }
    match digits.parse::<u16>() {
        Ok(n) if usize::from(n) < MAX_PCPUS => Ok(n),
        _ => Err(format!(
            "no host has a pcpu {}",
            domio_core::keys::quote(digits)
        )),
    }
}

/// `set` in the notation of [`pcpu_list`].
pub(crate) fn show_pcpus(set: &CpuSet) -> String {
    let mut out = String::new();
    let mut members = set.iter().map(|p| p.0).peekable();
    while let Some(first) = members.next() {
        let mut last = first;
        while members.peek() == Some(&(last + 1)) {
            last += 1;
            members.next();
        }
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(&first.to_string());
        if last > first {
            out.push_str(&format!("-{last}"));
        }
    }
    out
}

/// The number of bytes that `text` stands for: `512`, `64K`, `1G`, in powers of 1024 as `dd` and
/// `xl` have them.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let factors = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let suffixed = factors
        .iter()
        .find_map(|(letter, shift)| Some((text.strip_suffix(*letter)?, *shift)));
    let (digits, shift) = suffixed.unwrap_or((text, 0));
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number = digits.parse::<u64>().ok().filter(|_| plain)?;
    number.checked_mul(1 << shift)
}
