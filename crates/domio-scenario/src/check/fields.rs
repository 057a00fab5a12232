//! Checks one table of the document against its declared keys.

use super::cx::Cx;
use super::{hint, value, words};
use crate::amount::{self, split_unit};
use crate::parts::Parts;
use crate::rate;
use crate::source::Source;
use crate::value::{Entry, Node, Table, Value};
use domio_contract::Policy;
use domio_core::keys::Span;
use domio_core::keys::{
    Code, Given, Good, Key, KeyEntry, KeyKind, KeyParams, KeyPlace, KeySection, KeyTable,
    KeyVariant, Keys, Mistake, Named, Need, Nested, Slot, list, path_in,
};
use domio_core::{Duration, ParamSpec, ParamValues};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A key that was given.
pub(crate) struct Field {
    /// Its value, unless a problem was reported.
    value: Option<Good>,
    node: Node,
    pub key_span: Span,
    pub span: Span,
    /// As it was written, with its unit.
    pub written: String,
}

/// A declared parameter that was given a value in its range.
pub(crate) struct GivenParam {
    pub spec: &'static ParamSpec,
    pub value: i64,
    pub span: Span,
}

/// What a table holds.
pub(crate) struct Fields {
    /// Path of the table, for messages.
    pub path: String,
    /// Where the table starts.
    pub header: Span,
    pub(super) section: &'static KeySection,
    /// Keys that are always allowed.
    pub(super) keys: Vec<&'static Key>,
    pub variant: Option<KeyVariant>,
    found: BTreeMap<&'static str, Field>,
    pub params: Vec<GivenParam>,
    /// Parameters that are keys here because of controllers.
    pub(super) controlled: Vec<&'static [ParamSpec]>,
}

/// The parameters that are keys under `params`, for `policy`.
pub(crate) fn param_specs(params: KeyParams, policy: Option<&Policy>) -> &'static [ParamSpec] {
    match (params, policy) {
        (KeyParams::Policy, Some(p)) => p.descriptor.params,
        (KeyParams::Domain, Some(p)) => p.descriptor.domain_params,
        (KeyParams::Vcpu, Some(p)) => p.descriptor.vcpu_params,
        (KeyParams::Group, Some(p)) => p.descriptor.group_params,
        (KeyParams::Changeable, Some(p)) => p.descriptor.changeable,
        _ => &[],
    }
}

/// The parameters that are keys of `table`, a table of `section`, because of controllers.
fn controlled(cx: &mut Cx<'_>, section: &KeySection, table: &Table) -> Vec<&'static [ParamSpec]> {
    match section.params {
        KeyParams::Domain => {
            let known = cx.known.controllers.iter();
            known.map(|e| e.descriptor.domain_params).collect()
        }
        KeyParams::Controller => {
            let name = table.get("name").and_then(|entry| cx.string(&entry.node));
            match name.and_then(|name| cx.parts.controller(&name)) {
                Some(entry) => {
                    let interval = std::slice::from_ref(&entry.descriptor.interval);
                    vec![interval, entry.descriptor.params]
                }
                None => Vec::new(),
            }
        }
        KeyParams::None
        | KeyParams::Policy
        | KeyParams::Vcpu
        | KeyParams::Group
        | KeyParams::Changeable => Vec::new(),
    }
}

/// Checks every key of `table`. Problems go to `cx`; what is good is in the answer.
pub(crate) fn table(
    cx: &mut Cx<'_>,
    table: &Table,
    header: Span,
    section: &'static KeySection,
    path: &str,
    policy: Option<&Policy>,
) -> Fields {
    let variant = section
        .selector
        .and_then(|selector| table.get(selector))
        .and_then(|entry| cx.string(&entry.node))
        .and_then(|word| cx.parts.variant(section, &word));
    let mut fields = Fields {
        path: path.to_owned(),
        header,
        section,
        keys: cx.parts.keys(section).collect(),
        variant,
        found: BTreeMap::new(),
        params: Vec::new(),
        controlled: controlled(cx, section, table),
    };
    for entry in &table.entries {
        fields.entry(cx, entry, policy);
    }
    fields.missing(cx);
    fields
}

/// Whether `node` is a good value of `spec`.
pub(crate) fn allows(
    sources: &[Arc<Source>],
    parts: &Parts,
    spec: &ParamSpec,
    node: &Node,
) -> bool {
    let mut cx = Cx::new(parts, sources, &[]);
    value::key(&mut cx, &Key::of(spec), None, node, "").is_some()
}

/// The fields of a table that is not there: every key has its default.
pub(crate) fn absent(section: &'static KeySection, path: &str, near: Span) -> Fields {
    Fields {
        path: path.to_owned(),
        header: near,
        section,
        keys: section.keys.iter().collect(),
        variant: None,
        found: BTreeMap::new(),
        params: Vec::new(),
        controlled: Vec::new(),
    }
}

/// The table that `fields` have at `slot`, a table of `section`, or an absent one.
pub(crate) fn inner(
    cx: &mut Cx<'_>,
    fields: &Fields,
    slot: &Slot<Nested>,
    section: &'static KeySection,
) -> Fields {
    let path = fields.key_path(slot.name);
    match fields.node(slot).and_then(|n| Some((n, n.as_table()?))) {
        Some((node, table)) => self::table(cx, table, node.span, section, &path, None),
        None => absent(section, &path, fields.header),
    }
}

/// What a written key turned out to be.
enum Match {
    /// A key, with the length of its unit in nanoseconds if it was written with one.
    Key(&'static Key, Option<u64>),
    Param(&'static ParamSpec),
    /// A parameter of the policy and a key of the workload together.
    Both(&'static Key, Option<u64>, &'static ParamSpec),
}

pub(super) fn find_key(
    keys: impl IntoIterator<Item = &'static Key>,
    written: &str,
) -> Option<(&'static Key, Option<u64>)> {
    let (base, unit) = match split_unit(written) {
        Some((base, ns)) => (base, Some(ns)),
        None => (written, None),
    };
    keys.into_iter().find_map(|k| match k.kind {
        KeyKind::Time { .. } => (k.name == base && unit.is_some()).then_some((k, unit)),
        // A unit goes with a constant and no unit with a table; the value's check tells.
        KeyKind::Lengths { .. } => (k.name == base).then_some((k, unit)),
        _ => (k.name == written).then_some((k, None)),
    })
}

pub(super) fn base(written: &str) -> &str {
    split_unit(written).map_or(written, |(base, _)| base)
}

/// The value of `entry`, whose key is `key`; what is wrong with it gets a hint.
fn value_of(
    cx: &mut Cx<'_>,
    key: &Key,
    unit: Option<u64>,
    entry: &Entry,
    path: &str,
) -> Option<Good> {
    let earlier = cx.problems.kept();
    let value = value::key(cx, key, unit, &entry.node, path);
    let parts = cx.parts;
    cx.problems.advise(earlier, || hint::of_key(key, parts));
    value
}

impl Fields {
    pub(super) fn params_kinds(&self) -> impl Iterator<Item = KeyParams> + use<> {
        let variant = self.variant.map_or(KeyParams::None, |v| v.params);
        [self.section.params, variant].into_iter()
    }

    /// Every parameter that is a key here.
    pub(super) fn specs(
        &self,
        policy: Option<&Policy>,
    ) -> impl Iterator<Item = &'static ParamSpec> {
        let of_policy = self.params_kinds().flat_map(|p| param_specs(p, policy));
        let of_controllers = self.controlled.iter().copied().flatten();
        let specs: Vec<_> = of_policy.chain(of_controllers).collect();
        specs.into_iter()
    }

    fn lookup(&self, written: &str, policy: Option<&Policy>) -> Option<Match> {
        if let Some((key, unit)) = find_key(self.keys.iter().copied(), written) {
            return Some(Match::Key(key, unit));
        }
        let specs = || self.specs(policy);
        let own = self.variant.and_then(|v| find_key(v.keys, written));
        match own {
            Some((key, unit)) => match specs().find(|s| base(s.name) == key.name) {
                Some(spec) => Some(Match::Both(key, unit, spec)),
                None => Some(Match::Key(key, unit)),
            },
            None => specs().find(|s| s.name == written).map(Match::Param),
        }
    }

    fn entry(&mut self, cx: &mut Cx<'_>, entry: &Entry, policy: Option<&Policy>) {
        match self.lookup(&entry.key, policy) {
            None => self.unknown(cx, entry, policy),
            Some(Match::Key(key, unit)) => self.key(cx, entry, key, unit),
            Some(Match::Param(spec)) => {
                let path = self.key_path(&entry.key);
                if let Some(Good::Int(value)) = value_of(cx, &Key::of(spec), None, entry, &path) {
                    self.params.push(GivenParam {
                        spec,
                        value,
                        span: entry.node.span,
                    });
                }
            }
            Some(Match::Both(key, unit, _)) if cx.presumed => self.key(cx, entry, key, unit),
            Some(Match::Both(key, unit, spec)) => {
                let policy = policy.map_or("", |p| p.descriptor.name);
                if cx.swapped {
                    cx.notices.push(format!(
                        "{}: `{}` is the task's; the parameter `{}` of {policy} keeps its default",
                        self.path, entry.key, spec.name
                    ));
                    self.key(cx, entry, key, unit);
                } else {
                    let field = Field {
                        value: None,
                        node: entry.node.clone(),
                        key_span: entry.key_span,
                        span: entry.node.span,
                        written: entry.key.clone(),
                    };
                    self.found.insert(key.name, field);
                    cx.push(
                        Mistake::new(
                            Code::Conflict,
                            entry.key_span,
                            format!("`{}` could be the task's or the domain's", entry.key),
                        )
                        .key(self.key_path(&entry.key))
                        .expected("the task's keys in a [[domain.task]]")
                        .hint(format!(
                            "{policy} has a parameter `{}` for domains; write the workload as a \
                             [[domain.task]] of its own",
                            spec.name
                        )),
                    );
                }
            }
        }
    }

    fn key(&mut self, cx: &mut Cx<'_>, entry: &Entry, key: &'static Key, unit: Option<u64>) {
        if let Some(earlier) = self.found.get(key.name) {
            let (first, second) = if earlier.key_span < entry.key_span {
                (
                    (earlier.key_span, earlier.written.as_str()),
                    (entry.key_span, entry.key.as_str()),
                )
            } else {
                (
                    (entry.key_span, entry.key.as_str()),
                    (earlier.key_span, earlier.written.as_str()),
                )
            };
            cx.push(
                Mistake::new(
                    Code::Duplicate,
                    second.0,
                    format!(
                        "`{}` and `{}` are the same time in two units",
                        first.1, second.1
                    ),
                )
                .key(self.key_path(second.1))
                .related(first.0, "first given here")
                .hint("remove one of them"),
            );
            return;
        }
        let path = self.key_path(&entry.key);
        let field = Field {
            value: value_of(cx, key, unit, entry, &path),
            node: entry.node.clone(),
            key_span: entry.key_span,
            span: entry.node.span,
            written: entry.key.clone(),
        };
        self.found.insert(key.name, field);
    }

    fn missing(&self, cx: &mut Cx<'_>) {
        if cx.partial {
            return;
        }
        let own = self.variant.map_or(&[][..], |v| v.keys);
        for key in self.keys.iter().copied().chain(own) {
            if !matches!(key.need, Need::Required) || self.found.contains_key(key.name) {
                continue;
            }
            let written = key.written();
            let (what, hint) = match key.kind {
                KeyKind::Section(s) | KeyKind::OneOrMore(s) => (
                    format!("there is no {} table", s.header),
                    format!("add {}", s.header),
                ),
                KeyKind::Sections(s) => (
                    format!("there is no {}", s.header),
                    format!("add at least one {}", s.header),
                ),
                KeyKind::Word(words) => (
                    format!("`{written}` is missing"),
                    format!("one of: {}", list(words::all(words, cx.parts))),
                ),
                _ => {
                    let hint = hint::of_key(key, cx.parts);
                    (format!("`{written}` is missing"), hint)
                }
            };
            let place = match self.variant {
                Some(v) if own.iter().any(|k| k.name == key.name) => {
                    format!(
                        " ({} {} needs it)",
                        self.section.selector.unwrap_or(""),
                        v.word
                    )
                }
                _ => String::new(),
            };
            cx.push(
                Mistake::new(Code::MissingKey, self.header, format!("{what}{place}"))
                    .key(self.key_path(&written))
                    .expected(format!("`{written}`"))
                    .hint(hint),
            );
        }
    }

    /// Path of `key` in this table.
    pub fn key_path(&self, key: &str) -> String {
        path_in(&self.path, key)
    }

    fn declared(&self, name: &str) -> Option<&'static Key> {
        let own = self.variant.map_or(&[][..], |v| v.keys);
        self.keys
            .iter()
            .copied()
            .chain(own)
            .find(|k| k.name == name)
    }

    /// What the table says, as the structure that declares its keys.
    pub fn read<K: Keys>(&self) -> K {
        K::read(self)
    }

    /// The key that decides about further keys, if it was given, good or bad.
    pub fn selected(&self) -> Option<&Field> {
        self.found.get(self.section.selector?)
    }

    /// The field called `name` if it was given, good or bad.
    pub fn named(&self, name: &str) -> Option<&Field> {
        self.found.get(name)
    }

    /// The field of `slot` if it was given, good or bad.
    pub fn field<T>(&self, slot: &Slot<T>) -> Option<&Field> {
        self.named(slot.name)
    }

    /// The place of the value of `slot`, or of the table when it was not given.
    pub fn span<T>(&self, slot: &Slot<T>) -> Span {
        self.field(slot).map_or(self.header, |f| f.span)
    }

    /// Path of `slot`, without a unit.
    pub fn path_of<T>(&self, slot: &Slot<T>) -> String {
        self.key_path(slot.name)
    }

    /// The value of a key that somebody else checks.
    pub fn node<T>(&self, slot: &Slot<T>) -> Option<&Node> {
        self.node_at(slot.name)
    }

    fn node_at(&self, name: &str) -> Option<&Node> {
        let field = self.named(name)?;
        matches!(field.value, Some(Good::Nested)).then_some(&field.node)
    }

    /// The tables at `slot`, each with its path: one, or those of an array.
    pub fn tables(&self, slot: &Slot<Nested>) -> Vec<(&Node, &Table, String)> {
        self.tables_at(slot.name)
    }

    fn tables_at(&self, name: &str) -> Vec<(&Node, &Table, String)> {
        let path = self.key_path(name);
        let good = self.named(name).filter(|field| field.value.is_some());
        match good.map(|field| (&field.node, &field.node.value)) {
            Some((node, Value::Table(table))) => vec![(node, table, path)],
            Some((_, Value::Array(nodes))) => {
                let listed = nodes.iter().enumerate();
                let tables = listed.filter_map(|(i, node)| {
                    let table = node.as_table()?;
                    Some((node, table, format!("{path}[{i}]")))
                });
                tables.collect()
            }
            _ => Vec::new(),
        }
    }

    /// `defaults` with those of the given parameters in place that it has.
    pub fn values(&self, mut defaults: ParamValues) -> ParamValues {
        for given in &self.params {
            if defaults.by_name(given.spec.name).is_none() {
                // It is somebody else's: no two who share a table have one of the same name.
                continue;
            }
            defaults
                .set(given.spec.name, given.value)
                .expect("checked against its declaration");
        }
        defaults
    }

    /// The given parameter called `name`.
    pub fn param(&self, name: &str) -> Option<&GivenParam> {
        self.params.iter().find(|g| g.spec.name == name)
    }
}

impl Given for Fields {
    fn given(&self, name: &str) -> (bool, Option<Good>) {
        let key = self
            .declared(name)
            .unwrap_or_else(|| panic!("{} declares no key `{name}`", self.section.header));
        match self.found.get(name) {
            Some(field) => (true, field.value.clone()),
            None => (false, default(key)),
        }
    }
}

impl KeyTable for Fields {
    fn path(&self) -> &str {
        &self.path
    }

    fn header(&self) -> Span {
        self.header
    }

    fn word(&self) -> Option<&'static str> {
        self.variant.map(|variant| variant.word)
    }

    fn selected(&self) -> Option<KeyPlace> {
        self.place(self.section.selector?)
    }

    fn place(&self, name: &str) -> Option<KeyPlace> {
        self.named(name).map(|field| KeyPlace {
            key: field.key_span,
            value: field.span,
            path: self.key_path(&field.written),
        })
    }

    fn items(&self, name: &str) -> Vec<(Span, String)> {
        self.named(name)
            .map_or_else(Vec::new, |field| field.node.texts())
    }

    fn entries(&self, name: &str) -> Vec<KeyEntry<'_>> {
        let path = self.key_path(name);
        let table = self.node_at(name).and_then(Node::as_table);
        let entries = table.map_or(&[][..], |table| &table.entries).iter();
        let entry = |entry: &'_ Entry| Named {
            name: entry.key.clone(),
            span: entry.key_span,
            key: path_in(&path, &entry.key),
        };
        entries
            .map(|own| KeyEntry {
                named: entry(own),
                is_table: own.node.as_table().is_some(),
                node: &own.node,
                texts: own.node.texts(),
            })
            .collect()
    }

    fn written(&self, name: &str) -> Option<&str> {
        self.named(name)?.node.as_text()
    }

    fn nodes(&self, name: &str) -> Vec<(&dyn Any, String)> {
        let tables = self.tables_at(name).into_iter();
        let erased = tables.map(|(node, _, path)| (node as &dyn Any, path));
        erased.collect()
    }
}

/// What holds where `key` was not written, as far as it is a value.
fn default(key: &Key) -> Option<Good> {
    match (key.need, key.kind) {
        (Need::Required | Need::Optional(_), _) => None,
        (Need::Int(number), _) => Some(Good::Int(number)),
        (Need::TimeNs(ns), _) => Some(Good::Time(Duration::from_nanos(ns))),
        (Need::Word(word), KeyKind::Bytes { .. }) => amount::bytes(word).map(Good::Count),
        (Need::Word(word), KeyKind::LineRate { .. }) => rate::line_rate(word).ok().map(Good::Count),
        (Need::Word(word), _) => Some(Good::Text(word.to_owned())),
    }
}
