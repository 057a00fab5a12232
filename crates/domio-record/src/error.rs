//! Why recording is not possible, or ended.

/// What is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The kernel, its settings or the rights of the process do not allow it.
    #[error("{0}")]
    Refused(String),
    /// A file of the system could not be read or written.
    #[error("cannot {what}: {error}")]
    Io {
        /// What was to be done, with the path.
        what: String,
        /// What the system says.
        error: std::io::Error,
    },
}

impl RecordError {
    /// For something that the system refused.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> RecordError {
        let what = what.into();
        |error| RecordError::Io { what, error }
    }
}
