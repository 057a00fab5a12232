//! Guests with several vcpus whose kernel moves processes: interrupts of the interface come to the
//! first vcpu, and processes that serve connections execute on any.

use crate::site::*;
use crate::told::{Kind, Record, Records};
use crate::web::{any_web, balances, counts, web};
use domio_core::{NullSink, Sink};
use domio_net::class::WebStep;
use domio_net::host::{FlowKind, Network, NetworkConfig};
use domio_vmm::Simulation;
use domio_vmm::config::{DomainConfig, ProcessOrder};
use proptest::prelude::*;

/// The guest with so many vcpus under Linux 2.6.18, whose processes begin on one after the other
/// and may leave it if `roams`.
fn guest(cards: &[NetworkConfig], vcpus: usize, roams: bool) -> DomainConfig {
    let mut domains = [domain(1, vcpus)];
    equip(cards, &mut domains);
    let [mut guest] = domains;
    guest.guest.order = ProcessOrder::Linux26;
    let tasks = std::mem::take(&mut guest.vcpus[0].tasks);
    for (i, mut task) in tasks.into_iter().enumerate() {
        task.roams = roams;
        let vcpu = if roams { i % vcpus } else { 0 };
        guest.vcpus[vcpu].tasks.push(task);
    }
    guest
}

/// A driver domain of so many vcpus and such a guest, on as many pcpus, with these flows.
fn site<S: Sink>(
    pcpus: u16,
    flows: &[FlowKind],
    vcpus: [usize; 2],
    roams: bool,
    sink: S,
) -> Simulation<S, Network> {
    let cards = [card(0, vec![vif(1, flows)])];
    let domains = vec![domain(0, vcpus[0]), guest(&cards, vcpus[1], roams)];
    let host = host(pcpus, CREDIT_4_17, domains);
    simulation(&host, CREDIT_4_17, &cards, sink)
}

/// Replies in the second second of a client that asks for more than a vcpu can serve.
fn replies(vcpus: usize, roams: bool) -> u64 {
    let mut config = web(4_000);
    config.client.timeout = None;
    let flows = [FlowKind::Web(config)];
    let mut simulation = site(4, &flows, [2, vcpus], roams, NullSink);
    run(&mut simulation, 0, 1_000);
    let before = counts(&simulation).of(WebStep::Replied);
    run(&mut simulation, 1_000, 2_000);
    counts(&simulation).of(WebStep::Replied) - before
}

#[test]
fn a_second_vcpu_serves_more_if_processes_move() {
    let one = replies(1, true);
    let two = replies(2, true);
    assert!(two * 10 > one * 14, "{one} and {two} replies");
    // Bound to the first vcpu, they gain nothing.
    let bound = replies(2, false);
    assert!(bound.abs_diff(one) * 20 < one, "{one} and {bound} replies");
}

/// Each process executes on both vcpus sooner or later; interrupts of the interface are the first
/// vcpu's.
#[test]
fn interrupts_stay_and_processes_move() {
    let flows = [FlowKind::Web(web(3_000))];
    let mut simulation = site(4, &flows, [1, 2], true, Records::default());
    run(&mut simulation, 0, 1_000);
    let records = simulation.into_sink();
    let mut jobs = [[0_u32; 20]; 2];
    for record in &records {
        if let Some((_, _, process)) = record.job() {
            jobs[usize::from(record.vcpu.index)][usize::from(process)] += 1;
        }
    }
    let moved = (0..20).filter(|p| jobs[0][*p] > 0 && jobs[1][*p] > 0);
    assert!(moved.count() > 10, "{jobs:?}");
    let sent = |r: &&Record| r.is(Kind::EvtchnSend) && r.vcpu.domain.0 == 1;
    let sent = records.iter().filter(sent);
    let far = sent.filter(|r| r.vcpu.index == 1 && r.words[1] != u32::MAX);
    // Those are of the guest's own first vcpu.
    for record in far {
        let from = record.other.expect("a vcpu");
        assert_eq!((from.domain.0, from.index), (1, 0));
    }
}

/// The same host twice makes the same trace.
#[test]
fn a_run_with_processes_that_move_can_be_repeated() {
    let trace = || {
        let flows = [FlowKind::Web(web(2_500)), OUT, ping(3)];
        let mut simulation = site(2, &flows, [2, 3], true, Records::default());
        run(&mut simulation, 0, 300);
        simulation.into_sink()
    };
    let (once, again) = (trace(), trace());
    assert!(once.len() > 10_000 && once[..] == again[..]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the client asks, beside streams and pings and over any number of vcpus and pcpus:
    /// no packet and no connection is lost from the books.
    #[test]
    fn all_packets_and_connections_are_accounted_for(
        config in any_web(),
        pcpus in 1_u16..4,
        vcpus in [1_usize..3, 1..4],
        roams in any::<bool>(),
    ) {
        let flows = [FlowKind::Web(config), IN, OUT, ping(5), udp_out(700)];
        let mut simulation = site(pcpus, &flows, vcpus, roams, NullSink);
        run(&mut simulation, 0, 400);
        balances(&counts(&simulation), &config);
    }
}
