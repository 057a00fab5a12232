//! Work of driver domains as JSON.

use std::collections::BTreeMap;

use domio_core::DomainId;
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

/// The work of a driver domain in `domio run --json` and `domio explain --json`, see
/// [`DriverWork`]: milliseconds, by names of domains.
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

impl DriverWorkJson {
    /// `work` as JSON; `name` gives the name of a domain, whose id stands where none is known.
    pub fn new(work: &DriverWork, name: impl Fn(DomainId) -> Option<String>) -> Self {
        let name = |id: DomainId| id.called(name(id).as_deref());
        let ms = |ns: u64| ns as f64 / 1e6;
        let owners = work.done_for.iter();
        DriverWorkJson {
            driver: name(work.driver),
            busy_ms: ms(work.busy),
            done_for: InOrder(owners.map(|(owner, ns)| (name(*owner), ms(*ns))).collect()),
            nobody_ms: ms(work.nobody()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() -> DriverWork {
        DriverWork {
            driver: DomainId(0),
            busy: 10_000_000,
            done_for: [(DomainId(2), 2_500_000), (DomainId(10), 1_500_000)].into(),
        }
    }

    #[test]
    fn owners_are_named_in_the_order_of_their_ids() {
        let names = |id: DomainId| match id.0 {
            0 => Some("Domain-0".to_owned()),
            2 => Some("web".to_owned()),
            _ => None,
        };
        let json = serde_json::to_string(&DriverWorkJson::new(&work(), names)).unwrap();
        assert_eq!(
            json,
            r#"{"driver":"Domain-0","busy_ms":10.0,"for":{"web":2.5,"dom10":1.5},"nobody_ms":6.0}"#
        );
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
