//! What private records of policies say of a vcpu, in words.

use domio_core::{Record, VcpuName};

/// The tick of the credit scheduler found it running.
pub(super) const AT_TICK: &str = "found running at a tick";

/// What `record`, which a policy wrote of `vcpu`, says; `None` for records of others and for those
/// that say nothing of its time.
pub(super) fn of_policy(record: &Record, vcpu: VcpuName) -> Option<&'static str> {
    let (event, words) = record.policy_event()?;
    let credit = record.vcpu.domain.0 == 0;
    let named = match words {
        // Credit writes domain and index, the others one word of both.
        [domain, index, ..] if credit => {
            *domain == u32::from(vcpu.domain.0) && *index == u32::from(vcpu.index)
        }
        [word, ..] if !credit => *word == vcpu.word(),
        _ => false,
    };
    if !named {
        return None;
    }
    // Numbers are those of the policies' modules `event`.
    Some(match (record.vcpu.domain.0, event) {
        (0, 2) => "earns credit from now on",
        (0, 3) => "earns no more credit",
        (0, 5) => AT_TICK,
        (0, 7) => "boosted",
        (0, 8) => "boost ended",
        (1, 3) => "debited",
        (1, 7) => "credit reset",
        (4, 3) => "debited",
        (4, 4) => "budget filled up",
        (7, 1) => "next deadline",
        (7, 2) => "picked by its reservation",
        (7, 3) => "turn of extra time",
        (7, 8) => "missed its deadline or used more than its slice",
        _ => return None,
    })
}
