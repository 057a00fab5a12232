//! Random hosts: every policy and release, shapes, guests, workloads, and an operator who pauses,
//! pins, changes weights and takes pcpus away.

use crate::common::{at_us, ms, us};
use domio_contract::Scheduler;
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, XenVersion};
use domio_vmm::Profile;
use domio_vmm::config::{
    Action, Distribution, DomainConfig, DomainKind, GuestConfig, HostConfig, KernelCosts,
    KernelTick, ProcessOrder, TaskConfig, VcpuConfig, Workload,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// How long a random host runs.
const END: Duration = Duration::from_millis(250);

/// Policies with the release whose rules they follow.
pub const POLICIES: [(&str, Option<&str>); 11] = [
    ("round-robin", None),
    ("null", None),
    ("credit", Some("3.1")),
    ("credit", Some("3.4")),
    ("credit", Some("4.0")),
    ("credit", Some("4.17")),
    ("sedf", Some("3.0")),
    ("sedf", Some("3.1")),
    ("sedf", Some("4.5")),
    ("bvt", Some("2.0")),
    ("bvt", Some("3.0.2")),
];

const VERSIONS: [XenVersion; 5] = [
    XenVersion::V3_0,
    XenVersion::V3_1,
    XenVersion::V3_4,
    XenVersion::V4_0,
    XenVersion::V4_17,
];

/// Sockets, cores, threads.
const SHAPES: [(u16, u16, u16); 7] = [
    (1, 1, 1),
    (1, 2, 1),
    (1, 1, 2),
    (1, 3, 1),
    (2, 1, 2),
    (2, 2, 2),
    (1, 8, 1),
];

/// A host and its policy.
#[derive(Clone, Debug)]
pub struct Case {
    pub policy: &'static str,
    pub release: Option<&'static str>,
    pub host: HostConfig,
    pub end: Instant,
    pub seed: u64,
}

impl Case {
    pub fn scheduler(&self) -> Box<dyn Scheduler> {
        let policy = domio_sched::find(self.policy).unwrap();
        let mut params = ParamValues::defaults(policy.descriptor.params);
        if let Some(release) = self.release {
            params.choose("version", release).unwrap();
        }
        (policy.make)(&params, &self.host.topology)
    }

    /// Whether nothing costs time.
    pub fn is_ideal(&self) -> bool {
        self.host.profile.is_free()
    }
}

/// Parameters of a domain, as far as `policy` has them.
pub fn domain_params(policy: &str, weight: i64, cap: i64) -> ParamValues {
    let policy = domio_sched::find(policy).unwrap();
    let mut params = ParamValues::defaults(policy.descriptor.domain_params);
    for (name, value) in [("weight", weight), ("cap", cap)] {
        if params.by_name(name).is_some() {
            params.set(name, value).unwrap();
        }
    }
    params
}

fn time(low_us: u64, high_us: u64) -> impl Strategy<Value = Duration> {
    (low_us..=high_us).prop_map(us)
}

fn distribution(low_us: u64, high_us: u64) -> impl Strategy<Value = Distribution> {
    prop_oneof![
        time(low_us, high_us).prop_map(Distribution::Constant),
        time(low_us, high_us).prop_map(move |d| Distribution::Uniform(us(low_us), d)),
        time(low_us, high_us).prop_map(Distribution::Exponential),
        time(low_us, high_us).prop_map(|d| Distribution::Normal(d, d / 3)),
    ]
}

fn workload() -> impl Strategy<Value = Workload> {
    let periodic = (time(500, 30_000), time(0, 20_000), distribution(20, 10_000)).prop_map(
        |(period, phase, burst)| Workload::Periodic {
            period,
            phase,
            burst,
        },
    );
    let on_off = (distribution(100, 40_000), distribution(100, 20_000))
        .prop_map(|(on, off)| Workload::OnOff { on, off });
    prop_oneof![
        3 => Just(Workload::Burn),
        1 => Just(Workload::Idle),
        3 => periodic,
        3 => on_off,
        1 => time(200, 2_000).prop_map(|d| Workload::Yielding {
            burst: Distribution::Constant(d)
        }),
        1 => time(1, 50_000).prop_map(|work| Workload::Compute { work }),
    ]
}

fn task() -> impl Strategy<Value = TaskConfig> {
    (workload(), -1_i8..=1, any::<bool>()).prop_map(|(workload, priority, roams)| TaskConfig {
        priority,
        roams,
        ..TaskConfig::from(workload)
    })
}

/// Pcpus of a mask, with the first one, which never goes offline.
fn pcpus(mask: Option<u8>) -> CpuSet {
    match mask {
        None => CpuSet::ALL,
        Some(mask) => (0..8)
            .filter(|p| mask >> p & 1 == 1 || *p == 0)
            .map(PcpuId)
            .collect(),
    }
}

fn affinity() -> impl Strategy<Value = CpuSet> {
    proptest::option::weighted(0.3, any::<u8>()).prop_map(pcpus)
}

fn vcpu() -> impl Strategy<Value = VcpuConfig> {
    let tick = (time(1_000, 10_000), 0_u64..4_000, time(1, 200));
    let tick = tick.prop_map(|(period, phase, least)| KernelTick {
        period,
        phase: at_us(phase),
        least,
    });
    let tick = proptest::option::weighted(0.3, tick);
    (affinity(), affinity(), vec(task(), 0..3), tick).prop_map(|(hard, soft, tasks, tick)| {
        VcpuConfig {
            hard,
            soft,
            params: None,
            tasks,
            kernel_tick: tick,
        }
    })
}

fn guest() -> impl Strategy<Value = GuestConfig> {
    let tick = proptest::option::of(time(1_000, 10_000));
    let order = prop_oneof![Just(ProcessOrder::Turns), Just(ProcessOrder::Linux26)];
    let times = (tick, time(0, 20), time(0, 20), time(500, 100_000));
    (times, order).prop_map(|((tick, irq, softirq, slice), order)| GuestConfig {
        tick,
        costs: KernelCosts::of_timer(irq, softirq),
        order,
        task_slice: slice,
        ..GuestConfig::IDEAL
    })
}

/// A domain but for its id; weight and cap; whether it comes and goes in between.
fn domain() -> impl Strategy<Value = (DomainConfig, i64, i64)> {
    let life = proptest::option::weighted(0.3, (0_u64..150, 10_u64..150));
    let weight = prop_oneof![2 => Just(256_i64), 1 => 1_i64..1_000];
    let cap = prop_oneof![3 => Just(0_i64), 1 => 5_i64..=100];
    (vec(vcpu(), 1..4), guest(), life, weight, cap).prop_map(|(vcpus, guest, life, weight, cap)| {
        let domain = DomainConfig {
            id: DomainId(0),
            name: String::new(),
            params: ParamValues::defaults(&[]),
            guest,
            vcpus,
            start: life.map_or(Instant::ZERO, |(start, _)| Instant::ZERO + ms(start)),
            stop: life.map(|(start, length)| Instant::ZERO + ms(start + length)),
            kind: DomainKind::Guest,
        };
        (domain, weight, cap)
    })
}

/// An action of an operator, with domains and pcpus modulo what there is.
fn action() -> impl Strategy<Value = (Instant, u8, u16, u16, Option<u8>)> {
    let mask = proptest::option::of(any::<u8>());
    (
        (0_u64..250_000).prop_map(at_us),
        0_u8..7,
        0_u16..8,
        0_u16..3,
        mask,
    )
}

/// Hosts of all kinds.
pub fn case() -> impl Strategy<Value = Case> {
    let kind = (
        0..POLICIES.len(),
        any::<bool>(),
        0..VERSIONS.len(),
        0..SHAPES.len(),
    );
    (kind, vec(domain(), 1..6), vec(action(), 0..8), any::<u64>()).prop_map(
        |((policy, ideal, version, shape), domains, actions, seed)| {
            let (policy, release) = POLICIES[policy];
            let (sockets, cores, threads) = SHAPES[shape];
            let topology = Topology::new(sockets, cores, threads).unwrap();
            let count = domains.len() as u16;
            let pcpus = topology.pcpus() as u16;
            let domains = domains
                .into_iter()
                .enumerate()
                .map(|(i, (domain, weight, cap))| DomainConfig {
                    id: DomainId(i as u16),
                    name: format!("g{i}"),
                    params: domain_params(policy, weight, cap),
                    ..domain
                });
            let actions = actions.into_iter().map(|(at, kind, who, index, mask)| {
                (at, act(policy, kind, who, index, mask, count, pcpus))
            });
            let mut actions: Vec<_> = actions.collect();
            actions.sort_by_key(|(at, _)| *at);
            let host = HostConfig {
                topology,
                version: VERSIONS[version],
                profile: Profile {
                    sibling_percent: if seed % 2 == 0 { 100 } else { 65 },
                    ..match ideal {
                        true => Profile::IDEAL,
                        false => Profile::XEN_4_17_EMULATED,
                    }
                },
                domains: domains.collect(),
                groups: Vec::new(),
                pools: Vec::new(),
                actions,
                controllers: vec![],
            };
            Case {
                policy,
                release,
                host,
                end: Instant::ZERO + END,
                seed,
            }
        },
    )
}

fn act(
    policy: &str,
    kind: u8,
    who: u16,
    vcpu: u16,
    mask: Option<u8>,
    domains: u16,
    count: u16,
) -> Action {
    let domain = DomainId(who % domains);
    // The first pcpu stays, so that every affinity has one online.
    let pcpu = PcpuId(1 + who % count.max(2).saturating_sub(1));
    let pcpu = PcpuId(pcpu.0.min(count - 1));
    match kind {
        0 => Action::Pause(domain),
        1 | 2 => Action::Unpause(domain),
        3 => Action::SetParams(domain, domain_params(policy, 1 + i64::from(who) * 100, 0)),
        4 => Action::Pin {
            domain,
            vcpu,
            hard: pcpus(mask),
            soft: CpuSet::ALL,
        },
        5 if pcpu.0 > 0 => Action::PcpuOffline(pcpu),
        _ => Action::PcpuOnline(pcpu),
    }
}
