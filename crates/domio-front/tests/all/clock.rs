//! Files beside a trace tell how fast its clock counts.

use domio_front::clock::find;
use std::fs;

/// The frequency of a recording with a file beside it that holds `text`.
fn beside(text: &str) -> Option<u64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.bin");
    let recorded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/trace/trace.xentrace"
    );
    fs::copy(recorded, &path).unwrap();
    fs::write(folder.path().join("xl-dmesg"), text).unwrap();
    find(&path, &|_| {})
}

#[test]
fn frequencies_are_read() {
    let log = "(XEN) Platform timer is 14.318MHz HPET\n(XEN) Detected 2394.456 MHz processor.\n";
    assert_eq!(beside(log), Some(2_394_456_000));
    assert_eq!(beside("2400000000\n"), Some(2_400_000_000));
    let without = beside("");
    for nothing in ["0", "2.4", "Detected a problem", "Detected x MHz"] {
        assert_eq!(beside(nothing), without, "{nothing}");
    }
    assert_eq!(without, Some(1_000_000_000));
}
