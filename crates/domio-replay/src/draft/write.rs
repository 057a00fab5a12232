//! The text of a scenario of a real host.

use super::Draft;
use super::domain::{Domain, Group, Setting};

/// Longest line of a comment.
const WIDTH: usize = 96;

/// The text, made by `command`.
pub(crate) fn text(draft: &Draft, command: &str) -> String {
    let mut text = String::new();
    comment(&mut text, "", &format!("Made by `{command}`."));
    for (title, entries) in [
        ("Sources of the values:", &draft.derived),
        ("Assumed:", &draft.assumed),
        ("Left out:", &draft.left_out),
        ("Not known, and what would show it:", &draft.unknown),
    ] {
        if !entries.is_empty() {
            text += "#\n";
            list(&mut text, title, entries);
        }
    }
    text += "#\n";
    for command in &draft.tries {
        text += &format!("# Try: {command}\n");
    }
    text += &format!("\ntitle = {}\n", quoted(&draft.title));
    for (header, keys) in [("run", &draft.run), ("host", &draft.host)] {
        text += &format!("\n[{header}]\n");
        for (key, value) in keys {
            text += &format!("{key} = {value}\n");
        }
    }
    text += &format!("\n[scheduler]\npolicy = {}\n", quoted(&draft.policy));
    for (name, value) in &draft.params {
        text += &format!("{name} = {value}\n");
    }
    for disk in &draft.disks {
        text += "\n[[disk]]\n";
        for (key, value) in disk {
            text += &format!("{key} = {value}\n");
        }
    }
    if !draft.disks.is_empty() {
        text += "\n[guests]\nelevator = \"none\"\n";
    }
    for group in &draft.groups {
        self::group(&mut text, group);
    }
    for domain in &draft.domains {
        self::domain(&mut text, domain);
    }
    text
}

fn group(text: &mut String, group: &Group) {
    text.push('\n');
    for remark in &group.remarks {
        comment(text, "", remark);
    }
    *text += &format!("[[group]]\nname = {}\n", quoted(&group.name));
    if let Some(parent) = &group.parent {
        *text += &format!("parent = {}\n", quoted(parent));
    }
    for (name, value) in &group.params {
        *text += &format!("{name} = {value}\n");
    }
}

fn domain(text: &mut String, domain: &Domain) {
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
    if let Some(group) = &domain.group {
        *text += &format!("group = {}\n", quoted(group));
    }
    for (name, value) in domain.params.iter().chain(&domain.affinity) {
        *text += &format!("{name} = {value}\n");
    }
    let inline = |keys: &Vec<Setting>| {
        let keys: Vec<String> = keys.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        format!("{{ {} }}", keys.join(", "))
    };
    match &domain.disks[..] {
        [] => {}
        [only] => *text += &format!("disk = {}\n", inline(only)),
        all => {
            let all: Vec<String> = all.iter().map(|d| format!("  {},\n", inline(d))).collect();
            *text += &format!("disk = [\n{}]\n", all.concat());
        }
    }
    for (vcpu, params) in &domain.own {
        *text += &format!("\n  [[domain.vcpu]]\n  vcpu = {vcpu}\n");
        for (name, value) in params {
            *text += &format!("  {name} = {value}\n");
        }
    }
    let tasks = domain.tasks.iter().map(|keys| ("task", keys));
    let threads = domain.threads.iter().map(|keys| ("thread", keys));
    for (table, keys) in tasks.chain(threads) {
        *text += &format!("\n  [[domain.{table}]]\n");
        for (key, value) in keys {
            *text += &format!("  {key} = {value}\n");
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
pub(crate) fn quoted(text: &str) -> String {
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

/// `what` as a phrase: names, vcpus and pins.
pub(crate) fn listed(what: &[&str]) -> String {
    match what {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
