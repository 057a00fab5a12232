//! Rows as bytes, and back: every bit of every cell. Numbers are little-endian.

use crate::cell::{Cell, MeanCell};
use crate::field::{Known, RowType};

/// The row as bytes.
pub fn encode(row: &impl RowType) -> Vec<u8> {
    let mut out = Vec::new();
    put_row(&mut out, &row.cells());
    out
}

/// The row that became `bytes`, with the classes that it may name; `None` when something else did.
pub fn decode<R: RowType>(bytes: &[u8], known: Known<'_>) -> Option<R> {
    let mut rest = bytes;
    let cells = take_row(&mut rest)?;
    rest.is_empty().then(|| R::of_cells(&cells, known))?
}

fn put_row(out: &mut Vec<u8>, cells: &[Cell]) {
    count(out, cells.len());
    cells.iter().for_each(|cell| put(out, cell));
}

fn put(out: &mut Vec<u8>, cell: &Cell) {
    match cell {
        Cell::None => out.push(0),
        Cell::Whole(n) => {
            out.push(1);
            out.extend(n.to_le_bytes());
        }
        Cell::Number(n) => {
            out.push(2);
            number(out, *n);
        }
        Cell::Estimate(estimate) => {
            let ci95 = estimate.ci95.unwrap_or([f64::NAN; 2]);
            let deviation = estimate.deviation.unwrap_or(f64::NAN);
            out.push(match (estimate.ci95, estimate.deviation) {
                (None, None) => 3,
                (None, Some(_)) => 4,
                (Some(_), None) => 5,
                (Some(_), Some(_)) => 6,
            });
            let numbers = [estimate.mean, ci95[0], ci95[1], deviation];
            numbers.into_iter().for_each(|n| number(out, n));
            count(out, estimate.n);
        }
        Cell::Text(text) => {
            out.push(7);
            count(out, text.len());
            out.extend(text.as_bytes());
        }
        Cell::Flag(flag) => out.push(8 + u8::from(*flag)),
        Cell::Rows(rows) => {
            out.push(10);
            count(out, rows.len());
            rows.iter().for_each(|row| put_row(out, row));
        }
    }
}

fn take_row(rest: &mut &[u8]) -> Option<Vec<Cell>> {
    (0..take_count(rest)?).map(|_| take(rest)).collect()
}

fn take(rest: &mut &[u8]) -> Option<Cell> {
    let [tag] = bytes(rest)?;
    Some(match tag {
        0 => Cell::None,
        1 => Cell::Whole(i64::from_le_bytes(bytes(rest)?)),
        2 => Cell::Number(take_number(rest)?),
        3..=6 => {
            let mean = take_number(rest)?;
            let ci95 = [take_number(rest)?, take_number(rest)?];
            let deviation = take_number(rest)?;
            Cell::Estimate(MeanCell {
                mean,
                ci95: (tag > 4).then_some(ci95),
                deviation: (tag % 2 == 0).then_some(deviation),
                n: usize::try_from(u64::from_le_bytes(bytes(rest)?)).ok()?,
            })
        }
        7 => {
            let length = take_count(rest)?;
            let (text, others) = rest.split_at_checked(length)?;
            *rest = others;
            Cell::text(String::from_utf8(text.to_vec()).ok()?)
        }
        8 | 9 => Cell::Flag(tag == 9),
        10 => {
            let rows = (0..take_count(rest)?).map(|_| take_row(rest));
            Cell::Rows(rows.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn count(out: &mut Vec<u8>, n: usize) {
    out.extend((n as u64).to_le_bytes());
}

fn number(out: &mut Vec<u8>, n: f64) {
    out.extend(n.to_bits().to_le_bytes());
}

fn bytes<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk()?;
    *rest = others;
    Some(*first)
}

/// A count of things that have a byte each at least, so that none is absurd.
fn take_count(rest: &mut &[u8]) -> Option<usize> {
    let n = usize::try_from(u64::from_le_bytes(bytes(rest)?)).ok()?;
    (n <= rest.len()).then_some(n)
}

fn take_number(rest: &mut &[u8]) -> Option<f64> {
    Some(f64::from_bits(u64::from_le_bytes(bytes(rest)?)))
}
