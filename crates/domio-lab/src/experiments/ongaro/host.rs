//! The paper's machine: one processor, a driver domain, eight guests, a gigabit line.
//!
//! Nothing here depends on the cell but what the cell says: who does what, which scheduler, how
//! kernels look for event channels.

use super::cell::Cell;
use super::configurations::{Configuration, Scheduler};
use super::settings::Settings;
use super::suite::Role;
use crate::registry::LabContext;
use domio_core::{DomainId, Duration, Instant, ParamError, ParamValues, Topology, XenVersion};
use domio_net::host::{FlowConfig, FlowKind, NetworkConfig, RxMode, StreamConfig, VifConfig};
use domio_net::icmp::{Pace, PingConfig, Ticks};
use domio_net::link::{LinkConfig, Rate};
use domio_sched::Policy;
use domio_sim::random::RandomStream;
use domio_vmm::config::{
    DomainConfig, GuestConfig, HostConfig, ProcessOrder, VcpuConfig, Workload,
};
use domio_vmm::evtchn::Abi;

/// The driver domain.
pub const DOM0: DomainId = DomainId(0);

/// The scripts of a real laboratory start guests one after the other; each is this much later than
/// the one before, and up to as much again.
const GUEST_EVERY: Duration = Duration::from_millis(10);

/// A flow begins so long after its guest, and up to `FLOWS_SPREAD` later.
pub const FLOWS_BEGIN: Duration = Duration::from_millis(500);
/// See [`FLOWS_BEGIN`].
const FLOWS_SPREAD: Duration = Duration::from_millis(100);

/// From one timer tick of the remote host to the next: `CONFIG_HZ_250`, the default of Linux since
/// 2.6.13.
const REMOTE_TICK: Duration = Duration::from_millis(4);

/// All that a simulation of a cell is made of.
pub struct Built {
    /// The host.
    pub host: HostConfig,
    /// Its network.
    pub network: NetworkConfig,
    /// Its scheduler.
    pub policy: &'static Policy,
    /// The scheduler's parameters.
    pub params: ParamValues,
}

/// The machine of `cell`. What replications vary, when guests, flows and the monitor begin, is
/// drawn from streams of their own: cells of the same replication begin alike, whatever else they
/// differ in.
///
/// # Errors
/// When the scheduler does not know a parameter of the configuration.
pub fn build(
    cell: Cell,
    settings: &Settings,
    cx: &LabContext,
    replication: u32,
) -> Result<Built, String> {
    let (policy, params) = scheduler(cell.configuration)?;
    // The hypervisor's ticks begin when it boots, the monitor when somebody starts it.
    let reading = RandomStream::new(cx.seed, replication, "laboratory/dom0/reading")
        .duration_uniform(Duration::ZERO, settings.housekeeping.reading);
    let housekeeping = settings.housekeeping.tasks(reading);
    // The remote host was booted at another time.
    let remote_ticks = Ticks {
        length: REMOTE_TICK,
        phase: RandomStream::new(cx.seed, replication, "laboratory/remote/ticks")
            .duration_uniform(Duration::ZERO, REMOTE_TICK),
    };
    let guest = guest(cell.configuration, settings);
    let mut domains = vec![domain(
        policy,
        DOM0,
        "dom0",
        guest,
        housekeeping,
        Instant::ZERO,
    )];
    let mut vifs = Vec::new();
    for (number, role) in (1..).zip(cell.test.guests) {
        let name = format!("guest{number}");
        let draw = |what: &str, most| {
            let stream = format!("laboratory/{name}/{what}");
            RandomStream::new(cx.seed, replication, &stream).duration_uniform(Duration::ZERO, most)
        };
        let id = DomainId(number);
        let start = GUEST_EVERY * u64::from(number) + draw("start", GUEST_EVERY);
        let tasks = match role.burns() {
            true => vec![Workload::Burn],
            false => Vec::new(),
        };
        let start = Instant::ZERO + start;
        domains.push(domain(policy, id, &name, guest, tasks, start));
        let flow = |kind| FlowConfig {
            kind,
            start: FLOWS_BEGIN + draw("flow", FLOWS_SPREAD),
        };
        vifs.push(VifConfig {
            domain: id,
            vcpu: 0,
            rate: None,
            rx_target: settings.rx_target,
            flows: kind(role, settings.streams, cell.test.pace, remote_ticks)
                .map(flow)
                .into_iter()
                .collect(),
        });
    }
    let network = NetworkConfig {
        driver: DOM0,
        nic: settings.nic,
        link: LinkConfig {
            rate: Rate::GBIT_1,
            latency: settings.latency,
            queue: 1000,
        },
        remote_gap: settings.remote_gap,
        remote_irq_latency: settings.remote_irq_latency,
        remote_writers: settings.writers,
        costs: settings.network,
        rx_mode: RxMode::Flip,
        vcpu: 0,
        other_ports: settings.other_ports,
        vifs,
    };
    network.equip(0, &mut domains);
    Ok(Built {
        host: HostConfig {
            topology: Topology::flat(1).ok_or("a host of one pcpu cannot be built")?,
            version: XenVersion::V3_1,
            profile: settings.profile,
            domains,
            actions: Vec::new(),
            controllers: Vec::new(),
        },
        network,
        policy,
        params,
    })
}

/// The policy of `configuration` and its parameters, under the rules of Xen 3.1.
fn scheduler(configuration: &Configuration) -> Result<(&'static Policy, ParamValues), String> {
    let name = match configuration.scheduler {
        Scheduler::Credit { .. } => "credit",
        Scheduler::Sedf => "sedf",
    };
    let policy = domio_sched::find(name).ok_or_else(|| format!("there is no policy \"{name}\""))?;
    let mut params = ParamValues::defaults(policy.descriptor.params);
    let told = |e: ParamError| e.to_string();
    params.choose("version", "3.1").map_err(told)?;
    if let Scheduler::Credit {
        tickle,
        boost,
        sort,
    } = configuration.scheduler
    {
        for (name, on) in [("tickle", tickle), ("boost", boost), ("runq_sort", sort)] {
            params.set(name, i64::from(on)).map_err(told)?;
        }
    }
    Ok((policy, params))
}

/// A domain of one vcpu with the default parameters of `policy`.
fn domain(
    policy: &Policy,
    id: DomainId,
    name: &str,
    guest: GuestConfig,
    tasks: Vec<Workload>,
    start: Instant,
) -> DomainConfig {
    DomainConfig {
        id,
        name: name.to_owned(),
        params: ParamValues::defaults(policy.descriptor.domain_params),
        guest,
        vcpus: vec![VcpuConfig::anywhere(tasks)],
        start,
        stop: None,
    }
}

/// What goes over the network of a guest that is `role`, with pings of pace `pace` from a host with
/// `ticks`.
fn kind(role: Role, streams: StreamConfig, pace: Pace, ticks: Ticks) -> Option<FlowKind> {
    match role {
        Role::Stream => Some(FlowKind::StreamIn(streams)),
        Role::Ping | Role::PingAndBurn => Some(FlowKind::Ping(PingConfig {
            pace,
            ticks: Some(ticks),
            ..PingConfig::default()
        })),
        Role::Burn | Role::Idle => None,
    }
}

/// The operating system of every domain: Linux 2.6.18 for Xen on a 64-bit processor, with Xen's
/// tick.
fn guest(configuration: &Configuration, settings: &Settings) -> GuestConfig {
    GuestConfig {
        abi: Abi::TwoLevel {
            width: settings.words,
            scan: configuration.scan,
        },
        tick: Some(Duration::from_millis(10)),
        costs: settings.kernel,
        order: ProcessOrder::Linux26,
        task_slice: Duration::from_millis(100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_vmm::evtchn::ScanForm;

    fn built(name: &str, replication: u32) -> Built {
        let cx = LabContext { seed: 1 };
        build(
            name.parse().unwrap(),
            &Settings::default(),
            &cx,
            replication,
        )
        .unwrap()
    }

    #[test]
    fn a_cell_says_who_does_what_under_which_scheduler() {
        let eighth = built("test8/bs", 0);
        let tasks: Vec<usize> = eighth
            .host
            .domains
            .iter()
            .map(|d| d.vcpus[0].tasks.len())
            .collect();
        // Dom0 keeps house, three guests read their streams, four burn.
        assert_eq!(tasks, [2, 1, 1, 1, 1, 1, 1, 1, 0]);
        let flows = eighth.network.vifs.iter().map(|v| v.flows.len());
        assert_eq!(flows.collect::<Vec<_>>(), [1, 1, 1, 1, 0, 0, 0, 0]);
        let on = |name| eighth.params.by_name(name);
        assert_eq!(
            (on("tickle"), on("boost"), on("runq_sort")),
            (Some(0), Some(1), Some(1))
        );
        let scan = |name| match built(name, 0).host.domains[1].guest.abi {
            Abi::TwoLevel { scan, .. } => scan,
            other => panic!("{other:?}"),
        };
        assert_eq!(scan("test8/sedf"), ScanForm::Restart);
        assert_eq!(scan("test8/sedf-patched"), ScanForm::RoundRobin);
        assert_eq!(built("test1/sedf", 0).policy.descriptor.name, "sedf");
    }

    #[test]
    fn guests_start_in_order_and_replications_differ() {
        let starts = |name, replication| -> Vec<Instant> {
            let built = built(name, replication);
            built.host.domains.iter().map(|d| d.start).collect()
        };
        let first = starts("test1/orig", 0);
        assert!(first.windows(2).all(|w| w[0] < w[1]), "{first:?}");
        assert_ne!(first, starts("test1/orig", 1));
        assert_eq!(first, starts("test6/sedf", 0), "cells are paired");
    }
}
