//! Traces of hosts that are read from files.

use crate::Tell;
use crate::clock;
use crate::input::{self, Stream};
use anyhow::{Context, anyhow, bail};
use domio_core::Sink;
use domio_linux::LinuxReader;
use domio_linux::groups::OwnRule;
use domio_scenario::Parts;
use domio_trace::order::ADVICE;
use domio_trace::{
    Format, LinuxHost, LinuxOptions, ReadOptions, ThreadName, TraceError, TraceHeader, TraceReader,
};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a user says of a trace that the trace itself may not say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceHow {
    /// How often its clock counts a second; `None` for what the trace or a file beside it says.
    pub cpu_hz: Option<u64>,
    /// Rules of groups for a trace of Linux, before those that are built in.
    pub groups: Vec<OwnRule>,
    /// The file about the Linux host; `None` for the one beside the trace, if there is one.
    pub host: Option<PathBuf>,
}

impl TraceHow {
    /// Of a clock that counts so often a second.
    pub fn of_clock(cpu_hz: Option<u64>) -> Self {
        TraceHow {
            cpu_hz,
            ..TraceHow::default()
        }
    }

    /// How to read the trace at `path`, whose private records are those of `parts`.
    ///
    /// # Errors
    /// When the file about the host cannot be read.
    pub fn options(
        &self,
        path: &Path,
        parts: &Parts,
        tell: Tell<'_>,
    ) -> anyhow::Result<ReadOptions> {
        Ok(ReadOptions {
            tsc_hz: self.cpu_hz.or_else(|| clock::find(path, tell)),
            classes: parts.classes(),
            linux: LinuxOptions {
                groups: self.groups.clone(),
                host: self.host(path)?,
            },
            ..ReadOptions::default()
        })
    }

    /// What is known of the host of the trace at `path`.
    ///
    /// # Errors
    /// When the file about the host cannot be read.
    pub fn host(&self, path: &Path) -> anyhow::Result<Option<LinuxHost>> {
        let beside = || beside(path).into_iter().find(|path| path.is_file());
        let Some(path) = self.host.clone().or_else(beside) else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let host = LinuxHost::parse(&text).map_err(|error| {
            anyhow!("{} is no file about a Linux host: {error}", path.display())
        })?;
        Ok(Some(host))
    }

    /// Refuses what changes nothing for a trace called `name` in `format`.
    ///
    /// # Errors
    /// When any of it would change nothing.
    pub fn has_effect(&self, format: Format, name: &str) -> anyhow::Result<()> {
        clock::has_effect(self.cpu_hz, format, name)?;
        let given = [
            ("--group", !self.groups.is_empty()),
            ("--host", self.host.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) if format != Format::Linux => bail!(
                "{option} is of traces of Linux, and {name} has the format `{}`; leave it out",
                format.name()
            ),
            _ => Ok(()),
        }
    }
}

/// Where the file about the host of the trace at `path` may be: `trace.dat.host.json`,
/// `trace.host.json`; the same for a packed `trace.dat.gz`.
fn beside(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Vec::new();
    };
    let unpacked = [".gz", ".zst"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    let names = [Some(name), unpacked];
    let shorter = names.map(|name| name.and_then(|name| Some(name.rsplit_once('.')?.0)));
    let names = names.into_iter().chain(shorter).flatten();
    let names = names.filter(|name| !name.is_empty());
    names
        .map(|name| path.with_file_name(format!("{name}.host.json")))
        .collect()
}

/// Opens the trace at `path`. `how` is what the user says of it. `wrap` may watch the bytes.
/// Private records are those of `parts`.
///
/// # Errors
/// When there is no file, it is no trace, or it has no clock that could be given.
pub fn open<R: Read>(
    path: &Path,
    how: &TraceHow,
    parts: &Parts,
    wrap: impl FnOnce(Stream) -> R,
    tell: Tell<'_>,
) -> anyhow::Result<TraceReader<R>> {
    let options = how.options(path, parts, tell)?;
    let context = || format!("cannot read the trace {}", input::name(path));
    let file = input::trace(path).with_context(context)?;
    let reader = reader(path, file, &options, wrap).with_context(context)?;
    how.has_effect(reader.format(), &input::name(path))?;
    Ok(reader)
}

/// Reads `file`, which is at `path`. `wrap` may watch the bytes.
///
/// # Errors
/// When it is no trace.
pub fn reader<R: Read>(
    path: &Path,
    file: Stream,
    options: &ReadOptions,
    wrap: impl FnOnce(Stream) -> R,
) -> anyhow::Result<TraceReader<R>> {
    if file.format() != Some(Format::Linux) {
        return Ok(TraceReader::new(wrap(file), options)?);
    }
    // A recording of Linux has to be read here and there, which a file allows.
    let reader = match path.is_file() {
        true => LinuxReader::open(path)?,
        false => LinuxReader::new(file)?,
    };
    Ok(TraceReader::linux(reader, options))
}

/// The head of the trace at `path`, as `reader` has it at its end: the groups and threads of a
/// Linux trace are known when all of it was read, which happens here. Others have it at once.
///
/// # Errors
/// When the file cannot be read.
pub fn whole_header<R: Read>(
    reader: &TraceReader<R>,
    path: &Path,
    options: &ReadOptions,
) -> anyhow::Result<Option<TraceHeader>> {
    if reader.format() != Format::Linux || !path.is_file() {
        return Ok(reader.header().cloned());
    }
    let mut first: TraceReader<Stream> = TraceReader::linux(LinuxReader::open(path)?, options);
    // Whatever is wrong with the file is said when it is read again.
    while let Ok(Some(_)) = first.next_record() {}
    let threads = first.threads();
    Ok(first.header().cloned().map(|header| TraceHeader {
        threads: ThreadName::all(threads),
        ..header
    }))
}

/// Hands all records of the trace `name` to `sink` and returns where the file ends too early, if it
/// does. One of which not even the start is whole is no trace that has been cut.
///
/// # Errors
/// When the file cannot be read, or is damaged.
pub fn read<R: Read>(
    reader: &mut TraceReader<R>,
    name: &str,
    sink: &mut impl Sink,
    tell: Tell<'_>,
) -> anyhow::Result<Option<TraceError>> {
    let damage = match reader.copy_to(sink) {
        Ok(_) => None,
        Err(error) if error.is_truncation() && error.offset > 0 => Some(error),
        Err(error) => return Err(unreadable(error, name)),
    };
    if let Some(skipped) = reader.skipped() {
        tell(&format!("warning: {name}: {skipped}"));
    }
    for note in reader.notes() {
        tell(&format!("note: {name}: {note}"));
    }
    let disorder = reader.merge_stats().late;
    if disorder > 0 {
        tell(&format!(
            "warning: {name}: {disorder} records are earlier than the ones before them; {ADVICE}"
        ));
    }
    Ok(damage)
}

/// As [`read`], for those who use a file that ends too early as far as it goes, unless that is
/// nowhere. Returns whether it does.
///
/// # Errors
/// As [`read`]; when not a single record could be read.
pub fn copy<R: Read>(
    reader: &mut TraceReader<R>,
    name: &str,
    sink: &mut impl Sink,
    tell: Tell<'_>,
) -> anyhow::Result<bool> {
    match read(reader, name, sink, tell)? {
        Some(error) if error.records == 0 => Err(unreadable(error, name)),
        Some(error) => {
            tell(&cut(&error, name));
            Ok(true)
        }
        None => Ok(false),
    }
}

/// What to say of a trace that ends too early.
pub fn cut(damage: &TraceError, name: &str) -> String {
    format!("warning: {name}: {damage}; using what is there")
}

fn unreadable(error: TraceError, name: &str) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot read the trace {name}"))
}
