//! What readers of several tables need: the policy, parameters that do not go together, and the way
//! of a device's own reader to the problems.

use crate::check::{self, Cx, Fields};
use crate::problem::{Code, Problem, quote};
use crate::source::Span;
use crate::value::Entry;
use domio_contract::{Conflict, Policy};
use domio_core::ParamValues;
use domio_core::keys::{
    Given, Good, KeyReader, KeySection, Misfit, MisfitKind, Nested, Slot, Words,
};
use std::any::Any;

/// What to say of a vcpu that a domain has not.
pub(super) const VCPUS_FROM_0: &str =
    "vcpus are counted from 0; `vcpus` of the domain says how many there are";

/// A key of one member of a group of domains, set by an override.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct MemberKey {
    /// Name of the member (`g3`).
    pub member: String,
    pub entry: Entry,
}

/// The policy with the values of its parameters.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    pub policy: &'a Policy,
    pub params: &'a ParamValues,
    /// Index of its pool, 0 for Pool-0.
    pub pool: usize,
}

/// Where each parameter was given.
pub(super) type GivenParams = Vec<(&'static str, Span)>;

pub(super) fn given(fields: &Fields<'_>) -> GivenParams {
    fields
        .params
        .iter()
        .map(|g| (g.spec.name, g.span))
        .collect()
}

/// Tells of parameters of the table at `path` that do not go together. The one to change is blamed
/// if it was given, else the one that it clashes with.
pub(super) fn tell(
    cx: &mut Cx<'_>,
    conflict: Conflict,
    given: &GivenParams,
    header: Span,
    path: &str,
) {
    let place = |name: &str| given.iter().find(|(n, _)| *n == name);
    let blamed = place(conflict.param).or_else(|| place(conflict.with));
    let (name, span) = blamed.copied().unwrap_or((conflict.param, header));
    cx.push(
        Problem::new(Code::Conflict, span, conflict.problem)
            .key(format!("{path}.{name}"))
            .found(quote(cx.text(span)))
            .expected(conflict.expected)
            .hint(conflict.hint),
    );
}

/// A table, as whoever declared its keys reads it.
pub(super) struct InTable<'a, 't, 'p> {
    pub cx: &'a mut Cx<'p>,
    pub fields: &'a Fields<'t>,
}

impl Given for InTable<'_, '_, '_> {
    fn given(&self, name: &str) -> (bool, Option<Good>) {
        self.fields.given(name)
    }
}

impl KeyReader for InTable<'_, '_, '_> {
    fn tables(
        &mut self,
        slot: &Slot<Nested>,
        section: &'static KeySection,
    ) -> Vec<Box<dyn Given + '_>> {
        let tables = self.fields.tables(slot).into_iter();
        let checked = tables.map(|(node, table, path)| {
            check::table(self.cx, table, node.span, section, &path, None)
        });
        checked
            .map(|fields| Box::new(fields) as Box<dyn Given>)
            .collect()
    }

    fn count(&self, slot: &Slot<Nested>) -> usize {
        self.fields.tables(slot).len()
    }

    fn parts(&self, words: Words) -> Vec<&'static (dyn Any + Send + Sync)> {
        self.cx.parts.any(words)
    }

    fn tell(&mut self, misfit: Misfit) {
        let code = match misfit.kind {
            MisfitKind::Conflict => Code::Conflict,
            MisfitKind::Limit => Code::Limit,
        };
        let fields = self.fields;
        let blamed = fields.named(misfit.key);
        let (span, key) = match blamed {
            Some(field) if misfit.at_key => (field.key_span, field.written),
            Some(field) => (field.span, misfit.key),
            None => (fields.header, misfit.key),
        };
        let mut problem = Problem::new(code, span, misfit.problem)
            .key(fields.key_path(key))
            .found(misfit.found)
            .expected(misfit.expected)
            .hint(misfit.hint);
        if let Some((other, what)) = misfit.related {
            let place = fields.named(other);
            problem = problem.related(place.map_or(fields.header, |f| f.key_span), what);
        }
        self.cx.push(problem);
    }
}
