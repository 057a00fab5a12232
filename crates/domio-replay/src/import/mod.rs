//! A scenario of a host without a trace: of definitions of libvirt, configurations of `xl`, control
//! groups of Linux and command lines of QEMU.
//!
//! ```text
//! web.xml  ─▶ xml ─────┐
//! web.cfg  ─▶ xl_cfg ──┤
//! cgroups  ─▶ cgroup ──┼─▶ Found: guests by name, the host ─▶ made ─▶ text of a scenario
//! ps, *.sh ─▶ qemu ────┤
//! lscpu    ─▶ machine ─┘
//! ```
//!
//! Files say what a guest has: vcpus, weights, limits, pins. None says how busy it is, so that the
//! load is assumed. Each value has the file and the line that it is from; what a scenario has no
//! place for is listed with its line as well.

mod cgroup;
mod cpus;
mod machine;
mod made;
mod qemu;
#[cfg(test)]
mod tests;
mod xl_cfg;
mod xml;

pub use made::scenario;

use domio_scenario::ScenarioErrors;
use std::collections::BTreeMap;

/// Characters that are shown of what is not as it should be.
const SHOWN: usize = 60;

/// A line of a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct ImportPlace {
    /// The file as the user named it.
    pub file: String,
    /// Number of the line, from 1.
    pub line: usize,
}

/// Why no scenario can be made.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file has what cannot be right.
    #[error("{}:{}: \"{found}\"; expected {expected}", .place.file, .place.line)]
    Wrong {
        /// Where.
        place: ImportPlace,
        /// What is there.
        found: String,
        /// What should be there.
        expected: String,
    },
    /// The files make no host together.
    #[error("{0}")]
    Unusable(String),
    /// What was read makes no host.
    #[error("the files make no valid scenario: {0}")]
    Scenario(ScenarioErrors),
}

impl ImportError {
    fn wrong(place: &ImportPlace, found: &str, expected: impl Into<String>) -> Self {
        let found = found.trim();
        let mut shown: String = found.chars().take(SHOWN).collect();
        if shown.len() < found.len() {
            shown.push_str("...");
        }
        ImportError::Wrong {
            place: place.clone(),
            found: without_controls(&shown),
            expected: expected.into(),
        }
    }
}

/// `text` as messages show it, in one line.
fn without_controls(text: &str) -> String {
    let escaped = |c: char| match c.is_control() {
        true => c.escape_debug().to_string(),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Something to be told of the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportNote {
    /// What, as a phrase.
    pub what: String,
    /// Where; `None` for what no file has.
    pub place: Option<ImportPlace>,
}

/// What files do not say and somebody may know.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The command that makes the scenario.
    pub command: String,
    /// Pcpus of the host.
    pub pcpus: Option<u16>,
    /// Release of Linux ("6.1", "6.12", "6.18") or of Xen ("4.17") of the host.
    pub release: Option<String>,
    /// How busy each vcpu is (%).
    pub load_pct: u16,
    /// Mean length of a stretch of work (us).
    pub work_us: u64,
}

/// A scenario, and what is to be told beside it.
#[derive(Clone, Debug, Default)]
pub struct ImportedHost {
    /// The text.
    pub text: String,
    /// What was taken, and from where.
    pub taken: Vec<ImportNote>,
    /// What is assumed.
    pub assumed: Vec<ImportNote>,
    /// What a scenario has no place for, and what was left out for another reason.
    pub left_out: Vec<ImportNote>,
    /// What no file says, and what would.
    pub unknown: Vec<ImportNote>,
}

/// Which hypervisor a guest is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// KVM, or QEMU's own emulation: threads of a Linux host.
    Linux,
    Xen,
}

/// A value, and where it is from.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Told<T> {
    value: T,
    at: ImportPlace,
}

/// A guest as files describe it.
#[derive(Clone, Debug, Default)]
struct Guest {
    /// Where it was first found.
    at: ImportPlace,
    vcpus: Option<Told<u16>>,
    /// Numbers by the key of a scenario: weight, cap, quota_us, period_us, burst_us.
    numbers: BTreeMap<&'static str, Told<i64>>,
    /// Whether its control group is idle.
    idle: Option<Told<bool>>,
    /// Pcpus of all vcpus that have no set of their own.
    pin: Option<Told<Vec<u16>>>,
    /// Pcpus of single vcpus.
    pins: BTreeMap<u16, Told<Vec<u16>>>,
    /// Pcpus that all vcpus prefer, and those of single ones.
    soft: Option<Told<Vec<u16>>>,
    softs: BTreeMap<u16, Told<Vec<u16>>>,
}

/// What is known of the host's processors.
#[derive(Clone, Debug, Default)]
struct Machine {
    pcpus: Option<Told<u16>>,
    /// Sockets, cores of each, threads of each of these.
    shape: Option<[u16; 3]>,
}

/// What all files say.
#[derive(Debug, Default)]
pub struct ImportFiles {
    kind: Option<(Kind, ImportPlace)>,
    machine: Machine,
    guests: Vec<(String, Guest)>,
    assumed: Vec<ImportNote>,
    left_out: Vec<ImportNote>,
    /// Names of the files, in the order in which they were read.
    files: Vec<String>,
}

impl ImportFiles {
    /// Reads one more file, whose form is recognised.
    ///
    /// # Errors
    /// The first line that cannot be right; when the text is nothing that is known.
    pub fn read(&mut self, text: &str, file: &str) -> Result<(), ImportError> {
        let text = text.trim_start_matches('\u{feff}');
        self.files.push(file.to_owned());
        match text {
            _ if text.trim_start().starts_with('<') => xml::read(self, text, file),
            _ if cgroup::is_listing(text) => cgroup::read(self, text, file),
            _ if machine::is_machine(text) => machine::read(self, text, file),
            _ if xl_cfg::is_config(text) => xl_cfg::read(self, text, file),
            _ if qemu::is_command(text) => qemu::read(self, text, file),
            _ => {
                let place = at(file, 1);
                let first = text.lines().find(|line| !line.trim().is_empty());
                let expected = "a domain of libvirt in XML, a configuration of xl, control groups \
                                as `grep . -r /sys/fs/cgroup` prints them, command lines of QEMU, \
                                or an output of `lscpu`";
                Err(ImportError::wrong(
                    &place,
                    first.unwrap_or_default(),
                    expected,
                ))
            }
        }
    }

    /// The guest called `name`, which is new or known from another file.
    fn guest(&mut self, name: &str, place: &ImportPlace) -> &mut Guest {
        let known = self.guests.iter().position(|(other, _)| other == name);
        let known = known.unwrap_or_else(|| {
            let guest = Guest {
                at: place.clone(),
                ..Guest::default()
            };
            self.guests.push((name.to_owned(), guest));
            self.guests.len() - 1
        });
        &mut self.guests[known].1
    }

    /// Notes that the host is of this kind.
    ///
    /// # Errors
    /// When another file is of another kind.
    fn is_of(&mut self, kind: Kind, place: &ImportPlace) -> Result<(), ImportError> {
        match &self.kind {
            Some((other, before)) if *other != kind => Err(ImportError::Unusable(format!(
                "{}:{} is of a {} host, and {}:{} of a {} host; give the files of one host",
                place.file,
                place.line,
                kind.name(),
                before.file,
                before.line,
                other.name()
            ))),
            Some(_) => Ok(()),
            None => {
                self.kind = Some((kind, place.clone()));
                Ok(())
            }
        }
    }

    /// Notes what a scenario has no place for.
    fn leave_out(&mut self, what: impl Into<String>, place: &ImportPlace) {
        self.left_out.push(ImportNote {
            what: what.into(),
            place: Some(place.clone()),
        });
    }

    /// Notes what is assumed of a value.
    fn assume(&mut self, what: impl Into<String>, place: &ImportPlace) {
        self.assumed.push(ImportNote {
            what: what.into(),
            place: Some(place.clone()),
        });
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Linux => "KVM",
            Kind::Xen => "Xen",
        }
    }
}

/// A line of `file`.
fn at(file: &str, line: usize) -> ImportPlace {
    ImportPlace {
        file: file.to_owned(),
        line,
    }
}

/// A whole number from `min` to `max`.
fn number(
    text: &str,
    (min, max): (i64, i64),
    what: &str,
    place: &ImportPlace,
) -> Result<i64, ImportError> {
    let n = text.trim().parse::<i64>().ok();
    n.filter(|n| (min..=max).contains(n)).ok_or_else(|| {
        ImportError::wrong(
            place,
            text,
            format!("{what}: a whole number from {min} to {max}"),
        )
    })
}

/// Most vcpus of a guest.
const VCPUS_MAX: i64 = 512;

/// A number of vcpus.
fn vcpus(text: &str, place: &ImportPlace) -> Result<Told<u16>, ImportError> {
    let n = number(text, (1, VCPUS_MAX), "a number of vcpus", place)?;
    Ok(Told {
        value: n as u16,
        at: place.clone(),
    })
}

impl Guest {
    /// Sets a number, unless a file before has the same key: that one stays.
    fn set(&mut self, key: &'static str, value: i64, place: &ImportPlace) {
        self.numbers.entry(key).or_insert_with(|| Told {
            value,
            at: place.clone(),
        });
    }
}
