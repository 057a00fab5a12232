//! The native part of the Python package `domio`: scenarios, and what is simulated, read or decided
//! with them. Tables go out as Arrow. What is pleasant to call is in `python/domio`.
//!
//! | file | holds |
//! |---|---|
//! | `errors` | exceptions, with the messages of the command line |
//! | `background` | work without the GIL that Ctrl-C ends |
//! | `table` | tables as Arrow, through the PyCapsule interface |
//! | `scenario` | `Scenario` |
//! | `runs` | runs, comparisons, explanations |
//! | `sweep` | sweeps on all cores, and cell by cell for clusters |
//! | `trace` | traces, as streams of Arrow |
//! | `judged` | recordings that are validated, claims that are decided |
//! | `policy`, `boundary` | policies in Python, and what they see of the host |

mod background;
mod boundary;
mod errors;
mod judged;
mod policy;
mod runs;
mod scenario;
mod sweep;
mod table;
mod trace;

use pyo3::prelude::*;

/// The module `domio._domio`.
#[pymodule]
fn _domio(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("PROGRAM", background::PROGRAM)?;
    errors::add(m)?;
    m.add_class::<scenario::Scenario>()?;
    m.add_class::<table::Table>()?;
    m.add_class::<sweep::Sweep>()?;
    m.add_class::<trace::TraceStream>()?;
    m.add_class::<boundary::Host>()?;
    m.add_function(wrap_pyfunction!(scenario::shipped, m)?)?;
    m.add_function(wrap_pyfunction!(runs::run, m)?)?;
    m.add_function(wrap_pyfunction!(runs::run_cell, m)?)?;
    m.add_function(wrap_pyfunction!(runs::compare, m)?)?;
    m.add_function(wrap_pyfunction!(runs::explain, m)?)?;
    m.add_function(wrap_pyfunction!(runs::explain_trace, m)?)?;
    m.add_function(wrap_pyfunction!(runs::is_trace, m)?)?;
    m.add_function(wrap_pyfunction!(runs::measures, m)?)?;
    m.add_function(wrap_pyfunction!(table::table, m)?)?;
    m.add_function(wrap_pyfunction!(trace::read_trace, m)?)?;
    m.add_function(wrap_pyfunction!(judged::validate, m)?)?;
    m.add_function(wrap_pyfunction!(judged::reproduce, m)?)?;
    m.add_function(wrap_pyfunction!(policy::register_policy, m)?)?;
    m.add_function(wrap_pyfunction!(policy::check_policy, m)?)?;
    Ok(())
}
