//! Disks and a network on one bus, in one driver domain: neither loses anything by the other.

use crate::site::*;
use domio_blk::loopback::LoopbackCosts;
use domio_core::DomainId;
use domio_net::class::{NetRecord, RECORDS};
use domio_net::host::{
    FlowConfig, FlowKind, NetCosts, NetbackConfig, NetworkConfig, RxMode, StreamConfig, VifConfig,
};
use domio_net::icmp::PingConfig;
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::NicConfig;
use domio_net::queue::Ledger;
use domio_net::writers::WriterCosts;
use domio_vmm::Profile;
use domio_vmm::hardware::OPTERON_242;
use domio_vmm::process::programs::CopyDirection::{Read, Write};

const TIME: u64 = 600;

/// A card of domain 0 with an interface for each of these guests, to which a stream comes and which
/// is pinged.
fn card(guests: &[u16]) -> NetworkConfig {
    let flow = |kind| FlowConfig {
        kind,
        start: ms(5),
        stop: None,
    };
    let vif = |guest: &u16| VifConfig {
        behind: None,
        domain: DomainId(*guest),
        vcpu: 0,
        pair: None,
        rate: None,
        rx_target: VifConfig::RX_TARGET,
        flows: vec![
            flow(FlowKind::StreamIn(StreamConfig::XEN_2_6_18)),
            flow(FlowKind::Ping(PingConfig::default())),
        ],
    };
    NetworkConfig {
        driver: DomainId(0),
        nic: NicConfig::E1000,
        link: LinkConfig {
            rate: Rate::GBIT_1,
            latency: us(30),
            queue: 300,
        },
        remote_gap: NicConfig::E1000.gap,
        remote_irq_latency: us(50),
        remote_writers: WriterCosts::beside(&OPTERON_242),
        costs: NetCosts::on(&OPTERON_242),
        rx_mode: RxMode::Flip,
        grant_lock: false,
        vcpu: 0,
        card_vcpus: 1,
        card_at: Vec::new(),
        softirqs: None,
        netback: NetbackConfig::ONE,
        local: None,
        behind: Vec::new(),
        other_ports: domio_net::host::OtherPorts::default(),
        vifs: guests.iter().map(vif).collect(),
    }
}

/// Guest 1 streams, 2 reads, 3 does both and 4 writes, for a while.
fn host(pcpus: u16) -> Host {
    let card = card(&[1, 3]);
    let mut domains = vec![
        domain(0, 1),
        domain(1, 1),
        copies(domain(2, 1), 0, copy(0, 0, Read, MIB, 8 * MIB)),
        copies(domain(3, 1), 0, copy(0, 1, Read, REQUEST, 100 * REQUEST)),
        copies(domain(4, 1), 0, copy(0, 2, Write, 3 * MIB, 9 * MIB)),
    ];
    card.equip(1, &mut domains);
    let host = machine(pcpus, Profile::OPTERON_242, domains);
    let disks = disks(
        LoopbackCosts::on(&OPTERON_242),
        &[(2, 64 * MIB), (3, 64 * MIB), (4, 64 * MIB)],
    );
    simulation(&host, &disks, Some(&card))
}

/// Bytes that reached the reader of the stream to `guest`, by the trace.
fn streamed(records: &Records, guest: u16) -> u64 {
    let own = records.iter();
    let own = own.filter(|told| told.vcpu.is_some_and(|v| v.domain == DomainId(guest)));
    let delivered = own.filter(|told| is(told, NetRecord::Delivered));
    delivered.map(|told| told.record.long(2)).sum()
}

/// Whether that is such a record of the network.
fn is(told: &Told, what: NetRecord) -> bool {
    told.class == RECORDS.name && told.record.number == what as u8
}

#[test]
fn a_stream_comes_in_while_disks_are_read_and_written() {
    for pcpus in [2, 3] {
        let mut simulation = host(pcpus);
        for step in 1..=TIME / 20 {
            run(&mut simulation, step * 20);
            let Model::Net(network) = simulation.host().device(1) else {
                panic!("the network is the second model");
            };
            let mut ledger = Ledger::new();
            ledger.add(network);
            assert_eq!(ledger.check(), Ok(()), "at {} ms", step * 20);
        }
        assert_eq!(requests(passed(&simulation, 2)), (needed(MIB, 8 * MIB), 0));
        assert_eq!(requests(passed(&simulation, 3)), (100, 0));
        assert_eq!(
            requests(passed(&simulation, 4)),
            (0, needed(3 * MIB, 9 * MIB))
        );
        let Model::Net(network) = simulation.host().device(1) else {
            panic!("the network is the second model");
        };
        let acknowledged = network.bytes_streamed();
        let records = simulation.into_sink();
        let bytes = [1, 3].map(|guest| streamed(&records, guest));
        // A fifth of the line each, at least. The rest is in sockets, or its acknowledgement is
        // under way.
        assert!(bytes.iter().all(|b| *b > TIME * 25_000), "{bytes:?}");
        let window = 2 * u64::from(domio_net::tcp::TcpConfig::XEN_2_6_18.receive_buffer);
        let read = bytes[0] + bytes[1];
        assert!(
            acknowledged.abs_diff(read) <= window,
            "{read} of {acknowledged}"
        );
        // Guest 3's disk process is its first one: the reader of the stream came after.
        assert_eq!(jobs(&records, vcpu(3, 0), 0).len(), 100);
        assert_eq!(jobs(&records, vcpu(2, 0), 0).len(), 8);
        let replies = records
            .iter()
            .filter(|told| is(told, NetRecord::Reply))
            .count();
        assert!(replies > 0);
    }
}

/// The driver domain's one kernel serves both, and says for whom.
#[test]
fn work_for_disks_and_network_has_its_owner() {
    let mut simulation = host(3);
    run(&mut simulation, TIME);
    simulation.host_mut().mark(at(TIME));
    let driver = vcpu(0, 0);
    let index = (0..simulation.host().vcpu_count())
        .find(|v| simulation.host().vcpu_name(*v) == driver)
        .expect("dom0 has a vcpu");
    let ran = simulation.host().vcpu_times(index).running.as_nanos();
    let records = simulation.into_sink();
    let mut work = [0; 5];
    for (guest, ns) in records.done_for() {
        work[guest.index()] += ns;
    }
    assert_eq!(work[0], 0, "nobody works for the driver domain");
    assert!(work.iter().sum::<u64>() <= ran);
    // Guests 2 and 4 have nothing but disks: so many requests, each with its bytes, and what leads
    // to them, 1.2 us an interrupt and 0.5 an event, one of each a request at the most.
    let costs = LoopbackCosts::on(&OPTERON_242);
    for (guest, block, bytes) in [(2, MIB, 8 * MIB), (4, 3 * MIB, 9 * MIB)] {
        let requests = needed(block, bytes);
        let least = costs.serve.as_nanos() * requests + costs.copy_kib.as_nanos() * bytes / 1024;
        let most = least + 1_700 * requests;
        assert!(
            (least..=most).contains(&work[guest]),
            "{least} {} {most}",
            work[guest]
        );
    }
}

/// The same host twice does the same.
#[test]
fn both_together_are_deterministic() {
    let records = || {
        let mut simulation = host(2);
        run(&mut simulation, 150);
        simulation.into_sink()
    };
    let (first, second) = (records(), records());
    assert!(first.len() > 10_000);
    assert!(first[..] == second[..]);
}
