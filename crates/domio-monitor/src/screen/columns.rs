//! The columns of the screen.

use domio_meter::Figures;

/// Which of the two windows a column is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Window {
    /// The last second.
    Short,
    /// The last ten.
    Long,
}

/// A column of figures.
#[derive(Debug)]
pub(crate) struct Column {
    /// Its title, as wide as the column at most.
    pub title: &'static str,
    /// Of what.
    pub window: Window,
    /// Whether it is left out where there is little room.
    pub wide: bool,
    /// Its figure, of so many nanoseconds; `None` where nothing is known.
    pub value: fn(&Figures, f64) -> Option<f64>,
}

/// Characters of a column, with the space before it.
pub const WIDTH: usize = 8;

/// Title of the column of time parked by a cap or paused, which is there where a vcpu was.
pub const PARKED: &str = "parked%";

/// Title of the columns that make room for it.
pub const EXECUTIONS: &str = "ex/s";

fn percent(ns: u64, time: f64) -> Option<f64> {
    (time > 0.0).then(|| ns as f64 * 100.0 / time)
}

fn a_second(count: u64, time: f64) -> Option<f64> {
    (time > 0.0).then(|| count as f64 * 1e9 / time)
}

/// Milliseconds each.
fn each(ns: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| ns as f64 / 1e6 / count as f64)
}

/// All columns, from left to right.
pub static COLUMNS: [Column; 13] = [
    short("gotten%", false, |f, time| percent(f.gotten, time)),
    short("waited%", false, |f, time| percent(f.waited, time)),
    short("blockd%", false, |f, time| percent(f.blocked, time)),
    short(PARKED, false, |f, time| percent(f.parked, time)),
    short(EXECUTIONS, false, |f, time| a_second(f.executions, time)),
    short("io/s", false, |f, time| a_second(f.io, time)),
    short("got/ex", true, |f, _| each(f.gotten, f.executions)),
    short("wait/ex", true, |f, _| each(f.waited, f.executions)),
    short("allo/ex", true, |f, _| each(f.allocated, f.executions)),
    long("gotten%", false, |f, time| percent(f.gotten, time)),
    long("waited%", false, |f, time| percent(f.waited, time)),
    long("blockd%", true, |f, time| percent(f.blocked, time)),
    long(EXECUTIONS, true, |f, time| a_second(f.executions, time)),
];

const fn short(title: &'static str, wide: bool, value: fn(&Figures, f64) -> Option<f64>) -> Column {
    Column {
        title,
        window: Window::Short,
        wide,
        value,
    }
}

const fn long(title: &'static str, wide: bool, value: fn(&Figures, f64) -> Option<f64>) -> Column {
    Column {
        window: Window::Long,
        ..short(title, wide, value)
    }
}

/// A figure in seven characters: as many digits after the point as there is room for, two at most.
pub fn figure(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value < 1000.0 => format!("{value:.2}"),
        Some(value) if value < 100_000.0 => format!("{value:.0}"),
        Some(value) if value < 99_500_000.0 => format!("{:.0}k", value / 1e3),
        Some(value) => format!("{:.0}M", value / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_figures_fit() {
        assert!(COLUMNS.iter().all(|c| c.title.len() < WIDTH));
        for (value, text) in [
            (0.0, "0.00"),
            (999.99, "999.99"),
            (1234.5, "1234"),
            (99_999.0, "99999"),
            (123_456.0, "123k"),
            (98_765_432.0, "98765k"),
            (1e10, "10000M"),
        ] {
            assert_eq!(figure(Some(value)), text);
            assert!(text.len() < WIDTH);
        }
        assert_eq!(figure(None), "-");
    }
}
