//! The JSON Schema of scenarios, made from the same tables that check them.
//!
//! It says of a document all that does not take two tables to see: keys, types, ranges, words,
//! which keys a workload, an action or a policy has. What it lets through and
//! [`crate::Scenario::parse`] refuses: pins to pcpus that the host has not, names that are given
//! twice, caps above the vcpus, actions that are impossible at their time, times in two units, a
//! network without a driver domain or against the release, vcpus for network workloads, networks
//! that nobody named, a disk that is missing or too small, parameters for controllers that are not
//! there.

use crate::amount::{MAX_TIME, UNITS};
use crate::check::param_specs;
use crate::check::words::{self, NAME_PATTERN};
use crate::parts::Parts;
use crate::resolve::{ACTION, DOMAIN, GROUP, POOL, ROOT, SCHEDULER, VCPU};
use crate::walk;
use domio_contract::Policy;
use domio_core::cpuset::MAX_PCPUS;
use domio_core::keys::{Key, KeyKind, KeyParams, KeySection, Need};
use domio_core::{ParamKind, ParamSpec};
use serde_json::{Map, Value as Json, json};

/// Sets of pcpus in the notation of `xl`, as a pattern: terms joined by commas.
const PCPUS_PATTERN: &str = r"^\s*\^?(all|\d+\s*(-\s*\d+)?)\s*(,\s*\^?(all|\d+\s*(-\s*\d+)?)\s*)*$";

/// Rates of lines as texts.
const LINE_RATE_PATTERN: &str = r"^[0-9]+[KMG]?(b(it)?/s)?$";

/// Numbers of bytes as texts.
const BYTES_PATTERN: &str = r"^[0-9]+[KMGT]?$";

/// The JSON Schema (draft 2020-12) of scenarios that can ask for `parts`.
///
/// Where a policy decides about keys (`[scheduler]`, `[[domain]]`, actions that set), the schema
/// branches on its name.
pub fn schema(parts: impl Into<Parts>) -> Json {
    let parts = &parts.into();
    let policies = parts.policies();
    let mut definitions = Map::new();
    let by_policy = |s: &&KeySection| asks_policy(parts, s) || s.header == ROOT.header;
    for section in walk::sections(parts, &ROOT) {
        if !by_policy(&section) {
            definitions.insert(name_of(section), table(section, parts, None));
        }
    }
    for policy in policies {
        for section in [&SCHEDULER, &POOL, &GROUP, &DOMAIN, &VCPU, &ACTION] {
            let name = format!("{}-{}", name_of(section), policy.descriptor.name);
            definitions.insert(name, table(section, parts, Some(policy)));
        }
    }
    let mut root = table(&ROOT, parts, None);
    let branches: Vec<Json> = policies.iter().map(|p| branch(p, policies)).collect();
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("domio scenario");
    root["allOf"] = json!(branches);
    root["$defs"] = Json::Object(definitions);
    root
}

/// Whether the policy decides about keys of `section`.
fn asks_policy(parts: &Parts, section: &KeySection) -> bool {
    let asks = |params| {
        matches!(
            params,
            KeyParams::Policy
                | KeyParams::Domain
                | KeyParams::Vcpu
                | KeyParams::Group
                | KeyParams::Changeable
        )
    };
    asks(section.params) || parts.variants(section).iter().any(|v| asks(v.params))
}

/// `section`, whose keys depend on the policy, under `policy`.
fn of_policy(section: &KeySection, policy: &Policy) -> Json {
    let name = policy.descriptor.name;
    json!({ "$ref": format!("#/$defs/{}-{name}", name_of(section)) })
}

/// What follows when the scenario asks for `policy`. Which policy a pool has takes another table to
/// see: any of them.
fn branch(policy: &Policy, policies: &[Policy]) -> Json {
    let any = |section: &KeySection| {
        let each = policies.iter().map(|p| of_policy(section, p));
        json!({ "anyOf": each.collect::<Vec<_>>() })
    };
    let elsewhere = json!({
        "properties": { "pool": { "not": { "const": "Pool-0" } } },
        "required": ["pool"],
    });
    let name = policy.descriptor.name;
    let of = |section: &KeySection| of_policy(section, policy);
    let asks = json!({ "properties": { "policy": { "const": name } }, "required": ["policy"] });
    json!({
        "if": { "properties": { "scheduler": asks }, "required": ["scheduler"] },
        "then": { "properties": {
            "scheduler": of(&SCHEDULER),
            "pool": { "items": any(&POOL) },
            "group": { "items": of(&GROUP) },
            "domain": { "items": {
                "if": elsewhere,
                "then": any(&DOMAIN),
                "else": of(&DOMAIN),
            } },
            "action": { "items": of(&ACTION) },
        } },
    })
}

/// Name of a section among the definitions.
fn name_of(section: &KeySection) -> String {
    let word = section.header.split(['=', '(']).next().unwrap_or("").trim();
    if word == "[[disk]]" {
        return "host-disk".to_owned();
    }
    if word.starts_with("[host.") || word.starts_with("[network.") {
        return word.trim_matches(['[', ']']).replace('.', "-");
    }
    let word = word
        .trim_matches(['[', ']'])
        .rsplit('.')
        .next()
        .unwrap_or("");
    match word {
        // The header shows one key of several that hold such a table.
        "burst" => "lengths".to_owned(),
        word => word.to_owned(),
    }
}

fn table(section: &KeySection, parts: &Parts, policy: Option<&Policy>) -> Json {
    let mut all_of = Vec::new();
    let mut properties = Map::new();
    let mut required = Vec::new();
    let all: Vec<Key> = parts.keys(section).copied().collect();
    keys_into(&all, parts, &mut properties, &mut required, &mut all_of);
    let specs = param_specs(section.params, policy);
    params_into(parts, specs, &mut properties);
    if let (KeyParams::Domain, Some(policy)) = (section.params, policy) {
        properties["vcpu"]["items"] = of_policy(&VCPU, policy);
    }
    if section.params == KeyParams::Domain {
        // Which controllers there are takes another table to see.
        for controller in parts.controllers() {
            params_into(parts, controller.descriptor.domain_params, &mut properties);
        }
    }
    if section.params == KeyParams::Controller {
        all_of.extend(parts.controllers().iter().map(|c| of_controller(parts, c)));
    }
    for variant in parts.variants(section) {
        let selector = section.selector.unwrap_or("");
        let (mut own, mut needed, mut then) = (Map::new(), vec![json!(selector)], Vec::new());
        keys_into(variant.keys, parts, &mut own, &mut needed, &mut then);
        // In a domain, a parameter of the policy has its name for itself.
        own.retain(|name, _| !clashes(name, specs));
        params_into(parts, param_specs(variant.params, policy), &mut own);
        let mut consequence = json!({ "properties": own, "required": needed });
        if !then.is_empty() {
            consequence["allOf"] = json!(then);
        }
        if variant.params != KeyParams::None {
            consequence["minProperties"] = json!(needed.len() + 2);
        }
        all_of.push(json!({
            "if": { "properties": { selector: { "const": variant.word } }, "required": [selector] },
            "then": consequence,
        }));
    }
    let mut out = json!({
        "type": "object",
        "description": section.doc,
        "properties": properties,
        "unevaluatedProperties": false,
    });
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    if !all_of.is_empty() {
        out["allOf"] = json!(all_of);
    }
    out
}

/// What follows when a table names `controller`.
fn of_controller(parts: &Parts, controller: &'static domio_contract::control::Entry) -> Json {
    let descriptor = controller.descriptor;
    let mut own = Map::new();
    params_into(parts, std::slice::from_ref(&descriptor.interval), &mut own);
    params_into(parts, descriptor.params, &mut own);
    json!({
        "if": { "properties": { "name": { "const": descriptor.name } }, "required": ["name"] },
        "then": { "properties": own },
    })
}

/// Whether a workload's key is the name of a parameter, whatever its unit.
fn clashes(key: &str, specs: &[ParamSpec]) -> bool {
    let base = |name: &str| {
        crate::amount::split_unit(name)
            .map_or(name, |(b, _)| b)
            .to_owned()
    };
    specs.iter().any(|s| base(s.name) == base(key))
}

fn keys_into(
    keys: &[Key],
    parts: &Parts,
    properties: &mut Map<String, Json>,
    required: &mut Vec<Json>,
    all_of: &mut Vec<Json>,
) {
    for key in keys {
        let names = names(key);
        for (name, mut value) in names.iter().map(|(n, unit)| (n, value(key, *unit, parts))) {
            value["description"] = json!(key.doc);
            match key.need {
                Need::Int(i) => value["default"] = default(&key.kind, i),
                Need::Word(word) => value["default"] = json!(word),
                Need::TimeNs(0) => value["default"] = json!(0),
                Need::TimeNs(_) | Need::Optional(_) | Need::Required => {}
            }
            properties.insert(name.clone(), value);
        }
        if matches!(key.need, Need::Required) {
            match &names[..] {
                [(only, _)] => required.push(json!(only)),
                _ => {
                    let one = names.iter().map(|(n, _)| json!({ "required": [n] }));
                    all_of.push(json!({ "oneOf": one.collect::<Vec<_>>() }));
                }
            }
        }
    }
}

/// The names under which a key can be written, each with the length of its unit.
fn names(key: &Key) -> Vec<(String, Option<u64>)> {
    let timed = UNITS
        .iter()
        .map(|(unit, ns)| (format!("{}_{unit}", key.name), Some(*ns)));
    match key.kind {
        KeyKind::Time { .. } => timed.collect(),
        KeyKind::Lengths { .. } => timed.chain([(key.name.to_owned(), None)]).collect(),
        _ => vec![(key.name.to_owned(), None)],
    }
}

fn value(key: &Key, unit: Option<u64>, parts: &Parts) -> Json {
    match key.kind {
        KeyKind::Text => json!({ "type": "string" }),
        KeyKind::Name | KeyKind::DomainName => json!({ "type": "string", "pattern": NAME_PATTERN }),
        KeyKind::Number(kind) => number(kind),
        KeyKind::Time { min_ns, .. } => time(unit.unwrap_or(1), min_ns),
        KeyKind::Lengths { min_ns, .. } => match unit {
            Some(unit) => time(unit, min_ns),
            None => json!({ "$ref": "#/$defs/lengths" }),
        },
        KeyKind::Word(words) => json!({ "enum": words::all(words, parts) }),
        KeyKind::Pcpus => json!({ "oneOf": pcpus() }),
        KeyKind::VcpuPins => {
            let each = json!({ "type": "string", "pattern": PCPUS_PATTERN });
            let [numbers, text] = pcpus();
            let each = json!({ "type": "array", "items": each, "minItems": 1 });
            json!({ "oneOf": [numbers, text, each] })
        }
        KeyKind::Vcpu => {
            let max = crate::MAX_VCPUS - 1;
            let index = json!({ "type": "integer", "minimum": 0, "maximum": max });
            json!({ "oneOf": [index, { "const": "all" }] })
        }
        KeyKind::LineRate { min, max } => json!({ "oneOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "type": "string", "pattern": LINE_RATE_PATTERN },
        ] }),
        KeyKind::Form(form) => json!({ "type": "string", "pattern": form.pattern }),
        KeyKind::Bytes { min, max } => json!({ "oneOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "type": "string", "pattern": BYTES_PATTERN },
        ] }),
        KeyKind::WordOrTable(words, section) => json!({ "oneOf": [
            { "enum": words::all(words, parts) },
            { "$ref": format!("#/$defs/{}", name_of(section)) },
        ] }),
        // The policy decides about the other keys: see `branch`.
        KeyKind::Section(section) if section.params != KeyParams::None => {
            let (mut properties, mut required) = (Map::new(), Vec::new());
            keys_into(
                section.keys,
                parts,
                &mut properties,
                &mut required,
                &mut Vec::new(),
            );
            json!({ "type": "object", "properties": properties, "required": required })
        }
        KeyKind::Texts => {
            let one = json!({ "type": "string" });
            json!({ "oneOf": [one, { "type": "array", "minItems": 1, "items": one }] })
        }
        KeyKind::Figure => json!({ "type": ["number", "string"] }),
        KeyKind::Figures => {
            json!({ "type": "array", "items": { "type": ["number", "string"] } })
        }
        KeyKind::TextsOrTables(section) => {
            let one = json!({ "$ref": format!("#/$defs/{}", name_of(section)) });
            let items = json!({ "anyOf": [{ "type": "string" }, one] });
            json!({ "oneOf": [{ "type": "string" }, { "type": "array", "items": items }] })
        }
        KeyKind::ByName(inner) => {
            json!({ "type": "object", "additionalProperties": value(inner, unit, parts) })
        }
        KeyKind::Any => json!({}),
        KeyKind::AnyTable => json!({ "type": "object" }),
        KeyKind::Section(section) => json!({ "$ref": format!("#/$defs/{}", name_of(section)) }),
        KeyKind::OneOrMore(section) => {
            let one = json!({ "$ref": format!("#/$defs/{}", name_of(section)) });
            json!({ "oneOf": [one, { "type": "array", "minItems": 1, "items": one }] })
        }
        KeyKind::Sections(section) => {
            let items = if asks_policy(parts, section) {
                json!({ "type": "object" })
            } else {
                json!({ "$ref": format!("#/$defs/{}", name_of(section)) })
            };
            json!({ "type": "array", "minItems": 1, "items": items })
        }
    }
}

fn time(unit_ns: u64, min_ns: u64) -> Json {
    let max = MAX_TIME.as_nanos() / unit_ns;
    match min_ns {
        0 => json!({ "type": "number", "minimum": 0, "maximum": max }),
        // A nanosecond, in whatever unit: what is shorter rounds to nothing.
        _ => {
            let min = min_ns as f64 / unit_ns as f64;
            json!({ "type": "number", "minimum": min, "maximum": max })
        }
    }
}

/// A set of pcpus as a list of numbers, and as a text.
fn pcpus() -> [Json; 2] {
    let pcpu = json!({ "type": "integer", "minimum": 0, "maximum": MAX_PCPUS - 1 });
    [
        json!({ "type": "array", "items": pcpu, "minItems": 1 }),
        json!({ "type": "string", "pattern": PCPUS_PATTERN }),
    ]
}

/// What is stored as a whole number.
fn number(kind: ParamKind) -> Json {
    match kind {
        ParamKind::Int { min, max, or_zero } => {
            let least = if or_zero { min.max(1) } else { min };
            let number = json!({ "type": "integer", "minimum": least, "maximum": max });
            match or_zero {
                true => json!({ "oneOf": [{ "const": 0 }, number] }),
                false => number,
            }
        }
        ParamKind::Flag => json!({ "type": "boolean" }),
        ParamKind::Choice(choices) => json!({ "enum": choices }),
    }
}

/// The number `default` as a value of a key.
fn default(kind: &KeyKind, default: i64) -> Json {
    match kind {
        KeyKind::Number(ParamKind::Flag) => json!(default != 0),
        KeyKind::Number(ParamKind::Choice(choices)) => json!(choices[default as usize]),
        _ => json!(default),
    }
}

/// The keys of declared parameters.
fn params_into(parts: &Parts, specs: &[ParamSpec], properties: &mut Map<String, Json>) {
    let keys: Vec<Key> = specs.iter().map(Key::of).collect();
    // A parameter is never required, so that nothing but properties comes of it.
    keys_into(&keys, parts, properties, &mut Vec::new(), &mut Vec::new());
}
