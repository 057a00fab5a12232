//! What is asked for beside the lists, and what comes of it.

use domio_scenario::ScenarioErrors;

/// What lists do not say and somebody may know.
#[derive(Clone, Debug)]
pub struct ListOptions {
    /// The command that makes the scenario.
    pub command: String,
    /// Milliseconds from the first list to the last.
    pub interval_ms: Option<u64>,
    /// Pcpus of the host, where `xl info` is not among the lists.
    pub pcpus: Option<u16>,
    /// Mean length of a stretch of work (us).
    pub work_us: u64,
    /// How busy each vcpu of a guest is of which nothing says (%).
    pub load_pct: u16,
}

/// A scenario, and what is to be told beside it.
#[derive(Clone, Debug)]
pub struct OfLists {
    /// The text.
    pub text: String,
    /// What nothing has told, and what would say.
    pub notices: Vec<String>,
}

/// Why no scenario can be made of lists.
#[derive(Debug, thiserror::Error)]
pub enum FromListsError {
    /// The lists do not say what is needed, or contradict each other.
    #[error("{0}")]
    Unusable(String),
    /// What was read makes no host.
    #[error("the lists make no valid scenario: {0}")]
    Scenario(ScenarioErrors),
}
