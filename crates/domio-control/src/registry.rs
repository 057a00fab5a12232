//! The list of controllers.

use crate::{cap_follows_demand, debt_collector, share_guard};
use domio_contract::control::Entry;

static CONTROLLERS: &[&Entry] = &[
    &cap_follows_demand::ENTRY,
    &debt_collector::ENTRY,
    &share_guard::ENTRY,
];

/// Every controller, in the order in which lists show them.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    CONTROLLERS.iter().copied()
}

/// The controller called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().find(|entry| entry.descriptor.name == name)
}
