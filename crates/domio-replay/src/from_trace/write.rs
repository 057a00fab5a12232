//! The text of a scenario of a recorded host.

use super::domain::Domain;
use super::{Draft, RULES, Sources};

/// Longest line of a comment.
const WIDTH: usize = 96;

/// The text.
pub(super) fn text(draft: &Draft, sources: &Sources) -> String {
    let mut text = String::new();
    comment(&mut text, "", &format!("Made by `{}`.", sources.command));
    text += "#\n";
    list(&mut text, "What is told, and by what:", &draft.derived);
    text += "#\n";
    list(&mut text, "What is assumed:", &draft.assumed);
    text += "#\n# Try: domio compare THIS --policy credit --policy round-robin\n";
    let has_weight = |d: &&Domain| d.params.iter().any(|(key, _)| *key == "weight");
    if let Some(first) = draft.domains.iter().find(has_weight) {
        let key = format!("domain.{}.weight", first.name);
        text += &format!("# Try: domio compare THIS --set {key}=256 --set {key}=512\n");
    }
    let title = format!("The host of {}", file_name(&sources.trace));
    text += &format!("\ntitle = {}\n", quoted(&title));
    text += &format!("\n[run]\nduration_s = {}\n", draft.seconds);
    text += "\n[host]\nprofile = \"ideal\"\n";
    text += &format!("xen = \"{}\"\n", RULES.name());
    text += &format!("cores = {}\n", draft.pcpus);
    text += &format!("\n[scheduler]\npolicy = {}\n", quoted(&draft.policy));
    for (name, value) in &draft.params {
        text += &format!("{name} = {value}\n");
    }
    for domain in &draft.domains {
        self::domain(&mut text, domain, sources);
    }
    text
}

fn domain(text: &mut String, domain: &Domain, sources: &Sources) {
    text.push('\n');
    for remark in &domain.remarks {
        comment(text, "", remark);
    }
    *text += &format!(
        "[[domain]]\nname = {}\nid = {}\nvcpus = {}\n",
        quoted(&domain.name),
        domain.id,
        domain.vcpus
    );
    for (name, value) in domain.params.iter().chain(&domain.affinity) {
        *text += &format!("{name} = {value}\n");
    }
    for (vcpu, params) in &domain.own {
        *text += &format!("\n  [[domain.vcpu]]\n  vcpu = {vcpu}\n");
        for (name, value) in params {
            *text += &format!("  {name} = {value}\n");
        }
    }
    for vcpu in &domain.replayed {
        *text += &format!(
            "\n  [[domain.task]]\n  name = \"v{vcpu}\"\n  workload = \"replay\"\n  \
             vcpu = {vcpu}\n  trace = {}\n  trace_domain = {}\n  trace_vcpu = {vcpu}\n",
            quoted(&sources.trace),
            domain.id
        );
        if let Some((hz, _)) = sources.hz {
            *text += &format!("  trace_hz = {hz}\n");
        }
    }
}

fn list(text: &mut String, title: &str, entries: &[String]) {
    *text += &format!("# {title}\n");
    for entry in entries {
        comment(text, "- ", entry);
    }
}

/// `words` as lines of a comment, the first after `mark`.
fn comment(text: &mut String, mark: &str, words: &str) {
    let indent = " ".repeat(mark.len());
    let mut line = format!("# {mark}");
    let mut is_new = true;
    // A comment of TOML ends with its line and holds no control characters.
    let words: String = words
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    for word in words.split_whitespace() {
        if !is_new && line.chars().count() + 1 + word.chars().count() > WIDTH {
            *text += &format!("{line}\n");
            line = format!("# {indent}");
            is_new = true;
        }
        if !is_new {
            line.push(' ');
        }
        line += word;
        is_new = false;
    }
    *text += &format!("{}\n", line.trim_end());
}

/// `text` as a string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
