//! Exceptions. Each carries the message that the command line prints.

use domio_front::hosts::HostFailed;
use domio_front::scenarios::Mistakes;
use domio_run::RunOneError;
use domio_run::simulate::RunFault;
use domio_scenario::ScenarioErrors;
use domio_trace::TraceError as Damage;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyUserWarning};
use pyo3::prelude::*;
use std::ffi::CString;

create_exception!(
    domio,
    DomioError,
    PyException,
    "What domio could not do, and what to do about it. All exceptions of domio are of this class."
);
create_exception!(
    domio,
    ScenarioError,
    DomioError,
    "All mistakes of a scenario, each with its line. `problems` has them as dictionaries, \
     with the keys of `domio scenario check --json`."
);
create_exception!(
    domio,
    RunError,
    DomioError,
    "A simulation that did not get to its end. `state` has the state of host and policy then."
);
create_exception!(
    domio,
    TraceError,
    DomioError,
    "A trace that cannot be read."
);
create_exception!(
    domio,
    DomioWarning,
    PyUserWarning,
    "What is good to know of a scenario or a trace."
);

/// Adds the exceptions to the module.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add("DomioError", py.get_type::<DomioError>())?;
    m.add("ScenarioError", py.get_type::<ScenarioError>())?;
    m.add("RunError", py.get_type::<RunError>())?;
    m.add("TraceError", py.get_type::<TraceError>())?;
    m.add("DomioWarning", py.get_type::<DomioWarning>())
}

/// A plain refusal.
pub fn refused(why: impl Into<String>) -> PyErr {
    DomioError::new_err(why.into())
}

/// The exception of an error of a command.
pub fn of(py: Python<'_>, error: anyhow::Error) -> PyErr {
    let mistakes = error.chain().find_map(|e| e.downcast_ref::<Mistakes>());
    if let Some(found) = mistakes.or_else(|| error.downcast_ref::<Mistakes>()) {
        // Context before the mistakes, if there is any, and the mistakes without colours.
        let coloured = found.told(true);
        let told = format!("{error:#}").replace(&coloured, &found.told(false));
        return scenario(py, &told, &found.0);
    }
    let failed = error.downcast_ref::<HostFailed>();
    if let Some(HostFailed(fault)) = failed {
        return run(py, &format!("{error:#}"), fault);
    }
    let told = format!("{error:#}");
    match error.chain().any(|e| e.downcast_ref::<Damage>().is_some()) {
        true => TraceError::new_err(told),
        false => refused(told),
    }
}

/// The exception of mistakes in a scenario.
pub fn of_mistakes(py: Python<'_>, errors: ScenarioErrors) -> PyErr {
    of(py, domio_front::scenarios::mistakes(errors))
}

/// The exception of a run of one scenario.
pub fn of_run(py: Python<'_>, error: RunOneError) -> PyErr {
    match error {
        RunOneError::Scenario(errors) => of_mistakes(py, errors),
        RunOneError::Run(fault) => of(py, domio_front::hosts::failed(&fault)),
    }
}

fn scenario(py: Python<'_>, told: &str, errors: &ScenarioErrors) -> PyErr {
    let error = ScenarioError::new_err(told.to_owned());
    let problems = domio_front::scenarios::problem_table(errors);
    match serde_json::to_string(&problems) {
        Ok(problems) => with(py, error, "problems", &problems),
        Err(_) => error,
    }
}

fn run(py: Python<'_>, told: &str, fault: &RunFault) -> PyErr {
    let error = RunError::new_err(told.to_owned());
    let state = serde_json::Value::from(fault.dump.clone()).to_string();
    with(py, error, "state", &state)
}

/// `error` with an attribute that JSON tells.
fn with(py: Python<'_>, error: PyErr, name: &str, json: &str) -> PyErr {
    let set = || {
        let value = py.import("json")?.call_method1("loads", (json,))?;
        error.value(py).setattr(name, value)
    };
    match set() {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Warns of each of `notices`.
pub fn warn(py: Python<'_>, notices: &[String]) -> PyResult<()> {
    let category = py.get_type::<DomioWarning>();
    for notice in notices {
        let notice = CString::new(notice.replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &category, &notice, 2)?;
    }
    Ok(())
}
