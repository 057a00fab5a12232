//! The reference page of scenarios, made from the same tables that check them.

use crate::amount::MAX_TIME;
use crate::guests::GUESTS;
use crate::keys::costs::{HOST_COSTS, HOST_KERNEL, NETWORK_CARD, NETWORK_COSTS, NETWORK_WRITERS};
use crate::keys::{
    ACTION, CONTROLLER, DISK, DOMAIN, GUEST, HOST, Key, Kind, LENGTHS, NAME_RULE, NETWORK, Need,
    ROOT, RUN, SCHEDULER, Section, TASK, VARY, VCPU, VIF, WEB_FILES, Words, time_range,
};
use crate::limits::{MAX_ACTIONS, MAX_BYTES, MAX_TASKS, MAX_VCPUS};
use crate::problem::MAX_SHOWN;
use domio_core::{Duration, ParamSpec};
use domio_sched::Policy;
use domio_vmm::profile::Profile;
use std::fmt::Write as _;

const START: &str = include_str!("reference_start.md");

/// The reference of every key in Markdown, for scenarios that can ask for `policies`; `examples`
/// are names of scenarios with their texts.
pub fn reference(policies: &[Policy], examples: &[(&str, &str)]) -> String {
    let mut out = START.to_owned();
    let page = &mut out;
    for section in [
        &ROOT,
        &RUN,
        &HOST,
        &HOST_COSTS,
        &HOST_KERNEL,
        &SCHEDULER,
        &NETWORK,
        &NETWORK_CARD,
        &NETWORK_COSTS,
        &NETWORK_WRITERS,
        &CONTROLLER,
        &DOMAIN,
        &GUEST,
        &VCPU,
        &VIF,
        &DISK,
        &TASK,
        &LENGTHS,
        &WEB_FILES,
        &ACTION,
        &VARY,
    ] {
        self::section(page, section, policies);
        if section.header == HOST.header {
            names(
                page,
                "Hardware profiles",
                Profile::ALL.iter().map(|p| (p.name, p.source)),
            );
        }
        if section.header == SCHEDULER.header {
            for policy in policies {
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
                if !descriptor.vcpu_params.is_empty() {
                    let names = descriptor.vcpu_params.iter();
                    let names: Vec<_> = names.map(|s| format!("`{}`", s.name)).collect();
                    line(page, &format!("For each vcpu: {}.", names.join(", ")));
                }
            }
        }
        if section.header == CONTROLLER.header {
            domio_control::all().for_each(|entry| controller(page, entry.descriptor));
        }
        if section.header == NETWORK.header {
            words(page, section);
        }
        if section.header == GUEST.header {
            names(page, "Named guests", GUESTS.iter().map(|g| (g.name, g.doc)));
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
fn controller(page: &mut String, descriptor: &domio_control::Descriptor) {
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

fn section(page: &mut String, section: &Section, policies: &[Policy]) {
    heading(page, 2, &format!("`{}`", section.header));
    line(page, section.doc);
    keys(page, section.keys, policies);
    // The workloads stand under [[domain.task]]; [[domain]] refers to them.
    if section.header == DOMAIN.header {
        return;
    }
    for variant in section.variants {
        let selector = section.selector.unwrap_or("");
        heading(page, 3, &format!("{selector} = \"{}\"", variant.word));
        line(page, variant.doc);
        if !variant.keys.is_empty() {
            keys(page, variant.keys, policies);
        }
    }
}

fn keys(page: &mut String, keys: &[Key], policies: &[Policy]) {
    line(
        page,
        "| key | type | range | default | meaning |\n|---|---|---|---|---|",
    );
    trim(page);
    for key in keys {
        let (kind, range) = kind(key, policies);
        let _ = writeln!(
            page,
            "| `{}` | {kind} | {range} | {} | {} |",
            key.written(),
            default(key),
            key.doc
        );
    }
}

fn kind(key: &Key, policies: &[Policy]) -> (&'static str, String) {
    match key.kind {
        Kind::Text => ("string", String::new()),
        Kind::Name => ("string", NAME_RULE.to_owned()),
        Kind::DomainName => ("string", "a domain or group".to_owned()),
        Kind::Int { min, max: i64::MAX } => ("integer", format!("{min} or more")),
        Kind::Int { min, max } => ("integer", format!("{min} to {max}")),
        Kind::Time { min_ns, .. } => ("time", time_range(min_ns)),
        Kind::Lengths { min_ns, .. } => ("time or table", time_range(min_ns)),
        Kind::Word(words @ (Words::Policies | Words::Profiles | Words::Controllers)) => (
            "string",
            format!("see below: {}", words.all(policies).join(", ")),
        ),
        Kind::Word(words) => ("string", words.all(policies).join(", ")),
        Kind::Pcpus => ("pcpus", "`[0, 1]` or `\"0-3,6\"`".to_owned()),
        Kind::Vcpu => (
            "integer or string",
            format!("0 to {}, or `\"all\"`", MAX_VCPUS - 1),
        ),
        Kind::LineRate { min, max } => (
            "integer or string",
            format!("bit/s, {min} to {max}; `\"100M\"`, `\"1G\"`"),
        ),
        Kind::VifRate => ("string", "`\"10Mb/s\"` or `\"10Mb/s@20ms\"`".to_owned()),
        Kind::Guest => {
            let names: Vec<&str> = GUESTS.iter().map(|g| g.name).collect();
            ("string or table", names.join(", "))
        }
        Kind::Bytes { min, max } => (
            "integer or string",
            format!("bytes, {min} to {max}; `\"64K\"`, `\"1G\"`"),
        ),
        Kind::Section(_) => ("table", String::new()),
        Kind::OneOrMore(_) => ("table or tables", String::new()),
        Kind::Sections(_) => ("tables", String::new()),
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
fn words(page: &mut String, section: &Section) {
    for key in section.keys {
        if let Kind::Word(Words::Of(variants)) = key.kind {
            let words = variants.iter().map(|v| (v.word, v.doc));
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
