//! The way by tracefs: an instance of its own, whose pages are read as they come.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use domio_linux::LivePages;

use crate::error::RecordError;
use crate::guardian::Guardian;
use crate::mounts;
use crate::options::LiveOptions;
use crate::points::{POINTS, Part};
use crate::processes::{self, Stat, line};
use crate::{Event, Tasks, Tid, What};

/// `O_NONBLOCK`, which is the same on all architectures that Rust's standard library has but MIPS.
const NONBLOCK: i32 = 0o4000;

/// What names of instances begin with; the id of the process follows, and when it began.
const PREFIX: &str = "domio-";

/// Most of a cpu's pages that are taken in a row, so that one busy cpu does not hold up the others.
const IN_A_ROW: usize = 4096;

/// Most new threads that `/proc` is asked about in a round.
const MADE: usize = 64;

/// Recording by an instance of tracefs.
pub(crate) struct Tracefs {
    instance: PathBuf,
    /// Of each cpu.
    pipes: Vec<(u32, File)>,
    pages: LivePages,
    page: Vec<u8>,
    /// Threads that were made since the last round.
    made: Vec<Tid>,
    guardian: Option<Guardian>,
}

impl Tracefs {
    /// Makes the instance and switches its events on.
    pub fn start(options: &LiveOptions) -> Result<Tracefs, RecordError> {
        let root = mounted()?;
        remove_left_behind(&root, Path::new("/proc"));
        let instance = root.join("instances").join(name(Path::new("/proc")));
        fs::create_dir(&instance).map_err(|error| not_made(&instance, error))?;
        let guardian = Guardian::of_instance(&instance).map_err(|error| {
            let _ = fs::remove_dir(&instance);
            RecordError::io("start /bin/sh, which removes the instance of tracefs")(error)
        })?;
        // Without these the guardian goes, and the instance with it.
        let (pipes, pages) = set_up(&instance, options)?;
        Ok(Tracefs {
            page: vec![0; pages.page_size()],
            made: Vec::new(),
            instance,
            pipes,
            pages,
            guardian: Some(guardian),
        })
    }

    /// Takes all whole events that the kernel has written.
    pub fn take(&mut self, each: &mut dyn FnMut(Event)) -> Result<(), RecordError> {
        let mut made = std::mem::take(&mut self.made);
        made.clear();
        let taken = self.pages_of_all(&mut |event| {
            if let What::Fork { child, .. } = event.what
                && made.len() < MADE
            {
                made.push(child);
            }
            each(event);
        });
        // Events do not say which process a new thread is of.
        for tid in &made {
            if let Some(process) = processes::process(Path::new("/proc"), *tid) {
                self.tasks_mut()
                    .update(*tid, |task| task.process = Some(process));
            }
        }
        self.made = made;
        taken
    }

    fn pages_of_all(&mut self, each: &mut dyn FnMut(Event)) -> Result<(), RecordError> {
        for (cpu, pipe) in &mut self.pipes {
            for _ in 0..IN_A_ROW {
                match pipe.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(read) => self.pages.page(*cpu, &self.page[..read], each),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => {
                        return Err(RecordError::io(format!("read the trace of cpu {cpu}"))(
                            error,
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// What is known of threads.
    pub fn tasks(&self) -> &Tasks {
        self.pages.tasks()
    }

    /// The same, to add what the system says beside its events.
    pub fn tasks_mut(&mut self) -> &mut Tasks {
        self.pages.tasks_mut()
    }

    /// Pages and events that could not be decoded.
    pub fn refused(&self) -> u64 {
        self.pages.refused()
    }

    /// Switches the events off. What was written can still be taken.
    pub fn detach(&mut self) -> Result<(), RecordError> {
        write(&self.instance, "tracing_on", "0")
    }

    /// Removes the instance. Whether that succeeded.
    pub fn remove(mut self) -> bool {
        // An instance cannot go while its files are open.
        self.pipes.clear();
        self.guardian.take().is_some_and(Guardian::finish)
    }
}

/// Where tracefs is mounted.
fn mounted() -> Result<PathBuf, RecordError> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let root = place(&mounts).ok_or_else(|| {
        RecordError::Refused(
            "tracefs is not mounted; `mount -t tracefs nodev /sys/kernel/tracing` as root mounts it"
                .to_owned(),
        )
    })?;
    match fs::read_dir(root.join("instances")) {
        Ok(_) => Ok(root),
        Err(error) => Err(RecordError::Refused(format!(
            "{} cannot be used: {error}; run as root, or mount tracefs with the option gid= for a \
             group of yours",
            root.display()
        ))),
    }
}

/// The same, from the text of `mountinfo`: its usual place before others.
fn place(mounts: &str) -> Option<PathBuf> {
    let of_tracefs = mounts::mounts(mounts).filter(|mount| mount.kind == "tracefs");
    let place = of_tracefs.min_by_key(|mount| mount.place != "/sys/kernel/tracing");
    place.map(|mount| PathBuf::from(mount.place))
}

/// The name of this process's instance: a later process with the same id began at another time.
fn name(proc: &Path) -> String {
    let id = std::process::id();
    let began = line(&proc.join(format!("{id}/stat"))).and_then(|text| Stat::parse(&text));
    format!("{PREFIX}{id}-{}", began.unwrap_or_default().began)
}

/// Removes instances of processes that have ended, which only those have whose guardian was killed
/// with them.
fn remove_left_behind(root: &Path, proc: &Path) {
    let entries = fs::read_dir(root.join("instances")).into_iter().flatten();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ids = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let Some((id, began)) = ids.and_then(|ids| ids.split_once('-')) else {
            continue;
        };
        let (Ok(id), Ok(began)) = (id.parse::<u32>(), began.parse::<u64>()) else {
            continue;
        };
        let stat = line(&proc.join(format!("{id}/stat"))).and_then(|text| Stat::parse(&text));
        if stat.is_none_or(|stat| stat.began != began) {
            let _ = write(&entry.path(), "tracing_on", "0");
            // One that cannot be removed hurts nobody but by its memory.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn not_made(instance: &Path, error: io::Error) -> RecordError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => RecordError::Refused(format!(
            "{} cannot be made: {error}; run as root",
            instance.display()
        )),
        _ => RecordError::io(format!("make {}", instance.display()))(error),
    }
}

fn write(instance: &Path, name: &str, value: &str) -> Result<(), RecordError> {
    let path = instance.join(name);
    fs::write(&path, value).map_err(RecordError::io(format!(
        "write {value} to {}",
        path.display()
    )))
}

fn set_up(
    instance: &Path,
    options: &LiveOptions,
) -> Result<(Vec<(u32, File)>, LivePages), RecordError> {
    write(instance, "tracing_on", "0")?;
    // The clock of the way by BPF, in order across cpus.
    write(instance, "trace_clock", "mono")?;
    let events = instance.join("events");
    let read = |path: PathBuf| {
        let what = format!("read {}", path.display());
        fs::read_to_string(&path).map_err(RecordError::io(what))
    };
    let mut pages = LivePages::new(&read(events.join("header_page"))?);
    let pipes = pipes(instance)?;
    let kib = (options.buffer / 1024 / pipes.len().max(1) as u64).max(64);
    write(instance, "buffer_size_kb", &kib.to_string())?;
    for point in POINTS {
        let folder = events.join(point.system).join(point.name);
        if !options.wants(point.part) || (point.part != Part::Threads && !folder.is_dir()) {
            continue;
        }
        if !pages.describe(point.system, &read(folder.join("format"))?) {
            return Err(RecordError::Refused(format!(
                "{} has no description of the event; expected lines name:, ID: and field:",
                folder.join("format").display()
            )));
        }
        write(&folder, "enable", "1")?;
    }
    write(instance, "tracing_on", "1")?;
    Ok((pipes, pages))
}

/// The raw pages of each cpu.
fn pipes(instance: &Path) -> Result<Vec<(u32, File)>, RecordError> {
    let folder = instance.join("per_cpu");
    let what = format!("read {}", folder.display());
    let entries = fs::read_dir(&folder).map_err(RecordError::io(what))?;
    let mut pipes = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let cpu = name.to_str().and_then(|name| name.strip_prefix("cpu"));
        let Some(cpu) = cpu.and_then(|cpu| cpu.parse().ok()) else {
            continue;
        };
        let path = entry.path().join("trace_pipe_raw");
        let what = format!("open {}", path.display());
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(NONBLOCK).open(&path);
        pipes.push((cpu, file.map_err(RecordError::io(what))?));
    }
    pipes.sort_by_key(|(cpu, _)| *cpu);
    Ok(pipes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_place_comes_first() {
        let debug = "25 1 0:7 / /sys/kernel/debug/tracing rw - tracefs tracefs rw";
        let both = format!("{debug}\n26 1 0:7 / /sys/kernel/tracing rw - tracefs nodev rw");
        assert_eq!(place(debug), Some("/sys/kernel/debug/tracing".into()));
        assert_eq!(place(&both), Some("/sys/kernel/tracing".into()));
        assert_eq!(place("24 1 0:2 / / rw - ext4 x rw"), None);
    }

    #[test]
    fn only_instances_of_ended_processes_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let proc = Path::new("/proc");
        let instances = root.path().join("instances");
        let own = instances.join(name(proc));
        let foreign = instances.join("foo");
        // This process's id with another time.
        let ended = instances.join(format!("{PREFIX}{}-1", std::process::id()));
        for folder in [&own, &foreign, &ended] {
            fs::create_dir_all(folder).unwrap();
        }
        remove_left_behind(root.path(), proc);
        assert!(own.is_dir() && foreign.is_dir());
        // Of an instance of the kernel files would go with the folder.
        assert!(ended.join("tracing_on").is_file());
        assert!(!own.join("tracing_on").exists());
    }
}
