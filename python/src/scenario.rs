//! `Scenario`: a scenario as Python has it.

use crate::errors;
use crate::policy;
use domio_front::scenarios;
use domio_scenario::Scenario as Inner;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

type Changes = Vec<(String, String)>;

/// A scenario: which machine, which policy and which domains a run has. It never changes; `set`
/// and `with_` give another one.
#[pyclass(frozen, module = "domio")]
pub struct Scenario {
    pub inner: Inner,
    /// What was changed since the text was read, step by step.
    steps: Vec<Changes>,
    /// How often policies had been registered when the text was read.
    knows: u64,
}

impl Scenario {
    /// The scenario with other values at some keys, all at once.
    pub fn changed(&self, py: Python<'_>, changes: Changes) -> PyResult<Self> {
        if self.knows != policy::registrations() {
            // A policy has come since.
            let more = (!changes.is_empty()).then_some(changes);
            let steps = self.steps.clone().into_iter().chain(more).collect();
            return Scenario::_restore(py, self.inner.name(), self.inner.text(), steps);
        }
        if changes.is_empty() {
            return Ok(Scenario {
                inner: self.inner.clone(),
                steps: self.steps.clone(),
                knows: self.knows,
            });
        }
        let pairs = changes.iter().map(|(key, value)| (&**key, &**value));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        let inner = self.inner.with(&pairs);
        let inner = inner.map_err(|e| errors::of_mistakes(py, e))?;
        let mut steps = self.steps.clone();
        steps.push(changes);
        Ok(Scenario {
            inner,
            steps,
            knows: self.knows,
        })
    }

    /// The scenario with another seed, if there is one.
    pub fn seeded(&self, py: Python<'_>, seed: Option<u64>) -> PyResult<Self> {
        let seed = seed.map(|seed| ("seed".to_owned(), seed.to_string()));
        self.changed(py, seed.into_iter().collect())
    }

    fn parsed(py: Python<'_>, name: &str, text: &str) -> PyResult<Self> {
        let knows = policy::registrations();
        let inner = Inner::parse(name, text.as_bytes(), policy::parts());
        Ok(Scenario {
            inner: inner.map_err(|e| errors::of_mistakes(py, e))?,
            steps: Vec::new(),
            knows,
        })
    }
}

/// Changes as texts, of what Python has: `domio._toml.changes`.
pub fn texts(py: Python<'_>, changes: &Bound<'_, PyAny>) -> PyResult<Changes> {
    let toml = py.import("domio._toml")?;
    toml.call_method1("changes", (changes,))?.extract()
}

#[pymethods]
impl Scenario {
    /// Reads a scenario from its text.
    ///
    /// Parameters
    /// ----------
    /// text
    ///     The scenario in TOML.
    /// folder
    ///     Where files that the scenario names are; the current folder if left out.
    ///
    /// Raises
    /// ------
    /// ScenarioError
    ///     With every mistake of the text, each with its line.
    #[staticmethod]
    #[pyo3(signature = (text, folder = None))]
    fn from_toml(py: Python<'_>, text: &str, folder: Option<PathBuf>) -> PyResult<Self> {
        let name = folder.map_or_else(|| PathBuf::from("scenario"), |f| f.join("scenario"));
        Scenario::parsed(py, &name.to_string_lossy(), text)
    }

    /// Reads the scenario in a file, or the shipped one or the cell of a paper of that name when
    /// there is no such file.
    ///
    /// Raises
    /// ------
    /// ScenarioError
    ///     With every mistake of the text, each with its line.
    /// DomioError
    ///     When nothing is called so, with near matches.
    #[staticmethod]
    fn load(py: Python<'_>, name: PathBuf) -> PyResult<Self> {
        let name = name.to_string_lossy();
        let knows = policy::registrations();
        let inner = scenarios::load(&name, &policy::parts());
        Ok(Scenario {
            inner: inner.map_err(|e| errors::of(py, e))?,
            steps: Vec::new(),
            knows,
        })
    }

    /// Makes a scenario of its sections.
    ///
    /// Each section is a dictionary, or a list of them where a file has ``[[section]]``:
    /// ``Scenario.build(run={"duration_s": 5}, scheduler={"policy": "credit"},
    /// domain=[{"name": "web", "workload": "burn"}])``.
    ///
    /// Raises
    /// ------
    /// ScenarioError
    ///     With every mistake, each with its line of the text that was made.
    #[staticmethod]
    #[pyo3(signature = (folder = None, **sections))]
    fn build(
        py: Python<'_>,
        folder: Option<PathBuf>,
        sections: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let toml = py.import("domio._toml")?;
        let sections = sections.unwrap_or_else(|| PyDict::new(py));
        let text: String = toml.call_method1("dumps", (sections,))?.extract()?;
        Scenario::from_toml(py, &text, folder)
    }

    /// The scenario with other values at some keys, all at once.
    ///
    /// Parameters
    /// ----------
    /// changes
    ///     Values by key, with the keys of `domio run --set`: ``{"domain.web.weight": 512}``.
    ///
    /// Raises
    /// ------
    /// ScenarioError
    ///     When that makes no scenario.
    fn set(&self, py: Python<'_>, changes: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.changed(py, texts(py, changes)?)
    }

    /// As `set`, with keywords: ``scenario.with_(**{"domain.web.weight": 512})``.
    #[pyo3(signature = (**changes))]
    fn with_(&self, py: Python<'_>, changes: Option<Bound<'_, PyDict>>) -> PyResult<Self> {
        let changes = changes.unwrap_or_else(|| PyDict::new(py));
        self.set(py, changes.as_any())
    }

    /// The scenario as TOML: its own text where nothing was changed, else all keys in the order of
    /// their names, without comments.
    ///
    /// Raises
    /// ------
    /// DomioError
    ///     When one member of a group was changed, for which a file has no place.
    fn to_toml(&self) -> PyResult<String> {
        self.inner.to_toml().map_err(errors::refused)
    }

    /// What messages call it: its path, or the name of a shipped scenario.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// One line about it; `None` without any.
    #[getter]
    fn title(&self) -> Option<String> {
        self.inner.plan().title.clone()
    }

    /// What it shows; `None` where it does not say.
    #[getter]
    fn description(&self) -> Option<String> {
        self.inner.plan().description.clone()
    }

    /// The text as it was read, without what was changed since.
    #[getter]
    fn text(&self) -> &str {
        self.inner.text()
    }

    /// What was changed, each as "key = value".
    #[getter]
    fn overrides(&self) -> Vec<String> {
        self.inner.overrides().map(str::to_owned).collect()
    }

    /// What is good to know of it.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.inner.notices().to_vec()
    }

    /// Names of its domains.
    #[getter]
    fn domains(&self) -> Vec<String> {
        let domains = self.inner.plan().host.domains.iter();
        domains.map(|domain| domain.name.clone()).collect()
    }

    /// Name of its scheduling policy.
    #[getter]
    fn policy(&self) -> &'static str {
        self.inner.plan().policy.descriptor.name
    }

    /// Seed of its random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.plan().seed
    }

    /// Measured time in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.plan().duration.as_nanos() as f64 / 1e9
    }

    fn __repr__(&self) -> String {
        let changes: Vec<&str> = self.inner.overrides().collect();
        match changes.is_empty() {
            true => format!("<domio.Scenario {}>", self.inner.name()),
            false => format!(
                "<domio.Scenario {} with {}>",
                self.inner.name(),
                changes.join(", ")
            ),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Scenario>() else {
            return false;
        };
        let other = other.get();
        self.inner.text() == other.inner.text() && self.steps == other.steps
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.inner.text(), &self.steps).hash(&mut hasher);
        hasher.finish()
    }

    /// For other processes: name, text and changes.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.get_type::<Scenario>().getattr("_restore")?;
        let state = (self.inner.name(), self.inner.text(), self.steps.clone());
        Ok((restore, state.into_pyobject(py)?))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, name: &str, text: &str, steps: Vec<Changes>) -> PyResult<Self> {
        let read = Scenario::parsed(py, name, text)?;
        steps
            .into_iter()
            .try_fold(read, |scenario, changes| scenario.changed(py, changes))
    }
}

/// Names of the scenarios that ship, each with its title.
#[pyfunction]
pub fn shipped() -> Vec<(String, String)> {
    let examples = domio_scenario::examples().iter();
    let title = |(name, text): &(&str, &str)| {
        let scenario = Inner::parse(name, text.as_bytes(), domio_sched::policies());
        let title = scenario.ok().and_then(|s| s.plan().title.clone());
        ((*name).to_owned(), title.unwrap_or_default())
    };
    examples.map(title).collect()
}

/// The scenario that `what` is, or that it names.
pub fn given<'py>(py: Python<'py>, what: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Scenario>> {
    if let Ok(scenario) = what.cast::<Scenario>() {
        return Ok(scenario.clone());
    }
    let path: PathBuf = what.extract().map_err(|_| {
        let kind = what.get_type().name().map(|n| n.to_string());
        PyTypeError::new_err(format!(
            "expected a domio.Scenario, the path of one or the name of a shipped one, not {}",
            kind.unwrap_or_default()
        ))
    })?;
    Bound::new(py, Scenario::load(py, path)?)
}
