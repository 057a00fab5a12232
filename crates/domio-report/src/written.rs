//! Figures as people read them: "14.29 ± 0.03", "0.27", "36600".

use domio_answer::{Cell, Column, ColumnKind, Holds};
use domio_papers::Measured;
use domio_stats::Estimate;

/// `value` with four significant digits, without an exponent between 0.001 and ten million, and
/// without trailing zeros.
pub fn number(value: f64) -> String {
    digits(value, 4)
}

/// [`number`] with three significant digits.
pub fn short(value: f64) -> String {
    digits(value, 3)
}

fn digits(value: f64, count: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let size = value.abs();
    if !(1e-3..1e7).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = (count - 1 - size.log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// An estimate: "14.29 ± 0.03", or the mean alone when there is no interval.
///
/// The interval has one significant digit, or two when the first is 1 or 2; the mean has as many
/// decimals.
pub fn estimate(estimate: &Estimate) -> String {
    with_interval(estimate.mean, estimate.half_width())
}

/// `mean` with half the width of its interval, as [`estimate`].
pub fn with_interval(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        None => number(mean),
        Some(half) if half <= 0.0 || !half.is_finite() => format!("{} ± {half}", number(mean)),
        // What is left of subtracting equal numbers is no interval.
        Some(half) if half < mean.abs() * 1e-12 => format!("{} ± 0", number(mean)),
        Some(half) => {
            let power = half.log10().floor() as i32;
            let first = half / 10_f64.powi(power);
            let digits = if first < 2.95 { 2 } else { 1 };
            let decimals = (digits - 1 - power).clamp(0, 9) as usize;
            format!("{mean:.decimals$} ± {half:.decimals$}")
        }
    }
}

/// Units of time, from the shortest, and how many nanoseconds each has.
pub const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Units of sizes, from the shortest, and how many bytes each has.
const SIZES: [(&str, f64); 5] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// A figure in `unit` with the unit behind it. A time, or a number of bytes, is shown in the unit
/// that makes the figure a short one: 59681 us are "59.68 ms".
pub fn scaled(mean: f64, half_width: Option<f64>, unit: &str) -> String {
    let (factor, name) = unit_for(mean, unit);
    let figures = with_interval(mean * factor, half_width.map(|half| half * factor));
    with_unit(&figures, name)
}

/// A value for people, with a larger unit of time where that suits it: "36.6 s", "259 ms", "23.9".
pub fn brief(value: f64, unit: &str) -> String {
    const SECONDS: [(&str, f64); 4] = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let digits = |value: f64| match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 0.995 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.2}"),
    };
    if let Some(own) = SECONDS.iter().position(|(name, _)| *name == unit) {
        let seconds = value * SECONDS[own].1;
        // The first unit, from its own on, whose figure is not over 999 once rounded.
        let fits = SECONDS[own..]
            .iter()
            .find(|(_, s)| (seconds / s).abs() < 999.5);
        let (name, scale) = fits.unwrap_or(&SECONDS[3]);
        return format!("{} {name}", digits(seconds / scale));
    }
    match unit {
        "%" => format!("{} %", short(value)),
        _ => number(value),
    }
}

/// The unit that makes `value`, which is in `unit`, a short figure, and the factor to that unit. A
/// figure that is neither a time nor in bytes keeps its unit.
pub fn unit_for(value: f64, unit: &str) -> (f64, &str) {
    let units = match unit {
        "B" => &SIZES[..],
        _ => &TIMES[..],
    };
    let Some((_, base)) = units.iter().find(|(name, _)| *name == unit) else {
        return (1.0, unit);
    };
    let least = value.abs() * base;
    // Zero has no size: it keeps its unit.
    let fitting = units.iter().rev().find(|(_, size)| least >= *size);
    match least == 0.0 {
        true => (1.0, unit),
        false => {
            let (name, size) = fitting.unwrap_or(&units[0]);
            (base / size, name)
        }
    }
}

/// The estimate as a cell of a column whose head is [`head`]: a time has its own unit, for other
/// figures the head says the unit.
pub fn cell(estimate: &Estimate, unit: &str) -> String {
    match is_time(unit) {
        true => scaled(estimate.mean, estimate.half_width(), unit),
        false => self::estimate(estimate),
    }
}

/// A single value as a cell of a column whose head is [`head`].
pub fn plain_cell(value: f64, unit: &str) -> String {
    match is_time(unit) {
        true => scaled(value, None, unit),
        false => number(value),
    }
}

/// The title of a table of such cells, with the unit in brackets unless cells have their own.
pub fn title(title: &str, unit: &str) -> String {
    match is_time(unit) {
        true => title.to_owned(),
        false => heading(title, unit),
    }
}

/// The head of a column of such cells, with the unit below unless cells have their own.
pub fn head(title: &str, unit: &str) -> String {
    match is_time(unit) {
        true => title.replacen(", ", ",\n", 1),
        false => two_lines(title, unit),
    }
}

fn is_time(unit: &str) -> bool {
    TIMES.iter().any(|(name, _)| *name == unit)
}

/// Whether cells have units of their own, each the one that fits.
fn is_scaled(unit: &str) -> bool {
    is_time(unit) || unit == "B"
}

/// A cell of a table as people read it: a time and a number of bytes in the unit that fits, a part
/// in percent and a number of times with two digits, an instant in seconds; a dash where there is
/// nothing.
pub fn shown(column: &Column, cell: &Cell) -> String {
    let unit = &*column.unit;
    let plain = |value: f64| match (is_scaled(unit), column.kind) {
        (true, _) => scaled(value, None, unit),
        (false, ColumnKind::Share) => share(value),
        (false, _) if unit == "times" => share(value),
        (false, _) => number(value),
    };
    match cell {
        Cell::None => "-".to_owned(),
        Cell::Text(text) => text.clone().into_owned(),
        Cell::Flag(flag) if column.holds == Holds::Any => flag.to_string(),
        Cell::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Cell::Whole(at) if column.kind == ColumnKind::Moment => {
            let (seconds, rest) = (at / 1_000_000_000, at % 1_000_000_000);
            format!("{seconds}.{:06}", rest / 1_000)
        }
        Cell::Whole(n) if !is_scaled(unit) => n.to_string(),
        Cell::Whole(n) => plain(*n as f64),
        Cell::Number(n) => plain(*n),
        Cell::Estimate(e) if is_scaled(unit) => scaled(e.mean, e.half_width(), unit),
        Cell::Estimate(e) => with_interval(e.mean, e.half_width()),
        Cell::Rows(rows) => rows.len().to_string(),
    }
}

/// What is left of a cell's unit for its column: cells have times and sizes with their units.
pub fn unit(column: &Column) -> &str {
    match column.kind {
        ColumnKind::Moment => "s",
        _ if is_scaled(&column.unit) => "",
        _ => &column.unit,
    }
}

/// What a cell is worth beside others of its column, whatever unit it is shown in.
pub fn worth(cell: &Cell) -> Option<f64> {
    cell.number().filter(|n| !n.is_nan())
}

/// A part of a whole, in percent, or how many times as much as something else.
fn share(percent: f64) -> String {
    match percent {
        0.0 => "0".to_owned(),
        small if small.abs() < 0.005 => "<0.01".to_owned(),
        percent => format!("{percent:.2}"),
    }
}

/// What was measured for a claim, with its interval and its unit.
pub fn measured(measured: &Measured, ci95: Option<[f64; 2]>, unit: &str) -> String {
    let figures = match measured {
        Measured::Nothing => return String::new(),
        Measured::Text(text) => return text.clone(),
        Measured::Number(mean) => with_interval(*mean, ci95.map(|[low, high]| (high - low) / 2.0)),
        Measured::Numbers(list) => list
            .iter()
            .map(|n| number(*n))
            .collect::<Vec<_>>()
            .join(", "),
    };
    with_unit(&figures, unit)
}

/// What follows a figure that is better or worse than the one that it is compared with: the same
/// marks as in the terminal, with a true minus sign.
pub fn mark(better: Option<bool>) -> &'static str {
    match better {
        Some(true) => " +",
        Some(false) => " −",
        None => "",
    }
}

/// `text` followed by `unit`, if there is one.
pub fn with_unit(text: &str, unit: &str) -> String {
    match unit {
        "" => text.to_owned(),
        unit => format!("{text} {unit}"),
    }
}

/// A heading with its unit in brackets, if there is one.
pub fn heading(title: &str, unit: &str) -> String {
    match unit {
        "" => title.to_owned(),
        unit => format!("{title} [{unit}]"),
    }
}

/// Names as people list them: "a, b and c"; the last of many are counted.
pub fn names(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    const MOST: usize = 8;
    const SHOWN: usize = 5;
    let mut names: Vec<String> = names.into_iter().map(|n| n.as_ref().to_owned()).collect();
    if names.len() > MOST {
        let more = names.len() - SHOWN;
        names.truncate(SHOWN);
        names.push(format!("{more} more"));
    }
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// A name and the number at its end, if there is one: "guest" and 12 of "guest12".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NumberedName<'a> {
    word: &'a str,
    number: Option<u64>,
}

impl<'a> NumberedName<'a> {
    /// That of `name`.
    pub fn of(name: &'a str) -> Self {
        let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = name[word.len()..].parse().ok();
        NumberedName { word, number }
    }

    /// Whether both names have numbers, and differ in nothing else.
    pub fn is_like(self, other: NumberedName<'_>) -> bool {
        self.number.is_some() && other.number.is_some() && self.word == other.word
    }

    /// Names that are alike, as people list them: "guest1 to guest48" of three or more whose
    /// numbers have no gap, "guest1 to guest48 (40)" of many with gaps, else one by one
    /// ([`names`]).
    pub fn all(alike: &[&str]) -> String {
        const FEW: usize = 3;
        let mut sorted = alike.to_vec();
        sorted.sort_by_key(|name| NumberedName::of(name).number);
        let numbers: Vec<u64> = sorted
            .iter()
            .filter_map(|name| NumberedName::of(name).number)
            .collect();
        let follows = |two: &[u64]| two[0].checked_add(1) == Some(two[1]);
        let is_row = numbers.windows(2).all(follows);
        match &sorted[..] {
            [first, .., last] if is_row && sorted.len() > 2 => format!("{first} to {last}"),
            [first, .., last] if sorted.len() > FEW => {
                format!("{first} to {last} ({})", sorted.len())
            }
            _ => names(&sorted),
        }
    }
}

/// A heading with its unit below it, if there is one: narrow columns for terminals.
pub fn two_lines(title: &str, unit: &str) -> String {
    match unit {
        "" => title.to_owned(),
        unit => format!("{title}\n[{unit}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_alike_are_one() {
        let all = NumberedName::all;
        assert_eq!(all(&["g2", "g10", "g1"]), "g1, g2 and g10");
        assert_eq!(all(&["g2", "g3", "g1"]), "g1 to g3");
        assert_eq!(all(&["g2", "g3", "g1", "g9"]), "g1 to g9 (4)");
        assert_eq!(all(&["g1"]), "g1");
        let like = |a, b| NumberedName::of(a).is_like(NumberedName::of(b));
        assert!(like("g1", "g20") && !like("g1", "h1") && !like("web", "web"));
    }

    #[test]
    fn rounding_is_no_interval() {
        assert_eq!(with_interval(361.895, Some(5e-14)), "361.9 ± 0");
        assert_eq!(
            with_interval(361.895, Some(5e-8)),
            "361.89500000 ± 0.00000005"
        );
    }

    #[test]
    fn numbers_have_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (14.285_714, "14.29"),
            (0.272_9, "0.2729"),
            (0.001_2, "0.0012"),
            (36_600.4, "36600"),
            (-2.5, "-2.5"),
            (100.0, "100"),
            (1e-6, "1.00e-6"),
            (2.5e9, "2.50e9"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn short_numbers_have_three() {
        assert_eq!(
            [91.736, 0.563_4, 416.7, 105.0].map(short),
            ["91.7", "0.563", "417", "105"]
        );
    }

    #[test]
    fn intervals_set_the_decimals() {
        for (mean, half, text) in [
            (14.285_714, Some(0.032), "14.29 ± 0.03"),
            (14.285_714, Some(0.012), "14.286 ± 0.012"),
            (36_600.4, Some(412.0), "36600 ± 412"),
            (5.0, Some(0.0), "5 ± 0"),
            (5.04, Some(0.3), "5.0 ± 0.3"),
            (5.04, None, "5.04"),
        ] {
            assert_eq!(with_interval(mean, half), text);
        }
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        for (mean, half, unit, text) in [
            (59_681.0, None, "us", "59.68 ms"),
            (59_681.0, Some(310.0), "us", "59.7 ± 0.3 ms"),
            (36.6, Some(1.2), "s", "36.6 ± 1.2 s"),
            (0.27, None, "ms", "270 us"),
            (999.0, None, "us", "999 us"),
            (1_000.0, None, "us", "1 ms"),
            (0.0, None, "us", "0 us"),
            (0.4, None, "ns", "0.4 ns"),
            (14.29, Some(0.03), "%", "14.29 ± 0.03 %"),
            (12_288.0, None, "B", "12 KiB"),
            (512.0, None, "B", "512 B"),
        ] {
            assert_eq!(scaled(mean, half, unit), text);
        }
    }

    #[test]
    fn values_read_as_people_say_them() {
        for (value, unit, text) in [
            (36_600.0, "ms", "36.6 s"),
            (999.6, "ms", "1.0 s"),
            (259.2, "ms", "259 ms"),
            (5.5, "ms", "5.5 ms"),
            (0.0, "us", "0 us"),
            (0.157, "ms", "0.16 ms"),
            (59_681.0, "us", "59.7 ms"),
            (30.5, "%", "30.5 %"),
            (23.9, "Mb/s", "23.9"),
        ] {
            assert_eq!(brief(value, unit), text);
        }
    }

    #[test]
    fn measurements_carry_their_unit() {
        let show = |m: Measured| measured(&m, Some([1.0, 3.0]), "ms");
        assert_eq!(show(Measured::Number(2.0)), "2.0 ± 1.0 ms");
        assert_eq!(show(Measured::Numbers(vec![1.0, 2.5])), "1, 2.5 ms");
        assert_eq!(show("bs is best".into()), "bs is best");
        assert_eq!(show(Measured::Nothing), "");
        assert_eq!(heading("latency", "ms"), "latency [ms]");
    }
}
