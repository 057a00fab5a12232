//! Controllers beside slow twins.

mod cap_twin;
mod debt_twin;
