//! What a command reads: files, and standard input where `-` stands for a file. What a file is, its
//! content tells.

mod kind;
mod packed;
mod texts;

pub use kind::{InputKind, begins_as_perfetto};
pub use packed::Packing;

use anyhow::bail;
use domio_trace::Format;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, OnceLock};

/// What stands for standard input on the command line.
pub const STDIN: &str = "-";

/// What messages call it.
pub const STDIN_NAME: &str = "<stdin>";

/// Whether `path` stands for standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// What messages call `path`.
pub fn name(path: &Path) -> String {
    match is_stdin(path) {
        true => STDIN_NAME.to_owned(),
        false => path.display().to_string(),
    }
}

/// The bytes of standard input, read once, so that a command may name it twice. Of more than `most`
/// bytes one over that, for those who refuse it.
///
/// # Errors
/// When it cannot be read.
pub fn stdin_bytes(most: usize) -> io::Result<&'static [u8]> {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(bytes) = BYTES.get() {
        return Ok(bytes);
    }
    let mut bytes = Vec::new();
    let stdin = Stream::open(Path::new(STDIN))?;
    stdin.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(BYTES.get_or_init(|| bytes))
}

/// The text of the file at `path`.
///
/// # Errors
/// When it cannot be read, or is no UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    const MOST: usize = 16 << 20;
    if !is_stdin(path) {
        return std::fs::read_to_string(path);
    }
    let bytes = stdin_bytes(MOST)?.to_vec();
    String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

/// A stream of bytes: a file, or standard input. What gzip or zstd packed is unpacked.
pub struct Stream {
    /// The first bytes, unpacked.
    head: Vec<u8>,
    /// How many of them were read.
    at: usize,
    /// What comes after the head.
    rest: Box<dyn Read + Send>,
    /// The file on disk, if it is one.
    file: Option<File>,
    packing: Option<Packing>,
}

/// Standard input of which only the head was looked at.
static PEEKED: Mutex<Option<Stream>> = Mutex::new(None);

impl Stream {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// When there is none that can be read, or its begin cannot be unpacked.
    pub fn open(path: &Path) -> io::Result<Self> {
        if is_stdin(path) {
            let peeked = PEEKED.lock().ok().and_then(|mut peeked| peeked.take());
            return peeked.map_or_else(|| Stream::new(Box::new(io::stdin()), None), Ok);
        }
        let file = File::open(path)?;
        let on_disk = match file.metadata()?.is_file() {
            true => Some(file.try_clone()?),
            false => None,
        };
        Stream::new(Box::new(file), on_disk)
    }

    fn new(mut raw: Box<dyn Read + Send>, file: Option<File>) -> io::Result<Self> {
        let head = head_of(&mut raw, file.is_some())?;
        let Some(packing) = Packing::of(&head) else {
            return Ok(Stream {
                head,
                at: 0,
                rest: raw,
                file,
                packing: None,
            });
        };
        let mut rest = packing.unpack(io::Cursor::new(head).chain(raw));
        Ok(Stream {
            head: head_of(&mut rest, file.is_some())?,
            at: 0,
            rest,
            file,
            packing: Some(packing),
        })
    }

    /// What it is.
    pub fn kind(&self) -> InputKind {
        InputKind::of(&self.head)
    }

    /// The format of the trace that it is, by its begin.
    pub fn format(&self) -> Option<Format> {
        Format::of(&self.head).ok()
    }

    /// How it is packed, if it is.
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// How many bytes will be read, as far as that is known.
    pub fn length(&self) -> u64 {
        match self.packing {
            Some(_) => 0,
            None => self.size().unwrap_or(0),
        }
    }

    /// How many bytes the file on disk has now.
    pub fn size(&self) -> Option<u64> {
        let file = self.file.as_ref()?;
        file.metadata().ok().map(|file| file.len())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.head.len() {
            return self.rest.read(buffer);
        }
        let read = (&self.head[self.at..]).read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

/// Bytes that say what a file is.
const HEAD: usize = 16_384;

/// The first bytes of `file`. Of a pipe, whose writer may be slow, so many as are there, if they
/// can say anything.
fn head_of(file: &mut impl Read, is_whole: bool) -> io::Result<Vec<u8>> {
    const TELLING: usize = 16;
    let enough = if is_whole { HEAD } else { TELLING };
    let mut head = vec![0; HEAD];
    let mut length = 0;
    while length < enough {
        match file.read(&mut head[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    head.truncate(length);
    Ok(head)
}

/// What the file at `path` is, or what is on standard input; that is read again by whoever opens
/// it next.
///
/// # Errors
/// When it cannot be read.
pub fn kind(path: &Path) -> io::Result<InputKind> {
    let stream = Stream::open(path)?;
    let kind = stream.kind();
    if is_stdin(path)
        && let Ok(mut peeked) = PEEKED.lock()
    {
        *peeked = Some(stream);
    }
    Ok(kind)
}

/// Whether `source` is a file in a format of traces, whatever it is called.
pub fn is_trace(source: &Path) -> bool {
    source.is_file() && matches!(kind(source), Ok(InputKind::Trace))
}

/// What takes a trace of a block device.
const OF_BLOCK_TRACES: &str =
    "it has a disk's requests: `domio trace summary`, `trace replay` and `explain` read it";

/// Opens the trace at `path`.
///
/// # Errors
/// When it cannot be read, or is known to be something else: what that is, and what takes it.
pub fn trace(path: &Path) -> anyhow::Result<Stream> {
    let stream = Stream::open(path)?;
    let (what, advice) = match stream.kind() {
        InputKind::Trace | InputKind::Unknown => return Ok(stream),
        InputKind::Foreign { what, advice } => (what, advice),
        InputKind::BlockTrace => ("a block trace", OF_BLOCK_TRACES),
        InputKind::Scenario => (
            "a scenario",
            "`domio run SCENARIO --trace FILE` simulates it and writes a trace, and `domio run`, \
             `compare` and `explain` take the scenario itself",
        ),
    };
    bail!("this is {what}, where a trace is expected; {advice}")
}

/// What to say when `name`, which is of `kind`, is given where a scenario is expected; `None` when
/// it may be one.
pub fn no_scenario(name: &str, kind: InputKind) -> Option<String> {
    let (what, advice) = match kind {
        InputKind::Scenario | InputKind::Unknown => return None,
        InputKind::Foreign { what, advice } => (what, advice),
        InputKind::BlockTrace => ("a block trace", OF_BLOCK_TRACES),
        InputKind::Trace => (
            "a trace",
            "`domio trace summary`, `domio explain` and `domio mon` take it, and `domio scenario \
             from-trace` makes a scenario of it",
        ),
    };
    Some(format!(
        "{name} is {what}, where a scenario is expected; {advice}"
    ))
}
