//! What changed in the credit scheduler between Xen 3.1 and 4.20, one rule per change.
//!
//! Each field of [`Rules`] names one behaviour and the first release that has it. The table is
//! xen-spec 3.2 to 3.4; the commit that made a change is in brackets where it is known. Code asks
//! for a rule, never for a release.

use domio_contract::releases::{RuleChange, began, change};
use domio_contract::{HostParts, Releases};
use domio_core::XenVersion;
use domio_core::XenVersion::{
    V3_0_3, V3_0_4, V3_4, V4_0, V4_1, V4_2, V4_3, V4_5, V4_6, V4_7, V4_8, V4_9, V4_11, V4_12, V4_13,
};

/// How running is paid for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Debit {
    /// Whoever runs at the tick pays for the whole tick (until 3.4).
    Sampled,
    /// Time since the last debit, rounded to the nearest 0.1 ms, the error carried on in the start
    /// time (4.0).
    Rounded,
    /// The same, with the remainder kept apart \[cf0c29d1a9\] (4.3).
    Residual,
}

/// For how long a vcpu that ran less than the rate limit may continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateLimit {
    /// There is no rate limit (until 4.1).
    None,
    /// A whole rate limit more \[d0ac87b3c0, 64908a0466\] (4.2).
    Whole,
    /// What is left of it (4.8).
    Remaining,
}

/// When a search for a pcpu takes down which one it chose among equally good ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdleBias {
    /// Never: the first one is taken each time (until 3.4).
    None,
    /// Whenever it comes to a better one (4.0).
    EachStep,
    /// Once, at its end (4.2).
    Last,
}

/// Where the search for a new domain's first pcpu begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstVcpu {
    /// At the pcpu with the fewest vcpus (until 4.7).
    Emptiest,
    /// At a random one; for dom0, which Xen itself builds, at the lowest (4.8).
    Random,
    /// At the lowest one (4.13).
    Lowest,
}

/// Whether a vcpu that is preempted although some pcpu idles is sent to another pcpu.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KickAway {
    /// No: a wake-up preempts and wakes idle pcpus at once (until 4.2).
    Never,
    /// Always \[ebce2d836c\] (4.3).
    Always,
    /// When an idle pcpu is in its own hard affinity (4.7).
    IfItFits,
    /// When an idle pcpu is in the hard affinity of the vcpu that woke, of which there is none at
    /// that point: never, in effect (4.13).
    DeadTest,
}

/// The rules of one release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The release.
    pub version: XenVersion,
    /// 3.4: accounting has its own timer on the master pcpu. Before: every third tick there.
    pub accounting_timer: bool,
    /// 3.4: the tick of a pcpu stops while it idles and comes back at a multiple of its period.
    pub idle_stops_tick: bool,
    /// 3.4: a pass that ends in idling sets no slice timer.
    pub idle_has_no_slice: bool,
    /// 3.4: a vcpu that ran less than the migration delay ago is not stolen.
    pub migration_delay: bool,
    /// 3.4: the tunable that packs vcpus on few cores.
    pub smt_power_savings: bool,
    /// 4.0, 4.3: see [`Debit`].
    pub debit: Debit,
    /// 4.0: among equally good idle pcpus the one after the last choice is taken; see [`IdleBias`].
    pub idle_bias: IdleBias,
    /// 4.1: a domain's weight counts once for each active vcpu \[3a37d430ce\]. Before: once.
    pub weight_per_vcpu: bool,
    /// 4.1: a vcpu that stops earning keeps half its credit \[c92d5f4e0f\]. Before: none.
    pub keep_half: bool,
    /// 4.1: a vcpu that yields goes behind one vcpu of lower priority \[5fc9f5ef6c\].
    pub yield_flag: bool,
    /// 4.1: a wake-up wakes one idle pcpu \[e4434634c4\]. Before: all of them.
    pub tickle_one: bool,
    /// 4.1: to change sockets, the other must have this many times as many idle pcpus
    /// \[6d6b9b99aa\]: 2. Before: 1.
    pub cross_socket_factor: u32,
    /// 4.2: the time slice can be set. Before: 30 ms.
    pub tslice_tunable: bool,
    /// 4.2, 4.8: see [`RateLimit`].
    pub ratelimit: RateLimit,
    /// 4.2 alone: a rate limit of 0 stands for the default (4.2.0).
    pub zero_ratelimit_is_default: bool,
    /// 4.3: a wake-up prefers an idle pcpu to preempting \[ebce2d836c\].
    pub tickle_prefers_idlers: bool,
    /// 4.3, 4.7, 4.13: see [`KickAway`].
    pub kick_away: KickAway,
    /// 4.3: when a pcpu is chosen, the vcpu's own counts as idle only if nobody queues there, and
    /// an idle one is preferred to it. Before: it always counts as idle.
    pub pick_checks_own_queue: bool,
    /// 4.3: stealing looks at the pcpus of its own NUMA node first, then at the other nodes.
    pub steal_by_node: bool,
    /// 4.3 to 4.12: the parked mark was cleared before the vcpu was unpaused, so that it was
    /// boosted; put right in 4.13 \[5c8c0ae7c4\].
    pub boost_unparked: bool,
    /// 4.5: soft affinity.
    pub soft_affinity: bool,
    /// 4.6: soft affinity with all of the hard affinity, or with every pcpu online, says
    /// nothing. Before: with every pcpu that Xen can have.
    pub soft_must_narrow: bool,
    /// 4.6 and 4.7 (4.4.4 too): a wake-up that finds a suitable idle pcpu wakes any idle one,
    /// be it suitable or not.
    pub tickles_any_idler: bool,
    /// Until 4.6: waking on another pcpu after a migration boosts \[removed by 66c7449a4d, 4.7\].
    pub boost_migrated: bool,
    /// 4.8: a yield ends the running vcpu's turn in spite of the rate limit.
    pub yield_beats_ratelimit: bool,
    /// 4.8: a new vcpu's pcpu is chosen as for a migration. Before: the host's rule (xen-spec
    /// 0.10) alone.
    pub own_placement: bool,
    /// 4.9: a pcpu with at most one runnable vcpu is not searched for work to steal.
    pub count_runnable: bool,
    /// 4.9: the search in a node begins after the pcpu where the last one ended.
    pub balance_bias: bool,
    /// 4.12: a pcpu that comes back remembers whom it tickled last. Xen parks pcpus that are
    /// offline instead of freeing their data (`park_offline_cpus`, on Intel's processors).
    pub parked_pcpus: bool,
    /// 4.9: a pcpu that was tickled no longer counts as idle.
    pub tickled_leave_idlers: bool,
    /// 4.11: a vcpu pinned to one idle pcpu wakes that one without looking further.
    pub pinned_fast_path: bool,
    /// 4.8, 4.13: see [`FirstVcpu`].
    pub first_vcpu: FirstVcpu,
}

impl Rules {
    /// The rules of `version`. 3.0.4 has the scheduler of 3.1. 3.0, which has no credit yet, and
    /// 3.0.3, which has [one of its own](super::FirstCredit), count as 3.0.4 does.
    pub const fn of(version: XenVersion) -> Self {
        let v = version;
        Rules {
            version,
            accounting_timer: v.is_since(V3_4),
            idle_stops_tick: v.is_since(V3_4),
            idle_has_no_slice: v.is_since(V3_4),
            migration_delay: v.is_since(V3_4),
            smt_power_savings: v.is_since(V3_4),
            debit: if v.is_since(V4_3) {
                Debit::Residual
            } else if v.is_since(V4_0) {
                Debit::Rounded
            } else {
                Debit::Sampled
            },
            idle_bias: if v.is_since(V4_2) {
                IdleBias::Last
            } else if v.is_since(V4_0) {
                IdleBias::EachStep
            } else {
                IdleBias::None
            },
            weight_per_vcpu: v.is_since(V4_1),
            keep_half: v.is_since(V4_1),
            yield_flag: v.is_since(V4_1),
            tickle_one: v.is_since(V4_1),
            cross_socket_factor: if v.is_since(V4_1) { 2 } else { 1 },
            tslice_tunable: v.is_since(V4_2),
            ratelimit: if v.is_since(V4_8) {
                RateLimit::Remaining
            } else if v.is_since(V4_2) {
                RateLimit::Whole
            } else {
                RateLimit::None
            },
            zero_ratelimit_is_default: v.is_since(V4_2) && !v.is_since(V4_3),
            tickle_prefers_idlers: v.is_since(V4_3),
            kick_away: if v.is_since(V4_13) {
                KickAway::DeadTest
            } else if v.is_since(V4_7) {
                KickAway::IfItFits
            } else if v.is_since(V4_3) {
                KickAway::Always
            } else {
                KickAway::Never
            },
            pick_checks_own_queue: v.is_since(V4_3),
            steal_by_node: v.is_since(V4_3),
            boost_unparked: v.is_since(V4_3) && !v.is_since(V4_13),
            soft_affinity: v.is_since(V4_5),
            soft_must_narrow: v.is_since(V4_6),
            tickles_any_idler: v.is_since(V4_6) && !v.is_since(V4_8),
            boost_migrated: !v.is_since(V4_7),
            yield_beats_ratelimit: v.is_since(V4_8),
            own_placement: v.is_since(V4_8),
            count_runnable: v.is_since(V4_9),
            balance_bias: v.is_since(V4_9),
            parked_pcpus: v.is_since(V4_12),
            tickled_leave_idlers: v.is_since(V4_9),
            pinned_fast_path: v.is_since(V4_11),
            first_vcpu: if v.is_since(V4_13) {
                FirstVcpu::Lowest
            } else if v.is_since(V4_8) {
                FirstVcpu::Random
            } else {
                FirstVcpu::Emptiest
            },
        }
    }
}

/// The releases that have credit.
pub static RELEASES: Releases = Releases {
    first: V3_0_3,
    last: None,
    changes: Some(CHANGES),
    began: &[
        began("tslice_ms", V4_2),
        began("ratelimit_us", V4_2),
        began("migration_delay_us", V3_4),
        began("smt_power_savings", V3_4),
        began("boost_balance", V3_0_4),
        began("dispatch_vector", V3_0_4),
        began("dispatch_hold_us", V3_0_4),
    ],
};

const CHANGES: &[RuleChange] = &[
    change(
        V3_0_4,
        "accounting, ticks and stealing are those of 3.1",
        |_| true,
    ),
    change(V3_4, "accounting has a timer of its own", |_| true),
    change(V3_4, "the tick stops while a pcpu idles", |_| true),
    change(V3_4, "a pass that ends in idling sets no timer", |_| true),
    change(V3_4, "a vcpu that ran a moment ago is not stolen", |host| {
        host.sets("migration_delay_us")
    }),
    change(V3_4, "vcpus can be packed on few cores", |host| {
        host.sets("smt_power_savings")
    }),
    change(V4_0, "time is debited as it was used", |_| true),
    change(
        V4_0,
        "among equally good idle pcpus the next one is taken",
        HostParts::several_pcpus,
    ),
    change(V4_1, "a weight counts once for each active vcpu", |_| true),
    change(
        V4_1,
        "a vcpu that stops earning keeps half its credit",
        |_| true,
    ),
    change(
        V4_1,
        "a vcpu that yields goes behind one of lower priority",
        |_| true,
    ),
    change(
        V4_1,
        "a wake-up wakes one idle pcpu",
        HostParts::several_pcpus,
    ),
    change(
        V4_1,
        "a move to another socket takes twice as many idle pcpus there",
        |host| host.topology.sockets() > 1,
    ),
    change(
        V4_2,
        "there is a rate limit, and the slice can be set",
        |_| true,
    ),
    change(
        V4_2,
        "a search takes its choice down once, at its end",
        HostParts::several_pcpus,
    ),
    change(V4_3, "the remainder of a debit is kept apart", |_| true),
    change(V4_3, "a rate limit of 0 is none", |host| {
        !host.sets("ratelimit_us")
    }),
    change(
        V4_3,
        "a wake-up prefers an idle pcpu to preempting",
        HostParts::several_pcpus,
    ),
    change(
        V4_3,
        "a vcpu that is preempted beside an idle pcpu is sent there",
        HostParts::several_pcpus,
    ),
    change(
        V4_3,
        "a pcpu where somebody queues does not count as idle",
        HostParts::several_pcpus,
    ),
    change(V4_3, "stealing looks at its own node first", |host| {
        host.topology.sockets() > 1
    }),
    change(V4_3, "a vcpu that was parked is boosted", |host| host.caps),
    change(V4_5, "soft affinity counts", |host| host.soft_affinity),
    change(V4_6, "soft affinity with every pcpu says nothing", |host| {
        host.soft_affinity
    }),
    change(
        V4_6,
        "a wake-up that finds a suitable idle pcpu wakes any idle one",
        HostParts::several_pcpus,
    ),
    change(
        V4_7,
        "waking after a move does not boost",
        HostParts::several_pcpus,
    ),
    change(
        V4_7,
        "a vcpu is sent away only to a pcpu that it may have",
        HostParts::several_pcpus,
    ),
    change(
        V4_8,
        "a vcpu within the rate limit continues for the rest of the limit",
        |host| host.sets("ratelimit_us"),
    ),
    change(
        V4_8,
        "a yield ends a turn in spite of the rate limit",
        |host| host.sets("ratelimit_us"),
    ),
    change(
        V4_8,
        "a wake-up wakes a pcpu that suits",
        HostParts::several_pcpus,
    ),
    change(
        V4_8,
        "a new vcpu's pcpu is chosen as for a move",
        HostParts::several_pcpus,
    ),
    change(
        V4_9,
        "a pcpu with one runnable vcpu is not searched",
        HostParts::several_pcpus,
    ),
    change(
        V4_9,
        "a search begins where the last one ended",
        HostParts::several_pcpus,
    ),
    change(
        V4_9,
        "a pcpu that was tickled does not count as idle",
        HostParts::several_pcpus,
    ),
    change(
        V4_11,
        "a vcpu that is pinned to one pcpu wakes that one",
        |host| host.hard_affinity,
    ),
    change(
        V4_12,
        "a pcpu that comes back knows whom it tickled last",
        |host| host.hotplug,
    ),
    change(
        V4_13,
        "nobody is sent away at a wake-up",
        HostParts::several_pcpus,
    ),
    change(
        V4_13,
        "a new domain begins at the lowest pcpu",
        HostParts::several_pcpus,
    ),
    change(V4_13, "a vcpu that was parked is not boosted", |host| {
        host.caps
    }),
];
