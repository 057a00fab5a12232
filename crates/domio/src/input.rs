//! What a command reads: files, and standard input where `-` stands for a file.

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

/// What was read of standard input to see what it is, and has to be read again.
static PEEKED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The first bytes of standard input, `most` at most, for whoever has to tell what it is. They are
/// read again by [`stdin_bytes`] or by a [`Stream`].
///
/// # Errors
/// When it cannot be read.
pub fn peek_stdin(most: usize) -> io::Result<Vec<u8>> {
    let mut peeked = Vec::new();
    io::stdin()
        .lock()
        .take(most as u64)
        .read_to_end(&mut peeked)?;
    if let Ok(mut kept) = PEEKED.lock() {
        kept.clone_from(&peeked);
    }
    Ok(peeked)
}

/// Takes what was peeked.
fn peeked() -> Vec<u8> {
    PEEKED
        .lock()
        .map(|mut p| std::mem::take(&mut *p))
        .unwrap_or_default()
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
    let mut bytes = peeked();
    let mut limited = io::stdin().lock().take(most as u64 + 1);
    limited.read_to_end(&mut bytes)?;
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

/// A stream of bytes: a file, or standard input.
pub enum Stream {
    /// A file on disk.
    File(File),
    /// Standard input, after what was peeked of it.
    Stdin(io::Chain<io::Cursor<Vec<u8>>, io::Stdin>),
}

impl Stream {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// When there is none that can be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        match is_stdin(path) {
            true => Ok(Stream::Stdin(io::Cursor::new(peeked()).chain(io::stdin()))),
            false => File::open(path).map(Stream::File),
        }
    }

    /// How many bytes it has, as far as that is known.
    pub fn length(&self) -> u64 {
        match self {
            Stream::File(file) => file.metadata().map_or(0, |m| m.len()),
            Stream::Stdin(_) => 0,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::File(file) => file.read(buffer),
            Stream::Stdin(stdin) => stdin.read(buffer),
        }
    }
}
