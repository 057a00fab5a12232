//! Another policy in the place of one: which parameters and groups go.

use crate::check;
use crate::overrides::{tables_mut, text_at};
use crate::parts::Parts;
use crate::source::Source;
use crate::value::{Entry, Table, Value};
use domio_contract::Policy;
use domio_core::ParamSpec;
use domio_core::keys::list;
use std::sync::Arc;

/// Takes parameters out that a new policy refuses.
pub(crate) struct Filter<'a> {
    pub sources: &'a [Arc<Source>],
    pub parts: &'a Parts,
    pub new: &'a Policy,
    pub first_new: u32,
    pub notices: &'a mut Vec<String>,
}

impl Filter<'_> {
    /// Takes parameters of `was` out of `table`, at `place`, that `is` has not or refuses.
    pub fn table(
        &mut self,
        table: &mut Table,
        was: &[ParamSpec],
        is: &'static [ParamSpec],
        place: &str,
    ) {
        table
            .entries
            .retain(|entry| self.keep(entry, was, is, place));
    }

    /// Groups of domains in `root`: all of them go where the new policy has none, and domains are
    /// at the top.
    pub fn groups(&mut self, root: &mut Table, (was, is): (&[ParamSpec], &'static [ParamSpec])) {
        let names: Vec<String> = tables_mut(root, "group")
            .iter()
            .map(|group| text_at(group, "name").to_owned())
            .collect();
        if names.is_empty() {
            return;
        }
        if !is.is_empty() {
            for table in tables_mut(root, "group") {
                let place = format!("group {}", text_at(table, "name"));
                self.table(table, was, is, &place);
            }
            return;
        }
        root.remove("group");
        for table in tables_mut(root, "domain") {
            table.remove("group");
        }
        let policy = self.new.descriptor.name;
        let (what, them) = match &names[..] {
            [_] => ("the group", "is left out"),
            _ => ("the groups", "are left out"),
        };
        let names = list(names.iter().map(String::as_str));
        self.notices.push(format!(
            "{what} {names} {them}, {policy} has no groups of domains: each domain competes at the \
             top, with its own weight and limits alone"
        ));
    }

    /// Whether `entry` stays; says so if not.
    pub fn keep(
        &mut self,
        entry: &Entry,
        was: &[ParamSpec],
        is: &'static [ParamSpec],
        place: &str,
    ) -> bool {
        let old = was.iter().any(|s| s.name == entry.key);
        if !old || entry.key_span.source >= self.first_new {
            return true;
        }
        let policy = self.new.descriptor.name;
        let why = match is.iter().find(|s| s.name == entry.key) {
            None => format!("{policy} has no such parameter"),
            Some(spec) if !check::allows(self.sources, self.parts, spec, &entry.node) => {
                format!("{policy} takes {}", spec.range())
            }
            Some(_) => return true,
        };
        self.notices
            .push(format!("{place}: `{}` is left out, {why}", entry.key));
        false
    }
}

/// What messages call `table`, which is at `key`: its name, or the vcpus that it is of.
pub(crate) fn called(table: &Table, key: &str) -> String {
    let entry = table.get(if key == "vcpu" { "vcpu" } else { "name" });
    match entry.map(|entry| &entry.node.value) {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Int(n)) => n.to_string(),
        _ => String::new(),
    }
}
