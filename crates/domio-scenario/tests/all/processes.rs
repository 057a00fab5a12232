//! The processes of network workloads: where they live, and who goes first.

use crate::common::{good, only, says};
use crate::told::run;
use crate::traffic::mbps;
use domio_core::{Duration, Kind};
use domio_net::host::FlowKind;

/// A host with a driver domain and a guest that receives.
const BASE: &str = r#"
run.duration_s = 2
[host]
cores = 2
[scheduler]
policy = "credit"
[[domain]]
name = "Domain-0"
[[domain]]
name = "web"
workload = "stream"
"#;

fn change(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replacen(from, to, 1)
}

#[test]
fn processes_live_on_the_vcpu_and_have_the_priority_that_they_are_given() {
    let tasks = "vcpus = 2\n[[domain.task]]\nworkload = \"stream\"\nvcpu = 1\npriority = 3\n\
                 direction = \"WAY\"\nbegin_s = 0\npiece = 4096\n";
    for way in ["in", "out"] {
        let tasks = tasks.replace("WAY", way);
        let text = change("workload = \"stream\"", &tasks);
        let scenario = good(&text);
        let web = &scenario.plan().host.domains[1].vcpus;
        assert!(web[0].tasks.is_empty(), "{web:?}");
        assert_eq!(web[1].tasks[0].priority, 3, "{way}");
        let network = scenario.plan().networks().next().expect("a network");
        let (FlowKind::StreamIn(stream) | FlowKind::StreamOut(stream)) =
            network.vifs[0].flows[0].kind
        else {
            panic!("{:?}", network.vifs[0].flows[0]);
        };
        assert_eq!(stream.piece, 4096);
        let got = mbps(&run(&text), 1);
        assert!((got / 941.4 - 1.0).abs() < 0.01, "{way}: {got}");
    }
    let default = good(&change(
        "\"stream\"",
        "\"udp\"\npps = 5\ndirection = \"out\"",
    ));
    let sender = &default.plan().host.domains[1].vcpus[0].tasks[0];
    assert_eq!(
        sender.priority, 127,
        "whoever sleeps most of the time goes first"
    );
}

/// Every request is answered: a job for each, and all of the bytes both ways.
#[test]
fn a_server_answers_all_requests() {
    let server = "\"server\"\nrequests = 20\ninterval_ms = 10\nrequest = 3000\nanswer = \"8K\"\n\
                  work_us = 500\nbegin_ms = 10";
    let text = change("\"stream\"", server);
    let scenario = good(&text);
    let flows = &scenario.plan().networks().next().expect("a network").vifs[0].flows;
    assert_eq!(flows.len(), 20);
    assert_eq!(flows[19].start, Duration::from_millis(10 + 19 * 10));
    let records = run(&text);
    let done = records.iter().filter(|r| r.is(Kind::JobDone));
    assert_eq!(done.count(), 20);
    let bytes = mbps(&records, 1) * 1e6 * 2.0 / 8.0;
    assert_eq!(bytes as u64, 20 * (3000 + 8192));
    let two = "workload = \"server\"\nrequests = 1\ninterval_ms = 1\n";
    let two = format!("  [[domain.task]]\n{two}  [[domain.task]]\n{two}");
    let problem = only(&change("workload = \"stream\"\n", &two));
    says(
        &problem,
        &["two servers on one network", "more `requests`"],
        "two servers",
    );
}
