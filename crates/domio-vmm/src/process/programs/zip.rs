//! An archiver, as `zip -r` and `tar | gzip`: reads files one after the other, compresses what was
//! read, and appends the result to an archive.

use crate::process::{Context, Directories, FileId, FileSizes, Op, Prepare, Program, What};
use domio_core::{Duration, Instant};

/// What is compressed, and what that takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZipConfig {
    /// Files, which are there before, on the disk and in no cache; at least 1.
    pub files: u32,
    /// Directories that they are spread over, at least 1.
    pub directories: u32,
    /// Smallest and largest size of a file (bytes).
    pub size: (u64, u64),
    /// Bytes of a call that reads or writes, at least 1.
    pub block: u64,
    /// Processor time of compressing a KiB.
    pub work_kib: Duration,
    /// Size of what comes out, in percent of what went in; 0 for an archive that is thrown away.
    pub ratio_percent: u64,
}

impl ZipConfig {
    /// The sources of Linux 2.6.18: 20,000 files of 12 KB each in the mean, 240 MB in 1,200
    /// directories, rounded. `gzip` reads 32 KiB at a time (`INBUFSIZ`), and makes a quarter of C
    /// sources. 30 us a KiB (35 MB a second) are an estimate for a processor of 2.8 GHz.
    pub const LINUX_2_6_18: ZipConfig = ZipConfig {
        files: 20_000,
        directories: 1_200,
        size: (500, 24_000),
        block: 32 << 10,
        work_kib: Duration::from_micros(30),
        ratio_percent: 25,
    };

    /// The files that are archived.
    pub const fn prepare(&self) -> Prepare {
        Prepare {
            files: self.files,
            directories: Directories::Inside(self.directories),
            sizes: FileSizes::Between(self.size.0, self.size.1),
            series: 0,
            cached: false,
        }
    }
}

/// Where the process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Begin,
    Preparing,
    Creating,
    /// Begins with the next block of the file, or with the next file.
    Between,
    Reading,
    /// So many bytes are compressed.
    Computing(u64),
    Writing,
    Reported,
}

/// Archives all files once, and ends. Each file is reported as a job, from the first read to the
/// end of the work on its last byte.
#[derive(Clone, Debug)]
pub struct Zip {
    config: ZipConfig,
    disk: FileId,
    first: u32,
    archive: u32,
    /// The file under way, by its place, and how far it is.
    place: u32,
    at: u64,
    since: Instant,
    work: Duration,
    /// Bytes of the archive that are written, and those that are not yet.
    written: u64,
    pending: u64,
    step: Step,
}

impl Zip {
    /// Archives files of the file system of `disk`.
    ///
    /// # Panics
    /// When `config` has no file, no directory or no bytes of a call.
    #[track_caller]
    pub fn new(disk: FileId, config: ZipConfig) -> Self {
        let some = config.files > 0 && config.directories > 0 && config.block > 0;
        assert!(some, "an archive has files, read by the byte at least");
        Zip {
            config,
            disk,
            first: 0,
            archive: 0,
            place: 0,
            at: 0,
            since: Instant::ZERO,
            work: Duration::ZERO,
            written: 0,
            pending: 0,
            step: Step::Begin,
        }
    }

    fn does(&self, file: u32, what: What) -> Op {
        FileId { file, ..self.disk }.does(what)
    }

    /// The next call on the file under way, the report of it, or the end.
    fn go_on(&mut self, now: Instant) -> Op {
        if self.pending >= self.config.block {
            return self.write(self.config.block);
        }
        if self.place == self.config.files {
            return match self.pending {
                0 => Op::Exit,
                rest => self.write(rest),
            };
        }
        let left = self
            .config
            .prepare()
            .size(self.place)
            .saturating_sub(self.at);
        if left == 0 {
            self.step = Step::Reported;
            return Op::Report {
                released: self.since,
                work: self.work,
            };
        }
        if self.at == 0 {
            (self.since, self.work) = (now, Duration::ZERO);
        }
        self.step = Step::Reading;
        let (offset, bytes) = (self.at, self.config.block.min(left));
        self.does(self.first + self.place, What::Read { offset, bytes })
    }

    fn write(&mut self, bytes: u64) -> Op {
        self.step = Step::Writing;
        let offset = self.written;
        self.written += bytes;
        self.pending -= bytes;
        self.does(self.archive, What::Write { offset, bytes })
    }
}

impl Program for Zip {
    fn name(&self) -> &'static str {
        "zip"
    }

    fn next(&mut self, cx: &Context) -> Op {
        match self.step {
            Step::Begin => {
                self.step = Step::Preparing;
                return self.disk.does(What::Prepare(self.config.prepare()));
            }
            Step::Preparing => {
                self.first = cx.returned as u32;
                self.step = Step::Creating;
                return self.disk.does(What::Create { directory: 0 });
            }
            // The disk is full.
            Step::Creating if cx.returned as u32 == self.disk.file => return Op::Exit,
            Step::Creating => self.archive = cx.returned as u32,
            Step::Reading => {
                let read = cx.returned;
                // The file ends early only where there is no file system.
                let left = self
                    .config
                    .prepare()
                    .size(self.place)
                    .saturating_sub(self.at);
                self.at += if read == 0 { left } else { read };
                let time = self.config.work_kib * read / 1024;
                if !time.is_zero() {
                    self.step = Step::Computing(read);
                    self.work += time;
                    return Op::Compute(time);
                }
            }
            Step::Computing(read) => self.pending += read * self.config.ratio_percent / 100,
            Step::Reported => {
                self.place += 1;
                self.at = 0;
            }
            Step::Between | Step::Writing => {}
        }
        self.step = Step::Between;
        self.go_on(cx.now)
    }
}
