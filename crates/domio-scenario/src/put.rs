//! Puts an entry into a table of the document, in the place of what it replaces.

use crate::amount::split_unit;
use crate::parts::Parts;
use crate::resolve::TASK;
use crate::value::{Entry, Table};
use domio_core::keys::KeyVariant;

/// Puts `entry` into `table`, instead of the same key or the same time in another unit. Another
/// workload takes the place of the old one with all of its keys.
pub(crate) fn put(parts: &Parts, table: &mut Table, entry: Entry) {
    if entry.key == "workload" {
        forget_workload(parts, table, entry.node.as_text());
    }
    let name = |key: &str| split_unit(key).map_or(key, |(base, _)| base).to_owned();
    // A drawn time has no unit, so `burst` and `burst_us` are the same key.
    let own = name(&entry.key);
    let timed = split_unit(&entry.key).is_some() || entry.node.as_table().is_some();
    if timed {
        table.entries.retain(|e| name(&e.key) != own);
    }
    table.put(entry);
}

/// Takes the keys of the workload in `table` out that `new` does not have.
fn forget_workload(parts: &Parts, table: &mut Table, new: Option<&str>) {
    let variant = |word: Option<&str>| parts.variant(&TASK, word?);
    let old = variant(table.get("workload").and_then(|e| e.node.as_text()));
    let name = |key: &str| split_unit(key).map_or(key, |(base, _)| base).to_owned();
    let has = |v: Option<KeyVariant>, key: &str| {
        v.is_some_and(|v| v.keys.iter().any(|k| k.name == key || k.name == name(key)))
    };
    table
        .entries
        .retain(|e| !has(old, &e.key) || has(variant(new), &e.key));
}
