//! What a meter tells of networks.

use crate::cast::{fed, first, names};
use crate::device::{DELIVERED, NETWORK, REPLIED};
use domio_core::{
    ActorId, Adds, Class, ClassId, Declared, DomainId, Field, Figure, FigureKind, FigureOf,
    FigureTable, Instant, PcpuId, Record, Runstate, Tally, Unit, VcpuName,
};
use domio_meter::{DomainSummary, Meter, Quantiles, Summary, TallyValue};
use serde_json::json;

const MS: u64 = 1_000_000;

fn mark(at: u64, domain: u16) -> Record {
    let blocked = Runstate::Blocked;
    let at = Instant::from_nanos(at);
    Record::runstate(at, PcpuId(0), first(domain), blocked, blocked)
}

fn network(at: u64, number: u8, domain: u16, value: u64) -> Record {
    let words = [7, 0, value as u32, (value >> 32) as u32];
    let at = Instant::from_nanos(at);
    Record::of(at, PcpuId(0), (ClassId(2), number), first(domain), words)
}

/// A second in which domain 1 is delivered 5 and then 120 MB, and answers after 1, 2 and 6 ms.
fn records() -> Vec<Record> {
    vec![
        mark(0, 1),
        mark(0, 2),
        network(100 * MS, DELIVERED, 1, 5_000_000),
        network(200 * MS, REPLIED, 1, MS),
        network(300 * MS, REPLIED, 1, 6 * MS),
        network(600 * MS, DELIVERED, 1, 120_000_000),
        network(700 * MS, REPLIED, 1, 2 * MS),
        mark(1_000 * MS, 1),
        mark(1_000 * MS, 2),
    ]
}

fn measure(meter: Meter, records: &[Record]) -> Summary {
    let mut names = names();
    assert_eq!(names.add_class(&NETWORK), ClassId(2));
    // An actor with a large name.
    names.add_actor(VcpuName::new(DomainId(40_000), 0));
    fed(meter, &names, records).finish()
}

/// Bytes that were delivered, and round trips.
fn network_of(domain: &DomainSummary) -> Option<(u64, Quantiles)> {
    let value = |name| domain.tally(name).map(|tally| tally.value);
    let bytes = match value("net_delivered_bytes") {
        Some(TallyValue::Sum(bytes)) => bytes,
        _ => 0,
    };
    match value("net_round_trip") {
        Some(TallyValue::Samples(trips)) => Some((bytes, trips)),
        _ => (bytes > 0).then_some((bytes, Quantiles::default())),
    }
}

#[test]
fn bytes_and_round_trips_are_the_domains() {
    let summary = measure(Meter::new(), &records());
    let one = summary.domain(DomainId(1)).expect("it is there");
    let (bytes, trips) = network_of(one).expect("the trace tells of its network");
    assert_eq!(bytes, 125_000_000);
    assert_eq!(summary.figure(one, "net_mbps"), Some(1_000.0));
    assert_eq!(summary.figure(one, "ping_replies"), Some(3.0));
    assert_eq!(
        (trips.count, trips.p50, trips.max),
        (3, Some(2 * MS), Some(6 * MS))
    );
    assert_eq!(trips.mean, Some(3e6));
    // Distances from the mean: 2, 1 and 3 ms.
    let sd = trips.sd.expect("there are samples");
    assert!((sd - (14.0_f64 / 3.0).sqrt() * 1e6).abs() < 1e-3, "{sd}");
    assert_eq!(summary.figure(one, "ping_sd_ms"), Some(sd / 1e6));
    let two = summary.domain(DomainId(2)).expect("it is there");
    assert_eq!(network_of(two), None);
    assert_eq!(summary.figure(two, "net_mbps"), None);
}

#[test]
fn windows_make_the_whole() {
    let at = Instant::from_nanos(500 * MS);
    let begin = measure(Meter::window(Instant::ZERO, at), &records());
    let end = measure(Meter::window(at, Instant::MAX), &records());
    let of = |s: &Summary| {
        let (bytes, trips) = s.domain(DomainId(1)).and_then(network_of).expect("some");
        (bytes, trips.count)
    };
    assert_eq!(of(&begin), (5_000_000, 2));
    assert_eq!(of(&end), (120_000_000, 1));
}

#[test]
fn round_trips_give_way_to_a_histogram_as_other_samples_do() {
    let replies = (1..=1_000).map(|i| network(i * MS, REPLIED, 1, i * MS));
    let replies: Vec<Record> = [mark(0, 1)].into_iter().chain(replies).collect();
    let summary = measure(Meter::new().exact_samples_max(100), &replies);
    let (_, trips) = network_of(&summary.domains[0]).expect("it answered");
    assert!(!trips.exact);
    assert_eq!(trips.count, 1_000);
    let p50 = trips.p50.expect("there are samples") as f64;
    assert!((p50 / (501.0 * MS as f64) - 1.0).abs() < 0.001, "{p50}");
}

#[test]
fn a_damaged_trace_does_no_harm() {
    let large = ActorId(names().actors().len() as u32);
    let huge = Record {
        actor: large,
        ..network(MS, DELIVERED, 0, u64::MAX)
    };
    let reply = network(2 * MS, REPLIED, 3, u64::MAX);
    let summary = measure(Meter::new(), &[huge, mark(0, 4), reply, huge]);
    let ids: Vec<u16> = summary.domains.iter().map(|d| d.id.0).collect();
    assert!(ids.is_sorted() && ids.len() == 3, "{ids:?}");
    let (bytes, _) = network_of(&summary.domains[2]).expect("told");
    assert_eq!(bytes, u64::MAX);
}

/// Records that a new device declares need no word of the meter.
#[test]
fn a_new_device_has_its_figures_and_undeclared_records_are_named() {
    let class = ClassId(3);
    let read = |ms: u64, bytes: u32, us: u32| {
        let at = Instant::from_nanos(ms * MS);
        Record::of(at, PcpuId(0), (class, 1), first(1), [bytes, us, 0, 0])
    };
    let mut names = names();
    names.add_class(&NETWORK);
    assert_eq!(names.add_class(&DISK), class);
    let strange = |class, number, word| {
        let at = Instant::from_nanos(MS);
        Record::of(at, PcpuId(0), (class, number), first(1), [word, 0, 0, 0])
    };
    let records = [
        read(1, 4096, 70),
        read(2, 8192, 90),
        read(3, 512, 80),
        strange(class, 9, 0),
        strange(ClassId::FOREIGN, 1, 0x20_100d),
        strange(class, 9, 0),
    ];
    let summary = fed(Meter::new(), &names, &records).finish();
    let domain = summary.domain(DomainId(1)).expect("it reads");
    let sum = |name| match domain.tally(name).map(|tally| tally.value) {
        Some(TallyValue::Sum(sum)) => sum,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!((sum("disk_reads"), sum("disk_read_bytes")), (3, 12_800));
    assert_eq!(summary.figure(domain, "net_mbps"), None);
    assert_eq!(
        summary.figure(domain, "disk_read_size"),
        Some(12_800.0 / 3.0)
    );
    let told = |name: &str, count| (name.to_owned(), count);
    let foreign = told("pv-hypercall-v2 0x20100d", 1);
    assert_eq!(summary.undeclared, [foreign, told("disk record 9", 2)]);
    let json = json!(summary.answer(|_| None, 1_000_000_000, false));
    let figures = &json["domains"][0]["figures"];
    assert_eq!(figures["disk_read_us"], json!(80.0));
    let tallies = &json["domains"][0]["tallies"];
    let expected = json!([
        {"name": "disk_read_bytes", "unit": "bytes", "value": 12_800, "samples": null},
        {"name": "disk_read_time", "unit": "us", "value": 3, "samples": {
            "count": 3, "p5": 70, "p50": 80, "p95": 90, "p99": 90, "max": 90, "mean": 80.0,
            "sd": (200.0_f64 / 3.0).sqrt(), "exact": true,
        }},
        {"name": "disk_reads", "unit": "number", "value": 3, "samples": null},
    ]);
    assert_eq!(*tallies, expected);
    let undeclared = json!({"pv-hypercall-v2 0x20100d": 1, "disk record 9": 2});
    assert_eq!(json["undeclared"], undeclared);
}

/// A device that reads blocks.
static DISK: Class = Class::new(
    "disk",
    &[Declared::new(
        1,
        "read",
        &[
            Field::word("bytes", 0, Unit::Bytes),
            Field::word("time", 1, Unit::Microseconds),
        ],
    )
    .tallies(&[
        Tally::new("disk_reads", Adds::One),
        Tally::new("disk_read_bytes", Adds::Sum(0)),
        Tally::new("disk_read_time", Adds::Sample(1)),
    ])],
)
.with_tables(&[&READS]);

static READS: FigureTable = FigureTable {
    title: "reads",
    nearness: 9,
    figures: &[
        Figure::new(
            ("disk_read_us", "read, p50", "us"),
            FigureKind::Quantile(50),
            &[FigureOf::Tally("disk_read_time")],
        ),
        Figure::new(
            ("disk_read_size", "bytes a read", "B"),
            FigureKind::Ratio(FigureOf::Tally("disk_reads")),
            &[FigureOf::Tally("disk_read_bytes")],
        ),
    ],
};

#[test]
fn json_says_nothing_of_networks_that_are_not_there() {
    let summary = measure(Meter::new(), &records());
    let json = json!(summary.answer(|_| None, 1_000_000_000, false));
    let figures = &json["domains"][0]["figures"];
    assert_eq!(figures["net_mbps"], json!(1_000.0));
    assert_eq!(figures["ping_replies"], json!(3.0));
    assert!(json["domains"][1]["figures"].get("net_mbps").is_none());
    assert_eq!(json["domains"][1]["tallies"], json!([]));
    assert_eq!(json["undeclared"], json!({}));
}
