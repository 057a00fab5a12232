//! `[[group]]`: groups of domains, one in another, of a policy that has them.

use super::resolved::Resolved;
use super::shared::{Chosen, given, tell};
use crate::check::{self, Cx, Fields};
use crate::suggest::did_you_mean;
use crate::value::{Node, Table};
use domio_contract::GroupId;
use domio_core::ParamValues;
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake, list, quote};
use domio_core::keys::{KeyParams, KeySection, Keys, Need, Nested, Slot, name};
use domio_vmm::config::GroupConfig;

pub(crate) static GROUP: KeySection = KeySection::with_params(
    "[[group]]",
    "A group of domains (a cgroup of Linux: `machine.slice`), with the parameters that the policy \
     has for groups as keys beside it. Domains choose it by their key `group`. All in the group \
     together have its weight beside others, and its limits. For `cfs` and `eevdf`.",
    GroupKeys::KEYS,
    KeyParams::Group,
);

keys! {
    struct GroupKeys {
        name: String = name(), Need::Required,
            "Unique name, by which domains and other groups choose it.";
        parent: String = name(), Need::Optional("at the top"),
            "The group that it is in: the name of an earlier `[[group]]`.";
    }
}

/// A group after its own checks.
pub(crate) struct Group {
    pub name: String,
    /// Index of the one that it is in.
    parent: Option<usize>,
    params: ParamValues,
    span: Span,
}

/// The groups at `slot`, under the policy `chosen`.
pub(super) fn groups(
    cx: &mut Cx<'_>,
    top: &Fields,
    slot: &Slot<Nested>,
    chosen: Option<Chosen<'_>>,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let Some(chosen) = chosen else {
        return groups;
    };
    for (node, table, path) in top.tables(slot) {
        groups.extend(group(cx, node, table, &path, chosen, &groups));
    }
    groups
}

/// The table `table`, which was found at `path`, after `earlier` ones.
fn group(
    cx: &mut Cx<'_>,
    node: &Node,
    table: &Table,
    path: &str,
    chosen: Chosen<'_>,
    earlier: &[Group],
) -> Option<Group> {
    let policy = chosen.policy;
    let specs = policy.descriptor.group_params;
    if specs.is_empty() {
        let message = format!("{} has no groups of domains", policy.descriptor.name);
        cx.push(
            Mistake::new(Code::Conflict, node.span, message)
                .key(path.to_owned())
                .expected("a policy with groups: cfs or eevdf")
                .hint("leave the [[group]] out, and the `group` of domains"),
        );
        return None;
    }
    let fields = check::table(cx, table, node.span, &GROUP, path, Some(policy));
    let keys: GroupKeys = fields.read();
    let name = keys.name.get()?;
    let span = fields.span(&keys.name);
    if let Some(other) = earlier.iter().find(|other| other.name == name) {
        let name = quote(&name);
        cx.push(
            Mistake::new(
                Code::Duplicate,
                span,
                format!("there are two groups `{name}`"),
            )
            .key(format!("{path}.name"))
            .found(name)
            .expected("a unique name")
            .related(other.span, "the first one")
            .hint("give one of the two another name"),
        );
        return None;
    }
    let parent = match keys.parent.if_given()? {
        Some(parent) => Some(find(cx, earlier, &fields, &keys.parent, &parent)?),
        None => None,
    };
    let params = fields.values(ParamValues::defaults(specs));
    // Values that were refused are at their defaults, which may not go with the others.
    if cx.problems.none_at(&format!("{path}."))
        && let Err(conflict) = (policy.validate_group)(chosen.params, &params)
    {
        tell(cx, conflict, &given(&fields), node.span, path);
    }
    Some(Group {
        name,
        parent,
        params,
        span,
    })
}

/// Index of the one of `groups` that `slot` of `fields` calls `name`.
fn find(
    cx: &mut Cx<'_>,
    groups: &[Group],
    fields: &Fields,
    slot: &Slot<String>,
    name: &str,
) -> Option<usize> {
    let found = groups.iter().position(|group| group.name == name);
    if found.is_none() && !cx.partial {
        let known = || groups.iter().map(|group| group.name.as_str());
        let expected = match groups {
            [] => "a [[group]] of that name, before".to_owned(),
            _ => format!("one of: {}", list(known())),
        };
        let unknown = format!("there is no group `{}` before", quote(name));
        cx.push(
            Mistake::new(Code::UnknownName, fields.span(slot), unknown)
                .key(fields.path_of(slot))
                .found(quote(name))
                .expected(expected)
                .hint_or(
                    did_you_mean(name, known()),
                    "add a [[group]] of that name; a group comes before what is in it",
                ),
        );
    }
    found
}

/// Index of the group that the domain of `fields`, of the pool with index `pool`, chooses at
/// `slot`; the outer `None` where the choice is wrong.
pub(super) fn of_domain(
    cx: &mut Cx<'_>,
    groups: &[Group],
    fields: &Fields,
    slot: &Slot<String>,
    pool: Option<usize>,
) -> Option<Option<usize>> {
    let Some(name) = slot.if_given()? else {
        return Some(None);
    };
    if pool.is_some_and(|pool| pool > 0) {
        cx.push(
            Mistake::new(
                Code::Conflict,
                fields.span(slot),
                "groups are of domains in Pool-0",
            )
            .key(fields.path_of(slot))
            .found(quote(&name))
            .expected("a domain with a `group` or a `pool`, not both")
            .hint("leave out one of `group` and `pool`"),
        );
        return None;
    }
    find(cx, groups, fields, slot, &name).map(Some)
}

/// The groups as a host has them, with their domains.
pub(super) fn configs(groups: &[Group], resolved: &Resolved) -> Vec<GroupConfig> {
    let domains = |index: usize| {
        let own = resolved.domains.iter();
        own.filter(move |d| d.group == Some(index))
    };
    let config = |(index, group): (usize, &Group)| GroupConfig {
        parent: group.parent.map(|parent| GroupId(parent as u16)),
        params: group.params,
        domains: domains(index).map(|d| d.config.id).collect(),
    };
    groups.iter().enumerate().map(config).collect()
}
