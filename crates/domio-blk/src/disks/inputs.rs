//! Workloads that somebody wrote down or recorded elsewhere: jobs of fio, and requests of a block
//! trace.

use super::jobs::{self, dealt};
use super::programs::{DiskProgram, Read};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use domio_core::keys::{
    Checker, Code, KeyTable, Keys, Mistake, Need, Slot, Span, WordOf, int, name, quote, text, word,
};
use domio_vmm::bus::side::{InputFiles, NoDemands, RecordedRequests, TaskInput};
use domio_vmm::config::Workload;
use domio_vmm::process::FileId;
use domio_vmm::process::programs::{FioJob, FioProblem, IoReplay, ReplayLoop};

/// Requests that are used of a block trace, at most: each takes 32 bytes of memory.
const REQUESTS_MAX: i64 = 10_000_000;

pub(super) const FIO: WordOf<Read> = WordOf::with_keys(
    "fio",
    fio,
    "Jobs of fio 3, in the words of its job files. Each call is a job of the domain's figures. \
     A job with `direct=1` works on the disk itself, others on files that are there before, \
     one for each clone (`numjobs`). Calls in flight (`iodepth`) are a process each.",
    FioKeys::KEYS,
);

pub(super) const REPLAY: WordOf<Read> = WordOf::with_keys(
    "io-replay",
    replay,
    "Makes the requests of a block trace on the disk itself, past the page cache, and ends. \
     Each is a job, in an open loop from the time at which it was to be made. Requests behind \
     the end of the disk are laid down from its beginning. `block-traces.md` has the formats.",
    ReplayKeys::KEYS,
);

keys! {
    struct FioKeys {
        job: String = text(), Need::Optional("`job_file`"),
            "The jobs, as a job file has them: `job = '''` and lines as `[reads]`, `rw=randread`, \
             `bs=8k`, `iodepth=4`.";
        job_file: String = text(), Need::Optional("`job`"),
            "Path of a job file, relative to the scenario's file.";
        device: String = name(), Need::Optional("the first one"), "Name of the domain's disk.";
    }
}

fn fio(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<(DiskProgram, Slot<String>)> {
    let keys = FioKeys::read(table);
    let program = match (keys.job.if_given()?, keys.job_file.if_given()?) {
        (Some(job), None) => DiskProgram::Fio(written(cx, table, &keys.job, &job)?),
        (None, Some(path)) => DiskProgram::Input(path, InputKind::FioJobs),
        (Some(_), Some(_)) => {
            let span = table.span(&keys.job_file);
            let mistake = Mistake::new(Code::Conflict, span, "the jobs are given twice");
            cx.tell(
                mistake
                    .key(table.path_of(&keys.job_file))
                    .expected("`job` or `job_file`")
                    .related(table.span(&keys.job), "the other one")
                    .hint("leave one of the two out"),
            );
            return None;
        }
        (None, None) => {
            let span = table.selected().map_or(table.header(), |place| place.value);
            cx.tell(
                Mistake::new(Code::MissingKey, span, "fio has no job")
                    .key(table.path_of(&keys.job))
                    .expected("`job` or `job_file`")
                    .hint("add `job = \"[reads]\\nrw=randread\\nbs=4k\\nsize=1g\"`"),
            );
            return None;
        }
    };
    Some((program, keys.device))
}

/// The jobs that stand in the scenario itself.
fn written(
    cx: &mut dyn Checker,
    table: &dyn KeyTable,
    slot: &Slot<String>,
    text: &str,
) -> Option<Vec<FioJob>> {
    let key = table.path_of(slot);
    match jobs::read(text) {
        Ok((jobs, notes)) => {
            for note in &notes {
                cx.note(format!("{key}, {note}"));
            }
            Some(jobs)
        }
        Err(problems) => {
            for problem in problems {
                let line = problem.line;
                cx.tell(
                    Mistake::new(
                        Code::OutOfRange,
                        table.span(slot),
                        format!("line {line} of the jobs: {}", problem.why),
                    )
                    .key(&key)
                    .expected("jobs of fio")
                    .hint("lines are counted from the first one of the text"),
                );
            }
            None
        }
    }
}

static PACES: [WordOf<ReplayLoop>; 2] = [
    WordOf::new(
        "open",
        ReplayLoop::Open,
        "Each request at its time; late, where its process still waits for the one before.",
    ),
    WordOf::new(
        "closed",
        ReplayLoop::Closed,
        "Each request as long after the end of the one before of its process as lay between the \
         begins of the two.",
    ),
];

keys! {
    struct ReplayKeys {
        trace: String = text(), Need::Required,
            "Path of the block trace, relative to the scenario's file.";
        pace: ReplayLoop = word(&PACES), Need::Word("open"), "When requests are made.";
        threads: u32 = int(1, 1024),
            Need::Optional("one for each process, or volume, of the recording; 1024 at most"),
            "Processes that make the requests in turn.";
        volume: String = text(), Need::Optional("all"),
            "Name of the device or volume in the trace whose requests are made.";
        requests: u64 = int(1, REQUESTS_MAX), Need::Int(1_000_000),
            "Requests that are used, at most, from the first on.";
        device: String = name(), Need::Optional("the first one"), "Name of the domain's disk.";
    }
}

fn replay(_: &mut dyn Checker, table: &dyn KeyTable) -> Option<(DiskProgram, Slot<String>)> {
    let keys = ReplayKeys::read(table);
    let requests = RecordedRequests {
        volume: keys.volume.if_given()?,
        most: keys.requests.get()?,
        threads: keys.threads.if_given()?,
        kind: keys.pace.get()?,
    };
    let path = keys.trace.get()?;
    let program = DiskProgram::Input(path, InputKind::Requests(requests));
    Some((program, keys.device))
}

/// A file that says what processes do with a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DiskInput {
    /// Path as the scenario writes it.
    pub path: String,
    /// What the file holds.
    pub holds: InputKind,
    /// The disk.
    pub disk: FileId,
    /// Bytes of the disk.
    pub bytes: u64,
    /// Bytes of the room for files in its file system, 0 without one.
    pub room: u64,
    /// Where the workload is asked for.
    pub span: Span,
}

/// What a file holds that says what processes do with a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum InputKind {
    /// Jobs in fio's words.
    FioJobs,
    /// Requests that were recorded.
    Requests(RecordedRequests),
}

/// Processes, each with its name, and what to know of the file that they come from.
type Made = (Vec<(String, Workload)>, Vec<String>);

impl TaskInput for DiskInput {
    fn path(&self) -> &str {
        &self.path
    }

    fn processes(&self, files: &dyn InputFiles, task: &str) -> Result<Made, NoDemands> {
        match &self.holds {
            InputKind::FioJobs => self.jobs(files, task),
            InputKind::Requests(requests) => self.requests(files, requests, task),
        }
    }

    fn refused(&self, NoDemands { why, hint }: NoDemands) -> Mistake {
        let path = quote(&self.path);
        let (key, what, expected) = match &self.holds {
            InputKind::FioJobs => ("job_file", "jobs", "a job file of fio"),
            InputKind::Requests(_) => ("trace", "requests", "a block trace with requests in it"),
        };
        let what = format!("there are no {what} of `{path}`: {why}");
        Mistake::new(Code::Replay, self.span, what)
            .key(key)
            .found(path)
            .expected(expected)
            .hint(hint)
    }
}

impl DiskInput {
    fn jobs(&self, files: &dyn InputFiles, task: &str) -> Result<Made, NoDemands> {
        let text = files.job_file(&self.path)?;
        let (jobs, notes) = jobs::read(&text).map_err(|problems| {
            let all: Vec<String> = problems.iter().map(FioProblem::to_string).collect();
            NoDemands {
                why: format!("{}: {}", self.path, all.join("; ")),
                hint: "correct the job file".to_owned(),
            }
        })?;
        let own = jobs::files(&jobs);
        let fits = (jobs::end(&jobs, self.bytes), self.bytes, "the disk has");
        let on_files = (jobs::room_for(&own).bytes, self.room, "its file system has");
        let both = [Some(fits), (!own.is_empty()).then_some(on_files)];
        let mut both = both.into_iter().flatten();
        if let Some((wanted, has, of)) = both.find(|(wanted, has, _)| wanted > has) {
            return Err(NoDemands {
                why: format!("the jobs use {wanted} bytes, and {of} {has}"),
                hint: "make the disk larger, or `size` in the job file smaller".to_owned(),
            });
        }
        let notes = notes.iter().map(|note| format!("{}, {note}", self.path));
        let processes = jobs::processes(&jobs, self.disk, self.bytes, task);
        Ok((processes, notes.collect()))
    }

    fn requests(
        &self,
        files: &dyn InputFiles,
        requests: &RecordedRequests,
        task: &str,
    ) -> Result<Made, NoDemands> {
        let (mut by_process, notices) = files.requests(&self.path, requests)?;
        let own = by_process.len().min(jobs::PROCESSES_MAX as usize) as u32;
        let threads = requests.threads.unwrap_or(own);
        if threads < by_process.len() as u32 || requests.threads.is_some() {
            by_process = dealt(by_process, threads);
        }
        let threads = by_process.len() as u32;
        let mut all = Vec::new();
        for (index, mut calls) in (0..).zip(by_process) {
            for call in &mut calls {
                call.bytes = call.bytes.min(self.bytes);
                if call.offset > self.bytes - call.bytes {
                    call.offset %= self.bytes - call.bytes + 1;
                }
            }
            let program = IoReplay::new(self.disk, calls.into(), requests.kind);
            let name = jobs::numbered(task, index, threads);
            all.push((name, Workload::program(program)));
        }
        Ok((all, notices))
    }
}
