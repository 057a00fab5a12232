//! What a policy that needs to know of packets is told of them, and that the others hear nothing.

use crate::ears::{Ears, Told, told};
use crate::site::*;
use crate::told::{Record, Records};
use domio_contract::{Descriptor, Needs};
use domio_core::{DomainId, ParamValues};
use domio_net::host::{FlowKind, Network};
use domio_net::icmp::{PingConfig, PingStatistics};
use domio_sched::{find, sedf};
use domio_vmm::Simulation;
use domio_vmm::config::Workload;

static DEAF: Descriptor = Descriptor {
    needs: Needs {
        packets: false,
        ..sedf::aware::DESCRIPTOR.needs
    },
    ..sedf::aware::DESCRIPTOR
};

/// Half a second of two guests, one that is pinged and one that sends datagrams and burns.
fn half_a_second(descriptor: &'static Descriptor) -> Simulation<Records, Network> {
    told();
    let cards = [card(
        0,
        vec![vif(1, &[ping(3)]), vif(2, &[udp_out(500), udp_in(200)])],
    )];
    let mut domains = vec![
        domain(0, 1),
        domain(1, 1),
        with(domain(2, 1), 0, Workload::Burn),
    ];
    equip(&cards, &mut domains);
    let policy = ("communication-aware", "3.0");
    let host = host(1, policy, domains);
    let shipped = find(policy.0).expect("a shipped policy");
    let params = ParamValues::defaults(shipped.descriptor.params);
    let inner = (shipped.make)(&params, &host.topology);
    let mut simulation = under(
        &host,
        Box::new(Ears {
            inner,
            descriptor,
            needs: descriptor.needs,
        }),
        &cards,
        Records::default(),
    );
    run(&mut simulation, 0, 500);
    simulation
}

/// What the trace says that netback in dom0 has moved for `guest`: sent by it, and received.
fn in_trace(trace: &[Record], guest: DomainId) -> [u64; 2] {
    let moves = trace.iter().filter(|r| r.vcpu.domain == guest);
    let mut counts = [0, 0];
    for (driver, sent) in moves.filter_map(Record::at_netback) {
        assert_eq!(driver, DomainId::DOM0);
        counts[usize::from(!sent)] += 1;
    }
    counts
}

#[test]
fn the_policy_hears_of_every_packet_at_netback() {
    let trace = half_a_second(&sedf::aware::DESCRIPTOR).into_sink();
    let Told {
        moved: told,
        passes,
        ..
    } = told();
    for guest in [1, 2].map(DomainId) {
        let own = told.iter().filter(|m| m.guest == guest);
        let mut heard = [0, 0];
        for moved in own {
            assert_eq!(moved.driver, DomainId::DOM0);
            heard[0] += u64::from(moved.sent);
            heard[1] += u64::from(moved.received);
        }
        let traced = in_trace(&trace, guest);
        assert!(traced.iter().all(|n| *n > 50), "{guest}: {traced:?}");
        // Those of the time since the last pass are still to be told.
        for (heard, traced) in heard.into_iter().zip(traced) {
            assert!(traced - heard <= 5, "{guest}: {heard} of {traced}");
        }
    }
    // One call tells of all that has come since the last pass, for each guest.
    assert!((told.len() as u64) <= 2 * passes);
}

#[test]
fn a_policy_that_does_not_ask_hears_nothing() {
    let trace = half_a_second(&DEAF).into_sink();
    assert!(in_trace(&trace, DomainId(1))[1] > 50);
    let Told {
        moved: told,
        passes,
        ..
    } = told();
    assert!(told.is_empty() && passes > 100);
}

/// Five seconds of a pinged guest among four others that burn and get so many datagrams a second
/// each. Each has 12 ms in 100, Domain-0 30: `scenarios/packets-first.toml`.
fn round_trips(policy: (&str, &str), datagrams: Option<u32>) -> PingStatistics {
    let flows: Vec<_> = datagrams.map(udp_in).into_iter().collect();
    let others = (1..=4).map(|id| vif(id, &flows));
    let pinged = vif(5, &[FlowKind::Ping(PingConfig::default())]);
    let cards = [card(0, others.chain([pinged]).collect())];
    let mut domains: Vec<_> = (0..=5).map(|id| domain(id, 1)).collect();
    for (i, domain) in domains.iter_mut().enumerate() {
        let mut params = ParamValues::defaults(sedf::DESCRIPTOR.domain_params);
        let slice = if i == 0 { 30_000 } else { 12_000 };
        for (name, value) in [
            ("period_us", 100_000),
            ("slice_us", slice),
            ("extratime", 0),
        ] {
            params.set(name, value).expect("in range");
        }
        domain.params = params;
        if i > 0 {
            domain.vcpus[0].tasks.push(Workload::Burn.into());
        }
    }
    equip(&cards, &mut domains);
    let host = host(1, policy, domains);
    let mut simulation = simulation(&host, policy, &cards, Records::default());
    run(&mut simulation, 0, 5_000);
    let flow = if datagrams.is_some() { 4 } else { 0 };
    pings(&simulation.host().devices()[0], flow)
}

/// Among those that burn, who is pinged is preferred. Among those with more packets it is not: what
/// Ongaro and others expect (2008, section 7).
#[test]
fn who_is_pinged_is_preferred_unless_others_have_more_packets() {
    let aware = ("communication-aware", "3.0");
    let mean = |policy, others| {
        let statistics = round_trips(policy, others);
        assert!(statistics.answered > 40, "{statistics:?}");
        statistics.rtt_mean().expect("some were answered")
    };
    let [plain, preferred] = [("sedf", "3.0"), aware].map(|p| mean(p, None));
    // A round trip of a period is one of three quarters at most.
    assert!(preferred * 4 < plain * 3, "{preferred} for {plain}");
    let behind = mean(aware, Some(500));
    assert!(behind * 3 > plain * 2 + preferred, "{behind}, {preferred}");
}
