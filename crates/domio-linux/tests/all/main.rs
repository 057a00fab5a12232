//! Readers of traces of Linux, from outside.

mod build;
mod damage;
mod foreign;
mod perf;
mod perf_file;
mod perfetto;
mod recordings;
mod text;
mod trace_dat;
mod tracedat;

use std::io::{Cursor, Write};
use std::path::PathBuf;

use domio_linux::{LinuxError, LinuxEvent, LinuxReader};

/// A recording in `testdata/linux`.
fn recording(name: &str) -> PathBuf {
    let root = [env!("CARGO_MANIFEST_DIR"), "..", "..", "testdata", "linux"];
    root.iter().collect::<PathBuf>().join(name)
}

/// A recording, unpacked.
fn unpacked(name: &str) -> Vec<u8> {
    let bytes = std::fs::read(recording(name)).unwrap();
    let mut out = Vec::new();
    match name.ends_with(".gz") {
        true => {
            let mut unpack = flate2::read::GzDecoder::new(&bytes[..]);
            std::io::copy(&mut unpack, &mut out).unwrap();
        }
        false => out = bytes,
    }
    out
}

/// All events of a reader, and the error that ended reading.
fn all(reader: &mut LinuxReader) -> (Vec<LinuxEvent>, Option<LinuxError>) {
    let mut events = Vec::new();
    loop {
        match reader.next_event() {
            Ok(Some(event)) => events.push(event),
            Ok(None) => return (events, None),
            Err(error) => {
                assert!(
                    matches!(reader.next_event(), Ok(None)),
                    "events after an error"
                );
                return (events, Some(error));
            }
        }
    }
}

/// A reader of bytes that come through a pipe.
fn reader(bytes: Vec<u8>) -> Result<LinuxReader, LinuxError> {
    LinuxReader::new(Cursor::new(bytes))
}

/// All events of bytes without an error, and the reader.
fn read(bytes: Vec<u8>) -> (Vec<LinuxEvent>, LinuxReader) {
    let mut reader = reader(bytes).unwrap();
    let (events, error) = all(&mut reader);
    assert!(error.is_none(), "{error:?}");
    (events, reader)
}

/// The error that reading ends with, be it at the start or at the end.
fn error(bytes: Vec<u8>) -> LinuxError {
    match reader(bytes) {
        Ok(mut reader) => all(&mut reader).1.expect("an error"),
        Err(error) => error,
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}
