//! A device with a figure that no other crate has a line for.

use domio_answer::Cell;
use domio_core::keys::{Checker, KeyTable, Span, WordOf};
use domio_core::{
    Adds, Better, Class, Declared, DomainId, Felt, Field, Figure, FigureKind, FigureOf,
    FigureTable, Instant, Names, PcpuId, Record, Sink, Tally, Unit, VcpuName,
};
use domio_meter::Meter;
use domio_run::measure::{self, Measures};
use domio_scenario::{DeviceConfig, DeviceEntry, Parts};
use domio_sweep::NamedFigure;
use domio_sweep::rows::{columns, rows};
use domio_vmm::bus::side::{DeviceHost, DeviceKind, DevicePart, DeviceSide, DeviceTask, Devices};

/// The whole device, as far as figures go.
static THERMOMETER: Class = Class::new(
    "thermometer",
    &[
        Declared::new(0, "read", &[Field::word("time", 0, Unit::Microseconds)])
            .tallies(&[Tally::new("temperature_read", Adds::Sample(0))]),
    ],
)
.with_tables(&[&READINGS]);

const READS: &[FigureOf] = &[FigureOf::Tally("temperature_read")];

static READINGS: FigureTable = FigureTable {
    title: "thermometers",
    nearness: 5,
    figures: &[
        Figure::new(
            ("readings_per_s", "readings", "1/s"),
            FigureKind::PER_SECOND,
            READS,
        )
        .better(Better::Higher, Felt::Itself(1)),
        Figure::new(
            ("reading_p50_ms", "reading, 50 %", "ms"),
            FigureKind::Quantile(50),
            READS,
        )
        .over(1_000)
        .better(Better::Lower, Felt::Itself(5)),
    ],
};

#[test]
fn a_figure_of_a_device_is_one_declaration() {
    let mut names = Names::new();
    let actor = names.add_actor(VcpuName::new(DomainId(1), 0));
    let class = names.add_class(&THERMOMETER);
    let mut meter = Meter::new();
    for (ms, us) in [(0, 2_000), (500, 3_000), (2_000, 4_000)] {
        let at = Instant::from_nanos(ms * 1_000_000);
        let record = Record::of(at, PcpuId(0), (class, 0), actor, [us, 0, 0, 0]);
        meter.record(&names, &record);
    }
    let summary = meter.finish();
    let domain = summary.domain(DomainId(1)).expect("it reads");
    assert_eq!(summary.figure(domain, "readings_per_s"), Some(1.5));
    assert_eq!(summary.figure(domain, "reading_p50_ms"), Some(3.0));

    let json = serde_json::to_value(summary.answer(|_| None, 1_000_000_000, false)).expect("JSON");
    assert_eq!(json["domains"][0]["figures"]["reading_p50_ms"], 3.0);

    let sample = measure::sample(&summary, &[(DomainId(1), "lab".to_owned())]);
    assert_eq!(sample.get("lab.readings_per_s"), Some(1.5));

    let figures = || summary.tables.iter().flat_map(|table| table.figures);
    let columns = columns(&[], figures());
    let place = columns.iter().position(|c| c.key == "reading_p50_ms");
    let rows = rows((&[], figures()), 0, &[], 0, &sample);
    assert_eq!(rows[0][place.expect("a column")], Cell::Number(3.0));
}

/// The device as a program adds it.
static ENTRY: DeviceEntry = DeviceEntry {
    name: "thermometer",
    records: Some(&THERMOMETER),
    kind: DeviceKind {
        of_host: &[],
        of_domain: &[],
        workloads: &NO_WORKLOADS,
        open: |_, _| Box::new(NoTables),
    },
};

static NO_WORKLOADS: [WordOf<()>; 0] = [];

/// What is read of a scenario, in which it has no table.
struct NoTables;

impl DeviceSide<DeviceConfig> for NoTables {
    fn part(
        &self,
        _: &mut dyn Checker,
        _: &dyn KeyTable,
        _: &[DeviceTask],
        _: Span,
    ) -> Option<DevicePart> {
        None
    }

    fn devices(&self, _: &mut dyn Checker, _: &DeviceHost<'_>) -> Devices<DeviceConfig> {
        Devices {
            all: Vec::new(),
            unused: Vec::new(),
        }
    }
}

#[test]
fn figures_of_a_part_that_was_added_are_known_to_those_that_have_the_part() {
    let shipped = Parts::from(domio_sched::policies());
    let mut parts = shipped.clone();
    parts.add_device(&ENTRY).expect("no other has the name");
    let [shipped, own] = [&shipped, &parts].map(Measures::from);
    assert_eq!(own.figures().count(), shipped.figures().count() + 2);
    assert!(shipped.figure("readings_per_s").is_none());
    assert_eq!(own.figure("readings_per_s").expect("added").unit, "1/s");

    let named = NamedFigure::parse("readings(lab)").expect("a measure and a domain");
    let chosen = named.chosen(&own, None).expect("added");
    assert_eq!(chosen.declared.key, "readings_per_s");
    let unknown = named.chosen(&shipped, None).unwrap_err().to_string();
    assert!(unknown.contains("no measure is called"), "{unknown}");
    let own = columns(&[], own.figures());
    assert!(own.iter().any(|column| column.key == "reading_p50_ms"));
}
