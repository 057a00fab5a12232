//! Workloads that somebody wrote down or recorded elsewhere: jobs of fio, and requests of a block
//! trace.

use super::work::{DiskProgram, DiskWork, Work};
use crate::check::{Cx, Fields};
use crate::jobs;
use crate::plan::{DiskInputKind, RecordedRequests};
use crate::problem::{Code, Problem};
use domio_core::keys::{Keys, Need, Slot, WordOf, int, name, text, word};
use domio_vmm::process::programs::{FioJob, ReplayLoop};

/// Requests that are used of a block trace, at most: each takes 32 bytes of memory.
const REQUESTS_MAX: i64 = 10_000_000;

/// Reads the keys of a workload; `None` when one of them is bad.
type Read = fn(&mut Cx<'_>, &Fields<'_>) -> Option<(DiskProgram, Slot<String>)>;

/// The workloads.
pub(super) static WITH_INPUT: [WordOf<Read>; 2] = [
    WordOf::with_keys(
        "fio",
        fio,
        "Jobs of fio 3, in the words of its job files. Each call is a job of the domain's figures. \
         A job with `direct=1` works on the disk itself, others on files that are there before, \
         one for each clone (`numjobs`). Calls in flight (`iodepth`) are a process each.",
        FioKeys::KEYS,
    ),
    WordOf::with_keys(
        "io-replay",
        replay,
        "Makes the requests of a block trace on the disk itself, past the page cache, and ends. \
         Each is a job, in an open loop from the time at which it was to be made. Requests behind \
         the end of the disk are laid down from its beginning. `block-traces.md` has the formats.",
        ReplayKeys::KEYS,
    ),
];

/// What the workload that `read` reads does.
pub(super) fn with_input(cx: &mut Cx<'_>, fields: &Fields<'_>, read: Read) -> Option<Work> {
    let (program, device) = read(cx, fields)?;
    let disk = device.if_given()?;
    Some(Work::Disk(DiskWork {
        program,
        disk: disk.map(|name| (name, fields.span(&device))),
        span: fields.selected().map_or(fields.header, |field| field.span),
    }))
}

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

fn fio(cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<(DiskProgram, Slot<String>)> {
    let keys: FioKeys = fields.read();
    let program = match (keys.job.if_given()?, keys.job_file.if_given()?) {
        (Some(job), None) => DiskProgram::Fio(written(cx, fields, &keys.job, &job)?),
        (None, Some(path)) => DiskProgram::Input(path, DiskInputKind::FioJobs),
        (Some(_), Some(_)) => {
            let span = fields.span(&keys.job_file);
            let problem = Problem::new(Code::Conflict, span, "the jobs are given twice");
            cx.push(
                problem
                    .key(fields.path_of(&keys.job_file))
                    .expected("`job` or `job_file`")
                    .related(fields.span(&keys.job), "the other one")
                    .hint("leave one of the two out"),
            );
            return None;
        }
        (None, None) => {
            let span = fields.selected().map_or(fields.header, |field| field.span);
            cx.push(
                Problem::new(Code::MissingKey, span, "fio has no job")
                    .key(fields.path_of(&keys.job))
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
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    slot: &Slot<String>,
    text: &str,
) -> Option<Vec<FioJob>> {
    let key = fields.path_of(slot);
    match jobs::read(text) {
        Ok((jobs, notes)) => {
            cx.notices
                .extend(notes.iter().map(|note| format!("{key}, {note}")));
            Some(jobs)
        }
        Err(problems) => {
            for problem in problems {
                let line = problem.line;
                cx.push(
                    Problem::new(
                        Code::OutOfRange,
                        fields.span(slot),
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

fn replay(_: &mut Cx<'_>, fields: &Fields<'_>) -> Option<(DiskProgram, Slot<String>)> {
    let keys: ReplayKeys = fields.read();
    let requests = RecordedRequests {
        volume: keys.volume.if_given()?,
        most: keys.requests.get()?,
        threads: keys.threads.if_given()?,
        kind: keys.pace.get()?,
    };
    let path = keys.trace.get()?;
    let program = DiskProgram::Input(path, DiskInputKind::Requests(requests));
    Some((program, keys.device))
}
