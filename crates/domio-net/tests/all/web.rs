//! Web servers and their clients in a host: what becomes of connections, and that all are
//! accounted for.

use crate::site::*;
use crate::told::{Kind, Record, Records};
use domio_core::{Duration, Instant, NullSink, Sink};
use domio_net::class::WebStep;
use domio_net::host::{FlowKind, Network, NetworkConfig};
use domio_net::packet::FlowId;
use domio_net::tcp::TcpConfig;
use domio_net::web::{ClientConfig, ClientCounts, Files, Gaps, ServerConfig, WebConfig};
use domio_vmm::Simulation;
use domio_vmm::process::programs::WebCosts;
use proptest::prelude::*;

/// A server of files of 10 KiB with 20 processes, 500 us a request.
pub fn web(rate: u32) -> WebConfig {
    WebConfig {
        tcp: TcpConfig {
            nodelay: true,
            ..TcpConfig::default()
        },
        client: ClientConfig {
            rate,
            gaps: Gaps::Even,
            calls: 1,
            request: 80,
            files: Files::new(&[(10_240, 1)]),
            timeout: Some(ms(500)),
            descriptors: ClientConfig::DESCRIPTORS,
            ports: ClientConfig::PORTS,
            time_wait: Duration::ZERO,
        },
        server: ServerConfig {
            workers: 20,
            backlog: 32,
            abort_on_overflow: false,
            costs: WebCosts {
                request: us(480),
                kib: us(2),
            },
        },
    }
}

/// Guest 1 with this server, beside a driver domain, on two processors.
fn site<S: Sink>(config: WebConfig, sink: S) -> Simulation<S, Network> {
    on_line(
        config,
        card(0, vec![vif(1, &[FlowKind::Web(config)])]),
        sink,
    )
}

fn on_line<S: Sink>(_: WebConfig, card: NetworkConfig, sink: S) -> Simulation<S, Network> {
    let cards = [card];
    let mut domains = vec![domain(0, 1), domain(1, 1)];
    equip(&cards, &mut domains);
    let host = host(2, CREDIT_4_17, domains);
    simulation(&host, CREDIT_4_17, &cards, sink)
}

pub fn counts<S: Sink>(simulation: &Simulation<S, Network>) -> ClientCounts {
    let client = simulation.host().device(0).web_client(FlowId(0));
    *client.expect("flow 0 is the web's").counts()
}

/// What was counted so far is all that there was.
pub fn balances(counts: &ClientCounts, config: &WebConfig) {
    let of = |step| counts.of(step);
    let ended = [
        WebStep::Closed,
        WebStep::TimedOut,
        WebStep::Refused,
        WebStep::Reset,
    ];
    let ended: u64 = ended.into_iter().map(of).sum();
    assert!(of(WebStep::Started) >= ended, "{counts:?}");
    let open = of(WebStep::Started) - ended;
    assert_eq!(open, counts.open());
    assert!(open <= u64::from(config.client.descriptors), "{counts:?}");
    let calls = u64::from(config.client.calls);
    assert!(of(WebStep::Replied) >= calls * of(WebStep::Closed));
    assert!(of(WebStep::Replied) <= calls * of(WebStep::Started));
    assert!(of(WebStep::FirstByte) >= of(WebStep::Replied));
    assert!(of(WebStep::Connected) <= of(WebStep::Started));
}

/// Replies and errors of one second, after one of warming up.
fn a_second(rate: u32) -> (u64, u64) {
    let config = web(rate);
    let mut simulation = site(config, NullSink);
    run(&mut simulation, 0, 1_000);
    let before = counts(&simulation);
    run(&mut simulation, 1_000, 2_000);
    let after = counts(&simulation);
    balances(&after, &config);
    let grown = |step| after.of(step) - before.of(step);
    let errors = [
        WebStep::TimedOut,
        WebStep::Refused,
        WebStep::Reset,
        WebStep::NoDescriptor,
        WebStep::NoPort,
    ];
    (grown(WebStep::Replied), errors.into_iter().map(grown).sum())
}

/// A request takes 500 us of the server's code, so that fewer than 2,000 a second can be served.
/// Up to what the guest can do with its kernel's part every connection has its reply. Beyond,
/// replies do not become more, and connections fail.
#[test]
fn throughput_follows_the_rate_and_levels_off() {
    let low = [100, 400, 800].map(|rate| (rate, a_second(rate)));
    for (rate, (replies, errors)) in low {
        assert!(replies.abs_diff(u64::from(rate)) <= 2, "{rate}: {replies}");
        assert_eq!(errors, 0, "at {rate}/s");
    }
    let high = [2_500, 4_000].map(|rate| (rate, a_second(rate)));
    let peak = 2_000;
    for (rate, (replies, errors)) in high {
        assert!(replies < peak && replies > 200, "{rate}: {replies}");
        assert!(errors > 0, "at {rate}/s");
    }
}

/// How long it took to get to a step, each time.
fn times(records: &[Record], step: WebStep) -> Vec<Duration> {
    let of = records.iter().filter(|r| r.is_step(step));
    of.map(|r| Duration::from_nanos(r.value("time"))).collect()
}

/// One process, a request takes 100 ms, and one connection may wait for it beside another (Linux
/// lets one more wait than was asked for). So of ten that begin within 10 ms some find no room,
/// and their SYN comes again after 3 s.
#[test]
fn a_syn_that_finds_no_room_comes_again_after_three_seconds() {
    let mut config = web(1_000);
    config.client.timeout = None;
    config.server.workers = 1;
    config.server.backlog = 1;
    config.server.costs.request = ms(100);
    let mut card = card(0, vec![vif(1, &[FlowKind::Web(config)])]);
    card.vifs[0].flows[0].stop = Some(ms(5 + 10));
    let mut simulation = on_line(config, card, Records::default());
    run(&mut simulation, 0, 2_900);
    let counted = counts(&simulation);
    assert_eq!(counted.of(WebStep::Started), 10);
    let early = counted.of(WebStep::Connected);
    assert!((4..10).contains(&early), "{early}");
    let listener = simulation.host().device(0).web_listener(FlowId(0));
    let told = *listener.expect("flow 0 is the web's").counts();
    assert!(told.syns_dropped > 0 && told.opens_ignored > 0, "{told:?}");
    assert_eq!(told.queue_max, 2);
    run(&mut simulation, 2_900, 40_000);
    let counted = counts(&simulation);
    assert_eq!(counted.of(WebStep::Closed), 10, "{counted:?}");
    let connect = times(&simulation.into_sink(), WebStep::Connected);
    let late = connect.iter().filter(|time| **time >= ms(3_000));
    assert!(late.count() >= 10 - early as usize, "{connect:?}");
    // SYNs come after 3, 6 and 12 s more, to the tick of nobody's clock.
    for time in connect {
        let whole = [0, 3_000, 9_000, 21_000].map(ms);
        let near = |at: &Duration| time >= *at && time < *at + ms(20);
        assert!(whole.iter().any(near), "{time}");
    }
}

#[test]
fn a_server_may_reset_what_is_too_much() {
    let mut config = web(1_000);
    config.server.workers = 1;
    config.server.backlog = 1;
    config.server.abort_on_overflow = true;
    config.server.costs.request = ms(100);
    let mut simulation = site(config, NullSink);
    run(&mut simulation, 0, 600);
    let counted = counts(&simulation);
    balances(&counted, &config);
    assert!(counted.of(WebStep::Reset) > 0, "{counted:?}");
    assert_eq!(counted.of(WebStep::Refused), 0);
}

/// The client waits for 30 ms, and a request takes 100: every connection times out, and the server
/// goes on to work for those who are not there any more, one after the other.
#[test]
fn a_server_that_is_too_slow_works_for_nobody() {
    let mut config = web(50);
    config.client.timeout = Some(ms(30));
    config.server.workers = 2;
    config.server.costs.request = ms(100);
    let mut simulation = site(config, Records::default());
    run(&mut simulation, 0, 2_000);
    let counted = counts(&simulation);
    balances(&counted, &config);
    assert_eq!(counted.of(WebStep::Replied), 0);
    let started = counted.of(WebStep::Started);
    assert!(counted.of(WebStep::TimedOut) + 2 >= started, "{counted:?}");
    let client = simulation.host().device(0).web_client(FlowId(0));
    let places = client.expect("flow 0 is the web's").places();
    let took = times(&simulation.into_sink(), WebStep::TimedOut);
    // The time begins anew when the connection is open and the request is sent.
    assert!(took.iter().all(|time| *time >= ms(30) && *time < ms(35)));
    assert!(places < 60, "closed connections do not pile up: {places}");
}

#[test]
fn a_client_has_so_many_descriptors_and_ports() {
    let mut config = web(1_000);
    config.client.descriptors = 5;
    config.client.timeout = None;
    config.server.costs.request = ms(20);
    let mut simulation = site(config, NullSink);
    run(&mut simulation, 0, 500);
    let counted = counts(&simulation);
    balances(&counted, &config);
    assert!(counted.of(WebStep::NoDescriptor) > 100, "{counted:?}");
    let mut config = web(100);
    (config.client.ports, config.client.time_wait) = (7, ms(200));
    let mut simulation = site(config, NullSink);
    run(&mut simulation, 0, 1_000);
    let counted = counts(&simulation);
    balances(&counted, &config);
    // Seven in each 200 ms, and what a connection takes.
    let closed = counted.of(WebStep::Closed);
    assert!((28..=35).contains(&closed), "{counted:?}");
    assert_eq!(closed + counted.of(WebStep::NoPort), 100);
}

/// Several calls over a connection, of files of two sizes: the shares of the calls are the shares
/// of the bytes.
#[test]
fn calls_ask_for_files_by_their_shares() {
    let mut config = web(100);
    config.client.calls = 5;
    config.client.files = Files::new(&[(2_000, 3), (20_000, 1)]);
    let mut simulation = site(config, Records::default());
    run(&mut simulation, 0, 2_000);
    let counted = counts(&simulation);
    balances(&counted, &config);
    let replies = counted.of(WebStep::Replied);
    assert!(replies > 950, "{counted:?}");
    let records = simulation.into_sink();
    let replied = records.iter().filter(|r| r.is_step(WebStep::Replied));
    let sizes: Vec<u64> = replied.map(|r| r.value("bytes")).collect();
    let small = sizes.iter().filter(|bytes| **bytes == 2_000).count();
    let large = sizes.iter().filter(|bytes| **bytes == 20_000).count();
    assert_eq!(small + large, sizes.len());
    let percent = small * 100 / sizes.len();
    assert!((70..=80).contains(&percent), "{percent} %");
    // Each call is a job of the server's, with its file's work.
    let jobs = records.iter().filter(|r| r.is(Kind::JobDone)).count();
    assert!(jobs.abs_diff(sizes.len()) <= 2, "{jobs}");
}

/// Thousands of connections a second need no more places than there are at a time.
#[test]
fn places_of_connections_are_used_again() {
    let mut config = web(4_000);
    config.client.files = Files::new(&[(500, 1)]);
    config.server.costs.request = us(20);
    let mut simulation = site(config, NullSink);
    run(&mut simulation, 0, 2_000);
    let counted = counts(&simulation);
    balances(&counted, &config);
    assert!(counted.of(WebStep::Replied) > 4_000, "{counted:?}");
    let network = simulation.host().device(0);
    let client = network.web_client(FlowId(0)).expect("the web's").places();
    let listener = network.web_listener(FlowId(0)).expect("the web's");
    assert!(client <= 1_100 && listener.places() <= 1_100);
}

/// The guest leaves: connections time out, those of it and all later ones, and nothing panics.
#[test]
fn a_guest_that_leaves_answers_nobody() {
    let config = web(200);
    let cards = [card(0, vec![vif(1, &[FlowKind::Web(config)])])];
    let mut domains = vec![domain(0, 1), domain(1, 1)];
    domains[1].stop = Some(at(500));
    equip(&cards, &mut domains);
    let host = host(2, CREDIT_4_17, domains);
    let mut simulation = simulation(&host, CREDIT_4_17, &cards, NullSink);
    run(&mut simulation, 0, 500);
    let before = counts(&simulation).of(WebStep::Replied);
    run(&mut simulation, 500, 2_000);
    let after = counts(&simulation);
    balances(&after, &config);
    assert!(before >= 95 && after.of(WebStep::Replied) == before);
    assert!(after.of(WebStep::TimedOut) > 150, "{after:?}");
}

/// What a random client and a random server are like.
pub fn any_web() -> impl Strategy<Value = WebConfig> {
    let client = (
        1_u32..4_000,
        any::<bool>(),
        1_u32..4,
        prop_oneof![Just(None), (1_u64..300).prop_map(|t| Some(ms(t)))],
        1_u16..300,
        prop_oneof![Just(ClientConfig::PORTS), 1_u16..100],
        (0_u64..50).prop_map(ms),
    );
    let server = (1_u16..30, 1_u16..20, any::<bool>(), 0_u64..3_000);
    let files = prop_oneof![
        Just(vec![(1_u32, 1_u32)]),
        Just(vec![(10_240, 9), (102_400, 1)]),
        Just(vec![(3_000, 1), (1, 1), (400_000, 1)]),
    ];
    (client, server, files).prop_map(|(client, server, files)| {
        let (rate, even, calls, timeout, descriptors, ports, time_wait) = client;
        let (workers, backlog, abort_on_overflow, work) = server;
        let mut config = web(rate);
        config.client = ClientConfig {
            gaps: match even {
                true => Gaps::Even,
                false => Gaps::Exponential,
            },
            calls,
            files: Files::new(&files),
            timeout,
            descriptors,
            ports,
            time_wait,
            ..config.client
        };
        config.server = ServerConfig {
            workers,
            backlog,
            abort_on_overflow,
            costs: WebCosts {
                request: us(work),
                kib: us(work / 1_000),
            },
        };
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever client and server are like, every connection is accounted for at any time, and so
    /// is every packet ([`run`] looks). When no more begin, all of them end.
    #[test]
    fn no_connection_is_lost(config in any_web(), per_million in 0_u32..20_000) {
        let mut card = card(0, vec![vif(1, &[FlowKind::Web(config)])]);
        card.vifs[0].flows[0].stop = Some(ms(200));
        let cards = [card];
        let mut domains = vec![domain(0, 1), domain(1, 1)];
        equip(&cards, &mut domains);
        let host = host(2, CREDIT_4_17, domains);
        let shipped = domio_sched::find("credit").expect("a shipped policy");
        let mut params = domio_core::ParamValues::defaults(shipped.descriptor.params);
        params.choose("version", "4.17").expect("a release");
        let scheduler = (shipped.make)(&params, &host.topology);
        let attach = |bus: &mut domio_vmm::bus::Assembly<'_, Network>| {
            bus.add(|attach| Network::new(&cards[0], attach, 1, 0).with_loss(1, 0, per_million));
        };
        let mut simulation =
            Simulation::with_devices(&host, scheduler, attach, NullSink, 1, 0);
        run(&mut simulation, 0, 260);
        balances(&counts(&simulation), &config);
        let begun = counts(&simulation).of(WebStep::Started);
        // Half-open connections, orphans and lost packets need their timers.
        let end = Instant::ZERO + Duration::from_secs(600);
        let outcome = simulation.run(end);
        let whole = matches!(outcome, domio_sim::Outcome::Completed { .. });
        prop_assert!(whole, "{}", outcome);
        let counted = counts(&simulation);
        balances(&counted, &config);
        prop_assert_eq!(counted.of(WebStep::Started), begun);
        prop_assert_eq!(counted.open(), 0, "{:?}", counted);
    }
}
