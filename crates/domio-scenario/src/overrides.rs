//! Overrides: `--set key=value`, `--policy`, `--seed`.
//!
//! An override is one line of TOML, `key = value`, that is put into the document before it is
//! checked again as a whole. So it gets the same validation, and its errors quote it.

use crate::parts::Parts;
use crate::problem::{Problems, ScenarioErrors};
use crate::put::put;
use crate::resolve::{DOMAIN, DefaultNames, MemberKey, ROOT};
use crate::scenario::{Draft, Scenario};
use crate::source::Source;
use crate::suggest::did_you_mean;
use crate::swap::{Filter, called};
use crate::value::{self, Entry, Node, Table, Value};
use domio_contract::Policy;
use domio_core::keys::{Code, KeyKind, KeySection, Mistake, Span, list, quote};
use std::sync::Arc;

impl Scenario {
    /// Changes one key, as `--set` does; see [`Scenario::with`].
    ///
    /// # Errors
    /// Whatever is wrong with the scenario then; it stays as it was.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ScenarioErrors> {
        *self = self.with(&[(key, value)])?;
        Ok(())
    }

    /// The scenario with some keys changed, all together.
    ///
    /// A key is a path: `run.duration_s`, `scheduler.tslice_ms`, `seed`, `domain.NAME.weight`
    /// (the name of a domain, of a group, or of one member of a group),
    /// `domain.NAME.task.TASK.period_ms` (name or index of the task), `action.INDEX.at_ms`,
    /// `controller.NAME.interval_ms`, `pool.NAME.policy`, `group.NAME.weight`; likewise the tables
    /// of devices where there are several, for example `network.NAME.rate` and
    /// `domain.NAME.vif.INDEX.rate`. A value is TOML; a string needs no quotes. A time replaces the
    /// same time in another unit, a workload the old one with its keys.
    ///
    /// Another `scheduler.policy` drops the parameters that it does not have, or whose values it
    /// does not allow, from the file and earlier overrides, with a notice.
    ///
    /// # Errors
    /// Whatever is wrong with the scenario then.
    pub fn with(&self, overrides: &[(&str, &str)]) -> Result<Scenario, ScenarioErrors> {
        let mut draft = self.draft();
        for (key, _) in overrides {
            draft.forget_vary(key);
        }
        self.changed(draft, "--set", overrides)
    }

    /// A copy that can be changed.
    pub(crate) fn draft(&self) -> Draft {
        Draft {
            sources: self.sources.clone(),
            parts: self.parts.clone(),
            root: self.root.clone(),
            members: self.members.clone(),
            swapped: self.swapped,
            dropped: self.dropped.clone(),
        }
    }

    /// `draft`, which was made of this scenario, with the keys `overrides`, which messages call
    /// `source_name`.
    pub(crate) fn changed(
        &self,
        mut draft: Draft,
        source_name: &str,
        overrides: &[(&str, &str)],
    ) -> Result<Scenario, ScenarioErrors> {
        let mut problems = Problems::default();
        let first_new = draft.sources.len() as u32;
        for (key, value) in overrides {
            let source = draft.sources.len() as u32;
            let text = format!("{key} = {}", as_toml(value));
            draft.sources.push(Arc::new(Source::new(
                source_name.to_owned(),
                text.clone(),
                true,
            )));
            let done = assignment(source, key, &text).and_then(|a| draft.assign(a));
            if let Err(problem) = done {
                problems.push(*problem);
            }
        }
        if let Some(errors) = problems.finish(&draft.sources) {
            return Err(errors);
        }
        draft.swap_policy(&self.plan().policy, first_new);
        draft.finish(Problems::default(), Vec::new())
    }
}

/// An override's path, and the entry that belongs at its end.
struct Assignment {
    path: Vec<(String, Span)>,
    entry: Entry,
}

type Refused = Box<Mistake>;

/// `value` as TOML: itself if it is a value, else a string.
fn as_toml(value: &str) -> String {
    let value = value.trim();
    if value::is_value(value) {
        return value.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Reads `text`, which is `key = value`.
fn assignment(source: u32, key: &str, text: &str) -> Result<Assignment, Refused> {
    let bad = || {
        let span = Span::new(source, 0..key.len().max(1));
        Mistake::new(Code::Syntax, span, format!("`{}` is no key", quote(key)))
            .found(quote(key))
            .expected("names joined by dots, as `scheduler.tslice_ms`")
            .hint("`domain.NAME.weight` is a key of one domain or group, `seed` one of no table")
    };
    // Alone, the key says how deep it goes; the value may be a table itself.
    let (alone, errors) = value::read(source, &format!("{key} = 0"));
    let plain = !key.contains(['=', '#', '\n', '\r', '[']);
    let depth = depth(&alone);
    let (root, more) = value::read(source, text);
    if !plain || !errors.is_empty() || !more.is_empty() || depth == 0 {
        return Err(Box::new(bad()));
    }
    let mut path = Vec::new();
    let mut node = root;
    loop {
        let Value::Table(mut table) = node.value else {
            return Err(Box::new(bad()));
        };
        let Some(entry) = table.entries.pop() else {
            return Err(Box::new(bad()));
        };
        if path.len() + 1 == depth {
            return Ok(Assignment { path, entry });
        }
        path.push((entry.key, entry.key_span));
        node = entry.node;
    }
}

/// Number of names in a document that is one dotted key.
fn depth(node: &Node) -> usize {
    match node.as_table().map(|t| &t.entries[..]) {
        Some([entry]) => 1 + depth(&entry.node),
        _ => 0,
    }
}

impl Draft {
    /// Puts an override into the document.
    fn assign(&mut self, assignment: Assignment) -> Result<(), Refused> {
        let Assignment { path, entry } = assignment;
        let parts = &self.parts;
        let Value::Table(root) = &mut self.root.value else {
            return Ok(());
        };
        match path.first().map(|(name, _)| name.as_str()) {
            Some("domain") => {
                let Some((name, span)) = path.get(1) else {
                    return Err(needs_name(&entry));
                };
                match find_domain(root, name, *span)? {
                    Found::Domain(table) => put_below(parts, (table, &DOMAIN), &path[2..], entry)?,
                    Found::Member => {
                        if path.len() > 2 || ["name", "id", "count", "task"].contains(&&*entry.key)
                        {
                            let span = path.get(2).map_or(entry.key_span, |(_, s)| *s);
                            return Err(shared(span, name));
                        }
                        self.members.push(MemberKey {
                            member: name.clone(),
                            entry,
                        });
                    }
                }
            }
            _ => put_below(parts, (root, &ROOT), &path, entry)?,
        }
        Ok(())
    }

    /// If the policy is not `old` any more, takes the parameters out that the new one refuses;
    /// those of overrides from `first_new` on stay, because they were meant for it.
    fn swap_policy(&mut self, old: &Policy, first_new: u32) {
        let name = self
            .root
            .as_table()
            .and_then(|t| t.get("scheduler")?.node.as_table()?.get("policy"))
            .map(|e| e.node.clone());
        let Some(name) = name.as_ref().and_then(Node::as_text) else {
            return;
        };
        let parts = self.parts.clone();
        let Some(new) = parts.policy(name) else {
            return;
        };
        if new.descriptor.name == old.descriptor.name {
            return;
        }
        self.swapped = true;
        let mut filter = Filter {
            sources: &self.sources,
            parts: &parts,
            new,
            first_new,
            notices: &mut self.dropped,
        };
        let Value::Table(root) = &mut self.root.value else {
            return;
        };
        let (was, is) = (old.descriptor, new.descriptor);
        if let Some(table) = root
            .get_mut("scheduler")
            .and_then(|e| as_table_mut(&mut e.node))
        {
            filter.table(table, was.params, is.params, "[scheduler]");
        }
        filter.groups(root, (was.group_params, is.group_params));
        // Pools with a policy of their own keep it, and their domains what it has for them.
        let own: Vec<String> = tables_mut(root, "pool")
            .iter()
            .filter(|pool| pool.get("policy").is_some())
            .map(|pool| text_at(pool, "name").to_owned())
            .collect();
        for table in tables_mut(root, "domain") {
            if own.iter().any(|pool| pool == text_at(table, "pool")) {
                continue;
            }
            let name = text_at(table, "name").to_owned();
            filter.table(
                table,
                was.domain_params,
                is.domain_params,
                &format!("domain {name}"),
            );
            for key in ["vcpu", "thread"] {
                for inner in tables_mut(table, key) {
                    let place = format!("domain {name}, {key} {}", called(inner, key));
                    filter.table(inner, was.vcpu_params, is.vcpu_params, &place);
                }
            }
        }
        for table in tables_mut(root, "kthread") {
            let place = format!("kthread {}", called(table, "kthread"));
            filter.table(table, was.vcpu_params, is.vcpu_params, &place);
        }
        self.members.retain(|m| {
            filter.keep(
                &m.entry,
                was.domain_params,
                is.domain_params,
                &format!("domain {}", m.member),
            )
        });
        for (i, table) in tables_mut(root, "action").into_iter().enumerate() {
            let (was, is) = match is_do(table, "set-policy") {
                true => (was.changeable, is.changeable),
                false => (was.domain_params, is.domain_params),
            };
            filter.table(table, was, is, &format!("action {i}"));
        }
        // An action that has nothing left to set goes as a whole.
        if let Some(Value::Array(items)) = root.get_mut("action").map(|e| &mut e.node.value) {
            items.retain(|i| i.as_table().is_none_or(|t| !is_bare_set(t)));
            if items.is_empty() {
                root.remove("action");
            }
        }
    }
}

/// Puts `entry` into the table that `path` names below `table`, which is a `section`.
fn put_below(
    parts: &Parts,
    (table, section): (&mut Table, &KeySection),
    path: &[(String, Span)],
    entry: Entry,
) -> Result<(), Refused> {
    let Some((key, _)) = path
        .first()
        .filter(|(key, _)| is_list(parts, section, key, table))
    else {
        put(parts, descend(table, path)?, entry);
        return Ok(());
    };
    let Some((name, span)) = path.get(1) else {
        return Err(needs_name(&entry));
    };
    let table = element(table, key, name, *span)?;
    put(parts, descend(table, &path[2..])?, entry);
    Ok(())
}

/// Whether the key `key` of `table`, which is a `section`, has several tables, so that a name or an
/// index chooses one: as the key is declared, or, where one table is possible as well, as the
/// document has it.
fn is_list(parts: &Parts, section: &KeySection, key: &str, table: &mut Table) -> bool {
    let declared = parts.keys(section).find(|declared| declared.name == key);
    match declared.map(|declared| declared.kind) {
        Some(KeyKind::Sections(_)) => true,
        Some(KeyKind::OneOrMore(_)) => !tables_mut(table, key).is_empty(),
        _ => false,
    }
}

/// The text at `key` of `table`, empty where there is none.
pub(crate) fn text_at<'t>(table: &'t Table, key: &str) -> &'t str {
    let text = table.get(key).and_then(|e| e.node.as_text());
    text.unwrap_or("")
}

/// Whether `table` is the action `word`.
fn is_do(table: &Table, word: &str) -> bool {
    table.get("do").and_then(|e| e.node.as_text()) == Some(word)
}

/// Whether `table` is an action that sets parameters, without any.
fn is_bare_set(table: &Table) -> bool {
    let is_set = is_do(table, "set") || is_do(table, "set-policy");
    let known = |key: &str| key == "do" || key == "domain" || key.starts_with("at_");
    is_set && table.entries.iter().all(|e| known(&e.key))
}

fn as_table_mut(node: &mut Node) -> Option<&mut Table> {
    match &mut node.value {
        Value::Table(t) => Some(t),
        _ => None,
    }
}

pub(crate) fn tables_mut<'t>(root: &'t mut Table, key: &str) -> Vec<&'t mut Table> {
    match root.get_mut(key).map(|e| &mut e.node.value) {
        Some(Value::Array(items)) => items.iter_mut().filter_map(as_table_mut).collect(),
        _ => Vec::new(),
    }
}

/// `node`, which is at `key`: where the key takes the name of an elevator or a table, and has a
/// name, the table of that name, so that a tunable can be put into it.
fn named_table<'n>(key: &str, node: &'n mut Node) -> &'n mut Node {
    if key == "elevator" && node.as_text().is_some() {
        let name = Entry {
            key: "name".to_owned(),
            key_span: node.span,
            node: node.clone(),
        };
        node.value = Value::Table(Table {
            entries: vec![name],
        });
    }
    node
}

/// The table at `path` under `table`; missing ones are made.
fn descend<'t>(
    mut table: &'t mut Table,
    path: &[(String, Span)],
) -> Result<&'t mut Table, Refused> {
    for (name, span) in path {
        if table.get(name).is_none() {
            let node = Node {
                value: Value::Table(Table::default()),
                span: *span,
            };
            table.put(Entry {
                key: name.clone(),
                key_span: *span,
                node,
            });
        }
        table = table
            .get_mut(name)
            .and_then(|e| as_table_mut(named_table(&e.key, &mut e.node)))
            .ok_or_else(|| {
                Box::new(
                    Mistake::new(
                        Code::UnknownKey,
                        *span,
                        format!("`{}` has no keys of its own", quote(name)),
                    )
                    .key(quote(name))
                    .found(quote(name))
                    .expected("a table")
                    .hint(format!("end the key with `{}`", quote(name))),
                )
            })?;
    }
    Ok(table)
}

enum Found<'t> {
    /// A domain, or a whole group.
    Domain(&'t mut Table),
    /// One member of a group.
    Member,
}

fn find_domain<'t>(root: &'t mut Table, name: &str, span: Span) -> Result<Found<'t>, Refused> {
    let tables = tables_mut(root, "domain");
    let mut known = Vec::new();
    let mut at = None;
    let mut member = false;
    for (i, table) in tables.iter().enumerate() {
        let Some(own) = table.get("name").and_then(|e| e.node.as_text()) else {
            continue;
        };
        known.push(own.to_owned());
        if own == name {
            at = Some(i);
        }
        let number = name
            .strip_prefix(own)
            .filter(|n| !n.starts_with('0'))
            .and_then(|n| n.parse().ok());
        if let (Some(number), Some(count)) = (number, table.get("count")) {
            member |= matches!(count.node.value, Value::Int(n) if (1..=n).contains(&number));
        }
    }
    if let Some(i) = at {
        let table = tables.into_iter().nth(i).expect("found at this index");
        return Ok(Found::Domain(table));
    }
    if member {
        return Ok(Found::Member);
    }
    Err(unknown("domain", name, span, &known))
}

/// The table called `name`, or with that index, in the array of tables at `key`.
fn element<'t>(
    table: &'t mut Table,
    key: &str,
    name: &str,
    span: Span,
) -> Result<&'t mut Table, Refused> {
    let tables = tables_mut(table, key);
    let names = names(&tables, key);
    let index = names
        .iter()
        .position(|n| n == name)
        .or_else(|| name.parse().ok());
    match index.and_then(|i: usize| tables.into_iter().nth(i)) {
        Some(found) => Ok(found),
        None => Err(unknown(key, name, span, &names)),
    }
}

/// Names of `tables`, which are at `key`; those without go by index, and tasks by their workload.
fn names(tables: &[&mut Table], key: &str) -> Vec<String> {
    let text = |table: &Table, key| Some(table.get(key)?.node.as_text()?.to_owned());
    let given: Vec<_> = tables.iter().map(|table| text(table, "name")).collect();
    let mut names = DefaultNames::default();
    let mut unnamed = |table: &Table, index: usize| {
        let word = text(table, "workload").filter(|_| key == "task");
        match word {
            Some(word) => names.number(&word, |name| given.iter().flatten().any(|g| g == name)),
            None => index.to_string(),
        }
    };
    let all = given.iter().zip(tables).enumerate();
    all.map(|(i, (name, table))| match name {
        Some(name) => name.clone(),
        None => unnamed(table, i),
    })
    .collect()
}

fn unknown(what: &str, name: &str, span: Span, known: &[String]) -> Refused {
    let words = || known.iter().map(String::as_str);
    Box::new(
        Mistake::new(
            Code::UnknownName,
            span,
            format!("there is no {what} `{}`", quote(name)),
        )
        .found(quote(name))
        .expected(format!("one of: {}", list(words())))
        .hint_or(
            did_you_mean(name, words()),
            match known {
                [] => "only what the file has can be changed: add it there",
                _ => "members of a group are its name with a number; others go by index, from 0",
            },
        ),
    )
}

fn needs_name(entry: &Entry) -> Refused {
    Box::new(
        Mistake::new(
            Code::MissingKey,
            entry.key_span,
            format!("which one is `{}` of?", quote(&entry.key)),
        )
        .found(quote(&entry.key))
        .expected("a name or index before the key, as `domain.g1.weight` or `action.0.at_ms`")
        .hint("a group is called by its own name, one of its members by that and a number"),
    )
}

fn shared(span: Span, member: &str) -> Refused {
    Box::new(
        Mistake::new(
            Code::Conflict,
            span,
            format!("`{}` shares this with its group", quote(member)),
        )
        .found(quote(member))
        .expected("a parameter, an affinity, a time or a workload of the member alone")
        .hint("set it for the whole group, by the group's name"),
    )
}
