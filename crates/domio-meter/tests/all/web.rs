//! What a meter tells of web servers.

use domio_core::{DomainId, Instant, Kind, PcpuId, Record, Sink, VcpuName, WebStep};
use domio_meter::{Meter, Summary, SummaryJson};

const MS: u64 = 1_000_000;

fn web(ms: u64, step: WebStep, bytes: u32, ns: u64) -> Record {
    let vcpu = VcpuName::new(DomainId(3), 0);
    let at = Instant::from_nanos(ms * MS);
    let mut record = Record::new(at, PcpuId(0), Kind::Web, vcpu);
    record.detail = step as u8;
    record.data = [0, bytes, ns as u32, (ns >> 32) as u32];
    record
}

/// Three connections, of which one has its answer, one times out and one is open still, and one
/// that did not begin.
fn records() -> Vec<Record> {
    vec![
        web(0, WebStep::Started, 0, 0),
        web(0, WebStep::Started, 0, 0),
        web(1, WebStep::Connected, 0, MS),
        web(4, WebStep::FirstByte, 0, 3 * MS),
        web(6, WebStep::Replied, 10_240, 6 * MS),
        web(6, WebStep::Closed, 0, 6 * MS),
        web(500, WebStep::NoDescriptor, 0, 0),
        web(600, WebStep::Started, 0, 0),
        // Longer than 32 bits of nanoseconds.
        web(5_000, WebStep::TimedOut, 0, 5_000 * MS),
        web(5_000, WebStep::Connected, 0, 4_400 * MS),
    ]
}

fn measure(mut meter: Meter, records: &[Record]) -> Summary {
    records.iter().for_each(|record| meter.record(record));
    meter.finish()
}

#[test]
fn steps_are_counted_and_times_are_samples() {
    let summary = measure(Meter::new(), &records());
    let domain = summary.domain(DomainId(3)).expect("it has a web server");
    let web = domain.web.expect("the trace tells");
    assert_eq!((web.started, web.closed, web.timed_out), (3, 1, 1));
    assert_eq!((web.replies, web.bytes, web.errors()), (1, 10_240, 2));
    assert_eq!((web.refused, web.reset, web.no_port), (0, 0, 0));
    assert_eq!(web.connect.max, Some(4_400 * MS));
    assert_eq!(web.first_byte.p50, Some(3 * MS));
    assert_eq!(web.response.p50, Some(6 * MS));
    let json = serde_json::to_value(SummaryJson::new(&summary, 1_000_000_000)).expect("JSON");
    let web = &json["domains"][0]["web"];
    assert_eq!(web["no_descriptor"], 1);
    assert_eq!(web["response_us"]["p50"], 6_000.0);
}

#[test]
fn a_window_has_what_happened_in_it() {
    let at = |ms: u64| Instant::from_nanos(ms * MS);
    let of = |summary: &Summary| summary.domain(DomainId(3)).and_then(|d| d.web);
    let first = measure(Meter::window(at(0), at(5)), &records());
    let first = of(&first).expect("some");
    assert_eq!((first.started, first.replies), (2, 0));
    let none = measure(Meter::window(at(700), at(800)), &records());
    assert_eq!(of(&none), None);
}

#[test]
fn a_step_that_does_not_exist_is_left_out() {
    let mut damaged = web(1, WebStep::Started, 0, 0);
    damaged.detail = 200;
    let summary = measure(Meter::new(), &[damaged]);
    assert_eq!(summary.ignored_records, 1);
    assert!(summary.domain(DomainId(3)).is_none());
}
