//! What changed in RTDS between Xen 4.5 and 4.20, one rule per change.
//!
//! Sources: `sched/rt.c` of 4.14.6 and of 4.17.5, both of which decide as this policy does;
//! `sched_rt.c` as it was in 2015, 2016 and 2017; the changes themselves.

use domio_contract::releases::{began, change};
use domio_contract::{HostParts, Releases};
use domio_core::XenVersion;
use domio_core::XenVersion::{V4_5, V4_7, V4_9, V4_10};

/// The rules of one release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    /// 4.7: a timer fills budgets up when they are due. Before: whichever pass or wake-up comes
    /// next does, a pass comes after a millisecond at the latest, and a budget can be overrun.
    pub timer: bool,
    /// 4.9: a wake-up looks for a pcpu that idles and was not tickled, from the vcpu's own one
    /// round. Before: its own one comes first if it idles, be it tickled already or not the vcpu's
    /// any more, then the lowest.
    pub looks_round: bool,
    /// 4.10: extra time, and priority levels \[463b95831778\]. With them who has an equal deadline
    /// comes last and takes the pcpu. Before: it comes first in the queue, and does not.
    pub extratime: bool,
}

impl Rules {
    /// The rules of `version`.
    pub fn of(version: XenVersion) -> Rules {
        Rules {
            timer: version >= V4_7,
            looks_round: version >= V4_9,
            extratime: version >= V4_10,
        }
    }
}

/// The releases that have RTDS.
pub static RELEASES: Releases = Releases {
    first: V4_5,
    last: None,
    changes: Some(&[
        change(V4_7, "a timer fills budgets up when they are due", |_| true),
        change(
            V4_9,
            "a wake-up looks for an idle pcpu from its own one round",
            HostParts::several_pcpus,
        ),
        change(
            V4_10,
            "there is extra time, and equal deadlines take turns",
            |_| true,
        ),
    ]),
    began: &[began("extratime", V4_10)],
};
