//! What `--json` prints about traces of block devices.

use domio_meter::block::{BlockComparison, BlockSummaryJson, BlockWaitsJson};
use serde::Serialize;

/// Of `domio trace summary`.
#[derive(Serialize)]
pub struct SummedUpJson<'a> {
    pub format: &'static str,
    pub damaged_places: u64,
    #[serde(flatten)]
    pub summary: &'a BlockSummaryJson,
}

/// Of `domio explain`.
#[derive(Serialize)]
pub struct ExplainedBlockJson<'a> {
    #[serde(flatten)]
    pub waits: &'a BlockWaitsJson,
}

/// Of `domio trace compare`.
#[derive(Serialize)]
pub struct ComparedTracesJson<'a> {
    pub names: &'a [String; 2],
    #[serde(flatten)]
    pub comparison: &'a BlockComparison,
}

/// Of `domio trace replay`.
#[derive(Serialize)]
pub struct ReplayedJson<'a> {
    pub format: &'static str,
    pub damaged_places: u64,
    pub elevator: &'static str,
    pub drive: &'a str,
    pub closed: bool,
    pub without_data: u64,
    pub elsewhere: u64,
    pub wrapped: u64,
    pub late: u64,
    pub summary: &'a BlockSummaryJson,
    pub waits: &'a BlockWaitsJson,
}
