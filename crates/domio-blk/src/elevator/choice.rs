//! Which of two requests of a process's queue is served first: CFQ's and BFQ's rule.

use super::request::{RequestId, Requests};

/// What backward ways count.
#[derive(Clone, Copy, Debug)]
pub struct BackSeek {
    /// Furthest way back (sectors) that counts as a short one.
    pub most: u64,
    /// How often a way back counts.
    pub penalty: u64,
}

/// The better one of two requests with the device at sector `last`: sync before async, metadata
/// before other data, then by the way, backward ways counting more.
pub fn better(
    requests: &Requests,
    last: u64,
    back: BackSeek,
    a: Option<RequestId>,
    b: Option<RequestId>,
) -> Option<RequestId> {
    let (Some(first), Some(second)) = (a, b) else {
        return a.or(b);
    };
    if first == second {
        return b;
    }
    let (x, y) = (&requests[first], &requests[second]);
    let prefers = |x: bool, y: bool| (x != y).then_some(x);
    let way = |sector| way_to(sector, last, back);
    let first_wins = prefers(x.is_sync(), y.is_sync())
        .or_else(|| prefers(x.meta, y.meta))
        .unwrap_or_else(|| match (way(x.sector), way(y.sector)) {
            (Some(x_way), Some(y_way)) if x_way != y_way => x_way < y_way,
            (Some(_), Some(_)) => x.sector >= y.sector,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => x.sector <= y.sector,
        });
    Some(if first_wins { first } else { second })
}

/// Sectors from where the device is; `None` for what a sweep meets only after its turn.
fn way_to(sector: u64, last: u64, back: BackSeek) -> Option<u64> {
    match sector.checked_sub(last) {
        Some(ahead) => Some(ahead),
        None if sector + back.most >= last => Some((last - sector) * back.penalty),
        None => None,
    }
}
