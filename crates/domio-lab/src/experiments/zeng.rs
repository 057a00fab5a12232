//! Zeng, Wang and others, "XCollOpts: a novel improvement of network virtualization in Xen", 2015.
//!
//! See `docs/papers/zeng2015.md`.

use crate::claims::Claim;
use crate::ledger::Finding;
use crate::proof::Proof;
use crate::registry::Registry;
use crate::sample::Samples;
use crate::series::Series;

const PRIME: &str = "zeng.table4.credit";
/// Columns of the table: times the vcpus of the first one.
const TIMES: std::ops::RangeInclusive<u32> = 1..=8;
/// How far the claim lets a turnaround be off, in percent.
const BOUND_PCT: f64 = 0.5;

pub(super) fn register(registry: &mut Registry) {
    registry.check("zeng.table4.cpu-bound", &[PRIME], linear);
}

/// Holds when no column is off the line through the first one by the bound, interval included.
fn linear(samples: &Samples<'_>, _: &Claim) -> Finding {
    let of = |key: &str, unit| Series::of(samples, PRIME, key, "the column farthest off", unit);
    let off = of("off_linear_pct", "% off the line at most (credit part)");
    let mut proof = Proof::new(samples.risk());
    proof.below(&off, BOUND_PCT);
    let columns: Vec<String> = TIMES
        .filter_map(|times| {
            let column = of(&format!("x{times}.turnaround_s"), "s").estimate()?;
            Some(format!("{:.1}", column.mean))
        })
        .collect();
    let how = format!(
        "the distance of each column from the line through the first one; the comparison with \
         XCollOpts is not implemented yet. Turnaround at 1 to 8 times the vcpus: {} s",
        columns.join(", ")
    );
    proof.finding_on(&off, &how)
}
