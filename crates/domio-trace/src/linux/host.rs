//! The file beside a trace: what a trace of Linux does not say of its host.

use domio_linux::Tid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of `format` in such a file.
const FORMAT: &str = "domio-linux-host";

/// What is known of a Linux host beside its trace, from `NAME.host.json`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinuxHost {
    /// Always `domio-linux-host`.
    pub format: String,
    /// 1.
    pub version: u32,
    /// Release of the kernel, as `uname -r` prints it.
    #[serde(default)]
    pub kernel: String,
    /// Number of cpus; 0 when not known.
    #[serde(default)]
    pub cpus: u32,
    /// The node of each cpu, by number; empty when not known.
    #[serde(default)]
    pub nodes: Vec<u32>,
    /// The core of each cpu, by number, unique on the host; empty when not known.
    #[serde(default)]
    pub cores: Vec<u32>,
    /// Control groups.
    #[serde(default)]
    pub groups: Vec<HostGroup>,
    /// Threads.
    #[serde(default)]
    pub threads: Vec<HostThread>,
}

/// A control group.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostGroup {
    /// Its path below the root of the hierarchy ("/machine.slice/x.scope").
    pub path: String,
    /// `cpu.weight`; 0 when not known.
    #[serde(default)]
    pub weight: u32,
    /// The limit of `cpu.max` in microseconds a period; null for none.
    #[serde(default)]
    pub quota_us: Option<u64>,
    /// The period of `cpu.max` in microseconds.
    #[serde(default)]
    pub period_us: Option<u64>,
    /// `cpuset.cpus.effective` ("0-3,8"); null for all.
    #[serde(default)]
    pub cpus: Option<String>,
    /// Command line of its first process.
    #[serde(default)]
    pub command: Option<String>,
}

impl HostGroup {
    /// The weight of the group called `name` among `groups`, 0 when not known.
    pub fn weight_of(groups: &[HostGroup], name: &str) -> u32 {
        let of_name = |group: &&HostGroup| group.path.rsplit('/').next() == Some(name);
        let mut known = groups.iter().filter(|group| group.weight > 0);
        known.find(of_name).map_or(0, |group| group.weight)
    }
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostThread {
    /// Its id.
    pub tid: u32,
    /// Its process.
    #[serde(default)]
    pub process: Option<u32>,
    /// Its name.
    #[serde(default)]
    pub comm: String,
    /// Its control group.
    #[serde(default)]
    pub cgroup: Option<String>,
    /// Cpus that it may use ("0-3,8"), as `taskset -c -p` prints; null for all.
    #[serde(default)]
    pub cpus: Option<String>,
    /// Its policy as `chrt -p` names it, e.g. `SCHED_FIFO`; empty when not known.
    #[serde(default)]
    pub policy: String,
    /// Its nice value.
    #[serde(default)]
    pub nice: i32,
    /// Command line of its process.
    #[serde(default)]
    pub command: Option<String>,
}

impl LinuxHost {
    /// Reads the text of such a file.
    ///
    /// # Errors
    /// Where the text is no such file, and what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let host: LinuxHost = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if host.format != FORMAT || host.version != 1 {
            return Err(format!(
                "it has format \"{}\" and version {}; expected \"{FORMAT}\" and 1",
                host.format, host.version
            ));
        }
        let lists = host.threads.iter().map(|thread| &thread.cpus);
        let lists = lists.chain(host.groups.iter().map(|group| &group.cpus));
        for list in lists.flatten() {
            if cpus(list).is_none() {
                return Err(format!(
                    "\"{list}\" is no list of cpus; expected numbers and ranges below 65536, such \
                     as \"0-3,8\""
                ));
            }
        }
        Ok(host)
    }

    /// The threads by id.
    pub(super) fn by_tid(&self) -> BTreeMap<Tid, &HostThread> {
        let threads = self.threads.iter();
        threads.map(|thread| (Tid(thread.tid), thread)).collect()
    }

    /// Processes of which only other threads are listed, each with its first of those.
    pub(super) fn processes(&self) -> BTreeMap<Tid, &HostThread> {
        let mut processes = BTreeMap::new();
        for thread in &self.threads {
            if let Some(process) = thread.process {
                processes.entry(Tid(process)).or_insert(thread);
            }
        }
        processes
    }

    /// The group with this path.
    pub(super) fn group(&self, path: &str) -> Option<&HostGroup> {
        self.groups.iter().find(|group| group.path == path)
    }

    /// The limit of the nearest group that has one, of `path` and those above: its path, and quota
    /// and period in nanoseconds.
    pub(super) fn limit(&self, path: &str) -> Option<(&str, u64, u64)> {
        let above = self
            .groups
            .iter()
            .filter(|group| is_above(&group.path, path));
        let limited = above.filter_map(|group| Some((group, group.quota_us?)));
        let (group, quota) = limited.max_by_key(|(group, _)| group.path.len())?;
        let period = group.period_us.unwrap_or(100_000);
        Some((
            &group.path,
            quota.saturating_mul(1000),
            period.saturating_mul(1000),
        ))
    }

    /// Bits of the cpus that a thread may use, 64 in a number: what its own affinity and the sets
    /// of its groups leave. `None` for all.
    pub(super) fn allowed(
        &self,
        thread: Option<&HostThread>,
        path: Option<&str>,
    ) -> Option<Vec<u64>> {
        let own = thread.and_then(|thread| thread.cpus.as_deref());
        let above = path.into_iter().flat_map(|path| {
            let groups = self.groups.iter();
            groups.filter(move |group| is_above(&group.path, path))
        });
        let lists = own
            .into_iter()
            .chain(above.filter_map(|group| group.cpus.as_deref()));
        let masks = lists.filter_map(cpus);
        masks.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a & b).collect())
    }
}

/// Whether the group `above` is `path`, or holds it.
fn is_above(above: &str, path: &str) -> bool {
    let rest = path.strip_prefix(above.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The bits of a list of cpus such as "0-3,8".
fn cpus(list: &str) -> Option<Vec<u64>> {
    let mut mask = Vec::new();
    for range in list.trim().split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u16, u16) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        for cpu in from..=to {
            let word = usize::from(cpu) / 64;
            if mask.len() <= word {
                mask.resize(word + 1, 0);
            }
            mask[word] |= 1 << (cpu % 64);
        }
    }
    Some(mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
        "format": "domio-linux-host", "version": 1, "cpus": 4,
        "groups": [
            {"path": "/machine", "cpus": "0-2"},
            {"path": "/machine/vm1", "weight": 200, "quota_us": 30000, "period_us": 100000}
        ],
        "threads": [
            {"tid": 7, "process": 5, "comm": "CPU 0/KVM", "cgroup": "/machine/vm1", "cpus": "2,3"},
            {"tid": 8, "comm": "other"}
        ]
    }"#;

    #[test]
    fn a_file_says_what_a_trace_does_not() {
        let host = LinuxHost::parse(TEXT).unwrap();
        let threads = host.by_tid();
        let limit = host.limit("/machine/vm1/libvirt/vcpu0");
        assert_eq!(limit, Some(("/machine/vm1", 30_000_000, 100_000_000)));
        assert_eq!(host.limit("/machine/vm2"), None);
        let allowed = |tid, path| host.allowed(threads.get(&Tid(tid)).copied(), path);
        assert_eq!(allowed(7, Some("/machine/vm1")), Some(vec![4]));
        assert_eq!(allowed(7, None), Some(vec![12]));
        assert_eq!(allowed(8, Some("/machine2")), None);
        assert_eq!(allowed(9, Some("/machine/x")), Some(vec![7]));
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        let refused = |from: &str, to: &str| LinuxHost::parse(&TEXT.replace(from, to)).unwrap_err();
        assert!(refused("-host", "").contains("expected \"domio-linux-host\" and 1"));
        assert!(refused("\"2,3\"", "\"2,x\"").contains("\"2,x\" is no list of cpus"));
        assert!(refused("weight", "wait").contains("unknown field"));
        assert!(refused("0-2", "0-70000").contains("no list"));
    }
}
