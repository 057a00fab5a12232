//! What the command line and the Python package share, from outside.

mod clock;
mod conformance;
mod kinds;
mod program;
mod suggest;
mod traces;
