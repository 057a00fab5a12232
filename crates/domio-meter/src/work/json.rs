//! Work of driver domains as JSON.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::DriverWork;

/// The work of a driver domain in `domio trace summary --json`, see [`DriverWork`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DriverSumsJson {
    /// Xen's domid of the driver domain.
    pub driver: u16,
    /// Its vcpus executed.
    pub busy_ns: u64,
    /// Part of `busy_ns` that was done for others, by domid.
    pub for_ns: BTreeMap<u16, u64>,
    /// The rest of `busy_ns`.
    pub nobody_ns: u64,
}

/// Values by name, which JSON shows in this order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InOrder<T>(pub Vec<(String, T)>);

impl<T> InOrder<T> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for InOrder<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl DriverSumsJson {
    /// `work` as JSON.
    pub fn new(work: &DriverWork) -> Self {
        let owners = work.done_for.iter();
        DriverSumsJson {
            driver: work.driver.0,
            busy_ns: work.busy,
            for_ns: owners.map(|(owner, ns)| (owner.0, *ns)).collect(),
            nobody_ns: work.nobody(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::DomainId;

    fn work() -> DriverWork {
        DriverWork {
            driver: DomainId(0),
            busy: 10_000_000,
            done_for: [(DomainId(2), 2_500_000), (DomainId(10), 1_500_000)].into(),
        }
    }

    #[test]
    fn a_summary_of_a_trace_knows_ids_alone() {
        let json = serde_json::to_string(&DriverSumsJson::new(&work())).unwrap();
        assert_eq!(
            json,
            r#"{"driver":0,"busy_ns":10000000,"#.to_owned()
                + r#""for_ns":{"2":2500000,"10":1500000},"nobody_ns":6000000}"#
        );
    }
}
