//! What the private records of credit and credit2 say of waits, in the numbers and words of Xen
//! 4.17 (`TRC_CSCHED_*`, `TRC_CSCHED2_*`; xen-spec 7.2).

use domio_core::{DomainId, Kind, PcpuId, Record, VcpuName};

/// Xen's scheduler ids in traces.
const CREDIT: u16 = 0;
const CREDIT2: u16 = 1;

/// Event of credit2's CREDIT_BURN, which has more words than a [`Kind::Policy`] holds and is kept
/// as a [`Kind::Other`].
const CREDIT2_BURN: u32 = 0x22203;
/// What credit2 writes for the budget of a domain without a cap.
const NO_CAP: i32 = i32::MIN;

/// A policy whose records are understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Policy {
    Credit,
    Credit2,
    Other(u16),
}

/// What one record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Said {
    /// A pcpu is asked for a pass.
    Tickled(PcpuId),
    /// The vcpu is boosted from now on, or no longer.
    Boosted(VcpuName, bool),
    /// The vcpu goes on under the rate limit.
    Limited(VcpuName),
    /// Credit that the vcpu has left.
    Credit(VcpuName, i32),
    /// As `Credit`, with what its domain's cap leaves it; `None` without a cap.
    Burned(VcpuName, i32, Option<i32>),
    /// Something else.
    Else,
}

/// Which policy a record is from, and what it says; `None` for records of the host.
pub(super) fn said(record: &Record) -> Option<(Policy, u8, Said)> {
    if record.kind == Kind::Other && record.data[0] == CREDIT2_BURN {
        let [_, vcpu, credit, budget] = record.data;
        let budget = budget.cast_signed();
        let budget = (budget != NO_CAP).then_some(budget);
        let vcpu = VcpuName::from_word(vcpu);
        let burned = Said::Burned(vcpu, credit.cast_signed(), budget);
        return Some((Policy::Credit2, 3, burned));
    }
    let (event, words) = record.policy_event()?;
    Some(match record.vcpu.domain.0 {
        CREDIT => (Policy::Credit, event, credit(event, words)),
        CREDIT2 => (Policy::Credit2, event, credit2(event, words)),
        other => (Policy::Other(other), event, Said::Else),
    })
}

fn credit(event: u8, words: &[u32]) -> Said {
    match (event, words) {
        (6, &[pcpu]) => Said::Tickled(PcpuId(pcpu as u16)),
        (7, &[domain, index]) => Said::Boosted(split(domain, index), true),
        (8, &[domain, index]) => Said::Boosted(split(domain, index), false),
        (10, &[vcpu, _]) => Said::Limited(VcpuName::from_word(vcpu)),
        _ => Said::Else,
    }
}

fn credit2(event: u8, words: &[u32]) -> Said {
    match (event, words) {
        (6, &[pcpu]) => Said::Tickled(PcpuId(pcpu as u16)),
        // The reset tells the credit before and after.
        (7, &[vcpu, _, credit]) => Said::Credit(VcpuName::from_word(vcpu), credit.cast_signed()),
        (13, &[vcpu, _, credit]) => Said::Credit(VcpuName::from_word(vcpu), credit.cast_signed()),
        (22, &[vcpu, _]) => Said::Limited(VcpuName::from_word(vcpu)),
        _ => Said::Else,
    }
}

fn split(domain: u32, index: u32) -> VcpuName {
    VcpuName::new(DomainId(domain as u16), index as u16)
}
