//! The programs that ship, as processes of a guest with sockets: what they promise of themselves.

use crate::site::*;
use crate::told::{Kind, Record, Records};
use domio_core::{DomainId, Duration, Instant};
use domio_net::host::{FlowConfig, FlowKind, NetCosts, NetworkConfig, RequestConfig};
use domio_net::nic::NicConfig;
use domio_net::tcp::TcpConfig;
use domio_sim::Outcome;
use domio_vmm::Profile;
use domio_vmm::config::{DomainConfig, GuestConfig, HostConfig, TaskConfig, Workload};
use domio_vmm::process::programs::Server;
use domio_vmm::process::{Context, FileId, Interest, Op, Program, What};
use std::sync::{Arc, Mutex};

const REQUEST: u64 = 300;
const ANSWER: u64 = 20_000;
const WORK: Duration = Duration::from_micros(400);

/// A process that goes before those who compute.
fn process(program: impl Program + 'static) -> TaskConfig {
    TaskConfig {
        priority: TaskConfig::IO_BOUND,
        ..TaskConfig::from(Workload::program(program))
    }
}

/// Requests to guest 1 that begin at these times (ms).
fn requests(starts: &[u64]) -> NetworkConfig {
    let mut card = card(0, vec![vif(1, &[])]);
    let flow = |start: &u64| FlowConfig {
        kind: FlowKind::Request(RequestConfig {
            tcp: TcpConfig::XEN_2_6_18,
            bytes: REQUEST,
        }),
        start: ms(*start),
        stop: None,
    };
    card.vifs[0].flows = starts.iter().map(flow).collect();
    card
}

/// The host of `card` with a guest that serves, beside somebody who computes.
fn served(card: &NetworkConfig, vcpu: usize, time: u64) -> (Vec<u64>, Records) {
    let listening = FileId {
        device: 0,
        file: card.listening(0),
    };
    let mut guest = with(domain(1, vcpu + 1), vcpu, Workload::Burn);
    let server = Server::new(listening, REQUEST, ANSWER, WORK);
    guest.vcpus[vcpu].tasks.push(process(server));
    let host = host(2, CREDIT_4_17, vec![domain(0, 1), guest]);
    let mut simulation = simulation(
        &host,
        CREDIT_4_17,
        std::slice::from_ref(card),
        Records::default(),
    );
    run(&mut simulation, 0, time);
    let network = simulation.host().device(0);
    let flows = 0..card.vifs[0].flows.len() as u32;
    let answers = flows.map(|flow| stream(network, flow).delivered).collect();
    (answers, simulation.into_sink())
}

/// Turnaround and processor time of the jobs of guest 1's server.
fn jobs(records: &[Record]) -> Vec<(Duration, Duration)> {
    let time = Duration::from_nanos;
    let jobs = records.iter().filter_map(Record::job);
    jobs.map(|(turnaround, work, _)| (time(turnaround), time(work)))
        .collect()
}

/// Ten requests, three of which come at the same time: one after the other is accepted, computed
/// for and answered, and each is told as a job.
#[test]
fn a_server_answers_every_request() {
    let card = requests(&[5, 10, 10, 10, 30, 40, 50, 50, 90, 91]);
    for vcpu in [0, 1] {
        let (answers, records) = served(&card, vcpu, 400);
        assert_eq!(answers, [ANSWER; 10], "server on vcpu {vcpu}");
        let jobs = jobs(&records);
        assert_eq!(jobs.len(), 10);
        for (turnaround, work) in jobs {
            assert_eq!(work, WORK);
            assert!(turnaround >= WORK && turnaround < ms(30), "{turnaround}");
        }
    }
}

/// What comes while the server computes waits at the socket, and is not lost.
#[test]
fn requests_wait_while_the_server_computes() {
    let all: Vec<u64> = vec![10; 40];
    let (answers, records) = served(&requests(&all), 0, 800);
    assert_eq!(answers, [ANSWER; 40]);
    let jobs: Vec<&Record> = records.iter().filter(|r| r.is(Kind::JobDone)).collect();
    assert_eq!(jobs.len(), 40);
    // Nobody computes for two at a time.
    for pair in jobs.windows(2) {
        assert!(pair[1].at.since(pair[0].at) >= WORK);
    }
}

/// A request that never comes in full is waited for, and holds nobody up.
#[test]
fn half_a_request_holds_nobody_up() {
    let mut card = requests(&[5, 10, 20]);
    if let FlowKind::Request(request) = &mut card.vifs[0].flows[0].kind {
        request.bytes = REQUEST / 2;
    }
    let (answers, records) = served(&card, 0, 200);
    assert_eq!(answers, [0, ANSWER, ANSWER]);
    assert_eq!(jobs(&records).len(), 2);
}

/// A process that writes without end fills the line but for headers and gaps.
#[test]
fn a_writer_fills_a_line() {
    let mut card = card(0, vec![vif(1, &[OUT])]);
    card.link.rate = domio_net::link::Rate::MBIT_100;
    let time = 1_000;
    let simulation = after(time, 2, vec![domain(0, 1), domain(1, 1)], &[card]);
    let bytes = stream(simulation.host().device(0), 0).delivered;
    // 100 Mb/s, of which 1,448 bytes of 1,538 on the line are the stream's, from 5 ms on.
    let best = (time - 5) * 12_500 * 1_448 / 1_538;
    assert!(
        bytes * 100 > best * 97 && bytes <= best,
        "{bytes} of {best}"
    );
}

/// Datagrams go out by the clock, also when somebody else in the guest computes all the time or the
/// guest was paused for a while: those that are late follow at once.
#[test]
fn a_sender_of_datagrams_keeps_its_rate() {
    let cards = [card(0, vec![vif(1, &[udp_out(1_500)])])];
    let mut domains = vec![domain(0, 1), with(domain(1, 1), 0, Workload::Burn)];
    equip(&cards, &mut domains);
    let mut host = host(2, CREDIT_4_17, domains);
    let (pause, unpause) = (
        domio_vmm::config::Action::Pause(DomainId(1)),
        domio_vmm::config::Action::Unpause(DomainId(1)),
    );
    host.actions = vec![(at(400), pause), (at(450), unpause)];
    let mut simulation = simulation(&host, CREDIT_4_17, &cards, Records::default());
    let mut sent = Vec::new();
    for step in 0..10 {
        run(&mut simulation, step * 100, (step + 1) * 100);
        sent.push(datagrams(simulation.host().device(0), 0));
    }
    // 150 each 100 ms, the first at 5 ms; one may be under way. At 450 ms 75 are late, and at
    // 500 ms none is.
    for (i, sent) in (1..).zip(sent) {
        let due = (i * 100 - 5) * 1_500 / 1_000 + 1;
        assert!((due - 3..=due).contains(&sent), "{sent} of {due}");
    }
}

/// Writes down what a wait returns, and when.
#[derive(Clone, Debug)]
struct Waiter {
    socket: FileId,
    /// Waits until this time at the most, again and again.
    every: Duration,
    until: Instant,
    told: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Program for Waiter {
    fn name(&self) -> &'static str {
        "waiter"
    }

    fn next(&mut self, cx: &Context) -> Op {
        if self.until > Instant::ZERO {
            let at = cx.now.as_nanos() / 1_000;
            self.told.lock().unwrap().push((at, cx.returned));
        }
        if cx.now >= self.until {
            self.until += self.every;
        } else if cx.returned == 0 && cx.now > at(50) {
            // Something has come, and it stays there: no more waiting.
            return Op::Exit;
        }
        Op::Wait {
            any: vec![
                (self.socket, Interest::Readable),
                (self.socket, Interest::Readable),
            ],
            until: self.until,
        }
    }
}

/// A wait ends at its deadline, with the number of files, or when the first file is ready, with
/// that one's index; the deadline of a wait that has ended does not come after.
#[test]
fn a_wait_ends_at_its_deadline_or_when_a_file_is_ready() {
    let mut card = card(0, vec![vif(1, &[IN])]);
    card.vifs[0].flows[0].start = ms(57);
    let told = Arc::new(Mutex::new(Vec::new()));
    let socket = FileId {
        device: 0,
        file: card.socket(0, 0),
    };
    let waiter = Waiter {
        socket,
        every: ms(10),
        until: Instant::ZERO,
        told: told.clone(),
    };
    let mut guest = domain(1, 1);
    guest.guest.tick = None;
    guest.vcpus[0].tasks.push(process(waiter));
    let host = host(2, CREDIT_4_17, vec![domain(0, 1), guest]);
    let mut simulation = simulation(&host, CREDIT_4_17, &[card], Records::default());
    run(&mut simulation, 0, 200);
    let told = told.lock().unwrap().clone();
    assert_eq!(told.len(), 6, "{told:?}");
    for (i, (at, returned)) in (1..6).zip(&told) {
        // The timer, its interrupt and a switch: tens of microseconds.
        assert!((i * 10_000..i * 10_000 + 120).contains(at), "{told:?}");
        assert_eq!(*returned, 2, "no file is ready");
    }
    let (at, returned) = told[5];
    assert!((57_000..58_000).contains(&at) && returned == 0, "{told:?}");
}

/// Makes the same step again and again.
#[derive(Clone, Debug)]
struct Again(Op);

impl Program for Again {
    fn name(&self) -> &'static str {
        "runs-on-the-spot"
    }

    fn next(&mut self, _: &Context) -> Op {
        self.0.clone()
    }
}

/// A program whose steps take no time ends the run, with an error that names program and vcpu.
#[test]
fn a_program_that_makes_no_progress_ends_the_run() {
    let nowhere = FileId {
        device: 0,
        file: 999,
    };
    let offset = 0;
    let steps = [
        Op::Compute(Duration::ZERO),
        Op::SleepUntil(Instant::ZERO),
        nowhere.does(What::Read { offset, bytes: 1 }),
        nowhere.does(What::Sync),
        Op::Wait {
            any: vec![],
            until: Instant::ZERO,
        },
        Op::Report {
            released: Instant::ZERO,
            work: Duration::ZERO,
        },
    ];
    for step in steps {
        let mut guest = domain(3, 2);
        guest.vcpus[1].tasks.push(process(Again(step.clone())));
        let stopped = end(&[domain(0, 1), guest]);
        let Outcome::Stalled { what, .. } = &stopped else {
            panic!("{step:?}: {stopped}");
        };
        let named = what.contains("runs-on-the-spot") && what.contains("d3v1");
        assert!(named && what.contains("10000 steps"), "{what}");
    }
}

/// One that takes ever so little time may go on.
#[test]
fn a_nanosecond_a_step_is_progress() {
    let mut guest = domain(3, 1);
    let step = Op::Compute(Duration::from_nanos(10));
    guest.vcpus[0].tasks.push(process(Again(step)));
    let outcome = end(&[domain(0, 1), guest]);
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
}

/// How a run of 2 ms of these domains ends.
fn end(domains: &[DomainConfig]) -> Outcome {
    let host: HostConfig = host(2, CREDIT_4_17, domains.to_vec());
    let card = card(0, vec![vif(3, &[])]);
    simulation(&host, CREDIT_4_17, &[card], Records::default()).run(at(2))
}

/// A host whose work is free but for what a test names, a card that interrupts for each packet, and
/// a remote host that takes no time: the requests that begin at these times (ms).
fn free_but_for(costs: NetCosts, starts: &[u64]) -> Vec<(u64, Duration)> {
    let (request, answer) = (1_024, 2_048);
    let mut card = requests(starts);
    for flow in &mut card.vifs[0].flows {
        flow.kind = FlowKind::Request(RequestConfig {
            tcp: TcpConfig::XEN_2_6_18,
            bytes: request,
        });
    }
    card.costs = costs;
    card.nic = NicConfig::PLAIN;
    (card.remote_gap, card.remote_irq_latency) = (Duration::ZERO, Duration::ZERO);
    let listening = FileId {
        device: 0,
        file: card.listening(0),
    };
    let mut domains = vec![domain(0, 1), domain(1, 1)];
    for domain in &mut domains {
        domain.guest = GuestConfig::IDEAL;
    }
    let server = Server::new(listening, request, answer, WORK);
    domains[1].vcpus[0].tasks.push(process(server));
    let mut host = host(2, CREDIT_4_17, domains);
    host.profile = Profile::IDEAL;
    let mut simulation = simulation(&host, CREDIT_4_17, &[card], Records::default());
    run(&mut simulation, 0, 100);
    for flow in 0..starts.len() as u32 {
        assert_eq!(stream(simulation.host().device(0), flow).delivered, answer);
    }
    let records = simulation.into_sink();
    let done = records.iter().filter(|r| r.is(Kind::JobDone));
    let done = done.map(|r| r.at.as_nanos());
    done.zip(jobs(&records).into_iter().map(|job| job.0))
        .collect()
}

/// The way of a request to a server, by hand. A byte takes 8 ns on the line, which adds 30 us each
/// way; the remote host knows the guest's address, and acknowledges with the request:
///
/// | packet | bytes on the line | ns |
/// |---|---|---|
/// | SYN, and its answer: 18 + 20 + 40 + 20 | 98 each | 784 each |
/// | the request: 18 + 20 + 32 + 1,024 + 20 | 1,114 | 8,912 |
#[test]
fn a_request_takes_a_handshake_and_the_servers_work() {
    let done = free_but_for(NetCosts::FREE, &[10]);
    let way = 2 * (784 + 30_000) + 8_912 + 30_000;
    let work = WORK.as_nanos();
    assert_eq!(done, [(10_000_000 + way + work, WORK)]);
}

/// The server reads, computes and writes, and the next request that is there begins when the answer
/// is in the socket's buffer.
#[test]
fn a_server_pays_for_its_calls() {
    let costs = NetCosts {
        read_call: us(10),
        write_call: us(20),
        ..NetCosts::FREE
    };
    let done = free_but_for(costs, &[10, 10, 10]);
    let each = us(10) + WORK + us(20);
    assert_eq!(done.len(), 3);
    for (_, turnaround) in &done {
        assert_eq!(*turnaround, each);
    }
    for pair in done.windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, each.as_nanos());
    }
}

/// Request and response by one connection: one request at a time, as many bytes each way, and each
/// is a job of the guest.
#[test]
fn requests_and_responses_take_turns() {
    for bytes in [1, 8_192, 100_000] {
        let mut card = card(0, vec![vif(1, &[])]);
        card.vifs[0].flows = vec![FlowConfig {
            kind: FlowKind::Turns(RequestConfig {
                tcp: TcpConfig {
                    nodelay: true,
                    ..TcpConfig::XEN_2_6_18
                },
                bytes,
            }),
            start: ms(5),
            stop: Some(ms(400)),
        }];
        let simulation = after(500, 2, vec![domain(0, 1), domain(1, 1)], &[card]);
        let answered = stream(simulation.host().device(0), 0);
        let records = simulation.into_sink();
        let jobs: Vec<&Record> = records.iter().filter(|r| r.is(Kind::JobDone)).collect();
        let turns = jobs.len() as u64;
        assert!(turns > 20, "{bytes}: {turns}");
        assert_eq!(answered.delivered, turns * bytes, "{bytes}");
        assert_eq!(answered.acknowledged, turns * bytes, "{bytes}");
        // Over two ways of 30 us nobody is answered before: the next request waits.
        for pair in jobs.windows(2) {
            assert!(pair[1].at.since(pair[0].at) >= us(60), "{bytes}");
        }
        let last = jobs.last().map(|job| job.at);
        assert!(last.is_some_and(|at| at < self::at(410)), "{last:?}");
    }
}
