//! The meter agrees with figures computed independently from traces of a real Xen 4.17.

use std::path::PathBuf;

use domio_meter::{Meter, TraceChecker};
use domio_trace::{Format, ReadOptions, TraceReader};
use serde_json::Value;

const TRACES: [&str; 6] = [
    "c1-burn7",
    "c1-burn7-periodic",
    "c1-cap30",
    "c1-weights-1-2-4",
    "c2-cap30",
    "c2-weights-1-2-4",
];

fn folder(name: &str) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "..",
        "testdata",
        "xen-traces",
        name,
    ]
    .iter()
    .collect()
}

fn summary(name: &str) -> Value {
    let path = folder(name).join("trace.bin");
    let mut reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
    assert_eq!(reader.format(), Format::Xentrace);
    let mut meter = Meter::new();
    reader.copy_to(&mut meter).unwrap();
    assert_eq!(reader.merge_stats().late, 0);
    serde_json::to_value(meter.finish().answer(|_| None, reader.tsc_hz(), false)).unwrap()
}

/// Checks that everything in `expected` is in `ours`, numbers to one part in 10^12.
fn agree(place: &str, expected: &Value, ours: &Value) {
    match expected {
        Value::Object(fields) => {
            for (key, value) in fields {
                let place = format!("{place}.{key}");
                let ours = ours
                    .get(key)
                    .unwrap_or_else(|| panic!("{place} is missing"));
                agree(&place, value, ours);
            }
        }
        Value::Array(items) => {
            let ours = ours.as_array().unwrap();
            assert_eq!(items.len(), ours.len(), "{place}");
            for (i, (a, b)) in items.iter().zip(ours).enumerate() {
                agree(&format!("{place}[{i}]"), a, b);
            }
        }
        Value::Number(n) if n.is_u64() => assert_eq!(expected, ours, "{place}"),
        Value::Number(n) => {
            let (a, b) = (n.as_f64().unwrap(), ours.as_f64().unwrap());
            assert!((a - b).abs() <= a.abs() * 1e-12, "{place}: {a} {b}");
        }
        _ => assert_eq!(expected, ours, "{place}"),
    }
}

#[test]
fn summaries_agree_with_the_recorded_figures() {
    for name in TRACES {
        let text = std::fs::read_to_string(folder(name).join("figures.json")).unwrap();
        let figures: Value = serde_json::from_str(&text).unwrap();
        agree(name, &figures, &summary(name));
    }
}

#[test]
fn real_traces_keep_the_rules_of_a_host() {
    for name in TRACES {
        let path = folder(name).join("trace.bin");
        let mut reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
        let mut checker = TraceChecker::new();
        reader.copy_to(&mut checker).unwrap();
        let report = checker.finish();
        assert!(report.is_clean(), "{name}: {:?}", report.findings.first());
        assert!(report.records > 9_000 && report.pcpus == 1 && report.vcpus >= 3);
    }
}
