//! For whom driver domains worked, as values of a [`Sample`].

use crate::sample::Sample;
use domio_core::{DomainId, Names, Record, Sink};
use domio_meter::{DriverWork, Summary};

/// A sink that wants to know for whom driver domains work, for the summary, and no records.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnersOnly;

impl Sink for OwnersOnly {
    const ENABLED: bool = false;
    const OWNERS: bool = true;

    #[inline]
    fn record(&mut self, _: &Names, _: &Record) {}
}

/// Begin of the names of these values in samples; `ID.busy_ms`, `ID.nobody_ms` or
/// `ID.for.OWNER_ms` follows. Ids stand for domains, whose names may have dots.
const WORK: &str = "driver_work.";

/// What a value of a sample reports the work of a driver domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WorkPart {
    /// Its work for this domain.
    For(DomainId),
    /// Its work for nobody.
    Nobody,
    /// All that its vcpus executed.
    Busy,
}

/// Name of the value in samples that tells `part` of the work of `driver`, in milliseconds.
pub fn key(driver: DomainId, part: WorkPart) -> String {
    let driver = driver.0;
    match part {
        WorkPart::For(owner) => format!("{WORK}{driver}.for.{}_ms", owner.0),
        WorkPart::Nobody => format!("{WORK}{driver}.nobody_ms"),
        WorkPart::Busy => format!("{WORK}{driver}.busy_ms"),
    }
}

/// The driver domain and the part of its work of which the value called `name` tells.
pub fn parse(name: &str) -> Option<(DomainId, WorkPart)> {
    let (driver, part) = name.strip_prefix(WORK)?.split_once('.')?;
    let driver = DomainId(driver.parse().ok()?);
    let part = match part {
        "busy_ms" => WorkPart::Busy,
        "nobody_ms" => WorkPart::Nobody,
        _ => {
            let owner = part.strip_prefix("for.")?.strip_suffix("_ms")?;
            WorkPart::For(DomainId(owner.parse().ok()?))
        }
    };
    Some((driver, part))
}

/// Notes in `sample` for whom driver domains worked.
pub fn note(sample: &mut Sample, summary: &Summary) {
    for work in &summary.driver_work {
        for (part, ns) in parts(work) {
            sample.set(&key(work.driver, part), ns as f64 / 1e6);
        }
    }
}

fn parts(work: &DriverWork) -> impl Iterator<Item = (WorkPart, u64)> {
    let others = work
        .done_for
        .iter()
        .map(|(owner, ns)| (WorkPart::For(*owner), *ns));
    others.chain([
        (WorkPart::Nobody, work.nobody()),
        (WorkPart::Busy, work.busy),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_values_are_told_from_those_of_domains() {
        for part in [WorkPart::For(DomainId(7)), WorkPart::Nobody, WorkPart::Busy] {
            assert_eq!(parse(&key(DomainId(3), part)), Some((DomainId(3), part)));
        }
        for other in [
            "driver_work.share_pct",
            "driver_work.3.for.x_ms",
            "web.busy_ms",
        ] {
            assert_eq!(parse(other), None);
        }
    }
}
