//! What files say of a host and its guests, with the places where they say so.

use domio_scenario::ScenarioErrors;
use std::collections::{BTreeMap, BTreeSet};

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
    pub(super) fn wrong(place: &ImportPlace, found: &str, expected: impl Into<String>) -> Self {
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
    /// Release of Linux ("6.1", "6.12", "6.18", "7.0", "7.2", "7.3") or of Xen ("4.17") of the
    /// host.
    pub release: Option<String>,
    /// The machine that says what work costs; `None` for the usual one of the kind of host.
    pub profile: Option<String>,
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
pub(super) enum Kind {
    /// KVM, or QEMU's own emulation: threads of a Linux host.
    Linux,
    Xen,
}

/// A value, and where it is from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Told<T> {
    pub(super) value: T,
    pub(super) at: ImportPlace,
}

/// The thread in which QEMU has its event loop, as Linux shows the name of the program.
pub(super) const EMULATOR: &str = "qemu-system-x86";

/// The name of QEMU's I/O thread that is called `id`, as Linux shows it.
pub(super) fn io_thread(id: &str) -> String {
    const LONGEST: usize = 15;
    let plain = |c: char| if c.is_ascii_graphic() { c } else { '-' };
    let name = "IO ".chars().chain(id.trim().chars().map(plain));
    name.take(LONGEST).collect()
}

/// A thread of QEMU beside the vcpus.
#[derive(Clone, Debug)]
pub(super) struct QemuThread {
    /// As Linux shows it.
    pub(super) name: String,
    /// Where it was first found.
    pub(super) at: ImportPlace,
    /// Its own pcpus; those of the guest where there are none.
    pub(super) pin: Option<Told<Vec<u16>>>,
}

/// A disk of virtio-blk.
#[derive(Clone, Debug)]
pub(super) struct QemuDisk {
    /// In the guest; `None` for the next one that is free.
    pub(super) name: Option<String>,
    /// The thread that serves it, as Linux shows the name.
    pub(super) thread: String,
    pub(super) at: ImportPlace,
}

/// A control group around guests.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    /// Its folder, as the listing has it.
    pub(super) path: String,
    /// Index of the one that it is in, which comes before.
    pub(super) parent: Option<usize>,
    /// Its numbers, whether it is idle, and its pcpus.
    pub(super) settings: Guest,
}

/// A guest as files describe it.
#[derive(Clone, Debug, Default)]
pub(super) struct Guest {
    /// Where it was first found.
    pub(super) at: ImportPlace,
    pub(super) vcpus: Option<Told<u16>>,
    /// Where it is seen that libvirt made groups for its threads, or makes them.
    pub(super) libvirt: Option<ImportPlace>,
    /// Numbers by the key of a scenario: weight, cap, quota_us, period_us, burst_us.
    pub(super) numbers: BTreeMap<&'static str, Told<i64>>,
    /// Keys of limits inside its group that a control group had.
    pub(super) seen: BTreeSet<&'static str>,
    /// Whether its control group is idle.
    pub(super) idle: Option<Told<bool>>,
    /// Pcpus of all vcpus that have no set of their own.
    pub(super) pin: Option<Told<Vec<u16>>>,
    /// Pcpus of single vcpus.
    pub(super) pins: BTreeMap<u16, Told<Vec<u16>>>,
    /// Pcpus that all vcpus prefer, and those of single ones.
    pub(super) soft: Option<Told<Vec<u16>>>,
    pub(super) softs: BTreeMap<u16, Told<Vec<u16>>>,
    /// Threads of QEMU that files name.
    pub(super) threads: Vec<QemuThread>,
    pub(super) disks: Vec<QemuDisk>,
    /// Index of the control group that it is in.
    pub(super) slice: Option<usize>,
}

/// What is known of the host's processors.
#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    pub(super) pcpus: Option<Told<u16>>,
    /// Sockets, cores of each, threads of each of these.
    pub(super) shape: Option<[u16; 3]>,
}

/// What all files say.
#[derive(Debug, Default)]
pub struct ImportFiles {
    pub(super) kind: Option<(Kind, ImportPlace)>,
    pub(super) machine: Machine,
    pub(super) guests: Vec<(String, Guest)>,
    pub(super) slices: Vec<Slice>,
    pub(super) assumed: Vec<ImportNote>,
    pub(super) left_out: Vec<ImportNote>,
    /// Names of the files, in the order in which they were read.
    pub(super) files: Vec<String>,
}

impl ImportFiles {
    /// The guest called `name`, which is new or known from another file.
    pub(super) fn guest(&mut self, name: &str, place: &ImportPlace) -> &mut Guest {
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
    pub(super) fn is_of(&mut self, kind: Kind, place: &ImportPlace) -> Result<(), ImportError> {
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
    pub(super) fn leave_out(&mut self, what: impl Into<String>, place: &ImportPlace) {
        self.left_out.push(ImportNote {
            what: what.into(),
            place: Some(place.clone()),
        });
    }

    /// Notes what is assumed of a value.
    pub(super) fn assume(&mut self, what: impl Into<String>, place: &ImportPlace) {
        self.assumed.push(ImportNote {
            what: what.into(),
            place: Some(place.clone()),
        });
    }
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Linux => "KVM",
            Kind::Xen => "Xen",
        }
    }
}

/// A line of `file`.
pub(super) fn at(file: &str, line: usize) -> ImportPlace {
    ImportPlace {
        file: file.to_owned(),
        line,
    }
}

/// A whole number from `min` to `max`.
pub(super) fn number(
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
pub(super) const VCPUS_MAX: i64 = 512;

/// A number of vcpus.
pub(super) fn vcpus(text: &str, place: &ImportPlace) -> Result<Told<u16>, ImportError> {
    let n = number(text, (1, VCPUS_MAX), "a number of vcpus", place)?;
    Ok(Told {
        value: n as u16,
        at: place.clone(),
    })
}

impl Guest {
    /// Sets a number, unless a file before has the same key: that one stays.
    pub(super) fn set(&mut self, key: &'static str, value: i64, place: &ImportPlace) {
        self.numbers.entry(key).or_insert_with(|| Told {
            value,
            at: place.clone(),
        });
    }

    /// QEMU's thread called `name`, which is new or known from another line.
    pub(super) fn thread(&mut self, name: &str, place: &ImportPlace) -> &mut QemuThread {
        let known = self.threads.iter().position(|thread| thread.name == name);
        let known = known.unwrap_or_else(|| {
            self.threads.push(QemuThread {
                name: name.to_owned(),
                at: place.clone(),
                pin: None,
            });
            self.threads.len() - 1
        });
        &mut self.threads[known]
    }
}
