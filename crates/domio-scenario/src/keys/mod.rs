//! The vocabulary: every key of a scenario, declared once.
//!
//! Checking, the JSON Schema and the reference page all walk these tables. What a scheduling
//! policy or a controller declares (`ParamSpec`) joins them where a section says so with
//! [`Params`].

mod controller;
pub(crate) mod costs;
mod disk;
mod network;
mod tables;
mod tasks;
mod vary;
mod vcpus;
mod web;

pub(crate) use controller::{CONTROLLER, SEND_WEIGHT};
pub(crate) use disk::DISK;
pub(crate) use network::{NETWORK, VIF};
pub(crate) use tables::{ACTION, DOMAIN, GUEST, HOST, ROOT, RUN, SCHEDULER};
pub(crate) use tasks::{LENGTHS, TASK, WORKLOADS};
pub(crate) use vary::VARY;
pub(crate) use vcpus::VCPU;
pub(crate) use web::WEB_FILES;

use crate::amount::MAX_TIME;
use crate::guests::GUESTS;
use domio_core::{Duration, XenVersion};
use domio_sched::Policy;
use domio_vmm::profile::Profile;

/// A table of the document.
pub(crate) struct Section {
    /// As it is written (`[run]`), for messages and headings.
    pub header: &'static str,
    /// What it holds.
    pub doc: &'static str,
    /// Keys that are always allowed.
    pub keys: &'static [Key],
    /// The key whose word decides which of `variants` adds its keys.
    pub selector: Option<&'static str>,
    /// Further keys, by the selector's word.
    pub variants: &'static [Variant],
    /// Whose declared parameters are keys here too.
    pub params: Params,
}

/// Keys that come with one word of a selector.
pub(crate) struct Variant {
    pub word: &'static str,
    pub doc: &'static str,
    pub keys: &'static [Key],
    pub params: Params,
}

/// Declared parameters that are keys of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Params {
    None,
    /// Those of the policy.
    Policy,
    /// Those that the policy has for each domain. In a section of its own, as `[[domain]]` is,
    /// those that the scenario's controllers have for each domain, too.
    Domain,
    /// Those that the policy has for each vcpu.
    Vcpu,
    /// Those of the policy that can change in a run.
    Changeable,
    /// Those of the controller that the table names.
    Controller,
}

/// One key.
pub(crate) struct Key {
    /// Name; without its unit for times.
    pub name: &'static str,
    pub kind: Kind,
    pub need: Need,
    pub doc: &'static str,
}

/// What a key holds.
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// A name: see [`is_name`].
    Name,
    Int {
        min: i64,
        max: i64,
    },
    /// A time: the key ends in `_s`, `_ms`, `_us` or `_ns`; `unit` is the usual one.
    Time {
        unit: &'static str,
        /// Shortest, in nanoseconds. The longest is [`MAX_TIME`].
        min_ns: u64,
    },
    /// A time that may be drawn: either a time (then the key ends in its unit), or, without a
    /// unit, a table that describes a distribution.
    Lengths {
        unit: &'static str,
        min_ns: u64,
    },
    Word(Words),
    /// A number of bytes: a number, or a text such as `64K`, in powers of 1024.
    Bytes {
        min: u64,
        max: u64,
    },
    /// A set of pcpus: an array of numbers, or `xl`'s notation.
    Pcpus,
    /// Index of a vcpu, or `"all"`.
    Vcpu,
    /// How fast a line sends, in bit/s: a number, or a text such as `1G`.
    LineRate {
        min: u64,
        max: u64,
    },
    /// A limit on what a vif sends, in `xl`'s notation.
    VifRate,
    /// The name of a domain or of a group of domains.
    DomainName,
    /// A named guest, or a table.
    Guest,
    Section(&'static Section),
    Sections(&'static Section),
    /// One table, or an array of several.
    OneOrMore(&'static Section),
}

impl Kind {
    /// Whether its value is one or more tables with keys of their own.
    pub const fn is_of_tables(&self) -> bool {
        matches!(
            self,
            Kind::Section(_) | Kind::Sections(_) | Kind::OneOrMore(_)
        )
    }
}

/// Lists of words.
#[derive(Clone, Copy)]
pub(crate) enum Words {
    Policies,
    Profiles,
    Releases,
    Controllers,
    /// The words of these variants.
    Of(&'static [Variant]),
}

/// Whether a key must be there, and what holds when it is not.
#[derive(Clone, Copy)]
pub(crate) enum Need {
    Required,
    /// Says what happens without it.
    Optional(&'static str),
    Int(i64),
    TimeNs(u64),
    Word(&'static str),
}

pub(super) const fn key(name: &'static str, kind: Kind, need: Need, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        need,
        doc,
    }
}

pub(super) const fn plain(
    header: &'static str,
    doc: &'static str,
    keys: &'static [Key],
) -> Section {
    Section {
        header,
        doc,
        keys,
        selector: None,
        variants: &[],
        params: Params::None,
    }
}

pub(super) const fn variant(
    word: &'static str,
    doc: &'static str,
    keys: &'static [Key],
) -> Variant {
    Variant {
        word,
        doc,
        keys,
        params: Params::None,
    }
}

pub(super) const US: u64 = 1_000;

impl Section {
    /// The variant chosen by `word`.
    pub fn variant(&self, word: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|v| v.word == word)
    }
}

impl Key {
    /// The key as it is usually written, with its unit.
    pub fn written(&self) -> String {
        match self.kind {
            Kind::Time { unit, .. } | Kind::Lengths { unit, .. } => format!("{}_{unit}", self.name),
            _ => self.name.to_owned(),
        }
    }

    /// Whether the key ends in a unit of time.
    pub fn has_unit(&self) -> bool {
        matches!(self.kind, Kind::Time { .. } | Kind::Lengths { .. })
    }
}

impl Words {
    /// The words, in the order in which lists show them.
    pub fn all<'p>(&self, policies: &'p [Policy]) -> Vec<&'p str> {
        match self {
            Words::Policies => policies.iter().map(|p| p.descriptor.name).collect(),
            Words::Profiles => Profile::ALL.iter().map(|p| p.name).collect(),
            Words::Releases => XenVersion::NAMES.to_vec(),
            Words::Controllers => domio_control::all().map(|e| e.descriptor.name).collect(),
            Words::Of(variants) => variants.iter().map(|v| v.word).collect(),
        }
    }

    /// What one of the words is called.
    pub const fn noun(&self) -> &'static str {
        match self {
            Words::Policies => "policy",
            Words::Profiles => "hardware profile",
            Words::Releases => "release of Xen",
            Words::Controllers => "controller",
            Words::Of(_) => "word",
        }
    }

    /// What to say of a word that exists elsewhere, but is not modelled.
    pub fn not_there(&self, word: &str) -> Option<String> {
        match self {
            Words::Policies => crate::suggest::unmodelled_policy(word),
            Words::Releases => {
                let release = word.rsplit_once('.').map_or(word, |(major, _)| major);
                let number = |text: &str| text.parse::<u32>().is_ok();
                (number(release) && release.len() == 1 || word.starts_with("4."))
                    .then(|| "releases from 2.0 to 4.17 are modelled; take the nearest".to_owned())
            }
            Words::Profiles | Words::Controllers | Words::Of(_) => None,
        }
    }

    /// Where to find out what the words mean, if there is such a place.
    pub fn hint(&self) -> Option<String> {
        match self {
            Words::Policies => Some("`domio policy list` says what each of them is".to_owned()),
            Words::Controllers => {
                Some("`domio controller list` says what each of them is".to_owned())
            }
            Words::Profiles | Words::Releases | Words::Of(_) => None,
        }
    }
}

/// Names of the guests.
pub(crate) fn guest_names() -> Vec<&'static str> {
    GUESTS.iter().map(|g| g.name).collect()
}

/// Longest name, in characters.
pub(crate) const MAX_NAME: usize = 64;

/// What a name looks like, for people.
pub(crate) const NAME_RULE: &str = "1 to 64 letters, digits, `_`, `-`, `.` or `+`";

/// The rule of names as a regular expression.
pub(crate) const NAME_PATTERN: &str = "^[A-Za-z0-9_.+-]{1,64}$";

/// Whether `text` is a name.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-.+".contains(&b))
}

/// The range of a time that is at least `min_ns` nanoseconds, for people.
pub(crate) fn time_range(min_ns: u64) -> String {
    match min_ns {
        0 => format!("0 to {MAX_TIME}"),
        1 => format!("over 0, up to {MAX_TIME}"),
        _ => format!("{} to {MAX_TIME}", Duration::from_nanos(min_ns)),
    }
}
