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
mod found;
mod machine;
mod made;
mod qemu;
#[cfg(test)]
mod tests;
mod xl_cfg;
mod xml;

pub use found::{ImportError, ImportFiles, ImportNote, ImportOptions, ImportPlace, ImportedHost};
pub use made::scenario;

pub(crate) use xml::{PERIODS, QUOTAS};

use found::at;

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
}
