//! The simulated simulation of a recording.

use crate::policy::PolicyState;
use crate::recording::{DescribedWorkload, Recording};
use crate::release::COMPARED_WITH;
use crate::seen::seen;
use crate::start::Start;
use domio_contract::StateRows;
use domio_core::{
    CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Runstate, Topology, VcpuId, VcpuName,
};
use domio_replay::demand::unseen::Unseen;
use domio_replay::demand::{Recorded, demands};
use domio_replay::linux::{KERNEL_TICK, LEAST_AHEAD, next_after};
use domio_replay::{Demand, NamedRecord, NamedRecords, ReplayProcess};
use domio_run::Replication;
use domio_sched::find;
use domio_vmm::Profile;
use domio_vmm::config::{
    Distribution, DomainConfig, DomainKind, GuestConfig, HostConfig, KernelTick, TaskConfig,
    VcpuConfig, Workload,
};
use domio_vmm::host::{PcpuSnapshot, Snapshot, TimerHold, VcpuSnapshot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Simulated time at which a simulation takes over, before the clock offset: long enough after zero
/// that times before the trace's first record exist.
const TAKE_OVER: Duration = Duration::from_secs(100);

/// Everything that is needed to simulate a recording, any number of times, under the policy whose
/// state is `P`.
pub struct SimulatedHost<P: PolicyState> {
    config: HostConfig,
    params: ParamValues,
    start: Start,
    policy: P,
    /// Simulated time of the trace's first record.
    origin: Instant,
    length: Duration,
    /// In simulated time.
    holds: Vec<TimerHold>,
}

/// Interrupts that a recording does not show, but that follow from the times of others.
#[derive(Clone, Debug, Default)]
pub struct Interrupts {
    /// Those that take time from the guest that executes.
    pub unseen: Unseen,
    /// The timer of the jobs of guests that never sleep.
    pub jobs: BTreeMap<VcpuName, JobTimer>,
    /// When something that left no record, and is none of the above, kept timers from running.
    pub holds: Vec<TimerHold>,
}

/// A timer that expires again and again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobTimer {
    /// One time at which it expires.
    pub at: Instant,
    /// How far its times are apart.
    pub period: Duration,
}

impl JobTimer {
    /// The first time after `at`.
    pub fn after(&self, at: Instant) -> Instant {
        next_after(self.at, self.period, at)
    }
}

impl<P: PolicyState> SimulatedHost<P> {
    /// The simulation of `recording` on a machine of `profile`: its guests are woken when the
    /// recorded ones were, and ask for as much.
    ///
    /// # Errors
    /// A sentence that says what in the description cannot be simulated.
    pub fn new(recording: &Recording, profile: &Profile) -> Result<SimulatedHost<P>, String> {
        let nothing = |_: &P| Interrupts::default();
        SimulatedHost::with(recording, profile, nothing, P::demands)
    }

    /// As [`Simulation::new`] with what else the trace shows of its guests: `interrupts` that leave
    /// no record, and the `demands_of` what was recorded of a vcpu.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn with(
        recording: &Recording,
        profile: &Profile,
        interrupts: impl Fn(&P) -> Interrupts,
        demands_of: impl Fn(Recorded) -> Vec<Demand>,
    ) -> Result<SimulatedHost<P>, String> {
        let description = &recording.description;
        let mut params = ParamValues::defaults(P::DESCRIPTOR.params);
        for (name, value) in &description.params {
            params
                .set(name, *value)
                .map_err(|e| format!("params.{name} = {value}: {e}"))?;
        }
        let topology = P::topology(recording, &params)?;
        let start = Start::observe(recording, profile);
        let policy = P::observe(recording, &params, &topology, profile, &start);
        let (clock_offset, period) = policy.clock();
        let origin = Instant::ZERO + TAKE_OVER + aligned(start.at, clock_offset, period);
        let Interrupts {
            unseen,
            jobs,
            holds,
        } = interrupts(&policy);
        let holds = holds.iter().map(|h| TimerHold {
            pcpu: h.pcpu,
            from: origin + h.from.saturating_since(start.at),
            until: origin + h.until.saturating_since(start.at),
        });
        let mut holds: Vec<TimerHold> = holds.collect();
        // In the order in which a host keeps them: thousands of simulations begin with these.
        holds.sort_by_key(|hold| core::cmp::Reverse(hold.from));
        let mut demand = demands(&recording.records, recording.begin(), profile, &unseen);
        let seen = seen(&recording.records);
        let mut domains = Vec::new();
        for domain in &description.domains {
            let mut values = ParamValues::defaults(P::DESCRIPTOR.domain_params);
            values
                .set("weight", domain.weight)
                .and_then(|()| values.set("cap", domain.cap))
                .map_err(|e| format!("domain {}: {e}", domain.name))?;
            let vcpus = (0..domain.vcpus)
                .map(|index| {
                    let name = VcpuName::new(DomainId(domain.id), index);
                    let recorded = demands_of(demand.remove(&name).unwrap_or_default());
                    let tick = unseen.kernel_ticks.get(&name).map(|at| KernelTick {
                        period: KERNEL_TICK,
                        phase: origin + at.since(start.at) % KERNEL_TICK,
                        least: LEAST_AHEAD,
                    });
                    let job = jobs.get(&name).map(|job| JobTimer {
                        at: origin + job.after(start.at).since(start.at),
                        ..*job
                    });
                    // A guest that computes may have vcpus to spare.
                    let workload = match seen.contains_key(&name) {
                        true => domain.workload,
                        false => DescribedWorkload::Replay,
                    };
                    vcpu_config(workload, &recorded, origin, tick, job)
                })
                .collect();
            domains.push(DomainConfig {
                id: DomainId(domain.id),
                name: domain.name.clone(),
                params: values,
                guest: GuestConfig::IDEAL,
                vcpus,
                start: Instant::ZERO,
                stop: None,
                kind: DomainKind::Guest,
            });
        }
        let config = HostConfig {
            topology,
            version: COMPARED_WITH,
            profile: *profile,
            domains,
            groups: Vec::new(),
            pools: Vec::new(),
            actions: Vec::new(),
            controllers: Vec::new(),
        };
        let length = recording.end().since(recording.begin());
        Ok(SimulatedHost {
            config,
            params,
            start,
            policy,
            origin,
            length,
            holds,
        })
    }

    /// The machine.
    pub fn profile(&self) -> &Profile {
        &self.config.profile
    }

    /// What the trace shows of the start.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Simulated time of the trace's first record.
    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Length of the recording.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// What the trace shows of the policy's state at the start.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The policy's parameters.
    pub fn params(&self) -> &ParamValues {
        &self.params
    }

    /// The shape of the host.
    pub(crate) fn topology(&self) -> &Topology {
        &self.config.topology
    }

    /// The value of the parameter `param` of `domain`; `None` where there is none.
    pub(crate) fn domain_param(&self, domain: DomainId, param: &str) -> Option<i64> {
        let found = self.config.domains.iter().find(|d| d.id == domain)?;
        found.params.by_name(param)
    }

    /// A simulation that begins at the trace's first record with the given hidden state, and keeps
    /// its records.
    pub fn simulation(&self, hidden: &P::Hidden) -> Replication<'static, NamedRecords> {
        let policy = find(P::DESCRIPTOR.name).expect("a shipped policy");
        Replication::resumed(
            &self.config,
            (policy.make)(self.params(), self.topology()),
            &self.snapshot(P::state(self, hidden)),
            NamedRecords::default(),
        )
    }

    /// The number of `name` in the simulation: vcpus are numbered in the order of the
    /// configuration.
    pub fn id_of(&self, name: VcpuName) -> VcpuId {
        let domains = self.config.domains.iter();
        let vcpus = domains.map(|d| (d.id, d.vcpus.len() as u16));
        let mut names = vcpus.flat_map(|(d, n)| (0..n).map(move |i| VcpuName::new(d, i)));
        let at = names.position(|n| n == name);
        VcpuId(at.expect("a vcpu of the trace is described") as u32)
    }

    /// The records of a whole simulated run.
    pub fn run(&self, hidden: &P::Hidden) -> Vec<NamedRecord> {
        let mut simulation = self.simulation(hidden);
        let end = self.origin + self.length;
        if let Err(fault) = simulation.until(end) {
            panic!("a simulation runs to its end: {fault}");
        }
        simulation.into_sink().0
    }

    /// The simulated time of a record at `recorded`.
    pub(crate) fn time(&self, recorded: Instant) -> Instant {
        self.origin + recorded.saturating_since(self.start.at)
    }

    /// As [`Simulation::time`] for a time before the trace.
    pub(crate) fn earlier(&self, recorded: Instant) -> Instant {
        if recorded >= self.start.at {
            self.time(recorded)
        } else {
            let before = self.start.at.since(recorded);
            self.origin.saturating_sub(before)
        }
    }

    fn snapshot(&self, policy: StateRows) -> Snapshot {
        Snapshot {
            at: self.origin,
            policy,
            holds: self.holds.clone(),
            vcpus: self
                .start
                .vcpus
                .iter()
                .map(|v| VcpuSnapshot {
                    name: v.name,
                    // Only the pcpus' own word makes a vcpu current.
                    state: match (self.current_on(v.name), v.state) {
                        (Some(_), _) => Runstate::Running,
                        (None, Runstate::Running) => Runstate::Runnable,
                        (None, state) => state,
                    },
                    since: self.earlier(v.since),
                    pcpu: self.current_on(v.name).unwrap_or(v.pcpu),
                    parked: v.parked,
                })
                .collect(),
            pcpus: self
                .start
                .pcpus
                .iter()
                .map(|p| PcpuSnapshot {
                    current: p.current,
                    entered: self.earlier(p.entered),
                    slice_end: Some(match p.slice_end {
                        Some(at) => self.time(at),
                        None => self.earlier(p.entered) + self.policy.longest_slice(),
                    }),
                })
                .collect(),
        }
    }

    /// The pcpu on which `name` runs at the start.
    pub(crate) fn current_on(&self, name: VcpuName) -> Option<PcpuId> {
        let at = self
            .start
            .pcpus
            .iter()
            .position(|p| p.current == Some(name))?;
        Some(PcpuId(at as u16))
    }
}

/// The part of the origin that makes multiples of the tick in simulated time those of Xen's clock.
fn aligned(begin: Instant, offset: Duration, tick: Duration) -> Duration {
    let base = TAKE_OVER.as_nanos() % tick.as_nanos();
    let wanted = (begin.as_nanos() + offset.as_nanos()) % tick.as_nanos();
    Duration::from_nanos((wanted + tick.as_nanos() - base) % tick.as_nanos())
}

/// The jobs of a guest that does other things besides, from the time of `timer` on: the timer is
/// all that matters of them.
fn job_task(timer: &JobTimer) -> TaskConfig {
    TaskConfig {
        name: "job".to_owned(),
        priority: 1,
        roams: false,
        workload: Workload::Periodic {
            period: timer.period,
            phase: timer.at.since(Instant::ZERO),
            burst: Distribution::Constant(Duration::from_nanos(1)),
        },
    }
}

fn vcpu_config(
    workload: DescribedWorkload,
    recorded: &[Demand],
    origin: Instant,
    kernel_tick: Option<KernelTick>,
    job: Option<JobTimer>,
) -> VcpuConfig {
    let workload = match workload {
        DescribedWorkload::Burn => Workload::Burn,
        // Whatever a domain does: the trace shows what it asked for.
        DescribedWorkload::Replay
        | DescribedWorkload::Net
        | DescribedWorkload::NetAndBurn
        | DescribedWorkload::Idle => {
            let shifted: Vec<Demand> = recorded
                .iter()
                .map(|d| Demand {
                    at: origin + d.at.since(Instant::ZERO),
                    ..*d
                })
                .collect();
            Workload::Jobs(Arc::new(ReplayProcess::new(shifted.into())))
        }
    };
    let own = core::iter::once(TaskConfig::from(workload));
    VcpuConfig {
        hard: CpuSet::ALL,
        soft: CpuSet::ALL,
        params: None,
        tasks: own.chain(job.map(|timer| job_task(&timer))).collect(),
        kernel_tick,
    }
}

/// Dispatches in `records`, by pcpu: when, and of whom.
pub fn dispatches(records: &[NamedRecord], pcpus: usize) -> Vec<Vec<(Instant, VcpuName)>> {
    let mut found = vec![Vec::new(); pcpus];
    for r in records {
        if let Some(next) = r.next
            && let Some(list) = found.get_mut(r.pcpu.index())
        {
            list.push((r.at, next));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_never_sleeps_has_the_timer_of_its_jobs_besides() {
        let at = Instant::ZERO + TAKE_OVER + Duration::from_millis(3);
        let period = Duration::from_millis(10);
        let job = Some(JobTimer { at, period });
        let vcpu = vcpu_config(DescribedWorkload::Burn, &[], at, None, job);
        let [burn, job] = &vcpu.tasks[..] else {
            panic!("two tasks: {:?}", vcpu.tasks);
        };
        assert!(matches!(burn.workload, Workload::Burn) && job.priority > burn.priority);
        let expected = TAKE_OVER + Duration::from_millis(3);
        assert!(matches!(
            job.workload,
            Workload::Periodic { period: p, phase, .. } if p == period && phase == expected
        ));
    }
}
