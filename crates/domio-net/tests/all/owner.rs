//! For whom a driver domain worked, as a trace of a whole host tells: who is named, how the parts
//! sum
//! up, and that no time is told before or after its own.

use crate::site::*;
use crate::told::{Kind, Record, Records};
use domio_core::{DomainId, Duration, Instant, ParamValues, Runstate, VcpuName};
use domio_net::host::{FlowKind, NetCosts, Network, NetworkConfig};
use domio_vmm::Simulation;
use domio_vmm::config::{DomainConfig, VcpuConfig, Workload};
use domio_vmm::hardware::OPTERON_242;
use std::collections::BTreeMap;

const DRIVER: VcpuName = VcpuName::new(DomainId(0), 0);
const SECOND: u64 = 1_000;

/// A host whose guests have these flows each, a card of domain 0, and something that computes in
/// the last guest.
fn guests(flows: &[&[FlowKind]]) -> (Vec<DomainConfig>, NetworkConfig) {
    let mut domains = vec![domain(0, 1)];
    domains[0].guest.tick = None;
    for id in (1..).take(flows.len()) {
        domains.push(domain(id, 1));
    }
    let vifs = (1..).zip(flows).map(|(id, flows)| vif(id, flows));
    (domains, card(0, vifs.collect()))
}

/// Work of the driver domain by guest, and the time that it ran, up to the end.
#[derive(Debug)]
struct Work {
    by: BTreeMap<u16, u64>,
    ran: u64,
}

impl Work {
    fn of(&self, guest: u16) -> u64 {
        self.by.get(&guest).copied().unwrap_or(0)
    }

    fn nobody(&self) -> u64 {
        let others: u64 = self.by.values().sum();
        assert!(others <= self.ran, "{self:?}");
        self.ran - others
    }
}

/// Runs a host and marks its trace at the begin, at the times given (us) and at the end (ms).
fn traced(
    pcpus: u16,
    (mut domains, card): (Vec<DomainConfig>, NetworkConfig),
    marks: &[u64],
    end: u64,
) -> Records {
    let cards = [card];
    equip(&cards, &mut domains);
    let host = host(pcpus, CREDIT_3_1, domains);
    let mut simulation = simulation(&host, CREDIT_3_1, &cards, Records::default());
    let mut mark = |now| {
        let outcome = simulation.run(now);
        assert!(
            matches!(outcome, domio_sim::Outcome::Completed { .. }),
            "{outcome}"
        );
        simulation.host_mut().mark(now);
    };
    mark(Instant::ZERO);
    for time in marks {
        mark(Instant::ZERO + us(*time));
    }
    mark(at(end));
    simulation.into_sink()
}

/// Sums of records.
fn sums(records: &[Record]) -> Work {
    let mut work = Work {
        by: BTreeMap::new(),
        ran: 0,
    };
    let mut since = None;
    for record in records {
        if let Some((guest, ns)) = record.done_for() {
            *work.by.entry(guest.0).or_default() += ns;
        }
        for (vcpu, old, new) in record.changes.into_iter().flatten() {
            if vcpu != DRIVER {
                continue;
            }
            if old == Runstate::Running
                && let Some(since) = since.take()
            {
                work.ran += record.at.since(since).as_nanos();
            }
            if new == Runstate::Running {
                since = Some(record.at);
            }
        }
    }
    work
}

/// A stream, pings, datagrams both ways, and a guest without traffic: all work has its owner.
#[test]
fn every_part_of_the_work_belongs_to_a_guest_with_traffic() {
    let (mut domains, card) = guests(&[&[IN], &[ping(1)], &[udp_in(2_000), udp_out(2_000)], &[]]);
    domains[4] = with(domains[4].clone(), 0, Workload::Burn);
    let records = traced(2, (domains, card), &[], SECOND);
    records.are_true();
    let work = sums(&records);
    let kinds = records.iter().filter(|r| r.is(Kind::DriverWork));
    assert!(kinds.clone().count() > 1_000);
    assert!(kinds.clone().all(|r| r.vcpu == DRIVER));
    assert!(
        [2, 3].iter().all(|id| work.of(*id) > 10_000_000),
        "{work:?}"
    );
    assert!(work.of(1) > 5 * work.of(2), "{work:?}");
    // It comes up, like the others, and posts its buffers: an event or two.
    assert!(work.of(4) < 10_000, "{work:?}");
    assert_eq!(work.by.keys().filter(|id| **id > 4 || **id == 0).count(), 0);
    assert!(work.ran > 400_000_000, "{work:?}");
    assert!(work.nobody() * 100 < work.ran * 40, "{work:?}");
}

/// A guest alone: the driver domain works for the guest, and what is nobody's is what the
/// hypervisor
/// takes of its time: switches with their cold caches, the way into a guest, interrupts, ticks.
#[test]
fn a_guest_alone_has_nearly_all_of_the_work() {
    let records = traced(2, guests(&[&[IN]]), &[], SECOND);
    records.are_true();
    let work = sums(&records);
    assert!(work.of(1) * 100 > work.ran * 80, "{work:?}");
    // On a hypervisor that takes no time the guest has all but the kernel's own timers.
    let (mut domains, card) = guests(&[&[IN]]);
    let cards = [card];
    equip(&cards, &mut domains);
    let mut free = host(2, CREDIT_3_1, domains);
    free.profile = domio_vmm::Profile::IDEAL;
    // Going idle is nobody's work.
    for domain in &mut free.domains {
        domain.guest.costs.idle = Duration::ZERO;
    }
    let mut simulation = simulation(&free, CREDIT_3_1, &cards, Records::default());
    simulation.host_mut().mark(Instant::ZERO);
    run(&mut simulation, 0, SECOND);
    simulation.host_mut().mark(at(SECOND));
    let records = simulation.into_sink();
    records.are_true();
    let work = sums(&records);
    assert!(work.of(1) > 400_000_000, "{work:?}");
    assert!(work.nobody() * 200 < work.ran, "{work:?}");
}

/// Twice the packets, twice the work: datagrams far apart, each alone in the driver domain.
#[test]
fn twice_the_packets_are_twice_the_work() {
    let work = |rate| {
        let flows: &[FlowKind] = &[udp_in(rate), udp_out(rate)];
        let records = traced(2, guests(&[flows]), &[], 2 * SECOND);
        sums(&records).of(1)
    };
    let (once, twice) = (work(100), work(200));
    assert!(once > 1_000_000, "{once}");
    let percent = twice * 100 / once;
    assert!((195..=205).contains(&percent), "{once} {twice}");
}

/// Datagrams of two guests in the same interrupts: each has the work of its own packets.
#[test]
fn shares_are_in_proportion_to_packets() {
    let records = traced(
        2,
        guests(&[&[udp_in(4_000)], &[udp_in(8_000)]]),
        &[],
        SECOND,
    );
    records.are_true();
    let work = sums(&records);
    // Half of the second guest's packets come alone, and have an interrupt each for themselves.
    let percent = work.of(2) * 100 / work.of(1);
    assert!((200..=230).contains(&percent), "{work:?}");
}

/// A mark in the middle of a piece of work: what was executed before belongs to the time before,
/// to the nanosecond. The sums are those of a trace without marks, but for what a mark finds on the
/// way to a handler, which is nobody's: 800 ns at most each time.
#[test]
fn a_mark_divides_a_piece_of_work() {
    // One guest, one datagram after the other through a slow driver domain: nearly always within a
    // piece of work, which is for that guest.
    let slow = || {
        let (domains, mut card) = guests(&[&[udp_in(1_000)]]);
        card.costs = NetCosts {
            bridge: us(700),
            ..NetCosts::on(&OPTERON_242)
        };
        (domains, card)
    };
    let marks: Vec<u64> = (0..900).map(|i| 20_000 + i * 97).collect();
    let records = traced(2, slow(), &marks, 200);
    records.are_true();
    let whole = sums(&traced(2, slow(), &[], 200));
    let marked = sums(&records);
    let lost = whole.of(1) - marked.of(1);
    assert!(lost <= 800 * 5, "{lost} ns of {}", whole.of(1));
    assert_eq!(whole.ran, marked.ran);
    // Between two marks the driver domain ran, and of that the guest has its part. A piece of 700
    // us
    // spans seven marks: of a window within, all of its time is the guest's.
    let mut windows: BTreeMap<Instant, u64> = BTreeMap::new();
    let ends: Vec<Instant> = marks
        .iter()
        .map(|us| Instant::from_nanos(us * 1_000))
        .collect();
    for record in &records {
        if let Some((_, ns)) = record.done_for() {
            let end = ends.partition_point(|end| *end < record.at);
            if let Some(end) = ends.get(end) {
                *windows.entry(*end).or_default() += ns;
            }
        }
    }
    let length = Duration::from_micros(97).as_nanos();
    let inner = windows.iter().filter(|(end, _)| **end > ends[0]);
    let over: Vec<_> = inner.clone().filter(|(_, ns)| **ns > length).collect();
    assert!(over.is_empty(), "{over:?}");
    assert!(
        inner.filter(|(_, ns)| **ns == length).count() > 300,
        "{windows:?}"
    );
}

/// Marks at any time find no work that the driver domain had no time for, also where several guests
/// share pieces, it is preempted all the time and has several vcpus.
#[test]
fn a_trace_with_marks_anywhere_is_true() {
    let flows: &[FlowKind] = &[IN, ping(1), udp_out(3_000), udp_in(3_000)];
    for (pcpus, gap) in [(1, 331), (1, 7), (2, 113), (2, 3)] {
        let (mut domains, card) = guests(&[flows, &[udp_in(5_000)], &[]]);
        domains[3] = with(domains[3].clone(), 0, Workload::Burn);
        domains[0]
            .vcpus
            .push(VcpuConfig::anywhere([Workload::Burn]));
        domains[0] = with(domains[0].clone(), 0, Workload::Burn);
        let marks: Vec<u64> = (0..20_000 / gap).map(|i| 100_000 + i * gap).collect();
        let records = traced(pcpus, (domains, card), &marks, 150);
        records.are_true();
    }
}

/// Nobody who takes no trace of it pays for knowing, and the host does the same.
#[test]
fn a_host_without_a_trace_does_the_same() {
    let run_with = |simulation: &mut Simulation<Records, Network>| {
        run(simulation, 0, 100);
        (simulation.events(), simulation.host().passes())
    };
    let (mut domains, card) = guests(&[&[IN, OUT], &[ping(1)]]);
    let cards = [card];
    equip(&cards, &mut domains);
    let host = host(2, CREDIT_3_1, domains);
    let traced = run_with(&mut simulation(
        &host,
        CREDIT_3_1,
        &cards,
        Records::default(),
    ));
    let mut silent = simulation(&host, CREDIT_3_1, &cards, domio_core::NullSink);
    run(&mut silent, 0, 100);
    assert_eq!(traced, (silent.events(), silent.host().passes()));
    assert_ne!(host.domains[0].params, ParamValues::defaults(&[]));
}
