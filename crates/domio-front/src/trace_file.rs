//! Traces of hosts that are read from files.

use crate::Tell;
use crate::clock;
use crate::input::{self, Stream};
use anyhow::Context;
use domio_core::Sink;
use domio_scenario::Parts;
use domio_trace::order::ADVICE;
use domio_trace::{ReadOptions, TraceError, TraceReader};
use std::io::Read;
use std::path::Path;

/// Opens the trace at `path`. `cpu_hz` is how often its clock counts a second, `None` for what the
/// trace or a file beside it says. `wrap` may watch the bytes. Private records are those of
/// `parts`.
///
/// # Errors
/// When there is no file, it is no trace, or it has no clock that could be given.
pub fn open<R: Read>(
    path: &Path,
    cpu_hz: Option<u64>,
    parts: &Parts,
    wrap: impl FnOnce(Stream) -> R,
    tell: Tell<'_>,
) -> anyhow::Result<TraceReader<R>> {
    let options = ReadOptions {
        tsc_hz: cpu_hz.or_else(|| clock::find(path, tell)),
        classes: parts.classes(),
        ..ReadOptions::default()
    };
    let context = || format!("cannot read the trace {}", input::name(path));
    let file = input::trace(path).with_context(context)?;
    let reader = TraceReader::new(wrap(file), &options).with_context(context)?;
    clock::has_effect(cpu_hz, reader.format(), &input::name(path))?;
    Ok(reader)
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
