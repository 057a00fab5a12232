//! The file beside a recording: what `/proc` and `/sys` say of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use domio_trace::{HostGroup, HostThread, LinuxHost};

use crate::mounts::mounts;
use crate::processes::{Stat, cgroup, command, each_thread, line, of_status};

/// Threads, control groups and cpus of this machine, as they are now.
pub fn host() -> LinuxHost {
    let proc = Path::new("/proc");
    let mut threads = Vec::new();
    let mut commands: BTreeMap<u32, Option<String>> = BTreeMap::new();
    each_thread(proc, &mut |process, tid, folder| {
        let Some(stat) = line(&folder.join("stat")).and_then(|text| Stat::parse(&text)) else {
            return;
        };
        let command = commands
            .entry(process)
            .or_insert_with(|| command(proc, process));
        threads.push(HostThread {
            tid,
            process: Some(process),
            comm: line(&folder.join("comm")).unwrap_or_default(),
            cgroup: line(&folder.join("cgroup")).and_then(|text| cgroup(&text)),
            cpus: line(&folder.join("status"))
                .and_then(|text| Some(of_status(&text, "Cpus_allowed_list:")?.to_owned())),
            policy: stat.policy_name().to_owned(),
            nice: stat.nice,
            command: command.clone(),
        });
    });
    let (cores, nodes) = topology(Path::new("/sys/devices/system/cpu"));
    let mounts = line(&proc.join("self/mountinfo")).unwrap_or_default();
    let groups = groups(&mounts, &threads);
    LinuxHost {
        format: "domio-linux-host".to_owned(),
        version: 1,
        kernel: line(&proc.join("sys/kernel/osrelease")).unwrap_or_default(),
        cpus: cores.len() as u32,
        nodes,
        cores,
        groups,
        threads,
    }
}

/// Of each cpu its core, unique on the machine, and its node.
fn topology(folder: &Path) -> (Vec<u32>, Vec<u32>) {
    let mut ids = BTreeMap::new();
    let (mut cores, mut nodes) = (Vec::new(), Vec::new());
    for cpu in 0.. {
        let folder = folder.join(format!("cpu{cpu}"));
        if !folder.is_dir() {
            break;
        }
        let of = |name: &str| line(&folder.join("topology").join(name));
        // A cpu that is offline has no topology, and is a core of its own.
        let core = match (of("physical_package_id"), of("core_id")) {
            (Some(package), Some(core)) => format!("{package}/{core}"),
            _ => format!("cpu{cpu}"),
        };
        let number = ids.len() as u32;
        cores.push(*ids.entry(core).or_insert(number));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let node = entries
            .filter_map(|entry| {
                let name = entry.file_name();
                name.to_str()?.strip_prefix("node")?.parse().ok()
            })
            .min();
        nodes.push(node.unwrap_or(0));
    }
    (cores, nodes)
}

/// Where control groups with the controller `cpu` are mounted, and whether as version 1.
fn mounted(mountinfo: &str) -> Option<(PathBuf, bool)> {
    let mut unified = None;
    for mount in mounts(mountinfo) {
        let place = PathBuf::from(mount.place);
        match mount.kind {
            "cgroup" if mount.options.split(',').any(|option| option == "cpu") => {
                return Some((place, true));
            }
            "cgroup2" => unified = Some((place, false)),
            _ => {}
        }
    }
    unified
}

/// The groups of the threads, and all above them.
fn groups(mountinfo: &str, threads: &[HostThread]) -> Vec<HostGroup> {
    let Some((mount, is_first)) = mounted(mountinfo) else {
        return Vec::new();
    };
    let mut paths = BTreeSet::new();
    let mut commands = BTreeMap::new();
    for thread in threads {
        let Some(path) = thread.cgroup.as_deref() else {
            continue;
        };
        if let Some(command) = &thread.command {
            commands.entry(path).or_insert(command);
        }
        let ends = path.match_indices('/').map(|(at, _)| at);
        paths.extend(ends.filter(|at| *at > 0).map(|at| &path[..at]));
        paths.insert(path);
    }
    let group = |path: &str| {
        let folder = mount.join(path.trim_start_matches('/'));
        let read = |name: &str| line(&folder.join(name));
        let settings = match is_first {
            true => first(&read),
            false => second(&read),
        };
        HostGroup {
            path: path.to_owned(),
            command: commands.get(path).map(|command| (*command).clone()),
            ..settings
        }
    };
    let paths = paths.iter().filter(|path| **path != "/");
    paths.map(|path| group(path)).collect()
}

/// Settings of version 2.
fn second(read: &dyn Fn(&str) -> Option<String>) -> HostGroup {
    let limit = read("cpu.max").unwrap_or_default();
    let (quota, period) = limit.split_once(' ').unwrap_or_default();
    HostGroup {
        weight: number(read("cpu.weight")).unwrap_or(0),
        quota_us: quota.parse().ok(),
        period_us: period.parse().ok(),
        cpus: read("cpuset.cpus.effective").filter(|list| !list.is_empty()),
        ..HostGroup::default()
    }
}

/// Settings of version 1, where 1024 shares are the default as a weight of 100 is.
fn first(read: &dyn Fn(&str) -> Option<String>) -> HostGroup {
    let shares: Option<u64> = number(read("cpu.shares"));
    let weight = shares.map_or(0, |shares| (shares * 100 / 1024).clamp(1, 10_000));
    HostGroup {
        weight: weight as u32,
        quota_us: number(read("cpu.cfs_quota_us")),
        period_us: number(read("cpu.cfs_period_us")),
        ..HostGroup::default()
    }
}

fn number<T: std::str::FromStr>(text: Option<String>) -> Option<T> {
    text?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let host = host();
        let own = std::process::id();
        let thread = host.threads.iter().find(|thread| thread.tid == own);
        let thread = thread.expect("this process has a thread with its id");
        assert_eq!(thread.process, Some(own));
        assert!(thread.command.as_deref().is_some_and(|c| !c.is_empty()));
        assert!(thread.cpus.is_some() && !thread.policy.is_empty());
        assert!(host.cpus >= 1 && !host.kernel.is_empty());
        assert_eq!(host.nodes.len(), host.cores.len());
    }

    #[test]
    fn settings_of_groups_are_read() {
        let second = second(&|name| {
            let text = match name {
                "cpu.weight" => "200",
                "cpu.max" => "30000 100000",
                "cpuset.cpus.effective" => "0-3",
                _ => return None,
            };
            Some(text.to_owned())
        });
        assert_eq!((second.weight, second.quota_us), (200, Some(30_000)));
        assert_eq!(second.period_us, Some(100_000));
        assert_eq!(second.cpus.as_deref(), Some("0-3"));
        let first = first(&|name| {
            let text = match name {
                "cpu.shares" => "512",
                "cpu.cfs_quota_us" => "-1",
                _ => return None,
            };
            Some(text.to_owned())
        });
        assert_eq!((first.weight, first.quota_us), (50, None));
    }

    #[test]
    fn mounts_of_both_versions_are_found() {
        let second = "30 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        let both = "31 24 0:28 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n\
                    32 24 0:29 / /sys/fs/cgroup/cpu rw shared:1 - cgroup cgroup rw,cpu,cpuacct";
        assert_eq!(mounted(second), Some(("/sys/fs/cgroup".into(), false)));
        assert_eq!(mounted(both), Some(("/sys/fs/cgroup/cpu".into(), true)));
        assert_eq!(mounted("24 1 0:2 / / rw - ext4 x rw"), None);
    }

    #[test]
    fn groups_above_are_there_and_have_commands() {
        let thread = HostThread {
            cgroup: Some("/machine.slice/a.scope".to_owned()),
            command: Some("qemu -name guest=web".to_owned()),
            ..HostThread::default()
        };
        let mount = "30 24 0:27 / /nowhere rw - cgroup2 cgroup2 rw";
        let groups = groups(mount, &[thread]);
        let paths: Vec<_> = groups.iter().map(|group| group.path.as_str()).collect();
        assert_eq!(paths, ["/machine.slice", "/machine.slice/a.scope"]);
        assert_eq!(groups[1].command.as_deref(), Some("qemu -name guest=web"));
    }
}
