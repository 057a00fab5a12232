//! Web servers in scenarios, and times at which traffic ends.

use crate::common::{errors, parse, says};
use crate::told::recorded;
use domio_core::{DomainId, Duration, Instant};
use domio_net::class::{NetRecord, WebStep};
use domio_net::host::{FlowConfig, FlowKind};
use domio_net::web::{Gaps, WebConfig};
use domio_scenario::{Code, NoReplay, Scenario, example};

/// A scenario whose guest has this workload.
fn scenario(workload: &str) -> String {
    format!(
        "[run]\nduration_s = 10\n[host]\ncores = 2\nxen = \"3.1\"\nprofile = \"opteron-242\"\n\
         [scheduler]\npolicy = \"credit\"\n\
         [[domain]]\nname = \"dom0\"\nid = 0\nguest = \"linux-2.6.18\"\n\
         [[domain]]\nname = \"web\"\nguest = \"linux-2.6.18\"\n{workload}\n"
    )
}

const LEAST: &str = "workload = \"web\"\nrate = 100\nwork_us = 300";

/// The flows of the only guest.
fn flows(workload: &str) -> Vec<FlowConfig> {
    let scenario = parse(&scenario(workload)).unwrap_or_else(|e| panic!("{e}"));
    let plan = scenario.plan();
    let network = plan.networks().next().expect("the guest has a vif");
    network.vifs[0].flows.clone()
}

fn web(workload: &str) -> WebConfig {
    match flows(workload)[..] {
        [flow] => match flow.kind {
            FlowKind::Web(web) => web,
            other => panic!("{other:?}"),
        },
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_said_is_as_the_reference_says() {
    let web = web(LEAST);
    assert_eq!(web.client.files.classes(), [(10 << 10, 1)]);
    assert_eq!((web.client.rate, web.client.calls), (100, 1));
    assert_eq!((web.client.gaps, web.client.timeout), (Gaps::Even, None));
    assert_eq!((web.client.descriptors, web.client.ports), (1_024, 64_512));
    assert_eq!((web.server.workers, web.server.backlog), (150, 128));
    assert!(!web.server.abort_on_overflow && web.tcp.nodelay);
    let work = web.server.costs.of(1 << 20);
    assert_eq!(work, Duration::from_micros(300));
}

#[test]
fn every_key_arrives() {
    let web = web(&format!(
        "{LEAST}\ngaps = \"exponential\"\ncalls = 3\nrequest = 200\n\
         files = [{{ bytes = \"1K\", share = 9 }}, {{ bytes = 102400 }}]\ntimeout_s = 5\n\
         descriptors = 7\nports = 8\ntime_wait_s = 60\nworkers = 9\nbacklog = 10\n\
         overflow = \"reset\"\nwork_kib_us = 2\ninitial_window = 10\nsend_buffer = 100000"
    ));
    assert_eq!(web.client.files.classes(), [(1_024, 9), (102_400, 1)]);
    assert_eq!((web.client.calls, web.client.request), (3, 200));
    assert_eq!(web.client.gaps, Gaps::Exponential);
    assert_eq!(web.client.timeout, Some(Duration::from_secs(5)));
    assert_eq!((web.client.descriptors, web.client.ports), (7, 8));
    assert_eq!(web.client.time_wait, Duration::from_secs(60));
    assert_eq!((web.server.workers, web.server.backlog), (9, 10));
    assert!(web.server.abort_on_overflow);
    // 300 us, and 2 for each of 100 KiB.
    let work = web.server.costs.of(102_400);
    assert_eq!(work, Duration::from_micros(500));
    assert_eq!((web.tcp.initial_window, web.tcp.send_buffer), (10, 100_000));
}

/// Processes of the server, and two servers in one guest.
#[test]
fn a_guest_has_the_processes_of_its_servers() {
    let two = format!("task = [{{ {} }}, {{ {} }}]", task(20), task(30));
    let scenario = parse(&scenario(&two)).unwrap_or_else(|e| panic!("{e}"));
    let built = scenario.build(&NoReplay).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(built.host.domains[1].vcpus[0].tasks.len(), 50);
}

fn task(workers: u32) -> String {
    format!("workload = \"web\", rate = 5, work_us = 1, workers = {workers}")
}

#[test]
fn traffic_ends_when_it_is_told_to() {
    for workload in [
        "workload = \"stream\"",
        "workload = \"stream\"\ndirection = \"out\"",
        "workload = \"ping\"",
        "workload = \"udp\"\npps = 10",
        LEAST,
    ] {
        let [flow] = flows(&format!("{workload}\nbegin_s = 4\nend_s = 8"))[..] else {
            panic!("one flow: {workload}")
        };
        assert_eq!(flow.start, Duration::from_secs(4));
        assert_eq!(flow.stop, Some(Duration::from_secs(8)), "{workload}");
        assert_eq!(flows(workload)[0].stop, None);
        let never = errors(&scenario(&format!("{workload}\nbegin_s = 4\nend_s = 4")));
        let problem = &never.problems()[0];
        assert_eq!((never.total(), problem.code), (1, Code::Conflict));
        says(
            problem,
            &["begins at 4 s and ends at 4 s", "domain's start"],
            workload,
        );
    }
}

#[test]
fn mistakes_are_told() {
    let cases: [(&str, Code, &[&str]); 12] = [
        (
            "workload = \"web\"\nrate = 100",
            Code::MissingKey,
            &["work"],
        ),
        (
            "workload = \"web\"\nwork_us = 1",
            Code::MissingKey,
            &["rate"],
        ),
        ("rate = 0", Code::OutOfRange, &["1 to 1000000"]),
        ("file = \"0\"", Code::OutOfRange, &["`file`"]),
        ("file = \"2G\"", Code::OutOfRange, &["`file`"]),
        (
            "file = \"1K\"\nfiles = [{ bytes = \"1K\" }]",
            Code::Conflict,
            &["both a `file` and `files`", "one more table"],
        ),
        ("files = []", Code::Limit, &["1 to 8"]),
        ("files = [{ share = 1 }]", Code::MissingKey, &["bytes"]),
        (
            "files = [{ bytes = 1, share = 0 }]",
            Code::OutOfRange,
            &["1 to 1000000"],
        ),
        ("workers = 0", Code::OutOfRange, &["1 to 10000"]),
        ("timeout = 5", Code::UnknownKey, &["`timeout_ms`"]),
        ("vcpu = \"all\"", Code::WrongType, &["[[domain.vcpu]]"]),
    ];
    for (keys, code, words) in cases {
        let workload = match keys.starts_with("workload") {
            true => keys.to_owned(),
            false => match keys.starts_with("rate") {
                true => format!("workload = \"web\"\nwork_us = 1\n{keys}"),
                false => format!("{LEAST}\n{keys}"),
            },
        };
        let errors = errors(&scenario(&workload));
        let problem = errors.problems().iter().find(|p| p.code == code);
        let problem = problem.unwrap_or_else(|| panic!("{keys}: {errors}"));
        says(problem, words, keys);
    }
}

/// What the shipped scenario expects: both servers answer all, and the driver domain works more
/// than twice as long for half as many large files.
#[test]
fn the_shipped_servers_do_what_their_scenario_says() {
    let text = example("web-servers").expect("it is shipped");
    let parsed = Scenario::parse("web-servers", text.as_bytes(), domio_sched::policies());
    let built = parsed.expect("valid").build(&NoReplay).expect("no replays");
    let second = |s| Instant::ZERO + Duration::from_secs(s);
    let records = recorded(&built, Duration::from_secs(3));
    let measured = || records.iter().filter(|r| r.at >= second(1));
    let steps = |domain: &DomainId, step| {
        let own = measured().filter(|r| r.is_of(domain.0));
        own.filter(|r| r.is_net(NetRecord::web(step))).count()
    };
    let work = |domain: &DomainId| -> u64 {
        let told = measured().filter_map(|r| r.done_for());
        told.filter(|(owner, _)| owner == domain)
            .map(|(_, ns)| ns)
            .sum()
    };
    let (small, large) = (DomainId(1), DomainId(2));
    for (domain, replies) in [(&small, 800), (&large, 400)] {
        let came = steps(domain, WebStep::Replied);
        assert!(came.abs_diff(replies) <= 2, "{domain}: {came}");
        for error in [WebStep::TimedOut, WebStep::Refused, WebStep::Reset] {
            assert_eq!(steps(domain, error), 0, "{domain}: {error:?}");
        }
    }
    let (small, large) = (work(&small), work(&large));
    assert!(large > 2 * small && small > 0, "{small} and {large} ns");
}
