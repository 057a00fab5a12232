//! Names of figures that rows read.

/// Round trips in a sample, one by one: those that figure 4 shows.
pub const PINGS_SHOWN: usize = 90;
/// Name of their list in a sample.
pub const PINGS: &str = "ping.first_ms";
