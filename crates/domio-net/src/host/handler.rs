//! A handler of an interrupt, whose time is one piece.

/// Where such a handler is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Handler {
    /// It does not run.
    Idle,
    /// It was entered, and its time is being spent.
    Entered,
}

impl Handler {
    /// The handler is called: whether that enters it, or its time is spent.
    pub fn enter(&mut self) -> bool {
        *self = match self {
            Handler::Idle => Handler::Entered,
            Handler::Entered => Handler::Idle,
        };
        *self == Handler::Entered
    }
}
