//! A trace of version 1 of domio's own format gives the figures that it gave when that version was
//! written.

use crate::common::{folder, json_of};
use std::path::Path;

#[test]
fn its_summary_is_what_it_was() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trace-v1");
    let trace = data.join("trace.domio");
    let args = ["trace", "summary", "--json", trace.to_str().unwrap()];
    let now = json_of(&folder(), &args);
    let before = std::fs::read(data.join("summary.json")).unwrap();
    let before: serde_json::Value = serde_json::from_slice(&before).unwrap();
    assert_eq!(now, before);
}
