//! Parameters of ARINC 653: their declaration, and what a table that cannot be is refused with.

use super::table::{Asked, FrameTable, Refused};
use alloc::format;
use alloc::vec::Vec;
use domio_contract::{Conflict, Descriptor, Needs, Releases, ShareBy};
use domio_core::params::{Params as _, int, version};
use domio_core::{DomainId, ParamValues, XenVersion};

/// Longest time that can be set: an hour.
const LONGEST_US: i64 = 3_600_000_000;

const US: i64 = 1_000;

params! {
    /// Parameters of the policy as a whole.
    struct Params {
        "version" = version(XenVersion::V4_17, XenVersion::V4_17, XenVersion::V4_17),
            "Release of Xen whose rules apply (xen-spec 4.3).";
        major_frame_us: i64 = int("us", (1, LONGEST_US), 0).or_zero().changeable(),
            "Length of the major frame, after which the table starts again; 0 for as long as the \
             entries take together.";
    }
}

params! {
    /// Parameters of a domain.
    struct DomainParams {
        runtime_us: i64 = int("us", (1, LONGEST_US), 10_000).or_zero(),
            "Length of the entry that each vcpu has in the table; 0 for no entry, so that it \
             never runs. Xen gives vcpus of dom0 10 ms and guests nothing until an operator sets \
             a table.";
        offset_us: i64 = int("us", (-1, LONGEST_US), -1),
            "Where in the major frame the entry of the first vcpu begins, those of the others \
             following; -1 for the first gaps that are long enough, in the order of domain ids.";
        every_us: i64 = int("us", (1, LONGEST_US), 0).or_zero(),
            "Time from an entry to the next one of the same vcpu, a part of the major frame \
             without remainder; 0 for one entry in a major frame.";
    }
}

/// The releases of Xen that have it.
pub static RELEASES: Releases = Releases {
    first: XenVersion::V4_1,
    last: None,
    changes: None,
    began: &[],
};

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "arinc653",
    summary: "Xen's ARINC 653 scheduler: a fixed table of runs by time, over and over",
    source: "Xen 4.17, sched/arinc653.c",
    params: Params::SPECS,
    changeable: Params::CHANGEABLE,
    domain_params: DomainParams::SPECS,
    held_by: Some(ShareBy::InFrame {
        time: "runtime_us",
        frame: "major_frame_us",
    }),
    needs: Needs {
        tickle: true,
        ..Needs::NOTHING
    },
    ..Descriptor::PLAIN
};

/// The major frame of `params`, in nanoseconds; 0 for as long as the entries take.
pub(super) fn major_frame(params: &ParamValues) -> i64 {
    Params::from(params).major_frame_us * US
}

/// What the parameters of `domain`, which has so many vcpus, ask the table for.
pub(super) fn asked(domain: DomainId, vcpus: usize, params: &ParamValues) -> Asked {
    let params = DomainParams::from(params);
    let offset = params.offset_us;
    Asked {
        domain,
        vcpus: vcpus as u16,
        runtime: params.runtime_us * US,
        offset: (offset >= 0).then_some(offset * US),
        every: params.every_us * US,
    }
}

/// Checks whether the table that all `domains` ask for together, each with the number of its vcpus,
/// can be.
///
/// # Errors
/// The domain that is to change, and why.
pub fn validate_domains(
    params: &ParamValues,
    domains: &[(DomainId, usize, &ParamValues)],
) -> Result<(), (DomainId, Conflict)> {
    let all = domains.iter().map(|(d, vcpus, p)| asked(*d, *vcpus, p));
    let all: Vec<Asked> = all.collect();
    FrameTable::new(major_frame(params), &all)
        .map(drop)
        .map_err(|(domain, refused)| (domain, refused.into()))
}

impl From<Refused> for Conflict {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NoFrame => Conflict {
                param: "every_us",
                with: "every_us",
                problem: "`every_us` repeats an entry in a major frame without a length".into(),
                expected: "a major_frame_us that every_us divides".into(),
                hint: "set major_frame_us in [scheduler]",
            },
            Refused::NoDivisor { every, frame } => Conflict {
                param: "every_us",
                with: "every_us",
                problem: format!(
                    "every_us of {} does not divide the major frame of {} us",
                    every / US,
                    frame / US
                ),
                expected: format!("a divisor of {}", frame / US),
                hint: "the table begins anew with each major frame, so that entries would not be \
                       evenly spaced",
            },
            Refused::Overlap { start, end, with } => Conflict {
                param: "offset_us",
                with: "runtime_us",
                problem: format!(
                    "an entry from {} to {} us overlaps one of domain {}",
                    start / US,
                    end / US,
                    with.0
                ),
                expected: "entries that follow one another".into(),
                hint: "one table serves all pcpus: one entry at a time; without offset_us an entry \
                       goes where there is room",
            },
            Refused::PastFrame { end, frame } => Conflict {
                param: "offset_us",
                with: "runtime_us",
                problem: format!(
                    "an entry ends at {} us, after the major frame or the time of every_us, which \
                     is {} us long",
                    end / US,
                    frame / US
                ),
                expected: format!("an end at {} us at most", frame / US),
                hint: "Xen refuses it too: the entries have to fit in the major frame",
            },
            Refused::NoRoom { runtime, frame } => Conflict {
                param: "runtime_us",
                with: "every_us",
                problem: format!(
                    "no gap of {} us is left in the major frame of {} us",
                    runtime / US,
                    frame / US
                ),
                expected: "runtime_us of all domains that fit in major_frame_us".into(),
                hint: "Xen refuses it too; major_frame_us = 0 makes the frame as long as it has to \
                       be",
            },
            Refused::TooMany { most } => Conflict {
                param: "runtime_us",
                with: "every_us",
                problem: format!("with this domain the table has more than {most} entries"),
                expected: format!("{most} entries at most, gaps between them included"),
                hint: "Xen refuses it too; runtime_us = 0 leaves a domain out",
            },
        }
    }
}
