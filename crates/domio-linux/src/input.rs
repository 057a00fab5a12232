//! Where bytes come from: files at any place, and pipes from start to end.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{LinuxError, LinuxErrorKind, cut};
use crate::platform::{MOST_SPOOLED, spool};

trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// Bytes that can be read at any place.
pub(crate) struct Place {
    file: Box<dyn ReadSeek>,
    /// Where `file` stands, so that reads in sequence need no seek.
    at: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Place {
    pub fn new(mut file: impl Read + Seek + Send + 'static) -> io::Result<Place> {
        let len = file.seek(SeekFrom::End(0))?;
        let file = Box::new(file);
        Ok(Place { file, at: len, len })
    }

    /// All bytes of a pipe.
    pub fn spooled(pipe: &mut dyn Read) -> Result<Place, LinuxError> {
        let mut file = spool();
        let copied = io::copy(&mut pipe.take(MOST_SPOOLED + 1), &mut file)?;
        if copied > MOST_SPOOLED {
            return Err(LinuxErrorKind::Unusable(format!(
                "more than {} MiB came through a pipe or were packed; write the trace to an \
                 unpacked file (`gunzip FILE`, `zstd -d FILE`) and read the file",
                MOST_SPOOLED >> 20
            ))
            .at(0));
        }
        Ok(Place::new(file)?)
    }

    /// Fills `into` from `offset` on; fewer bytes are read at the end of the file alone.
    pub fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        if offset >= self.len {
            return Ok(0);
        }
        if self.at != offset {
            self.file.seek(SeekFrom::Start(offset))?;
        }
        let read = read_full(&mut self.file, into)?;
        self.at = offset + read as u64;
        Ok(read)
    }

    /// `size` bytes at `offset`. An error names `what` when the file has fewer.
    pub fn part(&mut self, what: &str, offset: u64, size: u64) -> Result<Vec<u8>, LinuxError> {
        let found = self.len.saturating_sub(offset).min(size);
        if found < size {
            return Err(cut(what, size, found, offset));
        }
        let mut part = vec![0; size as usize];
        let read = self.read_at(offset, &mut part)?;
        if (read as u64) < size {
            return Err(cut(what, size, read as u64, offset));
        }
        Ok(part)
    }
}

/// Reads until `into` is full or the end comes.
pub fn read_full(from: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < into.len() {
        match from.read(&mut into[read..]) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(read)
}

/// Bytes from start to end, of a file's part or of a pipe, a window of them in memory.
pub(crate) struct Flow {
    from: Origin,
    buffer: Vec<u8>,
    /// Bytes of `buffer` before this one were used.
    start: usize,
    /// Bytes of `buffer` from this one on are not filled.
    end: usize,
    /// Where the byte at `start` is in the file.
    offset: u64,
    ended: bool,
}

enum Origin {
    Place { place: Place, at: u64, end: u64 },
    Pipe(Box<dyn Read + Send>),
}

/// Bytes that are read at a time.
const BLOCK: usize = 256 << 10;

impl Flow {
    pub fn of_place(place: Place, at: u64, end: u64) -> Flow {
        Flow::new(Origin::Place { place, at, end }, at)
    }

    pub fn of_pipe(pipe: Box<dyn Read + Send>) -> Flow {
        Flow::new(Origin::Pipe(pipe), 0)
    }

    fn new(from: Origin, offset: u64) -> Flow {
        Flow {
            from,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offset,
            ended: false,
        }
    }

    /// Where the next byte is in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes that come next, as far as they were read.
    #[inline]
    pub fn ready(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether [`Flow::ready`] holds all that is left.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Reads on until `n` bytes are ready, or the end comes. Returns how many are ready.
    #[inline]
    pub fn need(&mut self, n: usize) -> io::Result<usize> {
        while self.end - self.start < n && !self.ended {
            self.more(n)?;
        }
        Ok(self.end - self.start)
    }

    /// Reads once. The buffer grows with what really comes, to `n` bytes and a block.
    #[cold]
    pub fn more(&mut self, n: usize) -> io::Result<()> {
        let have = self.end - self.start;
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
        }
        (self.start, self.end) = (0, have);
        let room = (have + BLOCK).min(n.max(have) + BLOCK);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let into = &mut self.buffer[have..room];
        let read = match &mut self.from {
            Origin::Place { place, at, end } => {
                let left = usize::try_from(*end - (*at).min(*end)).unwrap_or(usize::MAX);
                let size = left.min(into.len());
                let read = place.read_at(*at, &mut into[..size])?;
                *at += read as u64;
                read
            }
            Origin::Pipe(pipe) => loop {
                match pipe.read(into) {
                    Ok(read) => break read,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            },
        };
        self.end += read;
        self.ended = read == 0;
        Ok(())
    }

    /// Goes on by `n` bytes, which are ready.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        self.start += n;
        self.offset += n as u64;
    }

    /// Goes on by `n` bytes, ready or not. Returns by how many, fewer at the end.
    pub fn skip(&mut self, n: u64) -> io::Result<u64> {
        let mut left = n;
        while left > 0 {
            let ready = self.need(1)? as u64;
            if ready == 0 {
                break;
            }
            let step = ready.min(left);
            self.advance(step as usize);
            left -= step;
        }
        Ok(n - left)
    }
}

/// Whether a packed file ended inside its packing.
pub type Cut = Arc<AtomicBool>;

/// Unpacks, and takes an end inside the packing for the end, which `cut` remembers.
pub(crate) struct Unpacked<R> {
    inner: R,
    cut: Cut,
    read: u64,
}

impl<R> Unpacked<R> {
    pub fn new(inner: R, cut: Cut) -> Self {
        Unpacked {
            inner,
            cut,
            read: 0,
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(into) {
            Ok(n) => {
                self.read += n as u64;
                Ok(n)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(e),
            // What was unpacked is of use, unless nothing was.
            Err(e) if self.read == 0 => Err(e),
            Err(_) => {
                self.cut.store(true, Ordering::Relaxed);
                Ok(0)
            }
        }
    }
}
