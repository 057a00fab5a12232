//! What files are, by their first bytes.

use domio_front::input::InputKind;
use domio_trace::{TraceHeader, TraceWriter};

#[test]
fn traces_and_scenarios_are_told_by_their_begin() {
    let own = TraceWriter::new(Vec::new(), &TraceHeader::default()).unwrap();
    let own = own.finish().unwrap();
    assert_eq!(InputKind::of(&own), InputKind::Trace);
    assert_eq!(InputKind::of(&own[..10]), InputKind::Trace, "cut");
    assert_eq!(InputKind::of(b"\x03\xf0\x01\x20\0\0\0\0"), InputKind::Trace);
    for (name, text) in domio_scenario::examples() {
        assert_eq!(
            InputKind::of(text.as_bytes()),
            InputKind::Scenario,
            "{name}"
        );
    }
    assert_eq!(InputKind::of(b""), InputKind::Unknown);
    assert_eq!(InputKind::of(b"title = \"nothing\"\n"), InputKind::Unknown);
}

#[test]
fn a_text_is_what_its_first_telling_line_says() {
    let blkparse = "  8,0    3    1     0.000000000   697  G   W 223490 + 8 [kjournald]\n";
    assert_eq!(InputKind::of(blkparse.as_bytes()), InputKind::BlockTrace);
    let quoted = format!("host.pcpus = 1\ntitle = \"\"\"\n{blkparse}\"\"\"\n");
    assert_eq!(InputKind::of(quoted.as_bytes()), InputKind::Scenario);
    assert_eq!(InputKind::of(b"8,0 cylinders 3\n"), InputKind::Unknown);
}
