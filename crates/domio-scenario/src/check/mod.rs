//! Checks one table of the document against its declared keys.

mod hint;
mod lengths;
pub(crate) mod meant;
mod unknown;
mod value;

use crate::amount::split_unit;
pub(crate) use crate::keys::Section;
use crate::keys::{Key, Kind, Need, Params, Variant};
use crate::problem::{Code, Problem, Problems, list, quote};
use crate::source::{Source, Span};
use crate::value::{Entry, Node, Table, Value};
use domio_core::{CpuSet, Duration, ParamSpec, ParamValues};
use domio_net::host::VifRate;
use domio_sched::Policy;
use domio_vmm::config::Distribution;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What checking needs to know, and what it finds out.
pub(crate) struct Cx<'a> {
    pub policies: &'a [Policy],
    pub sources: &'a [Arc<Source>],
    pub problems: Problems,
    /// Things that the user may want to know but that are no errors.
    pub notices: Vec<String>,
    /// Whether the text has syntax errors: what seems to be missing may be in a part that could
    /// not be read.
    pub partial: bool,
    /// Whether the policy is not the file's own but was asked for by an override.
    pub swapped: bool,
    /// What the scenario has besides domains.
    pub known: Known,
    /// Whether the file names no policy that exists and one was presumed: it has an error, and what
    /// is wrong for the presumed policy only is none.
    pub presumed: bool,
}

/// What a scenario has besides domains, as far as keys and names of domains depend on it.
#[derive(Default)]
pub(crate) struct Known {
    /// The controllers, in the order of the text.
    pub controllers: Vec<&'static domio_control::Entry>,
    /// Whether it names a controller that does not exist.
    pub strange_controller: bool,
    /// Names of the networks; a host without any has the default one, which has none.
    pub networks: Vec<Option<String>>,
}

/// A value that was found to be good.
#[derive(Clone, Debug)]
pub(crate) enum Checked<'t> {
    Text(String),
    Int(i64),
    Time(Duration),
    Lengths(Distribution),
    Bytes(u64),
    Pcpus(CpuSet),
    /// Index of a vcpu, `None` for all.
    Vcpu(Option<u16>),
    /// Bits a second.
    LineRate(u64),
    VifRate(VifRate),
    /// A table, one or more tables or a guest: checked by whoever understands it.
    Node(&'t Node),
}

/// A key that was given.
pub(crate) struct Field<'t> {
    /// Its value, unless a problem was reported.
    pub value: Option<Checked<'t>>,
    pub key_span: Span,
    pub span: Span,
    /// As it was written, with its unit.
    pub written: &'t str,
}

/// A declared parameter that was given a value in its range.
pub(crate) struct Given {
    pub spec: &'static ParamSpec,
    pub value: i64,
    pub span: Span,
}

/// What a table holds.
pub(crate) struct Fields<'t> {
    /// Path of the table, for messages.
    pub path: String,
    /// Where the table starts.
    pub header: Span,
    section: &'static Section,
    pub variant: Option<&'static Variant>,
    found: BTreeMap<&'static str, Field<'t>>,
    pub params: Vec<Given>,
    /// Parameters that are keys here because of controllers.
    controlled: Vec<&'static [ParamSpec]>,
}

impl Cx<'_> {
    pub fn push(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// The source text of `span`.
    pub fn text(&self, span: Span) -> &str {
        self.sources
            .get(span.source as usize)
            .map_or("", |s| s.slice(span))
    }

    /// The value of `node` as a string. On the command line strings need no quotes, so `4.17` is
    /// one there if a string is wanted.
    fn string(&self, node: &Node) -> Option<String> {
        match &node.value {
            Value::Text(s) => Some(s.clone()),
            Value::Array(_) | Value::Table(_) => None,
            _ => {
                let source = self.sources.get(node.span.source as usize)?;
                source
                    .is_override
                    .then(|| source.slice(node.span).to_owned())
            }
        }
    }
}

/// The parameters that are keys under `params`, for `policy`.
pub(crate) fn param_specs(params: Params, policy: Option<&Policy>) -> &'static [ParamSpec] {
    match (params, policy) {
        (Params::Policy, Some(p)) => p.descriptor.params,
        (Params::Domain, Some(p)) => p.descriptor.domain_params,
        (Params::Vcpu, Some(p)) => p.descriptor.vcpu_params,
        (Params::Changeable, Some(p)) => p.descriptor.changeable,
        _ => &[],
    }
}

/// The parameters that are keys of `table`, a table of `section`, because of controllers.
fn controlled(cx: &mut Cx<'_>, section: &Section, table: &Table) -> Vec<&'static [ParamSpec]> {
    match section.params {
        Params::Domain => {
            let known = cx.known.controllers.iter();
            known.map(|e| e.descriptor.domain_params).collect()
        }
        Params::Controller => {
            let name = table.get("name").and_then(|entry| cx.string(&entry.node));
            match name.and_then(|name| domio_control::find(&name)) {
                Some(entry) => {
                    let interval = std::slice::from_ref(&entry.descriptor.interval);
                    vec![interval, entry.descriptor.params]
                }
                None => Vec::new(),
            }
        }
        Params::None | Params::Policy | Params::Vcpu | Params::Changeable => Vec::new(),
    }
}

/// Checks every key of `table`. Problems go to `cx`; what is good is in the answer.
pub(crate) fn table<'t>(
    cx: &mut Cx<'_>,
    table: &'t Table,
    header: Span,
    section: &'static Section,
    path: &str,
    policy: Option<&Policy>,
) -> Fields<'t> {
    let variant = section
        .selector
        .and_then(|selector| table.get(selector))
        .and_then(|entry| cx.string(&entry.node))
        .and_then(|word| section.variant(&word));
    let mut fields = Fields {
        path: path.to_owned(),
        header,
        section,
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
    policies: &[Policy],
    spec: &'static ParamSpec,
    node: &Node,
) -> bool {
    let mut cx = Cx {
        policies,
        sources,
        problems: Problems::default(),
        notices: Vec::new(),
        partial: false,
        swapped: false,
        known: Known::default(),
        presumed: false,
    };
    value::param(&mut cx, spec, node, "").is_some()
}

/// The fields of a table that is not there: every key has its default.
pub(crate) fn absent<'t>(section: &'static Section, path: &str, near: Span) -> Fields<'t> {
    Fields {
        path: path.to_owned(),
        header: near,
        section,
        variant: None,
        found: BTreeMap::new(),
        params: Vec::new(),
        controlled: Vec::new(),
    }
}

/// The table at `key` of `fields`, a table of `section`, or an absent one.
pub(crate) fn inner<'t>(
    cx: &mut Cx<'_>,
    fields: &Fields<'t>,
    key: &str,
    section: &'static Section,
) -> Fields<'t> {
    let path = fields.key_path(key);
    match fields.node(key).and_then(|n| Some((n, n.as_table()?))) {
        Some((node, table)) => self::table(cx, table, node.span, section, &path, None),
        None => absent(section, &path, fields.header),
    }
}

/// What a written key turned out to be.
enum Match {
    /// A key, with the length of its unit in nanoseconds if it was written with one.
    Key(&'static Key, Option<u64>),
    Param(&'static ParamSpec),
    /// A parameter of the policy and a key of the workload at once.
    Both(&'static Key, Option<u64>, &'static ParamSpec),
}

fn find_key(keys: &'static [Key], written: &str) -> Option<(&'static Key, Option<u64>)> {
    let (base, unit) = match split_unit(written) {
        Some((base, ns)) => (base, Some(ns)),
        None => (written, None),
    };
    keys.iter().find_map(|k| match k.kind {
        Kind::Time { .. } => (k.name == base && unit.is_some()).then_some((k, unit)),
        // A unit goes with a constant and no unit with a table; the value's check tells.
        Kind::Lengths { .. } => (k.name == base).then_some((k, unit)),
        _ => (k.name == written).then_some((k, None)),
    })
}

fn base(written: &str) -> &str {
    split_unit(written).map_or(written, |(base, _)| base)
}

impl<'t> Fields<'t> {
    fn params_kinds(&self) -> impl Iterator<Item = Params> + use<> {
        let variant = self.variant.map_or(Params::None, |v| v.params);
        [self.section.params, variant].into_iter()
    }

    /// Every parameter that is a key here.
    fn specs(&self, policy: Option<&Policy>) -> impl Iterator<Item = &'static ParamSpec> {
        let of_policy = self.params_kinds().flat_map(|p| param_specs(p, policy));
        let of_controllers = self.controlled.iter().copied().flatten();
        let specs: Vec<_> = of_policy.chain(of_controllers).collect();
        specs.into_iter()
    }

    fn lookup(&self, written: &str, policy: Option<&Policy>) -> Option<Match> {
        if let Some((key, unit)) = find_key(self.section.keys, written) {
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

    fn entry(&mut self, cx: &mut Cx<'_>, entry: &'t Entry, policy: Option<&Policy>) {
        match self.lookup(&entry.key, policy) {
            None => self.unknown(cx, entry, policy),
            Some(Match::Key(key, unit)) => self.key(cx, entry, key, unit),
            Some(Match::Param(spec)) => {
                let earlier = cx.problems.kept();
                let value = value::param(cx, spec, &entry.node, &self.key_path(&entry.key));
                cx.problems.advise(earlier, || hint::of_param(spec));
                if let Some(value) = value {
                    self.params.push(Given {
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
                        key_span: entry.key_span,
                        span: entry.node.span,
                        written: &entry.key,
                    };
                    self.found.insert(key.name, field);
                    cx.push(
                        Problem::new(
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

    fn key(&mut self, cx: &mut Cx<'_>, entry: &'t Entry, key: &'static Key, unit: Option<u64>) {
        if let Some(earlier) = self.found.get(key.name) {
            let (first, second) = if earlier.key_span < entry.key_span {
                (
                    (earlier.key_span, earlier.written),
                    (entry.key_span, entry.key.as_str()),
                )
            } else {
                (
                    (entry.key_span, entry.key.as_str()),
                    (earlier.key_span, earlier.written),
                )
            };
            cx.push(
                Problem::new(
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
        let earlier = cx.problems.kept();
        let value = value::key(cx, key, unit, &entry.node, &path);
        let policies = cx.policies;
        cx.problems.advise(earlier, || hint::of_key(key, policies));
        let field = Field {
            value,
            key_span: entry.key_span,
            span: entry.node.span,
            written: &entry.key,
        };
        self.found.insert(key.name, field);
    }

    fn missing(&self, cx: &mut Cx<'_>) {
        if cx.partial {
            return;
        }
        let own = self.variant.map_or(&[][..], |v| v.keys);
        for key in self.section.keys.iter().chain(own) {
            if !matches!(key.need, Need::Required) || self.found.contains_key(key.name) {
                continue;
            }
            let written = key.written();
            let (what, hint) = match key.kind {
                Kind::Section(s) | Kind::OneOrMore(s) => (
                    format!("there is no {} table", s.header),
                    format!("add {}", s.header),
                ),
                Kind::Sections(s) => (
                    format!("there is no {}", s.header),
                    format!("add at least one {}", s.header),
                ),
                Kind::Word(words) => (
                    format!("`{written}` is missing"),
                    format!("one of: {}", list(words.all(cx.policies))),
                ),
                _ => {
                    let hint = hint::of_key(key, cx.policies);
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
                Problem::new(Code::MissingKey, self.header, format!("{what}{place}"))
                    .key(self.key_path(&written))
                    .expected(format!("`{written}`"))
                    .hint(hint),
            );
        }
    }

    /// Path of `key` in this table.
    pub fn key_path(&self, key: &str) -> String {
        if self.path.is_empty() {
            quote(key)
        } else {
            format!("{}.{}", self.path, quote(key))
        }
    }

    fn declared(&self, name: &str) -> Option<&'static Key> {
        let own = self.variant.map_or(&[][..], |v| v.keys);
        self.section.keys.iter().chain(own).find(|k| k.name == name)
    }

    /// The field called `name` if it was given, good or bad.
    pub fn field(&self, name: &str) -> Option<&Field<'t>> {
        self.found.get(name)
    }

    fn value(&self, name: &str) -> Option<&Checked<'t>> {
        self.found.get(name)?.value.as_ref()
    }

    /// The place of `name`'s value, or of the table when it was not given.
    pub fn span(&self, name: &str) -> Span {
        self.field(name).map_or(self.header, |f| f.span)
    }

    /// A string; the default when it was not given and there is one, `None` when it was bad.
    pub fn text(&self, name: &str) -> Option<String> {
        match (self.field(name), self.declared(name)?.need) {
            (None, Need::Word(word)) => Some(word.to_owned()),
            _ => match self.value(name)? {
                Checked::Text(s) => Some(s.clone()),
                _ => None,
            },
        }
    }

    /// A whole number, likewise.
    pub fn int(&self, name: &str) -> Option<i64> {
        match (self.field(name), self.declared(name)?.need) {
            (None, Need::Int(i)) => Some(i),
            _ => match self.value(name)? {
                Checked::Int(i) => Some(*i),
                _ => None,
            },
        }
    }

    /// A time, likewise.
    pub fn time(&self, name: &str) -> Option<Duration> {
        match (self.field(name), self.declared(name)?.need) {
            (None, Need::TimeNs(ns)) => Some(Duration::from_nanos(ns)),
            _ => match self.value(name)? {
                Checked::Time(d) => Some(*d),
                _ => None,
            },
        }
    }

    /// A distribution of times, `None` when it is missing or bad.
    pub fn lengths(&self, name: &str) -> Option<Distribution> {
        match self.value(name)? {
            Checked::Lengths(d) => Some(*d),
            _ => None,
        }
    }

    /// A number of bytes; the default when it was not given and there is one, `None` when it was
    /// bad.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        match (self.field(name), self.declared(name)?.need) {
            (None, Need::Word(word)) => crate::amount::bytes(word),
            _ => match self.value(name)? {
                Checked::Bytes(bytes) => Some(*bytes),
                _ => None,
            },
        }
    }

    /// A set of pcpus, likewise.
    pub fn pcpus(&self, name: &str) -> Option<CpuSet> {
        match self.value(name)? {
            Checked::Pcpus(set) => Some(*set),
            _ => None,
        }
    }

    /// A vcpu: `Some(None)` for all, `None` when it is missing or bad.
    pub fn vcpu(&self, name: &str) -> Option<Option<u16>> {
        match self.value(name)? {
            Checked::Vcpu(v) => Some(*v),
            _ => None,
        }
    }

    /// The rate of a line in bit/s; the default when it was not given, `None` when it was bad.
    pub fn line_rate(&self, name: &str) -> Option<u64> {
        match (self.field(name), self.declared(name)?.need) {
            (None, Need::Word(word)) => crate::rate::line_rate(word).ok(),
            _ => match self.value(name)? {
                Checked::LineRate(bps) => Some(*bps),
                _ => None,
            },
        }
    }

    /// The limit of a vif, `None` when it is missing or bad.
    pub fn vif_rate(&self, name: &str) -> Option<VifRate> {
        match self.value(name)? {
            Checked::VifRate(rate) => Some(*rate),
            _ => None,
        }
    }

    /// The value of a key that somebody else checks.
    pub fn node(&self, name: &str) -> Option<&'t Node> {
        match self.value(name)? {
            Checked::Node(node) => Some(node),
            _ => None,
        }
    }

    /// The tables at `name`, each with its path: one, or those of an array.
    pub fn tables(&self, name: &str) -> Vec<(&'t Node, &'t Table, String)> {
        let path = self.key_path(name);
        match self.node(name).map(|node| (node, &node.value)) {
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
    pub fn param(&self, name: &str) -> Option<&Given> {
        self.params.iter().find(|g| g.spec.name == name)
    }
}
