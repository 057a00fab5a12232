//! Names and ids of domains, names of networks: which are taken, and by whom.

use crate::check::Cx;
use crate::limits::MAX_DOMAIN_ID;
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake};
use std::collections::BTreeMap;

/// Name of the control domain, as Xen's tools write it.
const CONTROL_DOMAIN: &str = "Domain-0";

/// Taken names and ids, each with the place where it was given; names also with that of the group
/// that they are members of.
#[derive(Default)]
pub(super) struct Names {
    names: BTreeMap<String, (Span, Option<String>)>,
    /// Names of groups, which actions use as those of domains.
    groups: BTreeMap<String, Span>,
    ids: BTreeMap<u16, Span>,
    /// Lowest id that a guest without one might get.
    next: u16,
}

impl Names {
    /// Takes `name`, given at `span` and if need be by the `group` of that name; reports it when it
    /// is taken already.
    pub fn take(
        &mut self,
        cx: &mut Cx<'_>,
        name: &str,
        group: Option<&str>,
        span: Span,
        path: &str,
    ) {
        if let Some(first) = self.groups.get(name) {
            cx.push(of_both(name, span, *first, path));
            return;
        }
        match self.names.get(name) {
            None => {
                let group = group.map(str::to_owned);
                self.names.insert(name.to_owned(), (span, group));
            }
            Some((first, of)) => cx.push(
                Mistake::new(
                    Code::Duplicate,
                    span,
                    format!("there are two domains `{name}`"),
                )
                .key(path)
                .found(name)
                .expected("a unique name")
                .related(*first, "the first one")
                .hint(match of.as_deref().or(group) {
                    Some(group) => format!(
                        "`{name}` is a member of the group `{group}`, whose members are numbered \
                         from 1: give the group or the other domain another name"
                    ),
                    None => "give one of the two another name; `count` makes several domains of a \
                             kind"
                        .to_owned(),
                }),
            ),
        }
    }

    /// Takes the name of a group, given at `span`; reports it when a domain has it already. Two
    /// groups of one name are told by their members.
    pub fn take_group(&mut self, cx: &mut Cx<'_>, name: &str, span: Span, path: &str) {
        match self.names.get(name) {
            Some((first, _)) => cx.push(of_both(name, span, *first, path)),
            None => {
                self.groups.entry(name.to_owned()).or_insert(span);
            }
        }
    }

    /// Takes the ids from `first`, `count` of them, given at `span`.
    pub fn take_ids(&mut self, cx: &mut Cx<'_>, first: i64, count: usize, span: Span, path: &str) {
        if first + count as i64 - 1 > MAX_DOMAIN_ID {
            cx.push(
                Mistake::new(
                    Code::OutOfRange,
                    span,
                    format!("ids from {first} leave no room for {count} domains"),
                )
                .key(path)
                .found(first.to_string())
                .expected(format!("ids up to {MAX_DOMAIN_ID}"))
                .hint("give the group a lower `id`, or leave it out for free ones"),
            );
            return;
        }
        for id in (first as u16..).take(count) {
            if let Some(taken) = self.ids.insert(id, span) {
                cx.push(
                    Mistake::new(
                        Code::Duplicate,
                        span,
                        format!("the domain id {id} is taken"),
                    )
                    .key(path)
                    .found(id.to_string())
                    .expected("a unique id")
                    .related(taken, "taken here")
                    .hint("leave `id` out and the next free one is used"),
                );
                return;
            }
        }
    }

    /// An id for the domain called `name`, which has none of its own: 0 for the control domain,
    /// else the lowest free one from 1.
    pub fn free_id(&mut self, name: &str, span: Span) -> u16 {
        let mut id = u16::from(name != CONTROL_DOMAIN);
        if id == 1 || self.ids.contains_key(&0) {
            id = self.next.max(1);
            while self.ids.contains_key(&id) {
                id += 1;
            }
            self.next = id + 1;
        }
        self.ids.insert(id, span);
        id
    }
}

/// `name`, given at `span`, is that of a domain and of a group; whichever came first did so at
/// `first`.
fn of_both(name: &str, span: Span, first: Span, path: &str) -> Mistake {
    Mistake::new(
        Code::Duplicate,
        span,
        format!("there are a domain and a group `{name}`"),
    )
    .key(path)
    .found(name)
    .expected("a unique name")
    .related(first, "the first one")
    .hint(format!(
        "give the group or the domain another name: what is said of `{name}` could be of either (a \
         group's members are `{name}1`, `{name}2` and so on)"
    ))
}
