//! The rows of a sweep: one for each cell, replication and domain.
//!
//! | columns | hold |
//! |---|---|
//! | `cell`, `replication` | their numbers, from 0 |
//! | one an axis, named after its key | the cell's value |
//! | `domain` | the domain's name |
//! | one a figure, named after its key, with the unit last | its value, or nothing |
//!
//! Columns do not depend on what is measured, so that the first row can be written before the last
//! cell is run, and tables of different sweeps fit below each other.

use crate::axis::Axis;
use crate::figure::domains;
use domio_answer::column::fact;
use domio_answer::{Cell, Column, Holds};
use domio_core::Figure;
use domio_run::Sample;

/// The columns of a sweep along `axes` of these figures.
pub fn columns<'f>(axes: &[Axis], figures: impl IntoIterator<Item = &'f Figure>) -> Vec<Column> {
    let column = |name: &str, holds, optional| Column {
        optional,
        ..fact(name.to_owned()).of(holds)
    };
    let mut columns = vec![
        column("cell", Holds::Whole, false),
        column("replication", Holds::Whole, false),
    ];
    columns.extend(
        axes.iter()
            .map(|axis| column(axis.key(), axis.holds(), false)),
    );
    columns.push(column("domain", Holds::Text, false));
    let figures = figures.into_iter();
    columns.extend(figures.map(|figure| column(figure.key, Holds::Number, true)));
    columns
}

/// The rows of replication `replication` of cell `cell`, which has the values `values`: one for
/// each domain, by name. The figures are those of the columns.
pub fn rows<'f>(
    (axes, figures): (&[Axis], impl Iterator<Item = &'f Figure> + Clone),
    cell: u64,
    values: &[String],
    replication: u32,
    sample: &Sample,
) -> Vec<Vec<Cell>> {
    let mut head = vec![
        Cell::Whole(cell.cast_signed()),
        Cell::Whole(i64::from(replication)),
    ];
    let pairs = axes.iter().zip(values);
    head.extend(pairs.map(|(axis, value)| field(axis.holds(), value)));
    let row = |domain: &str| {
        let mut row = head.clone();
        row.push(Cell::text(domain.to_owned()));
        row.extend(figures.clone().map(|figure| {
            let value = sample.get(&figure.name(domain));
            value.map_or(Cell::None, Cell::Number)
        }));
        row
    };
    domains(sample).map(row).collect()
}

/// `value` as a cell of a column of `holds`.
fn field(holds: Holds, value: &str) -> Cell {
    let number = match holds {
        Holds::Whole => value.parse().ok().map(Cell::Whole),
        Holds::Number => value.parse().ok().map(Cell::Number),
        _ => None,
    };
    number.unwrap_or_else(|| Cell::text(value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_run::measure::Measures;

    #[test]
    fn a_row_has_the_cell_the_domain_and_its_figures() {
        let axis = |key, text| Axis::parse(key, text).unwrap();
        let axes = [
            axis("scheduler.policy", "credit,null"),
            axis("domain.web.weight", "1..3"),
        ];
        let names: Vec<String> = columns(&axes, Measures::shipped().figures())
            .into_iter()
            .map(|c| c.key.into_owned())
            .collect();
        let expected = [
            "cell",
            "replication",
            "scheduler.policy",
            "domain.web.weight",
            "domain",
            "share_pct",
        ];
        assert_eq!(names[..6], expected);
        assert_eq!(names.len(), 5 + Measures::shipped().figures().count());
        let sample = Sample::new()
            .with("db.share_pct", 60.0)
            .with("web.share_pct", 30.0)
            .with("web.wake_p99_us", 7.5)
            .with("dropped.NIC ring", 3.0);
        let values = ["null".to_owned(), "2".to_owned()];
        let rows = rows(
            (&axes, Measures::shipped().figures()),
            9,
            &values,
            4,
            &sample,
        );
        let text = |text: &str| Cell::text(text.to_owned());
        assert_eq!(rows.len(), 2);
        let head = [Cell::Whole(9), Cell::Whole(4), text("null"), Cell::Whole(2)];
        assert_eq!(rows[1][..4], head);
        assert_eq!(rows[1][4..6], [text("web"), Cell::Number(30.0)]);
        let place = names.iter().position(|name| name == "wake_p99_us").unwrap();
        assert_eq!(rows[0][place], Cell::None);
        assert_eq!(rows[1][place], Cell::Number(7.5));
    }
}
