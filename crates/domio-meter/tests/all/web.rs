//! What a meter tells of web servers.

use crate::cast::{fed, first, names};
use domio_core::{
    Adds, Class, ClassId, Declared, DomainId, Field, Instant, PcpuId, Record, Tally, Unit,
};
use domio_meter::{Meter, Quantiles, Summary, TallyValue};

const MS: u64 = 1_000_000;

const BYTES: Field = Field::word("bytes", 1, Unit::Bytes);
const TIME: Field = Field::long("time", 2, Unit::Nanoseconds);

/// A step of a web client; its fields are the bytes of the answer and a time.
const fn step(number: Step, name: &'static str, tallies: &'static [Tally]) -> Declared {
    Declared::new(number as u8, name, &[BYTES, TIME]).tallies(tallies)
}

#[derive(Clone, Copy)]
enum Step {
    Started,
    Connected,
    FirstByte,
    Replied,
    Closed,
    TimedOut,
    NoDescriptor,
}

static WEB: Class = Class::new(
    "made-up-web",
    &[
        step(
            Step::Started,
            "started",
            &[Tally::new("web_started", Adds::One)],
        ),
        step(
            Step::Connected,
            "connected",
            &[Tally::new("web_connect", Adds::Sample(1))],
        ),
        step(
            Step::FirstByte,
            "first-byte",
            &[Tally::new("web_first_byte", Adds::Sample(1))],
        ),
        step(
            Step::Replied,
            "replied",
            &[
                Tally::new("web_replied", Adds::One),
                Tally::new("web_reply_bytes", Adds::Sum(0)),
                Tally::new("web_response", Adds::Sample(1)),
            ],
        ),
        step(
            Step::Closed,
            "closed",
            &[Tally::new("web_closed", Adds::One)],
        ),
        step(
            Step::TimedOut,
            "timed-out",
            &[Tally::new("web_timed_out", Adds::One)],
        ),
        step(
            Step::NoDescriptor,
            "no-descriptor",
            &[Tally::new("web_no_descriptor", Adds::One)],
        ),
    ],
);

fn web(ms: u64, step: Step, bytes: u32, ns: u64) -> Record {
    let at = Instant::from_nanos(ms * MS);
    let words = [0, bytes, ns as u32, (ns >> 32) as u32];
    Record::of(at, PcpuId(0), (ClassId(2), step as u8), first(3), words)
}

/// Three connections, of which one has its answer, one times out and one is open still, and one
/// that did not begin.
fn records() -> Vec<Record> {
    vec![
        web(0, Step::Started, 0, 0),
        web(0, Step::Started, 0, 0),
        web(1, Step::Connected, 0, MS),
        web(4, Step::FirstByte, 0, 3 * MS),
        web(6, Step::Replied, 10_240, 6 * MS),
        web(6, Step::Closed, 0, 6 * MS),
        web(500, Step::NoDescriptor, 0, 0),
        web(600, Step::Started, 0, 0),
        // Longer than 32 bits of nanoseconds.
        web(5_000, Step::TimedOut, 0, 5_000 * MS),
        web(5_000, Step::Connected, 0, 4_400 * MS),
    ]
}

fn measure(meter: Meter, records: &[Record]) -> Summary {
    let mut names = names();
    assert_eq!(names.add_class(&WEB), ClassId(2));
    fed(meter, &names, records).finish()
}

#[test]
fn steps_are_counted_and_times_are_samples() {
    let summary = measure(Meter::new(), &records());
    let counts = [
        "started",
        "closed",
        "timed_out",
        "replied",
        "reply_bytes",
        "no_descriptor",
    ];
    let counts = counts.map(|name| sum(&summary, name));
    assert_eq!(counts, [3, 1, 1, 1, 10_240, 1].map(Some));
    assert_eq!(sum(&summary, "refused"), None);
    let samples = |name| samples(&summary, name).expect("the trace tells");
    assert_eq!(samples("connect").max, Some(4_400 * MS));
    assert_eq!(samples("first_byte").p50, Some(3 * MS));
    assert_eq!(samples("response").p50, Some(6 * MS));
    let json = serde_json::to_value(summary.answer(|_| None, 1_000_000_000, false)).expect("JSON");
    let tallies = json["domains"][0]["tallies"].as_array().expect("a list");
    let mut response = tallies
        .iter()
        .filter(|tally| tally["name"] == "web_response");
    assert_eq!(response.next().expect("told")["samples"]["p50"], 6 * MS);
}

fn value(summary: &Summary, name: &str) -> Option<TallyValue> {
    let domain = summary.domain(DomainId(3))?;
    Some(domain.tally(&format!("web_{name}"))?.value)
}

fn sum(summary: &Summary, name: &str) -> Option<u64> {
    match value(summary, name)? {
        TallyValue::Sum(sum) => Some(sum),
        TallyValue::Samples(_) => None,
    }
}

fn samples(summary: &Summary, name: &str) -> Option<Quantiles> {
    match value(summary, name)? {
        TallyValue::Samples(samples) => Some(samples),
        TallyValue::Sum(_) => None,
    }
}

#[test]
fn a_window_has_what_happened_in_it() {
    let at = |ms: u64| Instant::from_nanos(ms * MS);
    let first = measure(Meter::window(at(0), at(5)), &records());
    assert_eq!(
        (sum(&first, "started"), sum(&first, "replied")),
        (Some(2), None)
    );
    let none = measure(Meter::window(at(700), at(800)), &records());
    assert!(none.domain(DomainId(3)).is_none());
}

#[test]
fn a_step_that_does_not_exist_is_left_out() {
    let mut damaged = web(1, Step::Started, 0, 0);
    damaged.number = 200;
    let summary = measure(Meter::new(), &[damaged]);
    assert_eq!(
        summary.undeclared,
        [("made-up-web record 200".to_owned(), 1)]
    );
    assert!(summary.domain(DomainId(3)).is_none());
}
