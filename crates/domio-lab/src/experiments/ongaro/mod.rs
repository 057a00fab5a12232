//! Ongaro, Cox and Rixner, "Scheduling I/O in virtual machine monitors", VEE 2008.
//!
//! See `docs/papers/ongaro2008.md`. Figures 3 and 5 to 12 come from one experiment: [eight
//! tests](TESTS) under [eleven configurations](CONFIGURATIONS), 88 [cells](Cell). Figure 4 has
//! [a test of its own](FIGURE_4), two cells more. Each is simulated once a replication, whatever
//! number of claims reads it.
//!
//! | file | holds |
//! |---|---|
//! | `suite`, `configurations`, `cell` | names of what `papers/ongaro2008` simulates |
//! | `series`, `decide` | how rows of the claims file are decided |
//! | `fig34`, `test1` to `test78` | the rows, by figure |
//! | `fig2`, `debit` | two experiments of their own |

mod cell;
mod configurations;
mod debit;
mod decide;
#[cfg(test)]
mod fake;
mod fig2;
mod fig34;
mod run;
mod series;
mod suite;
mod test1;
mod test2;
mod test34;
mod test56;
mod test78;

use crate::registry::Registry;
use decide::Row;

pub use cell::{Cell, UnknownCell, experiment};
pub use configurations::{CONFIGURATIONS, Configuration, Scheduler};
pub use run::{PINGS, PINGS_SHOWN};
pub use suite::{FIGURE_4, Role, TESTS, Test};

/// Adds the rows, which read the experiments of `papers/ongaro2008`.
pub fn register(registry: &mut Registry) {
    fig2::register(registry);
    debit::register(registry);
    for row in rows() {
        row.register(registry);
    }
}

/// Every row that reads cells.
fn rows() -> Vec<Row> {
    [
        fig34::rows(),
        test1::rows(),
        test2::rows(),
        test34::rows(),
        test56::rows(),
        test78::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
