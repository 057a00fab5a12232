//! Compares the declarations of keys with each other, for crates that add parts.
//!
//! What a scenario may say follows from what parts declare. A declaration can be wrong without any
//! scenario that shows it: a default that is beyond its own range, or one name for two keys of one
//! table. [`check_declarations`] looks for such faults in all parts at once.

use crate::amount::split_unit;
use crate::check::{Cx, example_of, value};
use crate::parts::Parts;
use crate::resolve::{DOMAIN, ROOT};
use crate::source::Source;
use crate::value::{self as toml, Node};
use crate::walk;
use domio_core::keys::{Good, Key};
use std::sync::Arc;

/// What [`check_declarations`] has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declarations {
    /// Examples that were checked: one for each key of each table, and one for each parameter of
    /// each policy.
    pub examples: usize,
    /// What is wrong, each once, as sentences without a full stop.
    pub faults: Vec<String>,
}

/// Holds the keys that `parts` declare against each other.
///
/// - The example that the hint for a bad value proposes is a good value of its key. For a parameter
///   of a policy the example is the default.
/// - A parameter that a controller declares for domains has a name that no key of domains, no
///   parameter of a policy for domains and no other controller has: all of them are keys of
///   `[[domain]]`. Units do not tell names apart.
pub fn check_declarations(parts: impl Into<Parts>) -> Declarations {
    let parts = parts.into();
    let mut found = Declarations {
        examples: 0,
        faults: names(&parts),
    };
    let sections = walk::sections(&parts, &ROOT).into_iter();
    for key in sections.flat_map(|section| walk::keys(&parts, section)) {
        // Of a table the hint says where to write it.
        if let Some(example) = example_of(key, &parts) {
            found.check(&parts, key, &example, None);
        }
    }
    for policy in parts.policies() {
        let descriptor = policy.descriptor;
        for spec in descriptor.params.iter().chain(descriptor.domain_params) {
            let key = Key::of(spec);
            if let Some(example) = example_of(&key, &parts) {
                let default = Good::Int(spec.default);
                found.check(&parts, &key, &example, Some(default));
            }
        }
    }
    found
}

impl Declarations {
    /// Checks that `example`, which is `key = value`, is a good value of `key`, and this one if
    /// that is known.
    fn check(&mut self, parts: &Parts, key: &Key, example: &str, expected: Option<Good>) {
        self.examples += 1;
        let source = Arc::new(Source::new("example".to_owned(), example.to_owned(), false));
        let (root, errors) = toml::read(0, example);
        let entries = root.as_table().map_or(&[][..], |table| &table.entries);
        let ([entry], []) = (entries, &errors[..]) else {
            self.tell(format!("the example `{example}` is no key with a value"));
            return;
        };
        let unit = key.has_unit().then(|| split_unit(&entry.key));
        let unit = unit.flatten().map(|(_, unit)| unit);
        let sources = [source];
        let mut cx = Cx::new(parts, &sources, &[]);
        let read = |cx: &mut Cx<'_>, node: &Node| value::key(cx, key, unit, node, key.name);
        let good = read(&mut cx, &entry.node);
        let problem = cx.problems.first();
        if good.is_none() || problem.is_some() {
            let why = problem.map_or("it is refused", |problem| &problem.message);
            self.tell(format!("the example `{example}` is no good value: {why}"));
        } else if expected.is_some() && good != expected {
            self.tell(format!("the example `{example}` is not the default"));
        }
    }

    /// Several tables may have the same key.
    fn tell(&mut self, fault: String) {
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}

/// Names of the parameters that controllers declare for domains, where something else has them.
fn names(parts: &Parts) -> Vec<String> {
    let base = |name: &'static str| split_unit(name).map_or(name, |(base, _)| base);
    let keys = walk::keys(parts, &DOMAIN).map(|key| (key.name, "a key of [[domain]]".to_owned()));
    let policies = parts.policies().iter().map(|policy| policy.descriptor);
    let params = policies.flat_map(|d| d.domain_params.iter().map(|s| (base(s.name), d.name)));
    let params = params.map(|(name, policy)| (name, format!("a parameter of the policy {policy}")));
    let mut taken: Vec<(&str, String)> = keys.chain(params).collect();
    let mut faults = Vec::new();
    for controller in parts.controllers().iter().map(|entry| entry.descriptor) {
        for name in controller.domain_params.iter().map(|spec| base(spec.name)) {
            if let Some((_, what)) = taken.iter().find(|(other, _)| *other == name) {
                faults.push(format!(
                    "the controller {} declares `{name}` for domains, which is {what} already",
                    controller.name
                ));
            }
            let what = format!("a parameter of the controller {}", controller.name);
            taken.push((name, what));
        }
    }
    faults
}
