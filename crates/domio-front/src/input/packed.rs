//! Files that were packed with gzip or zstd, unpacked while they are read.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// How a file is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// By gzip (RFC 1952).
    Gzip,
    /// By zstd (RFC 8878).
    Zstd,
}

impl Packing {
    /// Of a file that begins with `head`; `None` when it is not packed.
    pub fn of(head: &[u8]) -> Option<Self> {
        match head {
            _ if domio_linux::is_gzip(head) => Some(Packing::Gzip),
            _ if domio_linux::is_zstd(head) => Some(Packing::Zstd),
            _ => None,
        }
    }

    /// What people call such a file.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip file",
            Packing::Zstd => "zstd file",
        }
    }

    /// What is packed in `file`.
    pub fn unpack(self, file: impl Read + Send + 'static) -> Box<dyn Read + Send> {
        let file = BufReader::new(file);
        match self {
            Packing::Gzip => Box::new(Unpacked {
                packing: self,
                read: MultiGzDecoder::new(file),
            }),
            Packing::Zstd => Box::new(Unpacked {
                packing: self,
                read: Frames::new(file),
            }),
        }
    }
}

/// Says of an error that the packed file has it, not the trace or the scenario in it.
struct Unpacked<R> {
    packing: Packing,
    read: R,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read.read(buffer).map_err(|error| {
            let name = self.packing.name();
            let why = match error.kind() {
                io::ErrorKind::Interrupted => return error,
                io::ErrorKind::UnexpectedEof => format!("the {name} ends too early"),
                _ => format!("the {name} is damaged: {error}"),
            };
            // Whoever reads on after an end that came too early would take it for a cut trace.
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{why}; copy or pack it again"),
            )
        })
    }
}

/// The frames of a zstd file, one after the other.
struct Frames<R> {
    file: R,
    decoder: FrameDecoder,
    is_within: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(file: R) -> Self {
        Frames {
            file,
            decoder: FrameDecoder::new(),
            is_within: false,
        }
    }

    /// Begins the next frame. Returns whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.file.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.file) {
                Ok(()) => {
                    self.is_within = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(u64::from(length))?,
                Err(error) => return Err(self.damage(&error)),
            }
        }
        Ok(false)
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        let mut frame = self.file.by_ref().take(length);
        match io::copy(&mut frame, &mut io::sink())? {
            skipped if skipped < length => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// What `error` means: at the end of the file, that the file is cut.
    fn damage(&mut self, error: &FrameDecoderError) -> io::Error {
        match self.file.fill_buf() {
            Ok([]) => io::ErrorKind::UnexpectedEof.into(),
            Ok(_) => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
            Err(error) => error,
        }
    }

    /// Ends a frame whose content was read.
    fn end(&mut self) -> io::Result<()> {
        self.is_within = false;
        let written = self.decoder.get_checksum_from_data();
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            let why = "the checksum is another";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.is_within || self.begin()? {
            let read = self.decoder.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.end()?;
                continue;
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.decoder.decode_blocks(&mut self.file, one) {
                return Err(self.damage(&error));
            }
        }
        Ok(0)
    }
}
