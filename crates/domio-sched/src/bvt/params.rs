//! Parameters of BVT: their declaration, and the settings that follow from them.

use domio_contract::{Descriptor, Needs, Promises, Releases, ShareBy};
use domio_core::params::{ByWord, Params as _, choice, flag, int};
use domio_core::{ParamValues, XenVersion};

/// Releases whose rules are modelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Release {
    V2_0,
    /// 3.0.0 and 3.0.1.
    V3_0,
    V3_0_2,
}

impl ByWord for Release {
    const WORDS: &'static [&'static str] = &["2.0", "3.0", "3.0.2"];
    const ALL: &'static [Release] = &[Release::V2_0, Release::V3_0, Release::V3_0_2];
}

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// Longest `ctx_allow_us`: ten times that still fits in Xen's 32 bits of nanoseconds.
const CTX_ALLOW_MAX_US: i64 = 200_000;
/// Longest limit of a warp: an hour.
const LIMIT_MAX_MS: i64 = 3_600_000;

params! {
    /// Parameters of the policy as a whole.
    struct Params {
        version: Release = choice(Release::V3_0 as usize),
            "Release of Xen whose rules apply (xen-spec 1); 3.0 is 3.0.0 and 3.0.1.";
        ctx_allow_us: i64 = int("us", (10, CTX_ALLOW_MAX_US), 5_000).changeable(),
            "Context switch allowance: how long a vcpu runs before the next pass; ten times as \
             long when it is alone (xm bvt_ctxallow, there in ns).";
    }
}

params! {
    /// Parameters of a domain.
    struct DomainParams {
        mcu_advance: u32 = int("", (1, 1_000_000), 10),
            "Virtual time that 100 us of execution cost: the domain's share is in inverse \
             proportion to it (xm bvt DOM MCUADV).";
        warpback: bool = flag(false),
            "Whether the domain warps, that is runs ahead of its virtual time (xm bvt, second \
             number).";
        warp_value: u32 = int("", (0, i32::MAX as i64), 0),
            "Virtual time by which it runs ahead while it warps (xm bvt, third number). More than \
             its vcpus have, as on a host that has just started, wraps to the worst priority.";
        warpl_ms: i64 = int("ms", (0, LIMIT_MAX_MS), 2_000),
            "How long one uninterrupted dispatch may warp; 0 for no limit (xm bvt, fourth number).";
        warpu_ms: i64 = int("ms", (0, LIMIT_MAX_MS), 1_000),
            "How long it does not warp after that; 0 for ever (xm bvt, fifth number).";
    }
}

/// The releases of Xen that have it. 3.0.3 had it until two months before it came out, beside
/// credit (Cherkasova 2007 measured that).
pub static RELEASES: Releases = Releases {
    first: XenVersion::V2_0,
    last: Some(XenVersion::V3_0_3),
    changes: None,
    began: &[],
};

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "bvt",
    summary: "Xen's borrowed virtual time, default of 2.0: shares by weight, warps to be early",
    source: "Xen 2.0 to 3.0.2, sched_bvt.c",
    class: Some(&super::event::CLASS),
    params: Params::SPECS,
    changeable: Params::CHANGEABLE,
    domain_params: DomainParams::SPECS,
    shared_by: Some(ShareBy::Inverse("mcu_advance")),
    needs: Needs {
        tickle: true,
        timers: true,
        ..Needs::NOTHING
    },
    promises: Promises {
        work_conserving: true,
        // Warps and wrapped times keep others waiting for as long as their values say.
        // Shares go by `mcu_advance`.
        ..Promises::NOTHING
    },
    ..Descriptor::PLAIN
};

/// What the parameters of the policy say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Settings {
    /// A vcpu that continues is charged its whole run again at each pass (3.0.2).
    pub charges_whole_run: bool,
    /// In nanoseconds.
    pub ctx_allow: i64,
}

impl Settings {
    pub fn new(values: &ParamValues) -> Settings {
        let params = Params::from(values);
        Settings {
            charges_whole_run: params.version == Release::V3_0_2,
            ctx_allow: params.ctx_allow_us * US,
        }
    }
}

/// What the parameters of a domain say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Setting {
    pub mcu_advance: u32,
    pub warpback: bool,
    pub warp_value: u32,
    /// In nanoseconds.
    pub warpl: i64,
    pub warpu: i64,
}

impl Setting {
    pub fn new(values: &ParamValues) -> Setting {
        let params = DomainParams::from(values);
        Setting {
            mcu_advance: params.mcu_advance,
            warpback: params.warpback,
            warp_value: params.warp_value,
            warpl: params.warpl_ms * MS,
            warpu: params.warpu_ms * MS,
        }
    }

    /// Of a domain of which nothing is known.
    pub fn unknown() -> Setting {
        Setting::new(&ParamValues::defaults(DomainParams::SPECS))
    }
}
