//! Releases: policies that a release of Xen does not have, and parameters that it ignores.

use super::host::HostKeys;
use super::shared::Chosen;
use crate::check::{Cx, Fields};
use crate::value::{Node, Table, Value};
use domio_contract::{Policy, Releases, releases};
use domio_core::keys::{Code, Mistake, quote};

/// Which releases have a policy, in words.
fn from_to(releases: &Releases) -> String {
    match releases.last {
        Some(last) if last == releases.first => format!("Xen {last}"),
        Some(last) => format!("Xen {} to {last}", releases.first),
        None => format!("Xen {} or later", releases.first),
    }
}

/// A release of Xen that the text asks for must have the policy. Where the policy was asked for by
/// an override, the host is compared under it all the same.
pub(super) fn has_policy(cx: &mut Cx<'_>, host: &Fields, keys: &HostKeys, policy: &Policy) {
    let (Some(releases), true) = (policy.releases, keys.xen.given) else {
        return;
    };
    let Some(version) = keys.version().filter(|v| !releases.has(*v)) else {
        return;
    };
    let name = policy.descriptor.name;
    let says = format!("{name} is no scheduler of Xen {version}");
    let expected = from_to(releases);
    if cx.swapped {
        let notice =
            format!("{says}: {expected} has it, and the host's own rules are of {version}");
        return cx.notices.push(notice);
    }
    let span = host.span(&keys.xen);
    let problem = Mistake::new(Code::Conflict, span, says)
        .key(host.path_of(&keys.xen))
        .found(quote(cx.text(span)))
        .expected(expected)
        .hint("take such a release, or another policy");
    cx.push(problem);
}

/// Reports parameters in the text that the release has not.
pub(super) fn without_effect(cx: &mut Cx<'_>, root: &Table, chosen: Chosen<'_>) {
    let policy = chosen.policy;
    let version = releases::version(chosen.params);
    let (Some(releases), Some(version)) = (policy.releases, version) else {
        return;
    };
    let mut tables = tables(root, "scheduler");
    for domain in self::tables(root, "domain") {
        tables.push(domain);
        tables.extend(self::tables(domain, "vcpu"));
    }
    tables.extend(self::tables(root, "action"));
    for began in releases.began.iter().filter(|b| version < b.since) {
        let name = began.param;
        if tables.iter().any(|table| table.get(name).is_some()) {
            cx.notices.push(format!(
                "`{name}` has no effect under {} of Xen {version}: it came with {}",
                policy.descriptor.name, began.since
            ));
        }
    }
}

/// The tables at `key` of `table`: one, or the members of a list.
fn tables<'t>(table: &'t Table, key: &str) -> Vec<&'t Table> {
    match table.get(key).map(|entry| &entry.node) {
        Some(Node {
            value: Value::Array(nodes),
            ..
        }) => nodes.iter().filter_map(Node::as_table).collect(),
        Some(node) => node.as_table().into_iter().collect(),
        None => Vec::new(),
    }
}
