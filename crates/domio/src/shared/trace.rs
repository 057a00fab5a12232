//! Reading traces of hosts, with a bar of progress and what is to be said of them.

use crate::args::{Global, TraceInput};
use crate::input::{self, Stream};
use crate::out;
use crate::progress::reading;
use domio_core::Sink;
use domio_front::trace_file;
use domio_trace::TraceReader;
use indicatif::ProgressBarIter;

/// A trace file that is being read.
pub type Reader = TraceReader<ProgressBarIter<Stream>>;

/// Opens the trace.
///
/// # Errors
/// When there is no file, it is no trace, or it has no clock that could be given.
pub fn open(input: &TraceInput, global: &Global) -> anyhow::Result<Reader> {
    let watched = |file| reading(global, file);
    trace_file::open(
        &input.file,
        &input.linux.how(input.cpu_hz),
        &global.parts,
        watched,
        &out::message,
    )
}

/// Hands all records to `sink`, as [`trace_file::copy`]. Returns whether the file ends too early.
///
/// # Errors
/// When the file cannot be read, is damaged, or holds no whole record.
pub fn copy(reader: &mut Reader, input: &TraceInput, sink: &mut impl Sink) -> anyhow::Result<bool> {
    let file = input::name(&input.file);
    trace_file::copy(reader, &file, sink, &out::message)
}

/// Warns of a trace that has `records`, but none of runstates, and hence none of `what`.
pub fn no_runstates(input: &TraceInput, records: u64, what: &str) {
    let file = input::name(&input.file);
    out::message(&format!(
        "warning: {file}: {records} records, but none of runstates, so there are no {what}; record \
         with `xentrace -e 0x0002f000`"
    ));
}
