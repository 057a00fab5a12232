//! Recognises formats by their content.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use crate::error::{LinuxError, LinuxErrorKind};
use crate::input::{Cut, Flow, Place, Unpacked};
use crate::known::Known;
use crate::platform::zstd_reader;
use crate::report::LinuxFormat;
use crate::source::Source;
use crate::{perf, perfetto, text, tracedat};

/// Bytes that are looked at.
const HEAD: usize = 4096;

/// What is read, and its first bytes.
pub(crate) struct Input {
    body: Body,
}

enum Body {
    Place(Place),
    Pipe(Box<dyn Read + Send>),
}

impl Input {
    pub fn file(file: File) -> io::Result<Input> {
        let body = Body::Place(Place::new(file)?);
        Ok(Input { body })
    }

    pub fn pipe(pipe: Box<dyn Read + Send>) -> Input {
        let body = Body::Pipe(pipe);
        Input { body }
    }

    /// The first bytes. A pipe is asked once more only as long as the format stays open.
    fn head(&mut self) -> io::Result<Vec<u8>> {
        let mut head = vec![0; HEAD];
        match &mut self.body {
            Body::Place(place) => {
                let n = place.read_at(0, &mut head)?;
                head.truncate(n);
            }
            Body::Pipe(pipe) => {
                let mut n = 0;
                while n < 32 {
                    match pipe.read(&mut head[n..]) {
                        Ok(0) => break,
                        Ok(read) => n += read,
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(e) => return Err(e),
                    }
                }
                head.truncate(n);
                let rest = std::mem::replace(pipe, Box::new(io::empty()));
                *pipe = Box::new(Cursor::new(head.clone()).chain(rest));
            }
        }
        Ok(head)
    }

    /// All bytes as a file.
    fn place(self) -> Result<Place, LinuxError> {
        match self.body {
            Body::Place(place) => Ok(place),
            Body::Pipe(mut pipe) => Place::spooled(&mut *pipe),
        }
    }

    /// All bytes from start to end.
    fn flow(self) -> Flow {
        match self.body {
            Body::Place(place) => {
                let end = place.len;
                Flow::of_place(place, 0, end)
            }
            Body::Pipe(pipe) => Flow::of_pipe(pipe),
        }
    }

    /// All bytes from `start` on, as a pipe.
    fn reader(self, start: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut flow = self.flow();
        flow.skip(start)?;
        Ok(Box::new(FlowReader(flow)))
    }
}

struct FlowReader(Flow);

impl Read for FlowReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.0.need(1)?.min(into.len());
        into[..n].copy_from_slice(&self.0.ready()[..n]);
        self.0.advance(n);
        Ok(n)
    }
}

/// What a file may be packed in.
enum Packing {
    Gzip,
    Zstd,
    /// `atrace -z`: "TRACE:" and zlib.
    Atrace,
}

/// Whether a file that begins with `head` is packed with gzip (RFC 1952).
pub fn is_gzip(head: &[u8]) -> bool {
    matches!(head, [0x1f, 0x8b, ..])
}

/// Whether a file that begins with `head` is packed with zstd (RFC 8878). Parallel packers write a
/// frame first that is to be skipped.
pub fn is_zstd(head: &[u8]) -> bool {
    matches!(
        head,
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
    )
}

fn packing(head: &[u8]) -> Option<Packing> {
    match head {
        _ if is_gzip(head) => Some(Packing::Gzip),
        _ if is_zstd(head) => Some(Packing::Zstd),
        _ if head.starts_with(b"TRACE:\n\x78") => Some(Packing::Atrace),
        _ => None,
    }
}

/// Recognises the input and reads what comes before its first event.
pub fn source(
    mut input: Input,
    known: &mut Known,
    cut: &Cut,
) -> Result<(LinuxFormat, Box<dyn Source>), LinuxError> {
    let mut head = input.head()?;
    if let Some(packing) = packing(&head) {
        let cut = Cut::clone(cut);
        input = Input::pipe(match packing {
            Packing::Gzip => {
                let packed = input.reader(0)?;
                Box::new(Unpacked::new(
                    flate2::read::MultiGzDecoder::new(packed),
                    cut,
                ))
            }
            Packing::Zstd => {
                let packed = zstd_reader(input.reader(0)?)?;
                Box::new(Unpacked::new(packed, cut))
            }
            Packing::Atrace => {
                let packed = flate2::read::ZlibDecoder::new(input.reader(7)?);
                Box::new(Unpacked::new(packed, cut))
            }
        });
        head = input.head().map_err(|e| {
            let found = format!("a packed file that cannot be unpacked ({e})");
            LinuxErrorKind::Foreign { found, hint: "" }.at(0)
        })?;
        if self::packing(&head).is_some() {
            let found = "a file that is packed twice".to_string();
            let hint = "; unpack it first";
            return Err(LinuxErrorKind::Foreign { found, hint }.at(0));
        }
    }
    match recognised(&head)? {
        Kind::Perf if perf::is_pipe(&head) => {
            let source = perf::pipe(input.flow(), known)?;
            Ok((LinuxFormat::PerfPipe, source))
        }
        Kind::Perf => Ok((LinuxFormat::PerfData, perf::file(input.place()?, known)?)),
        Kind::TraceDat => tracedat::source(input.place()?, known),
        Kind::Perfetto => {
            let source = perfetto::source(input.place()?, known)?;
            Ok((LinuxFormat::Perfetto, source))
        }
        Kind::Text => Ok((LinuxFormat::Text, text::source(input.flow(), known)?)),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Perf,
    TraceDat,
    Perfetto,
    Text,
}

fn recognised(head: &[u8]) -> Result<Kind, LinuxError> {
    if head.is_empty() {
        return Err(LinuxErrorKind::Empty.at(0));
    }
    if head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP") {
        return Ok(Kind::Perf);
    }
    if head.starts_with(b"\x17\x08\x44tracing") {
        return Ok(Kind::TraceDat);
    }
    if let Some((found, hint)) = foreign(head) {
        let found = found.to_string();
        return Err(LinuxErrorKind::Foreign { found, hint }.at(0));
    }
    if is_text(head) {
        return Ok(Kind::Text);
    }
    if perfetto::is_start(head) {
        return Ok(Kind::Perfetto);
    }
    let start: Vec<_> = head.iter().take(12).map(|b| format!("{b:02x}")).collect();
    let found = format!("the file starts with {}", start.join(" "));
    Err(LinuxErrorKind::Foreign { found, hint: "" }.at(0))
}

/// Whether a file that begins with `head` (1 KiB or more, unpacked) is a trace of Linux. A text is
/// one if `head` has a line of an event, or the first line of ftrace or of trace-cmd.
pub fn recognise(head: &[u8]) -> bool {
    match recognised(head) {
        Ok(Kind::Text) => text::is_start(head),
        Ok(Kind::Perf | Kind::TraceDat | Kind::Perfetto) => true,
        Err(_) => false,
    }
}

/// Text has no control characters other than white space, and may end inside a character.
fn is_text(head: &[u8]) -> bool {
    let odd = |b: &u8| *b < 0x20 && !matches!(*b, b'\t' | b'\n' | b'\r' | 0x1b | 0x0c);
    !head.iter().any(odd)
}

/// What to do with a recording of LTTng.
const NO_LTTNG: &str = "; LTTng is not read: record the host with `perf sched record` or \
                        `trace-cmd record -e sched`";

/// What files of other programs are, and what to do with them.
fn foreign(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let start = head.trim_ascii_start();
    let has = |what: &[u8]| memchr::memmem::find(head, what).is_some();
    Some(match head {
        [0xfd, b'7', b'z', b'X', b'Z', ..] => ("an xz file", "; unpack it first (`xz -d FILE`)"),
        [b'B', b'Z', b'h', ..] => ("a bzip2 file", "; unpack it first (`bunzip2 FILE`)"),
        [b'P', b'K', 3, 4, ..] => ("a zip file", "; unpack it first"),
        [0x7f, b'E', b'L', b'F', ..] => ("a program", ""),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => (
            "text in UTF-16",
            "; convert it first (`iconv -f UTF-16 -t UTF-8 FILE`)",
        ),
        [0xc1, 0x1f, 0xfc, 0xc1, ..] | [0xc1, 0xfc, 0x1f, 0xc1, ..] => {
            ("a stream of CTF (LTTng)", NO_LTTNG)
        }
        [0x75, 0xd1, 0x1d, 0x57, ..] | [0x57, 0x1d, 0xd1, 0x75, ..] => {
            ("the metadata of CTF (LTTng)", NO_LTTNG)
        }
        [0x03, 0xf0, 0x01, 0x20, ..] => ("a xentrace file", "; domio reads it as a trace of Xen"),
        [0x89, b'd', b'o', b'm', b'i', b'o', ..] => ("a domio trace", ""),
        _ if head.starts_with(b"PERFFILE") => (
            "perf.data of the version before Linux 2.6.35",
            "; record with a newer perf",
        ),
        _ if head.starts_with(b"SQLite format 3") => ("a SQLite database", ""),
        _ if start.starts_with(b"/* CTF") => ("the metadata of CTF (LTTng)", NO_LTTNG),
        _ if start.starts_with(b"{") || start.starts_with(b"[") => {
            match has(b"\"traceEvents\"") || has(b"\"ph\"") {
                true => (
                    "a Chrome trace (JSON)",
                    "; it has no switches of cpus: use the recording that it was made from",
                ),
                false => ("JSON", "; use the recording that it was made from"),
            }
        }
        _ => return None,
    })
}

/// The error for a folder.
pub fn folder(path: &Path) -> LinuxError {
    let (found, hint) = if path.join("metadata").exists() {
        ("a folder of CTF (LTTng)", NO_LTTNG)
    } else if path.join("data.0").exists() || path.join("data").exists() {
        (
            "a folder of `perf record --threads` or of `--kcore`",
            "; open the file `data` in it, or record without these options",
        )
    } else {
        ("a folder", "; name a file")
    };
    let found = found.to_string();
    LinuxErrorKind::Foreign { found, hint }.at(0)
}
