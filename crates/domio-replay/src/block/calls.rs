//! The requests of a block trace as calls of processes of a simulated guest.

use super::intake::Intake;
use super::{Contexts, IntakeConfig};
use domio_blk::elevator::IoWay;
use domio_core::Instant;
use domio_scenario::{NoDemands, RecordedCalls, RecordedRequests};
use domio_trace::block::{BlockReader, BlockTraceError, SECTOR};
use domio_vmm::process::programs::RecordedCall;
use std::collections::BTreeMap;
use std::io::Read;

/// What a trace gives: the calls of each process, and sentences for people.
type Calls = Result<(Vec<RecordedCalls>, Vec<String>), NoDemands>;

/// The calls of each process, or of each volume where there are no processes, in the block trace
/// `read`, which messages call `name`.
///
/// # Errors
/// Those of the reader; within, that nothing is there that was wanted.
pub(crate) fn recorded_calls(
    name: &str,
    read: impl Read,
    wanted: &RecordedRequests,
) -> Result<Calls, BlockTraceError> {
    let reader = BlockReader::new(read, None)?;
    let how = IntakeConfig {
        contexts: Contexts::Process,
        devices: wanted.volume.iter().cloned().collect(),
        ..IntakeConfig::default()
    };
    // Who makes the calls knows how large the disk is.
    let mut intake = Intake::new(reader, how, u64::MAX);
    let mut by_process: BTreeMap<u32, RecordedCalls> = BTreeMap::new();
    let mut notices = Vec::new();
    let mut count = 0;
    while let Some(io) = intake.next_io()? {
        if count == wanted.most {
            notices.push(format!("{name}: the first {count} requests are used"));
            break;
        }
        count += 1;
        let calls = by_process.entry(io.submitter.0).or_default();
        calls.push(RecordedCall {
            at: io.at.since(Instant::ZERO),
            writes: io.way == IoWay::Write,
            offset: io.sector.saturating_mul(SECTOR),
            bytes: u64::from(io.sectors) * SECTOR,
        });
    }
    let damage = intake.reader().damage();
    if damage.places > 0 {
        notices.push(format!("{name}: {damage}"));
    }
    if by_process.is_empty() {
        let known = intake.reader().names().devices();
        return Ok(Err(nothing(name, wanted, known)));
    }
    Ok(Ok((by_process.into_values().collect(), notices)))
}

/// Volumes that a hint names.
const NAMED: usize = 12;

/// There is no request in the trace `name`, whose volumes are `known`.
fn nothing(name: &str, wanted: &RecordedRequests, known: &[String]) -> NoDemands {
    let shown = known.iter().take(NAMED).cloned().collect::<Vec<_>>();
    match &wanted.volume {
        Some(volume) => NoDemands {
            why: format!("{name} has no request of `{volume}` that reads or writes"),
            hint: format!("`volume` is one of: {}", shown.join(", ")),
        },
        None => NoDemands {
            why: format!("{name} has no request that reads or writes"),
            hint: format!("`domio trace summary {name}` shows its content"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_vmm::process::programs::ReplayLoop;

    const TRACE: &str = "time_s,action,rwbs,sector,nsec,proc\n\
        1.000,Q,R,8,8,a\n1.002,Q,WS,0,16,b\nnonsense\n1.003,Q,R,16,8,a\n1.004,Q,F,0,0,a\n";

    fn wanted(most: u64, volume: Option<&str>) -> RecordedRequests {
        RecordedRequests {
            volume: volume.map(str::to_owned),
            most,
            threads: None,
            kind: ReplayLoop::Open,
        }
    }

    #[test]
    fn each_process_has_its_calls() {
        let (calls, notices) = recorded_calls("t", TRACE.as_bytes(), &wanted(9, None))
            .unwrap()
            .unwrap();
        let ms = |call: &RecordedCall| call.at.as_nanos() / 1_000_000;
        let told: Vec<Vec<_>> = calls
            .iter()
            .map(|own| {
                own.iter()
                    .map(|c| (ms(c), c.writes, c.offset, c.bytes))
                    .collect()
            })
            .collect();
        assert_eq!(
            told,
            [
                vec![(0, false, 4096, 4096), (3, false, 8192, 4096)],
                vec![(2, true, 0, 8192)]
            ]
        );
        assert_eq!(notices.len(), 1);
        assert!(notices[0].contains("line 4"), "{notices:?}");
    }

    #[test]
    fn the_first_requests_are_used_and_the_cut_is_told() {
        let (calls, notices) = recorded_calls("t", TRACE.as_bytes(), &wanted(1, None))
            .unwrap()
            .unwrap();
        assert_eq!(calls.len(), 1);
        assert_eq!(notices, ["t: the first 1 requests are used"]);
    }

    #[test]
    fn a_volume_without_requests_is_refused() {
        let refused = recorded_calls("t", TRACE.as_bytes(), &wanted(9, Some("sdb")));
        let refused = refused.unwrap().unwrap_err();
        assert!(refused.why.contains("no request of `sdb`"), "{refused:?}");
    }
}
