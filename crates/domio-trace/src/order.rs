//! Whether the records of a trace are in order of time, without which nothing can be read from it.

use domio_core::Instant;

/// What to do about a trace whose records are not in order of time: whoever reports one says so.
pub const ADVICE: &str =
    "if recordings were joined into one file, use each alone; if not, record the host anew";

/// Records that are not in order of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "records out of order: {late} of {records}; the first is record {first}, counted from 0, at \
     {at}, after one at {before}"
)]
pub struct OutOfOrder {
    /// How many are earlier than one before them.
    pub late: usize,
    /// How many there are in all.
    pub records: usize,
    /// The number of the first that is earlier than one before it, from 0 in the order in which
    /// they are read.
    pub first: usize,
    /// The time of that record.
    pub at: Instant,
    /// The latest time before it.
    pub before: Instant,
}

/// Checks that no record is earlier than one before it, as the records of a host's pcpus are when
/// they are merged; `times` are those of the records, in the order in which they are read.
///
/// # Errors
/// How many are, and where the first is.
pub fn in_order(times: impl ExactSizeIterator<Item = Instant>) -> Result<(), OutOfOrder> {
    let mut latest = Instant::ZERO;
    let mut found: Option<OutOfOrder> = None;
    let records = times.len();
    for (number, at) in times.enumerate() {
        if at >= latest {
            latest = at;
            continue;
        }
        let found = found.get_or_insert(OutOfOrder {
            late: 0,
            records,
            first: number,
            at,
            before: latest,
        });
        found.late += 1;
    }
    found.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(times: &[u64]) -> Result<(), OutOfOrder> {
        in_order(times.iter().map(|ns| Instant::from_nanos(*ns)))
    }

    #[test]
    fn records_of_one_time_are_in_order() {
        assert_eq!(order(&[]), Ok(()));
        assert_eq!(order(&[5]), Ok(()));
        assert_eq!(order(&[5, 5, 6, 6, u64::MAX]), Ok(()));
    }

    #[test]
    fn those_that_are_late_are_counted_and_the_first_is_named() {
        let out = order(&[10, 30, 20, 29, 30, 31]).expect_err("two are before 30");
        let [at, before] = [20, 30].map(Instant::from_nanos);
        let expected = OutOfOrder {
            late: 2,
            records: 6,
            first: 2,
            at,
            before,
        };
        assert_eq!(out, expected);
        assert_eq!(
            out.to_string(),
            "records out of order: 2 of 6; the first is record 2, counted from 0, at \
             0.000000020 s, after one at 0.000000030 s"
        );
    }
}
