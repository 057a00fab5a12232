//! Work of driver domains as JSON.

use serde::{Serialize, Serializer};

/// The work of a driver domain in `domio run --json`, see
/// [`DriverWork`](super::DriverWork): milliseconds, by names of domains.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DriverWorkJson {
    /// Name of the driver domain.
    pub driver: String,
    /// Its vcpus executed.
    pub busy_ms: f64,
    /// Part of `busy_ms` that was done for others: their names and the time, by domid.
    #[serde(rename = "for")]
    pub done_for: InOrder<f64>,
    /// The rest of `busy_ms`.
    pub nobody_ms: f64,
}

/// Values by name, which JSON shows in this order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InOrder<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for InOrder<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
