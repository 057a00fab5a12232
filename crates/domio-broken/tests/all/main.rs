//! Every bug is caught by the checker that it names, and what the bugs are made in by none.

mod controllers;
mod policies;
