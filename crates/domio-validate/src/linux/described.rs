//! What `scenario.json` says of a recorded Linux host.

use domio_core::{Duration, Instant, ParamValues};
use domio_trace::{HostGroup, HostThread, LinuxHost};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A recorded Linux host.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct DescribedLinux {
    /// Release of the kernel, as `uname -r` prints it.
    pub kernel: String,
    /// "virtual" where an emulator counted instructions, "real" otherwise.
    #[serde(default)]
    pub time: String,
    /// `cfs` or `eevdf`.
    pub scheduler: String,
    /// Number of cpus.
    pub cpus: u16,
    /// Ticks a second.
    pub hz: i64,
    /// Settings of the scheduler by their names in the kernel.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
    /// Common start and stop of the threads, in ns of `CLOCK_MONOTONIC`.
    pub window_ns: [u64; 2],
    /// Virtual machines: processes in a control group each.
    pub vms: Vec<DescribedVm>,
    /// Control groups around those of machines. One that is not here has the default settings.
    #[serde(default)]
    pub groups: Vec<DescribedGroup>,
}

/// A control group around those of machines of a [`DescribedLinux`].
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct DescribedGroup {
    /// Path below the root ("/machine.slice").
    pub path: String,
    /// `cpu.weight`.
    #[serde(default)]
    pub weight: Option<i64>,
    /// `cpu.max`, first number; null for no limit.
    #[serde(default)]
    pub quota_us: Option<i64>,
    /// `cpu.max`, second number.
    #[serde(default)]
    pub period_us: Option<i64>,
}

/// A virtual machine of a [`DescribedLinux`].
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct DescribedVm {
    /// Name.
    pub name: String,
    /// Path of its control group; empty where there is none.
    #[serde(default)]
    pub cgroup: Option<String>,
    /// Its process.
    pub pid: u32,
    /// `cpu.weight`.
    #[serde(default)]
    pub weight: Option<i64>,
    /// `cpu.max`, first number; null for no limit.
    #[serde(default)]
    pub quota_us: Option<i64>,
    /// `cpu.max`, second number.
    #[serde(default)]
    pub period_us: Option<i64>,
    /// `cpuset.cpus`; null for all.
    #[serde(default)]
    pub cpus: Option<String>,
    /// Whether each thread has a control group of its own in that of the machine.
    #[serde(default)]
    pub threaded: bool,
    /// Its threads, apart from the one that sleeps.
    pub threads: Vec<DescribedThread>,
}

/// A thread of a [`DescribedVm`].
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct DescribedThread {
    /// Name, unique in the machine.
    pub name: String,
    /// Its id.
    pub tid: u32,
    /// Its name in traces.
    #[serde(default)]
    pub comm: String,
    /// Nice value.
    #[serde(default)]
    pub nice: i64,
    /// `normal`, `batch`, `idle`, `fifo` or `rr`.
    #[serde(default)]
    pub policy: String,
    /// Its priority in the classes fifo and rr, 1 where nothing is said.
    #[serde(default)]
    pub rt_priority: Option<i64>,
    /// Its affinity; null for all.
    #[serde(default)]
    pub cpus: Option<String>,
    /// Limit of its own control group: `cpu.max`, first number; null for no limit.
    #[serde(default)]
    pub quota_us: Option<i64>,
    /// `cpu.max`, second number.
    #[serde(default)]
    pub period_us: Option<i64>,
    /// What it does.
    pub workload: DescribedWork,
}

/// What a thread of a recorded machine does, by the names of the rig. Work is processor time.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum DescribedWork {
    /// Never blocks.
    Burn,
    /// Wakes at absolute times; periods that were missed as a whole are dropped.
    Periodic {
        /// From one time to the next.
        period_us: u64,
        /// Work each time.
        work_us: u64,
    },
    /// Sleeps for 0.5 to 1.5 times the period, then works for 0.5 to 1.5 times the work.
    Random {
        /// Mean sleep.
        period_us: u64,
        /// Mean work.
        work_us: u64,
        /// Of its random numbers.
        #[serde(default = "one")]
        seed: u64,
    },
    /// As periodic; at the end of its work it wakes the thread that serves `on`.
    Kick {
        /// Name of the event.
        on: String,
        /// From one time to the next.
        period_us: u64,
        /// Work each time.
        work_us: u64,
    },
    /// Works for each kick.
    Serve {
        /// Name of the event.
        on: String,
        /// Work for each.
        work_us: u64,
    },
    /// Works, wakes the other side, waits for its answer, and sleeps for the period, if there is
    /// one.
    Ping {
        /// Name of the pipe.
        on: String,
        /// Work each time.
        work_us: u64,
        /// Sleep after each answer.
        #[serde(default)]
        period_us: u64,
    },
    /// Waits for the other side, works and answers.
    Pong {
        /// Name of the pipe.
        on: String,
        /// Work each time.
        work_us: u64,
    },
}

impl DescribedVm {
    /// Whether each thread has a control group of its own in that of the machine.
    pub fn has_inner_groups(&self) -> bool {
        self.threaded && self.cgroup.is_some()
    }

    /// The different limits of threads in groups of their own, each `None` or quota and period, in
    /// the order of the threads.
    pub fn limits(&self) -> Vec<Option<(i64, i64)>> {
        let mut limits = Vec::new();
        for thread in self.threads.iter().filter(|_| self.has_inner_groups()) {
            let limit = thread.limit();
            if !limits.contains(&limit) {
                limits.push(limit);
            }
        }
        limits
    }
}

impl DescribedThread {
    /// Quota and period of its own group in microseconds.
    pub fn limit(&self) -> Option<(i64, i64)> {
        Some((self.quota_us?, self.period_us.unwrap_or(100_000)))
    }
}

fn one() -> u64 {
    1
}

impl DescribedWork {
    /// The event or pipe that it shares with another thread.
    pub fn channel(&self) -> Option<&str> {
        match self {
            DescribedWork::Kick { on, .. }
            | DescribedWork::Serve { on, .. }
            | DescribedWork::Ping { on, .. }
            | DescribedWork::Pong { on, .. } => Some(on),
            _ => None,
        }
    }
}

/// Whether the text of a description is one of a Linux host.
pub fn is_linux(text: &[u8]) -> bool {
    let json: Result<serde_json::Value, _> = serde_json::from_slice(text);
    json.is_ok_and(|json| json.get("kernel").is_some() && json.get("vms").is_some())
}

/// Names of settings that differ from those of the policies' parameters.
const RENAMED: [(&str, &str); 2] = [
    ("latency_ns", "sched_latency_ns"),
    ("sched_cfs_bandwidth_slice_us", "bandwidth_slice_us"),
];

impl DescribedLinux {
    /// Common start and stop.
    pub fn window(&self) -> [Instant; 2] {
        self.window_ns.map(Instant::from_nanos)
    }

    /// The release as the policies have it: "6.12".
    pub fn release(&self) -> String {
        let mut parts = self.kernel.splitn(3, ['.', '-', '+']);
        let [major, minor] = [parts.next(), parts.next()].map(|part| part.unwrap_or_default());
        format!("{major}.{minor}")
    }

    /// Checks what is needed to judge.
    ///
    /// # Errors
    /// What cannot be simulated, and what to do.
    pub fn check(&self) -> Result<(), String> {
        let [from, to] = self.window_ns;
        if from >= to {
            return Err(format!(
                "window_ns goes from {from} to {to}; expected the start and the stop of the \
                 threads, in ns"
            ));
        }
        if self.vms.iter().all(|vm| vm.threads.is_empty()) {
            return Err("no vm has a thread; list the threads in scenario.json".to_owned());
        }
        for group in &self.groups {
            let path = group.path.trim_end_matches('/');
            let below = format!("{path}/");
            let of = |vm: &DescribedVm| vm.cgroup.as_ref().is_some_and(|c| c.starts_with(&below));
            if path.is_empty() || !self.vms.iter().any(of) {
                return Err(format!(
                    "groups: no vm has its control group in {path:?}; expected a group around one, \
                     such as /machine.slice"
                ));
            }
        }
        for vm in &self.vms {
            let limits = vm.limits().len();
            if limits > 2 {
                return Err(format!(
                    "threads of {} have {limits} different limits in groups of their own; two can \
                     be simulated, one of which may be none",
                    vm.name
                ));
            }
            for thread in &vm.threads {
                self.check_thread(vm, thread)?;
            }
        }
        Ok(())
    }

    fn check_thread(&self, vm: &DescribedVm, thread: &DescribedThread) -> Result<(), String> {
        let name = format!("{}:{}", vm.name, thread.name);
        if thread.policy == "deadline" {
            return Err(format!(
                "{name} is in the class deadline, whose reservation is not recorded; record without"
            ));
        }
        if thread.quota_us.is_some() && !vm.has_inner_groups() {
            return Err(format!(
                "{name} has a limit of its own, and {} has no control group for each thread \
                 (`threaded`)",
                vm.name
            ));
        }
        if let Some(on) = thread.workload.channel() {
            if vm.cgroup.is_none() {
                return Err(format!(
                    "{name} wakes another thread, and {} has no control group; record with one",
                    vm.name
                ));
            }
            let others = self
                .vms
                .iter()
                .flat_map(|vm| vm.threads.iter().map(move |t| (vm, t)));
            let here = others.filter(|(_, t)| t.workload.channel() == Some(on));
            let here: Vec<_> = here.collect();
            if here.len() != 2 || here.iter().any(|(other, _)| other.name != vm.name) {
                return Err(format!(
                    "{name} shares {on:?} with {} threads; expected one other, of the same vm",
                    here.len() - 1
                ));
            }
        }
        Ok(())
    }

    /// Sets what `params` of the kernel say of a policy's parameters.
    ///
    /// # Errors
    /// A value that the policy does not take.
    pub fn set(&self, values: &mut ParamValues) -> Result<(), String> {
        let mut put = |name: &str, value: i64| {
            if values.by_name(name).is_none() {
                return Ok(());
            }
            let set = values.set(name, value);
            set.map_err(|e| format!("params.{name} = {value}: {e}"))
        };
        for (name, value) in &self.params {
            let renamed = RENAMED.iter().find(|(kernel, _)| kernel == name);
            let name = renamed.map_or(name.as_str(), |(_, own)| own);
            if let Some(value) = value.as_i64() {
                put(name, value)?;
            }
        }
        let features = self.params.get("features").and_then(|f| f.as_array());
        for feature in features.into_iter().flatten().filter_map(|f| f.as_str()) {
            let (name, on) = match feature.strip_prefix("NO_") {
                Some(name) => (name, 0),
                None => (feature, 1),
            };
            put(&name.to_lowercase(), on)?;
        }
        Ok(())
    }

    /// What a reader of the trace needs to know of the host.
    pub fn host(&self) -> LinuxHost {
        let groups = self.vms.iter().filter_map(|vm| {
            Some(HostGroup {
                path: vm.cgroup.clone()?,
                weight: vm.weight.map_or(0, |w| w.try_into().unwrap_or(0)),
                ..HostGroup::default()
            })
        });
        let threads = self.vms.iter().flat_map(|vm| {
            vm.threads.iter().map(|thread| HostThread {
                tid: thread.tid,
                process: Some(vm.pid),
                comm: thread.comm.clone(),
                cgroup: vm.cgroup.clone(),
                ..HostThread::default()
            })
        });
        LinuxHost {
            format: "domio-linux-host".to_owned(),
            version: 1,
            kernel: self.kernel.clone(),
            cpus: u32::from(self.cpus),
            groups: groups.collect(),
            threads: threads.collect(),
            ..LinuxHost::default()
        }
    }

    /// Length of a tick.
    pub fn tick(&self) -> Duration {
        Duration::from_nanos(1_000_000_000 / self.hz.clamp(1, 1_000_000) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_contract::GroupId;
    use domio_core::DomainId;

    fn described(kernel: &str) -> DescribedLinux {
        let text = format!(
            r#"{{"kernel": "{kernel}", "scheduler": "eevdf", "cpus": 1, "hz": 250,
            "params": {{"features": ["NO_RUN_TO_PARITY", "PLACE_LAG", "LB_MIN"],
                        "base_slice_ns": 3000000, "nr_migrate": 32}},
            "window_ns": [1000, 2000],
            "vms": [{{"name": "vm1", "cgroup": "/machine/vm1", "pid": 7, "weight": 200, "threads": [
                {{"name": "vcpu0", "tid": 8, "workload":
                    {{"kind": "kick", "on": "A", "period_us": 5, "work_us": 1}}}},
                {{"name": "vhost", "tid": 9, "workload":
                    {{"kind": "serve", "on": "A", "work_us": 1}}}}]}}]}}"#
        );
        assert!(is_linux(text.as_bytes()));
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn groups_around_machines_are_those_of_the_host() {
        let mut host = described("6.12.1");
        let mut names = |cgroup: &str, groups: &str| {
            host.vms[0].cgroup = Some(cgroup.to_owned());
            host.groups = serde_json::from_str(groups).unwrap();
            host.check()?;
            let policy = domio_sched::find("eevdf").unwrap();
            super::super::tree::groups(&host, policy, &[(0, DomainId(5))])
        };
        let gold = r#"[{"path": "/m/gold", "weight": 40, "quota_us": 5000}]"#;
        let groups = names("/m/gold/vm1", gold).unwrap();
        assert_eq!(groups.len(), 2);
        assert_eq!(
            [groups[0].parent, groups[1].parent],
            [None, Some(GroupId(0))]
        );
        assert_eq!(groups[0].params.by_name("weight"), Some(100));
        assert_eq!(groups[1].params.by_name("weight"), Some(40));
        assert_eq!(groups[1].params.by_name("quota_us"), Some(5_000));
        assert_eq!(groups[1].domains, [DomainId(5)]);
        assert!(names("/vm1", "[]").unwrap().is_empty());
        let strange = names("/vm1", gold).unwrap_err();
        assert!(
            strange.contains("no vm has its control group in"),
            "{strange}"
        );
        let wrong = names("/m/gold/vm1", &gold.replace("5000", "5")).unwrap_err();
        assert!(wrong.starts_with("group /m/gold: "), "{wrong}");
    }

    #[test]
    fn settings_of_the_kernel_are_those_of_the_policy() {
        let described = described("6.12.117+deb13-cloud-amd64");
        assert_eq!(described.check(), Ok(()));
        assert_eq!(described.release(), "6.12");
        let policy = domio_sched::find("eevdf").unwrap();
        let mut values = ParamValues::defaults(policy.descriptor.params);
        described.set(&mut values).unwrap();
        let of = |name| values.by_name(name);
        assert_eq!(of("run_to_parity"), Some(0));
        assert_eq!(of("place_lag"), Some(1));
        assert_eq!(of("base_slice_ns"), Some(3_000_000));
        assert_eq!(described.tick(), Duration::from_millis(4));
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let mut alone = described("6.1");
        alone.vms[0].threads.pop();
        assert!(alone.check().unwrap_err().contains("expected one other"));
        let mut deadline = described("6.1");
        deadline.vms[0].threads[0].policy = "deadline".to_owned();
        assert!(deadline.check().unwrap_err().contains("not recorded"));
        let mut alone = described("6.1");
        alone.vms[0].threads[0].quota_us = Some(5_000);
        assert!(alone.check().unwrap_err().contains("`threaded`"));
        alone.vms[0].threaded = true;
        assert_eq!(alone.check(), Ok(()));
        let third = alone.vms[0].threads[1].clone();
        alone.vms[0].threads.push(DescribedThread {
            quota_us: Some(7_000),
            workload: DescribedWork::Burn,
            ..third
        });
        assert!(alone.check().unwrap_err().contains("3 different limits"));
        let mut window = described("6.1");
        window.window_ns = [5, 5];
        assert!(window.check().unwrap_err().contains("window_ns"));
    }
}
