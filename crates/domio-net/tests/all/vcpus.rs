//! Domains with several vcpus: the work of a card or an interface is done by one of them, and the
//! processes that wait for it live on another, which has to be told by an interrupt.

use crate::site::*;
use crate::told::{Kind, Record, Records};
use domio_core::{DomainId, VcpuName};
use domio_net::class::NetRecord;
use domio_net::host::{Network, NetworkConfig};
use domio_vmm::Simulation;
use domio_vmm::config::{DomainConfig, Workload};

const SECOND: u64 = 1_000;

/// Everything that lives on vcpu `from` of the domain moves to vcpu `to`.
fn moved(mut domain: DomainConfig, from: usize, to: usize) -> DomainConfig {
    let tasks = std::mem::take(&mut domain.vcpus[from].tasks);
    domain.vcpus[to].tasks.extend(tasks);
    domain
}

/// A card of domain 0 at its vcpu `driver`, with an interface of domain 1 at its vcpu `guest`.
fn network(driver: u16, guest: u16) -> NetworkConfig {
    let mut card = card(
        0,
        vec![vif(1, &[IN, OUT, ping(2), udp_in(500), udp_out(500)])],
    );
    card.vcpu = driver;
    card.vifs[0].vcpu = guest;
    card
}

/// A second on a host of so many pcpus, with `vcpus` of the driver domain and the guest, whose
/// processes live on vcpu `processes`, beside something that computes.
fn second(
    pcpus: u16,
    card: &NetworkConfig,
    vcpus: [usize; 2],
    processes: usize,
) -> Simulation<Records, Network> {
    let mut domains = vec![domain(0, vcpus[0]), domain(1, vcpus[1])];
    let cards = [card.clone()];
    equip(&cards, &mut domains);
    domains[1] = moved(
        domains[1].clone(),
        usize::from(card.vifs[0].vcpu),
        processes,
    );
    domains[1] = with(domains[1].clone(), vcpus[1] - 1, Workload::Burn);
    let host = host(pcpus, CREDIT_4_17, domains);
    let mut simulation = simulation(&host, CREDIT_4_17, &cards, Records::default());
    run(&mut simulation, 0, SECOND);
    simulation
}

/// All flows get on: each stream with at least so many bytes, and every datagram and ping comes.
#[track_caller]
fn all_work(simulation: &Simulation<Records, Network>, least: u64) {
    let network = simulation.host().device(0);
    let (to, from) = (stream(network, 0), stream(network, 1));
    assert!(to.acknowledged > least, "{to:?}");
    assert!(from.delivered > least, "{from:?}");
    let pings = pings(network, 2);
    assert!(pings.answered > 300, "{pings:?}");
    let sent = datagrams(network, 4);
    assert!((470..=498).contains(&sent), "{sent} datagrams");
}

/// Which vcpus of `domain` entered interrupt handlers.
fn interrupted(records: &[Record], domain: u16) -> Vec<u16> {
    let served = records.iter().filter(|r| r.is(Kind::EvtchnServe));
    let own = served.filter(|r| r.vcpu.domain == DomainId(domain));
    let mut vcpus: Vec<u16> = own.map(|r| r.vcpu.index).collect();
    vcpus.sort_unstable();
    vcpus.dedup();
    vcpus
}

/// The card's interrupts and the interface's go to the vcpus that were asked for, and only these
/// work for others.
#[test]
fn work_is_done_where_the_configuration_says() {
    let card = network(1, 2);
    let simulation = second(4, &card, [2, 3], 2);
    all_work(&simulation, SECOND * 25_000);
    let records = simulation.into_sink();
    let work = records.iter().filter(|r| r.is(Kind::DriverWork));
    let mut workers: Vec<VcpuName> = work.map(|r| r.vcpu).collect();
    workers.dedup();
    assert_eq!(workers, [VcpuName::new(DomainId(0), 1)]);
    // Nothing but timers comes to the others, of which only those have any who run.
    assert!(interrupted(&records, 0).contains(&1));
    assert!(interrupted(&records, 1).contains(&2));
    let sent = records.iter().filter(|r| r.is(Kind::EvtchnSend));
    let senders = sent.filter(|r| r.words[1] != u32::MAX);
    for record in senders {
        let (from, to) = (record.other.expect("a vcpu"), record.vcpu);
        let path = [VcpuName::new(DomainId(0), 1), VcpuName::new(DomainId(1), 2)];
        assert!(path.contains(&from) && path.contains(&to), "{from} to {to}");
    }
}

/// Each arrangement of card, interface and processes over two vcpus each, on one pcpu to four.
#[test]
fn processes_on_another_vcpu_than_their_interface() {
    for pcpus in [1, 2, 4] {
        for (driver, guest, processes) in [
            (0, 0, 1),
            (0, 1, 0),
            (1, 0, 1),
            (1, 1, 0),
            (1, 1, 1),
            (0, 2, 1),
        ] {
            let simulation = second(pcpus, &network(driver, guest), [2, 3], processes);
            // One pcpu has the guest's burning vcpu to serve as well.
            all_work(&simulation, SECOND * 2_500);
        }
    }
}

/// A process that sleeps in a read on another vcpu is woken by an interrupt that one vcpu of its
/// domain sends to the other.
#[test]
fn a_reader_on_another_vcpu_is_woken_by_an_ipi() {
    let mut card = card(0, vec![vif(1, &[IN])]);
    card.vifs[0].vcpu = 0;
    let mut domains = vec![domain(0, 1), domain(1, 2)];
    let cards = [card];
    equip(&cards, &mut domains);
    domains[1] = moved(domains[1].clone(), 0, 1);
    let host = host(4, CREDIT_4_17, domains);
    let mut simulation = simulation(&host, CREDIT_4_17, &cards, Records::default());
    run(&mut simulation, 0, SECOND);
    let stream = stream(simulation.host().device(0), 0);
    assert!(stream.acknowledged > SECOND * 60_000, "{stream:?}");
    let records = simulation.into_sink();
    let [kernel, reader] = [0, 1].map(|index| VcpuName::new(DomainId(1), index));
    let ipis = records
        .iter()
        .filter(|r| r.is(Kind::EvtchnSend) && r.other == Some(kernel) && r.vcpu == reader);
    assert!(ipis.count() > 1_000);
    // The one that takes packets off the ring is not the one that reads.
    let delivered = records.iter().filter(|r| r.is_net(NetRecord::Delivered));
    assert!(delivered.count() > 1_000);
    assert_eq!(interrupted(&records, 1), [0, 1]);
}
