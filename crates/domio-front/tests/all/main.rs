//! What the command line and the Python package share, from outside.

mod clock;
mod kinds;
mod program;
mod suggest;
mod traces;
