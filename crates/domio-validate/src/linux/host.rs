//! The simulated host of a recorded Linux host.

use super::described::{DescribedLinux, DescribedThread, DescribedVm};
use super::start::LinuxStart;
use super::tree;
use super::work::{Begin, RigWork};
use crate::ensemble::{shuffled, stream};
use domio_contract::{Policy, StateRows};
use domio_core::{
    CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuName, XenVersion,
};
use domio_replay::{NamedRecord, NamedRecords};
use domio_run::Replication;
use domio_vmm::config::{
    DomainConfig, DomainKind, GuestConfig, HostConfig, TaskConfig, VcpuConfig, Workload,
};
use domio_vmm::hardware::LINUX_RIG;
use domio_vmm::host::Snapshot;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long a simulation runs before the common start of the threads.
const BEFORE: Duration = Duration::from_millis(200);

/// The part of that in which threads execute for the first time; then all of them sleep, as those
/// of the rig do.
const SETTING_UP: Duration = Duration::from_millis(80);

/// The most that a thread executes to set itself up.
const SETS_UP: u64 = 1_000_000;

/// From one wake-up to the next at the common start.
const APART: Duration = Duration::from_nanos(5_000);

/// Everything that is needed to simulate a recording of Linux, any number of times.
pub struct LinuxSimulation<'a> {
    described: &'a DescribedLinux,
    policy: &'static Policy,
    params: ParamValues,
    topology: Topology,
    start: LinuxStart,
}

/// A start state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinuxHidden {
    /// Added to all times, so that multiples of the tick in simulated time are ticks.
    shift: Duration,
    /// The domain of the first machine; those of the others follow. Linux draws when the periods of
    /// a quota begin, and the policy has that from the domain.
    first: u16,
    /// By thread: its place in the order of wake-ups, when it sets itself up, and how long.
    threads: Vec<(usize, Duration, Duration)>,
}

/// A thread by its machine and number there.
pub type Place = (usize, usize);

impl<'a> LinuxSimulation<'a> {
    /// The simulations of the host that `described` describes; the trace shows its `start`.
    ///
    /// # Errors
    /// What in the description cannot be simulated.
    pub fn new(
        described: &'a DescribedLinux,
        start: LinuxStart,
    ) -> Result<LinuxSimulation<'a>, String> {
        let policy = policy(described)?;
        let mut params = ParamValues::defaults(policy.descriptor.params);
        described.set(&mut params)?;
        params
            .choose("release", &described.release())
            .and_then(|()| params.choose("hz", &described.hz.to_string()))
            .map_err(|e| format!("scenario.json: {e}"))?;
        let topology = Topology::flat(described.cpus);
        let topology = topology.ok_or_else(|| format!("{} cpus", described.cpus))?;
        Ok(LinuxSimulation {
            described,
            policy,
            params,
            topology,
            start,
        })
    }

    /// All threads, in the order of the description.
    pub fn places(described: &DescribedLinux) -> impl Iterator<Item = Place> + '_ {
        let vms = described.vms.iter().enumerate();
        vms.flat_map(|(vm, d)| (0..d.threads.len()).map(move |thread| (vm, thread)))
    }

    /// State `number` of the ensemble.
    pub fn draw(&self, number: u32) -> LinuxHidden {
        let mut random = stream(number);
        let threads = Self::places(self.described).count();
        let order = shuffled(threads, &mut random);
        let tick = self.described.tick().as_nanos();
        let shift = match self.start.tick {
            Some(at) => (tick - at.as_nanos() % tick) % tick,
            None => random.below(tick),
        };
        let first = 1 + random.below(1_000) as u16;
        let mut threads = order.into_iter().map(|place| {
            let at = random.below((SETTING_UP).as_nanos());
            let executes = 10_000 + random.below(SETS_UP);
            (
                place,
                Duration::from_nanos(at),
                Duration::from_nanos(executes),
            )
        });
        LinuxHidden {
            shift: Duration::from_nanos(shift),
            first,
            threads: threads.by_ref().collect(),
        }
    }

    /// The threads of each domain of a simulated host: those of a control group, and each thread
    /// that is in none by itself.
    fn groups(&self) -> Vec<Vec<Place>> {
        let mut groups = Vec::new();
        for (i, vm) in self.described.vms.iter().enumerate() {
            let places = (0..vm.threads.len()).map(|thread| (i, thread));
            match vm.cgroup {
                _ if vm.threads.is_empty() => {}
                Some(_) => groups.push(places.collect()),
                None => groups.extend(places.map(|place| vec![place])),
            }
        }
        groups
    }

    /// The domain `group` of simulations that begin in `hidden`.
    fn id(&self, hidden: &LinuxHidden, group: usize) -> DomainId {
        DomainId(hidden.first + group as u16)
    }

    /// The thread in `place` in simulations that begin in `hidden`.
    pub fn name(&self, hidden: &LinuxHidden, place: Place) -> VcpuName {
        let groups = self.groups().into_iter().enumerate();
        let mut found = groups.filter_map(|(group, places)| {
            let at = places.iter().position(|other| *other == place)?;
            Some(VcpuName::new(self.id(hidden, group), at as u16))
        });
        found.next().expect("every thread is in a group")
    }

    /// When the window begins and ends in simulations that begin in `hidden`.
    pub fn window(&self, hidden: &LinuxHidden) -> [Instant; 2] {
        self.start.window.map(|at| at + hidden.shift + BEFORE)
    }

    /// The records of a whole simulated run.
    ///
    /// # Errors
    /// Why the run does not come to its end.
    pub fn run(&self, hidden: &LinuxHidden) -> Result<Vec<NamedRecord>, String> {
        let [from, to] = self.window(hidden);
        let domains = self.groups().into_iter().enumerate();
        let domains = domains.map(|(at, places)| (places[0].0, self.id(hidden, at)));
        let domains: Vec<(usize, DomainId)> = domains.collect();
        let config = HostConfig {
            topology: self.topology.clone(),
            version: XenVersion::V4_17,
            profile: *LINUX_RIG.profile,
            domains: self.domains(hidden, from)?,
            groups: tree::groups(self.described, self.policy, &domains)?,
            pools: Vec::new(),
            actions: Vec::new(),
            controllers: Vec::new(),
        };
        let snapshot = Snapshot {
            at: from.saturating_sub(BEFORE),
            policy: StateRows::default(),
            ..Snapshot::default()
        };
        let mut simulation = Replication::resumed(
            &config,
            (self.policy.make)(&self.params, &self.topology),
            &snapshot,
            NamedRecords::default(),
        );
        simulation.until(to).map_err(|fault| fault.to_string())?;
        simulation.mark(to);
        Ok(simulation.into_sink().0)
    }

    fn domains(&self, hidden: &LinuxHidden, start: Instant) -> Result<Vec<DomainConfig>, String> {
        let begins: Vec<Begin> = hidden
            .threads
            .iter()
            .map(|(place, at, executes)| Begin {
                before: start.saturating_sub(BEFORE) + *at,
                executes: *executes,
                start,
                woken: start + APART * (1 + *place as u64),
            })
            .collect();
        let numbers: BTreeMap<Place, usize> = Self::places(self.described)
            .enumerate()
            .map(|(number, place)| (place, number))
            .collect();
        let mut domains = Vec::new();
        for (i, places) in self.groups().into_iter().enumerate() {
            let vm = &self.described.vms[places[0].0];
            let vcpus = places.iter().map(|place| {
                let thread = &vm.threads[place.1];
                self.vcpu(vm, thread, begins[numbers[place]])
            });
            let vcpus = vcpus.collect::<Result<Vec<VcpuConfig>, String>>()?;
            let name = match vm.cgroup {
                Some(_) => vm.name.clone(),
                None => format!("{}:{}", vm.name, vm.threads[places[0].1].name),
            };
            let alone = vm.cgroup.is_none().then(|| &vm.threads[places[0].1]);
            domains.push(DomainConfig {
                id: self.id(hidden, i),
                name,
                params: self.group(vm, alone)?,
                guest: GuestConfig::IDEAL,
                vcpus,
                start: Instant::ZERO,
                stop: None,
                kind: DomainKind::Guest,
            });
        }
        Ok(domains)
    }

    /// The settings of the control group of `vm`; of a thread that is `alone`, a weight like that
    /// of its nice value.
    fn group(
        &self,
        vm: &DescribedVm,
        alone: Option<&DescribedThread>,
    ) -> Result<ParamValues, String> {
        let mut values = ParamValues::defaults(self.policy.descriptor.domain_params);
        let mut put = |name: &str, value: Option<i64>| match value {
            None => Ok(()),
            Some(value) => values
                .set(name, value)
                .map_err(|e| format!("vm {}: {e}", vm.name)),
        };
        let alone = alone.map(|thread| (100.0 * 1.25_f64.powi(-(thread.nice as i32))).round());
        put("weight", vm.weight.or(alone.map(|weight| weight as i64)))?;
        put("quota_us", vm.quota_us)?;
        put("period_us", vm.period_us)?;
        // Each thread has its own group: those of the first limit are as vcpus there, those of the
        // second as I/O threads.
        let keys = [
            ["vcpu_quota_us", "vcpu_period_us"],
            ["iothread_quota_us", "iothread_period_us"],
        ];
        for (keys, limit) in keys.into_iter().zip(vm.limits()) {
            if let Some((quota, period)) = limit {
                put(keys[0], Some(quota))?;
                put(keys[1], Some(period))?;
            }
        }
        if vm.has_inner_groups() {
            let layout = values.choose("layout", "libvirt");
            layout.map_err(|e| format!("vm {}: {e}", vm.name))?;
        }
        Ok(values)
    }

    fn vcpu(
        &self,
        vm: &DescribedVm,
        thread: &DescribedThread,
        begin: Begin,
    ) -> Result<VcpuConfig, String> {
        let failed = |e: &dyn std::fmt::Display| format!("{}:{}: {e}", vm.name, thread.name);
        let mut values = ParamValues::defaults(self.policy.descriptor.vcpu_params);
        values.set("nice", thread.nice).map_err(|e| failed(&e))?;
        if let class @ ("batch" | "idle") = thread.policy.as_str() {
            values.choose("class", class).map_err(|e| failed(&e))?;
        }
        if let class @ ("fifo" | "rr") = thread.policy.as_str() {
            values.choose("class", class).map_err(|e| failed(&e))?;
            let priority = thread.rt_priority.unwrap_or(1);
            values
                .set("rt_priority", priority)
                .map_err(|e| failed(&e))?;
        }
        if vm
            .limits()
            .iter()
            .position(|limit| *limit == thread.limit())
            == Some(1)
        {
            values.choose("seat", "iothread").map_err(|e| failed(&e))?;
        }
        let mut hard = self.topology.all();
        for list in [&vm.cpus, &thread.cpus].into_iter().flatten() {
            let what = format!("no list of cpus: {list:?}");
            hard &= cpus(list).ok_or_else(|| failed(&what))?;
        }
        if hard.is_empty() {
            return Err(failed(&"it may run on no cpu of the host"));
        }
        let other = thread.workload.channel().and_then(|channel| {
            let mut threads = vm.threads.iter();
            threads.position(|t| t.tid != thread.tid && t.workload.channel() == Some(channel))
        });
        let work = RigWork::new(thread.workload.clone(), begin, other.map(|at| at as u16));
        Ok(VcpuConfig {
            hard,
            soft: self.topology.all(),
            params: Some(values),
            tasks: vec![TaskConfig::from(Workload::Jobs(Arc::new(work)))],
            kernel_tick: None,
        })
    }
}

/// The policy of a described host, if it has the release.
///
/// # Errors
/// Which releases there are.
pub fn policy(described: &DescribedLinux) -> Result<&'static Policy, String> {
    let release = described.release();
    let name = described.scheduler.as_str();
    let known = domio_sched::find(name).filter(|_| ["cfs", "eevdf"].contains(&name));
    let Some(policy) = known else {
        return Err(format!(
            "recorded under the scheduler {name:?} of Linux; expected cfs or eevdf"
        ));
    };
    let mut params = ParamValues::defaults(policy.descriptor.params);
    match params.choose("release", &release) {
        Ok(()) => Ok(policy),
        Err(_) => Err(format!(
            "recorded on Linux {}, whose rules {name} does not have; recordings of 6.1 (cfs), \
             6.12, 6.18, 7.0, 7.2 and 7.3 (eevdf) can be judged",
            described.kernel
        )),
    }
}

/// The cpus of a list such as "0-3,8".
fn cpus(list: &str) -> Option<CpuSet> {
    let mut set = CpuSet::EMPTY;
    for range in list.split([',', ' ']).filter(|range| !range.is_empty()) {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u16, u16) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        if to as usize >= domio_core::cpuset::MAX_PCPUS {
            return None;
        }
        (from..=to).for_each(|cpu| set.insert(PcpuId(cpu)));
    }
    Some(set)
}
