//! The reference page of scenarios, made from the same tables that check them.

use crate::amount::{MAX_TIME, int_range};
use crate::check::words::{self as word, NAME_RULE, time_range};
use crate::limits::{MAX_ACTIONS, MAX_BYTES, MAX_TASKS, MAX_VCPUS};
use crate::parts::Parts;
use crate::problem::MAX_SHOWN;
use crate::resolve::guest::{GUEST, GUESTS};
use crate::resolve::{CONTROLLER, DOMAIN, HOST, ROOT, SCHEDULER};
use crate::walk;
use crate::workloads::of;
use domio_core::keys::{Key, KeyKind, KeySection, Need, Words};
use domio_core::{Duration, ParamKind, ParamSpec};
use domio_net::keys::NETWORK;
use domio_vmm::hardware::HARDWARE;
use std::fmt::Write as _;

const START: &str = include_str!("reference_start.md");

/// The reference of every key in Markdown, for scenarios that can ask for `parts`; `examples`
/// are names of scenarios with their texts.
pub fn reference(parts: impl Into<Parts>, examples: &[(&str, &str)]) -> String {
    let parts = &parts.into();
    let mut out = START.to_owned();
    let page = &mut out;
    for section in walk::sections(parts, &ROOT) {
        self::section(page, section, parts);
        if section.header == HOST.header {
            names(
                page,
                "Hardware profiles",
                HARDWARE.iter().map(|m| (m.profile.name, m.profile.source)),
            );
        }
        if section.header == SCHEDULER.header {
            for policy in parts.policies() {
                let descriptor = policy.descriptor;
                heading(page, 3, &format!("policy = \"{}\"", descriptor.name));
                line(
                    page,
                    &format!("{} ({}).", descriptor.summary, descriptor.source),
                );
                params(page, descriptor.params, "The policy has no parameters.");
                let names = descriptor
                    .changeable
                    .iter()
                    .map(|s| format!("`{}`", s.name));
                let names: Vec<String> = names.collect();
                if !names.is_empty() {
                    line(
                        page,
                        &format!("`set-policy` changes in a run: {}.", names.join(", ")),
                    );
                }
                if !descriptor.domain_params.is_empty() {
                    line(page, "For each domain:");
                    params(page, descriptor.domain_params, "");
                }
                if !descriptor.group_params.is_empty() {
                    let names = descriptor.group_params.iter();
                    let names: Vec<_> = names.map(|s| format!("`{}`", s.name)).collect();
                    line(
                        page,
                        &format!("For each group of domains: {}.", names.join(", ")),
                    );
                }
                if !descriptor.vcpu_params.is_empty() {
                    let names = descriptor.vcpu_params.iter();
                    let names: Vec<_> = names.map(|s| format!("`{}`", s.name)).collect();
                    line(page, &format!("For each vcpu: {}.", names.join(", ")));
                }
            }
        }
        if section.header == CONTROLLER.header {
            let all = parts.controllers().iter();
            all.for_each(|entry| controller(page, entry.descriptor));
        }
        if section.header == NETWORK.header {
            words(page, section);
        }
        if section.header == GUEST.header {
            let guests = GUESTS.iter().map(|g| (g.variant.word, g.variant.doc));
            names(page, "Named guests", guests);
        }
    }
    limits(page);
    heading(page, 2, "Shipped scenarios");
    line(page, "`domio run NAME` runs one of these without a file.");
    line(page, "| name | shows |\n|---|---|");
    trim(page);
    for (name, text) in examples {
        let title = text.lines().find_map(|l| l.strip_prefix("title = \""));
        let title = title.and_then(|t| t.strip_suffix('"')).unwrap_or("");
        let _ = writeln!(page, "| [`{name}`](../scenarios/{name}.toml) | {title} |");
    }
    out
}

/// A controller with its parameters.
fn controller(page: &mut String, descriptor: &domio_contract::control::Descriptor) {
    heading(page, 3, &format!("name = \"{}\"", descriptor.name));
    line(
        page,
        &format!("{} ({}).", descriptor.summary, descriptor.source),
    );
    let mut own = vec![descriptor.interval];
    own.extend(descriptor.params);
    params(page, &own, "");
    if !descriptor.domain_params.is_empty() {
        line(page, "For each domain, as keys of `[[domain]]`:");
        params(page, descriptor.domain_params, "");
    }
}

fn heading(page: &mut String, level: usize, text: &str) {
    trim(page);
    let _ = writeln!(page, "\n{} {text}\n", "#".repeat(level));
}

fn line(page: &mut String, text: &str) {
    let _ = writeln!(page, "{text}\n");
}

/// Takes empty lines at the end back, so that a table's rows follow its head.
fn trim(page: &mut String) {
    while page.ends_with("\n\n") {
        page.pop();
    }
}

fn section(page: &mut String, section: &KeySection, parts: &Parts) {
    heading(page, 2, &format!("`{}`", section.header));
    line(page, section.doc);
    let all: Vec<Key> = parts.keys(section).copied().collect();
    keys(page, &all, parts);
    // The workloads stand under [[domain.task]]; [[domain]] refers to them.
    if section.header == DOMAIN.header {
        return;
    }
    for variant in parts.variants(section) {
        let selector = section.selector.unwrap_or("");
        heading(page, 3, &format!("{selector} = \"{}\"", variant.word));
        line(page, variant.doc);
        if !variant.keys.is_empty() {
            keys(page, variant.keys, parts);
        }
    }
}

fn keys(page: &mut String, keys: &[Key], parts: &Parts) {
    line(
        page,
        "| key | type | range | default | meaning |\n|---|---|---|---|---|",
    );
    trim(page);
    for key in keys {
        let (kind, range) = kind(key, parts);
        let _ = writeln!(
            page,
            "| `{}` | {kind} | {range} | {} | {} |",
            key.written(),
            default(key),
            key.doc
        );
    }
}

fn kind(key: &Key, parts: &Parts) -> (&'static str, String) {
    match key.kind {
        KeyKind::Text => ("string", String::new()),
        KeyKind::Name => ("string", NAME_RULE.to_owned()),
        KeyKind::DomainName => ("string", "a domain or group".to_owned()),
        KeyKind::Number(ParamKind::Int { min, max, or_zero }) => {
            ("integer", int_range(min, max, or_zero))
        }
        KeyKind::Number(ParamKind::Flag) => ("boolean", "true or false".to_owned()),
        KeyKind::Number(ParamKind::Choice(words)) => ("string", words.join(", ")),
        KeyKind::Time { min_ns, .. } => ("time", time_range(min_ns)),
        KeyKind::Lengths { min_ns, .. } => ("time or table", time_range(min_ns)),
        KeyKind::Word(words @ (Words::Policies | Words::Profiles | Words::Controllers)) => (
            "string",
            format!("see below: {}", word::all(words, parts).join(", ")),
        ),
        KeyKind::Word(words) => ("string", word::all(words, parts).join(", ")),
        KeyKind::Pcpus => ("pcpus", "`[0, 1]` or `\"0-3,6\"`".to_owned()),
        KeyKind::VcpuPins => (
            "pcpus or list",
            "`[0, 1]`, `\"0-3,6\"`, or one a vcpu: `[\"0\", \"1-3\"]`".to_owned(),
        ),
        KeyKind::Vcpu => (
            "integer or string",
            format!("0 to {}, or `\"all\"`", MAX_VCPUS - 1),
        ),
        KeyKind::LineRate { min, max } => (
            "integer or string",
            format!("bit/s, {min} to {max}; `\"100M\"`, `\"1G\"`"),
        ),
        KeyKind::Form(form) => ("string", form.range.to_owned()),
        KeyKind::WordOrTable(words, _) => ("string or table", word::all(words, parts).join(", ")),
        KeyKind::Bytes { min, max } => (
            "integer or string",
            format!("bytes, {min} to {max}; `\"64K\"`, `\"1G\"`"),
        ),
        KeyKind::Section(_) => ("table", String::new()),
        KeyKind::OneOrMore(_) => ("table or tables", String::new()),
        KeyKind::Sections(_) => ("tables", String::new()),
        KeyKind::Texts => ("string or strings", String::new()),
        KeyKind::Figure => ("number or string", String::new()),
        KeyKind::Figures => ("numbers", String::new()),
        KeyKind::TextsOrTables(_) => ("string, strings or tables", String::new()),
        KeyKind::ByName(_) | KeyKind::AnyTable => ("table", String::new()),
        KeyKind::Any => ("any value", String::new()),
    }
}

fn default(key: &Key) -> String {
    match key.need {
        Need::Required => "**required**".to_owned(),
        Need::Optional(what) => what.to_owned(),
        Need::Int(i) => i.to_string(),
        Need::TimeNs(0) => "0".to_owned(),
        Need::TimeNs(ns) => Duration::from_nanos(ns).to_string(),
        Need::Word(word) => format!("`\"{word}\"`"),
    }
}

fn params(page: &mut String, specs: &[ParamSpec], none: &str) {
    if specs.is_empty() {
        return line(page, none);
    }
    line(
        page,
        "| key | unit | range | default | meaning |\n|---|---|---|---|---|",
    );
    trim(page);
    for spec in specs {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            spec.name,
            spec.unit,
            spec.range(),
            spec.show(spec.default),
            spec.doc
        );
    }
    page.push('\n');
}

fn names<'a>(page: &mut String, title: &str, names: impl Iterator<Item = (&'a str, &'a str)>) {
    heading(page, 3, title);
    line(page, "| name | what it is |\n|---|---|");
    trim(page);
    for (name, doc) in names {
        let _ = writeln!(page, "| `{name}` | {doc} |");
    }
}

/// A table for each key of `section` that takes one of several words.
fn words(page: &mut String, section: &KeySection) {
    for key in section.keys {
        if let KeyKind::Word(Words::Of(variants)) = key.kind {
            let words = of(variants).map(|v| (v.word, v.doc));
            names(page, &format!("`{}`", key.name), words);
        }
    }
}

fn limits(page: &mut String) {
    heading(page, 2, "Limits");
    line(
        page,
        "They keep a mistyped file from exhausting memory; none is near anything that a host has.",
    );
    line(page, "| what | at most |\n|---|---|");
    trim(page);
    let rows = [
        ("size of the file", format!("{} MiB", MAX_BYTES >> 20)),
        (
            "pcpus of the host",
            domio_core::cpuset::MAX_PCPUS.to_string(),
        ),
        ("vcpus of all domains", MAX_VCPUS.to_string()),
        ("tasks of all vcpus", MAX_TASKS.to_string()),
        (
            "actions, counted for each domain and vcpu that they touch",
            MAX_ACTIONS.to_string(),
        ),
        ("any time", MAX_TIME.to_string()),
        ("errors listed in one answer", MAX_SHOWN.to_string()),
    ];
    for (what, most) in rows {
        let _ = writeln!(page, "| {what} | {most} |");
    }
}
