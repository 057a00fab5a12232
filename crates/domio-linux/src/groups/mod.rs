//! Who is a guest: which guest, service or container a thread belongs to, and what the thread does
//! for it.
//!
//! A [`Rule`] looks at a control group, a command line or the name of a thread, and gives the guest
//! a name. The rules of the user come first, then [`RULES`]. What no rule takes is grouped by its
//! control group, else by its process, else stands for itself.
//!
//! Threads of a virtual machine that execute no vcpu work for it on the host: they are in a group
//! of their own beside that of the vcpus ([`HOST_PART`]).

mod pattern;
mod rules;
#[cfg(test)]
mod tests;

pub use rules::RULES;

use crate::Tid;
use std::fmt;

/// What the name of the group of a guest's other threads ends in: `web:host` works for `web`.
pub const HOST_PART: &str = ":host";

/// Letters of a container's or pod's id that are enough to know it by, as in `docker ps`.
const SHORT_ID: usize = 12;

/// What a rule looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    /// The path of the control group, by its parts.
    Cgroup,
    /// The command line of the process, by its words.
    Command,
    /// The name of the thread.
    Thread,
    /// The name of a thread of the kernel.
    Kernel,
}

impl On {
    /// The name before the colon of `--group NAME=FIELD:PATTERN`.
    const OWN: [(&'static str, On); 3] = [
        ("cgroup", On::Cgroup),
        ("command", On::Command),
        ("comm", On::Thread),
    ];
}

/// Who manages a guest, and hence which commands change its share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Manager {
    /// `virsh`.
    Libvirt,
    /// `qm`, `pct`.
    Proxmox,
    /// Requests and limits of a pod.
    Kubernetes,
    /// `docker update`.
    Docker,
    /// `podman update`.
    Podman,
    /// `lxc config`.
    Lxc,
    /// `systemctl set-property`.
    Systemd,
    /// Nobody that is known: the files of the control group.
    Cgroup,
    /// The kernel's own threads.
    Host,
}

/// A rule that is built in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// What it is for.
    pub name: &'static str,
    /// What it looks at.
    pub on: On,
    /// What it matches: `*` is any text inside a part of the path or a word, `#` a number.
    pub pattern: &'static str,
    /// What the guest is called; `$1` is what the first `*` or `#` stands for.
    pub guest: &'static str,
    /// Who manages such guests.
    pub manager: Manager,
    /// Whether they are virtual machines, whose threads without a vcpu work for it.
    pub is_vm: bool,
}

/// What is known of a thread that is to be grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Known<'a> {
    /// Its name.
    pub comm: &'a str,
    /// Its control group.
    pub cgroup: Option<&'a str>,
    /// The command line of its process.
    pub command: Option<&'a str>,
    /// Its process.
    pub process: Option<Tid>,
    /// The name of its process.
    pub process_comm: Option<&'a str>,
}

/// Whom a thread belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Belongs {
    /// The guest's name.
    pub guest: String,
    /// Who manages it.
    pub manager: Manager,
    /// Whether it is a virtual machine.
    pub is_vm: bool,
    /// Whether a rule or a control group says so, and not the name of a thread alone.
    pub by_rule: bool,
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadPart {
    /// Executes the vcpu with this number.
    Vcpu(u32),
    /// Works for the process with this id (`vhost-PID`), in the kernel or beside it.
    ForProcess(Tid),
    /// Moves data of a virtual machine.
    Io,
    /// One of a pool of workers of a virtual machine.
    Worker,
    /// Anything else.
    Other,
}

impl ThreadPart {
    /// What the thread called `comm` does.
    pub fn of(comm: &str) -> Self {
        let number = |patterns: &[&str], last: bool| {
            patterns.iter().find_map(|pattern| {
                let mut found = Vec::new();
                let is_it = pattern::matches(pattern, comm, &mut found);
                let numbers = found.iter().filter_map(|text| text.parse::<u32>().ok());
                let mut numbers = numbers.filter(|_| is_it);
                if last {
                    numbers.next_back()
                } else {
                    numbers.next()
                }
            })
        };
        let any = |patterns: &[&str]| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| pattern::matches(pattern, comm, &mut Vec::new()))
        };
        if let Some(vcpu) = number(rules::VCPUS, comm.contains(":vcpu")) {
            return ThreadPart::Vcpu(vcpu);
        }
        if let Some(process) = number(rules::FOR_PROCESS, true) {
            return ThreadPart::ForProcess(Tid(process));
        }
        match (any(rules::IO), any(rules::WORKERS)) {
            (true, _) => ThreadPart::Io,
            (_, true) => ThreadPart::Worker,
            _ => ThreadPart::Other,
        }
    }

    /// Whether such threads work for a virtual machine, wherever they are.
    pub const fn helps(self) -> bool {
        matches!(
            self,
            ThreadPart::ForProcess(_) | ThreadPart::Io | ThreadPart::Worker
        )
    }
}

/// A rule that a user gave: `NAME=FIELD:PATTERN`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnRule {
    guest: String,
    on: On,
    pattern: String,
}

/// A text that is no rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoRule {
    text: String,
    why: &'static str,
}

impl fmt::Display for NoRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no rule of groups: {}; expected NAME=FIELD:PATTERN, where FIELD is cgroup, \
             command or comm, e.g. 'db-$1=cgroup:system.slice/postgresql@*.service'",
            self.text, self.why
        )
    }
}

impl std::error::Error for NoRule {}

impl fmt::Display for OwnRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = On::OWN.iter().find(|(_, on)| *on == self.on);
        let field = field.map_or("", |(name, _)| name);
        write!(f, "{}={field}:{}", self.guest, self.pattern)
    }
}

impl std::str::FromStr for OwnRule {
    type Err = NoRule;

    fn from_str(text: &str) -> Result<Self, NoRule> {
        let no = |why| NoRule {
            text: text.to_owned(),
            why,
        };
        let (guest, rest) = text.split_once('=').ok_or_else(|| no("it has no ="))?;
        let (field, pattern) = rest
            .split_once(':')
            .ok_or_else(|| no("there is no field and : after the ="))?;
        let on = On::OWN.iter().find(|(name, _)| *name == field);
        let (_, on) = on.ok_or_else(|| no("its field is unknown"))?;
        match (guest.is_empty(), pattern.trim_matches('/').is_empty()) {
            (true, _) => Err(no("the guest has no name")),
            (_, true) => Err(no("its pattern is empty")),
            _ => Ok(OwnRule {
                guest: guest.to_owned(),
                on: *on,
                pattern: pattern.to_owned(),
            }),
        }
    }
}

/// The rules, those of the user first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Groups {
    own: Vec<OwnRule>,
}

impl Groups {
    /// Those that are built in, after `own`.
    pub fn new(own: Vec<OwnRule>) -> Self {
        Groups { own }
    }

    /// Whom a thread belongs to.
    pub fn of(&self, known: &Known<'_>) -> Belongs {
        let cgroup = known.cgroup.map(unescaped);
        let cgroup = cgroup.as_deref();
        let own = self.own.iter().find_map(|rule| {
            let found = matched(rule.on, &rule.pattern, cgroup, known)?;
            Some(Belongs {
                guest: pattern::named(&rule.guest, &found),
                manager: manager(cgroup),
                is_vm: false,
                by_rule: true,
            })
        });
        let by_rule = || {
            RULES.iter().find_map(|rule| {
                let found = matched(rule.on, rule.pattern, cgroup, known)?;
                let found: Vec<String> = found.into_iter().map(short).collect();
                let found: Vec<&str> = found.iter().map(String::as_str).collect();
                Some(Belongs {
                    guest: pattern::named(rule.guest, &found),
                    manager: rule.manager,
                    is_vm: rule.is_vm,
                    by_rule: true,
                })
            })
        };
        let belongs = own.or_else(by_rule);
        let belongs = belongs.filter(|belongs| !belongs.guest.is_empty());
        belongs.unwrap_or_else(|| by_itself(cgroup, known))
    }
}

/// Where `pattern` matches what is known, what its `*` and `#` stand for.
fn matched<'k>(
    on: On,
    pattern: &str,
    cgroup: Option<&'k str>,
    known: &Known<'k>,
) -> Option<Vec<&'k str>> {
    match on {
        On::Cgroup => pattern::find(pattern, cgroup?, '/'),
        On::Command => pattern::find(pattern, known.command?, ' '),
        On::Thread => {
            let mut found = Vec::new();
            pattern::matches(pattern, known.comm, &mut found).then_some(found)
        }
        On::Kernel => {
            // A process that is known, and is not the kernel's, has threads of its own.
            let outside = cgroup.is_some_and(|path| path.trim_matches('/').len() > 1);
            (!outside && is_kernel(known.comm)).then(|| vec![known.comm])
        }
    }
}

/// Whether a thread with this name is the kernel's.
pub fn is_kernel(comm: &str) -> bool {
    let mut patterns = rules::KERNEL.iter();
    patterns.any(|pattern| pattern::matches(pattern, comm, &mut Vec::new()))
}

/// Who manages what is in this control group.
fn manager(cgroup: Option<&str>) -> Manager {
    match cgroup {
        Some(path) if path.contains(".slice") || path.contains(".scope") => Manager::Systemd,
        _ => Manager::Cgroup,
    }
}

/// The group of a thread that no rule takes.
fn by_itself(cgroup: Option<&str>, known: &Known<'_>) -> Belongs {
    let path = cgroup.map(|path| path.trim_matches('/'));
    let guest = match (path.filter(|path| !path.is_empty()), known.process) {
        (Some(path), _) => path.to_owned(),
        (None, Some(process)) => {
            let comm = known.process_comm.filter(|comm| !comm.is_empty());
            format!("{}-{process}", comm.unwrap_or("process"))
        }
        (None, None) if known.comm.is_empty() => "unnamed".to_owned(),
        (None, None) => known.comm.to_owned(),
    };
    let vmm = |comm: &str| {
        let mut vmms = rules::VMMS.iter();
        vmms.any(|pattern| pattern::matches(pattern, comm, &mut Vec::new()))
    };
    Belongs {
        guest,
        manager: manager(cgroup),
        is_vm: known.process_comm.is_some_and(vmm),
        by_rule: cgroup.is_some_and(|path| path.trim_matches('/').len() > 1),
    }
}

/// The path with what systemd escapes as itself: `\x2d` is `-`.
fn unescaped(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.strip_prefix(b"x").and_then(|hex| hex.get(..2));
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte.filter(|_| *first == b'\\') {
            // A slash would divide the path.
            Some(byte) if byte != b'/' => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A long id of hexadecimal digits by its first letters.
fn short(text: &str) -> String {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    let others = text.len() - digits;
    let is_id = digits >= 32
        && text
            .bytes()
            .all(|b| b.is_ascii_hexdigit() || b"-_".contains(&b));
    match is_id && others <= 4 {
        true => text[..SHORT_ID.min(text.len())]
            .trim_end_matches(['-', '_'])
            .to_owned(),
        false => text.to_owned(),
    }
}
