//! What changed in SEDF between Xen 3.0 and 4.5, one rule per change.
//!
//! Each field of [`Rules`] names one behaviour and the releases that have it (xen-spec 2). Code
//! asks for a rule, never for a release.

use domio_core::XenVersion::{V3_0_3, V4_2, V4_3};
use domio_core::{DomainId, XenVersion};

const MS: i64 = 1_000_000;

/// Period of a domain that nobody gave one, and of every domain whose slice follows from a weight
/// (Xen's `WEIGHT_PERIOD`), in nanoseconds.
pub const WEIGHT_PERIOD: i64 = 100 * MS;

/// The control domain.
const DOM0: DomainId = DomainId(0);

/// The rules of one release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The release.
    pub version: XenVersion,
    /// Until 4.1: dom0 is created with a reservation of 15 ms in 20 ms \[removed by 4da8a5edbd\].
    /// Since 4.2: as every other domain.
    pub dom0_reserves: bool,
    /// 3.0.3: dom0 is created with an extra weight of 1 \[1d13b43fea\]. Before: 0, so that it
    /// shares extra time by its reservation.
    pub dom0_has_weight: bool,
    /// 3.0.3: one turn of 500 us makes up for a short block, however much was lost. Before:
    /// turns follow until the loss is made up.
    pub one_penalty_turn: bool,
    /// 4.3: a vcpu that has to move goes to a pcpu by its index \[e6a6fd6365\]. Before: to the
    /// first one that it may use.
    pub spread_by_index: bool,
    /// Until 3.0.2: how waking is handled can be chosen (when Xen is compiled); the other ways were
    /// deleted in April 2006.
    pub unblock_variants: bool,
}

/// What Xen gives a vcpu when it is created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Created {
    /// Period, in nanoseconds.
    pub period: i64,
    /// Slice, in nanoseconds.
    pub slice: i64,
    /// Weight in the sharing of extra time, 0 to share by the reservation.
    pub extraweight: i64,
}

impl Rules {
    /// The rules of `version`. 3.0 stands for 3.0.0 to 3.0.2; a release after 4.5, which has no
    /// SEDF any more, has the rules of 4.5.
    pub const fn of(version: XenVersion) -> Self {
        Rules {
            version,
            dom0_reserves: !version.is_since(V4_2),
            dom0_has_weight: version.is_since(V3_0_3),
            one_penalty_turn: version.is_since(V3_0_3),
            spread_by_index: version.is_since(V4_3),
            unblock_variants: !version.is_since(V3_0_3),
        }
    }

    /// What a vcpu of `domain` has until an operator gives it something else.
    pub fn created(&self, domain: DomainId) -> Created {
        if domain == DOM0 && self.dom0_reserves {
            Created {
                period: 20 * MS,
                slice: 15 * MS,
                extraweight: i64::from(self.dom0_has_weight),
            }
        } else {
            Created {
                period: WEIGHT_PERIOD,
                slice: 0,
                extraweight: 1,
            }
        }
    }
}
