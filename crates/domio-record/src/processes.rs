//! Threads, as `/proc` has them.

use std::fs;
use std::path::Path;

use domio_trace::HostThread;

use crate::{Tasks, Tid};

/// Calls `each` with the process, the thread and the thread's folder, for all threads below `root`
/// ("/proc"), by id. Threads that end meanwhile are left out.
pub fn each_thread(root: &Path, each: &mut dyn FnMut(u32, u32, &Path)) {
    for process in numbers(root) {
        let folder = root.join(process.to_string()).join("task");
        for thread in numbers(&folder) {
            each(process, thread, &folder.join(thread.to_string()));
        }
    }
}

/// The names in a folder that are numbers, in order.
fn numbers(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<u32> = names.collect();
    numbers.sort_unstable();
    numbers
}

/// A file's text, without the end of its line.
pub fn line(path: &Path) -> Option<String> {
    let text = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    Some(text.trim_end_matches('\n').to_owned())
}

/// Adds names, processes and control groups of threads that `/proc` has.
///
/// What an event has said of a thread meanwhile is not changed: the event is newer than the
/// thread's entry here or as new.
pub fn add(threads: &[HostThread], tasks: &mut Tasks) {
    for thread in threads {
        tasks.update(Tid(thread.tid), |task| {
            if task.comm.is_empty() {
                task.comm.clone_from(&thread.comm);
            }
            task.process = task.process.or(thread.process.map(Tid));
            task.cgroup = task.cgroup.take().or_else(|| thread.cgroup.clone());
        });
    }
}

/// The control group of a thread, from its file `cgroup`: the one of the controller `cpu`. Hosts
/// with version 1 of control groups have a hierarchy for this controller, others one for all.
pub fn cgroup(text: &str) -> Option<String> {
    let mut unified = None;
    for line in text.lines() {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        if controllers.split(',').any(|name| name == "cpu") {
            return Some(path.to_owned());
        }
        if controllers.is_empty() {
            unified = Some(path.to_owned());
        }
    }
    unified
}

/// The process of a thread that is there.
pub fn process(root: &Path, tid: Tid) -> Option<Tid> {
    let status = line(&root.join(tid.to_string()).join("status"))?;
    of_status(&status, "Tgid:")?.parse().ok().map(Tid)
}

/// What a thread's file `status` has behind `key`.
pub fn of_status<'a>(status: &'a str, key: &str) -> Option<&'a str> {
    let value = status.lines().find_map(|line| line.strip_prefix(key));
    value.map(str::trim)
}

/// What `stat` says of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stat {
    /// Its nice value.
    pub nice: i32,
    /// When it began, in ticks since the machine did.
    pub began: u64,
    /// Number of its policy.
    pub policy: u32,
}

impl Stat {
    /// From the text of the file; the name in brackets may hold anything.
    pub fn parse(text: &str) -> Option<Stat> {
        let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
        // The first one here is the third of proc_pid_stat(5).
        let field = |number: usize| fields.get(number - 3);
        Some(Stat {
            nice: field(19)?.parse().ok()?,
            began: field(22)?.parse().ok()?,
            policy: field(41)?.parse().ok()?,
        })
    }

    /// The policy, as `chrt -p` names it; empty for one without a name here.
    pub fn policy_name(self) -> &'static str {
        match self.policy {
            0 => "SCHED_OTHER",
            1 => "SCHED_FIFO",
            2 => "SCHED_RR",
            3 => "SCHED_BATCH",
            5 => "SCHED_IDLE",
            6 => "SCHED_DEADLINE",
            7 => "SCHED_EXT",
            _ => "",
        }
    }
}

/// The command line of a process, its parts divided by spaces; `None` for the kernel's threads.
pub fn command(root: &Path, process: u32) -> Option<String> {
    let bytes = fs::read(root.join(process.to_string()).join("cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end_matches('\0').replace('\0', " ");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_that_of_the_controller_of_cpus() {
        let hybrid = "5:memory:/a\n2:cpu,cpuacct:/b\n0::/c";
        assert_eq!(cgroup(hybrid).as_deref(), Some("/b"));
        assert_eq!(
            cgroup("0::/machine.slice/x").as_deref(),
            Some("/machine.slice/x")
        );
        assert_eq!(cgroup("3:cpuset:/"), None);
    }

    #[test]
    fn a_name_may_have_brackets() {
        let mut fields = vec!["0"; 50];
        (fields[0], fields[16], fields[19], fields[38]) = ("S", "-5", "900", "1");
        let text = format!("7 (a) b) {}", fields.join(" "));
        let stat = Stat::parse(&text).unwrap();
        let expected = Stat {
            nice: -5,
            began: 900,
            policy: 1,
        };
        assert_eq!(stat, expected);
        assert_eq!(stat.policy_name(), "SCHED_FIFO");
        assert_eq!(Stat::parse("7 (a"), None);
    }

    #[test]
    fn this_process_is_found() {
        let mut tasks = Tasks::new();
        let own = Tid(std::process::id());
        let threads = crate::host().threads;
        add(&threads, &mut tasks);
        let task = tasks.get(own).unwrap();
        assert_eq!(task.process, Some(own));
        assert!(!task.comm.is_empty());
        assert_eq!(process(Path::new("/proc"), own), Some(own));
        // What is known stays.
        tasks.update(own, |task| task.comm = "other".to_owned());
        add(&threads, &mut tasks);
        assert_eq!(tasks.get(own).unwrap().comm, "other");
    }
}
