//! One reader for all formats.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::Ordering;

use crate::error::{LinuxError, LinuxErrorKind, cut};
use crate::input::Cut;
use crate::known::Known;
use crate::open::{self, Input};
use crate::order::InOrder;
use crate::report::{FileDamage, LinuxFormat, LinuxLosses, LinuxRecording};
use crate::source::Source;
use crate::{LinuxEvent, LinuxWhat, Tasks};

/// Whether an event is one of the scheduler.
fn is_of_scheduler(what: LinuxWhat) -> bool {
    matches!(
        what,
        LinuxWhat::Switch { .. }
            | LinuxWhat::Waking { .. }
            | LinuxWhat::Wakeup { .. }
            | LinuxWhat::WakeupNew { .. }
            | LinuxWhat::Migrate { .. }
            | LinuxWhat::Runtime { .. }
    )
}

/// Reads a trace of Linux in any of the formats, event by event.
///
/// Memory does not grow with the length of the trace, apart from one entry for each thread.
///
/// ```no_run
/// let mut reader = domio_linux::LinuxReader::open("trace.dat")?;
/// while let Some(event) = reader.next_event()? {
///     println!("{} {}: {:?}", event.time, event.cpu, event.what);
/// }
/// # Ok::<(), domio_linux::LinuxError>(())
/// ```
pub struct LinuxReader {
    format: LinuxFormat,
    source: Box<dyn Source>,
    known: Known,
    packing: Cut,
    events: u64,
    of_scheduler: bool,
    order: InOrder,
    done: bool,
}

impl LinuxReader {
    /// Opens a file, or a pipe that has a path. Files packed with gzip or zstd are unpacked on the
    /// way.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is none of the formats, or is cut before its first event.
    pub fn open(path: impl AsRef<Path>) -> Result<LinuxReader, LinuxError> {
        let path = path.as_ref();
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(open::folder(path));
        }
        LinuxReader::of(match metadata.is_file() {
            true => Input::file(file)?,
            false => Input::pipe(Box::new(file)),
        })
    }

    /// Reads from a pipe. Formats that need a file (`trace.dat`, `perf.data` other than of a pipe,
    /// Perfetto) are read after the pipe has ended, from memory or a temporary file.
    ///
    /// # Errors
    ///
    /// See [`LinuxReader::open`].
    pub fn new(input: impl Read + Send + 'static) -> Result<LinuxReader, LinuxError> {
        LinuxReader::of(Input::pipe(Box::new(input)))
    }

    fn of(input: Input) -> Result<LinuxReader, LinuxError> {
        let mut known = Known::default();
        let packing = Cut::default();
        let (format, source) = open::source(input, &mut known, &packing)?;
        Ok(LinuxReader {
            format,
            source,
            known,
            packing,
            events: 0,
            of_scheduler: false,
            order: InOrder::default(),
            done: false,
        })
    }

    /// The format of the file.
    pub fn format(&self) -> LinuxFormat {
        self.format
    }

    /// The next event in the order of time; none at the end.
    ///
    /// # Errors
    ///
    /// The file is cut or damaged so that nothing more can be read. All whole events were returned
    /// before. After an error there are no more events.
    pub fn next_event(&mut self) -> Result<Option<LinuxEvent>, LinuxError> {
        if self.done {
            return Ok(None);
        }
        match self.source.next(&mut self.known) {
            Ok(Some(mut event)) => {
                self.known.damage.disorder += u64::from(self.order.moves(&mut event));
                self.events += 1;
                self.of_scheduler = self.of_scheduler || is_of_scheduler(event.what);
                if let LinuxWhat::Lost { events } = event.what {
                    self.known.losses.add(event.cpu, events);
                }
                Ok(Some(event))
            }
            Ok(None) => {
                self.done = true;
                if self.packing.load(Ordering::Relaxed) {
                    return Err(self.ended(cut("the packed file", 1, 0, 0)));
                }
                if !self.of_scheduler {
                    return Err(self.nothing());
                }
                Ok(None)
            }
            Err(error) => Err(self.ended(error)),
        }
    }

    /// The error for a file without an event of the scheduler.
    fn nothing(&self) -> LinuxError {
        LinuxError {
            kind: LinuxErrorKind::Unusable(format!(
                "the {} holds {} and no event of the scheduler; record with `perf sched record` or \
                 `trace-cmd record -e sched`",
                self.format,
                self.source.contents()
            )),
            offset: 0,
            events: 0,
        }
    }

    /// Takes note of the error that ends reading.
    fn ended(&mut self, mut error: LinuxError) -> LinuxError {
        self.done = true;
        if self.packing.load(Ordering::Relaxed) && error.is_truncation() {
            error.kind = LinuxErrorKind::Truncated {
                what: "the packed file (gzip or zstd)".to_string(),
                unit: "end mark",
                expected: 1,
                found: 0,
            };
        }
        error.events = self.events;
        if error.is_truncation() {
            self.known.damage.cut = Some(error.to_string());
        }
        error
    }

    /// What is known of threads, as far as the trace was read. Names from within a part that is put
    /// in order (see [`LinuxReader::next_event`]) can be known a little before their event.
    pub fn tasks(&self) -> &Tasks {
        &self.known.tasks
    }

    /// What the recorder lost, as far as the trace was read.
    pub fn losses(&self) -> &LinuxLosses {
        &self.known.losses
    }

    /// What is wrong with the file, as far as it was read.
    pub fn damage(&self) -> &FileDamage {
        &self.known.damage
    }

    /// What the file says about the recording.
    pub fn about(&self) -> &LinuxRecording {
        &self.known.recording
    }
}
