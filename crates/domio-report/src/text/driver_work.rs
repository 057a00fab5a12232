//! For whom driver domains worked, as tables.

use crate::figure;
use crate::text::{Cell, Column, Table, Tone, View};
use domio_stats::Estimate;
use domio_stats::drivers::DriverFigures;

/// A table for each driver domain, of those that it worked for, nobody and the sum; nothing without
/// any. `measured_ms` is the length of the measured time.
pub fn render(drivers: &[DriverFigures], measured_ms: f64, view: &View) -> String {
    let one = |figures: &DriverFigures| {
        let title = format!("Work of {} for others:", figures.driver);
        format!("{title}\n\n{}", table(figures, measured_ms).render(view))
    };
    drivers.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn table(figures: &DriverFigures, measured_ms: f64) -> Table {
    of_time("for", figures.rows(), measured_ms)
}

/// A table of times (ms), with the part of one pcpu that each is; `head` is over their names.
pub(super) fn of_time<'a>(
    head: &str,
    rows: impl Iterator<Item = (&'a str, &'a Estimate)>,
    measured_ms: f64,
) -> Table {
    let mut table = Table::new([
        Column::words(head).whole(),
        Column::figures("share\n[% of one pcpu]"),
        Column::figures("time"),
    ]);
    for (name, ms) in rows {
        let percent = scaled(ms, 100.0 / measured_ms);
        table.row([
            Cell::new(name, Tone::Strong),
            figure::estimate(&percent).into(),
            figure::cell(ms, "ms").into(),
        ]);
    }
    table
}

/// `estimate` in another unit.
fn scaled(estimate: &Estimate, factor: f64) -> Estimate {
    Estimate {
        mean: estimate.mean * factor,
        ci95: estimate.ci95.map(|ends| ends.map(|end| end * factor)),
        deviation: estimate.deviation.map(|d| d * factor),
        n: estimate.n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::table::tests::plain;

    #[test]
    fn each_owner_has_its_time_and_its_part_of_a_pcpu() {
        let estimate = |values: &[f64]| Estimate::of(values).unwrap();
        let driver = DriverFigures {
            driver: "Domain-0".into(),
            busy: estimate(&[600.0, 600.0]),
            done_for: vec![("web".into(), estimate(&[400.0, 420.0]))],
            nobody: estimate(&[200.0, 180.0]),
        };
        let text = plain(&render(
            std::slice::from_ref(&driver),
            2_000.0,
            &View::default(),
        ));
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert!(text.starts_with("Work of Domain-0 for others:\n\n"));
        // Two values 20 apart are known to 12.706 times a half of that.
        let of = |name: &str| lines.iter().find(|l| l.first() == Some(&name)).unwrap();
        assert_eq!(of("web")[1..], ["20", "±", "6", "410", "±", "127", "ms"]);
        assert_eq!(of("nobody")[1..], ["10", "±", "6", "190", "±", "127", "ms"]);
        assert_eq!(of("busy")[1..], ["30", "±", "0", "600", "±", "0", "ms"]);
        let two = render(&[driver.clone(), driver], 2_000.0, &View::default());
        assert_eq!(two.matches("Work of").count(), 2);
        assert_eq!(render(&[], 2_000.0, &View::default()), "");
    }
}
