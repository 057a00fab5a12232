//! What `domio record` and `domio mon --live` have in common, and the recording into a file.

use crate::args::{Global, Record};
use crate::files::{FileKind, Files, Output};
use crate::out::{self, Status};
use crate::progress::seconds;
use crate::{files, interrupt};
use anyhow::{Context, bail};
use domio_linux::groups::OwnRule;
use domio_record::{Ended, Live, LiveOptions, LiveRecords, TraceFile, Way, rights, xen};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Records, into a file.
pub fn run(args: &Record, global: &Global) -> anyhow::Result<Status> {
    rights::reduce()?;
    let is_xen = args.xen || (xen::is_dom0() && !args.bpf && !args.tracefs);
    let mut files = Files::reading([]).forced(args.force);
    let path = match &args.output {
        Some(path) if files::is_stdout(path) => {
            bail!("--output -: a recording goes to a file, whose start is written at its end")
        }
        Some(path) => path.clone(),
        None => free(if is_xen { "bin" } else { "domio" }),
    };
    if is_xen {
        return by_xentrace(args, global, &path, &mut files);
    }
    let host_path = beside(&path);
    let trace = files.writes("--output", &path, FileKind::Recording)?;
    let host = files.writes("--output", &host_path, FileKind::Recording)?;
    let mut host = host.create()?;
    let output = trace.create()?;
    let options = LiveOptions {
        way: match (args.bpf, args.tracefs) {
            (true, _) => Some(Way::Bpf),
            (_, true) => Some(Way::Tracefs),
            _ => None,
        },
        buffer: args.buffer,
        interrupts: !args.no_interrupts,
        disks: !args.no_disks,
    };
    let records = start(&options, args.guests.groups.clone(), &[&path])?;
    let mut file = TraceFile::new(records, output)?;
    out::remark(&format!(
        "recording for {} s; Ctrl-C ends earlier",
        args.seconds
    ));
    let bar = seconds(global, args.seconds);
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(args.seconds) && !interrupt::has_ended_input() {
        file.round()?;
        bar.set_position(since.elapsed().as_millis() as u64);
    }
    bar.finish_and_clear();
    let written = file.finish()?;
    let mut output = written.out;
    output.replace_start(&written.head)?;
    let text = serde_json::to_string(&written.recorded.host).context("the file about the host")?;
    std::io::Write::write_all(&mut host, text.as_bytes()).context("the file about the host")?;
    output.finish()?;
    host.finish()?;
    tell(&written.recorded.ended);
    if written.recorded.missing > 0 {
        out::message(&format!(
            "note: {} runs end without a recorded switch, at the next event of their CPU: the \
             kernel does not trace the switches of some threads",
            written.recorded.missing
        ));
    }
    Output::told(&path, &format!(" ({} records)", written.records));
    Output::told(&host_path, "");
    Ok(Status::Success)
}

/// Switches recording on, says how, and gives up all rights that are not needed any more. `writes`
/// are files that get their names later.
pub fn start(
    options: &LiveOptions,
    groups: Vec<OwnRule>,
    writes: &[&Path],
) -> anyhow::Result<LiveRecords> {
    let live = Live::start(options)?;
    out::remark(&format!("by {}: {}", live.way(), live.why()));
    let way = live.way();
    let records = LiveRecords::new(live, groups);
    rights::reduce_to(way, writes.iter().any(|path| is_foreign(path)))?;
    interrupt::listen();
    interrupt::ends_input();
    Ok(records)
}

/// Whether the folder of a file belongs to somebody else, so that a rename there takes a right.
fn is_foreign(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let owner = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.uid()).ok();
    owner(folder.unwrap_or(Path::new("."))) != owner(Path::new("/proc/self"))
}

/// `NAME.host.json` for a trace `NAME.domio`.
fn beside(trace: &Path) -> PathBuf {
    trace.with_extension("host.json")
}

/// What a recording has and lacks, and what it took.
pub fn tell(ended: &Ended) {
    let passed = ended.cost.passed as f64 / 1e9;
    let lost: u64 = ended.lost.values().sum();
    let lost = match lost {
        0 => "none lost".to_owned(),
        _ => {
            let by_cpu = ended.lost.iter().map(|(cpu, n)| format!("cpu {cpu}: {n}"));
            let by_cpu: Vec<String> = by_cpu.collect();
            format!(
                "{lost} lost ({}), as the buffer was full; give a larger --buffer",
                by_cpu.join(", ")
            )
        }
    };
    out::message(&format!("{} events in {passed:.1} s, {lost}", ended.events));
    let percent = |ns: u64| 100.0 * ns as f64 / ended.cost.passed.max(1) as f64;
    let kernel = match ended.cost.kernel {
        Some(ns) => format!("{:.2} % in the kernel, by one event in 61", percent(ns)),
        None => "the kernel's part is not measured".to_owned(),
    };
    out::message(&format!(
        "recording took {:.2} % of a CPU: {:.2} % this process, {kernel}",
        ended.cost.percent(),
        percent(ended.cost.process),
    ));
    if ended.refused + ended.disorder > 0 {
        out::message(&format!(
            "warning: {} events could not be decoded, and {} came too late for their time",
            ended.refused, ended.disorder
        ));
    }
    if !ended.is_clean {
        out::message(
            "warning: the instance of tracefs could not be removed; rmdir \
             /sys/kernel/tracing/instances/domio-* removes it",
        );
    }
}

/// The first of `out/record-1.domio`, `out/record-2.domio` and so on that is not there.
fn free(extension: &str) -> PathBuf {
    let name = |n: u32| Path::new(files::FOLDER).join(format!("record-{n}.{extension}"));
    let free = (1..u32::MAX).map(name).find(|path| !path.exists());
    free.unwrap_or_else(|| name(u32::MAX))
}

fn by_xentrace(
    args: &Record,
    global: &Global,
    output: &Path,
    files: &mut Files,
) -> anyhow::Result<Status> {
    if !xen::is_dom0() {
        bail!(
            "--xen: this is no dom0 of Xen (/proc/xen/capabilities has no control_d); leave --xen \
             out to record the kernel"
        );
    }
    // The file is xentrace's to write; whether it may be is known before.
    files.writes("--output", output, FileKind::Recording)?;
    if let Some(folder) = output.parent() {
        files::make_own_folder(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    interrupt::listen();
    interrupt::ends_input();
    out::remark(&format!(
        "recording for {} s by xentrace: this is a dom0; Ctrl-C ends earlier",
        args.seconds
    ));
    let bar = seconds(global, args.seconds);
    let since = Instant::now();
    let stop = || {
        bar.set_position(since.elapsed().as_millis() as u64);
        interrupt::has_ended_input()
    };
    xen::record(args.seconds, args.buffer, output, &stop)?;
    bar.finish_and_clear();
    Output::told(output, "");
    Ok(Status::Success)
}
