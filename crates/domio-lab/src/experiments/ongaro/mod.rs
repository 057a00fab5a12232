//! Ongaro, Cox and Rixner, "Scheduling I/O in virtual machine monitors", VEE 2008.
//!
//! See `docs/papers/ongaro2008.md`. Figures 3 and 5 to 12 come from one experiment: [eight
//! tests](TESTS) under [eleven configurations](CONFIGURATIONS), 88 [cells](Cell). Figure 4 has
//! [a test of its own](FIGURE_4), two cells more. Each is simulated once a replication, whatever
//! number of claims reads it.
//!
//! | file | holds |
//! |---|---|
//! | `suite`, `configurations`, `cell` | what is run |
//! | `settings`, `host` | on which machine |
//! | `run` | a cell's simulation and its figures |
//! | `fig2`, `debit` | two experiments of their own |

mod cell;
mod configurations;
mod debit;
mod fig2;
pub mod host;
mod run;
mod settings;
mod suite;

use crate::registry::{LabContext, Registry};
use domio_core::NullSink;

pub use cell::{Cell, UnknownCell, experiment};
pub use configurations::{CONFIGURATIONS, Configuration, Scheduler};
pub use run::{PINGS, PINGS_SHOWN, run, trace_header};
pub use settings::{Housekeeping, Settings};
pub use suite::{FIGURE_4, Role, TESTS, Test};

/// Replications of a cell with streams before its checks are looked at.
const REPLICATIONS: u32 = 10;
/// Those of one without, which costs little.
const REPLICATIONS_WITHOUT_STREAMS: u32 = 20;

pub(super) fn register(registry: &mut Registry, divisor: u32, cells: Settings) {
    fig2::register(registry, divisor);
    debit::register(registry, divisor);
    register_cells(registry, cells);
}

/// Adds all cells, under `settings`.
pub fn register_cells(registry: &mut Registry, settings: Settings) {
    // Every field by name and value.
    let inputs = format!("{settings:?}");
    for cell in Cell::all() {
        let replications = match cell.test.has(Role::streams) {
            true => REPLICATIONS,
            false => REPLICATIONS_WITHOUT_STREAMS,
        };
        let run = move |cx: &LabContext, replication| {
            let (sample, _) = run(cell, &settings, cx, replication, NullSink)?;
            Ok(sample)
        };
        let measured = settings.measured(cell.test).as_nanos() as f64 / 1e9;
        registry
            .experiment(cell.experiment(), replications, run)
            .kept(&format!("{measured} s"), &[inputs.as_bytes()]);
    }
}
